/* load.h - the load of each part of a virtual run as a share of its time, and the bottleneck.
 *
 *     load_measure(&load, &timetable, nics, duration_ns);
 *     load_bound(&load, text, sizeof text);       "ps/0's card, in, at work 96 % of the time; then
 *     ..."
 *
 * For each kind of part there is the mean share, and that of the busiest:
 *
 *     threads       the time at work, or waiting for a processor
 *     processors    of a host: the work of all its threads
 *     cards         of a host, each way: the time of its bytes at the card's full rate
 *
 * A part that worked nearly all the time was the bottleneck. Without one, the time is latency and
 * waiting for one another. Processors are a bottleneck only when threads waited for them; otherwise
 * the thread is.
 *
 * Threads: plain values. Units: shares from 0 to 1. */

#ifndef DEPLOY_SIMULATE_LOAD_H
#define DEPLOY_SIMULATE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file/json_writer.h"
#include "deploy/simulate/nics.h"
#include "deploy/simulate/timetable.h"

enum load_part {
    LOAD_TRAINERS, /* Workers' computing. */
    LOAD_SESSIONS, /* Workers' messages. */
    LOAD_ROUTERS,  /* Servers' messages, and applying when the router is the owner. */
    LOAD_OWNERS,   /* Servers' applying. */
    LOAD_PROCESSORS,
    LOAD_SERVER_NICS_IN,
    LOAD_SERVER_NICS_OUT, /* Hosts with a server; the others follow. */
    LOAD_WORKER_NICS_IN,
    LOAD_WORKER_NICS_OUT,
    LOAD_LOOPBACKS,
    LOAD_PART_COUNT
};

struct load {
    uint64_t duration_ns;
    struct load_share {
        double mean, most;
        char busiest[32]; /* "worker/3"; for a host its first process. "": no load. */
    } shares[LOAD_PART_COUNT];
    bool waited; /* Threads waited for processors for more than a tenth of their work. */
};

void load_measure(struct load *load, const struct timetable *timetable, const struct nics *nics,
                  uint64_t duration_ns);

/* "servers' cards, in" */
const char *load_part_name(enum load_part part);

/* The bottleneck of the run, and the next one, into text[size]. */
void load_bound(const struct load *load, char *text, size_t size);

/* As an object: `bound`, and the loads. */
void load_write(const struct load *load, struct json_writer *writer, const char *name);

#endif
