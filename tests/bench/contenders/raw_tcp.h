/* raw_tcp.h - what one TCP stream on loopback can do: the machine's limit for an exchange.
 *
 * raw_tcp_sequence pushes all bytes and then reads as many back, blocking. raw_tcp_both sends and
 * receives at once on both ends, one thread each, with no arithmetic and no dependency between what
 * comes and what goes: the best an exchange over one stream could be.
 *
 * The setting is a struct raw_tcp_setting. */

#ifndef TESTS_BENCH_CONTENDERS_RAW_TCP_H
#define TESTS_BENCH_CONTENDERS_RAW_TCP_H

#include <stdint.h>

#include "tests/bench/contenders/contender.h"

struct raw_tcp_setting {
    uint64_t bytes; /* Each way. */
};

extern const struct contender_kind raw_tcp_sequence, raw_tcp_both;

/* Congestion control that a loopback connection gets, both ends alike; "?" when it cannot be
 * known, "mixed" when they differ. */
void raw_tcp_congestion_control(char name[16]);

#endif
