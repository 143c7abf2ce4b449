/* data_text.h - what --data says, with the settings that belong to it, in one text:
 *
 *     iris.csv --label species --test-part 0.2
 *
 * A job, a checkpoint and a record carry this text, so that who has one of them can open the data again:
 * evaluate, replay and workers know no other way.
 *
 * Threads: plain values. */

#ifndef WORKER_DATA_DATA_TEXT_H
#define WORKER_DATA_DATA_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

#define DATA_TEXT_MAX    256
#define DATA_LABEL_MAX   128
#define DATA_CLASSES_MAX 65536
#define DATA_FILES_MAX   4

enum data_scale {
    DATA_SCALE_AUTO,     /* Bytes by 255; columns of a CSV file to mean 0; other floats stay. */
    DATA_SCALE_BYTES,    /* By 255. */
    DATA_SCALE_STANDARD, /* Each column to mean 0 and deviation 1 over the training set. */
    DATA_SCALE_NONE
};

struct data_text {
    char
        files[DATA_TEXT_MAX]; /* The text before the settings: a name, a folder, a list of files. */
    char label
        [DATA_LABEL_MAX]; /* Of a CSV file: the column's name, or its number from 1; "": not said. */
    double test_part;     /* Of data without a test set of their own; negative: not said. */
    uint32_t classes;     /* 0: as the labels have it. */
    enum data_scale scale;
    bool real; /* The labels are numbers to come near to: --loss mse. */
};

#define DATA_TEST_PART 0.2 /* Where none is said. */

/* STATUS_INVALID, with the setting named. */
enum status data_text_read(struct data_text *data, const char *text, struct error *error);

/* Settings of `other` that are not said in text[DATA_TEXT_MAX] are put behind it, as many as there is
 * room for. */
void data_text_join(char text[DATA_TEXT_MAX], const char *other);

#endif
