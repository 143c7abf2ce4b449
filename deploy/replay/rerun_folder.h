/* rerun_folder.h - writes the result of a replay as a run's folder: run.json, events.jsonl, the
 * model. There are no checkpoints, because it is never resumed; run.json has `replay_of`.
 *
 * Threads: one owner. */

#ifndef DEPLOY_REPLAY_RERUN_FOLDER_H
#define DEPLOY_REPLAY_RERUN_FOLDER_H

#include "common/base/status.h"
#include "common/tensorboard/board_place.h"
#include "deploy/replay/rerun.h"

/* Whether the path is free, checked in advance. STATUS_EXISTS. */
enum status rerun_folder_check(const char *out, struct error *error);

struct rerun_outcome {
    const char *of;          /* The run's folder. */
    const float *parameters; /* Of the whole space. */
    uint64_t batches, versions;
    double seconds; /* Of the replay, without scores. */
};

/* board: for TensorBoard, too; *remark names a failure to write there, "" without one. */
enum status rerun_folder_write(const char *out, const struct board_place *board,
                               const struct rerun *rerun, const struct rerun_outcome *outcome,
                               struct error *remark, struct error *error);

#endif
