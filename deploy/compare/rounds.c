/* rounds.c - turns a run's number into its arm, seed and folder. */

#include "deploy/compare/rounds.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/run_directory.h"
#include "worker/workload.h"

/* The first round has them in order, each later one begins with the next. */
size_t rounds_arm(const struct rounds *rounds, size_t index)
{
    size_t arms = rounds->arms->count;
    return (index % arms + index / arms) % arms;
}

bool rounds_is_last(const struct rounds *rounds, size_t index)
{
    for (size_t i = index + 1; i < rounds->run_count; i++)
        if (rounds_arm(rounds, i) == rounds_arm(rounds, index))
            return false;
    return true;
}

static uint64_t seed_of(const struct rounds *rounds, size_t index)
{
    const struct arm_plan *arm = &rounds->arms->list[rounds_arm(rounds, index)];
    return arm->options.job.seed + index / rounds->arms->count;
}

static void name_boards(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->run_count; i++)
        boards_name(rounds->boards[i], rounds->arms->list[rounds_arm(rounds, i)].arm.name,
                    seed_of(rounds, i));
}

enum status rounds_init(struct rounds *rounds, const struct arms *arms, uint32_t seeds,
                        const char *out, struct error *error)
{
    *rounds = (struct rounds){.arms = arms, .out = out};
    assert(arms->count > 0); /* An axis has one value at least. */
    if (seeds > COMPARISON_RUNS_MAX / arms->count)
        return error_set(error, STATUS_INVALID, "--seeds=%u: more than %d runs in all", seeds,
                         COMPARISON_RUNS_MAX);
    rounds->run_count = arms->count * seeds;
    rounds->kept = calloc(rounds->run_count, sizeof *rounds->kept);
    rounds->took = calloc(rounds->run_count, sizeof *rounds->took);
    rounds->boards = calloc(rounds->run_count, sizeof *rounds->boards);
    if (rounds->kept == NULL || rounds->took == NULL || rounds->boards == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    name_boards(rounds);
    return STATUS_OK;
}

void rounds_free(struct rounds *rounds)
{
    free(rounds->kept);
    free(rounds->took);
    free(rounds->boards);
    *rounds = (struct rounds){.run_count = 0};
}

void rounds_run(struct round_run *run, const struct rounds *rounds, size_t index)
{
    const struct arm_plan *arm = &rounds->arms->list[rounds_arm(rounds, index)];
    run->options = arm->options;
    run->arm = arm->arm;
    struct options *options = &run->options;
    options->job.seed = seed_of(rounds, index);
    options->tensorboard = rounds->tensorboard;
    options->tensorboard_run = rounds->tensorboard != NULL ? rounds->boards[index] : NULL;
    snprintf(run->name, sizeof run->name, "%s-s%" PRIu64, run->arm.name, options->job.seed);
    snprintf(run->out, sizeof run->out, "%.*s/" ROUNDS_RUNS "/%s",
             (int)(sizeof run->out - sizeof run->name - sizeof "/" ROUNDS_RUNS "/"), rounds->out,
             run->name);
    options->out = run->out;
}

/* Whether the run is there, whole: then no figure of it would come out otherwise. */
static bool is_done(const struct round_run *run)
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

void rounds_look(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->run_count; i++) {
        struct round_run run;
        rounds_run(&run, rounds, i);
        rounds->kept[i] = is_done(&run);
    }
}

double rounds_seconds_left(const struct rounds *rounds, size_t from)
{
    double all = 0, left = 0;
    size_t made = 0;
    for (size_t i = 0; i < from; i++) {
        all += rounds->took[i];
        made += rounds->took[i] > 0;
    }
    for (size_t i = from; i < rounds->run_count && made > 0; i++) {
        if (rounds->kept[i])
            continue;
        double of_arm = 0;
        size_t count = 0;
        for (size_t before = 0; before < from; before++) {
            bool same =
                rounds_arm(rounds, before) == rounds_arm(rounds, i) && rounds->took[before] > 0;
            of_arm += same ? rounds->took[before] : 0;
            count += same;
        }
        left += count > 0 ? of_arm / (double)count : all / (double)made;
    }
    return left;
}
