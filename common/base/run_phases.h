/* run_phases.h - where all the seconds of a run went, from the start of its coordinator to the writing
 * of run.json: parts that never overlap and leave nothing out.
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
    uint64_t us[RUN_PHASE_COUNT]; /* Their sum is since_us - began_us. */
};

/* "first_step", as run.json has it. */
const char *run_phase_name(enum run_phase part);

void run_phases_begin(struct run_phases *phases, enum run_phase part, uint64_t now_us);

/* What is pending is the part's that it was in; and now it is in another one. Before run_phases_begin
 * nothing happens, here and below. */
void run_phases_enter(struct run_phases *phases, enum run_phase part, uint64_t now_us);

/* Training goes on, or begins: the first step, as long as no update is counted. */
void run_phases_train(struct run_phases *phases, uint64_t now_us);

/* An update was counted. */
void run_phases_mark(struct run_phases *phases, uint64_t now_us);

/* Scores have held up training by `us` until now: taken from what is pending, then from training. */
void run_phases_hold_up(struct run_phases *phases, uint64_t us, uint64_t now_us);

/* No update comes any more: what has passed since the last was for the last values. */
void run_phases_close(struct run_phases *phases, enum run_phase part, uint64_t now_us);

double run_phases_seconds(const struct run_phases *phases, enum run_phase part);
/* From its begin until it last entered a part or was marked. */
double run_phases_total(const struct run_phases *phases);

#endif
