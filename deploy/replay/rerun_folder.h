/* rerun_folder.h - what comes of a replay as a run's folder: run.json, events.jsonl, the model. There
 * are no checkpoints, because nothing goes on from there; run.json says `replay_of`.
 *
 * Threads: one owner. */

#ifndef DEPLOY_REPLAY_RERUN_FOLDER_H
#define DEPLOY_REPLAY_RERUN_FOLDER_H

#include "common/base/status.h"
#include "common/tensorboard/board_place.h"
#include "deploy/replay/rerun.h"

/* Whether the place is free: before anything is made. STATUS_EXISTS. */
enum status rerun_folder_check(const char *out, struct error *error);

struct rerun_outcome {
    const char *of;          /* The run's folder. */
    const float *parameters; /* Of the whole space. */
    uint64_t batches, versions;
    double seconds; /* That it took, scores left out. */
};

/* board: for TensorBoard, too; what cannot be written there is a *remark, "" if all could. */
enum status rerun_folder_write(const char *out, const struct board_place *board,
                               const struct rerun *rerun, const struct rerun_outcome *outcome,
                               struct error *remark, struct error *error);

#endif
