/* interleaving.c - computes a run's configuration, seed and folder from its number. */

#include "deploy/compare/interleaving.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/run_directory.h"
#include "worker/workload.h"

/* The first round has them in order, each later one begins with the next. */
size_t interleaving_config(const struct interleaving *interleaving, size_t index)
{
    size_t configs = interleaving->configs->count;
    return (index % configs + index / configs) % configs;
}

bool interleaving_is_last(const struct interleaving *interleaving, size_t index)
{
    for (size_t i = index + 1; i < interleaving->run_count; i++)
        if (interleaving_config(interleaving, i) == interleaving_config(interleaving, index))
            return false;
    return true;
}

static uint64_t seed_of(const struct interleaving *interleaving, size_t index)
{
    const struct config_plan *config =
        &interleaving->configs->list[interleaving_config(interleaving, index)];
    return config->options.job.seed + index / interleaving->configs->count;
}

static void name_boards(struct interleaving *interleaving)
{
    for (size_t i = 0; i < interleaving->run_count; i++)
        boards_name(interleaving->boards[i],
                    interleaving->configs->list[interleaving_config(interleaving, i)].config.name,
                    seed_of(interleaving, i));
}

enum status interleaving_init(struct interleaving *interleaving, const struct configs *configs,
                              uint32_t seeds, const char *out, struct error *error)
{
    *interleaving = (struct interleaving){.configs = configs, .out = out};
    assert(configs->count > 0); /* An axis has one value at least. */
    if (seeds > COMPARISON_RUNS_MAX / configs->count)
        return error_set(error, STATUS_INVALID, "--seeds=%u: more than %d runs in all", seeds,
                         COMPARISON_RUNS_MAX);
    interleaving->run_count = configs->count * seeds;
    interleaving->kept = calloc(interleaving->run_count, sizeof *interleaving->kept);
    interleaving->took = calloc(interleaving->run_count, sizeof *interleaving->took);
    interleaving->boards = calloc(interleaving->run_count, sizeof *interleaving->boards);
    if (interleaving->kept == NULL || interleaving->took == NULL || interleaving->boards == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    name_boards(interleaving);
    return STATUS_OK;
}

void interleaving_free(struct interleaving *interleaving)
{
    free(interleaving->kept);
    free(interleaving->took);
    free(interleaving->boards);
    *interleaving = (struct interleaving){.run_count = 0};
}

void interleaving_run(struct interleaved_run *run, const struct interleaving *interleaving,
                      size_t index)
{
    const struct config_plan *config =
        &interleaving->configs->list[interleaving_config(interleaving, index)];
    run->options = config->options;
    run->config = config->config;
    struct options *options = &run->options;
    options->job.seed = seed_of(interleaving, index);
    options->tensorboard = interleaving->tensorboard;
    options->tensorboard_run =
        interleaving->tensorboard != NULL ? interleaving->boards[index] : NULL;
    snprintf(run->name, sizeof run->name, "%s-s%" PRIu64, run->config.name, options->job.seed);
    snprintf(run->out, sizeof run->out, "%.*s/" INTERLEAVING_RUNS "/%s",
             (int)(sizeof run->out - sizeof run->name - sizeof "/" INTERLEAVING_RUNS "/"),
             interleaving->out, run->name);
    options->out = run->out;
}

/* Whether the run is there, whole: then no figure of it would come out otherwise. */
static bool is_done(struct interleaved_run *run)
{
    struct workload workload;
    struct error why;
    struct run_found found;
    bool done =
        workload_look(&workload, &run->options, &why) == EXIT_DONE &&
        run_directory_check(&disk_posix, run->out, &workload.job, NULL, &why) == STATUS_EXISTS &&
        run_directory_find(&found, &disk_posix, run->out, &why) == STATUS_OK;
    if (done) {
        done = found.state == RUN_DONE && found.job.steps == workload.job.steps;
        job_free(&found.job);
    }
    workload_free(&workload);
    return done;
}

void interleaving_look(struct interleaving *interleaving)
{
    for (size_t i = 0; i < interleaving->run_count; i++) {
        struct interleaved_run run;
        interleaving_run(&run, interleaving, i);
        interleaving->kept[i] = is_done(&run);
    }
}

double interleaving_seconds_left(const struct interleaving *interleaving, size_t from)
{
    double all = 0, left = 0;
    size_t made = 0;
    for (size_t i = 0; i < from; i++) {
        all += interleaving->took[i];
        made += interleaving->took[i] > 0;
    }
    for (size_t i = from; i < interleaving->run_count && made > 0; i++) {
        if (interleaving->kept[i])
            continue;
        double of_config = 0;
        size_t count = 0;
        for (size_t before = 0; before < from; before++) {
            bool same =
                interleaving_config(interleaving, before) == interleaving_config(interleaving, i) &&
                interleaving->took[before] > 0;
            of_config += same ? interleaving->took[before] : 0;
            count += same;
        }
        left += count > 0 ? of_config / (double)count : all / (double)made;
    }
    return left;
}
