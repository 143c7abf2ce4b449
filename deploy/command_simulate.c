/* syncopate simulate --seed S --histories N: whole clusters in virtual time, one history a seed,
 * and whether each of them kept the promises. */

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/options.h"
#include "deploy/command.h"
#include "deploy/history.h"

#define DESCRIPTION_MAX 400

/* What all histories of a mode had in them, for the table. */
struct totals {
    uint64_t histories, failed, events, stopped;
    double virtual_seconds;
    struct witness_counts counts;
};

static void add(struct totals *totals, const struct history_result *result)
{
    const struct witness_counts *counts = &result->counts;
    totals->histories++;
    totals->failed += result->failed;
    totals->events += result->events;
    totals->stopped += result->stopped;
    totals->virtual_seconds += (double)result->virtual_us * 1e-6;
    totals->counts.applied += counts->applied;
    totals->counts.stale += counts->stale;
    totals->counts.duplicate += counts->duplicate;
    totals->counts.staleness_sum += counts->staleness_sum;
}

static enum status simulate(uint64_t seed, const struct options *options, struct totals *modes)
{
    struct history_plan plan;
    struct history_result result;
    char description[DESCRIPTION_MAX];
    if (history_draw(&plan, seed) != STATUS_OK) {
        history_free(&plan);
        return STATUS_MEMORY;
    }
    plan.verbose = options->verbose;
    history_describe(&plan, description, sizeof description);
    history_run(&plan, &result);
    add(&modes[plan.job.mode], &result);
    if (result.failed)
        printf("seed %" PRIu64 " FAILED: %s\n    %s\n    syncopate simulate --seed %" PRIu64
               " --verbose\n",
               seed, result.failure, description, seed);
    else if (options->histories == 1 && !options->quiet)
        printf("seed %" PRIu64 ": %s\n", seed, description);
    history_free(&plan);
    return STATUS_OK;
}

static void print_totals(const struct totals *modes, double seconds)
{
    uint64_t histories = 0;
    printf("%-6s %10s %7s %8s %12s %10s %8s %10s %10s\n", "mode", "histories", "failed", "stopped",
           "applied", "stale", "again", "staleness", "virtual s");
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        const struct totals *it = &modes[mode];
        const struct witness_counts *counts = &it->counts;
        histories += it->histories;
        printf("%-6s %10" PRIu64 " %7" PRIu64 " %8" PRIu64 " %12" PRIu64 " %10" PRIu64 " %8" PRIu64
               " %10.2f %10.0f\n",
               mode_name(mode), it->histories, it->failed, it->stopped, counts->applied,
               counts->stale, counts->duplicate,
               counts->applied > 0 ? (double)counts->staleness_sum / (double)counts->applied : 0.0,
               it->virtual_seconds);
    }
    printf("%" PRIu64 " histories in %.2f s, %.0f a second\n", histories, seconds,
           (double)histories / seconds);
}

int command_simulate(int argc, char **argv)
{
    static const char program[] = "syncopate simulate";
    struct options options;
    struct error error = {0};
    switch (options_parse(&options, OPTION_SIMULATE, program, argc, argv, &error)) {
    case OPTIONS_HELP:
        return EXIT_DONE;
    case OPTIONS_BAD:
        fprintf(stderr, "%s\n", error.text);
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    struct totals modes[MODE_COUNT] = {0};
    double began = clock_now_seconds();
    for (uint64_t i = 0; i < options.histories; i++)
        if (simulate(options.seed + i, &options, modes) != STATUS_OK) {
            error_set(&error, STATUS_MEMORY, "out of memory");
            return command_fail(program, EXIT_TRAINING_FAILED, &error);
        }
    if (!options.quiet)
        print_totals(modes, clock_now_seconds() - began);
    return modes[MODE_SYNC].failed + modes[MODE_ASYNC].failed > 0 ? EXIT_TRAINING_FAILED
                                                                  : EXIT_DONE;
}
