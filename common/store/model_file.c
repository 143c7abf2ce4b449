/* model_file.c - variables with their own names and shapes as tensors, read from a model, a
 * checkpoint or a run, and arranged for a given layout. */

#include "common/store/model_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/beside.h"
#include "common/base/hash.h"
#include "common/store/checkpoint.h"
#include "common/store/run_directory.h"
#include "common/store/safetensors.h"

/* The start of each variable, [count], or NULL without memory; *elements of all. */
static uint64_t *offsets_of(const struct variable *variables, uint32_t count, uint64_t *elements)
{
    uint64_t *offsets = calloc((size_t)count + 1, sizeof *offsets);
    if (offsets != NULL)
        *elements = variables_layout(variables, count, offsets);
    return offsets;
}

/* A parameter space of zeros. */
static float *allocate_space(uint64_t elements)
{
    size_t bytes = (elements ? elements : PARAMETER_ALIGNMENT) * sizeof(float);
    float *space = aligned_alloc(64, bytes);
    if (space != NULL)
        memset(space, 0, bytes);
    return space;
}

/* --- writing ------------------------------------------------------------------------------- */

static void sha256_of(const struct disk_piece *pieces, size_t piece_count, char hex[65])
{
    struct sha256 sha256;
    uint8_t digest[HASH_BYTES];
    sha256_init(&sha256);
    for (size_t i = 0; i < piece_count; i++)
        sha256_update(&sha256, pieces[i].data, pieces[i].bytes);
    sha256_final(&sha256, digest);
    hash_hex(digest, sizeof digest, hex);
}

/* A file's digest while it is written. */
struct digesting {
    const struct safetensors_writer *writer;
    char *hex; /* [65] */
};

static void digest(void *argument)
{
    const struct digesting *digesting = argument;
    sha256_of(digesting->writer->pieces, digesting->writer->piece_count, digesting->hex);
}

enum status model_file_write(const struct disk *disk, const char *path, const char *model_text,
                             const struct variable *variables, uint32_t variable_count,
                             const float *parameters, char *sha256_hex, struct error *error)
{
    uint64_t elements;
    uint64_t *offsets = offsets_of(variables, variable_count, &elements);
    if (offsets == NULL)
        return error_set(error, STATUS_MEMORY, "no memory to write %.300s", path);
    struct safetensors_writer writer;
    safetensors_writer_init(&writer);
    safetensors_writer_metadata(&writer, "model", model_text);
    for (uint32_t i = 0; i < variable_count; i++)
        safetensors_writer_tensor(&writer, variables[i].name, variables[i].shape, variables[i].rank,
                                  parameters + offsets[i]);
    enum status status = safetensors_writer_finish(&writer, error);
    struct beside beside = {.running = false};
    struct digesting digesting = {&writer, sha256_hex};
    if (status == STATUS_OK && sha256_hex != NULL)
        beside_start(&beside, writer.data_bytes, digest, &digesting);
    if (status == STATUS_OK)
        status = disk->write_file(disk->context, path, writer.pieces, writer.piece_count, error);
    beside_join(&beside);
    safetensors_writer_free(&writer);
    free(offsets);
    return status;
}

void parameters_sha256(const struct variable *variables, uint32_t variable_count,
                       const float *parameters, char hex[65])
{
    struct sha256 sha256;
    uint8_t digest[HASH_BYTES];
    uint64_t offset = 0;
    sha256_init(&sha256);
    for (uint32_t i = 0; i < variable_count; i++) {
        uint64_t unused;
        sha256_update(&sha256, parameters + offset,
                      variable_elements(&variables[i]) * sizeof(float));
        offset += variables_layout(&variables[i], 1, &unused);
    }
    sha256_final(&sha256, digest);
    hash_hex(digest, sizeof digest, hex);
}

/* --- out of a checkpoint ------------------------------------------------------------------- */

/* Digests of this size are worth a thread. */
#define BLOCK_ELEMENTS (BESIDE_BYTES_MIN / sizeof(float))

/* One file that is made while it is written. */
struct exporting {
    const struct variable *variables;
    uint32_t variable_count;
    const uint64_t *offsets; /* [variable_count] */
    const struct checkpoint_reader *values;
    struct safetensors_writer writer; /* Of the header alone. */
    float *block;                     /* [BLOCK_ELEMENTS] */
    uint32_t pieces, variable; /* Pieces of the header and whole variables that are written. */
    uint64_t elements;         /* Elements of the next variable that are written. */
    struct sha256 file, parameters;
    /* For the second digest, by a thread beside the first's and the writer's. */
    struct disk_piece values_piece;
    struct beside summing, verifying;
    enum status verified; /* Valid after it is joined. */
    struct error why;
};

static void verify(void *argument)
{
    struct exporting *exporting = argument;
    exporting->verified = checkpoint_verify(exporting->values, &exporting->why);
}

static void sum_up(void *argument)
{
    struct exporting *exporting = argument;
    sha256_update(&exporting->parameters, exporting->values_piece.data,
                  exporting->values_piece.bytes);
}

/* In place of a last piece: whether all sources of the file were whole. */
static enum status end_export(struct exporting *exporting, struct disk_piece *piece,
                              struct error *error)
{
    *piece = (struct disk_piece){NULL, 0};
    beside_join(&exporting->verifying);
    return exporting->verified == STATUS_OK
               ? STATUS_OK
               : error_set(error, exporting->verified, "%s", exporting->why.text);
}

static enum status next_piece(void *context, struct disk_piece *piece, struct error *error)
{
    struct exporting *exporting = context;
    beside_join(&exporting->summing); /* It reads the block. */
    if (exporting->pieces < 2) {
        *piece = exporting->writer.pieces[exporting->pieces++];
        sha256_update(&exporting->file, piece->data, piece->bytes);
        return STATUS_OK;
    }
    while (exporting->variable < exporting->variable_count &&
           exporting->elements == variable_elements(&exporting->variables[exporting->variable])) {
        exporting->variable++;
        exporting->elements = 0;
    }
    if (exporting->variable == exporting->variable_count)
        return end_export(exporting, piece, error);
    uint64_t left =
        variable_elements(&exporting->variables[exporting->variable]) - exporting->elements;
    uint64_t some = left < BLOCK_ELEMENTS ? left : BLOCK_ELEMENTS;
    enum status status = checkpoint_read_values(
        exporting->values, exporting->offsets[exporting->variable] + exporting->elements, some,
        exporting->block, error);
    *piece = (struct disk_piece){exporting->block, (size_t)some * sizeof(float)};
    exporting->elements += some;
    if (status == STATUS_OK) {
        exporting->values_piece = *piece;
        beside_start(&exporting->summing, piece->bytes, sum_up, exporting);
        sha256_update(&exporting->file, piece->data, piece->bytes);
    }
    return status;
}

static enum status describe_model(struct exporting *exporting, const char *model_text,
                                  struct error *error)
{
    safetensors_writer_metadata(&exporting->writer, "model", model_text);
    for (uint32_t i = 0; i < exporting->variable_count; i++)
        safetensors_writer_tensor(&exporting->writer, exporting->variables[i].name,
                                  exporting->variables[i].shape, exporting->variables[i].rank,
                                  NULL);
    return safetensors_writer_finish(&exporting->writer, error);
}

static void take_hex(struct sha256 *sha256, char hex[65])
{
    uint8_t digest_bytes[HASH_BYTES];
    sha256_final(sha256, digest_bytes);
    hash_hex(digest_bytes, sizeof digest_bytes, hex);
}

static enum status export_all(struct exporting *exporting, const struct disk *disk,
                              const char *path, struct error *error)
{
    const struct safetensors_writer *writer = &exporting->writer;
    const struct disk_source source = {exporting, next_piece};
    uint64_t bytes = writer->pieces[0].bytes + writer->pieces[1].bytes + writer->data_bytes;
    beside_start(&exporting->verifying, checkpoint_unproven(exporting->values), verify, exporting);
    enum status status = disk->write_from(disk->context, path, bytes, &source, error);
    beside_join(&exporting->summing); /* It may have ended before the last piece. */
    beside_join(&exporting->verifying);
    return status;
}

enum status model_file_export(const struct disk *disk, const char *path, const char *model_text,
                              const struct variable *variables, uint32_t variable_count,
                              const struct checkpoint_reader *values, char model_hex[65],
                              char parameters_hex[65], struct error *error)
{
    uint64_t elements = 0;
    uint64_t *offsets = offsets_of(variables, variable_count, &elements);
    struct exporting exporting = {.variables = variables,
                                  .variable_count = variable_count,
                                  .offsets = offsets,
                                  .values = values,
                                  .block = malloc(BLOCK_ELEMENTS * sizeof(float))};
    enum status status = STATUS_OK;
    safetensors_writer_init(&exporting.writer);
    sha256_init(&exporting.file);
    sha256_init(&exporting.parameters);
    if (offsets == NULL || exporting.block == NULL)
        status = error_set(error, STATUS_MEMORY, "no memory to write %.300s", path);
    else if (elements != values->elements)
        status = error_set(error, STATUS_INVALID, "%.300s: is of another model", values->path);
    if (status == STATUS_OK)
        status = describe_model(&exporting, model_text, error);
    if (status == STATUS_OK)
        status = export_all(&exporting, disk, path, error);
    if (status == STATUS_OK) {
        take_hex(&exporting.file, model_hex);
        take_hex(&exporting.parameters, parameters_hex);
    }
    safetensors_writer_free(&exporting.writer);
    free(exporting.block);
    free(offsets);
    return status;
}

/* --- reading a file ------------------------------------------------------------------------ */

/* False for what is no variable of ours: counters of other programs, and names that are too long. */
static bool is_variable(const struct safetensors_tensor *tensor)
{
    return safetensors_is_float(tensor) && strlen(tensor->name) < VARIABLE_NAME_MAX;
}

static enum status copy_values(struct model_file *file, const struct safetensors_file *tensors,
                               const char *path, struct error *error)
{
    uint64_t *offsets = offsets_of(file->variables, file->variable_count, &file->elements);
    file->parameters = offsets != NULL ? allocate_space(file->elements) : NULL;
    if (file->parameters == NULL) {
        free(offsets);
        return error_set(error, STATUS_MEMORY, "no memory for the parameters of %.300s", path);
    }
    const struct safetensors_tensor *tensor = tensors->tensors;
    for (uint32_t i = 0; i < file->variable_count; tensor++)
        if (is_variable(tensor))
            safetensors_floats(tensor, file->parameters + offsets[i++]);
    free(offsets);
    return STATUS_OK;
}

static enum status read_tensors(struct model_file *file, const struct safetensors_file *tensors,
                                const char *path, struct error *error)
{
    const char *model = safetensors_metadata(tensors, "model");
    const char *format = safetensors_metadata(tensors, "format");
    snprintf(file->format, sizeof file->format, "%s", format != NULL ? format : "");
    if (model != NULL && strlen(model) >= sizeof file->model)
        return error_set(error, STATUS_INVALID, "%.300s: its layer list is too long", path);
    strcpy(file->model, model != NULL ? model : "");
    if (tensors->tensor_count > VARIABLE_COUNT_MAX)
        return error_set(error, STATUS_INVALID, "%.300s: has more than %d variables", path,
                         VARIABLE_COUNT_MAX);
    file->variables = calloc(tensors->tensor_count + 1, sizeof *file->variables);
    if (file->variables == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the variables of %.300s", path);
    for (size_t i = 0; i < tensors->tensor_count; i++) {
        const struct safetensors_tensor *tensor = &tensors->tensors[i];
        if (!is_variable(tensor))
            continue;
        struct variable *variable = &file->variables[file->variable_count++];
        strcpy(variable->name, tensor->name);
        variable->rank = tensor->rank;
        memcpy(variable->shape, tensor->shape, sizeof variable->shape);
    }
    if (file->variable_count == 0 && tensors->tensor_count > 0)
        return error_set(error, STATUS_INVALID,
                         "%.300s: \"%.64s\" is %s, and no other is F32, F64, F16 or BF16", path,
                         tensors->tensors[0].name, tensors->tensors[0].dtype);
    return copy_values(file, tensors, path, error);
}

static enum status open_file(struct model_file *file, const struct disk *disk, const char *path,
                             struct error *error)
{
    void *bytes;
    size_t count;
    uint64_t file_bytes;
    uint8_t start[SAFETENSORS_START];
    enum status status =
        disk->read_start(disk->context, path, start, sizeof start, &count, &file_bytes, error);
    if (status == STATUS_OK) /* Before memory is taken for a file that may be a film. */
        status = safetensors_look(start, count, file_bytes, path, error);
    if (status == STATUS_OK)
        status = disk->read_file(disk->context, path, SIZE_MAX / 2, &bytes, &count, error);
    if (status != STATUS_OK)
        return status;
    snprintf(file->path, sizeof file->path, "%s", path);
    struct safetensors_file tensors;
    status = safetensors_open(&tensors, bytes, count, path, error);
    if (status == STATUS_OK)
        status = read_tensors(file, &tensors, path, error);
    safetensors_close(&tensors);
    free(bytes);
    return status;
}

/* --- reading a checkpoint or a run --------------------------------------------------------- */

/* Take over a reader's values, and close it. */
static enum status take_from(struct model_file *file, struct checkpoint_reader *reader,
                             struct error *error)
{
    file->job = reader->manifest.job;
    file->declared = true;
    file->step = reader->manifest.step;
    memcpy(file->model, file->job.model, sizeof file->model);
    file->variable_count = file->job.variable_count;
    file->variables = calloc(file->variable_count, sizeof *file->variables);
    if (file->variables != NULL)
        memcpy(file->variables, file->job.variables,
               file->variable_count * sizeof *file->variables);
    file->parameters = reader->arrays[0];
    file->elements = reader->elements;
    reader->manifest.job = (struct job){0};
    reader->arrays[0] = NULL;
    checkpoint_close(reader);
    return file->variables != NULL ? STATUS_OK
                                   : error_set(error, STATUS_MEMORY, "no memory for the variables");
}

struct directory_contents {
    bool manifest, run, model;
};

static void note_entry(void *argument, const char *name)
{
    struct directory_contents *contents = argument;
    contents->manifest = contents->manifest || strcmp(name, "manifest.json") == 0;
    contents->run = contents->run || strcmp(name, "run.json") == 0;
    contents->model = contents->model || strcmp(name, "model.safetensors") == 0;
}

static enum status open_checkpoint(struct model_file *file, const struct disk *disk,
                                   const char *path, bool of_run, struct error *error)
{
    struct checkpoint_reader reader;
    enum status status = of_run ? checkpoint_open_newest(&reader, disk, path, NULL, NULL, error)
                                : checkpoint_open_values(&reader, disk, path, error);
    if (status != STATUS_OK)
        return status;
    if (of_run)
        checkpoint_path(file->path, path, reader.manifest.step);
    else
        snprintf(file->path, sizeof file->path, "%s", path);
    return take_from(file, &reader, error);
}

/* The model that a run has written, with its declaration; takes over found. */
static enum status open_model(struct model_file *file, const struct disk *disk, const char *path,
                              struct run_found *found, bool declared, struct error *error)
{
    char model_path[DISK_PATH_MAX];
    if (snprintf(model_path, sizeof model_path, "%s/model.safetensors", path) >= DISK_PATH_MAX) {
        job_free(&found->job);
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", path);
    }
    file->job = found->job;
    file->declared = declared;
    file->step = found->step;
    enum status status = open_file(file, disk, model_path, error);
    if (status == STATUS_OK && declared && file->model[0] == '\0')
        memcpy(file->model, file->job.model, sizeof file->model);
    return status;
}

/* The model file of an unfinished run is an earlier session's; its newest values are in its
 * checkpoints. */
static enum status open_run(struct model_file *file, const struct disk *disk, const char *path,
                            struct directory_contents contents, struct error *error)
{
    struct run_found found = {0};
    struct error why;
    bool declared = contents.run && run_directory_find(&found, disk, path, &why) == STATUS_OK;
    bool ended = declared && (found.state == RUN_DONE || found.state == RUN_STOPPED);
    uint64_t newest;
    bool has_checkpoint = checkpoint_list(disk, path, &newest, 1) > 0;
    if (contents.model && (ended || !has_checkpoint))
        return open_model(file, disk, path, &found, declared, error);
    job_free(&found.job);
    if (has_checkpoint)
        return open_checkpoint(file, disk, path, true, error);
    return error_set(error, STATUS_NOT_FOUND,
                     "%.300s is neither a checkpoint (a folder with manifest.json) nor a run with "
                     "a model or a checkpoint",
                     path);
}

enum status model_file_open(struct model_file *file, const struct disk *disk, const char *path,
                            struct error *error)
{
    memset(file, 0, sizeof *file);
    struct directory_contents contents = {0};
    struct error why;
    enum status status = disk->list_directory(disk->context, path, note_entry, &contents, &why);
    if (status == STATUS_OK)
        status = contents.manifest ? open_checkpoint(file, disk, path, false, error)
                                   : open_run(file, disk, path, contents, error);
    else if (disk->look(disk->context, path) == DISK_FOLDER) /* One that may not be looked into. */
        error_set(error, status, "%s", why.text);
    else
        status =
            open_file(file, disk, path, error); /* Gives the reason, if it is nothing at all. */
    if (status != STATUS_OK)
        model_file_close(file);
    return status;
}

void model_file_close(struct model_file *file)
{
    job_free(&file->job);
    free(file->variables);
    free(file->parameters);
    memset(file, 0, sizeof *file);
}

enum status model_file_check_whole(const struct model_file *file, const char *path,
                                   struct error *error)
{
    if (strcmp(file->format, CHECKPOINT_FORMAT) != 0)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%.300s: is one server's part of a checkpoint; its folder is the whole", path);
}

/* --- arranging ------------------------------------------------------------------------------- */

static const struct variable *find(const struct variable *variables, uint32_t count,
                                   const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(variables[i].name, name) == 0)
            return &variables[i];
    return NULL;
}

static enum status check_same(const struct model_file *file, const struct variable *variables,
                              uint32_t count, const char *path, struct error *error)
{
    char theirs[VARIABLE_SHAPE_MAX], ours[VARIABLE_SHAPE_MAX];
    bool asks = job_asks_program(&file->job);
    const char *maker = asks ? "the program" : "its layer list";
    const char *more = asks ? "" : " for these images";
    for (uint32_t i = 0; i < count; i++) {
        const struct variable *found =
            find(file->variables, file->variable_count, variables[i].name);
        variable_shape(&variables[i], ours);
        if (found == NULL)
            return error_set(error, STATUS_MISMATCH, "%.300s: has no %s, which %s makes %s%s", path,
                             variables[i].name, maker, ours, more);
        if (strcmp(variable_shape(found, theirs), ours) != 0)
            return error_set(error, STATUS_MISMATCH, "%.300s: has %s %s where %s makes %s%s", path,
                             found->name, theirs, maker, ours, more);
    }
    for (uint32_t i = 0; i < file->variable_count; i++)
        if (find(variables, count, file->variables[i].name) == NULL)
            return error_set(error, STATUS_MISMATCH,
                             "%.300s: has %s %s, which its layer list does not make", path,
                             file->variables[i].name, variable_shape(&file->variables[i], theirs));
    return STATUS_OK;
}

enum status model_file_arrange(struct model_file *file, const struct variable *variables,
                               uint32_t count, const char *path, struct error *error)
{
    enum status status = check_same(file, variables, count, path, error);
    uint32_t same = 0;
    while (status == STATUS_OK && same < count &&
           strcmp(file->variables[same].name, variables[same].name) == 0)
        same++;
    if (status != STATUS_OK || same == count)
        return status;
    uint64_t elements;
    uint64_t *from = offsets_of(file->variables, count, &elements);
    uint64_t *to = offsets_of(variables, count, &elements);
    float *parameters = from != NULL && to != NULL ? allocate_space(elements) : NULL;
    for (uint32_t i = 0; parameters != NULL && i < count; i++) {
        size_t place = (size_t)(find(file->variables, count, variables[i].name) - file->variables);
        memcpy(parameters + to[i], file->parameters + from[place],
               variable_elements(&variables[i]) * sizeof(float));
    }
    free(from);
    free(to);
    if (parameters == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the parameters of %.300s", path);
    memcpy(file->variables, variables, count * sizeof *variables);
    free(file->parameters);
    file->parameters = parameters;
    return STATUS_OK;
}
