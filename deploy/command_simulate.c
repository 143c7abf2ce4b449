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
    uint64_t histories, failed, events, stopped, ended, processes;
    double virtual_seconds;
    struct witness_counts counts;
    struct network_counts network;
    uint64_t faults[FAULT_KIND_COUNT];
    uint64_t healing_us;
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
    totals->counts.retries += counts->retries;
    totals->counts.newest += counts->newest;
    totals->counts.loads += counts->loads;
    totals->network.sent += result->network.sent;
    totals->network.lost += result->network.lost;
    totals->network.broken += result->network.broken;
    totals->network.partitioned += result->network.partitioned;
    totals->network.held += result->network.held;
    totals->network.repeated += result->network.repeated;
    totals->network.overtaking += result->network.overtaking;
    totals->ended += result->ended;
    totals->processes += result->processes;
    for (uint32_t i = 0; i < FAULT_KIND_COUNT; i++)
        totals->faults[i] += result->faults[i];
    if (result->healing_us > totals->healing_us)
        totals->healing_us = result->healing_us;
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

/* What went wrong in all of them, and how long it took to get over it. */
static void print_faults(const struct totals *modes)
{
    struct network_counts sum = {0};
    uint64_t healing_us = 0, processes = 0, loads = 0, retries = 0;
    printf("faults:");
    for (enum fault_kind kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        uint64_t count = 0;
        for (enum mode mode = 0; mode < MODE_COUNT; mode++)
            count += modes[mode].faults[kind];
        printf(" %s %" PRIu64 "%s", fault_name(kind), count,
               kind + 1 < FAULT_KIND_COUNT ? "," : "\n");
    }
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        const struct totals *it = &modes[mode];
        sum.sent += it->network.sent;
        sum.lost += it->network.lost;
        sum.broken += it->network.broken;
        sum.partitioned += it->network.partitioned;
        sum.held += it->network.held;
        sum.repeated += it->network.repeated;
        sum.overtaking += it->network.overtaking;
        processes += it->processes;
        loads += it->counts.loads;
        retries += it->counts.retries;
        healing_us = it->healing_us > healing_us ? it->healing_us : healing_us;
    }
    printf("messages: sent %" PRIu64 ", lost %" PRIu64 ", lost with a connection %" PRIu64
           ", lost between hosts %" PRIu64 ", held up %" PRIu64 ", repeated %" PRIu64
           ", overtaking %" PRIu64 "\n",
           sum.sent, sum.lost, sum.broken, sum.partitioned, sum.held, sum.repeated, sum.overtaking);
    printf("processes %" PRIu64 ", chunks loaded %" PRIu64 ", gradients asked after %" PRIu64
           ", at most %.1f s from the last fault to the end\n",
           processes, loads, retries, (double)healing_us * 1e-6);
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
    print_faults(modes);
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
