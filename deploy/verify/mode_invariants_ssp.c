/* mode_invariants_ssp.c - async's promises, and those of the bound, from what server 0 hears and says:
 *
 *   a worker that is given a batch is at most S ahead of the slowest, of those that are here and
 *   have asked; whoever joins starts at the slowest; who waits is told for a slowest one
 *
 * and of what is computed, whoever has come or gone:
 *
 *   at clock c it is made from values that hold every update of clock <= c - S - 1 of the others that
 *   are here (its worker's own it holds as in async)
 *
 * and once all have asked, with the same W workers from the start:
 *
 *   at clock c it is made from values that hold its worker's c updates and c - S of each other
 *   at S = 0 in round k it is made from versions first + k W to first + (k + 1) W - 1, or the next
 *     where a chunk has the batch itself and another found it too stale */

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

static uint32_t asked(const struct oracle *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX; i++)
        count += w->clocks.workers[i].asked;
    return count;
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
        w->clocks.generation == start->generation) {
        w->clocks.fixed = w->clocks.fixed && w->clocks.members == start->start.members;
        return;
    }
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX; i++)
        forget_clock(&w->clocks.workers[i]);
    w->clocks.fixed = true;
    w->clocks.begun = true;
    w->clocks.server_0 = server_0;
    w->clocks.generation = start->generation;
    w->clocks.first = start->start.step;
    w->clocks.members = start->start.members;
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

/* It says what it computes now, and from what: at the clock that it has now. */
static void note_computation(struct oracle_clock *clock, const struct message_lease *lease)
{
    uint64_t *held;
    bool *holds = lease->announces ? place_of(clock, lease->bases_of, &held) : NULL;
    uint64_t *at = holds != NULL ? &clock->clocks[holds - clock->holds] : NULL;
    if (at != NULL && *at == UINT64_MAX)
        *at = clock->finished;
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
        w->clocks.fixed = w->clocks.fixed && clock->finished == 0;
    }
    bool *holds = message->lease.finished ? place_of(clock, message->lease.batch, &held) : NULL;
    if (holds != NULL) {
        *holds = false;
        clock->finished++;
    }
    note_computation(clock, &message->lease);
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
    clock->clocks[place] = UINT64_MAX; /* It has not said that it computes it. */
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
    w->clocks.fixed = false;
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

/* --- what is computed from ----------------------------------------------------------------- */

static const struct oracle_chunk *chunk_now(const struct oracle *w, uint32_t chunk)
{
    for (uint32_t i = 0; i < w->process_count; i++) {
        const struct oracle_server *server = w->processes[i].server;
        if (server != NULL && server->alive && server->current &&
            server->index == w->partition->chunks[chunk].server)
            return &server->chunks[chunk];
    }
    return NULL;
}

/* A worker whose batch some chunks have found too stale computes it once more, and the others have
 * it by then: one more of its round. */
static bool has_batch(const struct oracle *w, uint32_t chunk, uint64_t batch)
{
    const struct oracle_chunk *now = chunk_now(w, chunk);
    return now != NULL && now->batches[batch];
}

/* Its clock as server 0 has it: no more than what it is, so what is promised of it is held. */
static void check_base(struct oracle *w, const struct oracle_worker *worker,
                       const struct message *message, uint64_t clock)
{
    uint64_t base = message->exchange.base_version, bound = w->job->staleness_bound;
    uint64_t old = clock > bound ? clock - bound : 0; /* Of each, that must be in it. */
    uint64_t least = w->clocks.first + clock + (w->clocks.members - 1) * old;
    uint64_t end = w->clocks.first + (clock + 1) * w->clocks.members + /* At S = 0. */
                   has_batch(w, message->exchange.chunk, message->exchange.step);
    w->counts.bases++;
    if (base < least || (bound == 0 && base >= end))
        oracle_fail(w,
                    "worker/%u computes batch %" PRIu64 " at clock %" PRIu64
                    " from version %" PRIu64 " of chunk %u, which %s",
                    worker->index, message->exchange.step, clock, base, message->exchange.chunk,
                    base < least ? "lacks what it has to hold" : "is of another round");
}

/* The clock at which a worker computes a batch that it holds; false when it is not known, as where
 * nothing is recorded. */
static bool clock_at(struct oracle *w, const struct message *message, uint64_t batch,
                     uint64_t *clock)
{
    uint64_t *held;
    if (message->index >= ORACLE_WORKERS_MAX || message->generation != w->clocks.generation)
        return false;
    struct oracle_clock *worker = &w->clocks.workers[message->index];
    bool *holds =
        worker->asked && worker->ticket == message->ticket ? place_of(worker, batch, &held) : NULL;
    if (holds == NULL)
        return false;
    *clock = worker->clocks[holds - worker->holds];
    return *clock != UINT64_MAX;
}

static enum verdict ssp_take(struct oracle *w, struct oracle_server *server, uint32_t chunk,
                             const struct packet *packet, uint32_t sender)
{
    struct oracle_chunk *c = &server->chunks[chunk];
    const uint64_t version = c->version;
    enum verdict verdict = async_takes(w, server, chunk, packet, sender);
    if (c->version == version || version >= w->job->steps)
        return verdict;
    struct oracle_update *update = &c->updates[version];
    update->ticket = packet->message.ticket;
    if (!clock_at(w, &packet->message, packet->message.exchange.step, &update->clock))
        update->clock = UINT64_MAX;
    return verdict;
}

/* No version since its base is of an update that it had to hold. */
static void check_included(struct oracle *w, const struct message *message, uint64_t clock)
{
    const struct message_exchange *exchange = &message->exchange;
    const struct oracle_chunk *chunk = chunk_now(w, exchange->chunk);
    uint64_t from = exchange->base_version;
    if (chunk == NULL)
        return;
    w->counts.included++;
    for (uint64_t v = from > chunk->first ? from : chunk->first; v < chunk->version; v++) {
        const struct oracle_update *update = &chunk->updates[v];
        const struct oracle_clock *other = &w->clocks.workers[update->worker % ORACLE_WORKERS_MAX];
        bool here = update->clock != UINT64_MAX && update->worker != message->index &&
                    other->asked && other->ticket == update->ticket;
        if (here && update->clock + w->job->staleness_bound < clock)
            oracle_fail(w,
                        "worker/%u computes batch %" PRIu64 " at clock %" PRIu64
                        " from version %" PRIu64 " of chunk %u, which lacks what worker/%u made "
                        "at clock %" PRIu64,
                        message->index, exchange->step, clock, from, exchange->chunk,
                        update->worker, update->clock);
    }
}

static void ssp_sent(struct oracle *w, const struct oracle_worker *worker,
                     const struct message *message)
{
    const struct oracle_clock *clock = &w->clocks.workers[worker->index % ORACLE_WORKERS_MAX];
    uint64_t at;
    async_sent(w, worker, message);
    if (w->job->staleness_bound != MODE_UNBOUNDED &&
        clock_at(w, message, message->exchange.step, &at))
        check_included(w, message, at);
    if (w->job->staleness_bound != MODE_UNBOUNDED && w->clocks.fixed &&
        asked(w) == w->clocks.members && message->generation == w->clocks.generation &&
        message->ticket == clock->ticket)
        check_base(w, worker, message, clock->finished);
}

const struct mode_invariants mode_invariants_ssp = {
    .stale = true,
    .take = ssp_take,
    .retry = async_retry,
    .snapshot = async_snapshot,
    .given = async_given,
    .sent = ssp_sent,
    .heard = ssp_heard,
    .said = ssp_said,
    .finish = async_finish,
};
