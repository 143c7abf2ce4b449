/* source.c - chooses the kind of source that the options ask for. */

#include "worker/source/source.h"

#include <stdio.h>
#include <string.h>

#include "worker/source/source_layers.h"
#include "worker/source/source_program.h"

enum status source_options_of(struct source_options *source, const struct options *options,
                              struct error *error)
{
    *source = (struct source_options){
        .program = {.command = options->program,
                    .task = options->task_index,
                    .start_seconds = options->deadlines.start,
                    .answer_seconds = options->deadlines.progress / 2,
                    .restarts = options->max_restarts},
        .model = options->model,
        .seed = options->job.seed,
        .check_leaves = options->check_leaves,
        .data_fd = (int)options->data_fd,
    };
    if (options->program != NULL && options->declares != NULL &&
        strcmp(options->program, options->declared_by) == 0)
        source->declares = options->declares;
    options_data_text(options, source->data);
    char rest;
    struct program_options *program = &source->program;
    if (options->program_fd != NULL &&
        (sscanf(options->program_fd, "%d,%d%c", &program->socket, &program->memory, &rest) != 2 ||
         program->socket < 3 || program->memory < 3))
        return error_set(error, STATUS_INVALID, "needs two descriptors: SOCKET,MEMORY");
    return STATUS_OK;
}

enum status source_options_for(struct source_options *source, const struct options *options,
                               const char *path, const char *model, const char *data,
                               struct error *error)
{
    size_t length = sizeof JOB_MODEL_PROGRAM - 1;
    bool asks = strncmp(model, JOB_MODEL_PROGRAM, length) == 0;
    enum status status = source_options_of(source, options, error);
    source->model = model;
    snprintf(source->data, sizeof source->data, "%s", data);
    if (status == STATUS_OK && asks && options->program == NULL)
        return error_set(error, STATUS_MISMATCH,
                         "%.200s was trained by a program (%.200s): give it with --program", path,
                         model + length);
    if (status == STATUS_OK && !asks && model[0] != '\0' && options->program != NULL)
        return error_set(error, STATUS_MISMATCH, "%.200s was trained by layers: without --program",
                         path);
    return status;
}

enum status source_open(struct source **source, const struct source_options *options,
                        struct error *error)
{
    bool asks = options->program.command != NULL || options->program.socket > 0;
    return asks ? source_program_open(source, options, error)
                : source_layers_open(source, options, error);
}

enum status source_score(struct source *source, const float *parameters, uint64_t first,
                         uint64_t count, struct score *score, struct error *error)
{
    enum status status = STATUS_OK;
    uint64_t piece = source->score_piece > 0 ? source->score_piece : count;
    for (uint64_t done = 0; done < count && status == STATUS_OK; done += piece)
        status = source->kind->score(source, parameters, first + done,
                                     piece < count - done ? piece : count - done, score, error);
    return status;
}

void source_close(struct source **source)
{
    if (*source != NULL)
        (*source)->kind->close(*source);
    *source = NULL;
}
