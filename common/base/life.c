/* life.c - one part at a time, so that none can overlap. */

#include "common/base/life.h"

static const char *const names[LIFE_PARTS] = {
    [LIFE_WAITING] = "waiting",         [LIFE_OPENING] = "opening",
    [LIFE_GATHERING] = "gathering",     [LIFE_FIRST_STEP] = "first_step",
    [LIFE_TRAINING] = "training",       [LIFE_RECOVERING] = "recovering",
    [LIFE_EVALUATION] = "evaluation",   [LIFE_CHECKPOINTS] = "checkpoints",
    [LIFE_LAST_VALUES] = "last_values", [LIFE_LAST_CHECKPOINT] = "last_checkpoint",
    [LIFE_MODEL_FILE] = "model_file",   [LIFE_END] = "end",
};

const char *life_part_name(enum life_part part)
{
    return names[part];
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t pending_us(const struct life *life, uint64_t now_us)
{
    return now_us > life->since_us ? now_us - life->since_us : 0;
}

/* What is pending goes to a part. */
static void settle(struct life *life, enum life_part part, uint64_t now_us)
{
    uint64_t us = pending_us(life, now_us);
    life->us[part] += us;
    life->since_us += us;
}

void life_begin(struct life *life, enum life_part part, uint64_t now_us)
{
    *life = (struct life){.begun = true, .part = part, .began_us = now_us, .since_us = now_us};
}

void life_enter(struct life *life, enum life_part part, uint64_t now_us)
{
    if (!life->begun)
        return;
    settle(life, life->part, now_us);
    life->part = part;
}

void life_train(struct life *life, uint64_t now_us)
{
    life_enter(life, life->stepped ? LIFE_TRAINING : LIFE_FIRST_STEP, now_us);
}

/* In gated modes updates are counted while training stands for a checkpoint, too. */
void life_mark(struct life *life, uint64_t now_us)
{
    if (!life->begun)
        return;
    life->stepped = true;
    settle(life, life->part, now_us);
    if (life->part == LIFE_FIRST_STEP)
        life->part = LIFE_TRAINING;
}

void life_hold_up(struct life *life, uint64_t us, uint64_t now_us)
{
    if (!life->begun)
        return;
    uint64_t of_pending = least(us, pending_us(life, now_us));
    uint64_t of_training = least(us - of_pending, life->us[LIFE_TRAINING]);
    life->since_us += of_pending;
    life->us[LIFE_TRAINING] -= of_training;
    life->us[LIFE_EVALUATION] += of_pending + of_training;
}

void life_close(struct life *life, enum life_part part, uint64_t now_us)
{
    if (!life->begun)
        return;
    bool trains = life->part == LIFE_FIRST_STEP || life->part == LIFE_TRAINING;
    settle(life, trains ? LIFE_LAST_VALUES : life->part, now_us);
    life->part = part;
}

double life_seconds(const struct life *life, enum life_part part)
{
    return (double)life->us[part] * 1e-6;
}

double life_total(const struct life *life)
{
    return (double)(life->since_us - life->began_us) * 1e-6;
}
