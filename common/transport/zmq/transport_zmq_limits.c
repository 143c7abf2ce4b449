/* transport_zmq_limits.c - joins inflow.h to one libzmq socket, and sets the high-water mark for
 * sending. */

#include "common/transport/zmq/transport_zmq_limits.h"

#include <string.h>
#include <zmq.h>

#include "common/process/log.h"
#include "common/wire/message.h"

/* A server may be sent a whole declaration at once, in 8192 pages. libzmq stops at half the mark
 * when the other side is slow to say how far it is, so twice that, and as much again. */
#define SEND_HWM (4 * (JOB_BYTES_MAX / JOB_PAGE_BYTES))

/* Bytes of one peer: before there is a job the largest declaration, in its pages; then whatever it
 * says beside what is expected. And of all those together that nobody expects. */
#define DECLARATION (10u << 20)
#define OTHERS      (1u << 20)
#define STRANGERS   (64u << 20)

/* What a handshake takes without keys, of a client that says no more than it must. */
#define PLAIN_HANDSHAKE 256

#define PAUSE_US 1000000u

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
    inflow_init(&limits->inflow, port, DECLARATION, STRANGERS);
    if (limits->frame_bytes == 0)
        limits->inflow.handshake_bytes = PLAIN_HANDSHAKE;
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
    limits->inflow.each_max = window + traffic->header_bytes + OTHERS;
    limits->inflow.all_max = traffic->peers * limits->inflow.each_max + STRANGERS;
    limits->inflow.expected = traffic->members;
    limits->inflow.gate.busy = true;
}

void limits_distrust(struct limits *limits)
{
    inflow_distrust(&limits->inflow);
}

void limits_trust(struct limits *limits, uint64_t peer, enum standing standing)
{
    if (standing == STANDING_MEMBER)
        inflow_trust(&limits->inflow, peer);
    else
        inflow_ask(&limits->inflow, peer);
}

bool limits_may_say(struct limits *limits, uint64_t peer, size_t header_bytes)
{
    return inflow_may_say(&limits->inflow, peer, limits_wire_bytes(limits, header_bytes));
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

static void say_if_more(struct limits *limits)
{
    const struct inflow *inflow = &limits->inflow;
    uint64_t now = inflow->held_back + inflow->ended;
    if (now == 0 || now < 2 * limits->said)
        return;
    limits->said = now;
    log_warning("connections held back count=%llu, closed count=%llu: more was sent than there is "
                "room for",
                (unsigned long long)inflow->held_back, (unsigned long long)inflow->ended);
}

void limits_look(struct limits *limits, uint64_t now_us, uint64_t connections)
{
    uint64_t elapsed_us = now_us - limits->looked_us;
    if (!limits->listening || elapsed_us < INFLOW_INTERVAL_US)
        return;
    if (limits->looked_us == 0 || elapsed_us > PAUSE_US)
        elapsed_us = PAUSE_US; /* The first time, or this process was stopped. */
    limits->looked_us = now_us;
    inflow_came(&limits->inflow, connections - limits->connections);
    limits->connections = connections;
    inflow_look(&limits->inflow, elapsed_us);
    say_if_more(limits);
}

void limits_greet(struct limits *limits, int fd)
{
    inflow_greet(&limits->inflow, fd);
}

void limits_drained(struct limits *limits)
{
    inflow_drained(&limits->inflow);
}
