/* csv.h - a table of numbers and a column of labels, from text.
 *
 * Cells are set off by commas, semicolons or tabs, whichever the first line has most of. A cell may stand
 * between quotes, with "" for a quote in it. Lines end with LF or CRLF; empty lines are passed over. The
 * first line is a header if it has more cells that are no numbers than the second has.
 *
 * Every cell but a label's is a finite number; what is not is refused by line and column.
 *
 * Threads: pure. Ownership: a csv borrows its text. */

#ifndef WORKER_DATA_CSV_H
#define WORKER_DATA_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define CSV_COLUMNS_MAX 65536

/* A cell without its quotes; "" in it are still two. */
struct csv_cell {
    const char *text; /* Borrowed, not terminated. */
    size_t length;
};

struct csv {
    const char *path; /* For messages, borrowed. */
    char separator;
    uint32_t columns;        /* With the label's. */
    uint32_t label;          /* From 0. */
    uint64_t rows;           /* Without a header. */
    float *numbers;          /* [rows][columns - 1], owned. */
    struct csv_cell *labels; /* [rows], owned. */
    bool bytes;              /* All numbers are whole, from 0 to 255. */
};

/* text[bytes], and a zero behind it. label: the column's name, or its number from 1; "": not said, which is
 * refused with the names. On failure csv is zeroed. */
enum status csv_read(struct csv *csv, const char *path, const char *text, size_t bytes,
                     const char *label, struct error *error);
void csv_free(struct csv *csv);

/* The labels of one or two tables as numbers: values[i], malloc'd [rows], the caller's. Where all are numbers
 * they are these; else each word is a class, from 0, in the order of the words' bytes. real: words are
 * refused. */
enum status csv_labels(const struct csv *tables, unsigned count, bool real, double *values[2],
                       struct error *error);

#endif
