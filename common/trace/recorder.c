/* recorder.c - a buffer, a ring of slots that passes over those that are wanted, and for each worker
 * which step it is at. */

#include "common/trace/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/process/log.h"
#include "common/trace/keeper.h"

#define WRITE_NS    100000000u /* What is in the buffer goes out at least so often. */
#define SLOT_UNUSED UINT64_MAX

/* What is known of a worker. */
struct follower {
    bool begun;
    bool scored;       /* Something was, in this step. */
    uint64_t step;     /* That it is at ... */
    uint64_t began_ns; /* ... since then; before the first: since it asked for the first values. */
    uint64_t said_ns;  /* When it was answered last, by a server. */
};

struct slot {
    uint64_t sequence; /* SLOT_UNUSED: nothing was written. */
    uint64_t from_ns, to_ns;
};

struct recorder {
    int file;
    struct region region;
    pthread_mutex_t lock; /* Guards all below. */
    bool failed;          /* It could not be written, and that was said. */
    struct keeper keeper;
    struct slot *slots;         /* [region.slots] */
    struct segment segment;     /* That is filled. */
    struct span *spans;         /* [SEGMENT_SPANS] of it, ... */
    uint32_t written;           /* ... of which so many are in the file, ... */
    uint64_t written_ns;        /* ... since then. */
    struct follower *followers; /* [follower_count] by worker. */
    uint32_t follower_count;
    struct listener next; /* Takes all events, too. */
};

/* What a trainer has done. */
static const enum span_kind kinds_of_events[EVENT_KIND_COUNT] = {
    [EVENT_COMPUTED] = SPAN_COMPUTE, [EVENT_LEFT_OUT] = SPAN_COMPUTE, [EVENT_SCORED] = SPAN_SCORE,
    [EVENT_UPDATED] = SPAN_APPLY,    [EVENT_MANIFEST] = SPAN_WRITE,
};

/* --- segments ------------------------------------------------------------------------------------ */

static void note_failure(struct recorder *r, const struct error *error)
{
    if (!r->failed)
        log_warning("%s; nothing more is traced", error->text);
    r->failed = true;
}

static void write_out(struct recorder *r)
{
    struct error error;
    if (r->failed || r->written == r->segment.count)
        return;
    struct slot *slot = &r->slots[r->segment.slot];
    if (span_file_put(r->file, &r->region, &r->segment, r->written, r->spans, &error) != STATUS_OK)
        note_failure(r, &error);
    *slot = (struct slot){r->segment.sequence, r->segment.from_ns, r->segment.to_ns};
    r->written = r->segment.count;
}

/* The oldest slot that is not wanted; without such the oldest of all, where `any`. */
static uint32_t oldest(const struct recorder *r, bool any)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < r->region.slots; i++) {
        const struct slot *slot = &r->slots[i];
        if (found != UINT32_MAX && slot->sequence > r->slots[found].sequence)
            continue;
        if (any || !keeper_wants(&r->keeper, slot->from_ns, slot->to_ns))
            found = i;
    }
    return found;
}

static uint32_t choose_slot(struct recorder *r)
{
    for (uint32_t i = 0; i < r->region.slots; i++)
        if (r->slots[i].sequence == SLOT_UNUSED)
            return i;
    uint32_t slot = oldest(r, false);
    while (slot == UINT32_MAX && keeper_give_up(&r->keeper))
        slot = oldest(r, false);
    return slot != UINT32_MAX ? slot : oldest(r, true);
}

static void next_segment(struct recorder *r)
{
    write_out(r);
    r->segment = (struct segment){
        .slot = choose_slot(r), .sequence = r->segment.sequence + 1, .from_ns = UINT64_MAX};
    r->written = 0;
}

static void add(struct recorder *r, const struct span *span)
{
    struct segment *segment = &r->segment;
    if (segment->count == SEGMENT_SPANS)
        next_segment(r);
    r->spans[segment->count++] = *span;
    segment->from_ns = span->from_ns < segment->from_ns ? span->from_ns : segment->from_ns;
    segment->to_ns = span->to_ns > segment->to_ns ? span->to_ns : segment->to_ns;
    if (span->to_ns - r->written_ns < WRITE_NS)
        return;
    r->written_ns = span->to_ns;
    write_out(r);
}

/* --- steps --------------------------------------------------------------------------------------- */

/* NULL: there is no memory, or no such worker. */
static struct follower *follower_of(struct recorder *r, uint32_t worker)
{
    if (worker < r->follower_count)
        return &r->followers[worker];
    if (worker >= JOB_WORKERS_MAX)
        return NULL;
    uint32_t count = worker + 16;
    struct follower *grown = realloc(r->followers, count * sizeof *grown);
    if (grown == NULL)
        return NULL;
    memset(grown + r->follower_count, 0, (count - r->follower_count) * sizeof *grown);
    r->followers = grown;
    r->follower_count = count;
    return &grown[worker];
}

/* A worker goes from one step to another. */
static void turn(struct recorder *r, struct follower *follower, uint32_t worker, uint64_t at_ns,
                 bool own)
{
    const struct turn ended = {follower->step, follower->began_ns, at_ns, follower->scored};
    if (!follower->begun || ended.from_ns >= ended.to_ns)
        return;
    keeper_add(&r->keeper, &ended);
    if (!own)
        return;
    struct span span = span_of(ROLE_WORKER, worker, LANE_STEPS, SPAN_STEP);
    span.step = ended.step;
    span.from_ns = ended.from_ns;
    span.to_ns = ended.to_ns;
    span.what = ended.scored ? SPAN_STEP_SCORED : 0;
    add(r, &span);
}

static void begin(struct follower *follower, uint64_t step, uint64_t at_ns)
{
    *follower = (struct follower){
        .begun = true, .step = step, .began_ns = at_ns, .said_ns = follower->said_ns};
}

static void follow(struct recorder *r, const struct span *span)
{
    bool worker = span->role == ROLE_WORKER;
    bool answer = !worker && span->kind == SPAN_SEND && span->what == MESSAGE_RESULT;
    if (!answer && !(worker && (span->kind == SPAN_COMPUTE || span->kind == SPAN_SCORE ||
                                span->kind == SPAN_EXCHANGE)))
        return;
    uint32_t whose = worker ? span->index : span->other;
    struct follower *follower = follower_of(r, whose);
    if (follower == NULL)
        return;
    if (answer && r->region.role == ROLE_PS) {
        follower->said_ns = span->to_ns;
    } else if (span->kind == SPAN_SCORE) {
        follower->scored = true;
    } else if (span->kind == SPAN_COMPUTE && (!follower->begun || follower->step != span->step)) {
        bool first = !follower->begun && follower->began_ns != 0;
        turn(r, follower, whose, span->from_ns, true);
        begin(follower, span->step, first ? follower->began_ns : span->from_ns);
    } else if (span->kind == SPAN_EXCHANGE && !follower->begun && follower->began_ns == 0) {
        follower->began_ns = span->from_ns;
    }
}

/* --- the door -------------------------------------------------------------------------------------- */

enum status recorder_begin(struct recorder **recorder, int file, const struct region *region,
                           uint32_t steps, struct error *error)
{
    struct recorder *r = calloc(1, sizeof *r);
    *recorder = r;
    if (r == NULL) {
        close(file);
        return error_set(error, STATUS_MEMORY, "out of memory for a trace");
    }
    r->file = file;
    r->region = *region;
    r->segment.from_ns = UINT64_MAX;
    pthread_mutex_init(&r->lock, NULL);
    r->slots = calloc(region->slots, sizeof *r->slots);
    r->spans = calloc(SEGMENT_SPANS, sizeof *r->spans);
    enum status status = keeper_init(&r->keeper, steps);
    if (r->slots == NULL || r->spans == NULL || status != STATUS_OK)
        status = error_set(error, STATUS_MEMORY, "out of memory for a trace");
    for (uint32_t i = 0; status == STATUS_OK && i < region->slots; i++)
        r->slots[i].sequence = SLOT_UNUSED;
    if (status == STATUS_OK)
        status = span_file_claim(file, &r->region, error);
    r->failed = status != STATUS_OK;
    if (status != STATUS_OK)
        recorder_close(recorder);
    return status;
}

static uint64_t unix_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum status recorder_open(struct recorder **recorder, const char *where, enum role role,
                          uint32_t index, uint32_t steps, struct error *error)
{
    int file;
    *recorder = NULL;
    if (where == NULL)
        return STATUS_OK;
    enum status status = span_file_open(where, &file, error);
    if (status != STATUS_OK)
        return status;
    const struct region region = {.role = role,
                                  .index = index,
                                  .slots = REGION_SLOTS,
                                  .host = span_file_host(),
                                  .opened_ns = clock_now_ns(),
                                  .opened_unix_ns = unix_ns()};
    return recorder_begin(recorder, file, &region, steps, error);
}

/* A step that nothing followed ended with the last that is known of its worker. */
static void end_steps(struct recorder *r)
{
    for (uint32_t i = 0; i < r->follower_count && r->region.role != ROLE_PS; i++)
        if (r->followers[i].begun && r->segment.count > 0)
            turn(r, &r->followers[i], i, r->segment.to_ns, true);
}

void recorder_close(struct recorder **recorder)
{
    struct recorder *r = *recorder;
    if (r == NULL)
        return;
    if (!r->failed) {
        end_steps(r);
        write_out(r);
    }
    close(r->file);
    pthread_mutex_destroy(&r->lock);
    keeper_free(&r->keeper);
    free(r->slots);
    free(r->spans);
    free(r->followers);
    free(r);
    *recorder = NULL;
}

void recorder_span(struct recorder *recorder, const struct span *span)
{
    struct recorder *r = recorder;
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (!r->failed) {
        follow(r, span);
        add(r, span);
    }
    pthread_mutex_unlock(&r->lock);
}

static void take_span(void *context, const struct span *span)
{
    recorder_span(context, span);
}

struct span_listener recorder_spans(struct recorder *recorder)
{
    return (struct span_listener){recorder, recorder != NULL ? take_span : NULL};
}

struct span recorder_begins(const struct recorder *recorder, enum span_lane lane,
                            enum span_kind kind)
{
    if (recorder == NULL)
        return (struct span){.from_ns = 0};
    struct span span = span_of(recorder->region.role, recorder->region.index, lane, kind);
    span.from_ns = clock_now_ns();
    return span;
}

void recorder_ends(struct recorder *recorder, struct span *span)
{
    if (recorder == NULL || span->from_ns == 0)
        return;
    span->to_ns = clock_now_ns();
    recorder_span(recorder, span);
}

static void take_event(void *context, const struct event *event)
{
    struct recorder *r = context;
    enum span_kind kind = kinds_of_events[event->kind];
    struct span span = recorder_begins(r, LANE_TRAINER, kind);
    span.step = event->step;
    if (kind == SPAN_COMPUTE) {
        span.first = event->node.first_leaf;
        span.count = event->node.leaf_count;
    }
    span.to_ns = span.from_ns;
    span.from_ns -= 1000 * (event->us - event->early_us);
    if (kind != SPAN_STEP)
        recorder_span(r, &span);
    event_pass(&r->next, event);
}

void recorder_listen(struct recorder *recorder, struct listener *listener)
{
    if (recorder == NULL)
        return;
    recorder->next = *listener;
    *listener = (struct listener){listener->kinds, take_event, recorder};
    for (unsigned kind = 0; kind < EVENT_KIND_COUNT; kind++)
        listener->kinds |= (uint64_t)(kinds_of_events[kind] != SPAN_STEP) << kind;
}

void recorder_heard(struct recorder *recorder, const struct message *message, uint64_t at_ns)
{
    struct recorder *r = recorder;
    if (r == NULL || message->kind != MESSAGE_EXCHANGE || message->role != ROLE_WORKER)
        return;
    pthread_mutex_lock(&r->lock);
    struct follower *follower = follower_of(r, message->index);
    uint64_t step = message->exchange.step;
    if (follower != NULL && message->exchange.scored) {
        follower->scored = true;
    } else if (follower != NULL && message->exchange.gradient &&
               (!follower->begun || follower->step != step)) {
        uint64_t answered_ns = follower->said_ns > 0 ? follower->said_ns : at_ns;
        turn(r, follower, message->index, answered_ns, false);
        begin(follower, step, answered_ns);
    }
    pthread_mutex_unlock(&r->lock);
}
