/* model_file.h - one trained model in one plain safetensors file, which Python opens without us.
 *
 * Threads: plain values. Errors: as checkpoint.h's; the line names the file. */

#ifndef COMMON_STORE_MODEL_FILE_H
#define COMMON_STORE_MODEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/job/job.h"
#include "common/job/variable.h"

/* Write variables by their own names and shapes to a plain safetensors file. Its metadata hold
 * the layer list only, so the same model has the same bytes from any run. sha256_hex[65]
 * receives the file's SHA-256; may be NULL. */
enum status model_file_write(const struct disk *disk, const char *path, const char *model_text,
                             const struct variable *variables, uint32_t variable_count,
                             const float *parameters, char *sha256_hex, struct error *error);

struct checkpoint_reader;

/* The same out of a checkpoint, block by block, with both digests, without memory for the whole.
 * A thread beside reads the untrusted parts and compares them with the manifest. The file gets
 * its name only if all is as it was written: STATUS_INVALID otherwise. Each of the two reads for
 * itself: a wrong read of the disk may pass once, and is then in both digests. */
enum status model_file_export(const struct disk *disk, const char *path, const char *model_text,
                              const struct variable *variables, uint32_t variable_count,
                              const struct checkpoint_reader *values, char model_hex[65],
                              char parameters_hex[65], struct error *error);

struct model_file {
    char path[DISK_PATH_MAX]; /* Of the file or the checkpoint's directory. */
    bool declared;            /* The run or the checkpoint has a declaration. */
    struct job job;           /* The declaration, or zeros. Owned. */
    uint64_t step;            /* Of the model, in updates. */
    char format[32];          /* Of the file's metadata; "" for a model's. */
    char model[MODEL_TEXT_MAX];
    struct variable *variables; /* [variable_count] names and shapes, owned. */
    uint32_t variable_count;
    float *parameters; /* [elements] laid out as variables_layout says, owned. */
    uint64_t elements;
};

/* Open a model.safetensors, or a checkpoint directory, or a run directory: its model.safetensors
 * when it has ended, else (or when it has none) its newest whole checkpoint. Variables keep the
 * order of their data in the file; initializers are not in it. Tensors that are not floating-point numbers,
 * or have names above 127 bytes, are passed over. */
enum status model_file_open(struct model_file *file, const struct disk *disk, const char *path,
                            struct error *error);
void model_file_close(struct model_file *file);

/* STATUS_INVALID for a file that is only one server's part of a checkpoint. */
enum status model_file_check_whole(const struct model_file *file, const char *path,
                                   struct error *error);

/* Put a file's variables, in any order, into the order of variables[count]. They must be those,
 * by name and shape: STATUS_MISMATCH names one that is missing, unknown or of another shape. */
enum status model_file_arrange(struct model_file *file, const struct variable *variables,
                               uint32_t count, const char *path, struct error *error);

/* SHA-256 of the values of all variables, little-endian, in order, without gaps. */
void parameters_sha256(const struct variable *variables, uint32_t variable_count,
                       const float *parameters, char hex[65]);

#endif
