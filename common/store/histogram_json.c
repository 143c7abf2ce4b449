/* histogram_json.c - two arrays and what they come to. */

#include "common/store/histogram_json.h"

#include <math.h>
#include <stdio.h>

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

void histogram_write_json(struct json_writer *writer, const struct histogram *histogram)
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

static const struct json *member(const struct json *root, const char *path, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s.%s", path, name);
    return json_at(root, text);
}

static void read_buckets(struct histogram *histogram, const struct json *buckets, size_t from,
                         size_t to)
{
    size_t count = json_length(buckets, "");
    for (size_t i = 0; i < count && from + i < to; i++)
        histogram->buckets[from + i] = json_u64(json_item(buckets, i), "", 0);
}

void histogram_read_json(struct histogram *histogram, const struct json *root, const char *path)
{
    double deviation = json_number(member(root, path, "deviation"), "");
    *histogram = (struct histogram){.count = json_u64(member(root, path, "count"), "", 0),
                                    .sum = json_u64(member(root, path, "sum"), "", 0),
                                    .max = json_u64(member(root, path, "max"), "", 0)};
    read_buckets(histogram, member(root, path, "histogram"), 0, HISTOGRAM_EXACT);
    read_buckets(histogram, member(root, path, "histogram_powers"), HISTOGRAM_EXACT,
                 HISTOGRAM_BUCKETS);
    double mean = histogram_mean(histogram);
    if (histogram->count > 0 && deviation >= 0)
        histogram->squares = (deviation * deviation + mean * mean) * (double)histogram->count;
}
