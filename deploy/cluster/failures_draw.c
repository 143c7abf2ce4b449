/* failures_draw.c - draws failures from a seed: at the times of a Poisson process, each of a
 * process without another failure then.
 *
 * Number n is made of random block n alone, and is left out where it conflicts with an earlier one.
 * Therefore a later end draws the same ones first. */

#include <assert.h>

#include "common/base/array.h"
#include "common/base/elementary.h"
#include "common/base/random.h"
#include "common/job/job.h"
#include "deploy/cluster/failures.h"
#include "deploy/cluster/quantity.h"

#define SECOND     UINT64_C(1000000000)
#define MILLI      UINT64_C(1000000)
#define LEAST_NS   (SECOND / 2) /* How long it lasts, ... */
#define RANGE_MS   4500         /* ... and the range above it. */
#define BETWEEN_NS (2 * SECOND) /* Between two failures of one process. */

/* How often of all that is drawn. */
static const struct lot {
    enum failure_kind kind;
    enum role role; /* Unused for a join. */
    bool for_good;
    uint32_t weight;
} lots[] = {
    {FAILURE_KILL, ROLE_WORKER, false, 6},      {FAILURE_KILL, ROLE_PS, false, 3},
    {FAILURE_STOP, ROLE_WORKER, false, 3},      {FAILURE_STOP, ROLE_PS, false, 1},
    {FAILURE_PARTITION, ROLE_WORKER, false, 2}, {FAILURE_PARTITION, ROLE_PS, false, 1},
    {FAILURE_KILL, ROLE_WORKER, true, 1},       {FAILURE_LEAVE, ROLE_WORKER, true, 1},
    {FAILURE_JOIN, ROLE_NONE, true, 2},
};

static const struct lot *draw_lot(uint32_t random)
{
    uint32_t all = 0;
    for (size_t i = 0; i < sizeof lots / sizeof *lots; i++)
        all += lots[i].weight;
    const struct lot *lot = lots;
    for (uint32_t rest = random % all; rest >= lot->weight; lot++)
        rest -= lot->weight;
    return lot;
}

/* --- conflicts -------------------------------------------------------------------------------- */

static uint64_t end_of(const struct failure *failure)
{
    if (failure->for_ns > 0)
        return failure->at_ns + failure->for_ns;
    return failure->kind == FAILURE_JOIN ? failure->at_ns : UINT64_MAX - BETWEEN_NS;
}

/* A permanently killed process counts as gone even where --restart replaces it: drawing does not
 * depend on that option, and one seed draws the same. */
static bool is_free(const struct failures *failures, const struct failure *wanted)
{
    for (size_t i = 0; i < failures->count; i++) {
        const struct failure *other = &failures->list[i];
        bool meets = places_meet(&other->places, &wanted->places, NULL) ||
                     places_meet(&other->others, &wanted->places, NULL);
        if (meets && wanted->at_ns <= end_of(other) + BETWEEN_NS &&
            other->at_ns <= end_of(wanted) + BETWEEN_NS)
            return false;
    }
    return true;
}

static uint32_t gone_workers(const struct failures *failures, uint32_t workers)
{
    uint32_t gone = 0;
    for (size_t i = 0; i < failures->count; i++) {
        const struct failure *failure = &failures->list[i];
        for (uint32_t j = 0;
             end_of(failure) > QUANTITY_TIME_MOST_NS * 2 && j < places_count(&failure->places);
             j++) {
            struct place place = places_at(&failure->places, j);
            gone += place.role == ROLE_WORKER && place.index < workers;
        }
    }
    return gone;
}

uint32_t failures_joining_most(const struct failures *failures, uint32_t workers)
{
    uint32_t room = workers < JOB_WORKERS_MAX ? JOB_WORKERS_MAX - workers : 0;
    if (!failures->drawing)
        return 0;
    return workers < room ? workers : room;
}

static bool fits(const struct failures *failures, const struct failure *failure, uint32_t workers)
{
    if (failure->kind == FAILURE_JOIN)
        return failures_joining(failures) < failures_joining_most(failures, workers);
    if (failure->for_ns == 0 && 2 * (gone_workers(failures, workers) + 1) > workers)
        return false;
    return is_free(failures, failure);
}

/* --- draws ----------------------------------------------------------------------------------- */

/* From one to the next: exponentially distributed, of the mean of a minute / rate. */
static uint64_t gap_ns(const struct failures *failures, uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
    double unit = ((double)bits + 0.5) * 0x1p-52;
    return (uint64_t)(-elementary_logarithm(unit) * 60e9 / failures->rate) + 1;
}

static struct failure draw(const struct failures *failures, uint32_t servers, uint32_t workers,
                           const uint32_t random[4])
{
    const struct lot *lot = draw_lot(random[0]);
    uint32_t there = lot->role == ROLE_PS ? servers : workers;
    struct failure failure = {.kind = lot->kind, .at_ns = failures->due_ns};
    if (!lot->for_good)
        failure.for_ns = LEAST_NS + (uint64_t)(random[1] % RANGE_MS) * MILLI;
    if (lot->role != ROLE_NONE) {
        uint32_t index = there > 0 ? random[2] % there : 0;
        failure.places = (struct places){.ranges = {{lot->role, index, index}}, .count = 1};
    }
    return failure;
}

static enum status put(struct failures *failures, const struct failure *failure,
                       struct error *error)
{
    if (failures->count == FAILURES_MAX)
        return error_set(error, STATUS_INVALID, "more than %d failures were drawn: a lower rate?",
                         FAILURES_MAX);
    struct failure *list =
        array_room(failures->list, failures->count, &failures->capacity, sizeof *list);
    if (list == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the drawn failures");
    failures->list = list;
    failures->list[failures->count++] = *failure;
    return STATUS_OK;
}

enum status failures_draw(struct failures *failures, uint32_t servers, uint32_t workers,
                          uint64_t until_ns, struct error *error)
{
    assert(until_ns <= QUANTITY_TIME_MOST_NS);
    while (failures->drawing) {
        uint32_t gap[4], random[4];
        random_block(failures->seed, RANDOM_STREAM_FAILURE, 0, failures->drawn, gap);
        random_block(failures->seed, RANDOM_STREAM_FAILURE, 1, failures->drawn, random);
        if (failures->drawn == 0 && failures->due_ns == 0)
            failures->due_ns = gap_ns(failures, gap[0], gap[1]);
        if (failures->due_ns > until_ns)
            break;
        struct failure failure = draw(failures, servers, workers, random);
        bool any_worker = failure.kind == FAILURE_JOIN ||
                          (failure.places.ranges[0].role == ROLE_PS ? servers : workers) > 0;
        if (any_worker && fits(failures, &failure, workers)) {
            enum status status = put(failures, &failure, error);
            if (status != STATUS_OK)
                return status;
        }
        failures->drawn++;
        failures->due_ns += gap_ns(failures, gap[2], gap[3]);
    }
    return STATUS_OK;
}
