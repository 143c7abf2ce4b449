/* test_json_line.c - lines of values, whatever stands before them, and of what is no JSON. */

#include "common/file/json_line.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(a_line_is_found_whatever_stands_before_it)
{
    static const char text[] = "\n{\"a\": \"}],\\\"\\\\\",\n \"b\" : [ {\"c\": [1,\n2]} ,\n"
                               "{\"d\"\n:\n7}, []\n]\n}";
    ck_assert_uint_eq(json_line(text, sizeof text - 1, NULL, 0), 2);
    ck_assert_uint_eq(json_line(text, sizeof text - 1, (const size_t[]){0}, 1), 2);
    ck_assert_uint_eq(json_line(text, sizeof text - 1, (const size_t[]){1}, 1), 3);
    ck_assert_uint_eq(json_line(text, sizeof text - 1, (const size_t[]){1, 0, 0, 1}, 4), 4);
    ck_assert_uint_eq(json_line(text, sizeof text - 1, (const size_t[]){1, 1}, 2), 5);
    ck_assert_uint_eq(json_line(text, sizeof text - 1, (const size_t[]){1, 1, 0}, 3), 5);
    ck_assert_uint_eq(json_line(text, sizeof text - 1, (const size_t[]){1, 2}, 2), 7);
    /* Nothing is read beyond the end of what is no JSON. */
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        char *cut = malloc(bytes + 1);
        memcpy(cut, text, bytes);
        json_line(cut, bytes, (const size_t[]){1, 1, 5, 2}, 4);
        free(cut);
    }
}

int main(void)
{
    return suite_run("json line", NULL);
}
