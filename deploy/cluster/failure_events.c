/* failure_events.c - expands a list of failures into events of single processes, ordered by time,
 * and checks that each is possible. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/job.h"
#include "deploy/cluster/failures.h"
#include "deploy/cluster/quantity.h"

#define NONE             SIZE_MAX
#define FAILURE_NAME_MAX (FAILURE_TEXT_MAX + 2)

/* --- the list -------------------------------------------------------------------------------- */

struct agenda {
    const struct failures *failures;
    uint32_t servers, workers;
    struct failure_event *list;
    size_t count;
};

static void put(struct agenda *agenda, size_t failure, enum failure_event_kind kind, uint64_t at_ns,
                struct place place)
{
    agenda->list[agenda->count++] =
        (struct failure_event){.at_ns = at_ns, .kind = kind, .place = place, .failure = failure};
}

/* The time of its end; 0: never. */
static uint64_t over_ns(const struct failures *failures, const struct failure *failure)
{
    uint64_t for_ns = failure->for_ns;
    if (failure->kind == FAILURE_KILL && for_ns == 0)
        for_ns = failures->restart_ns;
    return for_ns > 0 ? failure->at_ns + for_ns : 0;
}

/* At most two events for each process of a failure. */
static void put_failure(struct agenda *agenda, size_t index)
{
    static const struct {
        enum failure_event_kind begins, ends;
    } kinds[FAILURE_KIND_COUNT] = {
        [FAILURE_KILL] = {FAILURE_EVENT_KILL, FAILURE_EVENT_START},
        [FAILURE_STOP] = {FAILURE_EVENT_STOP, FAILURE_EVENT_CONTINUE},
        [FAILURE_PARTITION] = {FAILURE_EVENT_PART, FAILURE_EVENT_HEAL},
        [FAILURE_JOIN] = {FAILURE_EVENT_JOIN, FAILURE_EVENT_JOIN},
        [FAILURE_LEAVE] = {FAILURE_EVENT_LEAVE, FAILURE_EVENT_LEAVE},
    };
    const struct failure *failure = &agenda->failures->list[index];
    bool whole = failure->kind == FAILURE_PARTITION || failure->kind == FAILURE_JOIN;
    uint64_t over = over_ns(agenda->failures, failure);
    for (uint32_t i = 0; i < (whole ? 1 : places_count(&failure->places)); i++) {
        struct place place = {ROLE_NONE, 0};
        if (!whole)
            place = places_at(&failure->places, i);
        put(agenda, index, kinds[failure->kind].begins, failure->at_ns, place);
        if (over > 0)
            put(agenda, index, kinds[failure->kind].ends, over, place);
    }
}

static size_t count_all(const struct failures *failures)
{
    size_t count = 1; /* At least 1: an allocation of 0 may be NULL. */
    for (size_t i = 0; i < failures->count; i++)
        count += 2 * (size_t)places_count(&failures->list[i].places) + 2;
    return count;
}

static bool is_over(enum failure_event_kind kind)
{
    return kind == FAILURE_EVENT_START || kind == FAILURE_EVENT_CONTINUE ||
           kind == FAILURE_EVENT_HEAL;
}

/* The order is total: within a failure processes differ. */
static int compare(const void *a, const void *b)
{
    const struct failure_event *one = a, *other = b;
    if (one->at_ns != other->at_ns)
        return one->at_ns < other->at_ns ? -1 : 1;
    if (is_over(one->kind) != is_over(other->kind))
        return is_over(one->kind) ? -1 : 1;
    if (one->failure != other->failure)
        return one->failure < other->failure ? -1 : 1;
    if (one->place.role != other->place.role)
        return one->place.role < other->place.role ? -1 : 1;
    return one->place.index < other->place.index ? -1 : one->place.index > other->place.index;
}

/* --- whether it can be ----------------------------------------------------------------------- */

enum presence { THERE, NOT_YET, STOPPED, KILLED, LEFT };

struct process {
    enum presence presence;
    size_t failure; /* The failure that caused it; NONE. */
};

static size_t number_of(const struct agenda *agenda, struct place place)
{
    return place.role == ROLE_PS ? place.index : (size_t)agenda->servers + place.index;
}

/* "--kill=worker/9@1s" */
static void name_failure(const struct failure *failure, char text[FAILURE_NAME_MAX])
{
    char written[FAILURE_TEXT_MAX];
    failure_write(failure, written);
    snprintf(text, FAILURE_NAME_MAX, "--%s", written);
    *strchr(text, ' ') = '=';
}

static enum status refuse(const struct agenda *agenda, const struct failure_event *event,
                          const struct process *process, struct error *error)
{
    static const char *const words[] = {[THERE] = "is there",
                                        [NOT_YET] = "has not joined yet",
                                        [STOPPED] = "is stopped already",
                                        [KILLED] = "has been killed",
                                        [LEFT] = "has left"};
    char text[FAILURE_NAME_MAX], before[FAILURE_NAME_MAX] = "";
    name_failure(&agenda->failures->list[event->failure], text);
    if (process->failure != NONE)
        name_failure(&agenda->failures->list[process->failure], before);
    return error_set(error, STATUS_INVALID, "%.120s: %s %s at %s%s%.120s%s", text,
                     place_text(event->place).text, words[process->presence],
                     quantity_time(event->at_ns).text, before[0] != '\0' ? " (" : "", before,
                     before[0] != '\0' ? ")" : "");
}

/* Apply one possible event; *kept is false when it has no effect. */
static enum status follow(const struct agenda *agenda, const struct failure_event *event,
                          struct process *process, bool *kept, struct error *error)
{
    enum presence presence = process->presence;
    bool there = presence == THERE || (presence == STOPPED && event->kind == FAILURE_EVENT_KILL);
    *kept = true;
    switch (event->kind) {
    case FAILURE_EVENT_KILL:
    case FAILURE_EVENT_STOP:
    case FAILURE_EVENT_LEAVE:
        if (!there)
            return refuse(agenda, event, process, error);
        *process = (struct process){event->kind == FAILURE_EVENT_KILL   ? KILLED
                                    : event->kind == FAILURE_EVENT_STOP ? STOPPED
                                                                        : LEFT,
                                    event->failure};
        return STATUS_OK;
    case FAILURE_EVENT_JOIN:
        *process = (struct process){THERE, NONE};
        return STATUS_OK;
    default: /* It may have been killed meanwhile. */
        *kept = process->failure == event->failure;
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
        struct failure_event event = agenda->list[i];
        bool kept = true;
        enum status status = STATUS_OK;
        if (event.kind == FAILURE_EVENT_JOIN)
            event.place = (struct place){ROLE_WORKER, agenda->workers + joined++};
        if (event.place.role != ROLE_NONE)
            status =
                follow(agenda, &event, &processes[number_of(agenda, event.place)], &kept, error);
        if (status != STATUS_OK)
            return status;
        if (kept)
            agenda->list[kept_count++] = event;
    }
    agenda->count = kept_count;
    return STATUS_OK;
}

static enum status check_other_side(const struct failure *failure, uint32_t servers,
                                    uint32_t workers, struct error *error)
{
    if (failure->kind != FAILURE_PARTITION || failure->others.count > 0 ||
        places_count(&failure->places) < servers + workers)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "no process is left for the other side");
}

static enum status check_places(const struct failures *failures, uint32_t servers, uint32_t workers,
                                struct error *error)
{
    struct error found;
    char text[FAILURE_NAME_MAX];
    for (size_t i = 0; i < failures->count; i++) {
        const struct failure *failure = &failures->list[i];
        enum status status = places_check(&failure->places, servers, workers, &found);
        if (status == STATUS_OK)
            status = places_check(&failure->others, servers, workers, &found);
        if (status == STATUS_OK)
            status = check_other_side(failure, servers, workers, &found);
        if (status == STATUS_OK)
            continue;
        name_failure(failure, text);
        return error_set(error, status, "%.120s: %.300s", text, found.text);
    }
    return STATUS_OK;
}

/* The list, in the order of time, and followed. */
static enum status make(struct agenda *agenda, struct process *processes, struct error *error)
{
    const struct failures *failures = agenda->failures;
    uint32_t declared = agenda->servers + agenda->workers;
    for (uint32_t i = 0; i < declared + failures_joining(failures); i++)
        processes[i] = (struct process){i < declared ? THERE : NOT_YET, NONE};
    for (size_t i = 0; i < failures->count; i++)
        put_failure(agenda, i);
    qsort(agenda->list, agenda->count, sizeof *agenda->list, compare);
    return follow_all(agenda, processes, error);
}

enum status failures_events(const struct failures *failures, uint32_t servers, uint32_t workers,
                            struct failure_event **events, size_t *count, struct error *error)
{
    struct agenda agenda = {.failures = failures, .servers = servers, .workers = workers};
    uint32_t joining = failures_joining(failures);
    *events = NULL;
    *count = 0;
    if (workers + joining > JOB_WORKERS_MAX)
        return error_set(error, STATUS_INVALID,
                         "--join: %u workers and %u that join are more than a job has, %d", workers,
                         joining, JOB_WORKERS_MAX);
    enum status status = check_places(failures, servers, workers + joining, error);
    if (status != STATUS_OK)
        return status;
    agenda.list = malloc(count_all(failures) * sizeof *agenda.list);
    struct process *processes = calloc((size_t)servers + workers + joining + 1, sizeof *processes);
    if (agenda.list != NULL && processes != NULL)
        status = make(&agenda, processes, error);
    else
        status = error_set(error, STATUS_MEMORY, "no memory for %zu failures", failures->count);
    free(processes);
    if (status != STATUS_OK) {
        free(agenda.list);
        return status;
    }
    *events = agenda.list;
    *count = agenda.count;
    return STATUS_OK;
}

enum status failures_check(const struct failures *failures, uint32_t servers, uint32_t workers,
                           struct error *error)
{
    struct failure_event *events;
    size_t count;
    enum status status = failures_events(failures, servers, workers, &events, &count, error);
    free(events);
    return status;
}
