/* syncopate_pair.h - our exchange, as a contender: a server process that runs ps/server.h and a
 * process of one or more workers that run worker/client/client.h. Each pushes a gradient, the
 * optimizer is applied, fresh parameters come back; no gradient is computed, and in async mode
 * nobody waits for another worker.
 *
 * The setting is a struct syncopate_pair_setting. */

#ifndef TESTS_BENCH_CONTENDERS_SYNCOPATE_PAIR_H
#define TESTS_BENCH_CONTENDERS_SYNCOPATE_PAIR_H

#include <stdint.h>

#include "common/job/job.h"
#include "tests/bench/contenders/contender.h"

struct syncopate_pair_setting {
    const char *folder;   /* For the server's run. */
    uint64_t bytes;       /* Of the one variable. */
    uint64_t chunk_bytes; /* 0: the product chooses. */
    enum mode mode;
    uint32_t workers;      /* In the one process; in sync mode each has one leaf. 0 is 1. */
    const char *transport; /* "tcp", "shm", or "curve": TCP with keys, see below */
    const char *optimizer; /* "sgd" */
};

/* Make the keys that "curve" takes from the folder, once for all that use it. */
void syncopate_pair_make_keys(const char *folder);

extern const struct contender_kind syncopate_pair;

#endif
