/* turns.c - a list of pieces for each card up, a queue's length for each card down, and a heap of what
 * happens next: a piece leaves, or a transfer's last byte is there. */

#include "deploy/cluster/turns.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/array.h"

#define NOBODY UINT32_MAX
#define AHEAD  4 /* Pieces of a stream that its card may have: the first of a message, and three. */
#define SECOND 1000000000ull

/* What waits: bytes a second times nanoseconds. */
typedef unsigned __int128 amount;

/* Number AHEAD * stream and up. */
struct piece {
    uint64_t bytes; /* 0: not in use. */
    uint32_t transfer;
    uint32_t next;
};

/* What a stream has still to give its card. */
struct stream {
    uint32_t from, to;
    uint32_t first, last; /* Transfers. */
    uint64_t given;       /* Bytes that its card has. */
    struct piece pieces[AHEAD];
};

struct up_card {
    uint64_t rate;
    uint64_t ahead_bytes; /* A stream may have less than that here, whatever its pieces. */
    uint64_t piece_bytes;
    uint64_t since_ns;    /* The first piece is leaving since. */
    uint64_t over;        /* Of a nanosecond, what those before have had too little: in 1 / rate. */
    uint32_t first, last; /* Pieces. */
};

struct down_card {
    uint64_t rate;
    uint64_t coming; /* The rates at which pieces come in. */
    uint64_t now_ns; /* Its queue was so long then. */
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

/* Of a card up: its first piece has left. Of a transfer: it is there. */
struct event {
    uint64_t at_ns;
    uint64_t number; /* In the order in which they were foreseen. */
    bool arrives;
    uint32_t of;
};

struct turns {
    uint64_t now_ns, events_ever, first_bytes;
    struct up_card *up;     /* [host_count] */
    struct down_card *down; /* [host_count] */
    struct stream *streams;
    struct transfer *transfers;
    struct event *events; /* A heap. */
    uint64_t *arrived;
    size_t host_count, stream_count, transfer_count, event_count;
    size_t stream_capacity, transfer_capacity, event_capacity, arrived_capacity;
    uint32_t first_free;
};

/* --- life ---------------------------------------------------------------------------------------- */

static struct up_card up_card(const struct turns_options *options, uint64_t rate)
{
    uint64_t ahead = (uint64_t)((amount)rate * options->ahead_ns / SECOND);
    return (struct up_card){
        .rate = rate,
        .ahead_bytes = ahead,
        .piece_bytes = ahead / 2 > options->piece_bytes ? ahead / 2 : options->piece_bytes,
        .first = NOBODY,
        .last = NOBODY,
    };
}

struct turns *turns_create(const struct turns_options *options, const uint64_t *up_rates,
                           const uint64_t *down_rates, uint32_t host_count)
{
    assert(options->piece_bytes > 0 && options->ahead_ns <= SECOND);
    struct turns *turns = calloc(1, sizeof *turns);
    if (turns == NULL)
        return NULL;
    turns->host_count = host_count;
    turns->first_bytes = options->first_bytes;
    turns->first_free = NOBODY;
    turns->up = calloc(host_count, sizeof *turns->up);
    turns->down = calloc(host_count, sizeof *turns->down);
    turns->events = calloc(host_count, sizeof *turns->events); /* A card up has one at most. */
    turns->event_capacity = host_count;
    if (turns->up == NULL || turns->down == NULL || turns->events == NULL) {
        turns_free(turns);
        return NULL;
    }
    for (uint32_t h = 0; h < host_count; h++) {
        turns->up[h] = up_card(options, up_rates[h]);
        turns->down[h] = (struct down_card){.rate = down_rates[h]};
    }
    return turns;
}

void turns_free(struct turns *turns)
{
    if (turns == NULL)
        return;
    free(turns->up);
    free(turns->down);
    free(turns->streams);
    free(turns->transfers);
    free(turns->events);
    free(turns->arrived);
    free(turns);
}

enum status turns_connect(struct turns *turns, uint32_t stream, uint32_t from, uint32_t to)
{
    assert(stream <= turns->stream_count && from < turns->host_count && to < turns->host_count);
    struct stream *streams =
        array_room(turns->streams, turns->stream_count, &turns->stream_capacity, sizeof *streams);
    if (streams == NULL)
        return STATUS_MEMORY;
    turns->streams = streams;
    turns->stream_count += stream == turns->stream_count;
    streams[stream] = (struct stream){.from = from, .to = to, .first = NOBODY, .last = NOBODY};
    return STATUS_OK;
}

/* A transfer has one event at most, and a card up. */
enum status turns_make_room(struct turns *turns, size_t count)
{
    struct transfer *transfers =
        array_room(turns->transfers, count, &turns->transfer_capacity, sizeof *transfers);
    if (transfers == NULL)
        return STATUS_MEMORY;
    turns->transfers = transfers;
    struct event *events = array_room(turns->events, count + turns->host_count,
                                      &turns->event_capacity, sizeof *events);
    if (events == NULL)
        return STATUS_MEMORY;
    turns->events = events;
    uint64_t *arrived =
        array_room(turns->arrived, count, &turns->arrived_capacity, sizeof *arrived);
    if (arrived == NULL)
        return STATUS_MEMORY;
    turns->arrived = arrived;
    return STATUS_OK;
}

/* --- what happens next ----------------------------------------------------------------------------- */

static bool is_sooner(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void event_settle(struct turns *turns, size_t place, struct event event)
{
    struct event *heap = turns->events;
    for (; place > 0 && is_sooner(&event, &heap[(place - 1) / 2]); place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    for (size_t child; (child = 2 * place + 1) < turns->event_count; place = child) {
        if (child + 1 < turns->event_count && is_sooner(&heap[child + 1], &heap[child]))
            child++;
        if (!is_sooner(&heap[child], &event))
            break;
        heap[place] = heap[child];
    }
    heap[place] = event;
}

static void event_add(struct turns *turns, uint64_t at_ns, bool arrives, uint32_t of)
{
    assert(turns->event_count < turns->event_capacity);
    turns->event_count++;
    event_settle(turns, turns->event_count - 1,
                 (struct event){at_ns, turns->events_ever++, arrives, of});
}

static void event_remove(struct turns *turns, size_t place)
{
    struct event last = turns->events[--turns->event_count];
    if (place < turns->event_count)
        event_settle(turns, place, last);
}

static void event_forget(struct turns *turns, bool arrives, uint32_t of)
{
    for (size_t place = 0; place < turns->event_count; place++)
        if (turns->events[place].arrives == arrives && turns->events[place].of == of) {
            event_remove(turns, place);
            return;
        }
}

/* --- cards ----------------------------------------------------------------------------------------- */

static struct piece *piece_of(struct turns *turns, uint32_t number)
{
    return &turns->streams[number / AHEAD].pieces[number % AHEAD];
}

static uint64_t after(const struct turns *turns, amount ns)
{
    uint64_t room = TURNS_NEVER - 1 - turns->now_ns;
    return turns->now_ns + (ns < room ? (uint64_t)ns : room);
}

/* How long a card's queue is by now. */
static void serve(struct turns *turns, struct down_card *card)
{
    amount ns = turns->now_ns - card->now_ns;
    amount come = ns * card->coming + card->waiting, gone = ns * card->rate;
    card->waiting = come > gone ? come - gone : 0;
    card->now_ns = turns->now_ns;
}

/* The first piece of a card that has one begins to leave. */
static void set_off(struct turns *turns, uint32_t host)
{
    struct up_card *card = &turns->up[host];
    if (card->first == NOBODY)
        return;
    struct down_card *down = &turns->down[turns->streams[card->first / AHEAD].to];
    serve(turns, down);
    down->coming += card->rate;
    card->since_ns = turns->now_ns;
    amount due = (amount)piece_of(turns, card->first)->bytes * SECOND + card->over;
    card->over = (uint64_t)(due % card->rate);
    event_add(turns, after(turns, due / card->rate), false, host);
}

/* The first piece of a card is gone, to its end or not: of this transfer. */
static uint32_t take_off(struct turns *turns, uint32_t host)
{
    struct up_card *card = &turns->up[host];
    struct piece *piece = piece_of(turns, card->first);
    struct stream *stream = &turns->streams[card->first / AHEAD];
    struct down_card *down = &turns->down[stream->to];
    serve(turns, down);
    down->coming -= card->rate;
    card->first = piece->next;
    if (card->first == NOBODY)
        card->last = NOBODY;
    stream->given -= piece->bytes;
    piece->bytes = 0;
    turns->transfers[piece->transfer].given--;
    return piece->transfer;
}

static void put_behind(struct turns *turns, struct up_card *card, uint32_t piece)
{
    if (card->last == NOBODY)
        card->first = piece;
    else
        piece_of(turns, card->last)->next = piece;
    card->last = piece;
}

/* How long the next piece of a transfer is. */
static uint64_t next_piece(const struct turns *turns, const struct up_card *card,
                           const struct transfer *transfer)
{
    uint64_t most = card->piece_bytes;
    if (!transfer->begun && turns->first_bytes > 0 && turns->first_bytes < most)
        most = turns->first_bytes;
    return transfer->left < most ? transfer->left : most;
}

/* So many bytes of the stream's first transfer that is not all given. */
static struct piece cut(struct turns *turns, struct stream *stream, uint64_t bytes)
{
    uint32_t number = stream->first;
    struct transfer *transfer = &turns->transfers[number];
    transfer->begun = true;
    transfer->left -= bytes;
    transfer->given++;
    stream->given += bytes;
    if (transfer->left == 0) {
        stream->first = transfer->next;
        if (stream->first == NOBODY)
            stream->last = NOBODY;
    }
    return (struct piece){bytes, number, NOBODY};
}

/* A stream gives its card what it may. */
static void give(struct turns *turns, uint32_t number)
{
    struct stream *stream = &turns->streams[number];
    struct up_card *card = &turns->up[stream->from];
    for (uint32_t slot = 0; slot < AHEAD && stream->first != NOBODY; slot++) {
        if (stream->pieces[slot].bytes > 0)
            continue;
        uint64_t bytes = next_piece(turns, card, &turns->transfers[stream->first]);
        if (stream->given > 0 && stream->given >= 2 * bytes && stream->given >= card->ahead_bytes)
            return;
        stream->pieces[slot] = cut(turns, stream, bytes);
        put_behind(turns, card, number * AHEAD + slot);
    }
}

/* --- transfers ------------------------------------------------------------------------------------- */

static uint32_t transfer_number(struct turns *turns)
{
    uint32_t number = turns->first_free;
    if (number == NOBODY) {
        assert(turns->transfer_count < turns->transfer_capacity);
        return (uint32_t)turns->transfer_count++;
    }
    turns->first_free = turns->transfers[number].next;
    return number;
}

static void forget(struct turns *turns, uint32_t number)
{
    turns->transfers[number].next = turns->first_free;
    turns->first_free = number;
}

uint32_t turns_begin(struct turns *turns, uint32_t stream, uint64_t bytes, uint64_t tag,
                     uint64_t now_ns)
{
    assert(stream < turns->stream_count && bytes > 0);
    assert(now_ns >= turns->now_ns && now_ns <= turns_next(turns));
    turns->now_ns = now_ns;
    uint32_t number = transfer_number(turns);
    turns->transfers[number] =
        (struct transfer){.tag = tag, .left = bytes, .stream = stream, .next = NOBODY};
    struct stream *it = &turns->streams[stream];
    *(it->last == NOBODY ? &it->first : &turns->transfers[it->last].next) = number;
    it->last = number;
    struct up_card *card = &turns->up[it->from];
    bool idle = card->first == NOBODY;
    give(turns, stream);
    if (idle) {
        card->over = card->rate / 2; /* So that each leaves in the nearest nanosecond. */
        set_off(turns, it->from);
    }
    return number;
}

/* It gives no more. */
static void leave_stream(struct turns *turns, uint32_t number)
{
    struct stream *stream = &turns->streams[turns->transfers[number].stream];
    uint32_t before = NOBODY, i = stream->first;
    for (; i != NOBODY && i != number; i = turns->transfers[i].next)
        before = i;
    if (i == NOBODY)
        return;
    *(before == NOBODY ? &stream->first : &turns->transfers[before].next) =
        turns->transfers[number].next;
    if (stream->last == number)
        stream->last = before;
}

/* Those of its pieces that have not begun to leave do not. */
static void withdraw(struct turns *turns, uint32_t number)
{
    struct up_card *card = &turns->up[turns->streams[turns->transfers[number].stream].from];
    for (uint32_t before = card->first, i; before != NOBODY;) {
        i = piece_of(turns, before)->next;
        if (i == NOBODY || piece_of(turns, i)->transfer != number) {
            before = i;
            continue;
        }
        piece_of(turns, before)->next = piece_of(turns, i)->next;
        turns->streams[i / AHEAD].given -= piece_of(turns, i)->bytes;
        piece_of(turns, i)->bytes = 0;
        turns->transfers[number].given--;
        if (card->last == i)
            card->last = before;
    }
}

void turns_stop(struct turns *turns, uint32_t transfer, uint64_t now_ns)
{
    assert(now_ns >= turns->now_ns && now_ns <= turns_next(turns));
    turns->now_ns = now_ns;
    uint32_t stream = turns->transfers[transfer].stream, host = turns->streams[stream].from;
    leave_stream(turns, transfer);
    withdraw(turns, transfer);
    bool leaving = turns->transfers[transfer].given > 0;
    if (leaving) {
        event_forget(turns, false, host);
        take_off(turns, host);
    } else {
        event_forget(turns, true, transfer);
    }
    bool idle = leaving || turns->up[host].first == NOBODY;
    give(turns, stream);
    if (idle)
        set_off(turns, host);
    forget(turns, transfer);
}

/* --- time ------------------------------------------------------------------------------------------ */

uint64_t turns_next(const struct turns *turns)
{
    return turns->event_count > 0 ? turns->events[0].at_ns : TURNS_NEVER;
}

/* Times are whole: what a card's first piece has brought until now is not quite what it has. In a queue in front
 * of a slow card that would be seen. */
static void count_exactly(struct turns *turns, uint32_t host)
{
    const struct up_card *card = &turns->up[host];
    struct down_card *down = &turns->down[turns->streams[card->first / AHEAD].to];
    serve(turns, down);
    if (down->waiting < down->rate)
        return;
    amount counted = (amount)(turns->now_ns - card->since_ns) * card->rate;
    amount exactly = (amount)piece_of(turns, card->first)->bytes * SECOND;
    if (exactly > counted)
        down->waiting += exactly - counted;
    else
        down->waiting -= down->waiting < counted - exactly ? down->waiting : counted - exactly;
}

/* A card's first piece has left. If it was the last of its transfer, its end is there as soon as the queue
 * as it is now has gone. */
static void leave(struct turns *turns, uint32_t host)
{
    count_exactly(turns, host);
    uint32_t number = take_off(turns, host);
    const struct transfer *transfer = &turns->transfers[number];
    if (transfer->left == 0 && transfer->given == 0) {
        const struct down_card *down = &turns->down[turns->streams[transfer->stream].to];
        amount ns = (2 * down->waiting + down->rate - 1) / (2 * (amount)down->rate);
        event_add(turns, after(turns, ns), true, number);
    }
    give(turns, transfer->stream);
    set_off(turns, host);
}

const uint64_t *turns_advance(struct turns *turns, uint64_t now_ns, size_t *count)
{
    assert(now_ns >= turns->now_ns && now_ns <= turns_next(turns));
    turns->now_ns = now_ns;
    *count = 0;
    while (turns_next(turns) <= now_ns) {
        struct event event = turns->events[0];
        event_remove(turns, 0);
        if (!event.arrives) {
            leave(turns, event.of);
            continue;
        }
        turns->arrived[(*count)++] = turns->transfers[event.of].tag;
        forget(turns, event.of);
    }
    return turns->arrived;
}

uint64_t turns_rate(const struct turns *turns, uint32_t stream)
{
    const struct up_card *card = &turns->up[turns->streams[stream].from];
    return card->first != NOBODY && card->first / AHEAD == stream ? card->rate : 0;
}
