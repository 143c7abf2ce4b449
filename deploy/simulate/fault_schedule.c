/* fault_schedule.c - one event of the list at a time, the next that is due. */

#include "deploy/simulate/fault_schedule.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/cluster/quantity.h"
#include "deploy/engine/engine.h"

/* Ids of EVENT_FAULTs: one of these above, and a number below. */
#define IS_DUE           UINT64_C(0)
#define PARTITION_SILENT (UINT64_C(1) << 32) /* A partition, for the connecting side, */
#define PARTITION_DEAF   (UINT64_C(1) << 33) /* and for the listening side. */

/* common/transport/zmq: ZMQ_TCP_MAXRT of the connecting side, and of the listening side. */
#define HOLDS_NS      UINT64_C(5000000000)
#define LISTENS_NS    UINT64_C(30000000000)
#define BACK_LEAST_US 100000u /* ZMQ_RECONNECT_IVL, up to ZMQ_RECONNECT_IVL_MAX. */
#define BACK_RANGE_US 1900000u

static uint64_t elapsed_ns(const struct fault_schedule *s)
{
    return s->started ? s->options.engine->now_ns - s->start_ns : 0;
}

static const struct failure *failure_of(const struct fault_schedule *s,
                                        const struct failure_event *event)
{
    return &s->options.failures->list[event->failure];
}

static uint32_t host_of(const struct fault_schedule *s, struct place place)
{
    return place.role == ROLE_PS ? place.index : s->options.job->server_count + place.index;
}

static struct simulated_process *who_is_at(const struct fault_schedule *s, struct place place)
{
    uint32_t host = host_of(s, place);
    return host < s->options.engine->host_count ? s->options.engine->at[host] : NULL;
}

static bool is_job_over(const struct fault_schedule *s)
{
    const struct engine *e = s->options.engine;
    return s->over || e->hopeless || host_set_has(&e->left, 0);
}

/* --- messages --------------------------------------------------------------------------------- */

static void tell(const struct fault_schedule *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const struct fault_schedule *s, const char *format, ...)
{
    char text[FAULT_SCHEDULE_TEXT_MAX];
    if (s->options.say == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s->options.say(s->options.context, elapsed_ns(s), text);
}

static void leave_out(struct fault_schedule *s, const struct failure_event *event, const char *why)
{
    char text[FAILURE_TEXT_MAX];
    s->left_out[event->kind]++;
    failure_write(failure_of(s, event), text);
    if (event->kind == FAILURE_EVENT_START)
        tell(s, "%s: %s is not started again: %s", text, place_text(event->place).text, why);
    else if (event->place.role != ROLE_NONE)
        tell(s, "%s: left out for %s: %s", text, place_text(event->place).text, why);
    else
        tell(s, "%s: left out: %s", text, why);
}

static void leave_out_late(struct fault_schedule *s, const struct failure_event *event)
{
    leave_out(s, event, is_job_over(s) ? "the job is over" : "it is over");
}

/* "worker/0-3 and ps/0" */
static void name_sides(const struct failure *failure, char text[FAULT_SCHEDULE_TEXT_MAX])
{
    char places[PLACES_TEXT_MAX];
    places_write(&failure->places, places);
    snprintf(text, FAULT_SCHEDULE_TEXT_MAX, "%s and ", places);
    places_write(&failure->others, places);
    wording_append(text, FAULT_SCHEDULE_TEXT_MAX, "%s",
                   failure->others.count > 0 ? places : "all others");
}

/* --- each kind ------------------------------------------------------------------------------- */

/* When the next of this kind comes to the place; UINT64_MAX: none does. */
static uint64_t find_later(const struct fault_schedule *s, enum failure_event_kind kind,
                           struct place place)
{
    for (size_t i = s->next; i < s->count; i++) {
        const struct failure_event *later = &s->events[i];
        if (later->kind == kind && host_of(s, later->place) == host_of(s, place))
            return later->at_ns;
    }
    return UINT64_MAX;
}

static void kill_process(struct fault_schedule *s, const struct failure_event *event,
                         struct simulated_process *p)
{
    struct place_text name = place_text(event->place);
    uint64_t back_at_ns = find_later(s, FAILURE_EVENT_START, event->place);
    if (back_at_ns != UINT64_MAX) {
        s->awaited[host_of(s, event->place)] = true;
        s->awaited_count++;
        tell(s, "%s is killed; another comes in %s", name.text,
             quantity_time(back_at_ns - event->at_ns).text);
    } else {
        tell(s, "%s is killed, for good", name.text);
    }
    engine_kill(s->options.engine, p);
}

/* False: the process had ended before it was to be killed. */
static bool take_awaited(struct fault_schedule *s, struct place place)
{
    bool *awaited = &s->awaited[host_of(s, place)];
    if (!*awaited)
        return false;
    *awaited = false;
    s->awaited_count--;
    return true;
}

static void start_process(struct fault_schedule *s, const struct failure_event *event)
{
    if (!take_awaited(s, event->place))
        return;
    if (is_job_over(s) || who_is_at(s, event->place) != NULL) {
        leave_out_late(s, event);
        return;
    }
    s->struck[FAILURE_EVENT_START]++;
    tell(s, "%s is started again", place_text(event->place).text);
    engine_start(s->options.engine, host_of(s, event->place), START_AT_HOST);
}

static void stop_process(struct fault_schedule *s, const struct failure_event *event,
                         struct simulated_process *p)
{
    uint64_t for_ns = failure_of(s, event)->for_ns;
    tell(s, "%s is stopped for %s", place_text(event->place).text, quantity_time(for_ns).text);
    engine_stop(s->options.engine, p);
}

static void continue_process(struct fault_schedule *s, const struct failure_event *event)
{
    struct simulated_process *p = who_is_at(s, event->place);
    if (p == NULL || p->state != PROCESS_STOPPED)
        return;
    s->struck[FAILURE_EVENT_CONTINUE]++;
    tell(s, "%s goes on", place_text(event->place).text);
    engine_continue(s->options.engine, p);
}

static void join(struct fault_schedule *s, const struct failure_event *event)
{
    s->struck[FAILURE_EVENT_JOIN]++;
    tell(s, "%s joins", place_text(event->place).text);
    engine_start(s->options.engine, host_of(s, event->place), START_AT_HOST);
}

static void befall_process(struct fault_schedule *s, const struct failure_event *event)
{
    struct simulated_process *p = who_is_at(s, event->place);
    if (p == NULL) {
        leave_out_late(s, event);
        return;
    }
    s->struck[event->kind]++;
    if (event->kind == FAILURE_EVENT_KILL) {
        kill_process(s, event, p);
    } else if (event->kind == FAILURE_EVENT_STOP) {
        stop_process(s, event, p);
    } else {
        bool owns = job_place_owns(s->options.job, event->place.index);
        tell(s,
             owns ? "%s is asked to leave, and cannot: its place owns chunks"
                  : "%s is asked to leave",
             place_text(event->place).text);
        engine_later(s->options.engine, 0, DUE_LEAVE, p->number, 0);
    }
}

/* --- partitions ------------------------------------------------------------------------------ */

static struct host_set hosts_of(const struct fault_schedule *s, const struct places *places)
{
    struct host_set hosts = {0};
    for (uint32_t i = 0; i < places_count(places); i++)
        host_set_add(&hosts, host_of(s, places_at(places, i)));
    return hosts;
}

static void make_sides(const struct fault_schedule *s, const struct failure *failure,
                       struct host_set *hosts, struct host_set *others)
{
    *hosts = hosts_of(s, &failure->places);
    *others = failure->others.count > 0 ? hosts_of(s, &failure->others) : host_set_copy(hosts);
    if (failure->others.count == 0)
        host_set_invert(others);
}

static void part(struct fault_schedule *s, const struct failure_event *event)
{
    struct engine *e = s->options.engine;
    const struct failure *failure = failure_of(s, event);
    struct fault_schedule_partition *partition = &s->partitions[event->failure];
    struct host_set hosts, others;
    char sides[FAULT_SCHEDULE_TEXT_MAX];
    name_sides(failure, sides);
    tell(s, "nothing gets between %s for %s", sides, quantity_time(failure->for_ns).text);
    make_sides(s, failure, &hosts, &others);
    partition->in_use = true;
    partition->ways[0] = simulated_network_part(&e->network, &hosts, &others, true);
    partition->ways[1] = simulated_network_part(&e->network, &others, &hosts, true);
    host_set_free(&hosts);
    host_set_free(&others);
    s->struck[FAILURE_EVENT_PART]++;
    if (failure->for_ns > HOLDS_NS)
        engine_fault_at(e, e->now_ns + HOLDS_NS, PARTITION_SILENT + event->failure);
    if (failure->for_ns > LISTENS_NS)
        engine_fault_at(e, e->now_ns + LISTENS_NS, PARTITION_DEAF + event->failure);
}

static void heal(struct fault_schedule *s, const struct failure_event *event)
{
    struct engine *e = s->options.engine;
    struct fault_schedule_partition *partition = &s->partitions[event->failure];
    char sides[FAULT_SCHEDULE_TEXT_MAX];
    if (!partition->in_use)
        return;
    partition->in_use = false;
    for (size_t i = 0; i < 2; i++)
        simulated_network_heal(&e->network, e->now_ns, partition->ways[i]);
    s->struck[FAILURE_EVENT_HEAL]++;
    name_sides(failure_of(s, event), sides);
    tell(s, "%s hear each other again", sides);
}

/* --- silence --------------------------------------------------------------------------------- */

/* The time from now until a retrying peer has a connection again, when it is possible from over_ns
 * on. */
static uint64_t back_ns(struct fault_schedule *s, uint64_t over_ns)
{
    struct engine *e = s->options.engine;
    assert(over_ns > e->now_ns);
    return over_ns - e->now_ns + 1000 * (BACK_LEAST_US + random_below(&e->random, BACK_RANGE_US));
}

/* For the listening side: until it learns that the peer is gone, at the peer's next message. */
static uint64_t stale_ns(const struct failure *failure)
{
    return (failure->for_ns < LISTENS_NS ? failure->for_ns : LISTENS_NS) - HOLDS_NS;
}

static void tell_of_giving_up(const struct fault_schedule *s, size_t index, const char *who)
{
    char sides[FAULT_SCHEDULE_TEXT_MAX];
    name_sides(&s->options.failures->list[index], sides);
    tell(s, "%s: who %s gives up its connections", sides, who);
}

/* The connecting side loses the messages on their way. */
static void give_up_side(struct fault_schedule *s, size_t index)
{
    struct engine *e = s->options.engine;
    const struct failure *failure = &s->options.failures->list[index];
    struct host_set hosts, others;
    tell_of_giving_up(s, index, "connects");
    make_sides(s, failure, &hosts, &others);
    simulated_network_cut(&e->network, e->now_ns, &hosts, &others,
                          back_ns(s, s->start_ns + failure->at_ns + failure->for_ns),
                          stale_ns(failure));
    host_set_free(&hosts);
    host_set_free(&others);
}

/* --- the list -------------------------------------------------------------------------------- */

static enum status list_failure_events(struct fault_schedule *s, struct error *error)
{
    const struct failures *failures = s->options.failures;
    s->partitions = calloc(failures->count + 1, sizeof *s->partitions);
    if (s->partitions == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for %zu failures", failures->count);
    return failures_events(failures, s->options.job->server_count, s->options.job->worker_count,
                           &s->events, &s->count, error);
}

/* The end of an earlier failure of a process. */
static bool is_end(enum failure_event_kind kind)
{
    return kind == FAILURE_EVENT_START || kind == FAILURE_EVENT_CONTINUE ||
           kind == FAILURE_EVENT_HEAL;
}

static void happen(struct fault_schedule *s, const struct failure_event *event)
{
    if (!is_end(event->kind) && (s->stopping || is_job_over(s))) {
        leave_out(s, event, is_job_over(s) ? "the job is over" : "a stop was asked for");
        return;
    }
    switch (event->kind) {
    case FAILURE_EVENT_START:
        start_process(s, event);
        break;
    case FAILURE_EVENT_CONTINUE:
        continue_process(s, event);
        break;
    case FAILURE_EVENT_HEAL:
        heal(s, event);
        break;
    case FAILURE_EVENT_PART:
        part(s, event);
        break;
    case FAILURE_EVENT_JOIN:
        join(s, event);
        break;
    default:
        befall_process(s, event);
    }
}

/* Everything that is due; then wait for the next. */
static void do_what_is_due(struct fault_schedule *s)
{
    uint64_t now_ns = elapsed_ns(s);
    while (s->next < s->count && s->events[s->next].at_ns <= now_ns) {
        struct failure_event event = s->events[s->next++];
        happen(s, &event);
    }
    if (s->next < s->count)
        engine_fault_at(s->options.engine, s->start_ns + s->events[s->next].at_ns, IS_DUE);
}

/* --- its table ------------------------------------------------------------------------------- */

static void note_started(void *context)
{
    struct fault_schedule *s = context;
    s->started = true;
    s->start_ns = s->options.engine->now_ns;
    if (s->options.started != NULL)
        s->options.started(s->options.started_context);
    engine_fault_at(s->options.engine, s->start_ns, IS_DUE);
}

static bool awaits(const void *context)
{
    const struct fault_schedule *s = context;
    return s->awaited_count > 0 && !is_job_over(s);
}

static void strike(void *context, uint64_t number)
{
    struct fault_schedule *s = context;
    size_t index = (uint32_t)number;
    bool over = number >= PARTITION_SILENT && !s->partitions[index].in_use;
    if (number < PARTITION_SILENT)
        do_what_is_due(s);
    else if (!over && number >= PARTITION_DEAF)
        tell_of_giving_up(s, index, "listens");
    else if (!over)
        give_up_side(s, index);
}

struct faults fault_schedule_faults(struct fault_schedule *schedule)
{
    return (struct faults){
        .context = schedule, .strike = strike, .started = note_started, .awaits = awaits};
}

/* --- creation and end ------------------------------------------------------------------------- */

enum status fault_schedule_init(struct fault_schedule *schedule,
                                const struct fault_schedule_options *options, struct error *error)
{
    struct fault_schedule *s = schedule;
    memset(s, 0, sizeof *s);
    s->options = *options;
    enum status status = list_failure_events(s, error);
    if (status != STATUS_OK)
        fault_schedule_free(s);
    return status;
}

void fault_schedule_free(struct fault_schedule *schedule)
{
    free(schedule->events);
    free(schedule->partitions);
    memset(schedule, 0, sizeof *schedule);
}

void fault_schedule_note_over(struct fault_schedule *schedule)
{
    schedule->over = true;
}

void fault_schedule_stop(struct fault_schedule *schedule)
{
    schedule->stopping = true;
}

/* The end of a failure that never began, or that the end of the job has ended, is not counted. */
void fault_schedule_finish(struct fault_schedule *schedule)
{
    struct fault_schedule *s = schedule;
    for (; s->next < s->count; s->next++) {
        const struct failure_event *event = &s->events[s->next];
        bool ends = event->kind == FAILURE_EVENT_CONTINUE || event->kind == FAILURE_EVENT_HEAL ||
                    (event->kind == FAILURE_EVENT_START && !take_awaited(s, event->place));
        if (!ends)
            leave_out(s, event, "the job is over");
    }
}

void fault_schedule_sum_up(const struct fault_schedule *schedule, char *text, size_t size)
{
    static const struct {
        enum failure_event_kind kind;
        const char *one, *many;
    } words[] = {
        {FAILURE_EVENT_KILL, "kill", "kills"}, {FAILURE_EVENT_START, "restart", "restarts"},
        {FAILURE_EVENT_STOP, "stop", "stops"}, {FAILURE_EVENT_PART, "partition", "partitions"},
        {FAILURE_EVENT_JOIN, "join", "joins"}, {FAILURE_EVENT_LEAVE, "leave", "leaves"}};
    uint64_t left_out = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint64_t count = schedule->struck[words[i].kind];
        left_out += schedule->left_out[words[i].kind];
        if (count > 0)
            wording_append(text, size, "%s%s", text[0] != '\0' ? ", " : "",
                           wording_counted(count, words[i].one, words[i].many).text);
    }
    if (text[0] == '\0')
        snprintf(text, size, "nothing");
    if (left_out > 0)
        wording_append(text, size, "; %s left out", wording_count(left_out).text);
}
