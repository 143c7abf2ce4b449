/* server_spans.c - a span for each activity, and a table of the peers that speak. */

#include "ps/server_spans.h"

#define NEIGHBOURS 8u

/* A peer's place among those that speak, or else a free one; without such another peer's. */
static size_t place_of(const struct server_spans *spans, uint64_t peer)
{
    size_t first = (size_t)(peer * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SPEAKERS;
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        const struct speaker *speaker = &spans->speakers[(first + i) % SPEAKERS];
        if (speaker->role == ROLE_NONE || speaker->peer == peer)
            return (first + i) % SPEAKERS;
    }
    return first;
}

static void put(const struct server_spans *spans, struct span *span)
{
    span->to_ns = recorder_now(spans->recorder);
    recorder_span(spans->recorder, span);
}

struct span server_spans_heard(struct server_spans *spans, const struct packet *packet, bool up)
{
    struct span span = span_of(ROLE_PS, spans->server, LANE_FRONT, SPAN_TAKE);
    const struct message *message = &packet->message;
    if (spans->recorder == NULL)
        return span;
    span.from_ns = recorder_now(spans->recorder);
    span_about(&span, message);
    span.other_role = (uint8_t)message->role;
    span.other = message->index;
    if (!up)
        spans->speakers[place_of(spans, packet->peer)] =
            (struct speaker){packet->peer, message->index, message->role};
    recorder_heard(spans->recorder, message, span.from_ns);
    return span;
}

void server_spans_said(const struct server_spans *spans, const struct outgoing *item,
                       uint64_t from_ns)
{
    if (spans->recorder == NULL)
        return;
    struct span span = span_of(ROLE_PS, spans->server, LANE_FRONT, SPAN_SEND);
    const struct packet *packet = &item->packet;
    const struct speaker *speaker = &spans->speakers[place_of(spans, packet->peer)];
    span.from_ns = from_ns;
    span_about(&span, &packet->message);
    if (item->to == TO_SERVER) {
        span.other_role = ROLE_PS;
        span.other = 0;
    } else if (speaker->peer == packet->peer && speaker->role != ROLE_NONE) {
        span.other_role = (uint8_t)speaker->role;
        span.other = speaker->index;
    }
    put(spans, &span);
}

struct span server_spans_begin(const struct server_spans *spans, const struct outgoing *item,
                               bool in_router)
{
    const struct packet *packet = &item->packet;
    bool gradient = packet->message.kind == MESSAGE_EXCHANGE && packet->payload != NULL;
    bool owner = item->to == TO_OWNER;
    uint32_t lane = !owner      ? LANE_WRITER
                    : in_router ? LANE_FRONT
                                : (uint32_t)LANE_OWNERS + item->index;
    struct span span =
        span_of(ROLE_PS, spans->server, (enum span_lane)lane, owner ? SPAN_APPLY : SPAN_WRITE);
    if (spans->recorder == NULL || (owner && !gradient))
        return span;
    if (owner) {
        span_about(&span, &packet->message);
        span.what = 0;
        span.other_role = ROLE_WORKER;
        span.other = packet->message.index;
    }
    span.from_ns = recorder_now(spans->recorder);
    return span;
}

void server_spans_worked(const struct server_spans *spans, struct span *span)
{
    if (spans->recorder != NULL && span->from_ns > 0)
        put(spans, span);
}
