#include "ps/leases.h"

#include <stdlib.h>
#include <string.h>

#define FREE_PLACE UINT64_MAX

enum status leases_init(struct leases *leases, uint32_t worker_count, uint64_t first,
                        uint64_t limit)
{
    memset(leases, 0, sizeof *leases);
    leases->worker_count = worker_count;
    leases->next = first;
    leases->gate = limit;
    leases->limit = limit;
    batch_set_init(&leases->done, first);
    leases->held = malloc(worker_count * sizeof *leases->held);
    if (leases->held == NULL)
        return STATUS_MEMORY;
    memset(leases->held, 0xff, worker_count * sizeof *leases->held);
    return STATUS_OK;
}

void leases_free(struct leases *leases)
{
    free(leases->held);
    memset(leases, 0, sizeof *leases);
}

bool leases_take(struct leases *leases, uint32_t worker, uint64_t *batch)
{
    /* The window of every chunk's batch set must be able to hold what is under way. */
    if (leases->next >= leases->gate || leases->next >= leases->limit ||
        leases->next - leases->done.low >= BATCH_SET_WINDOW)
        return false;
    for (unsigned i = 0; i < LEASES_A_WORKER; i++) {
        if (leases->held[worker][i] != FREE_PLACE)
            continue;
        *batch = leases->held[worker][i] = leases->next++;
        return true;
    }
    return false;
}

void leases_finish(struct leases *leases, uint32_t worker, uint64_t batch)
{
    for (unsigned i = 0; i < LEASES_A_WORKER; i++) {
        if (leases->held[worker][i] != batch || batch == FREE_PLACE)
            continue;
        leases->held[worker][i] = FREE_PLACE;
        if (batch_set_can_add(&leases->done, batch))
            batch_set_add(&leases->done, batch);
    }
}

bool leases_drained(const struct leases *leases)
{
    return leases->done.low == leases->next;
}

void leases_stop(struct leases *leases)
{
    leases->limit = leases->next;
}

bool leases_idle(const struct leases *leases, uint32_t worker)
{
    for (unsigned i = 0; i < LEASES_A_WORKER; i++)
        if (leases->held[worker][i] != FREE_PLACE)
            return false;
    return true;
}

bool leases_exhausted(const struct leases *leases)
{
    return leases->next >= leases->limit;
}
