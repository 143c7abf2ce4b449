/* raw_zeromq.h - what ZeroMQ's DEALER and ROUTER can do on TCP loopback with no protocol and no
 * arithmetic: messages go both ways at once, sent without a copy, each answered with one as large.
 *
 * The only file of the benchmarks that includes zmq.h. Its memory is kept from going back to the
 * system between messages, as is best for it. */

#ifndef TESTS_BENCH_RAW_ZEROMQ_H
#define TESTS_BENCH_RAW_ZEROMQ_H

#include <stdint.h>

#include "tests/bench/contender.h"

struct raw_zeromq_setting {
    uint64_t bytes;         /* Each way. */
    uint64_t message_bytes; /* In one message; the last may be smaller. */
};

extern const struct contender_kind raw_zeromq;

/* The message size that exchanges setting->bytes fastest, found by trying some. */
void raw_zeromq_choose(struct raw_zeromq_setting *setting);

#endif
