/* span.c - names, and what a message is about. */

#include "common/trace/span.h"

#include <stdio.h>
#include <string.h>

struct span span_of(enum role role, uint32_t index, enum span_lane lane, enum span_kind kind)
{
    return (struct span){.role = (uint8_t)role,
                         .index = index,
                         .other = SPAN_NO_PEER,
                         .first = SPAN_NO_PEER,
                         .lane = (uint8_t)lane,
                         .kind = (uint8_t)kind};
}

void span_about(struct span *span, const struct message *message)
{
    span->what = (uint8_t)message->kind;
    span->request = message->request;
    if (message->kind == MESSAGE_EXCHANGE) {
        span->first = message->exchange.chunk;
        span->step = message->exchange.step;
    } else if (message->kind == MESSAGE_RESULT) {
        span->first = message->result.chunk;
        span->step = message->result.version;
    } else if (message->kind == MESSAGE_RECEIPT) {
        span->first = message->receipt.chunk;
        span->step = message->receipt.step;
    } else if (message->kind == MESSAGE_WORK) {
        span->step = message->work.batch;
    } else if (message->kind == MESSAGE_LEASE) {
        span->step = message->lease.batch;
    }
}

bool span_is_valid(const struct span *span)
{
    bool roles = (span->role == ROLE_PS || span->role == ROLE_WORKER) &&
                 span->other_role < ROLE_COUNT && span->lane < SPAN_LANES_MAX;
    if (!roles || span->kind >= SPAN_KIND_COUNT || span->from_ns > span->to_ns)
        return false;
    bool message = span->kind == SPAN_SEND || span->kind == SPAN_TAKE;
    unsigned most = span->kind == SPAN_WAIT   ? WAIT_COUNT
                    : span->kind == SPAN_STEP ? SPAN_STEP_WHAT_MAX
                    : message                 ? MESSAGE_KIND_COUNT
                                              : 1;
    return span->what < most && span->to_ns < UINT64_MAX / 2;
}

struct span_name span_name(const struct span *span)
{
    static const char *const names[SPAN_KIND_COUNT] = {
        [SPAN_STEP] = "step",          [SPAN_COMPUTE] = "computes", [SPAN_SCORE] = "scores",
        [SPAN_EXCHANGE] = "exchanges", [SPAN_WAIT] = "waits",       [SPAN_SEND] = "sends",
        [SPAN_TAKE] = "takes",         [SPAN_APPLY] = "applies",    [SPAN_WRITE] = "writes"};
    struct span_name name;
    bool message = span->kind == SPAN_SEND || span->kind == SPAN_TAKE;
    const char *what = span->kind == SPAN_WAIT ? wait_name((enum wait)span->what)
                       : message               ? message_kind_name((enum message_kind)span->what)
                                               : NULL;
    snprintf(name.text, sizeof name.text, "%s%s%s%s", names[span->kind],
             what == NULL ? ""
             : message    ? " "
                          : " (",
             what != NULL ? what : "", what != NULL && !message ? ")" : "");
    return name;
}

struct span_name span_lane_name(enum role role, uint32_t lane)
{
    struct span_name name;
    if (lane >= LANE_OWNERS)
        snprintf(name.text, sizeof name.text, "owner %u", lane - LANE_OWNERS);
    else
        snprintf(name.text, sizeof name.text, "%s",
                 lane == LANE_STEPS     ? "steps"
                 : lane == LANE_TRAINER ? "computes"
                 : lane == LANE_SESSION ? "exchanges and waits"
                 : lane == LANE_WRITER  ? "checkpointer"
                 : role == ROLE_PS      ? "router"
                                        : "messages");
    return name;
}
