/* network.c - messages before their transfer are in a heap by time; during it they are in the NIC
 * queue or on a loopback. A connection lists its messages. The first that has not begun its transfer
 * may be in the heap. On a loopback it is not while another of the connection is under way. */

#include "deploy/cluster/network.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "deploy/cluster/impairment.h"
#include "deploy/cluster/loopback.h"
#include "deploy/cluster/nic_queue.h"

#define NO_INDEX UINT32_MAX

/* The bytes that a stream sends before the first feedback from the switch: ten segments of 1460
 * bytes (RFC 6928). */
#define FIRST_WINDOW_BYTES 14600u

enum phase {
    PHASE_BEHIND,  /* Another of the connection is before it. */
    PHASE_WAITING, /* In the heap: its first byte is on its way, or its timer runs. */
    PHASE_FLOWING, /* Between hosts others of the connection may be as well. */
};

struct message {
    struct delivery delivery; /* Filled as things happen. */
    uint64_t ready_ns;        /* If it is the first of its connection its transfer begins then. */
    uint64_t number;          /* Among those of its connection since ever. */
    enum phase phase;
    uint32_t next;     /* Of its connection, or of the free ones. */
    uint32_t transfer; /* Of the NIC queue. */
    uint64_t window;   /* Its bytes in the switch's buffer. */
    uint32_t again;    /* How often the switch has dropped it. */
};

struct connection {
    uint32_t to;   /* Host. */
    bool is_local; /* From the same host. */
    bool closed;
    uint64_t latency_ns;
    uint64_t sent;        /* Messages since ever, those of closed ones of this number as well. */
    uint32_t first, last; /* Under way. */
    uint32_t next_closed;
};

/* A message's transfer begins. */
struct beginning {
    uint64_t at_ns;
    uint64_t sequence;
    uint32_t lot;
    uint32_t message;
};

struct network {
    struct network_options options;
    uint32_t host_count;
    uint64_t now_ns, sent;
    struct nic_queue *queue; /* Between hosts. */
    struct loopback *loopback;
    uint64_t *latencies_ns; /* [host_count] */
    uint64_t *buffered;     /* [host_count] first windows towards it. */
    struct connection *connections;
    struct message *messages;
    struct beginning *beginnings; /* A heap. */
    struct delivery *deliveries;
    size_t connection_count, connection_capacity, message_count, message_capacity;
    size_t beginning_count, beginning_capacity, delivery_count, delivery_capacity;
    size_t live_count; /* Messages under way. */
    size_t taken;      /* Of the deliveries. */
    uint32_t first_free;
    uint32_t first_closed; /* Of the connections whose numbers may be reused. */
};

/* --- creation --------------------------------------------------------------------------------- */

static struct nic_queue *make_queue(const struct network_options *options,
                                    const struct network_host *hosts, uint32_t host_count)
{
    uint64_t *rates = calloc(2 * (size_t)host_count, sizeof *rates);
    if (rates == NULL)
        return NULL;
    uint64_t *down_rates = rates + host_count;
    for (uint32_t h = 0; h < host_count; h++) {
        rates[h] = hosts[h].up_rate;
        down_rates[h] = hosts[h].down_rate;
    }
    struct nic_queue_options of_queue = {.piece_bytes = options->turn_bytes,
                                         .first_bytes = options->turn_first_bytes,
                                         .ahead_ns = options->turn_ahead_ns};
    struct nic_queue *queue = nic_queue_create(&of_queue, rates, down_rates, host_count);
    free(rates);
    return queue;
}

struct network *network_create(const struct network_options *options,
                               const struct network_host *hosts, uint32_t host_count)
{
    assert(host_count > 0);
    struct network *network = calloc(1, sizeof *network);
    if (network == NULL)
        return NULL;
    network->options = *options;
    network->host_count = host_count;
    network->first_free = network->first_closed = NO_INDEX;
    network->queue = make_queue(options, hosts, host_count);
    network->loopback = loopback_create(options->loopback_rate, host_count);
    network->latencies_ns = calloc(host_count, sizeof *network->latencies_ns);
    network->buffered = calloc(host_count, sizeof *network->buffered);
    if (network->queue == NULL || network->loopback == NULL || network->latencies_ns == NULL ||
        network->buffered == NULL) {
        network_free(network);
        return NULL;
    }
    for (uint32_t h = 0; h < host_count; h++)
        network->latencies_ns[h] = hosts[h].latency_ns;
    return network;
}

void network_free(struct network *network)
{
    if (network == NULL)
        return;
    nic_queue_free(network->queue);
    loopback_free(network->loopback);
    free(network->latencies_ns);
    free(network->buffered);
    free(network->connections);
    free(network->messages);
    free(network->beginnings);
    free(network->deliveries);
    free(network);
}

static bool make_room_to_connect(struct network *network)
{
    if (network->first_closed != NO_INDEX)
        return true;
    struct connection *connections = array_room(network->connections, network->connection_count,
                                                &network->connection_capacity, sizeof *connections);
    if (connections == NULL)
        return false;
    network->connections = connections;
    return true;
}

static uint32_t connection_number(struct network *network)
{
    uint32_t number = network->first_closed;
    if (number == NO_INDEX) {
        number = (uint32_t)network->connection_count++;
        network->connections[number].sent = 0;
    } else {
        network->first_closed = network->connections[number].next_closed;
    }
    return number;
}

static void forget_connection(struct network *network, struct connection *stream)
{
    if (stream->is_local)
        loopback_unreserve(network->loopback, stream->to);
    stream->next_closed = network->first_closed;
    network->first_closed = (uint32_t)(stream - network->connections);
}

enum status network_connect(struct network *network, uint32_t from, uint32_t to,
                            uint64_t further_ns, uint32_t *connection)
{
    assert(from < network->host_count && to < network->host_count);
    bool is_local = from == to;
    if (!make_room_to_connect(network) ||
        (is_local && loopback_reserve(network->loopback, to) != STATUS_OK))
        return STATUS_MEMORY;
    *connection = connection_number(network);
    struct connection *stream = &network->connections[*connection];
    *stream = (struct connection){
        .to = to,
        .is_local = is_local,
        .latency_ns =
            further_ns + (is_local ? network->options.loopback_latency_ns
                                   : network->options.latency_ns + network->latencies_ns[from] +
                                         network->latencies_ns[to]),
        .sent = stream->sent,
        .first = NO_INDEX,
        .last = NO_INDEX,
    };
    if (nic_queue_connect(network->queue, *connection, from, to) == STATUS_OK)
        return STATUS_OK;
    forget_connection(network, stream);
    return STATUS_MEMORY;
}

void network_close(struct network *network, uint32_t connection)
{
    assert(connection < network->connection_count);
    struct connection *stream = &network->connections[connection];
    assert(!stream->closed);
    stream->closed = true;
    if (stream->first == NO_INDEX)
        forget_connection(network, stream);
}

/* --- transfers to begin, soonest first -------------------------------------------------------- */

static bool is_sooner(const struct beginning *a, const struct beginning *b)
{
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    return a->lot != b->lot ? a->lot < b->lot : a->sequence < b->sequence;
}

static void beginning_settle(struct network *network, size_t place, struct beginning beginning)
{
    struct beginning *heap = network->beginnings;
    for (; place > 0 && is_sooner(&beginning, &heap[(place - 1) / 2]); place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    for (size_t child; (child = 2 * place + 1) < network->beginning_count; place = child) {
        if (child + 1 < network->beginning_count && is_sooner(&heap[child + 1], &heap[child]))
            child++;
        if (!is_sooner(&heap[child], &beginning))
            break;
        heap[place] = heap[child];
    }
    heap[place] = beginning;
}

static void beginning_remove(struct network *network, size_t place)
{
    struct beginning last = network->beginnings[--network->beginning_count];
    if (place < network->beginning_count)
        beginning_settle(network, place, last);
}

static struct impairment_place place_of(const struct network *network,
                                        const struct message *message)
{
    return (struct impairment_place){network->options.seed, message->delivery.connection,
                                     message->number};
}

/* The message, the first of its connection, begins its transfer then. */
static void await(struct network *network, uint32_t number, uint64_t at_ns)
{
    struct message *message = &network->messages[number];
    assert(network->beginning_count < network->beginning_capacity);
    message->phase = PHASE_WAITING;
    struct beginning beginning = {at_ns, message->delivery.sequence, 0, number};
    if (network->options.switch_buffer_bytes > 0) {
        struct impairment_place place = place_of(network, message);
        beginning.lot = impairment_lot(&place, message->again);
    }
    network->beginning_count++;
    beginning_settle(network, network->beginning_count - 1, beginning);
}

/* --- messages --------------------------------------------------------------------------------- */

/* For one message more. */
static bool make_room(struct network *network)
{
    size_t count = network->message_count;
    struct message *messages =
        array_room(network->messages, count, &network->message_capacity, sizeof *messages);
    if (messages == NULL)
        return false;
    network->messages = messages;
    struct beginning *beginnings =
        array_room(network->beginnings, count, &network->beginning_capacity, sizeof *beginnings);
    if (beginnings == NULL)
        return false;
    network->beginnings = beginnings;
    return true;
}

/* All messages on their way may arrive at once, before any is taken. */
static bool make_room_to_arrive(struct network *network)
{
    struct delivery *deliveries =
        array_room(network->deliveries, network->delivery_count + network->live_count,
                   &network->delivery_capacity, sizeof *deliveries);
    if (deliveries == NULL)
        return false;
    network->deliveries = deliveries;
    return true;
}

static uint32_t message_number(struct network *network)
{
    uint32_t number = network->first_free;
    if (number == NO_INDEX)
        return (uint32_t)network->message_count++;
    network->first_free = network->messages[number].next;
    return number;
}

/* Its latency, and its losses before it arrives. */
static void foresee(const struct network *network, const struct connection *connection,
                    struct message *message)
{
    struct delivery *delivery = &message->delivery;
    delivery->latency_ns = connection->latency_ns;
    if (!connection->is_local) {
        struct impairment_place place = place_of(network, message);
        delivery->latency_ns += impairment_jitter_ns(&place, &network->options.jitter);
        delivery->timers_ns =
            impairment_loss_ns(&place, network->options.loss, 2 * connection->latency_ns);
    }
    message->ready_ns = delivery->sent_ns + delivery->latency_ns + delivery->timers_ns;
}

/* Whether the one behind a message need not wait until that is there. */
static bool begins_behind(const struct network *network, const struct connection *stream,
                          uint32_t before)
{
    return !stream->is_local && network->messages[before].phase == PHASE_FLOWING;
}

enum status network_send(struct network *network, uint32_t connection, uint64_t bytes,
                         uint64_t now_ns, void *item)
{
    assert(connection < network->connection_count && bytes <= NETWORK_BYTES_MOST);
    assert(now_ns >= network->now_ns);
    if ((network->first_free == NO_INDEX && !make_room(network)) || !make_room_to_arrive(network) ||
        nic_queue_make_room(network->queue, network->live_count) != STATUS_OK)
        return STATUS_MEMORY;
    network->now_ns = now_ns;
    uint32_t number = message_number(network);
    struct connection *stream = &network->connections[connection];
    assert(!stream->closed);
    struct message *message = &network->messages[number];
    *message = (struct message){.delivery = {.sequence = network->sent++,
                                             .item = item,
                                             .bytes = bytes,
                                             .sent_ns = now_ns,
                                             .connection = connection},
                                .number = stream->sent++,
                                .phase = PHASE_BEHIND,
                                .next = NO_INDEX};
    foresee(network, stream, message);
    if (stream->first == NO_INDEX)
        stream->first = number;
    else
        network->messages[stream->last].next = number;
    if (stream->first == number || begins_behind(network, stream, stream->last))
        await(network, number, message->ready_ns);
    stream->last = number;
    network->live_count++;
    return STATUS_OK;
}

/* The figures of a message that leaves its connection, for the caller. */
static void hand_over(struct network *network, uint32_t number, uint64_t at_ns, bool lost)
{
    struct message *message = &network->messages[number];
    struct connection *stream = &network->connections[message->delivery.connection];
    network->buffered[stream->to] -= message->window;
    message->delivery.at_ns = at_ns;
    message->delivery.lost = lost;
    network->deliveries[network->delivery_count++] = message->delivery;
    network->live_count--;
    message->next = network->first_free;
    network->first_free = number;
}

/* Not before the message ahead of it. */
static void await_behind(struct network *network, uint32_t number)
{
    uint64_t ready_ns = network->messages[number].ready_ns;
    await(network, number, ready_ns > network->now_ns ? ready_ns : network->now_ns);
}

/* It has arrived, and the one behind it may begin. */
static void deliver(struct network *network, uint32_t number)
{
    uint32_t connection = network->messages[number].delivery.connection;
    struct connection *stream = &network->connections[connection];
    assert(stream->first == number);
    uint32_t next = stream->first = network->messages[number].next;
    hand_over(network, number, network->now_ns, false);
    if (next == NO_INDEX && stream->closed)
        forget_connection(network, stream);
    if (next != NO_INDEX && network->messages[next].phase == PHASE_BEHIND)
        await_behind(network, next);
    else if (next != NO_INDEX && network->messages[next].phase == PHASE_FLOWING)
        network->messages[next].delivery.begun_ns = network->now_ns;
}

/* The bytes that it may put into the switch's buffer before the first feedback. A message behind
 * others of its connection has had feedback. */
static uint64_t window_of(const struct network *network, uint32_t number)
{
    const struct message *message = &network->messages[number];
    const struct connection *stream = &network->connections[message->delivery.connection];
    uint64_t bytes = message->delivery.bytes;
    if (stream->is_local || stream->first != number)
        return 0;
    return bytes < FIRST_WINDOW_BYTES ? bytes : FIRST_WINDOW_BYTES;
}

/* A message at an empty queue is never dropped, whatever the buffer. */
static bool switch_has_room(const struct network *network, uint32_t number)
{
    const struct message *message = &network->messages[number];
    uint64_t buffer = network->options.switch_buffer_bytes, window = window_of(network, number);
    uint64_t there = network->buffered[network->connections[message->delivery.connection].to];
    return buffer == 0 || there == 0 || window == 0 || there + window <= buffer;
}

static void flow(struct network *network, uint32_t number)
{
    struct message *message = &network->messages[number];
    uint32_t connection = message->delivery.connection;
    const struct connection *stream = &network->connections[connection];
    uint64_t bytes = message->delivery.bytes, now_ns = network->now_ns;
    message->phase = PHASE_FLOWING;
    message->window = window_of(network, number);
    network->buffered[stream->to] += message->window;
    if (stream->is_local) {
        loopback_begin(network->loopback, stream->to, bytes, number, now_ns);
        return;
    }
    message->transfer =
        nic_queue_begin(network->queue, connection, bytes > 0 ? bytes : 1, number, now_ns);
    if (message->next != NO_INDEX)
        await_behind(network, message->next);
}

static void begin(struct network *network, uint32_t number)
{
    struct message *message = &network->messages[number];
    const struct connection *stream = &network->connections[message->delivery.connection];
    message->delivery.begun_ns = network->now_ns;
    if (message->delivery.bytes == 0 && stream->first == number) {
        deliver(network, number);
    } else if (switch_has_room(network, number)) {
        flow(network, number);
    } else {
        uint64_t timer_ns = impairment_timer_ns(2 * stream->latency_ns, message->again++);
        message->delivery.timers_ns += timer_ns;
        await(network, number, network->now_ns + timer_ns);
    }
}

/* --- time ------------------------------------------------------------------------------------- */

uint64_t network_next(const struct network *network)
{
    uint64_t next_ns = nic_queue_next(network->queue), end_ns = loopback_next(network->loopback);
    if (end_ns < next_ns)
        next_ns = end_ns;
    if (network->beginning_count > 0 && network->beginnings[0].at_ns < next_ns)
        next_ns = network->beginnings[0].at_ns;
    return next_ns;
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = ((const struct delivery *)a)->sequence, y = ((const struct delivery *)b)->sequence;
    return (x > y) - (x < y);
}

static void deliver_all(struct network *network, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        deliver(network, (uint32_t)numbers[i]);
}

/* An end makes room for a message that begins at the same time and may end then, too. */
void network_advance(struct network *network, uint64_t now_ns)
{
    assert(now_ns >= network->now_ns && now_ns <= network_next(network));
    network->now_ns = now_ns;
    size_t before = network->delivery_count, ended;
    do {
        const uint64_t *numbers = loopback_advance(network->loopback, now_ns, &ended);
        deliver_all(network, numbers, ended);
        numbers = nic_queue_advance(network->queue, now_ns, &ended);
        deliver_all(network, numbers, ended);
        while (network->beginning_count > 0 && network->beginnings[0].at_ns <= now_ns) {
            uint32_t number = network->beginnings[0].message;
            beginning_remove(network, 0);
            begin(network, number);
        }
    } while (network_next(network) <= now_ns);
    if (network->delivery_count > before + 1)
        qsort(network->deliveries + before, network->delivery_count - before,
              sizeof *network->deliveries, by_sequence);
}

bool network_take(struct network *network, struct delivery *delivery)
{
    if (network->taken == network->delivery_count) {
        network->taken = network->delivery_count = 0;
        return false;
    }
    *delivery = network->deliveries[network->taken++];
    return true;
}

static void forget_beginning(struct network *network, uint32_t message)
{
    for (size_t place = 0; place < network->beginning_count; place++)
        if (network->beginnings[place].message == message) {
            beginning_remove(network, place);
            return;
        }
}

/* It goes no further. */
static void stop(struct network *network, uint32_t number, uint64_t now_ns)
{
    const struct message *message = &network->messages[number];
    if (message->phase == PHASE_WAITING)
        forget_beginning(network, number);
    if (message->phase != PHASE_FLOWING)
        return;
    const struct connection *stream = &network->connections[message->delivery.connection];
    if (stream->is_local)
        loopback_stop(network->loopback, stream->to, number, now_ns);
    else
        nic_queue_stop(network->queue, message->transfer, now_ns);
}

void network_disconnect(struct network *network, uint32_t connection, uint64_t keep,
                        uint64_t now_ns)
{
    assert(connection < network->connection_count && now_ns >= network->now_ns);
    struct connection *stream = &network->connections[connection];
    network->now_ns = now_ns;
    if (stream->first == NO_INDEX)
        return;
    uint32_t last = NO_INDEX, number = stream->first;
    for (; keep > 0 && number != NO_INDEX; keep--) {
        last = number;
        number = network->messages[number].next;
    }
    stream->last = last;
    *(last == NO_INDEX ? &stream->first : &network->messages[last].next) = NO_INDEX;
    while (number != NO_INDEX) {
        uint32_t next = network->messages[number].next;
        stop(network, number, now_ns);
        hand_over(network, number, now_ns, true);
        number = next;
    }
    if (stream->closed && stream->first == NO_INDEX)
        forget_connection(network, stream);
}
