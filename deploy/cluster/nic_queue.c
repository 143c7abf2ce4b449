/* nic_queue.c - a list of pieces for each card up, a queue's length for each card down, and a heap of
 * events: a piece leaves, or a transfer ends. */

#include "deploy/cluster/nic_queue.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/array.h"

#define NO_INDEX UINT32_MAX
#define AHEAD    4 /* Pieces of a stream that its card may have: the first of a message, and three. */
#define SECOND   1000000000ull

/* Queue lengths: bytes a second times nanoseconds. */
typedef unsigned __int128 amount;

/* Number AHEAD * stream and up. */
struct piece {
    uint64_t bytes; /* 0: not in use. */
    uint32_t transfer;
    uint32_t next;
};

/* The bytes that a stream has still to give its card. */
struct stream {
    uint32_t from, to;
    uint32_t first, last; /* Transfers. */
    uint64_t given;       /* Bytes that its card has. */
    struct piece pieces[AHEAD];
};

struct up_nic {
    uint64_t rate;
    uint64_t ahead_bytes; /* A stream may have less than that here, whatever its pieces. */
    uint64_t piece_bytes;
    uint64_t since_ns;    /* The first piece is leaving since. */
    uint64_t over;        /* Nanoseconds that earlier pieces were short by rounding, in 1 / rate. */
    uint32_t first, last; /* Pieces. */
};

struct down_nic {
    uint64_t rate;
    uint64_t coming; /* The rates at which pieces come in. */
    uint64_t now_ns; /* The time of the queue's length. */
    amount waiting;
};

struct transfer {
    uint64_t tag;
    bool begun;    /* Its first piece is given. */
    uint64_t left; /* Bytes that the card has not been given. */
    uint32_t stream;
    uint32_t given; /* Pieces that have not left. */
    uint32_t next;  /* Of its stream, or of the free ones. */
};

/* Of a card up: its first piece has left. Of a transfer: it ends. */
struct event {
    uint64_t at_ns;
    uint64_t number; /* In the order in which they were foreseen. */
    bool arrives;
    uint32_t of;
};

struct nic_queue {
    uint64_t now_ns, events_ever, first_bytes;
    struct up_nic *up;     /* [host_count] */
    struct down_nic *down; /* [host_count] */
    struct stream *streams;
    struct transfer *transfers;
    struct event *events; /* A heap. */
    uint64_t *arrived;
    size_t host_count, stream_count, transfer_count, event_count;
    size_t stream_capacity, transfer_capacity, event_capacity, arrived_capacity;
    uint32_t first_free;
};

/* --- creation --------------------------------------------------------------------------------- */

static struct up_nic up_nic(const struct nic_queue_options *options, uint64_t rate)
{
    uint64_t ahead = (uint64_t)((amount)rate * options->ahead_ns / SECOND);
    return (struct up_nic){
        .rate = rate,
        .ahead_bytes = ahead,
        .piece_bytes = ahead / 2 > options->piece_bytes ? ahead / 2 : options->piece_bytes,
        .first = NO_INDEX,
        .last = NO_INDEX,
    };
}

struct nic_queue *nic_queue_create(const struct nic_queue_options *options,
                                   const uint64_t *up_rates, const uint64_t *down_rates,
                                   uint32_t host_count)
{
    assert(options->piece_bytes > 0 && options->ahead_ns <= SECOND);
    struct nic_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    queue->host_count = host_count;
    queue->first_bytes = options->first_bytes;
    queue->first_free = NO_INDEX;
    queue->up = calloc(host_count, sizeof *queue->up);
    queue->down = calloc(host_count, sizeof *queue->down);
    queue->events = calloc(host_count, sizeof *queue->events); /* A card up has one at most. */
    queue->event_capacity = host_count;
    if (queue->up == NULL || queue->down == NULL || queue->events == NULL) {
        nic_queue_free(queue);
        return NULL;
    }
    for (uint32_t h = 0; h < host_count; h++) {
        queue->up[h] = up_nic(options, up_rates[h]);
        queue->down[h] = (struct down_nic){.rate = down_rates[h]};
    }
    return queue;
}

void nic_queue_free(struct nic_queue *queue)
{
    if (queue == NULL)
        return;
    free(queue->up);
    free(queue->down);
    free(queue->streams);
    free(queue->transfers);
    free(queue->events);
    free(queue->arrived);
    free(queue);
}

enum status nic_queue_connect(struct nic_queue *queue, uint32_t stream, uint32_t from, uint32_t to)
{
    assert(stream <= queue->stream_count && from < queue->host_count && to < queue->host_count);
    struct stream *streams =
        array_room(queue->streams, queue->stream_count, &queue->stream_capacity, sizeof *streams);
    if (streams == NULL)
        return STATUS_MEMORY;
    queue->streams = streams;
    queue->stream_count += stream == queue->stream_count;
    streams[stream] = (struct stream){.from = from, .to = to, .first = NO_INDEX, .last = NO_INDEX};
    return STATUS_OK;
}

/* A transfer has one event at most, and a card up. */
enum status nic_queue_make_room(struct nic_queue *queue, size_t count)
{
    struct transfer *transfers =
        array_room(queue->transfers, count, &queue->transfer_capacity, sizeof *transfers);
    if (transfers == NULL)
        return STATUS_MEMORY;
    queue->transfers = transfers;
    struct event *events = array_room(queue->events, count + queue->host_count,
                                      &queue->event_capacity, sizeof *events);
    if (events == NULL)
        return STATUS_MEMORY;
    queue->events = events;
    uint64_t *arrived =
        array_room(queue->arrived, count, &queue->arrived_capacity, sizeof *arrived);
    if (arrived == NULL)
        return STATUS_MEMORY;
    queue->arrived = arrived;
    return STATUS_OK;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_sooner(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void event_settle(struct nic_queue *queue, size_t place, struct event event)
{
    struct event *heap = queue->events;
    for (; place > 0 && is_sooner(&event, &heap[(place - 1) / 2]); place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    for (size_t child; (child = 2 * place + 1) < queue->event_count; place = child) {
        if (child + 1 < queue->event_count && is_sooner(&heap[child + 1], &heap[child]))
            child++;
        if (!is_sooner(&heap[child], &event))
            break;
        heap[place] = heap[child];
    }
    heap[place] = event;
}

static void event_add(struct nic_queue *queue, uint64_t at_ns, bool arrives, uint32_t of)
{
    assert(queue->event_count < queue->event_capacity);
    queue->event_count++;
    event_settle(queue, queue->event_count - 1,
                 (struct event){at_ns, queue->events_ever++, arrives, of});
}

static void event_remove(struct nic_queue *queue, size_t place)
{
    struct event last = queue->events[--queue->event_count];
    if (place < queue->event_count)
        event_settle(queue, place, last);
}

static void event_forget(struct nic_queue *queue, bool arrives, uint32_t of)
{
    for (size_t place = 0; place < queue->event_count; place++)
        if (queue->events[place].arrives == arrives && queue->events[place].of == of) {
            event_remove(queue, place);
            return;
        }
}

/* --- cards ------------------------------------------------------------------------------------ */

static struct piece *piece_of(struct nic_queue *queue, uint32_t number)
{
    return &queue->streams[number / AHEAD].pieces[number % AHEAD];
}

static uint64_t after(const struct nic_queue *queue, amount ns)
{
    uint64_t room = NIC_QUEUE_NEVER - 1 - queue->now_ns;
    return queue->now_ns + (ns < room ? (uint64_t)ns : room);
}

/* How long a card's queue is by now. */
static void serve(struct nic_queue *queue, struct down_nic *nic)
{
    amount ns = queue->now_ns - nic->now_ns;
    amount come = ns * nic->coming + nic->waiting, gone = ns * nic->rate;
    nic->waiting = come > gone ? come - gone : 0;
    nic->now_ns = queue->now_ns;
}

/* The first piece of a card that has one begins to leave. */
static void set_off(struct nic_queue *queue, uint32_t host)
{
    struct up_nic *nic = &queue->up[host];
    if (nic->first == NO_INDEX)
        return;
    struct down_nic *down = &queue->down[queue->streams[nic->first / AHEAD].to];
    serve(queue, down);
    down->coming += nic->rate;
    nic->since_ns = queue->now_ns;
    amount due = (amount)piece_of(queue, nic->first)->bytes * SECOND + nic->over;
    nic->over = (uint64_t)(due % nic->rate);
    event_add(queue, after(queue, due / nic->rate), false, host);
}

/* The first piece of a card is gone, to its end or not: of this transfer. */
static uint32_t take_off(struct nic_queue *queue, uint32_t host)
{
    struct up_nic *nic = &queue->up[host];
    struct piece *piece = piece_of(queue, nic->first);
    struct stream *stream = &queue->streams[nic->first / AHEAD];
    struct down_nic *down = &queue->down[stream->to];
    serve(queue, down);
    down->coming -= nic->rate;
    nic->first = piece->next;
    if (nic->first == NO_INDEX)
        nic->last = NO_INDEX;
    stream->given -= piece->bytes;
    piece->bytes = 0;
    queue->transfers[piece->transfer].given--;
    return piece->transfer;
}

static void put_behind(struct nic_queue *queue, struct up_nic *nic, uint32_t piece)
{
    if (nic->last == NO_INDEX)
        nic->first = piece;
    else
        piece_of(queue, nic->last)->next = piece;
    nic->last = piece;
}

/* How long the next piece of a transfer is. */
static uint64_t next_piece(const struct nic_queue *queue, const struct up_nic *nic,
                           const struct transfer *transfer)
{
    uint64_t most = nic->piece_bytes;
    if (!transfer->begun && queue->first_bytes > 0 && queue->first_bytes < most)
        most = queue->first_bytes;
    return transfer->left < most ? transfer->left : most;
}

/* So many bytes of the stream's first transfer that has bytes left. */
static struct piece cut(struct nic_queue *queue, struct stream *stream, uint64_t bytes)
{
    uint32_t number = stream->first;
    struct transfer *transfer = &queue->transfers[number];
    transfer->begun = true;
    transfer->left -= bytes;
    transfer->given++;
    stream->given += bytes;
    if (transfer->left == 0) {
        stream->first = transfer->next;
        if (stream->first == NO_INDEX)
            stream->last = NO_INDEX;
    }
    return (struct piece){bytes, number, NO_INDEX};
}

/* A stream gives its card as much as it may. */
static void give(struct nic_queue *queue, uint32_t number)
{
    struct stream *stream = &queue->streams[number];
    struct up_nic *nic = &queue->up[stream->from];
    for (uint32_t slot = 0; slot < AHEAD && stream->first != NO_INDEX; slot++) {
        if (stream->pieces[slot].bytes > 0)
            continue;
        uint64_t bytes = next_piece(queue, nic, &queue->transfers[stream->first]);
        if (stream->given > 0 && stream->given >= 2 * bytes && stream->given >= nic->ahead_bytes)
            return;
        stream->pieces[slot] = cut(queue, stream, bytes);
        put_behind(queue, nic, number * AHEAD + slot);
    }
}

/* --- transfers -------------------------------------------------------------------------------- */

static uint32_t transfer_number(struct nic_queue *queue)
{
    uint32_t number = queue->first_free;
    if (number == NO_INDEX) {
        assert(queue->transfer_count < queue->transfer_capacity);
        return (uint32_t)queue->transfer_count++;
    }
    queue->first_free = queue->transfers[number].next;
    return number;
}

static void forget(struct nic_queue *queue, uint32_t number)
{
    queue->transfers[number].next = queue->first_free;
    queue->first_free = number;
}

uint32_t nic_queue_begin(struct nic_queue *queue, uint32_t stream, uint64_t bytes, uint64_t tag,
                         uint64_t now_ns)
{
    assert(stream < queue->stream_count && bytes > 0);
    assert(now_ns >= queue->now_ns && now_ns <= nic_queue_next(queue));
    queue->now_ns = now_ns;
    uint32_t number = transfer_number(queue);
    queue->transfers[number] =
        (struct transfer){.tag = tag, .left = bytes, .stream = stream, .next = NO_INDEX};
    struct stream *it = &queue->streams[stream];
    *(it->last == NO_INDEX ? &it->first : &queue->transfers[it->last].next) = number;
    it->last = number;
    struct up_nic *nic = &queue->up[it->from];
    bool idle = nic->first == NO_INDEX;
    give(queue, stream);
    if (idle) {
        nic->over = nic->rate / 2; /* Half a nanosecond: each piece leaves in the nearest one. */
        set_off(queue, it->from);
    }
    return number;
}

/* It gives no more. */
static void leave_stream(struct nic_queue *queue, uint32_t number)
{
    struct stream *stream = &queue->streams[queue->transfers[number].stream];
    uint32_t before = NO_INDEX, i = stream->first;
    for (; i != NO_INDEX && i != number; i = queue->transfers[i].next)
        before = i;
    if (i == NO_INDEX)
        return;
    *(before == NO_INDEX ? &stream->first : &queue->transfers[before].next) =
        queue->transfers[number].next;
    if (stream->last == number)
        stream->last = before;
}

/* Those of its pieces that have not begun to leave do not. */
static void withdraw(struct nic_queue *queue, uint32_t number)
{
    struct up_nic *nic = &queue->up[queue->streams[queue->transfers[number].stream].from];
    for (uint32_t before = nic->first, i; before != NO_INDEX;) {
        i = piece_of(queue, before)->next;
        if (i == NO_INDEX || piece_of(queue, i)->transfer != number) {
            before = i;
            continue;
        }
        piece_of(queue, before)->next = piece_of(queue, i)->next;
        queue->streams[i / AHEAD].given -= piece_of(queue, i)->bytes;
        piece_of(queue, i)->bytes = 0;
        queue->transfers[number].given--;
        if (nic->last == i)
            nic->last = before;
    }
}

void nic_queue_stop(struct nic_queue *queue, uint32_t transfer, uint64_t now_ns)
{
    assert(now_ns >= queue->now_ns && now_ns <= nic_queue_next(queue));
    queue->now_ns = now_ns;
    uint32_t stream = queue->transfers[transfer].stream, host = queue->streams[stream].from;
    leave_stream(queue, transfer);
    withdraw(queue, transfer);
    bool leaving = queue->transfers[transfer].given > 0;
    if (leaving) {
        event_forget(queue, false, host);
        take_off(queue, host);
    } else {
        event_forget(queue, true, transfer);
    }
    bool idle = leaving || queue->up[host].first == NO_INDEX;
    give(queue, stream);
    if (idle)
        set_off(queue, host);
    forget(queue, transfer);
}

/* --- time ------------------------------------------------------------------------------------- */

uint64_t nic_queue_next(const struct nic_queue *queue)
{
    return queue->event_count > 0 ? queue->events[0].at_ns : NIC_QUEUE_NEVER;
}

/* Times are integers: the bytes of a card's first piece until now are not exact, which a queue in
 * front of a slow card would show. */
static void count_exactly(struct nic_queue *queue, uint32_t host)
{
    const struct up_nic *nic = &queue->up[host];
    struct down_nic *down = &queue->down[queue->streams[nic->first / AHEAD].to];
    serve(queue, down);
    if (down->waiting < down->rate)
        return;
    amount counted = (amount)(queue->now_ns - nic->since_ns) * nic->rate;
    amount exactly = (amount)piece_of(queue, nic->first)->bytes * SECOND;
    if (exactly > counted)
        down->waiting += exactly - counted;
    else
        down->waiting -= down->waiting < counted - exactly ? down->waiting : counted - exactly;
}

/* A card's first piece has left. The last piece of a transfer sets its end: when the queue as it is
 * now has gone. */
static void leave(struct nic_queue *queue, uint32_t host)
{
    count_exactly(queue, host);
    uint32_t number = take_off(queue, host);
    const struct transfer *transfer = &queue->transfers[number];
    if (transfer->left == 0 && transfer->given == 0) {
        const struct down_nic *down = &queue->down[queue->streams[transfer->stream].to];
        amount ns = (2 * down->waiting + down->rate - 1) / (2 * (amount)down->rate);
        event_add(queue, after(queue, ns), true, number);
    }
    give(queue, transfer->stream);
    set_off(queue, host);
}

const uint64_t *nic_queue_advance(struct nic_queue *queue, uint64_t now_ns, size_t *count)
{
    assert(now_ns >= queue->now_ns && now_ns <= nic_queue_next(queue));
    queue->now_ns = now_ns;
    *count = 0;
    while (nic_queue_next(queue) <= now_ns) {
        struct event event = queue->events[0];
        event_remove(queue, 0);
        if (!event.arrives) {
            leave(queue, event.of);
            continue;
        }
        queue->arrived[(*count)++] = queue->transfers[event.of].tag;
        forget(queue, event.of);
    }
    return queue->arrived;
}
