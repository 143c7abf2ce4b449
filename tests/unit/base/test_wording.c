/* test_wording.c - counts, bytes, durations and lines, as people read them. */

#include "common/base/wording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(counts_have_commas)
{
    ck_assert_str_eq(wording_count(0).text, "0");
    ck_assert_str_eq(wording_count(999).text, "999");
    ck_assert_str_eq(wording_count(1000).text, "1,000");
    ck_assert_str_eq(wording_count(121930).text, "121,930");
    ck_assert_str_eq(wording_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

TEST_PLAIN(one_is_not_many)
{
    ck_assert_str_eq(wording_counted(0, "leaf", "leaves").text, "0 leaves");
    ck_assert_str_eq(wording_counted(1, "leaf", "leaves").text, "1 leaf");
    ck_assert_str_eq(wording_counted(2, "leaf", "leaves").text, "2 leaves");
    ck_assert_str_eq(wording_counted(60000, "example", "examples").text, "60,000 examples");
}

TEST_PLAIN(bytes_have_units)
{
    ck_assert_str_eq(wording_bytes(0).text, "0 B");
    ck_assert_str_eq(wording_bytes(1023).text, "1023 B");
    ck_assert_str_eq(wording_bytes(1024).text, "1.0 KiB");
    ck_assert_str_eq(wording_bytes((uint64_t)5 << 30).text, "5.0 GiB");
    ck_assert_str_eq(wording_bytes((uint64_t)5 << 50).text, "5120.0 TiB");
}

TEST_PLAIN(durations_read_well)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0 s"},
        {0.0004, "<1 ms"},
        {0.0005, "1 ms"},
        {0.04, "40 ms"},
        {0.9994, "999 ms"},
        {0.9996, "1 s"},
        {1, "1 s"},
        {5.74, "5.7 s"},
        {9.94, "9.9 s"},
        {9.96, "10 s"},
        {59.4, "59 s"},
        {59.6, "1 min"},
        {60, "1 min"},
        {290, "4 min 50 s"},
        {3599.4, "59 min 59 s"},
        {3599.6, "1 h"},
        {3725.4, "1 h 2 min"},
        {3753, "1 h 3 min"},
        {86399, "1 d"},
        {86400, "1 d"},
        {273600, "3 d 4 h"},
        {1e9, "11574 d 2 h"},
        {(double)NAN, "?"},
        {-1, "?"},
        {(double)INFINITY, "?"},
        {1e300, "?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(wording_duration(cases[i].seconds).text, cases[i].text);
    ck_assert_str_eq(wording_waited(0.4).text, "0 s");
    ck_assert_str_eq(wording_waited(4.9).text, "5 s");
    ck_assert_str_eq(wording_waited(-1).text, "?");
}

TEST_PLAIN(a_part_is_said_in_percent_or_left_out)
{
    ck_assert_str_eq(wording_percent("  accuracy ", 0.8951, 1).text, "  accuracy 89.5 %");
    ck_assert_str_eq(wording_percent("", 1, 2).text, "100.00 %");
    ck_assert_str_eq(wording_percent("  accuracy ", (double)NAN, 2).text, "");
}

TEST_PLAIN(lines_break_between_words)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    char longer[120];
    memset(longer, 'x', 100);
    snprintf(longer + 100, sizeof longer - 100, " and more");
    fputs("name ", stream);
    wording_wrap(stream,
                 "of a line that has just eighty columns, and so it is not broken up anywhere", 5,
                 5);
    fputs("name", stream);
    wording_wrap(stream,
                 "of a line that has just one column more, so that it is broken before the one", 4,
                 2);
    wording_wrap(stream, longer, 0, 2);
    wording_wrap(stream, "", 0, 0);
    wording_wrap(stream, "32 batches", 0, 2); /* The first word is shorter than the indent. */
    fclose(stream);
    longer[100] = '\0';
    char *rest = text;
    static const char *const lines[] = {
        "name of a line that has just eighty columns, and so it is not broken up anywhere\n",
        "name of a line that has just one column more, so that it is broken before the\n",
        "  one\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg(strncmp(rest, lines[i], strlen(lines[i])) == 0, "%s", rest);
        rest += strlen(lines[i]);
    }
    ck_assert_msg(strncmp(rest, longer, 100) == 0, "%s", rest);
    ck_assert_str_eq(rest + 100, "\n  and more\n\n32 batches\n");
    free(text);
}

TEST_PLAIN(what_is_appended_and_does_not_fit_is_cut)
{
    char text[8] = "ab";
    wording_append(text, sizeof text, ", %d", 7);
    ck_assert_str_eq(text, "ab, 7");
    wording_append(text, sizeof text, "%s", "cdefgh");
    ck_assert_str_eq(text, "ab, 7cd");
    wording_append(text, sizeof text, "more");
    ck_assert_str_eq(text, "ab, 7cd");
}

int main(void)
{
    return suite_run("wording", NULL);
}
