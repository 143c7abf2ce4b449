/* rerun.h - repeats a recorded run, or the same history with a change: gradients by the workers'
 * own code from the run's data, updates by replay.h, scores where the run has them.
 *
 * Threads: one owner. */

#ifndef DEPLOY_REPLAY_RERUN_H
#define DEPLOY_REPLAY_RERUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "deploy/replay/included.h"
#include "deploy/replay/recorded.h"
#include "deploy/replay/replay.h"
#include "worker/node_gradient.h"
#include "worker/source/source.h"

/* Of every chunk after so many batches, on the test set. */
struct rerun_score {
    uint64_t batches;
    struct score_figures test;
};

/* One session of the run, as far as it was replayed. */
struct rerun_segment {
    uint64_t session;
    uint32_t workers, servers, chunks; /* No chunks: steps do not depend on the workers. */
    struct run_record_snapshot from, to;
    uint64_t computations, entries, torn;
};

struct rerun {
    const struct recorded *recorded; /* Borrowed. */
    struct job job;                  /* The job to compute. Owned. */
    struct source *source;
    struct node_gradient gradient;
    bool has_gradient;
    struct replay *replay;
    struct included included;
    struct rerun_score *scores; /* [score_count] Owned. */
    size_t score_count, score_capacity;
    double score_seconds;
    uint64_t computing; /* The batch of the current gradient. */
};

struct rerun_listener {
    void *context;
    void (*segment)(void *context, const struct rerun_segment *segment);
    /* Optional. */
    void (*score)(void *context, const struct rerun_score *score);
};

/* job: the run's, or with a change; options: of the source of its gradients. STATUS_MISMATCH: the data have changed,
 * or this processor lacks the instructions of the record. */
enum status rerun_open(struct rerun *rerun, const struct recorded *recorded, const struct job *job,
                       const struct source_options *options, uint64_t until, struct error *error);
void rerun_close(struct rerun *rerun);

/* All of it. STATUS_INVALID: the record is damaged. STATUS_DIVERGED: an applied gradient is not
 * finite here. STATUS_MISMATCH: ssp's guarantee was violated; the rest is done. */
enum status rerun_go(struct rerun *rerun, const struct rerun_listener *listener,
                     struct error *error);

/* The mean of an epoch (from 0) over the examples with gradients; NaN without any. */
double rerun_loss(const struct rerun *rerun, uint64_t epoch);

#endif
