/* follow.h - scores a run's checkpoints as they appear, keeps the best, and may end the run when it
 * no longer improves.
 *
 *     RUN/best/model.safetensors    the best model so far (or below another folder)
 *     RUN/best/best.json            its step, score, criterion and the run's id
 *     RUN/stop                      written when patience is used up: server 0 then stops the run
 *                                   at a checkpoint, with exit code 0 (common/store/stop_note.h)
 *
 * The run may begin later. A checkpoint that is removed (--keep) before or during its scoring is
 * skipped. A checkpoint that is written again, after the run went back, is a new one. The best from
 * before this process began is read from best.json.
 *
 * Threads: one. Ownership: paths and hooks are borrowed. */

#ifndef DEPLOY_FOLLOW_FOLLOW_H
#define DEPLOY_FOLLOW_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "deploy/follow/best.h"

struct follow_score {
    uint64_t step, steps;
    struct score_figures test; /* The loss NaN: that of some example was not finite. */
    uint64_t examples, not_finite;
};

/* The caller knows how to read and score a checkpoint. */
struct follow_hooks {
    void *context;
    /* Open the checkpoint at `path` and score it. *opened: it was whole; otherwise the error is of
     * this checkpoint alone. */
    enum status (*score)(void *context, const char *path, struct follow_score *score, bool *opened,
                         struct error *error);
    /* Write the model scored last to that file. */
    enum status (*keep)(void *context, const char *file, struct error *error);
};

struct follow_options {
    const char *run;
    const char *best;        /* Folder of the best; NULL: RUN/best. */
    struct best rules;       /* The initial state, as best.h describes it. */
    double start_seconds;    /* Time for the run to begin, or to resume after a stop. */
    double recovery_seconds; /* Time for training to resume when no process trains the run. */
    bool json, quiet;
};

/* Until the run has ended, well or not: then EXIT_DONE. Otherwise error has a line. */
int follow_run(const struct follow_options *options, const struct follow_hooks *hooks,
               struct error *error);

#endif
