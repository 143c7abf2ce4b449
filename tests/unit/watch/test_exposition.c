/* test_exposition.c - the text as Prometheus wants it, letter by letter. */

#include "common/watch/exposition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static char *text;
static size_t bytes;

static FILE *begin(void)
{
    return open_memstream(&text, &bytes);
}

static void check(FILE *out, const char *expected)
{
    fclose(out);
    ck_assert_str_eq(text, expected);
    free(text);
}

TEST_PLAIN(a_metric_has_help_and_type_before_its_samples)
{
    FILE *out = begin();
    exposition_metric(out, "a_total", METRIC_COUNTER, "How many.");
    exposition_sample(out, "a_total", 3);
    exposition_metric(out, "b", METRIC_GAUGE, "What.");
    exposition_sample_of(out, "b", "worker", "0", 1);
    exposition_sample_of_two(out, "b", "worker", "1", "doing", "waiting", 0.25);
    check(out, "# HELP a_total How many.\n# TYPE a_total counter\na_total 3\n"
               "# HELP b What.\n# TYPE b gauge\nb{worker=\"0\"} 1\n"
               "b{worker=\"1\",doing=\"waiting\"} 0.25\n");
}

TEST_PLAIN(what_would_end_a_text_is_escaped)
{
    FILE *out = begin();
    exposition_metric(out, "a", METRIC_GAUGE, "back\\slash, \"quote\"\nline\ttab");
    exposition_sample_of(out, "a", "b", "back\\slash, \"quote\"\nline\ttab", 1);
    check(out, "# HELP a back\\\\slash, \"quote\"\\nline tab\n# TYPE a gauge\n"
               "a{b=\"back\\\\slash, \\\"quote\\\"\\nline tab\"} 1\n");
}

TEST_PLAIN(numbers_come_back_as_they_were)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "a 0\n"},
        {-1, "a -1\n"},
        {0.1, "a 0.1\n"},
        {1.0 / 3, "a 0.333333333333333"
                  "31\n"},
        {123456789012345, "a 123456789012345\n"},
        {1e300, "a 1e+300\n"},
        {(double)NAN, "a NaN\n"},
        {(double)INFINITY, "a +Inf\n"},
        {(double)-INFINITY, "a -Inf\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        FILE *out = begin();
        exposition_sample(out, "a", rows[i].value);
        fflush(out);
        if (isfinite(rows[i].value))
            ck_assert_double_eq(strtod(text + 2, NULL), rows[i].value);
        check(out, rows[i].text);
    }
}

int main(void)
{
    return suite_run("exposition", NULL);
}
