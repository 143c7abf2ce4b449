/* life.h - where all the seconds of a run went, from the start of whoever coordinates it to the writing
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

#ifndef COMMON_BASE_LIFE_H
#define COMMON_BASE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

enum life_part {
    LIFE_WAITING,
    LIFE_OPENING,
    LIFE_GATHERING,
    LIFE_FIRST_STEP,
    LIFE_TRAINING,
    LIFE_RECOVERING,
    LIFE_EVALUATION,
    LIFE_CHECKPOINTS,
    LIFE_LAST_VALUES,
    LIFE_LAST_CHECKPOINT,
    LIFE_MODEL_FILE,
    LIFE_END,
    LIFE_PARTS
};

struct life {
    bool begun;
    enum life_part part; /* Whose the time since since_us is, unless it turns out otherwise. */
    bool stepped;        /* An update has been counted. */
    uint64_t began_us, since_us;
    uint64_t us[LIFE_PARTS]; /* Their sum is since_us - began_us. */
};

/* "first_step", as run.json has it. */
const char *life_part_name(enum life_part part);

void life_begin(struct life *life, enum life_part part, uint64_t now_us);

/* What is pending is the part's that it was in; and now it is in another one. Before life_begin
 * nothing happens, here and below. */
void life_enter(struct life *life, enum life_part part, uint64_t now_us);

/* Training goes on, or begins: the first step, as long as no update is counted. */
void life_train(struct life *life, uint64_t now_us);

/* An update was counted. */
void life_mark(struct life *life, uint64_t now_us);

/* Scores have held up training by `us` until now: taken from what is pending, then from training. */
void life_hold_up(struct life *life, uint64_t us, uint64_t now_us);

/* No update comes any more: what has passed since the last was for the last values. */
void life_close(struct life *life, enum life_part part, uint64_t now_us);

double life_seconds(const struct life *life, enum life_part part);
/* From its begin until it last entered a part or was marked. */
double life_total(const struct life *life);

#endif
