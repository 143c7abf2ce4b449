/* traffic.c - an entry of the process log and a span for each message, and a table of peers. */

#include "common/transport/traffic.h"

#include "common/base/clock.h"

#define NEIGHBOURS 8u

static uint64_t payload_bytes(const struct packet *packet)
{
    return packet->payload != NULL ? packet->payload->bytes : 0;
}

/* A peer's place among those that speak, or else a free one; without such another peer's. */
static size_t place_of(const struct traffic *traffic, uint64_t peer)
{
    size_t first = (size_t)(peer * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SPEAKERS;
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        const struct speaker *speaker = &traffic->speakers[(first + i) % SPEAKERS];
        if (speaker->role == ROLE_NONE || speaker->peer == peer)
            return (first + i) % SPEAKERS;
    }
    return first;
}

enum status traffic_send(const struct traffic *traffic, const struct transport *transport,
                         struct endpoint *endpoint, const struct outgoing *item)
{
    uint8_t header[HEADER_BYTES_MAX];
    const struct packet *packet = &item->packet;
    const struct speaker *speaker = &traffic->speakers[place_of(traffic, packet->peer)];
    bool to_server = item->to == TO_SERVER;
    uint64_t sent_bytes = payload_bytes(packet);
    size_t bytes = message_encode(&packet->message, header);
    uint64_t said_ns = traffic->log != NULL ? clock_now_ns() : 0;
    struct span span = recorder_begins(traffic->recorder, LANE_FRONT, SPAN_SEND);
    enum status status = transport->operations->send(endpoint, to_server ? 0 : packet->peer, header,
                                                     bytes, packet->payload, packet->place);
    if (status != STATUS_OK)
        return status;
    process_log_said(traffic->log, said_ns, to_server, to_server ? item->index : packet->peer,
                     &packet->message, sent_bytes, packet->origin);
    span_about(&span, &packet->message);
    if (to_server) {
        span.other_role = ROLE_PS;
        span.other = item->index;
    } else if (speaker->peer == packet->peer && speaker->role != ROLE_NONE) {
        span.other_role = (uint8_t)speaker->role;
        span.other = speaker->index;
    }
    recorder_ends(traffic->recorder, &span);
    return STATUS_OK;
}

struct span traffic_taken(struct traffic *traffic, const struct packet *packet, bool from_server)
{
    const struct message *message = &packet->message;
    process_log_heard(traffic->log, from_server, from_server ? message->index : packet->peer,
                      message, payload_bytes(packet));
    struct span span = recorder_begins(traffic->recorder, LANE_FRONT, SPAN_TAKE);
    if (traffic->recorder == NULL)
        return span;
    span_about(&span, message);
    span.other_role = (uint8_t)message->role;
    span.other = message->index;
    if (!from_server)
        traffic->speakers[place_of(traffic, packet->peer)] =
            (struct speaker){packet->peer, message->index, message->role};
    recorder_heard(traffic->recorder, message, span.from_ns);
    return span;
}

struct span traffic_works(const struct traffic *traffic, const struct outgoing *item,
                          bool in_router)
{
    struct recorder *recorder = traffic->recorder;
    const struct message *message = &item->packet.message;
    if (item->to != TO_OWNER && !in_router)
        return recorder_begins(recorder, LANE_WRITER, SPAN_WRITE);
    if (item->to != TO_OWNER || message->kind != MESSAGE_EXCHANGE || item->packet.payload == NULL)
        return (struct span){.from_ns = 0};
    uint32_t lane = in_router ? LANE_FRONT : (uint32_t)LANE_OWNERS + item->index;
    struct span span = recorder_begins(recorder, (enum span_lane)lane, SPAN_APPLY);
    span_about(&span, message);
    span.what = 0;
    span.other_role = ROLE_WORKER;
    span.other = message->index;
    return span;
}
