#include "common/transport_zmq_limits.h"

#include <string.h>
#include <zmq.h>

#include "common/log.h"
#include "common/message.h"

/* A server may be sent a whole declaration at once, in 8192 pages. libzmq stops at half the mark
 * when the other side is slow to say how far it is, so twice that, and as much again. */
#define SEND_HWM (4 * (JOB_BYTES_MAX / JOB_PAGE_BYTES))

#define HEADERS_BYTES (10u << 20) /* Of one peer: a whole declaration, or a pull of all chunks. */
#define STRANGERS     (64u << 20) /* Of all that are not expected, together. */
#define CUTS_A_LINE   1000

static enum status set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0 ? STATUS_OK : STATUS_IO;
}

enum status limits_set(struct limits *limits, void *socket, bool listening, uint32_t frame_bytes)
{
    memset(limits, 0, sizeof *limits);
    limits->listening = listening;
    limits->frame_bytes = frame_bytes;
    enum status status = set_int(socket, ZMQ_RCVHWM, 0);
    return status == STATUS_OK ? set_int(socket, ZMQ_SNDHWM, listening ? (int)SEND_HWM : 0)
                               : status;
}

void limits_start(struct limits *limits, uint16_t port)
{
    inflow_init(&limits->inflow, port, HEADERS_BYTES, STRANGERS);
}

void limits_free(struct limits *limits)
{
    inflow_free(&limits->inflow);
}

void limits_expect(struct limits *limits, const struct traffic *traffic)
{
    uint64_t two = 2 * traffic->payload_bytes;
    uint64_t window = traffic->window_bytes > two ? traffic->window_bytes : two;
    limits->inflow.payload_max = traffic->payload_bytes;
    limits->inflow.each_max = window + HEADERS_BYTES;
    limits->inflow.all_max = traffic->peers * window + STRANGERS;
}

uint64_t limits_wire_bytes(const struct limits *limits, size_t bytes)
{
    uint64_t frame = bytes + limits->frame_bytes;
    return frame + (frame > 255 ? 9 : 2); /* ZMTP 3: flags, and a size of one or eight bytes. */
}

void limits_meet(struct limits *limits, uint64_t peer, void *part)
{
    if (!inflow_knows(&limits->inflow, peer))
        inflow_meet(&limits->inflow, peer, zmq_msg_get(part, ZMQ_SRCFD));
}

void limits_hear(struct limits *limits, uint64_t peer, uint64_t parts, uint64_t wire_bytes)
{
    inflow_hear(&limits->inflow, peer, parts, wire_bytes);
}

void limits_look(struct limits *limits, uint64_t now_us)
{
    if (!limits->listening || now_us - limits->looked_us < INFLOW_INTERVAL_US)
        return;
    limits->looked_us = now_us;
    uint64_t before = limits->inflow.cut;
    if (inflow_look(&limits->inflow) == 0)
        return;
    uint64_t now = limits->inflow.cut;
    if (before == 0 || before / CUTS_A_LINE != now / CUTS_A_LINE)
        log_warning("connections closed count=%llu: too many, or more sent than there is room for",
                    (unsigned long long)now);
}
