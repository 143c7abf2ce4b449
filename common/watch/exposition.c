/* exposition.c - escapes and numbers. */

#include "common/watch/exposition.h"

#include <math.h>
#include <stdlib.h>

/* Backslash and newline everywhere; quotes within quotes. Control characters are none of a line's. */
static void put_text(FILE *out, const char *text, int quoted)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '\\')
            fputs("\\\\", out);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (*c == '"' && quoted)
            fputs("\\\"", out);
        else
            putc((unsigned char)*c < ' ' ? ' ' : *c, out);
}

/* As many digits as tell it from every other; whole numbers without a point. */
static void put_value(FILE *out, double value)
{
    if (isnan(value))
        fputs(" NaN\n", out);
    else if (isinf(value))
        fputs(value > 0 ? " +Inf\n" : " -Inf\n", out);
    else if (value == floor(value) && fabs(value) < 9e15)
        fprintf(out, " %.0f\n", value);
    else {
        char text[40];
        snprintf(text, sizeof text, "%.15g", value);
        if (strtod(text, NULL) != value)
            snprintf(text, sizeof text, "%.17g", value);
        fprintf(out, " %s\n", text);
    }
}

void exposition_metric(FILE *out, const char *name, enum metric_kind kind, const char *help)
{
    fprintf(out, "# HELP %s ", name);
    put_text(out, help, 0);
    fprintf(out, "\n# TYPE %s %s\n", name,
            kind == METRIC_COUNTER     ? "counter"
            : kind == METRIC_HISTOGRAM ? "histogram"
                                       : "gauge");
}

void exposition_sample(FILE *out, const char *name, double value)
{
    fputs(name, out);
    put_value(out, value);
}

static void put_label(FILE *out, const char *label, const char *label_value)
{
    fprintf(out, "%s=\"", label);
    put_text(out, label_value, 1);
    putc('"', out);
}

void exposition_sample_of(FILE *out, const char *name, const char *label, const char *label_value,
                          double value)
{
    fprintf(out, "%s{", name);
    put_label(out, label, label_value);
    putc('}', out);
    put_value(out, value);
}

void exposition_sample_of_two(FILE *out, const char *name, const char *label,
                              const char *label_value, const char *second, const char *second_value,
                              double value)
{
    fprintf(out, "%s{", name);
    put_label(out, label, label_value);
    putc(',', out);
    put_label(out, second, second_value);
    putc('}', out);
    put_value(out, value);
}
