/* happenings.c - what a list of outages does to each process of a job, in the order of time, and whether
 * it can be. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/job.h"
#include "deploy/cluster/outages.h"
#include "deploy/cluster/quantity.h"

#define NONE            SIZE_MAX
#define OUTAGE_NAME_MAX (OUTAGE_TEXT_MAX + 2)

/* --- the list -------------------------------------------------------------------------------- */

struct agenda {
    const struct outages *outages;
    uint32_t servers, workers;
    struct happening *list;
    size_t count;
};

static void put(struct agenda *agenda, size_t outage, enum happening_kind kind, uint64_t at_ns,
                struct place place)
{
    agenda->list[agenda->count++] =
        (struct happening){.at_ns = at_ns, .kind = kind, .place = place, .outage = outage};
}

/* When it is over; 0: never. */
static uint64_t over_ns(const struct outages *outages, const struct outage *outage)
{
    uint64_t for_ns = outage->for_ns;
    if (outage->kind == OUTAGE_KILL && for_ns == 0)
        for_ns = outages->restart_ns;
    return for_ns > 0 ? outage->at_ns + for_ns : 0;
}

/* At most two for each process of an outage. */
static void put_outage(struct agenda *agenda, size_t index)
{
    static const struct {
        enum happening_kind begins, ends;
    } kinds[OUTAGE_KIND_COUNT] = {
        [OUTAGE_KILL] = {HAPPENING_KILL, HAPPENING_START},
        [OUTAGE_STOP] = {HAPPENING_STOP, HAPPENING_CONTINUE},
        [OUTAGE_PARTITION] = {HAPPENING_PART, HAPPENING_HEAL},
        [OUTAGE_JOIN] = {HAPPENING_JOIN, HAPPENING_JOIN},
        [OUTAGE_LEAVE] = {HAPPENING_LEAVE, HAPPENING_LEAVE},
    };
    const struct outage *outage = &agenda->outages->list[index];
    bool whole = outage->kind == OUTAGE_PARTITION || outage->kind == OUTAGE_JOIN;
    uint64_t over = over_ns(agenda->outages, outage);
    for (uint32_t i = 0; i < (whole ? 1 : places_count(&outage->places)); i++) {
        struct place place = {ROLE_NONE, 0};
        if (!whole)
            place = places_at(&outage->places, i);
        put(agenda, index, kinds[outage->kind].begins, outage->at_ns, place);
        if (over > 0)
            put(agenda, index, kinds[outage->kind].ends, over, place);
    }
}

static size_t count_all(const struct outages *outages)
{
    size_t count = 1; /* So that there is something to be allocated. */
    for (size_t i = 0; i < outages->count; i++)
        count += 2 * (size_t)places_count(&outages->list[i].places) + 2;
    return count;
}

static bool is_over(enum happening_kind kind)
{
    return kind == HAPPENING_START || kind == HAPPENING_CONTINUE || kind == HAPPENING_HEAL;
}

/* Of no two is it undecided: within an outage processes differ. */
static int compare(const void *a, const void *b)
{
    const struct happening *one = a, *other = b;
    if (one->at_ns != other->at_ns)
        return one->at_ns < other->at_ns ? -1 : 1;
    if (is_over(one->kind) != is_over(other->kind))
        return is_over(one->kind) ? -1 : 1;
    if (one->outage != other->outage)
        return one->outage < other->outage ? -1 : 1;
    if (one->place.role != other->place.role)
        return one->place.role < other->place.role ? -1 : 1;
    return one->place.index < other->place.index ? -1 : one->place.index > other->place.index;
}

/* --- whether it can be ----------------------------------------------------------------------- */

enum presence { THERE, NOT_YET, STOPPED, KILLED, LEFT };

struct process {
    enum presence presence;
    size_t outage; /* By which; NONE. */
};

static size_t number_of(const struct agenda *agenda, struct place place)
{
    return place.role == ROLE_PS ? place.index : (size_t)agenda->servers + place.index;
}

/* "--kill=worker/9@1s" */
static void name_outage(const struct outage *outage, char text[OUTAGE_NAME_MAX])
{
    char written[OUTAGE_TEXT_MAX];
    outage_write(outage, written);
    snprintf(text, OUTAGE_NAME_MAX, "--%s", written);
    *strchr(text, ' ') = '=';
}

static enum status refuse(const struct agenda *agenda, const struct happening *happening,
                          const struct process *process, struct error *error)
{
    static const char *const words[] = {[THERE] = "is there",
                                        [NOT_YET] = "has not joined yet",
                                        [STOPPED] = "is stopped already",
                                        [KILLED] = "has been killed",
                                        [LEFT] = "has left"};
    char text[OUTAGE_NAME_MAX], before[OUTAGE_NAME_MAX] = "";
    name_outage(&agenda->outages->list[happening->outage], text);
    if (process->outage != NONE)
        name_outage(&agenda->outages->list[process->outage], before);
    return error_set(error, STATUS_INVALID, "%.120s: %s %s at %s%s%.120s%s", text,
                     place_text(happening->place).text, words[process->presence],
                     quantity_time(happening->at_ns).text, before[0] != '\0' ? " (" : "", before,
                     before[0] != '\0' ? ")" : "");
}

/* One that is possible; *kept false when there is nothing to be done any more. */
static enum status follow(const struct agenda *agenda, const struct happening *happening,
                          struct process *process, bool *kept, struct error *error)
{
    enum presence presence = process->presence;
    bool there = presence == THERE || (presence == STOPPED && happening->kind == HAPPENING_KILL);
    *kept = true;
    switch (happening->kind) {
    case HAPPENING_KILL:
    case HAPPENING_STOP:
    case HAPPENING_LEAVE:
        if (!there)
            return refuse(agenda, happening, process, error);
        *process = (struct process){happening->kind == HAPPENING_KILL   ? KILLED
                                    : happening->kind == HAPPENING_STOP ? STOPPED
                                                                        : LEFT,
                                    happening->outage};
        return STATUS_OK;
    case HAPPENING_JOIN:
        *process = (struct process){THERE, NONE};
        return STATUS_OK;
    default: /* It may have been killed meanwhile. */
        *kept = process->outage == happening->outage;
        if (*kept)
            *process = (struct process){THERE, NONE};
        return STATUS_OK;
    }
}

/* Joining workers get their numbers here, in the order of time. */
static enum status follow_all(struct agenda *agenda, struct process *processes, struct error *error)
{
    size_t kept_count = 0;
    uint32_t joined = 0;
    for (size_t i = 0; i < agenda->count; i++) {
        struct happening happening = agenda->list[i];
        bool kept = true;
        enum status status = STATUS_OK;
        if (happening.kind == HAPPENING_JOIN)
            happening.place = (struct place){ROLE_WORKER, agenda->workers + joined++};
        if (happening.place.role != ROLE_NONE)
            status = follow(agenda, &happening, &processes[number_of(agenda, happening.place)],
                            &kept, error);
        if (status != STATUS_OK)
            return status;
        if (kept)
            agenda->list[kept_count++] = happening;
    }
    agenda->count = kept_count;
    return STATUS_OK;
}

static enum status check_other_side(const struct outage *outage, uint32_t servers, uint32_t workers,
                                    struct error *error)
{
    if (outage->kind != OUTAGE_PARTITION || outage->others.count > 0 ||
        places_count(&outage->places) < servers + workers)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "nobody is left for the other side");
}

/* Whom they name. */
static enum status check_places(const struct outages *outages, uint32_t servers, uint32_t workers,
                                struct error *error)
{
    struct error found;
    char text[OUTAGE_NAME_MAX];
    for (size_t i = 0; i < outages->count; i++) {
        const struct outage *outage = &outages->list[i];
        enum status status = places_check(&outage->places, servers, workers, &found);
        if (status == STATUS_OK)
            status = places_check(&outage->others, servers, workers, &found);
        if (status == STATUS_OK)
            status = check_other_side(outage, servers, workers, &found);
        if (status == STATUS_OK)
            continue;
        name_outage(outage, text);
        return error_set(error, status, "%.120s: %.300s", text, found.text);
    }
    return STATUS_OK;
}

/* The list, in the order of time, and followed. */
static enum status make(struct agenda *agenda, struct process *processes, struct error *error)
{
    const struct outages *outages = agenda->outages;
    uint32_t declared = agenda->servers + agenda->workers;
    for (uint32_t i = 0; i < declared + outages_joining(outages); i++)
        processes[i] = (struct process){i < declared ? THERE : NOT_YET, NONE};
    for (size_t i = 0; i < outages->count; i++)
        put_outage(agenda, i);
    qsort(agenda->list, agenda->count, sizeof *agenda->list, compare);
    return follow_all(agenda, processes, error);
}

enum status outages_happenings(const struct outages *outages, uint32_t servers, uint32_t workers,
                               struct happening **happenings, size_t *count, struct error *error)
{
    struct agenda agenda = {.outages = outages, .servers = servers, .workers = workers};
    uint32_t joining = outages_joining(outages);
    *happenings = NULL;
    *count = 0;
    enum status status = check_places(outages, servers, workers + joining, error);
    if (status != STATUS_OK)
        return status;
    agenda.list = malloc(count_all(outages) * sizeof *agenda.list);
    struct process *processes = calloc((size_t)servers + workers + joining + 1, sizeof *processes);
    if (agenda.list != NULL && processes != NULL)
        status = make(&agenda, processes, error);
    else
        status = error_set(error, STATUS_MEMORY, "no memory for %zu outages", outages->count);
    free(processes);
    if (status != STATUS_OK) {
        free(agenda.list);
        return status;
    }
    *happenings = agenda.list;
    *count = agenda.count;
    return STATUS_OK;
}

enum status outages_check(const struct outages *outages, uint32_t servers, uint32_t workers,
                          struct error *error)
{
    struct happening *happenings;
    size_t count;
    uint32_t joining = outages_joining(outages);
    if (workers + joining > JOB_WORKERS_MAX)
        return error_set(error, STATUS_INVALID,
                         "--join: %u workers and %u that join are more than a job has, %d", workers,
                         joining, JOB_WORKERS_MAX);
    enum status status = outages_happenings(outages, servers, workers, &happenings, &count, error);
    free(happenings);
    return status;
}
