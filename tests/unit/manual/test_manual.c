/* test_manual.c - manual pages are made of the same table as --help, and have no more and no
 * less. */
/* promises: install */

#include "deploy/manual/manual.h"

#include <stdlib.h>
#include <string.h>

#include "common/options/options_text.h"
#include "tests/lib/suite.h"

/* The page as text; the caller frees it. */
static char *page_of(const char *name)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(out);
    bool there = manual_write(out, name);
    fclose(out);
    ck_assert_msg(there == (bytes > 0), "%s", name);
    return text;
}

TEST_PLAIN(there_is_a_page_for_every_program_in_the_order_of_the_alphabet)
{
    char name[MANUAL_NAME_MAX], last[MANUAL_NAME_MAX] = "";
    size_t count = 0, users = 0;
    for (; manual_page(count, name); count++) {
        ck_assert_str_gt(name, last);
        strcpy(last, name);
        free(page_of(name));
    }
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1)
        users++;
    ck_assert_uint_eq(count, users + 1);
}

TEST_PLAIN(a_page_is_found_by_the_name_of_its_command)
{
    char *whole = page_of("syncopate-run"), *brief = page_of("run"), *none = page_of("ru");
    ck_assert_str_eq(whole, brief);
    ck_assert_str_eq(none, "");
    free(whole);
    free(brief);
    free(none);
}

/* "--worker-timeout" as roff is given it. */
static void roff_of(const char *name, char text[128])
{
    size_t used = (size_t)snprintf(text, 128, ".It Fl \\-");
    for (; *name && used + 3 < 128; name++) {
        if (*name == '-')
            text[used++] = '\\';
        text[used++] = *name;
    }
    text[used] = '\0';
}

TEST_PLAIN(a_page_has_the_options_of_its_program_and_no_others)
{
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        char *page = page_of(option_user_program((enum option_user)user) + strlen("syncopate-"));
        size_t items = 0, rows = 0;
        for (const char *at = page; (at = strstr(at, ".It Fl ")) != NULL; at++)
            items++;
        for (size_t i = 0; i < option_row_count; i++) {
            char item[128];
            if (!(option_rows[i].users & user))
                continue;
            rows++;
            roff_of(option_rows[i].name, item);
            ck_assert_msg(strstr(page, item) != NULL, "%s", item);
        }
        ck_assert_uint_eq(items, rows + 2); /* --help, --version */
        free(page);
    }
}

TEST_PLAIN(no_line_is_long_and_none_is_taken_for_a_request)
{
    char name[MANUAL_NAME_MAX];
    for (size_t i = 0; manual_page(i, name); i++) {
        char *page = page_of(name);
        bool literal = false; /* Examples stand as they are. */
        for (char *line = strtok(page, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            literal = literal ? strcmp(line, ".Ed") != 0 : strncmp(line, ".Bd", 3) == 0;
            ck_assert_msg(literal || strlen(line) <= 80, "%s: %s", name, line);
            ck_assert_msg(line[0] != '\'', "%s: %s", name, line);
            bool request = line[0] == '.' && line[1] != '\\' &&
                           (line[1] < 'A' || line[1] > 'Z' || line[2] < 'a' || line[2] > 'z');
            ck_assert_msg(!request, "%s: %s", name, line);
        }
        free(page);
    }
}

int main(void)
{
    return suite_run("manual", NULL);
}
