/* data_files.h - the arrays of a data set, wherever they are:
 *
 *     DIR                        a folder of IDX files, as their names are in the world: train-images-idx3-ubyte,
 *                                train-images.idx3-ubyte, emnist-letters-train-images-idx3-ubyte, with t10k or
 *                                test for the test set; plain or .gz; here or one folder down
 *     X.npy,Y.npy[,TX.npy,TY.npy]   files of arrays, .npy or IDX
 *     FILE.csv[,TEST.csv]        a table, with the column of labels named (csv.h)
 *     FILE.npz                   NumPy's archive with x_train, y_train, and x_test, y_test
 *
 * Arrays are open behind their headers and not read, but for those of a table.
 *
 * Errors: one line that names the file and what to do. Threads: no shared state. */

#ifndef WORKER_DATA_DATA_FILES_H
#define WORKER_DATA_DATA_FILES_H

#include <stdbool.h>

#include "common/base/status.h"
#include "worker/data/array.h"
#include "worker/data/data_text.h"

struct data_part {
    struct array inputs, labels;
};

struct data_files {
    struct data_part train, test;
    bool has_test; /* Else test is zeros. */
    bool is_table; /* Columns of numbers, each of its own kind. */
};

/* On failure nothing is open. */
enum status data_files_open(struct data_files *files, const struct data_text *data,
                            struct error *error);
void data_files_free(struct data_files *files);

#endif
