/* span.h - what a process of a job did, or waited for, from when to when: the one form in which real and
 * virtual runs are traced.
 *
 *     worker   LANE_STEPS      its steps or batches, one behind the other
 *              LANE_TRAINER    computes a gradient, scores a share
 *              LANE_SESSION    exchanges (gradients out, values in), waits: for what, and for which worker
 *              LANE_FRONT      puts messages on the wire, and takes them off it
 *     server   LANE_FRONT      the router: messages, and gradients where it is the owner
 *              LANE_WRITER     the checkpointer
 *              LANE_OWNERS     owner threads, one each
 *
 * A lane is a thread, or what one thread does at a time: its spans follow each other or lie within each
 * other. Exchanging and waiting are what a worker's times are made of (common/trace/times.h), so that
 * their sums are those of run.json.
 *
 * Spans are written to files as they lie in memory (span_file.h): members have fixed sizes, and there is
 * nothing between them.
 *
 * Threads: plain values. Units: nanoseconds of CLOCK_MONOTONIC of the process's host, or of virtual time. */

#ifndef COMMON_TRACE_SPAN_H
#define COMMON_TRACE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/wait.h"
#include "common/wire/message.h"

enum span_kind {
    SPAN_STEP,     /* A worker's step or batch: from its first gradient to that of the next. */
    SPAN_COMPUTE,  /* A gradient: leaves first to first + count - 1 of the step. */
    SPAN_SCORE,    /* A share of a score. */
    SPAN_EXCHANGE, /* Gradients go out, values come in. */
    SPAN_WAIT,     /* what: enum wait; other: the worker it was for. */
    SPAN_SEND,     /* A message: what: enum message_kind; other: the other end; first: its chunk. */
    SPAN_TAKE,     /* The same, and what its receiver does with it in that thread. */
    SPAN_APPLY,    /* An owner has a gradient: of worker `other`, for chunk `first`. */
    SPAN_WRITE,    /* A part of a checkpoint, or what else goes to the disk. */
    SPAN_KIND_COUNT
};

enum span_lane { LANE_STEPS, LANE_TRAINER, LANE_SESSION, LANE_FRONT, LANE_WRITER, LANE_OWNERS };

#define SPAN_LANES_MAX 64         /* LANE_OWNERS and the owners of a server. */
#define SPAN_NO_PEER   UINT32_MAX /* And no chunk. */

struct span {
    uint64_t from_ns, to_ns;
    uint64_t step;         /* Or batch; of a RESULT the version. */
    uint64_t request;      /* A message's number; 0: it has none. */
    uint32_t index;        /* Whose it is. */
    uint32_t other;        /* SPAN_NO_PEER: none, or not known. */
    uint32_t first, count; /* See the kinds; SPAN_NO_PEER and 0. */
    uint8_t role;          /* enum role: whose it is, ... */
    uint8_t other_role;    /* ... and the other's; ROLE_NONE. */
    uint8_t lane;          /* enum span_lane, and owners behind it. */
    uint8_t kind;          /* enum span_kind. */
    uint8_t what;          /* See the kinds. SPAN_STEP: of these flags: */
    uint8_t nothing[3];    /* 0 */
};

/* Something was scored meanwhile; and, in a file of steps that were chosen, an enum step_reason
 * (deploy/trace/steps.h). */
#define SPAN_STEP_SCORED       1u
#define SPAN_STEP_REASON(what) ((unsigned)(what) >> 1)
#define SPAN_STEP_WHAT_MAX     16u

/* Of a process, with nothing but this said. */
struct span span_of(enum role role, uint32_t index, enum span_lane lane, enum span_kind kind);

/* What a message says of what it is about: kind, number, chunk, step. */
void span_about(struct span *span, const struct message *message);

/* Hears of spans as they end; take: NULL for none. */
struct span_listener {
    void *context;
    void (*take)(void *context, const struct span *span);
};

/* Whether a span may be what it says: of bytes that come from anywhere. */
bool span_is_valid(const struct span *span);

/* Whether it is of that process. */
static inline bool span_is_of(const struct span *span, enum role role, uint32_t index)
{
    return span->role == role && span->index == index;
}

/* "computes", "waits (barrier)": what people read. */
struct span_name {
    char text[48];
};
struct span_name span_name(const struct span *span);

/* "computes", "router", "owner 1": of a lane of a worker or server. */
struct span_name span_lane_name(enum role role, uint32_t lane);

#endif
