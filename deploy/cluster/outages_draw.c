/* outages_draw.c - outages from a seed: at the times of a Poisson process, each to a process that has
 * nothing else then.
 *
 * Number n of them is made of random block n and nothing else, and is left out where it does not fit
 * what is there already: so a later end draws the same ones first. */

#include <assert.h>

#include "common/base/array.h"
#include "common/base/elementary.h"
#include "common/base/random.h"
#include "common/job/job.h"
#include "deploy/cluster/outages.h"
#include "deploy/cluster/quantity.h"

#define SECOND     UINT64_C(1000000000)
#define MILLI      UINT64_C(1000000)
#define LEAST_NS   (SECOND / 2) /* How long it lasts, ... */
#define RANGE_MS   4500         /* ... and so much longer at most. */
#define BETWEEN_NS (2 * SECOND) /* Two outages of one process. */

/* How often of all that is drawn. */
static const struct lot {
    enum outage_kind kind;
    enum role role; /* Whose; of a join nobody's. */
    bool for_good;
    uint32_t weight;
} lots[] = {
    {OUTAGE_KILL, ROLE_WORKER, false, 6},      {OUTAGE_KILL, ROLE_PS, false, 3},
    {OUTAGE_STOP, ROLE_WORKER, false, 3},      {OUTAGE_STOP, ROLE_PS, false, 1},
    {OUTAGE_PARTITION, ROLE_WORKER, false, 2}, {OUTAGE_PARTITION, ROLE_PS, false, 1},
    {OUTAGE_KILL, ROLE_WORKER, true, 1},       {OUTAGE_LEAVE, ROLE_WORKER, true, 1},
    {OUTAGE_JOIN, ROLE_NONE, true, 2},
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

/* --- whether there is room for it ------------------------------------------------------------ */

static uint64_t end_of(const struct outage *outage)
{
    if (outage->for_ns > 0)
        return outage->at_ns + outage->for_ns;
    return outage->kind == OUTAGE_JOIN ? outage->at_ns : UINT64_MAX - BETWEEN_NS;
}

/* Whoever is killed for good stays away also where --restart brings it back: who draws knows nothing
 * of that, and the same seed draws the same. */
static bool is_free(const struct outages *outages, const struct outage *wanted)
{
    for (size_t i = 0; i < outages->count; i++) {
        const struct outage *other = &outages->list[i];
        bool meets = places_meet(&other->places, &wanted->places, NULL) ||
                     places_meet(&other->others, &wanted->places, NULL);
        if (meets && wanted->at_ns <= end_of(other) + BETWEEN_NS &&
            other->at_ns <= end_of(wanted) + BETWEEN_NS)
            return false;
    }
    return true;
}

static uint32_t gone_workers(const struct outages *outages, uint32_t workers)
{
    uint32_t gone = 0;
    for (size_t i = 0; i < outages->count; i++) {
        const struct outage *outage = &outages->list[i];
        for (uint32_t j = 0;
             end_of(outage) > QUANTITY_TIME_MOST_NS * 2 && j < places_count(&outage->places); j++) {
            struct place place = places_at(&outage->places, j);
            gone += place.role == ROLE_WORKER && place.index < workers;
        }
    }
    return gone;
}

uint32_t outages_joining_most(const struct outages *outages, uint32_t workers)
{
    uint32_t room = workers < JOB_WORKERS_MAX ? JOB_WORKERS_MAX - workers : 0;
    if (!outages->drawing)
        return 0;
    return workers < room ? workers : room;
}

static bool fits(const struct outages *outages, const struct outage *outage, uint32_t workers)
{
    if (outage->kind == OUTAGE_JOIN)
        return outages_joining(outages) < outages_joining_most(outages, workers);
    if (outage->for_ns == 0 && 2 * (gone_workers(outages, workers) + 1) > workers)
        return false;
    return is_free(outages, outage);
}

/* --- draws ----------------------------------------------------------------------------------- */

/* From one to the next: exponentially distributed, of the mean of a minute / rate. */
static uint64_t gap_ns(const struct outages *outages, uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
    double unit = ((double)bits + 0.5) * 0x1p-52;
    return (uint64_t)(-elementary_logarithm(unit) * 60e9 / outages->rate) + 1;
}

static struct outage draw(const struct outages *outages, uint32_t servers, uint32_t workers,
                          const uint32_t random[4])
{
    const struct lot *lot = draw_lot(random[0]);
    uint32_t there = lot->role == ROLE_PS ? servers : workers;
    struct outage outage = {.kind = lot->kind, .at_ns = outages->due_ns};
    if (!lot->for_good)
        outage.for_ns = LEAST_NS + (uint64_t)(random[1] % RANGE_MS) * MILLI;
    if (lot->role != ROLE_NONE) {
        uint32_t index = there > 0 ? random[2] % there : 0;
        outage.places = (struct places){.ranges = {{lot->role, index, index}}, .count = 1};
    }
    return outage;
}

static enum status put(struct outages *outages, const struct outage *outage, struct error *error)
{
    if (outages->count == OUTAGES_MAX)
        return error_set(error, STATUS_INVALID, "more than %d outages were drawn: a lower rate?",
                         OUTAGES_MAX);
    struct outage *list =
        array_room(outages->list, outages->count, &outages->capacity, sizeof *list);
    if (list == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the outages drawn");
    outages->list = list;
    outages->list[outages->count++] = *outage;
    return STATUS_OK;
}

enum status outages_draw(struct outages *outages, uint32_t servers, uint32_t workers,
                         uint64_t until_ns, struct error *error)
{
    assert(until_ns <= QUANTITY_TIME_MOST_NS);
    while (outages->drawing) {
        uint32_t gap[4], random[4];
        random_block(outages->seed, RANDOM_STREAM_OUTAGE, 0, outages->drawn, gap);
        random_block(outages->seed, RANDOM_STREAM_OUTAGE, 1, outages->drawn, random);
        if (outages->drawn == 0 && outages->due_ns == 0)
            outages->due_ns = gap_ns(outages, gap[0], gap[1]);
        if (outages->due_ns > until_ns)
            break;
        struct outage outage = draw(outages, servers, workers, random);
        bool anybody = outage.kind == OUTAGE_JOIN ||
                       (outage.places.ranges[0].role == ROLE_PS ? servers : workers) > 0;
        if (anybody && fits(outages, &outage, workers)) {
            enum status status = put(outages, &outage, error);
            if (status != STATUS_OK)
                return status;
        }
        outages->drawn++;
        outages->due_ns += gap_ns(outages, gap[2], gap[3]);
    }
    return STATUS_OK;
}
