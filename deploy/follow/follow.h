/* follow.h - scores a run's checkpoints as they appear, keeps the best, and may end the run when it
 * no longer gets better.
 *
 *     RUN/best/model.safetensors    the best model so far (or below another folder)
 *     RUN/best/best.json            which it is: step, score, by what, the run's id
 *     RUN/stop                      written when patience is at its end: server 0 then stops the run
 *                                   at a checkpoint, with exit code 0 (common/store/stop_note.h)
 *
 * The run need not have begun. A checkpoint that is removed (--keep) before it could be scored, or
 * meanwhile, is none. One that is made anew, after the run went back, is another one. What was the best
 * before this process began is known from best.json.
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
    double loss, accuracy; /* Means over the test examples; NaN: some loss was not finite. */
    uint64_t examples, not_finite;
};

/* How a checkpoint is read and scored is whoever follows' to know. */
struct follow_hooks {
    void *context;
    /* Open the checkpoint at path and score it. *opened: it was whole; else the error is of this
     * checkpoint alone. */
    enum status (*score)(void *context, const char *path, struct follow_score *score, bool *opened,
                         struct error *error);
    /* Write the model scored last to that file. */
    enum status (*keep)(void *context, const char *file, struct error *error);
};

struct follow_options {
    const char *run;
    const char *best;        /* Folder of the best; NULL: RUN/best. */
    struct best rules;       /* As best.h wants it to begin with. */
    double start_seconds;    /* For the run to begin, or to go on where it was stopped. */
    double recovery_seconds; /* For somebody to train it again, when nobody does. */
    bool json, quiet;
};

/* Until the run has ended, well or not; EXIT_DONE then. Otherwise error has a line. */
int follow_run(const struct follow_options *options, const struct follow_hooks *hooks,
               struct error *error);

#endif
