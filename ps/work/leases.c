/* leases.c - each worker's batches, the returned ones, and a batch_set of those that are done. */

#include "ps/work/leases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"

#define FREE_PLACE UINT64_MAX

enum status leases_init(struct leases *leases, uint32_t worker_count, uint64_t first,
                        uint64_t limit)
{
    memset(leases, 0, sizeof *leases);
    leases->next = first;
    leases->gate = leases->limit = limit;
    batch_set_init(&leases->done, first);
    return leases_grow(leases, worker_count);
}

void leases_free(struct leases *leases)
{
    free(leases->held);
    free(leases->returned);
    memset(leases, 0, sizeof *leases);
}

enum status leases_grow(struct leases *leases, uint32_t worker_count)
{
    if (worker_count <= leases->worker_count)
        return STATUS_OK;
    uint32_t capacity = worker_count * LEASES_A_WORKER;
    uint64_t *returned = realloc(leases->returned, capacity * sizeof *returned);
    if (returned == NULL)
        return STATUS_MEMORY;
    leases->returned = returned;
    leases->returned_capacity = capacity;
    void *held = realloc(leases->held, worker_count * sizeof *leases->held);
    if (held == NULL)
        return STATUS_MEMORY;
    leases->held = held;
    memset(leases->held + leases->worker_count, 0xff,
           (worker_count - leases->worker_count) * sizeof *leases->held);
    leases->worker_count = worker_count;
    return STATUS_OK;
}

/* --- giving out ---------------------------------------------------------------------------- */

/* The earliest returned batch. */
static uint64_t take_returned(struct leases *leases)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < leases->returned_count; i++)
        if (leases->returned[i] < leases->returned[first])
            first = i;
    uint64_t batch = leases->returned[first];
    leases->returned[first] = leases->returned[--leases->returned_count];
    return batch;
}

bool leases_has_more(const struct leases *leases)
{
    if (leases->returned_count > 0)
        return true;
    /* The window of every chunk's batch set must hold all batches under way. */
    return leases->next < leases->gate && leases->next < leases->limit &&
           leases->next - leases->done.low < BATCH_SET_WINDOW;
}

bool leases_take(struct leases *leases, uint32_t worker, uint64_t *batch)
{
    if (!leases_has_more(leases))
        return false;
    for (unsigned i = 0; i < LEASES_A_WORKER; i++) {
        if (leases->held[worker][i] != FREE_PLACE)
            continue;
        *batch = leases->returned_count > 0 ? take_returned(leases) : leases->next++;
        leases->held[worker][i] = *batch;
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

unsigned leases_held(const struct leases *leases, uint32_t worker,
                     uint64_t batches[LEASES_A_WORKER])
{
    unsigned count = 0;
    for (unsigned i = 0; i < LEASES_A_WORKER; i++) {
        uint64_t batch = leases->held[worker][i];
        unsigned place = count;
        if (batch == FREE_PLACE)
            continue;
        for (; place > 0 && batches[place - 1] > batch; place--)
            batches[place] = batches[place - 1];
        batches[place] = batch;
        count++;
    }
    return count;
}

void leases_return(struct leases *leases, uint32_t worker)
{
    for (unsigned i = 0; i < LEASES_A_WORKER; i++) {
        if (leases->held[worker][i] == FREE_PLACE)
            continue;
        /* A new batch is given out only when none is returned, so held and returned ones never
         * exceed all places. */
        assert(leases->returned_count < leases->returned_capacity);
        leases->returned[leases->returned_count++] = leases->held[worker][i];
        leases->held[worker][i] = FREE_PLACE;
    }
}

/* --- going back ---------------------------------------------------------------------------- */

void leases_go_back(struct leases *leases, uint64_t first)
{
    leases->next = first;
    leases->returned_count = 0;
    batch_set_init(&leases->done, first);
    memset(leases->held, 0xff, leases->worker_count * sizeof *leases->held);
}

/* --- looking ------------------------------------------------------------------------------- */

bool leases_drained(const struct leases *leases)
{
    return leases->done.low == leases->next;
}

void leases_stop(struct leases *leases)
{
    if (leases->next < leases->limit)
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
    return leases->next >= leases->limit && leases->returned_count == 0;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("leases", condition, rule)

static void check_open(const struct leases *leases, uint64_t batch)
{
    RULE(batch < leases->next, "only what was given out is held or comes back");
    RULE(!batch_set_has(&leases->done, batch), "what is done is neither held nor comes back");
}

/* How often a batch is held or returned. */
static unsigned times_open(const struct leases *leases, uint64_t batch)
{
    unsigned times = 0;
    for (uint32_t i = 0; i < leases->worker_count * LEASES_A_WORKER; i++)
        times += leases->held[i / LEASES_A_WORKER][i % LEASES_A_WORKER] == batch;
    for (uint32_t i = 0; i < leases->returned_count; i++)
        times += leases->returned[i] == batch;
    return times;
}

/* done, held and returned are a partition of [0, next). */
void leases_check(const struct leases *leases)
{
    uint64_t open = leases->returned_count;
    batch_set_check(&leases->done);
    RULE(leases->done.low <= leases->next, "nothing is done that was not given out");
    RULE(leases->next <= leases->gate, "nothing is given out behind the gate");
    RULE(leases->next <= leases->limit, "nothing is given out after the end");
    RULE(leases->returned_count <= leases->returned_capacity, "there is room for what comes back");
    for (uint32_t i = 0; i < leases->worker_count * LEASES_A_WORKER; i++) {
        uint64_t batch = leases->held[i / LEASES_A_WORKER][i % LEASES_A_WORKER];
        if (batch == FREE_PLACE)
            continue;
        open++;
        check_open(leases, batch);
        RULE(times_open(leases, batch) == 1, "no batch is held twice");
    }
    for (uint32_t i = 0; i < leases->returned_count; i++) {
        check_open(leases, leases->returned[i]);
        RULE(times_open(leases, leases->returned[i]) == 1, "no batch comes back twice");
    }
    RULE(leases->done.low + batch_set_above(&leases->done) + open == leases->next,
         "every batch given out is done, held or has come back");
}
