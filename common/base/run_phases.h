/* run_phases.h - the time accounting of a run: where all its seconds went, from the start of its
 * coordinator to the writing of run.json, in parts that never overlap and leave nothing out.
 *
 *     process  declared  servers  START  first   last    all are   cut    model   run.json
 *     begins   the job   ready           update  update  through   whole  whole
 *     |waiting |opening  |gathering|first|training|last   |last     |model |end
 *     |        |         |         |step |        |values |checkpt. |file  |
 *
 * In the place of training there is evaluation where scores held it up, checkpoints where one stopped
 * it, and recovering while all go back to a checkpoint.
 *
 * Since the last mark time is pending: it is training's when an update is counted, and of the last
 * values when none comes any more.
 *
 * Training seconds, which tables, figures and events have, count from the first START to the last update, in
 * each session from 0, without evaluation and checkpoints. All else is training: computing, exchanging, waiting
 * for others or for a batch, and what a lost process costs. They are read when updates are counted (a mark),
 * stop at the last of them, and never go back.
 *
 *   - for a checkpoint training stands from when no worker computes any more until it goes on; that the
 *     fast wait for the slow before that is training
 *   - a score holds up training by as long as it keeps the workers from it: see scorer.c
 *
 * Threads: values; time comes in. Units: microseconds of any clock that does not jump. */

#ifndef COMMON_BASE_RUN_PHASES_H
#define COMMON_BASE_RUN_PHASES_H

#include <stdbool.h>
#include <stdint.h>

enum run_phase {
    RUN_PHASE_WAITING,
    RUN_PHASE_OPENING,
    RUN_PHASE_GATHERING,
    RUN_PHASE_FIRST_STEP,
    RUN_PHASE_TRAINING,
    RUN_PHASE_RECOVERING,
    RUN_PHASE_EVALUATION,
    RUN_PHASE_CHECKPOINTS,
    RUN_PHASE_LAST_VALUES,
    RUN_PHASE_LAST_CHECKPOINT,
    RUN_PHASE_MODEL_FILE,
    RUN_PHASE_END,
    RUN_PHASE_COUNT
};

struct run_phases {
    bool begun;
    enum run_phase part; /* Whose the time since since_us is, unless it turns out otherwise. */
    bool stepped;        /* An update has been counted. */
    uint64_t began_us, since_us;
    uint64_t us[RUN_PHASE_COUNT];  /* Their sum is since_us - began_us. */
    uint64_t marked_us, window_us; /* Of training: at the last mark, and where the window began. */
    /* Checkpoints were written while training went on; and one is since then, or 0. */
    uint64_t beside_us, beside_since_us;
};

/* "first_step", as run.json has it. */
const char *run_phase_name(enum run_phase part);

void run_phases_begin(struct run_phases *phases, enum run_phase part, uint64_t now_us);

/* What is pending is the part's that it was in; and now it is in another one. Before run_phases_begin
 * nothing happens, here and below. The last checkpoint is not left for a checkpoint on the way, nor for
 * training. */
void run_phases_enter(struct run_phases *phases, enum run_phase part, uint64_t now_us);

/* Training goes on, or begins: the first step, as long as no update is counted. */
void run_phases_train(struct run_phases *phases, uint64_t now_us);

/* An update was counted. */
void run_phases_mark(struct run_phases *phases, uint64_t now_us);

/* Scores have held up training by `us` until now (at most by all there is), in which not all stood still: taken
 * from what is pending, then from training. */
void run_phases_hold_up(struct run_phases *phases, uint64_t us, uint64_t now_us);

/* No update comes any more: what has passed since the last was for the last values. */
void run_phases_close(struct run_phases *phases, enum run_phase part, uint64_t now_us);

/* A checkpoint is written beside training from now on, or none is any more. */
void run_phases_beside(struct run_phases *phases, bool writes, uint64_t now_us);

double run_phases_seconds(const struct run_phases *phases, enum run_phase part);
/* Of training: until now, or to the last update if none comes any more; and at the last mark. */
double run_phases_trained(const struct run_phases *phases, uint64_t now_us);
double run_phases_marked(const struct run_phases *phases);
/* Of training, from where this was last called to the last mark. */
double run_phases_take_window(struct run_phases *phases);
/* From its begin until it last entered a part or was marked. */
double run_phases_total(const struct run_phases *phases);

#endif
