/* included.c - keeps for each worker the computations of its presence, with the versions that
 * include them: the base of a later computation must include one of these, found by its clock. */

#include "deploy/replay/included.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/job/mode.h"

struct done {
    uint64_t number, clock;
    uint64_t *versions; /* [chunk_count] that have it and all before it. Owned. */
};

struct included_worker {
    uint64_t ticket;   /* Of its newest process. */
    struct done *done; /* [count] of that, in order. */
    size_t count, capacity;
};

static void forget(struct included_worker *worker, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        free(worker->done[i].versions);
    memmove(worker->done + from, worker->done + from + count,
            (worker->count - from - count) * sizeof *worker->done);
    worker->count -= count;
}

static void goes(struct included_worker *worker, uint64_t ticket)
{
    if (worker->count > 0)
        forget(worker, 0, worker->count);
    worker->ticket = ticket;
}

/* Tickets begin anew. */
static void all_go(struct included *included)
{
    for (uint32_t i = 0; i < included->worker_count; i++)
        goes(&included->workers[i], 0);
}

void included_begin(struct included *included, uint64_t bound, uint32_t chunk_count)
{
    all_go(included);
    included->bound = bound;
    included->chunk_count = chunk_count;
}

void included_free(struct included *included)
{
    all_go(included);
    for (uint32_t i = 0; i < included->worker_count; i++)
        free(included->workers[i].done);
    free(included->workers);
    memset(included, 0, sizeof *included);
}

static struct included_worker *worker_of(struct included *included, uint32_t index)
{
    if (index < included->worker_count)
        return &included->workers[index];
    struct included_worker *workers =
        realloc(included->workers, (index + 1) * sizeof *included->workers);
    if (workers == NULL)
        return NULL;
    memset(workers + included->worker_count, 0,
           (index + 1 - included->worker_count) * sizeof *workers);
    included->workers = workers;
    included->worker_count = index + 1;
    return &workers[index];
}

/* --- the promise --------------------------------------------------------------------------- */

static enum status lacks(const struct run_record_computation *c, uint32_t chunk,
                         const struct done *what, uint32_t whose, struct error *error)
{
    return error_set(error, STATUS_MISMATCH,
                     "computation %" PRIu64 " of worker/%" PRIu32 " at clock %" PRIu64
                     " begins from version %" PRIu64 " of chunk %" PRIu32
                     ", and computation %" PRIu64 " of worker/%" PRIu32 " at clock %" PRIu64
                     " is in version %" PRIu64,
                     c->number, c->worker, c->clock, c->bases[chunk], chunk, what->number, whose,
                     what->clock, what->versions[chunk]);
}

/* The last required computation of one worker; NULL: none. */
static const struct done *required_of(const struct included *included,
                                      const struct run_record_computation *c, uint32_t whose)
{
    const struct included_worker *worker = &included->workers[whose];
    size_t count = worker->count;
    if (whose != c->worker) {
        if (included->bound == MODE_UNBOUNDED || c->clock <= included->bound)
            return NULL;
        while (count > 0 && worker->done[count - 1].clock > c->clock - included->bound - 1)
            count--;
    }
    return count > 0 ? &worker->done[count - 1] : NULL;
}

static enum status check_bases(struct included *included, const struct run_record_computation *c,
                               struct error *error)
{
    for (uint32_t whose = 0; whose < included->worker_count; whose++) {
        const struct done *done = required_of(included, c, whose);
        for (uint32_t chunk = 0; done != NULL && chunk < included->chunk_count; chunk++)
            if (c->bases[chunk] < done->versions[chunk])
                return lacks(c, chunk, done, whose, error);
        included->required += done != NULL && whose != c->worker;
    }
    return STATUS_OK;
}

/* No other worker has begun a computation that requires this one. */
static enum status check_order(const struct included *included,
                               const struct run_record_computation *c, struct error *error)
{
    for (uint32_t whose = 0; whose < included->worker_count; whose++) {
        const struct included_worker *worker = &included->workers[whose];
        if (worker->count == 0 || whose == c->worker || included->bound == MODE_UNBOUNDED)
            continue;
        const struct done *last = &worker->done[worker->count - 1];
        if (last->clock > included->bound && c->clock <= last->clock - included->bound - 1)
            return error_set(error, STATUS_MISMATCH,
                             "computation %" PRIu64 " of worker/%" PRIu32 " at clock %" PRIu64
                             " is begun when worker/%" PRIu32 " at clock %" PRIu64
                             " has begun computation %" PRIu64 ", which had to hold it",
                             c->number, c->worker, c->clock, whose, last->clock, last->number);
    }
    return STATUS_OK;
}

/* --- stretches ----------------------------------------------------------------------------- */

/* The version of each chunk that first includes each computation of the interval; 0: it has no
 * entry there. */
static uint64_t *versions_of(const struct run_record_interval *s, uint32_t chunk_count)
{
    uint64_t batches = s->to.batches - s->from.batches;
    uint64_t *versions = calloc((uint64_t)s->computation_count * chunk_count + 1, sizeof *versions);
    for (uint32_t chunk = 0; versions != NULL && chunk < chunk_count; chunk++) {
        uint64_t version = s->from.version;
        for (uint64_t i = 0; i < batches; i++) {
            const struct run_record_place *place = &s->places[chunk * batches + i];
            version += place->closes;
            versions[(uint64_t)place->computation * chunk_count + chunk] = version;
        }
    }
    return versions;
}

static enum status note(struct included *included, const struct run_record_computation *c,
                        const uint64_t *versions)
{
    struct included_worker *worker = &included->workers[c->worker];
    struct done *done = array_room(worker->done, worker->count, &worker->capacity, sizeof *done);
    if (done == NULL)
        return STATUS_MEMORY;
    worker->done = done;
    uint64_t *all = malloc(included->chunk_count * sizeof *all + 1);
    if (all == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < included->chunk_count; i++) {
        uint64_t before = worker->count > 0 ? done[worker->count - 1].versions[i] : 0;
        all[i] = versions[i] > before ? versions[i] : before;
    }
    done[worker->count++] = (struct done){c->number, c->clock, all};
    return STATUS_OK;
}

/* Drop computations that no later one needs: all begin at clocks of at least the minimum, and the
 * last older computation of each worker stands for the others. */
static void forget_old(struct included *included)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < included->worker_count; i++) {
        const struct included_worker *worker = &included->workers[i];
        if (worker->count > 0 && worker->done[worker->count - 1].clock < least)
            least = worker->done[worker->count - 1].clock;
    }
    for (uint32_t i = 0; i < included->worker_count; i++) {
        struct included_worker *worker = &included->workers[i];
        size_t old = 0;
        bool bounded = included->bound != MODE_UNBOUNDED;
        while (old + 1 < worker->count &&
               (!bounded || worker->done[old + 1].clock + included->bound + 1 < least))
            old++;
        if (old > 0)
            forget(worker, 0, old);
    }
}

/* Its worker was lost, or left, and server 0 did not know that this was finished. */
static bool is_late(const struct run_record_interval *s, const struct run_record_computation *c)
{
    bool late = false;
    for (uint32_t i = 0; i < s->gone_count; i++)
        late = late || (s->gone[i].ticket == c->ticket && c->clock >= s->gone[i].clock);
    return late;
}

/* Every later base has what they did. */
static void forget_gone(struct included *included, const struct run_record_interval *s)
{
    for (uint32_t i = 0; i < included->worker_count; i++)
        for (uint32_t k = 0; k < s->gone_count; k++)
            if (s->gone[k].ticket == included->workers[i].ticket)
                goes(&included->workers[i], s->gone[k].ticket);
}

static enum status check_one(struct included *included, const struct run_record_interval *s,
                             uint32_t index, const uint64_t *versions, struct error *error)
{
    const struct run_record_computation *c = &s->computations[index];
    struct included_worker *worker = worker_of(included, c->worker);
    bool late = is_late(s, c);
    if (worker == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for the promises of ssp");
    if (c->ticket < worker->ticket) /* Another process has its place already. */
        return STATUS_OK;
    if (c->ticket > worker->ticket)
        goes(worker, c->ticket);
    enum status status = check_bases(included, c, error);
    if (status == STATUS_OK && !late)
        status = check_order(included, c, error);
    if (status == STATUS_OK && !late &&
        note(included, c, versions + (uint64_t)index * included->chunk_count) != STATUS_OK)
        status = error_set(error, STATUS_MEMORY, "out of memory for the promises of ssp");
    included->held += status == STATUS_OK;
    return status;
}

enum status included_interval(struct included *included, const struct run_record_interval *interval,
                              struct error *error)
{
    uint64_t *versions = versions_of(interval, included->chunk_count);
    enum status status =
        versions != NULL ? STATUS_OK
                         : error_set(error, STATUS_MEMORY, "out of memory for the promises of ssp");
    if (interval->begins)
        all_go(included);
    for (uint32_t i = 0; i < interval->computation_count && status == STATUS_OK; i++)
        status = check_one(included, interval, i, versions, error);
    forget_gone(included, interval);
    forget_old(included);
    free(versions);
    return status;
}
