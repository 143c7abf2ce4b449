/* scored_file.h - OUT/scored/epoch-E.safetensors: the model of the score after epoch E.
 *
 * Threads: plain values. Errors: as model_file.h's. */

#ifndef COMMON_STORE_SCORED_FILE_H
#define COMMON_STORE_SCORED_FILE_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/job/job.h"

/* Write the model after so many batches, over an earlier one of the same epoch; makes the
 * folder. */
enum status scored_file_write(const struct disk *disk, const char *out, const struct job *job,
                              uint64_t batches, const float *parameters, struct error *error);

#endif
