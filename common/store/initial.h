/* initial.h - a job's initial values out of a file: those of its `given` variables by their names, and all
 * others from the seed.
 *
 * The file is a safetensors file, a checkpoint or a run (model_file.h), and may hold more than is asked for. A
 * run keeps them in OUT/initial.safetensors, from which it begins anew or is made again when that file is gone.
 *
 * Values are those of the whole parameter space, as variables_layout lays it out.
 *
 * Threads: no shared state. Errors: as model_file.h's. STATUS_MISMATCH names a variable that the file does not
 * have in the job's shape, or the digests of both sides. */

#ifndef COMMON_STORE_INITIAL_H
#define COMMON_STORE_INITIAL_H

#include <stdbool.h>

#include "common/store/checkpoint.h"

#define INITIAL_FILE "initial.safetensors"

/* Declare that the job begins with the values of the file: makes variables given, and sets the digest. A
 * variable that the file does not have is an error, or (missing_new) keeps its initializer. *values is the
 * caller's to free after STATUS_OK. */
enum status initial_declare(struct job *job, const struct disk *disk, const char *path,
                            bool missing_new, float **values, struct error *error);

/* The declared values of a job with given variables: from OUT/initial.safetensors, or where there is none from
 * `path` (NULL: there must be one). *values is the caller's to free after STATUS_OK. */
enum status initial_read(const struct job *job, const struct disk *disk, const char *out,
                         const char *path, float **values, struct error *error);

/* Write OUT/initial.safetensors, unless it is there. */
enum status initial_keep(const struct job *job, const struct disk *disk, const char *out,
                         const float *values, struct error *error);

/* Remove it where no run has begun: it is of one that failed before. */
void initial_drop(const struct disk *disk, const char *out);

/* The declared values, and slots at their first ones, as a checkpoint at step 0. */
enum status initial_open(struct checkpoint_reader *reader, const struct job *job,
                         const struct disk *disk, const char *out, const char *path,
                         struct error *error);

void initial_digest(const struct job *job, const float *values, uint8_t digest[DIGEST_BYTES]);

#endif
