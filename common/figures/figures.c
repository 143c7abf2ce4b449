/* figures.c - loops over the rows: to JSON and back, sums, values. */

#include "common/figures/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define METRIC(name, text)   .metric = "syncopate_" name, .help = text
#define TAG(name)            .tag = name
#define COUNTED(one, many)   .counted_one = one, .counted = many

#define FIGURES(type)                                                                              \
    const struct figure_row *type##_rows(void)                                                         \
    {                                                                                              \
        typedef struct type self;                                                                  \
        static const struct figure_row rows[] = {
#define ROW(of_kind, member, of_name, ...)                                                         \
    {.name = of_name, .kind = FIGURE_##of_kind, .offset = offsetof(self, member),                  \
     .size = sizeof ((self *)0)->member, __VA_ARGS__},
#define FIGURE(kind, member, ...) ROW(kind, member, __VA_ARGS__, )
#define TEXT(member, bytes, name) ROW(TEXT, member, name, )
#define SET(type, member, ...)    SET_OF(type, member, __VA_ARGS__, 0, )
#define SET_OF(type, member, name, most, ...) ROW(SET, member, name, .set = type##_rows, .first = most)
#define OURS(declaration)
#define END {.size = 0}}; return rows; }
#include "common/figures/figure_rows.inc"
/* clang-format on */

static const void *at(const struct figure_row *row, const void *of)
{
    return (const char *)of + row->offset;
}

/* Of any kind that is kept as a whole number. */
static uint64_t whole(const struct figure_row *row, const void *of)
{
    return row->kind == FIGURE_U32 ? *(const uint32_t *)at(row, of)
                                   : *(const uint64_t *)at(row, of);
}

/* Of a whole number. */
static bool is_unknown(const struct figure_row *row, const void *of)
{
    return (row->kind == FIGURE_INDEX && whole(row, of) == 0) ||
           (row->kind == FIGURE_MAYBE && whole(row, of) == FIGURE_UNKNOWN);
}

double figure_value(const struct figure_row *row, const void *of)
{
    if (row->kind == FIGURE_REAL || row->kind == FIGURE_WHOLE)
        return *(const double *)at(row, of);
    if (row->kind > FIGURE_WHOLE || is_unknown(row, of))
        return NAN;
    return (double)whole(row, of);
}

void figures_add(const struct figure_row *rows, void *to, const void *from)
{
    for (const struct figure_row *row = rows; row->size > 0; row++)
        *(uint64_t *)((char *)to + row->offset) += whole(row, from);
}

/* --- histograms ---------------------------------------------------------------------------- */

/* "count": 1568, "mean": 0.98, "deviation": 0.21, "p50": 1, "p99": 2, "max": 3, "sum": 1531,
 * "histogram": [41, 1510, 15, 2], "histogram_powers": []: how often 0, 1, 2 and so on up to at most
 * 1023, and 1024 and above, 2048 and above and so on; both end at the last one that is not 0. */

static void write_buckets(struct json_writer *writer, const char *name,
                          const struct histogram *histogram, size_t from, size_t to)
{
    json_writer_array_line(writer, name);
    for (size_t i = from; i < to; i++)
        json_writer_u64(writer, NULL, histogram->buckets[i]);
    json_writer_end(writer);
}

static void write_quantile(struct json_writer *writer, const char *name,
                           const struct histogram *histogram, double part)
{
    if (histogram->count > 0)
        json_writer_u64(writer, name, histogram_quantile(histogram, part));
    else
        json_writer_null(writer, name);
}

static void write_histogram(struct json_writer *writer, const struct histogram *histogram)
{
    size_t used = histogram_used(histogram);
    json_writer_u64(writer, "count", histogram->count);
    json_writer_real(writer, "mean", histogram_mean(histogram));
    json_writer_real(writer, "deviation", histogram_deviation(histogram));
    write_quantile(writer, "p50", histogram, 0.5);
    write_quantile(writer, "p99", histogram, 0.99);
    json_writer_u64(writer, "max", histogram->max);
    json_writer_u64(writer, "sum", histogram->sum);
    write_buckets(writer, "histogram", histogram, 0,
                  used < HISTOGRAM_EXACT ? used : HISTOGRAM_EXACT);
    write_buckets(writer, "histogram_powers", histogram, HISTOGRAM_EXACT, used);
}

static void read_buckets(struct histogram *histogram, const struct json *buckets, size_t from,
                         size_t to)
{
    size_t count = json_length(buckets, "");
    for (size_t i = 0; i < count && from + i < to; i++)
        histogram->buckets[from + i] = json_u64(json_item(buckets, i), "", 0);
}

/* Deviation and quantiles follow from what is read. */
static void read_histogram(struct histogram *histogram, const struct json *object)
{
    double deviation = json_number(object, "deviation");
    *histogram = (struct histogram){.count = json_u64(object, "count", 0),
                                    .sum = json_u64(object, "sum", 0),
                                    .max = json_u64(object, "max", 0)};
    read_buckets(histogram, json_at(object, "histogram"), 0, HISTOGRAM_EXACT);
    read_buckets(histogram, json_at(object, "histogram_powers"), HISTOGRAM_EXACT,
                 HISTOGRAM_BUCKETS);
    double mean = histogram_mean(histogram);
    if (histogram->count > 0 && deviation >= 0)
        histogram->squares = (deviation * deviation + mean * mean) * (double)histogram->count;
}

/* --- JSON ---------------------------------------------------------------------------------- */

/* Of an object of these rows there is none. */
static bool is_nothing(const struct figure_row *rows, const void *of)
{
    return of == NULL || is_unknown(rows, of);
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
    json_writer_text(writer, name, text[0] != '\0' ? text : NULL);
}

static void write_row(struct json_writer *writer, const struct figure_row *row, const void *of)
{
    const void *value = at(row, of);
    if (row->kind == FIGURE_TEXT)
        write_text(writer, row->name, value);
    else if (row->kind == FIGURE_REAL)
        json_writer_real(writer, row->name, figure_value(row, of));
    else if (row->kind == FIGURE_WHOLE && figure_value(row, of) >= 0)
        json_writer_u64(writer, row->name, (uint64_t)figure_value(row, of));
    else if (row->kind == FIGURE_WHOLE)
        json_writer_null(writer, row->name);
    else if (is_unknown(row, of))
        json_writer_null(writer, row->name);
    else if (row->kind == FIGURE_FLAG)
        json_writer_bool(writer, row->name, whole(row, of) != 0);
    else
        json_writer_u64(writer, row->name, whole(row, of));
}

static void write_rows(struct json_writer *writer, const struct figure_row *rows, unsigned first,
                       const void *of)
{
    for (const struct figure_row *row = rows; row->size > 0 && (first == 0 || row < rows + first);
         row++) {
        const void *value = of == NULL ? NULL : at(row, of);
        if (row->kind == FIGURE_SET && row->name == NULL) {
            write_rows(writer, row->set(), row->first, value);
        } else if (row->kind == FIGURE_SET) {
            figures_object(writer, row->name, row->set(), value);
        } else if (of == NULL) {
            json_writer_null(writer, row->name);
        } else if (row->kind == FIGURE_HISTOGRAM) {
            if (row->name != NULL)
                json_writer_object(writer, row->name);
            write_histogram(writer, value);
            if (row->name != NULL)
                json_writer_end(writer);
        } else {
            write_row(writer, row, of);
        }
    }
}

void figures_write(struct json_writer *writer, const struct figure_row *rows, const void *of)
{
    write_rows(writer, rows, 0, of);
}

void figures_object(struct json_writer *writer, const char *name, const struct figure_row *rows,
                    const void *of)
{
    if (is_nothing(rows, of)) {
        json_writer_null(writer, name);
        return;
    }
    json_writer_object(writer, name);
    figures_write(writer, rows, of);
    json_writer_end(writer);
}

void figures_read(const struct figure_row *rows, const struct json *object, void *to)
{
    for (const struct figure_row *row = rows; row->size > 0; row++) {
        void *value = (char *)to + row->offset;
        const struct json *member = row->name != NULL ? json_at(object, row->name) : object;
        const char *text;
        switch (row->kind) {
        case FIGURE_U32: {
            uint64_t number = json_u64(member, "", 0);
            *(uint32_t *)value = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
            break;
        }
        case FIGURE_FLAG:
            *(uint64_t *)value = json_flag(member, "");
            break;
        case FIGURE_U64:
        case FIGURE_INDEX:
            *(uint64_t *)value = json_u64(member, "", 0);
            break;
        case FIGURE_MAYBE:
            *(uint64_t *)value = json_u64(member, "", FIGURE_UNKNOWN);
            break;
        case FIGURE_REAL:
        case FIGURE_WHOLE:
            *(double *)value = json_number(member, "");
            break;
        case FIGURE_TEXT:
            text = json_text(member, "");
            snprintf(value, row->size, "%s", text != NULL ? text : "");
            break;
        case FIGURE_HISTOGRAM:
            read_histogram(value, member);
            break;
        case FIGURE_SET:
            figures_read(row->set(), member, value);
            break;
        }
    }
}
