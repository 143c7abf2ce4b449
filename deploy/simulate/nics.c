/* nics.c - streams of the network, each with the parcels on their way in order. */

#include "deploy/simulate/nics.h"

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

struct nics {
    struct network *network;
    struct cluster_segment segment;
    uint32_t *host_of; /* [place_count] */
    uint32_t place_count;
    struct nics_use *uses; /* [host_count] */
    uint32_t host_count;
    struct stream *streams; /* [stream_count] */
    size_t stream_count, stream_capacity;
    uint32_t *open;    /* [open_count] by wire and way: its stream's number, from 1 on. */
    size_t open_count; /* A power of two, or 0. */
    struct nics_watcher watcher;
    struct nics_counts counts;
};

static void out_of_memory(void)
{
    log_error("out of memory for messages on their way");
    exit(EXIT_TRAINING_FAILED);
}

/* --- life ------------------------------------------------------------------------------------- */

/* The load of so many bytes of a stream on a card. */
static uint64_t in_segments(const struct cluster_segment *segment, uint64_t bytes)
{
    uint64_t segments = (bytes + segment->bytes - 1) / segment->bytes;
    return bytes + segments * segment->overhead_bytes;
}

static struct network *make_network(const struct cluster *cluster, const struct layout *layout,
                                    uint64_t seed)
{
    struct network_options options = {.seed = seed,
                                      .latency_ns = cluster->latency_ns,
                                      .loopback_rate = cluster->loopback_bytes_per_second,
                                      .loopback_latency_ns = cluster->loopback_latency_ns,
                                      .jitter = cluster_jitter(cluster),
                                      .loss = cluster->loss,
                                      .switch_buffer_bytes = cluster->switch_buffer_bytes,
                                      .turn_bytes = in_segments(&cluster->segment, NICS_TURN_BYTES),
                                      .turn_first_bytes =
                                          in_segments(&cluster->segment, NICS_FIRST_BYTES),
                                      .turn_ahead_ns = NICS_AHEAD_NS};
    struct network_host *hosts = calloc(layout->host_count, sizeof *hosts);
    if (hosts == NULL)
        return NULL;
    for (uint32_t h = 0; h < layout->host_count; h++) {
        const struct cluster_nic *nic = &layout->hosts[h].nic;
        hosts[h] = (struct network_host){nic->up_bytes_per_second, nic->down_bytes_per_second,
                                         nic->latency_ns};
    }
    struct network *network = network_create(&options, hosts, layout->host_count);
    free(hosts);
    return network;
}

struct nics *nics_create(const struct cluster *cluster, const struct layout *layout, uint64_t seed)
{
    struct nics *nics = calloc(1, sizeof *nics);
    if (nics == NULL)
        return NULL;
    nics->segment = cluster->segment;
    nics->place_count = layout->servers + layout->workers;
    nics->host_of = calloc(nics->place_count, sizeof *nics->host_of);
    nics->host_count = layout->host_count;
    nics->uses = calloc(layout->host_count, sizeof *nics->uses);
    nics->network = make_network(cluster, layout, seed);
    if (nics->host_of == NULL || nics->uses == NULL || nics->network == NULL) {
        nics_free(nics);
        return NULL;
    }
    for (uint32_t i = 0; i < nics->place_count; i++)
        nics->host_of[i] = layout->host_of[i];
    return nics;
}

static void free_all(struct parcel *parcel)
{
    while (parcel != NULL) {
        struct parcel *next = parcel->next;
        parcel_free(parcel);
        parcel = next;
    }
}

void nics_free(struct nics *nics)
{
    if (nics == NULL)
        return;
    for (size_t i = 0; i < nics->stream_count; i++)
        free_all(nics->streams[i].first);
    network_free(nics->network);
    free(nics->host_of);
    free(nics->uses);
    free(nics->streams);
    free(nics->open);
    free(nics);
}

/* --- streams ---------------------------------------------------------------------------------- */

static size_t way_of(uint32_t wire, bool up)
{
    return 2 * (size_t)wire + up;
}

/* The place of a way's stream number: 0 without one. */
static uint32_t *open_of(struct nics *nics, size_t way)
{
    if (way >= nics->open_count) {
        size_t count = nics->open_count == 0 ? 64 : nics->open_count;
        while (count <= way)
            count *= 2;
        uint32_t *open = realloc(nics->open, count * sizeof *open);
        if (open == NULL)
            out_of_memory();
        for (size_t i = nics->open_count; i < count; i++)
            open[i] = 0;
        nics->open = open;
        nics->open_count = count;
    }
    return &nics->open[way];
}

static uint32_t host_of(const struct nics *nics, uint32_t place)
{
    assert(place < nics->place_count);
    return nics->host_of[place];
}

static uint32_t open_stream(struct nics *nics, const struct simulated_network *network,
                            const struct parcel *parcel)
{
    const struct network_wire *wire = &network->wires[parcel->wire];
    uint32_t client = host_of(nics, network->clients[wire->client].host), number;
    uint32_t server = host_of(nics, wire->server);
    uint32_t from = parcel->up ? client : server, to = parcel->up ? server : client;
    if (network_connect(nics->network, from, to, 0, &number) != STATUS_OK)
        out_of_memory();
    if (number == nics->stream_count) {
        struct stream *streams =
            array_room(nics->streams, nics->stream_count, &nics->stream_capacity, sizeof *streams);
        if (streams == NULL)
            out_of_memory();
        nics->streams = streams;
        nics->stream_count++;
    }
    nics->streams[number] = (struct stream){.local = from == to, .from = from, .to = to};
    return number;
}

static uint32_t stream_of(struct nics *nics, const struct simulated_network *network,
                          const struct parcel *parcel)
{
    uint32_t *open = open_of(nics, way_of(parcel->wire, parcel->up));
    if (*open == 0)
        *open = 1 + open_stream(nics, network, parcel);
    return *open - 1;
}

/* --- carrying --------------------------------------------------------------------------------- */

/* A frame in ZeroMQ's protocol (ZMTP 3.0, 2.3): flags, a size of one or of eight bytes, and the
 * content. */
static uint64_t frame_bytes(uint64_t bytes)
{
    return bytes + (bytes > 255 ? 9 : 2);
}

/* The size of a message on the wire, as a TCP stream is cut into segments, the last of a message its
 * own. local: between processes of one host, without segments. */
static uint64_t wire_bytes(const struct cluster_segment *segment, uint64_t header_bytes,
                           uint64_t payload_bytes, bool local)
{
    uint64_t bytes = frame_bytes(header_bytes);
    if (payload_bytes > 0)
        bytes += frame_bytes(payload_bytes);
    return local ? bytes : in_segments(segment, bytes);
}

static void put_behind(struct nics *nics, uint32_t number, uint64_t now_ns, struct parcel *parcel)
{
    struct stream *stream = &nics->streams[number];
    uint64_t payload = parcel->payload != NULL ? parcel->payload->bytes : 0;
    parcel->next = NULL;
    *(stream->first == NULL ? &stream->first : &stream->last->next) = parcel;
    stream->last = parcel;
    uint64_t bytes = wire_bytes(&nics->segment, parcel->carried_bytes, payload, stream->local);
    if (network_send(nics->network, number, bytes, now_ns, parcel) != STATUS_OK)
        out_of_memory();
}

/* Removes all but the first `keep` parcels of a stream, and returns them in order. */
static struct parcel *withdraw(struct nics *nics, uint32_t number, uint64_t keep, uint64_t now_ns)
{
    struct stream *stream = &nics->streams[number];
    struct parcel *before = NULL, *rest = stream->first;
    network_disconnect(nics->network, number, keep, now_ns);
    for (; keep > 0 && rest != NULL; keep--) {
        before = rest;
        rest = rest->next;
    }
    stream->last = before;
    *(before == NULL ? &stream->first : &before->next) = NULL;
    const struct parcel *expected = rest;
    for (struct delivery lost; network_take(nics->network, &lost); expected = expected->next)
        assert(lost.lost && lost.item == expected);
    assert(expected == NULL);
    return rest;
}

/* A delayed parcel goes before all that are on their way, but after those delayed before it. Then
 * numbers are again in the order of the stream. */
static void put_before(struct nics *nics, uint32_t number, uint64_t now_ns, struct parcel *parcel)
{
    struct stream *stream = &nics->streams[number];
    if (stream->released_ns != now_ns)
        stream->released = 0;
    stream->released_ns = now_ns;
    struct parcel *rest = withdraw(nics, number, stream->released++, now_ns), *before = parcel;
    for (struct parcel *later = rest; later != NULL; later = later->next) {
        uint64_t sequence = before->sequence;
        before->sequence = later->sequence;
        later->sequence = sequence;
        before = later;
    }
    put_behind(nics, number, now_ns, parcel);
    for (struct parcel *next; rest != NULL; rest = next) {
        next = rest->next;
        nics->counts.resent++;
        put_behind(nics, number, now_ns, rest);
    }
}

/* Its connection is closed: the network says the same when it is delivered. */
static void give_back(struct nics *nics, struct simulated_network *network, uint64_t now_ns,
                      struct parcel *parcel)
{
    nics->counts.broken++;
    simulated_network_lands(network, parcel, now_ns);
}

static void carry(void *context, struct simulated_network *network, uint64_t now_ns,
                  struct parcel *parcel)
{
    struct nics *nics = context;
    nics->counts.carried++;
    if (parcel->connection != network->wires[parcel->wire].connection) {
        give_back(nics, network, now_ns, parcel);
        return;
    }
    uint32_t number = stream_of(nics, network, parcel);
    if (parcel->was_held)
        put_before(nics, number, now_ns, parcel);
    else
        put_behind(nics, number, now_ns, parcel);
}

/* --- arriving --------------------------------------------------------------------------------- */

static void note_delay(struct network_counts *counts, const struct delivery *delivery)
{
    uint64_t delay_us = (delivery->at_ns - delivery->sent_ns) / 1000;
    if (delay_us < counts->delay_min_us)
        counts->delay_min_us = delay_us;
    if (delay_us > counts->delay_max_us)
        counts->delay_max_us = delay_us;
}

static void note_use(struct nics *nics, const struct stream *stream, uint64_t bytes)
{
    if (stream->local) {
        nics->uses[stream->from].loopback_bytes += bytes;
        return;
    }
    nics->uses[stream->from].up_bytes += bytes;
    nics->uses[stream->to].down_bytes += bytes;
}

static void note_arrival(struct nics *nics, const struct delivery *delivery)
{
    note_use(nics, &nics->streams[delivery->connection], delivery->bytes);
    nics->counts.arrived++;
    nics->counts.bytes += delivery->bytes;
    nics->counts.waited += delivery->timers_ns > 0;
    nics->counts.timers_ns += delivery->timers_ns;
    if (nics->watcher.arrived != NULL)
        nics->watcher.arrived(nics->watcher.context, delivery->item, delivery);
}

static void arrive(struct nics *nics, struct simulated_network *network,
                   const struct delivery *delivery)
{
    struct stream *stream = &nics->streams[delivery->connection];
    struct parcel *parcel = stream->first;
    assert(!delivery->lost && parcel == delivery->item);
    stream->first = parcel->next;
    stream->released -= stream->released > 0;
    parcel->next = NULL;
    note_delay(&network->counts, delivery);
    note_arrival(nics, delivery);
    simulated_network_lands(network, parcel, delivery->at_ns);
}

static uint64_t next_ns(void *context)
{
    return network_next(((struct nics *)context)->network);
}

static void advance(void *context, struct simulated_network *network, uint64_t now_ns)
{
    struct nics *nics = context;
    network_advance(nics->network, now_ns);
    for (struct delivery delivery; network_take(nics->network, &delivery);)
        arrive(nics, network, &delivery);
}

/* --- breaking --------------------------------------------------------------------------------- */

/* Numbers rise in a stream: the surviving parcels are the first ones. */
static void break_way(struct nics *nics, struct simulated_network *network, uint64_t now_ns,
                      size_t way, uint64_t survives)
{
    uint32_t *open = open_of(nics, way);
    if (*open == 0)
        return;
    uint32_t number = *open - 1;
    uint64_t keep = 0;
    for (const struct parcel *parcel = nics->streams[number].first;
         parcel != NULL && parcel->sequence <= survives; parcel = parcel->next)
        keep++;
    struct parcel *parcel = withdraw(nics, number, keep, now_ns);
    for (struct parcel *next; parcel != NULL; parcel = next) {
        next = parcel->next;
        parcel->next = NULL;
        give_back(nics, network, now_ns, parcel);
    }
    network_close(nics->network, number);
    *open = 0;
}

static void breaks(void *context, struct simulated_network *network, uint64_t now_ns, uint32_t wire,
                   uint32_t gone)
{
    struct network_wire *it = &network->wires[wire];
    bool client_gone = gone == it->client, server_gone = !client_gone && gone != NETWORK_NO_PROCESS;
    if (!client_gone)
        it->up.survives = 0;
    if (!server_gone)
        it->down.survives = 0;
    break_way(context, network, now_ns, way_of(wire, true), it->up.survives);
    break_way(context, network, now_ns, way_of(wire, false), it->down.survives);
}

/* --- for others ------------------------------------------------------------------------------- */

struct channel nics_channel(struct nics *nics)
{
    return (struct channel){
        .context = nics, .carry = carry, .next_ns = next_ns, .advance = advance, .breaks = breaks};
}

void nics_watch(struct nics *nics, const struct nics_watcher *watcher)
{
    nics->watcher = *watcher;
}

const struct nics_counts *nics_counts(const struct nics *nics)
{
    return &nics->counts;
}

const struct nics_use *nics_use(const struct nics *nics, uint32_t host)
{
    return &nics->uses[host];
}

void nics_forget_use(struct nics *nics)
{
    memset(nics->uses, 0, nics->host_count * sizeof *nics->uses);
}

uint64_t nics_under_way(const struct nics *nics)
{
    uint64_t count = 0;
    for (size_t i = 0; i < nics->stream_count; i++)
        for (const struct parcel *it = nics->streams[i].first; it != NULL; it = it->next)
            count++;
    return count;
}

uint64_t nics_streams_most(const struct nics *nics)
{
    return nics->stream_count;
}
