/* wording.c - thousands with commas, bytes in KiB to TiB, durations in two units at most. */

#include "common/base/wording.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_MAX 3.2e9 /* A century; more is a mistake. */

struct wording wording_count(uint64_t count)
{
    struct wording wording;
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            wording.text[used++] = ',';
        wording.text[used++] = digits[i];
    }
    wording.text[used] = '\0';
    return wording;
}

struct wording wording_counted(uint64_t count, const char *one, const char *many)
{
    struct wording wording;
    snprintf(wording.text, sizeof wording.text, "%s %s", wording_count(count).text,
             count == 1 ? one : many);
    return wording;
}

struct wording wording_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    struct wording wording;
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(wording.text, sizeof wording.text, unit == 0 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return wording;
}

/* "4 min 50 s", "4 min" */
static struct wording in_two_units(uint64_t large, const char *unit, uint64_t small,
                                   const char *small_unit)
{
    struct wording wording;
    int used = snprintf(wording.text, sizeof wording.text, "%" PRIu64 " %s", large, unit);
    if (small > 0)
        snprintf(wording.text + used, sizeof wording.text - (size_t)used, " %" PRIu64 " %s", small,
                 small_unit);
    return wording;
}

/* Rounded to what is shown before the unit is chosen: 59.7 s are a minute, not 60 s. */
struct wording wording_duration(double seconds)
{
    struct wording wording;
    if (!(seconds >= 0) || seconds > SECONDS_MAX) {
        snprintf(wording.text, sizeof wording.text, "?");
        return wording;
    }
    uint64_t milliseconds = (uint64_t)(seconds * 1e3 + 0.5),
             tenths = (uint64_t)(seconds * 10 + 0.5);
    uint64_t whole = (uint64_t)(seconds + 0.5), minutes = (whole + 30) / 60;
    uint64_t hours = (minutes + 30) / 60;
    if (milliseconds == 0 && seconds > 0)
        snprintf(wording.text, sizeof wording.text, "<1 ms");
    else if (milliseconds > 0 && milliseconds < 1000)
        snprintf(wording.text, sizeof wording.text, "%" PRIu64 " ms", milliseconds);
    else if (tenths < 100 && tenths % 10 != 0)
        snprintf(wording.text, sizeof wording.text, "%.1f s", (double)tenths / 10);
    else if (whole < 60)
        snprintf(wording.text, sizeof wording.text, "%" PRIu64 " s", whole);
    else if (whole < 3600)
        wording = in_two_units(whole / 60, "min", whole % 60, "s");
    else if (minutes < 24 * 60)
        wording = in_two_units(minutes / 60, "h", minutes % 60, "min");
    else
        wording = in_two_units(hours / 24, "d", hours % 24, "h");
    return wording;
}

struct wording wording_waited(double seconds)
{
    return wording_duration(round(seconds));
}

struct wording wording_percent(const char *before, double part, int digits)
{
    struct wording wording = {""};
    if (!isnan(part))
        snprintf(wording.text, sizeof wording.text, "%s%.*f %%", before, digits, 100 * part);
    return wording;
}

void wording_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void wording_wrap(FILE *out, const char *text, int column, int indent)
{
    bool begun = column > indent; /* Something is on the line, be it shorter than the indent. */
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (begun && column + 1 + length > WORDING_COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (begun) {
            fputc(' ', out);
            column++;
        }
        begun = true;
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', out);
}
