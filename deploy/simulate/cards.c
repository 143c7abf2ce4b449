/* cards.c - streams of the network, each with the parcels that are under way on it in their order. */

#include "deploy/simulate/cards.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/process/log.h"
#include "deploy/engine/simulated_network.h"

/* One way of a connection: called by the network's number for it. */
struct stream {
    struct parcel *first, *last; /* Under way. */
    uint64_t released_ns;        /* When something that had been held up set off last, ... */
    uint64_t released;           /* ... and how many of these are the first of all. */
    bool local;
    uint32_t from, to; /* Hosts. */
};

struct cards {
    struct network *network;
    struct cluster_segment segment;
    uint32_t *host_of; /* [place_count] */
    uint32_t place_count;
    struct cards_use *uses; /* [host_count] */
    uint32_t host_count;
    struct stream *streams; /* [stream_count] */
    size_t stream_count, stream_capacity;
    uint32_t *open;    /* [open_count] by wire and way: its stream's number, from 1 on. */
    size_t open_count; /* A power of two, or 0. */
    struct cards_watcher watcher;
    struct cards_counts counts;
};

static void out_of_memory(void)
{
    log_error("out of memory for what is under way");
    exit(EXIT_TRAINING_FAILED);
}

/* --- life ---------------------------------------------------------------------------------------- */

/* What so many bytes of a stream take of a card. */
static uint64_t in_segments(const struct cluster_segment *segment, uint64_t bytes)
{
    uint64_t segments = (bytes + segment->bytes - 1) / segment->bytes;
    return bytes + segments * segment->overhead_bytes;
}

static struct network *make_network(const struct cluster *cluster, const struct layout *layout,
                                    uint64_t seed)
{
    struct network_options options = {
        .seed = seed,
        .latency_ns = cluster->latency_ns,
        .loopback_rate = cluster->loopback_bytes_per_second,
        .loopback_latency_ns = cluster->loopback_latency_ns,
        .jitter = cluster_jitter(cluster),
        .loss = cluster->loss,
        .switch_buffer_bytes = cluster->switch_buffer_bytes,
        .turn_bytes = in_segments(&cluster->segment, cluster->turn_bytes),
        .turn_first_bytes = in_segments(&cluster->segment, CARDS_FIRST_BYTES),
        .turn_ahead_ns = CARDS_AHEAD_NS};
    struct network_host *hosts = calloc(layout->host_count, sizeof *hosts);
    if (hosts == NULL)
        return NULL;
    for (uint32_t h = 0; h < layout->host_count; h++) {
        const struct cluster_card *card = &layout->hosts[h].card;
        hosts[h] = (struct network_host){card->up_bytes_per_second, card->down_bytes_per_second,
                                         card->latency_ns};
    }
    struct network *network = network_create(&options, hosts, layout->host_count);
    free(hosts);
    return network;
}

struct cards *cards_create(const struct cluster *cluster, const struct layout *layout,
                           uint64_t seed)
{
    struct cards *cards = calloc(1, sizeof *cards);
    if (cards == NULL)
        return NULL;
    cards->segment = cluster->segment;
    cards->place_count = layout->servers + layout->workers;
    cards->host_of = calloc(cards->place_count, sizeof *cards->host_of);
    cards->host_count = layout->host_count;
    cards->uses = calloc(layout->host_count, sizeof *cards->uses);
    cards->network = make_network(cluster, layout, seed);
    if (cards->host_of == NULL || cards->uses == NULL || cards->network == NULL) {
        cards_free(cards);
        return NULL;
    }
    for (uint32_t i = 0; i < cards->place_count; i++)
        cards->host_of[i] = layout->host_of[i];
    return cards;
}

static void free_all(struct parcel *parcel)
{
    while (parcel != NULL) {
        struct parcel *next = parcel->next;
        parcel_free(parcel);
        parcel = next;
    }
}

void cards_free(struct cards *cards)
{
    if (cards == NULL)
        return;
    for (size_t i = 0; i < cards->stream_count; i++)
        free_all(cards->streams[i].first);
    network_free(cards->network);
    free(cards->host_of);
    free(cards->uses);
    free(cards->streams);
    free(cards->open);
    free(cards);
}

/* --- streams ------------------------------------------------------------------------------------- */

static size_t way_of(uint32_t wire, bool up)
{
    return 2 * (size_t)wire + up;
}

/* Where the number of a way's stream is: 0 without one. */
static uint32_t *open_of(struct cards *cards, size_t way)
{
    if (way >= cards->open_count) {
        size_t count = cards->open_count == 0 ? 64 : cards->open_count;
        while (count <= way)
            count *= 2;
        uint32_t *open = realloc(cards->open, count * sizeof *open);
        if (open == NULL)
            out_of_memory();
        for (size_t i = cards->open_count; i < count; i++)
            open[i] = 0;
        cards->open = open;
        cards->open_count = count;
    }
    return &cards->open[way];
}

static uint32_t host_of(const struct cards *cards, uint32_t place)
{
    assert(place < cards->place_count);
    return cards->host_of[place];
}

static uint32_t open_stream(struct cards *cards, const struct simulated_network *network,
                            const struct parcel *parcel)
{
    const struct network_wire *wire = &network->wires[parcel->wire];
    uint32_t client = host_of(cards, network->clients[wire->client].host), number;
    uint32_t server = host_of(cards, wire->server);
    uint32_t from = parcel->up ? client : server, to = parcel->up ? server : client;
    if (network_connect(cards->network, from, to, 0, &number) != STATUS_OK)
        out_of_memory();
    if (number == cards->stream_count) {
        struct stream *streams = array_room(cards->streams, cards->stream_count,
                                            &cards->stream_capacity, sizeof *streams);
        if (streams == NULL)
            out_of_memory();
        cards->streams = streams;
        cards->stream_count++;
    }
    cards->streams[number] = (struct stream){.local = from == to, .from = from, .to = to};
    return number;
}

static uint32_t stream_of(struct cards *cards, const struct simulated_network *network,
                          const struct parcel *parcel)
{
    uint32_t *open = open_of(cards, way_of(parcel->wire, parcel->up));
    if (*open == 0)
        *open = 1 + open_stream(cards, network, parcel);
    return *open - 1;
}

/* --- carrying ------------------------------------------------------------------------------------ */

/* What ZeroMQ's protocol (ZMTP 3.0, 2.3) makes of a frame: flags, a size of one or of eight bytes, and
 * the frame itself. */
static uint64_t frame_bytes(uint64_t bytes)
{
    return bytes + (bytes > 255 ? 9 : 2);
}

/* As a TCP stream is cut into segments, the last of a message its own. */
uint64_t cards_wire_bytes(const struct cluster_segment *segment, uint64_t header_bytes,
                          uint64_t payload_bytes, bool local)
{
    uint64_t bytes = frame_bytes(header_bytes);
    if (payload_bytes > 0)
        bytes += frame_bytes(payload_bytes);
    return local ? bytes : in_segments(segment, bytes);
}

static void put_behind(struct cards *cards, uint32_t number, uint64_t now_ns, struct parcel *parcel)
{
    struct stream *stream = &cards->streams[number];
    uint64_t payload = parcel->payload != NULL ? parcel->payload->bytes : 0;
    parcel->next = NULL;
    *(stream->first == NULL ? &stream->first : &stream->last->next) = parcel;
    stream->last = parcel;
    uint64_t bytes =
        cards_wire_bytes(&cards->segment, parcel->carried_bytes, payload, stream->local);
    if (network_send(cards->network, number, bytes, now_ns, parcel) != STATUS_OK)
        out_of_memory();
}

/* But for the first `keep` nothing is under way on the stream any more: the rest, in its order. */
static struct parcel *withdraw(struct cards *cards, uint32_t number, uint64_t keep, uint64_t now_ns)
{
    struct stream *stream = &cards->streams[number];
    struct parcel *before = NULL, *rest = stream->first;
    network_disconnect(cards->network, number, keep, now_ns);
    for (; keep > 0 && rest != NULL; keep--) {
        before = rest;
        rest = rest->next;
    }
    stream->last = before;
    *(before == NULL ? &stream->first : &before->next) = NULL;
    const struct parcel *expected = rest;
    for (struct delivery lost; network_take(cards->network, &lost); expected = expected->next)
        assert(lost.lost && lost.item == expected);
    assert(expected == NULL);
    return rest;
}

/* What had been held up goes before all that is under way, but for what was held up before it. Numbers
 * are in the order of the stream again, then. */
static void put_before(struct cards *cards, uint32_t number, uint64_t now_ns, struct parcel *parcel)
{
    struct stream *stream = &cards->streams[number];
    if (stream->released_ns != now_ns)
        stream->released = 0;
    stream->released_ns = now_ns;
    struct parcel *rest = withdraw(cards, number, stream->released++, now_ns), *before = parcel;
    for (struct parcel *later = rest; later != NULL; later = later->next) {
        uint64_t sequence = before->sequence;
        before->sequence = later->sequence;
        later->sequence = sequence;
        before = later;
    }
    put_behind(cards, number, now_ns, parcel);
    for (struct parcel *next; rest != NULL; rest = next) {
        next = rest->next;
        cards->counts.resent++;
        put_behind(cards, number, now_ns, rest);
    }
}

/* Its connection is no more: so says the network, too, when it lands. */
static void give_back(struct cards *cards, struct simulated_network *network, uint64_t now_ns,
                      struct parcel *parcel)
{
    cards->counts.broken++;
    simulated_network_lands(network, parcel, now_ns);
}

static void carry(void *context, struct simulated_network *network, uint64_t now_ns,
                  struct parcel *parcel)
{
    struct cards *cards = context;
    cards->counts.carried++;
    if (parcel->connection != network->wires[parcel->wire].connection) {
        give_back(cards, network, now_ns, parcel);
        return;
    }
    uint32_t number = stream_of(cards, network, parcel);
    if (parcel->was_held)
        put_before(cards, number, now_ns, parcel);
    else
        put_behind(cards, number, now_ns, parcel);
}

/* --- arriving ------------------------------------------------------------------------------------ */

static void note_delay(struct network_counts *counts, const struct delivery *delivery)
{
    uint64_t delay_us = (delivery->at_ns - delivery->sent_ns) / 1000;
    if (delay_us < counts->delay_min_us)
        counts->delay_min_us = delay_us;
    if (delay_us > counts->delay_max_us)
        counts->delay_max_us = delay_us;
}

static void note_use(struct cards *cards, const struct stream *stream, uint64_t bytes)
{
    if (stream->local) {
        cards->uses[stream->from].loopback_bytes += bytes;
        return;
    }
    cards->uses[stream->from].up_bytes += bytes;
    cards->uses[stream->to].down_bytes += bytes;
}

static void note_arrival(struct cards *cards, const struct delivery *delivery)
{
    note_use(cards, &cards->streams[delivery->connection], delivery->bytes);
    cards->counts.arrived++;
    cards->counts.bytes += delivery->bytes;
    cards->counts.waited += delivery->timers_ns > 0;
    cards->counts.timers_ns += delivery->timers_ns;
    if (cards->watcher.arrived != NULL)
        cards->watcher.arrived(cards->watcher.context, delivery->item, delivery);
}

static void arrive(struct cards *cards, struct simulated_network *network,
                   const struct delivery *delivery)
{
    struct stream *stream = &cards->streams[delivery->connection];
    struct parcel *parcel = stream->first;
    assert(!delivery->lost && parcel == delivery->item);
    stream->first = parcel->next;
    stream->released -= stream->released > 0;
    parcel->next = NULL;
    note_delay(&network->counts, delivery);
    note_arrival(cards, delivery);
    simulated_network_lands(network, parcel, delivery->at_ns);
}

static uint64_t next_ns(void *context)
{
    return network_next(((struct cards *)context)->network);
}

static void advance(void *context, struct simulated_network *network, uint64_t now_ns)
{
    struct cards *cards = context;
    network_advance(cards->network, now_ns);
    for (struct delivery delivery; network_take(cards->network, &delivery);)
        arrive(cards, network, &delivery);
}

/* --- breaking ------------------------------------------------------------------------------------ */

/* Numbers rise in a stream, so what survives is the first of it. */
static void break_way(struct cards *cards, struct simulated_network *network, uint64_t now_ns,
                      size_t way, uint64_t survives)
{
    uint32_t *open = open_of(cards, way);
    if (*open == 0)
        return;
    uint32_t number = *open - 1;
    uint64_t keep = 0;
    for (const struct parcel *parcel = cards->streams[number].first;
         parcel != NULL && parcel->sequence <= survives; parcel = parcel->next)
        keep++;
    struct parcel *parcel = withdraw(cards, number, keep, now_ns);
    for (struct parcel *next; parcel != NULL; parcel = next) {
        next = parcel->next;
        parcel->next = NULL;
        give_back(cards, network, now_ns, parcel);
    }
    network_close(cards->network, number);
    *open = 0;
}

static void breaks(void *context, struct simulated_network *network, uint64_t now_ns, uint32_t wire,
                   uint32_t gone)
{
    struct network_wire *it = &network->wires[wire];
    bool client_gone = gone == it->client, server_gone = !client_gone && gone != NETWORK_NOBODY;
    if (!client_gone)
        it->up.survives = 0;
    if (!server_gone)
        it->down.survives = 0;
    break_way(context, network, now_ns, way_of(wire, true), it->up.survives);
    break_way(context, network, now_ns, way_of(wire, false), it->down.survives);
}

/* --- for others ---------------------------------------------------------------------------------- */

struct carrier cards_carrier(struct cards *cards)
{
    return (struct carrier){
        .context = cards, .carry = carry, .next_ns = next_ns, .advance = advance, .breaks = breaks};
}

void cards_watch(struct cards *cards, const struct cards_watcher *watcher)
{
    cards->watcher = *watcher;
}

const struct cards_counts *cards_counts(const struct cards *cards)
{
    return &cards->counts;
}

const struct cards_use *cards_use(const struct cards *cards, uint32_t host)
{
    return &cards->uses[host];
}

void cards_forget_use(struct cards *cards)
{
    memset(cards->uses, 0, cards->host_count * sizeof *cards->uses);
}

uint64_t cards_under_way(const struct cards *cards)
{
    uint64_t count = 0;
    for (size_t i = 0; i < cards->stream_count; i++)
        for (const struct parcel *it = cards->streams[i].first; it != NULL; it = it->next)
            count++;
    return count;
}

uint64_t cards_streams_most(const struct cards *cards)
{
    return cards->stream_count;
}
