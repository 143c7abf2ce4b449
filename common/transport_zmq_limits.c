#include "common/transport_zmq_limits.h"

#include <string.h>
#include <zmq.h>

#include "common/log.h"
#include "common/message.h"

/* Before the job is known only headers are of use: a declaration comes in 8192 of them, and a
 * server is sent as many. libzmq stops at half the mark when the other side is slow to say how far
 * it is, so marks are twice what is to go through. */
#define RECEIVE_HWM   1000
#define SEND_HWM      (2 * (JOB_BYTES_MAX / JOB_PAGE_BYTES) + 4000)
#define RECEIVE_LEAST 4

/* What an honest peer may have sent that is not heard, beside its window: the headers of a whole
 * declaration or pull. */
#define HEADERS_BYTES (32u << 20)
#define STRANGERS     (64u << 20) /* Of all that are not expected, together. */

#define STALE_US     100000
#define CUTS_A_LINE  1000
#define MESSAGES_MAX (1 << 24)

static enum status set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0 ? STATUS_OK : STATUS_IO;
}

static enum status apply(const struct limits *limits, void *socket)
{
    enum status status = set_int(socket, ZMQ_RCVHWM, limits->receive_hwm);
    return status == STATUS_OK ? set_int(socket, ZMQ_SNDHWM, limits->send_hwm) : status;
}

enum status limits_set(struct limits *limits, void *socket, bool listening)
{
    memset(limits, 0, sizeof *limits);
    limits->listening = listening;
    limits->receive_hwm = RECEIVE_HWM;
    limits->send_hwm = listening ? SEND_HWM : 0;
    return apply(limits, socket);
}

void limits_start(struct limits *limits, uint16_t port)
{
    inflow_init(&limits->inflow, port, HEADERS_BYTES, STRANGERS);
}

void limits_free(struct limits *limits)
{
    inflow_free(&limits->inflow);
}

void limits_expect(struct limits *limits, void *socket, const struct traffic *traffic)
{
    uint64_t payload = traffic->payload_bytes > 0 ? traffic->payload_bytes : 1;
    uint64_t least = 2 * payload; /* One payload is sent while the one before is worked on. */
    uint64_t window = traffic->window_bytes > least ? traffic->window_bytes : least;
    uint64_t receive = window / payload + RECEIVE_LEAST;
    uint64_t send = 2 * (uint64_t)traffic->messages;
    if (receive < (uint64_t)limits->receive_hwm)
        limits->receive_hwm = (int)receive;
    if (send > SEND_HWM)
        limits->send_hwm = send < MESSAGES_MAX ? (int)send : MESSAGES_MAX;
    limits->inflow.each_max = 2 * window + HEADERS_BYTES;
    limits->inflow.all_max = traffic->peers * window + STRANGERS;
    if (limits->inflow.all_max < limits->inflow.each_max)
        limits->inflow.all_max = limits->inflow.each_max;
    (void)apply(limits, socket); /* Or the old ones stay, which are bounds as well. */
}

void limits_heard(struct limits *limits, uint64_t peer, void *part)
{
    /* libzmq counts its peers up from anywhere, modulo 2^32. */
    if (limits->newest == 0 || (int32_t)((uint32_t)peer - (uint32_t)limits->newest) > 0) {
        limits->newest = peer;
        limits->stale = true;
    }
    if (!inflow_heard(&limits->inflow, peer))
        inflow_meet(&limits->inflow, peer, zmq_msg_get(part, ZMQ_SRCFD));
}

static void look_at_inflow(struct limits *limits)
{
    uint64_t before = limits->inflow.cut;
    if (inflow_look(&limits->inflow) == 0)
        return;
    uint64_t now = limits->inflow.cut;
    if (before == 0 || before / CUTS_A_LINE != now / CUTS_A_LINE)
        log_warning("connections closed count=%llu: too many, or much sent and nothing said",
                    (unsigned long long)now);
}

void limits_look(struct limits *limits, void *socket, uint64_t now_us)
{
    if (!limits->listening)
        return;
    if (limits->stale && now_us - limits->applied_us >= STALE_US) {
        limits->applied_us = now_us;
        limits->stale = false;
        (void)apply(limits, socket);
    }
    if (now_us - limits->looked_us >= INFLOW_INTERVAL_US) {
        limits->looked_us = now_us;
        look_at_inflow(limits);
    }
}
