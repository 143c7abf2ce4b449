/* labels.h - from an array of labels to a class, or real numbers, of each example.
 *
 * Classes are whole numbers, counted from 0 or, where no example has 0, from 1; or a row of zeros with a
 * single 1 (one-hot). How many there are follows from both sets, unless it is said.
 *
 * Threads: pure. Errors: one line that names the file and the example. */

#ifndef WORKER_DATA_LABELS_H
#define WORKER_DATA_LABELS_H

#include <stdint.h>

#include "common/base/status.h"
#include "worker/data/array.h"
#include "worker/data/data_text.h"
#include "worker/model/model.h"

struct label_rules {
    uint32_t classes; /* Or the targets of an example. */
    uint32_t first;   /* Of the classes as the files count them: 0 or 1. */
    uint32_t each;    /* Labels of an example: 1, or its targets. */
    bool one_hot, real;
};

/* Arrays that are read, of both sets or (count 1) of one. */
enum status labels_look(struct label_rules *rules, const struct data_text *data,
                        const struct array *const arrays[2], unsigned count, struct error *error);

/* labels: [examples * each], malloc'd, the caller's. The array is one of those. */
enum status labels_make(union label **labels, const struct label_rules *rules,
                        const struct array *array, struct error *error);

#endif
