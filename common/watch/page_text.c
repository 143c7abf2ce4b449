/* page_text.c - the text itself, and the page over HTTP. */

#include "common/watch/page_text.h"

#include <stdio.h>
#include <string.h>

const char page_text[] = {
#include "common/watch/page_text.inc"
    0};

struct http_answer page_text_live(void)
{
    struct http_answer answer = {.code = 200, .type = "text/html; charset=utf-8"};
    const char *mark = strstr(page_text, PAGE_DATA_MARK);
    int length = asprintf(&answer.body, "%.*s{}%s", (int)(mark - page_text), page_text,
                          mark + sizeof PAGE_DATA_MARK - 1);
    if (length < 0)
        answer.body = NULL;
    answer.bytes = length < 0 ? 0 : (size_t)length;
    return answer;
}
