/* mode_invariants_ssp.c - async's promises, and those of the bound, from what server 0 hears and says:
 *
 *   a worker that is given a batch is at most S ahead of the slowest, of those that are here and
 *   have asked; whoever joins starts at the slowest; who waits is told for a slowest one
 *
 * That it then computes from values that hold every update of clock <= c - S - 1 of the others, and its
 * own, is held against the record (record_check.h). */

#include "deploy/verify/mode_invariants_async.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct oracle_clock *clock_of(struct oracle *w, uint32_t process)
{
    const struct oracle_worker *worker =
        process < w->process_count ? w->processes[process].worker : NULL;
    return worker != NULL && worker->index < ORACLE_WORKERS_MAX ? &w->clocks.workers[worker->index]
                                                                : NULL;
}

static uint64_t minimum(const struct oracle *w)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX; i++)
        if (w->clocks.workers[i].asked && w->clocks.workers[i].finished < least)
            least = w->clocks.workers[i].finished;
    return least == UINT64_MAX ? 0 : least;
}

/* All but who it is. */
static void forget_clock(struct oracle_clock *clock)
{
    *clock = (struct oracle_clock){
        .ticket = clock->ticket, .proof = clock->proof, .generation = clock->generation};
}

/* Another generation, or another server 0. */
static void begin(struct oracle *w, uint32_t server_0, const struct message *start)
{
    if (w->clocks.begun && w->clocks.server_0 == server_0 &&
        w->clocks.generation == start->generation)
        return;
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX; i++)
        forget_clock(&w->clocks.workers[i]);
    w->clocks.begun = true;
    w->clocks.server_0 = server_0;
    w->clocks.generation = start->generation;
}

/* --- server 0 hears ------------------------------------------------------------------------ */

static bool *place_of(struct oracle_clock *clock, uint64_t batch, uint64_t **held)
{
    for (unsigned i = 0; i < ORACLE_HELD_MAX; i++)
        if (clock->holds[i] && clock->held[i] == batch) {
            *held = &clock->held[i];
            return &clock->holds[i];
        }
    return NULL;
}

static void ssp_heard(struct oracle *w, uint32_t server_0, const struct packet *packet)
{
    const struct message *message = &packet->message;
    uint64_t *held;
    if (message->kind != MESSAGE_LEASE || message->index >= ORACLE_WORKERS_MAX ||
        server_0 != w->clocks.server_0 || message->generation != w->clocks.generation)
        return;
    struct oracle_clock *clock = &w->clocks.workers[message->index];
    if (clock->ticket == 0 || message->ticket != clock->ticket || message->proof != clock->proof)
        return; /* Not from whom it says. */
    if (!clock->asked) {
        clock->finished = minimum(w);
        clock->asked = true;
    }
    bool *holds = message->lease.finished ? place_of(clock, message->lease.batch, &held) : NULL;
    if (holds != NULL) {
        *holds = false;
        clock->finished++;
    }
}

/* --- server 0 says ------------------------------------------------------------------------- */

static void give(struct oracle *w, uint32_t process, struct oracle_clock *clock, uint64_t batch)
{
    uint64_t *held, ahead = clock->finished - minimum(w);
    unsigned place = ORACLE_HELD_MAX;
    if (!clock->asked || place_of(clock, batch, &held) != NULL)
        return; /* Its WELCOME was lost in a cut; or it is said again. */
    for (unsigned i = 0; i < ORACLE_HELD_MAX; i++) {
        ahead += clock->holds[i];
        if (!clock->holds[i])
            place = i;
    }
    w->counts.grants++;
    w->counts.apart_max = ahead > w->counts.apart_max ? ahead : w->counts.apart_max;
    if (ahead > w->job->staleness_bound)
        oracle_fail(w,
                    "worker/%u is given batch %" PRIu64 " when it is %" PRIu64
                    " batches ahead of the slowest, and may be %" PRIu64,
                    w->processes[process].worker->index, batch, ahead, w->job->staleness_bound);
    if (place == ORACLE_HELD_MAX) {
        oracle_fail(w, "worker/%u is given more batches than it can hold",
                    w->processes[process].worker->index);
        return;
    }
    clock->holds[place] = true;
    clock->held[place] = batch;
}

/* A wait names one whose clock is the least. */
static void check_whom(struct oracle *w, const char *text)
{
    uint32_t whom;
    char rest[16];
    if (sscanf(text, "waiting for worker/%" SCNu32 " (on %15s", &whom, rest) != 2)
        return;
    if (whom >= ORACLE_WORKERS_MAX || !w->clocks.workers[whom].asked ||
        w->clocks.workers[whom].finished != minimum(w))
        oracle_fail(w, "somebody waits for worker/%u, which is not the slowest", whom);
}

static void note_gone(struct oracle *w, const struct order_event *event)
{
    uint32_t index;
    if ((strcmp(event->name, "lost") != 0 && strcmp(event->name, "left") != 0) ||
        sscanf(event->members, "\"role\": \"worker\", \"index\": %" SCNu32, &index) != 1 ||
        index >= ORACLE_WORKERS_MAX)
        return;
    w->clocks.workers[index] = (struct oracle_clock){0};
}

static void ssp_said(struct oracle *w, uint32_t process, const struct outgoing *item, uint32_t to)
{
    const struct message *message = &item->packet.message;
    const struct order *order = order_of(&item->packet);
    struct oracle_clock *clock = clock_of(w, to);
    async_said(w, process, item, to);
    if (w->job->staleness_bound == MODE_UNBOUNDED)
        return;
    bool new = clock != NULL &&order == NULL && message->generation >= w->clocks.generation;
    if (new && message->kind == MESSAGE_WELCOME && message->generation >= clock->generation) {
        clock->ticket = message->welcome.ticket;
        clock->proof = message->welcome.proof;
        clock->generation = message->generation;
        /* What the server 0 before it still says, when it was stopped and goes on, is followed no longer. */
        if (message->generation > w->clocks.generation) {
            w->clocks.begun = false;
            w->clocks.generation = message->generation;
        }
    }
    if (new && message->kind == MESSAGE_START)
        begin(w, process, message);
    if (!w->clocks.begun || process != w->clocks.server_0)
        return; /* Another one has its place, or it has not begun. */
    if (order != NULL && order->kind == ORDER_EVENT)
        note_gone(w, &order->event);
    if (order != NULL || clock == NULL)
        return;
    if (message->kind == MESSAGE_WORK && !message->work.enough && !message->work.none &&
        message->work.scored == 0)
        give(w, to, clock, message->work.batch);
    else if (message->kind == MESSAGE_PONG)
        check_whom(w, message->waiting.text);
}

const struct mode_invariants mode_invariants_ssp = {
    .stale = true,
    .take = async_takes,
    .retry = async_retry,
    .snapshot = async_snapshot,
    .given = async_given,
    .sent = async_sent,
    .heard = ssp_heard,
    .said = ssp_said,
    .finish = async_finish,
};
