/* simulated_network.c - the channel decides when a parcel arrives; breaking, holding up and healing
 * a wire decide about parcels on their way. */

#include "deploy/engine/simulated_network.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"

void network_counts_add(struct network_counts *to, const struct network_counts *from)
{
    to->sent += from->sent;
    to->delivered += from->delivered;
    to->repeated += from->repeated;
    to->lost += from->lost;
    to->overtaking += from->overtaking;
    to->broken += from->broken;
    to->unsent += from->unsent;
    to->partitioned += from->partitioned;
    to->held += from->held;
    to->connections += from->connections;
    to->cuts += from->cuts;
}

/* --- creation --------------------------------------------------------------------------------- */

enum status simulated_network_init(struct simulated_network *network, const struct channel *channel,
                                   bool share_frames, bool unchecked, uint64_t seed,
                                   uint32_t servers, struct event_queue *queue)
{
    assert(channel->carry != NULL && (channel->next_ns == NULL) == (channel->advance == NULL));
    memset(network, 0, sizeof *network);
    network->channel = *channel;
    network->share_frames = share_frames;
    network->unchecked = unchecked;
    network->queue = queue;
    network->servers = servers;
    network->counts.delay_min_us = UINT64_MAX;
    random_sequence_init(&network->random, seed, RANDOM_STREAM_SIMULATOR, 1);
    network->bound = malloc(servers * sizeof *network->bound);
    if (network->bound == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < servers; i++)
        network->bound[i] = NETWORK_NO_PROCESS;
    return STATUS_OK;
}

static uint64_t drop_held(struct network_way *way)
{
    uint64_t sent = 0;
    while (way->held != NULL) {
        struct parcel *parcel = way->held;
        way->held = parcel->next;
        sent += parcel->connection != 0;
        parcel_free(parcel);
    }
    way->held_last = NULL;
    return sent;
}

static void forget_partition(struct simulated_network *network, uint32_t partition)
{
    network->partition_count -= network->partitions[partition].in_use;
    host_set_free(&network->partitions[partition].from);
    host_set_free(&network->partitions[partition].to);
    network->partitions[partition].in_use = false;
}

void simulated_network_free(struct simulated_network *network)
{
    for (uint32_t i = 0; i < network->client_count * network->servers; i++) {
        drop_held(&network->wires[i].up);
        drop_held(&network->wires[i].down);
    }
    for (uint32_t i = 0; i < network->partition_places; i++)
        forget_partition(network, i);
    free(network->partitions);
    free(network->bound);
    free(network->clients);
    free(network->wires);
    free(network->connections);
    memset(network, 0, sizeof *network);
}

static void *grown(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (memory == NULL) {
        log_error("out of memory for a network");
        exit(EXIT_TRAINING_FAILED);
    }
    return memory;
}

void simulated_network_add(struct simulated_network *network, uint32_t host, bool keeps)
{
    uint32_t process = network->client_count++;
    network->clients = grown(network->clients, network->client_count * sizeof *network->clients);
    network->clients[process] = (struct network_client){.host = host, .keeps = keeps};
    network->wires = grown(network->wires, (size_t)network->client_count * network->servers *
                                               sizeof *network->wires);
    for (uint32_t i = 0; i < network->servers; i++)
        network->wires[process * network->servers + i] =
            (struct network_wire){.client = process, .server = i};
}

void simulated_network_bind(struct simulated_network *network, uint32_t server, uint32_t process)
{
    network->bound[server] = process;
}

uint64_t simulated_checksum(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint64_t sum = 0x9e3779b97f4a7c15u ^ bytes;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        sum = (sum ^ word) * 0xff51afd7ed558ccdu;
        sum ^= sum >> 32;
    }
    for (; bytes > 0; at++, bytes--)
        sum = (sum ^ *at) * 0xff51afd7ed558ccdu;
    return sum ^ sum >> 29;
}

static uint64_t up_to(struct simulated_network *network, uint64_t most)
{
    return random_below(&network->random, (uint32_t)most + 1);
}

/* --- connections ----------------------------------------------------------------------------- */

static uint32_t process_of(const struct simulated_network *network, uint32_t connection)
{
    return connection == 0 ? NETWORK_NO_PROCESS : network->connections[connection - 1].process;
}

static bool is_blocked(const struct simulated_network *network, uint32_t from, uint32_t to,
                       bool *hold)
{
    for (uint32_t i = 0; network->partition_count > 0 && i < network->partition_places; i++) {
        const struct network_partition *partition = &network->partitions[i];
        *hold = partition->hold;
        if (partition->in_use && host_set_has(&partition->from, from) &&
            host_set_has(&partition->to, to))
            return true;
    }
    return false;
}

/* The connection of a wire ends. Of the parcels on either way those up to `survives` still arrive;
 * the others are lost at their time, or earlier. */
static void disconnect(struct simulated_network *network, struct network_wire *wire,
                       bool up_survives, bool down_survives, uint64_t now_ns, uint32_t gone,
                       uint64_t back_at_ns)
{
    const struct channel *channel = &network->channel;
    if (wire->connection == 0)
        return;
    struct network_way *up = &wire->up, *down = &wire->down;
    uint64_t up_left = up->sent - up->arrived, down_left = down->sent - down->arrived;
    up->survives = up_survives ? up->sent : up->sent - up_to(network, up_left);
    down->survives = down_survives ? down->sent : down->sent - up_to(network, down_left);
    wire->broken = wire->connection;
    wire->connection = 0;
    wire->down_until_ns = back_at_ns;
    network->counts.cuts++;
    if (channel->breaks != NULL)
        channel->breaks(channel->context, network, now_ns, (uint32_t)(wire - network->wires), gone);
}

static void set_off(struct simulated_network *network, uint64_t now_ns, struct parcel *parcel);

static void release_held(struct simulated_network *network, uint64_t now_ns,
                         struct network_way *way)
{
    struct parcel *parcel = way->held;
    way->held = way->held_last = NULL;
    if (parcel == NULL)
        return;
    /* As if the wire had been empty: the rest comes later, see keep_behind. */
    uint64_t busy_until_ns = way->busy_until_ns;
    way->busy_until_ns = now_ns;
    while (parcel != NULL) {
        struct parcel *next = parcel->next;
        parcel->next = NULL;
        parcel->was_held = true;
        set_off(network, now_ns, parcel);
        parcel = next;
    }
    way->behind_ns = way->busy_until_ns;
    if (way->busy_until_ns < busy_until_ns)
        way->busy_until_ns = busy_until_ns;
}

static void connect_wire(struct simulated_network *network, uint64_t now_ns,
                         struct network_wire *wire)
{
    bool hold;
    uint32_t process = network->bound[wire->server], host = network->clients[wire->client].host;
    if (wire->connection != 0 || process == NETWORK_NO_PROCESS || now_ns < wire->down_until_ns ||
        is_blocked(network, host, wire->server, &hold) ||
        is_blocked(network, wire->server, host, &hold))
        return;
    if (network->connection_count == network->connection_capacity) {
        network->connection_capacity = 2 * network->connection_capacity + 32;
        network->connections = grown(network->connections,
                                     network->connection_capacity * sizeof *network->connections);
    }
    network->connections[network->connection_count++] =
        (struct network_end){(uint32_t)(wire - network->wires), process};
    network->counts.connections++;
    wire->connection = network->connection_count;
    for (struct parcel *parcel = wire->up.held; parcel != NULL; parcel = parcel->next)
        if (parcel->connection == 0) { /* Kept by the client; others were lost on the way. */
            parcel->connection = wire->connection;
            network->counts.sent++;
        }
    release_held(network, now_ns, &wire->up);
}

void simulated_network_connect(struct simulated_network *network, uint64_t now_ns, uint32_t process)
{
    for (uint32_t i = 0; i < network->servers; i++)
        if (network->wires[process * network->servers + i].up.held != NULL)
            connect_wire(network, now_ns, &network->wires[process * network->servers + i]);
}

void simulated_network_end(struct simulated_network *network, uint32_t process, bool killed,
                           uint64_t now_ns, uint64_t back_ns)
{
    for (uint32_t i = 0; i < network->servers; i++) {
        struct network_wire *wire = &network->wires[process * network->servers + i];
        disconnect(network, wire, !killed, false, now_ns, process, UINT64_MAX);
        network->counts.broken += drop_held(&wire->up);
    }
    for (uint32_t i = 0; i < network->client_count * network->servers; i++) {
        struct network_wire *wire = &network->wires[i];
        if (process_of(network, wire->connection) == process)
            disconnect(network, wire, false, !killed, now_ns, process, now_ns + back_ns);
    }
    for (uint32_t i = 0; i < network->servers; i++)
        if (network->bound[i] == process)
            network->bound[i] = NETWORK_NO_PROCESS;
}

void simulated_network_cut(struct simulated_network *network, uint64_t now_ns,
                           const struct host_set *hosts, const struct host_set *others,
                           uint64_t back_ns, uint64_t stale_ns)
{
    for (uint32_t i = 0; i < network->client_count * network->servers; i++) {
        struct network_wire *wire = &network->wires[i];
        uint32_t client = network->clients[wire->client].host, server = wire->server;
        if ((host_set_has(hosts, client) && host_set_has(others, server)) ||
            (host_set_has(others, client) && host_set_has(hosts, server))) {
            wire->stale = wire->connection != 0 ? wire->connection : wire->stale;
            wire->stale_until_ns = now_ns + stale_ns;
            disconnect(network, wire, false, false, now_ns, NETWORK_NO_PROCESS, now_ns + back_ns);
        }
    }
}

/* --- partitions ------------------------------------------------------------------------------ */

uint32_t simulated_network_part(struct simulated_network *network, const struct host_set *from,
                                const struct host_set *to, bool hold)
{
    uint32_t place = 0;
    while (place < network->partition_places && network->partitions[place].in_use)
        place++;
    if (place == network->partition_places)
        network->partitions =
            grown(network->partitions, ++network->partition_places * sizeof *network->partitions);
    network->partitions[place] =
        (struct network_partition){true, host_set_copy(from), host_set_copy(to), hold};
    network->partition_count++;
    return place;
}

/* Held parcels continue; one that is still blocked is held up again when it arrives. */
void simulated_network_heal(struct simulated_network *network, uint64_t now_ns, uint32_t partition)
{
    if (partition == NETWORK_NO_PROCESS)
        return;
    forget_partition(network, partition);
    for (uint32_t i = 0; i < network->client_count * network->servers; i++) {
        struct network_wire *wire = &network->wires[i];
        if (wire->connection != 0)
            release_held(network, now_ns, &wire->up);
        release_held(network, now_ns, &wire->down);
    }
}

/* --- sending --------------------------------------------------------------------------------- */

static struct frame *copy_frame(const struct frame *frame)
{
    struct frame *copy = frame_create(frame->bytes);
    if (copy == NULL) {
        log_error("out of memory for a frame");
        exit(EXIT_TRAINING_FAILED);
    }
    memcpy(copy->data, frame->data, frame->bytes);
    return copy;
}

/* A text that may name a folder of this machine takes no time to carry. Otherwise a longer folder
 * name would change the times, and with them the bits of async. */
static size_t carried_bytes(const struct message *message, size_t bytes)
{
    uint8_t header[HEADER_BYTES_MAX];
    struct message bare = *message;
    if (message->kind == MESSAGE_WELCOME)
        bare.welcome.out[0] = '\0';
    else if (message->kind == MESSAGE_PART_WRITTEN)
        bare.part_written.text[0] = '\0';
    else if (message->kind == MESSAGE_STOP || message->kind == MESSAGE_FINISHED)
        bare.stop.reason[0] = '\0';
    else
        return bytes;
    return message_encode(&bare, header);
}

static struct parcel *wrap(const struct simulated_network *network, const struct message *message,
                           struct frame *payload)
{
    uint8_t header[HEADER_BYTES_MAX];
    size_t bytes = message_encode(message, header);
    struct parcel *parcel = malloc(sizeof *parcel + bytes);
    if (parcel == NULL) {
        log_error("out of memory for a message");
        exit(EXIT_TRAINING_FAILED);
    }
    *parcel = (struct parcel){.payload = payload,
                              .carried_bytes = carried_bytes(message, bytes),
                              .message = *message,
                              .header_bytes = bytes};
    if (payload != NULL && !network->unchecked)
        parcel->payload_check = simulated_checksum(payload->data, payload->bytes);
    memcpy(parcel->header, header, bytes);
    return parcel;
}

struct network_way *simulated_network_way(struct simulated_network *network,
                                          const struct parcel *parcel)
{
    struct network_wire *wire = &network->wires[parcel->wire];
    return parcel->up ? &wire->up : &wire->down;
}

static void set_off(struct simulated_network *network, uint64_t now_ns, struct parcel *parcel)
{
    parcel->sequence = ++simulated_network_way(network, parcel)->sent;
    network->channel.carry(network->channel.context, network, now_ns, parcel);
}

void simulated_network_lands(struct simulated_network *network, struct parcel *parcel,
                             uint64_t at_ns)
{
    struct due event = {
        .time_ns = at_ns, .kind = DUE_WIRE, .process = NETWORK_NO_PROCESS, .parcel = parcel};
    event_queue_add(network->queue, &event);
}

void simulated_network_loses(struct simulated_network *network, struct parcel *parcel)
{
    struct network_way *way = simulated_network_way(network, parcel);
    assert(parcel->sequence == way->sent); /* The last of its way: it was never sent. */
    way->sent--;
    network->counts.lost++;
    parcel_free(parcel);
}

struct parcel *simulated_network_repeat(struct simulated_network *network,
                                        const struct parcel *parcel)
{
    struct parcel *copy = malloc(sizeof *copy + parcel->header_bytes);
    if (copy == NULL) {
        log_error("out of memory for a message");
        exit(EXIT_TRAINING_FAILED);
    }
    memcpy(copy, parcel, sizeof *copy + parcel->header_bytes);
    if (copy->payload != NULL)
        copy->payload = copy_frame(parcel->payload);
    copy->again = true;
    network->counts.repeated++;
    return copy;
}

static void hold(struct simulated_network *network, struct network_way *way, struct parcel *parcel)
{
    network->counts.held++;
    parcel->next = NULL;
    if (way->held == NULL)
        way->held = parcel;
    else
        way->held_last->next = parcel;
    way->held_last = parcel;
}

static bool is_kept(const struct network_client *client, enum message_kind kind)
{
    return client->keeps && kind != MESSAGE_JOIN && kind != MESSAGE_PING;
}

void simulated_network_send_up(struct simulated_network *network, uint64_t now_ns, uint32_t process,
                               uint32_t server, const struct message *message,
                               struct frame *payload)
{
    uint32_t index = process * network->servers + server;
    struct network_wire *wire = &network->wires[index];
    connect_wire(network, now_ns, wire);
    struct parcel *parcel = wrap(network, message, payload);
    parcel->from = process;
    parcel->wire = index;
    parcel->connection = wire->connection;
    parcel->up = true;
    if (wire->connection != 0) {
        network->counts.sent++;
        set_off(network, now_ns, parcel);
    } else if (is_kept(&network->clients[process], message->kind)) {
        hold(network, &wire->up, parcel);
    } else {
        network->counts.unsent++;
        parcel_free(parcel);
    }
}

void simulated_network_send_down(struct simulated_network *network, uint64_t now_ns,
                                 uint32_t process, uint64_t peer, const struct message *message,
                                 struct frame *payload)
{
    assert(peer > 0 && peer <= network->connection_count);
    const struct network_end *end = &network->connections[peer - 1];
    const struct network_wire *wire = &network->wires[end->wire];
    if (end->process != process || wire->connection != peer) {
        bool stale =
            end->process == process && wire->stale == peer && now_ns < wire->stale_until_ns;
        network->counts.sent += stale;
        *(stale ? &network->counts.partitioned : &network->counts.unsent) += 1;
        frame_release(payload);
        return;
    }
    struct parcel *parcel = wrap(network, message, payload);
    parcel->from = process;
    parcel->wire = end->wire;
    parcel->connection = (uint32_t)peer;
    network->counts.sent++;
    set_off(network, now_ns, parcel);
}

uint32_t simulated_network_client(const struct simulated_network *network, uint64_t peer)
{
    if (peer == 0 || peer > network->connection_count)
        return NETWORK_NO_PROCESS;
    return network->wires[network->connections[peer - 1].wire].client;
}

/* --- arriving -------------------------------------------------------------------------------- */

static bool has_broken(const struct network_wire *wire, const struct parcel *parcel)
{
    const struct network_way *way = parcel->up ? &wire->up : &wire->down;
    if (parcel->connection == wire->connection)
        return false;
    return parcel->again || parcel->connection != wire->broken || parcel->sequence > way->survives;
}

/* Messages behind a held one do not arrive before it. */
static bool keep_behind(struct simulated_network *network, struct due *event)
{
    const struct network_way *way = simulated_network_way(network, event->parcel);
    if (event->parcel->was_held || event->time_ns >= way->behind_ns)
        return false;
    event->time_ns = way->behind_ns;
    event_queue_add(network->queue, event);
    event->parcel = NULL;
    return true;
}

uint32_t simulated_network_arrive(struct simulated_network *network, struct due *event,
                                  uint64_t *peer)
{
    bool late;
    if (keep_behind(network, event))
        return NETWORK_NO_PROCESS;
    struct parcel *parcel = event->parcel;
    struct network_wire *wire = &network->wires[parcel->wire];
    struct network_way *way = simulated_network_way(network, parcel);
    uint32_t client = network->clients[wire->client].host, server = wire->server;
    if (!parcel->again && parcel->sequence > way->arrived)
        way->arrived = parcel->sequence;
    if (has_broken(wire, parcel)) {
        network->counts.broken++;
    } else if (is_blocked(network, parcel->up ? client : server, parcel->up ? server : client,
                          &late)) {
        if (late) {
            hold(network, way, parcel);
            event->parcel = NULL;
            return NETWORK_NO_PROCESS;
        }
        network->counts.partitioned++;
    } else {
        *peer = parcel->connection;
        return parcel->up ? process_of(network, parcel->connection) : wire->client;
    }
    parcel_free(parcel);
    event->parcel = NULL;
    return NETWORK_NO_PROCESS;
}

enum status simulated_network_open(struct simulated_network *network, struct parcel *parcel,
                                   struct packet *packet, struct error *error)
{
    struct frame *payload = parcel->payload;
    memset(packet, 0, sizeof *packet);
    network->counts.delivered++;
    packet->message = parcel->message;
    enum status status = STATUS_OK;
    if (network->decodes)
        status = message_decode(parcel->header, parcel->header_bytes, &packet->message, error);
    if (payload == NULL || status != STATUS_OK)
        return status;
    if (!message_may_have_payload(packet->message.kind))
        return error_set(error, STATUS_INVALID, "%s with a payload",
                         message_kind_name(packet->message.kind));
    if (!network->unchecked &&
        simulated_checksum(payload->data, payload->bytes) != parcel->payload_check)
        return error_set(error, STATUS_INVALID, "the payload of %s was written in flight",
                         message_kind_name(packet->message.kind));
    packet->payload = network->share_frames ? frame_retain(payload) : copy_frame(payload);
    return STATUS_OK;
}
