/* histogram_json.h - a histogram as members of an object of run.json, and back:
 *
 *     "count": 1568, "mean": 0.98, "deviation": 0.21, "p50": 1, "p99": 2, "max": 3, "sum": 1531,
 *     "histogram": [41, 1510, 15, 2], "histogram_powers": []
 *
 * `histogram` is of 0, 1, 2 and so on up to at most 1023, and `histogram_powers` of 1024 and above,
 * 2048 and above and so on; both end at the last one that is not 0. What is not known is null.
 *
 * Threads: plain values. */

#ifndef COMMON_STORE_HISTOGRAM_JSON_H
#define COMMON_STORE_HISTOGRAM_JSON_H

#include "common/base/histogram.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"

/* Into the object that is open. */
void histogram_write_json(struct json_writer *writer, const struct histogram *histogram);

/* Of the object at `path` below root. Forgiving: what is not there is 0. Deviation and quantiles
 * follow from what is read. */
void histogram_read_json(struct histogram *histogram, const struct json *root, const char *path);

#endif
