/* source.c - reads a plan as its equivalent command, and the records of its runs. */

#include "deploy/compare/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/json.h"
#include "common/store/occupancy.h"
#include "common/store/run_directory.h"
#include "deploy/compare/interleaving.h"
#include "deploy/compare/plan_file.h"
#include "deploy/compare/plan_words.h"

#define RUN_FILE           "run.json"
#define RUN_FILE_BYTES_MAX (16u << 20)

/* --- the plan -------------------------------------------------------------------------------- */

static enum status lock(struct source *source, struct error *error)
{
    source->occupied = occupancy_take(source->path, true);
    if (source->occupied >= 0)
        return STATUS_OK;
    source->occupied = occupancy_take(source->path, false);
    if (source->occupied < 0)
        return STATUS_OK; /* There are no such locks. */
    return error_set(error, STATUS_EXISTS, "%.300s: a comparison is under way there", source->path);
}

static enum status read_plan(struct source *source, struct error *error)
{
    char name[] = "compare", file[DISK_PATH_MAX + 32];
    char *argv[] = {name, file};
    struct error why = {0};
    snprintf(file, sizeof file, "--plan=%s/" PLAN_FILE, source->path);
    enum status status = plan_words(&source->words, 2, argv, error);
    if (status != STATUS_OK)
        return status;
    if (options_parse(&source->options, OPTION_COMPARE, "syncopate compare",
                      (int)source->words.count, source->words.items, &why) != OPTIONS_RUN)
        return error_set(error, STATUS_INVALID, "%.200s/" PLAN_FILE ": %.250s", source->path,
                         why.text);
    status = plan_take(&source->plan, &source->options, (int)source->words.count,
                       source->words.items, &why);
    if (status == STATUS_OK)
        status = configs_make(&source->configs, &source->plan, &source->options, &why);
    return status == STATUS_OK
               ? status
               : error_set(error, status, "%.200s/" PLAN_FILE ": %.250s", source->path, why.text);
}

/* --- its runs -------------------------------------------------------------------------------- */

/* The results in run.json, beside the declaration. */
static enum status read_outcome(struct source_run *run, struct error *error)
{
    char path[DISK_PATH_MAX + 16];
    struct json *root = NULL;
    struct run_noise noise;
    snprintf(path, sizeof path, "%s/" RUN_FILE, run->path);
    enum status status = json_read_file(&disk_posix, path, RUN_FILE_BYTES_MAX, &root, error);
    if (status == STATUS_OK) {
        const char *digest = json_text(root, "parameters_sha256");
        snprintf(run->parameters_sha256, sizeof run->parameters_sha256, "%s",
                 digest != NULL ? digest : "");
        run->processors = (uint32_t)json_u64(root, "processors", 0);
    }
    json_release(&root);
    run_noise_read(&noise, &disk_posix, run->path);
    char *system = strrchr(noise.machine, ',');
    snprintf(run->machine, sizeof run->machine, "%.*s",
             system != NULL ? (int)(system - noise.machine) : 0, noise.machine);
    return status;
}

enum status source_run_read(struct source_run *run, const char *name, const char *path,
                            struct error *error)
{
    struct run_found found;
    enum status status = run_directory_find(&found, &disk_posix, path, error);
    if (status != STATUS_OK)
        return status;
    *run = (struct source_run){.job = found.job};
    snprintf(run->name, sizeof run->name, "%s", name);
    snprintf(run->path, sizeof run->path, "%s", path);
    status = found.state == RUN_DONE
                 ? read_outcome(run, error)
                 : error_set(error, STATUS_NOT_FOUND, "%.300s: it is not done", path);
    if (status != STATUS_OK)
        job_free(&run->job);
    return status;
}

/* Adds the run, if it is there and finished. */
static enum status look_at(struct source *source, const struct interleaved_run *run, size_t config,
                           struct error *error)
{
    struct source_run *into = &source->runs[source->run_count];
    enum status status = source_run_read(into, run->name, run->out, error);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    into->config = config;
    source->run_count++;
    return STATUS_OK;
}

static enum status look_at_all(struct source *source, struct error *error)
{
    struct interleaving interleaving;
    enum status status = interleaving_init(&interleaving, &source->configs, source->options.seeds,
                                           source->path, error);
    source->planned = interleaving.run_count;
    if (status == STATUS_OK) {
        source->runs = calloc(interleaving.run_count, sizeof *source->runs);
        if (source->runs == NULL)
            status = error_set(error, STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < source->planned && status == STATUS_OK; i++) {
        struct interleaved_run run;
        interleaving_run(&run, &interleaving, i);
        status = look_at(source, &run, interleaving_config(&interleaving, i), error);
    }
    interleaving_free(&interleaving);
    return status;
}

enum status source_open(struct source *source, const char *path, struct error *error)
{
    memset(source, 0, sizeof *source);
    source->path = path;
    source->occupied = -1;
    enum status status = lock(source, error);
    if (status == STATUS_OK)
        status = read_plan(source, error);
    return status == STATUS_OK ? look_at_all(source, error) : status;
}

void source_close(struct source *source)
{
    for (size_t i = 0; i < source->run_count; i++)
        job_free(&source->runs[i].job);
    free(source->runs);
    configs_free(&source->configs);
    plan_free(&source->plan);
    arguments_free(&source->words);
    if (source->occupied >= 0)
        close(source->occupied);
    memset(source, 0, sizeof *source);
    source->occupied = -1;
}

const struct source_run *source_find(const struct source *source, const char *name)
{
    for (size_t i = 0; i < source->run_count; i++)
        if (strcmp(source->runs[i].name, name) == 0)
            return &source->runs[i];
    return NULL;
}

const struct config_plan *source_config(const struct source *source, const char *name)
{
    for (size_t i = 0; i < source->configs.count; i++)
        if (strcmp(source->configs.list[i].config.name, name) == 0)
            return &source->configs.list[i];
    return NULL;
}
