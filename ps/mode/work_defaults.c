/* work_defaults.c - the coordinator's part of a mode, where it does not differ. */

#include "ps/mode/work_mode.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

void work_as_it_is(struct work *work)
{
}

enum status work_has_room(struct work *work, uint32_t worker_count)
{
    return STATUS_OK;
}

void work_no_figures(const struct work *work, struct mode_figures *figures)
{
}

struct quorum *work_no_quorum(const struct work *work)
{
    return NULL;
}

bool work_no_gate(struct work *work, uint64_t step)
{
    return false;
}

uint64_t work_gate_nowhere(const struct work *work)
{
    return UINT64_MAX;
}

bool work_never(const struct work *work)
{
    return false;
}

bool work_nothing_to_ask(struct work *work, uint32_t worker, uint64_t *batch)
{
    return false;
}

unsigned work_none_held(const struct work *work, uint32_t worker, uint64_t batches[WORK_HELD_MAX])
{
    return 0;
}

bool work_finished_nothing(struct work *work, uint32_t worker, uint64_t batch)
{
    return false;
}

bool work_not_for(const struct work *work, uint32_t worker)
{
    return false;
}

void work_lost_nothing(struct work *work, uint32_t worker)
{
}

bool work_waits_for_none(const struct work *work, uint32_t worker, uint32_t *whom)
{
    return false;
}

uint64_t work_no_clock(struct work *work, uint32_t worker)
{
    return 0;
}
