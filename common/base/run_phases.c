/* run_phases.c - one part at a time, so that none can overlap. */

#include "common/base/run_phases.h"

static const char *const names[RUN_PHASE_COUNT] = {
    [RUN_PHASE_WAITING] = "waiting",         [RUN_PHASE_OPENING] = "opening",
    [RUN_PHASE_GATHERING] = "gathering",     [RUN_PHASE_FIRST_STEP] = "first_step",
    [RUN_PHASE_TRAINING] = "training",       [RUN_PHASE_RECOVERING] = "recovering",
    [RUN_PHASE_EVALUATION] = "evaluation",   [RUN_PHASE_CHECKPOINTS] = "checkpoints",
    [RUN_PHASE_LAST_VALUES] = "last_values", [RUN_PHASE_LAST_CHECKPOINT] = "last_checkpoint",
    [RUN_PHASE_MODEL_FILE] = "model_file",   [RUN_PHASE_END] = "end",
};

const char *run_phase_name(enum run_phase part)
{
    return names[part];
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t pending_us(const struct run_phases *phases, uint64_t now_us)
{
    return now_us > phases->since_us ? now_us - phases->since_us : 0;
}

/* What is pending goes to a part. */
static void settle(struct run_phases *phases, enum run_phase part, uint64_t now_us)
{
    uint64_t us = pending_us(phases, now_us);
    phases->us[part] += us;
    phases->since_us += us;
}

void run_phases_begin(struct run_phases *phases, enum run_phase part, uint64_t now_us)
{
    *phases =
        (struct run_phases){.begun = true, .part = part, .began_us = now_us, .since_us = now_us};
}

void run_phases_enter(struct run_phases *phases, enum run_phase part, uint64_t now_us)
{
    if (!phases->begun)
        return;
    settle(phases, phases->part, now_us);
    phases->part = part;
}

void run_phases_train(struct run_phases *phases, uint64_t now_us)
{
    run_phases_enter(phases, phases->stepped ? RUN_PHASE_TRAINING : RUN_PHASE_FIRST_STEP, now_us);
}

/* In gated modes updates are counted while training stands for a checkpoint, too. */
void run_phases_mark(struct run_phases *phases, uint64_t now_us)
{
    if (!phases->begun)
        return;
    phases->stepped = true;
    settle(phases, phases->part, now_us);
    if (phases->part == RUN_PHASE_FIRST_STEP)
        phases->part = RUN_PHASE_TRAINING;
}

void run_phases_hold_up(struct run_phases *phases, uint64_t us, uint64_t now_us)
{
    if (!phases->begun)
        return;
    uint64_t of_pending = least(us, pending_us(phases, now_us));
    uint64_t of_training = least(us - of_pending, phases->us[RUN_PHASE_TRAINING]);
    phases->since_us += of_pending;
    phases->us[RUN_PHASE_TRAINING] -= of_training;
    phases->us[RUN_PHASE_EVALUATION] += of_pending + of_training;
}

void run_phases_close(struct run_phases *phases, enum run_phase part, uint64_t now_us)
{
    if (!phases->begun)
        return;
    bool trains = phases->part == RUN_PHASE_FIRST_STEP || phases->part == RUN_PHASE_TRAINING;
    settle(phases, trains ? RUN_PHASE_LAST_VALUES : phases->part, now_us);
    phases->part = part;
}

double run_phases_seconds(const struct run_phases *phases, enum run_phase part)
{
    return (double)phases->us[part] * 1e-6;
}

double run_phases_total(const struct run_phases *phases)
{
    return (double)(phases->since_us - phases->began_us) * 1e-6;
}
