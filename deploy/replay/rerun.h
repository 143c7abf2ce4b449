/* rerun.h - a recorded run made again, or the same history with something changed: gradients by the
 * workers' own code from the run's data, updates by replay.h, scores where the run has them.
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
#include "worker/data/dataset.h"
#include "worker/model/model.h"
#include "worker/node_gradient.h"

/* Of every chunk as it was after so many batches, on the test set. */
struct rerun_score {
    uint64_t batches;
    struct score_figures test;
};

/* One session of the run, as far as it was gone through. */
struct rerun_segment {
    uint64_t session;
    uint32_t workers, servers, chunks; /* No chunks: steps are the same whoever computes. */
    struct run_record_snapshot from, to;
    uint64_t computations, entries, torn;
};

struct rerun {
    const struct recorded *recorded; /* Borrowed. */
    struct job job;                  /* What is computed. Owned. */
    struct dataset dataset;
    struct model *model;
    struct node_gradient gradient;
    bool has_gradient;
    struct replay *replay;
    struct included included;
    struct rerun_score *scores; /* [score_count] Owned. */
    size_t score_count, score_capacity;
    double score_seconds;
    uint64_t computing; /* The batch of the gradient being made. */
};

struct rerun_listener {
    void *context;
    void (*segment)(void *context, const struct rerun_segment *segment);
    /* Optional. */
    void (*score)(void *context, const struct rerun_score *score);
};

/* job: the run's, or with something changed; data: where its data are here. STATUS_MISMATCH when they
 * are not what they were, or this processor has not the instructions of the record. */
enum status rerun_open(struct rerun *rerun, const struct recorded *recorded, const struct job *job,
                       const char *data, uint64_t until, struct error *error);
void rerun_close(struct rerun *rerun);

/* All of it. STATUS_INVALID: the record is damaged. STATUS_DIVERGED: a gradient that was applied in
 * the run is not finite here. STATUS_MISMATCH: what ssp promises was not so; the rest is done. */
enum status rerun_go(struct rerun *rerun, const struct rerun_listener *listener,
                     struct error *error);

/* Means of an epoch (from 0) over the examples that were made gradients of; NaN: there were none. */
double rerun_loss(const struct rerun *rerun, uint64_t epoch);

#endif
