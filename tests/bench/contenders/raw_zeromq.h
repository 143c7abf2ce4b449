/* raw_zeromq.h - what ZeroMQ's DEALER and ROUTER can do on TCP loopback with no protocol: messages
 * go both ways at once, sent without a copy, each answered with one as large.
 *
 * With setting.works they do the work of an exchange as well: the receiver applies SGD with our
 * kernel, in place, and what it answers are the values; they are placed into the other side's
 * parameters. Memory is managed as in our processes (process_keep_memory).
 *
 * The only file of the benchmarks that includes zmq.h. */

#ifndef TESTS_BENCH_CONTENDERS_RAW_ZEROMQ_H
#define TESTS_BENCH_CONTENDERS_RAW_ZEROMQ_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/contenders/contender.h"

struct raw_zeromq_setting {
    uint64_t bytes;         /* Each way. */
    uint64_t message_bytes; /* In one message; the last may be smaller. */
    bool works;
};

/* Both do as setting.works says; their names differ. */
extern const struct contender_kind raw_zeromq, raw_zeromq_working;

/* The message size that exchanges setting->bytes fastest, found by trying some. */
void raw_zeromq_choose(struct raw_zeromq_setting *setting);

#endif
