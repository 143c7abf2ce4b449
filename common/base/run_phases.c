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

/* Whether a part's seconds are those of training. That some were of the last values is known only if none
 * comes any more. */
static bool is_training(enum run_phase part)
{
    return part == RUN_PHASE_FIRST_STEP || part == RUN_PHASE_TRAINING ||
           part == RUN_PHASE_RECOVERING || part == RUN_PHASE_LAST_VALUES;
}

static uint64_t trained_us(const struct run_phases *phases, uint64_t now_us)
{
    uint64_t us = is_training(phases->part) ? pending_us(phases, now_us) : 0;
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        us += is_training(i) ? phases->us[i] : 0;
    return us;
}

void run_phases_enter(struct run_phases *phases, enum run_phase part, uint64_t now_us)
{
    bool ends = phases->part == RUN_PHASE_LAST_CHECKPOINT;
    if (!phases->begun || (ends && part != RUN_PHASE_RECOVERING && part < RUN_PHASE_LAST_VALUES))
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
    uint64_t trained = trained_us(phases, now_us);
    if (!phases->begun)
        return;
    phases->stepped = true;
    if (trained > phases->marked_us)
        phases->marked_us = trained;
    if (!is_training(phases->part))
        return;
    settle(phases, phases->part, now_us);
    if (phases->part == RUN_PHASE_FIRST_STEP)
        phases->part = RUN_PHASE_TRAINING;
}

/* Of us, as much as a part has was evaluation. The rest. */
static uint64_t give_back(struct run_phases *phases, enum run_phase part, uint64_t us)
{
    uint64_t of_part = least(us, phases->us[part]);
    phases->us[part] -= of_part;
    phases->us[RUN_PHASE_EVALUATION] += of_part;
    return us - of_part;
}

void run_phases_hold_up(struct run_phases *phases, uint64_t us, uint64_t now_us)
{
    if (!phases->begun)
        return;
    uint64_t of_pending = least(us, pending_us(phases, now_us));
    phases->since_us += of_pending;
    phases->us[RUN_PHASE_EVALUATION] += of_pending;
    us = give_back(phases, RUN_PHASE_TRAINING, us - of_pending);
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        if (is_training(i))
            us = give_back(phases, i, us);
}

void run_phases_close(struct run_phases *phases, enum run_phase part, uint64_t now_us)
{
    if (!phases->begun)
        return;
    bool trains = is_training(phases->part) && phases->part != RUN_PHASE_RECOVERING;
    settle(phases, trains ? RUN_PHASE_LAST_VALUES : phases->part, now_us);
    phases->part = part;
}

void run_phases_beside(struct run_phases *phases, bool writes, uint64_t now_us)
{
    if (phases->beside_since_us != 0 && now_us > phases->beside_since_us)
        phases->beside_us += now_us - phases->beside_since_us;
    phases->beside_since_us = writes ? now_us : 0;
}

double run_phases_seconds(const struct run_phases *phases, enum run_phase part)
{
    return (double)phases->us[part] * 1e-6;
}

double run_phases_trained(const struct run_phases *phases, uint64_t now_us)
{
    uint64_t us = trained_us(phases, now_us);
    bool over = phases->part >= RUN_PHASE_LAST_CHECKPOINT || us < phases->marked_us;
    return (double)(over ? phases->marked_us : us) * 1e-6;
}

double run_phases_marked(const struct run_phases *phases)
{
    return (double)phases->marked_us * 1e-6;
}

double run_phases_take_window(struct run_phases *phases)
{
    uint64_t window_us = phases->marked_us - phases->window_us;
    phases->window_us = phases->marked_us;
    return (double)window_us * 1e-6;
}

double run_phases_total(const struct run_phases *phases)
{
    return (double)(phases->since_us - phases->began_us) * 1e-6;
}
