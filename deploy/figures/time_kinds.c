/* time_kinds.c - worker_summary's seconds in one order. */

#include "deploy/figures/time_kinds.h"

#include <math.h>

enum { COMPUTING, EXCHANGING, WAITS, SCORING = WAITS + WAIT_COUNT, OTHER };

static const struct time_kind kinds[TIME_KINDS] = {
    [COMPUTING] = {"computing gradients", "computing", "bar t0"},
    [EXCHANGING] = {"exchanging them for parameters", "exchanging", "bar t1"},
    [WAITS + WAIT_BARRIER] = {"waiting at the barrier", "barrier", "bar t2"},
    [WAITS + WAIT_BOUND] = {"waiting for the slowest (bound)", "bound", "bar t5"},
    [WAITS + WAIT_LEASE] = {"waiting for a batch (lease)", "lease", "bar t7"},
    [WAITS + WAIT_GATE] = {"waiting for a checkpoint (gate)", "gate", "bar t6"},
    [SCORING] = {"scoring the model", "scoring", "bar t3"},
    [OTHER] = {"other", "other", "bar t4"},
};

const struct time_kind *time_kind(size_t kind)
{
    return &kinds[kind];
}

static double seconds_of(const struct worker_summary *worker, size_t kind)
{
    double seconds = kind == COMPUTING    ? worker->compute_seconds
                     : kind == EXCHANGING ? worker->exchange_seconds
                     : kind == SCORING    ? worker->evaluate_seconds
                     : kind == OTHER      ? worker_summary_other(worker)
                                          : worker->waits[kind - WAITS];
    return isfinite(seconds) && seconds > 0 ? seconds : 0;
}

double time_of_worker(const struct group *group, size_t worker, double seconds[TIME_KINDS])
{
    double total = 0;
    for (size_t kind = 0; kind < TIME_KINDS; kind++) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < group->record_count; i++) {
            const struct run_summary *summary = &group->records[i]->summary;
            if (worker >= summary->worker_count)
                continue;
            sum += seconds_of(&summary->workers[worker], kind);
            count++;
        }
        seconds[kind] = count > 0 ? sum / (double)count : 0;
        total += seconds[kind];
    }
    return total;
}

size_t time_workers(const struct group *group)
{
    size_t most = 0;
    for (size_t i = 0; i < group->record_count; i++) {
        size_t workers = group->records[i]->summary.worker_count;
        most = workers > most ? workers : most;
    }
    return most;
}

double time_of_config(const struct group *group, double seconds[TIME_KINDS])
{
    size_t workers = time_workers(group);
    double total = 0;
    for (size_t kind = 0; kind < TIME_KINDS; kind++)
        seconds[kind] = 0;
    for (size_t worker = 0; worker < workers; worker++) {
        double of_worker[TIME_KINDS];
        total += time_of_worker(group, worker, of_worker) / (double)workers;
        for (size_t kind = 0; kind < TIME_KINDS; kind++)
            seconds[kind] += of_worker[kind] / (double)workers;
    }
    return total;
}

bool time_kind_used(const struct comparison *comparison, size_t kind)
{
    double seconds[TIME_KINDS];
    for (size_t i = 0; i < comparison->group_count; i++) {
        time_of_config(&comparison->groups[i], seconds);
        if (seconds[kind] > 0)
            return true;
    }
    return false;
}
