#include "deploy/simulated_network.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

enum status simulated_network_init(struct simulated_network *network,
                                   const struct network_faults *faults, uint64_t seed,
                                   uint32_t processes, struct event_queue *queue)
{
    memset(network, 0, sizeof *network);
    network->faults = faults;
    network->queue = queue;
    network->processes = processes;
    network->counts.delay_min_us = UINT64_MAX;
    random_sequence_init(&network->random, seed, RANDOM_STREAM_SIMULATOR, 1);
    network->busy_until_us = calloc((size_t)processes * processes, sizeof *network->busy_until_us);
    return network->busy_until_us == NULL ? STATUS_MEMORY : STATUS_OK;
}

void simulated_network_free(struct simulated_network *network)
{
    free(network->busy_until_us);
    memset(network, 0, sizeof *network);
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

static bool happens(struct simulated_network *network, double share)
{
    return share > 0 && random_unit_float(random_next(&network->random)) < (float)share;
}

static uint64_t up_to(struct simulated_network *network, uint64_t most)
{
    return random_below(&network->random, (uint32_t)most + 1);
}

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

static struct parcel *wrap(uint32_t from, const uint8_t *header, size_t header_bytes,
                           struct frame *payload)
{
    struct parcel *parcel = malloc(sizeof *parcel + header_bytes);
    if (parcel == NULL) {
        log_error("out of memory for a message");
        exit(EXIT_TRAINING_FAILED);
    }
    parcel->from = from;
    parcel->payload = payload;
    parcel->payload_check = payload != NULL ? simulated_checksum(payload->data, payload->bytes) : 0;
    parcel->header_bytes = header_bytes;
    memcpy(parcel->header, header, header_bytes);
    return parcel;
}

/* When a message sent now arrives. */
static uint64_t arrival(struct simulated_network *network, uint64_t now_us, uint32_t from,
                        uint32_t to)
{
    const struct network_faults *faults = network->faults;
    uint64_t *busy = &network->busy_until_us[from * network->processes + to];
    uint64_t delay =
        faults->delay_min_us + up_to(network, faults->delay_max_us - faults->delay_min_us);
    if (happens(network, faults->straggle))
        delay *= 10;
    if (happens(network, faults->overtake)) {
        network->counts.overtaking++;
    } else {
        if (now_us + delay < *busy)
            delay = *busy - now_us;
        *busy = now_us + delay;
    }
    if (delay < network->counts.delay_min_us)
        network->counts.delay_min_us = delay;
    if (delay > network->counts.delay_max_us)
        network->counts.delay_max_us = delay;
    return now_us + delay;
}

void simulated_network_send(struct simulated_network *network, uint64_t now_us, uint32_t from,
                            uint32_t to, const struct message *message, struct frame *payload)
{
    const struct network_faults *faults = network->faults;
    uint8_t header[HEADER_BYTES_MAX];
    size_t bytes = message_encode(message, header);
    network->counts.sent++;
    if (happens(network, faults->lose)) {
        network->counts.lost++;
        frame_release(payload);
        return;
    }
    struct event event = {.time_us = arrival(network, now_us, from, to),
                          .kind = EVENT_WIRE,
                          .process = to,
                          .parcel = wrap(from, header, bytes, payload)};
    event_queue_add(network->queue, &event);
    if (!happens(network, faults->repeat))
        return;
    network->counts.repeated++;
    event.time_us += up_to(network, faults->repeat_late_us);
    event.parcel = wrap(from, header, bytes, payload != NULL ? copy_frame(payload) : NULL);
    event_queue_add(network->queue, &event);
}

enum status simulated_network_open(struct simulated_network *network, struct parcel *parcel,
                                   struct packet *packet, struct error *error)
{
    struct frame *payload = parcel->payload;
    memset(packet, 0, sizeof *packet);
    network->counts.delivered++;
    enum status status =
        message_decode(parcel->header, parcel->header_bytes, &packet->message, error);
    if (status != STATUS_OK)
        return status;
    if (payload == NULL)
        return STATUS_OK;
    if (!message_may_have_payload(packet->message.kind))
        return error_set(error, STATUS_INVALID, "%s with a payload",
                         message_kind_name(packet->message.kind));
    if (simulated_checksum(payload->data, payload->bytes) != parcel->payload_check)
        return error_set(error, STATUS_INVALID, "the payload of %s was written in flight",
                         message_kind_name(packet->message.kind));
    packet->payload = network->faults->share_frames ? frame_retain(payload) : copy_frame(payload);
    return STATUS_OK;
}
