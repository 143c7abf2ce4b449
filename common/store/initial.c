/* initial.c - finds each given variable in a model file by its name. */

#include "common/store/initial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/wording.h"

void initial_digest(const struct job *job, const float *values, uint8_t digest[DIGEST_BYTES])
{
    uint64_t elements = variables_room(job->variables, job->variable_count);
    hash_bytes(values, elements * sizeof *values, digest);
}

/* The file's values of a variable; NULL, with the reason, when it has none of this shape. */
static const float *find(const struct model_file *file, const struct variable *variable,
                         struct error *why)
{
    const float *values = file->parameters;
    char theirs[VARIABLE_SHAPE_MAX], ours[VARIABLE_SHAPE_MAX];
    for (uint32_t i = 0; i < file->variable_count; i++) {
        const struct variable *found = &file->variables[i];
        if (strcmp(found->name, variable->name) != 0) {
            values += variable_room(variable_elements(found));
            continue;
        }
        if (strcmp(variable_shape(found, theirs), variable_shape(variable, ours)) == 0)
            return values;
        error_set(why, STATUS_MISMATCH, "has %s %s, and the model's is %s", variable->name, theirs,
                  ours);
        return NULL;
    }
    error_set(why, STATUS_NOT_FOUND, "has no %s %s", variable->name,
              variable_shape(variable, ours));
    return NULL;
}

/* Put the file's values of all given variables where they are laid out. */
static enum status gather(const struct job *job, const struct model_file *file, float *values,
                          struct error *error)
{
    struct error why;
    float *to = values;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        const struct variable *variable = &job->variables[i];
        uint64_t elements = variable_elements(variable);
        const float *from =
            variable->initializer == INITIALIZER_GIVEN ? find(file, variable, &why) : NULL;
        if (from != NULL)
            memcpy(to, from, elements * sizeof *to);
        else if (variable->initializer == INITIALIZER_GIVEN)
            return error_set(error, STATUS_MISMATCH, "%.250s %.200s", file->path, why.text);
        to += variable_room(elements);
    }
    return STATUS_OK;
}

static enum status open_file(struct model_file *file, const struct disk *disk, const char *path,
                             struct error *error)
{
    enum status status = model_file_open(file, disk, path, error);
    if (status == STATUS_OK && model_file_check_whole(file, path, error) != STATUS_OK) {
        model_file_close(file);
        status = STATUS_INVALID;
    }
    return status;
}

static enum status make_values(const struct job *job, const struct model_file *file, float **values,
                               struct error *error)
{
    uint64_t elements = variables_room(job->variables, job->variable_count);
    *values = aligned_alloc(64, elements * sizeof **values);
    if (*values == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the initial values");
    enum status status = gather(job, file, *values, error);
    if (status == STATUS_OK) {
        variables_initialize(job->variables, job->variable_count, job->seed, *values, 0, elements,
                             *values);
        return status;
    }
    free(*values);
    *values = NULL;
    return status;
}

#define NAMED 2 /* Variables, in one line. */

static enum status declare_given(struct job *job, const struct model_file *file, bool missing_new,
                                 struct error *error)
{
    char wrong[300] = "";
    uint32_t count = 0, missing = 0;
    struct error why;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        struct variable *variable = &job->variables[i];
        if (find(file, variable, &why) != NULL) {
            variable->initializer = INITIALIZER_GIVEN;
            continue;
        }
        bool absent = why.status == STATUS_NOT_FOUND;
        if (absent && missing_new && variable->initializer != INITIALIZER_GIVEN)
            continue;
        missing += absent;
        if (count++ < NAMED)
            wording_append(wrong, sizeof wrong, "%s%s", count > 1 ? "; it " : "", why.text);
    }
    if (count == 0)
        return STATUS_OK;
    if (count > NAMED)
        wording_append(wrong, sizeof wrong, "; and %u more differ", count - NAMED);
    return error_set(error, STATUS_MISMATCH, "%.150s %s%s", file->path, wrong,
                     missing > 0 && !missing_new ? " (--initial-missing new allows that)" : "");
}

enum status initial_declare(struct job *job, const struct disk *disk, const char *path,
                            bool missing_new, float **values, struct error *error)
{
    struct model_file file;
    enum status status = open_file(&file, disk, path, error);
    if (status != STATUS_OK)
        return status;
    status = declare_given(job, &file, missing_new, error);
    if (status == STATUS_OK)
        status = make_values(job, &file, values, error);
    if (status == STATUS_OK)
        initial_digest(job, *values, job->initial_digest);
    model_file_close(&file);
    return status;
}

static void kept_path(char path[DISK_PATH_MAX], const char *out)
{
    snprintf(path, DISK_PATH_MAX, "%.*s/" INITIAL_FILE, DISK_PATH_MAX - 32, out);
}

static enum status check_digest(const struct job *job, const char *path, const float *values,
                                struct error *error)
{
    uint8_t digest[DIGEST_BYTES];
    initial_digest(job, values, digest);
    const uint8_t *a = digest, *b = job->initial_digest;
    if (memcmp(a, b, DIGEST_BYTES) == 0)
        return STATUS_OK;
    return error_set(
        error, STATUS_MISMATCH,
        "initial values: %02x%02x%02x%02x... in %.300s, %02x%02x%02x%02x... in the job: "
        "another file, seed or program gave them",
        a[0], a[1], a[2], a[3], path, b[0], b[1], b[2], b[3]);
}

enum status initial_read(const struct job *job, const struct disk *disk, const char *out,
                         const char *path, float **values, struct error *error)
{
    char kept[DISK_PATH_MAX];
    struct model_file file;
    kept_path(kept, out);
    if (disk->look(disk->context, kept) == DISK_FILE)
        path = kept;
    if (path == NULL)
        return error_set(error, STATUS_NOT_FOUND,
                         "%.300s is missing: the job begins with its values (--initial)", kept);
    enum status status = open_file(&file, disk, path, error);
    if (status != STATUS_OK)
        return status;
    status = make_values(job, &file, values, error);
    model_file_close(&file);
    if (status == STATUS_OK && (status = check_digest(job, path, *values, error)) != STATUS_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

enum status initial_keep(const struct job *job, const struct disk *disk, const char *out,
                         const float *values, struct error *error)
{
    char path[DISK_PATH_MAX];
    kept_path(path, out);
    if (disk->look(disk->context, path) == DISK_FILE)
        return STATUS_OK;
    return model_file_write(disk, path, job->model, job->variables, job->variable_count, values,
                            NULL, error);
}

void initial_drop(const struct disk *disk, const char *out)
{
    char path[DISK_PATH_MAX];
    snprintf(path, sizeof path, "%.*s/run.json", DISK_PATH_MAX - 32, out);
    if (disk->look(disk->context, path) != DISK_NOTHING)
        return;
    kept_path(path, out);
    if (disk->look(disk->context, path) == DISK_FILE) /* No folder that has this name. */
        disk->remove_tree(disk->context, path, NULL);
}

enum status initial_open(struct checkpoint_reader *reader, const struct job *job,
                         const struct disk *disk, const char *out, const char *path,
                         struct error *error)
{
    struct slots slots = job_slots(job);
    *reader = (struct checkpoint_reader){
        .array_count = 1 + slots.count,
        .elements = variables_room(job->variables, job->variable_count),
    };
    enum status status = initial_read(job, disk, out, path, &reader->arrays[0], error);
    if (status == STATUS_OK && job_copy(&reader->manifest.job, job) != STATUS_OK)
        status = error_set(error, STATUS_MEMORY, "out of memory for the job");
    for (uint32_t slot = 0; slot < slots.count && status == STATUS_OK; slot++) {
        float *to = reader->arrays[1 + slot] = malloc(reader->elements * sizeof *to);
        if (to == NULL)
            status = error_set(error, STATUS_MEMORY, "no memory for the optimizer's slots");
        for (uint64_t i = 0; to != NULL && i < reader->elements; i++)
            to[i] = job_slot_initial(job, slot);
    }
    if (status != STATUS_OK)
        checkpoint_close(reader);
    return status;
}
