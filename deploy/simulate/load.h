/* load.h - who was busy in a virtual run for which share of its time, and so what bound it.
 *
 *     load_measure(&load, &timetable, cards, duration_ns);
 *     load_bound(&load, text, sizeof text);       "ps/0's card, in, at work 96 % of the time; then ..."
 *
 * Of each kind of thing there is the mean share of all of them, and that of the busiest:
 *
 *     threads       how long they were at work, or had work and waited for a processor
 *     processors    of a host: the work that all its threads had of them
 *     cards         of a host, each way: what its bytes take at the card's full rate
 *
 * What was at work nearly all the time bound the run; where nothing was, the rest is latency and waiting
 * for one another. Processors count as a bound only where threads waited for them: else it is the thread.
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
    LOAD_ROUTERS,  /* Servers' messages, and applying where the router is the owner. */
    LOAD_OWNERS,   /* Servers' applying. */
    LOAD_PROCESSORS,
    LOAD_SERVER_NICS_IN,
    LOAD_SERVER_NICS_OUT, /* Of hosts with a server; the others' below. */
    LOAD_WORKER_NICS_IN,
    LOAD_WORKER_NICS_OUT,
    LOAD_LOOPBACKS,
    LOAD_PART_COUNT
};

struct load {
    uint64_t duration_ns;
    struct load_share {
        double mean, most;
        char busiest[32]; /* "worker/3"; of a host its first process. "": nobody was busy. */
    } shares[LOAD_PART_COUNT];
    bool waited; /* Threads had work a tenth longer than processors for it. */
};

void load_measure(struct load *load, const struct timetable *timetable, const struct nics *nics,
                  uint64_t duration_ns);

/* "servers' cards, in" */
const char *load_part_name(enum load_part part);

/* What bound the run, and what came next, into text[size]. */
void load_bound(const struct load *load, char *text, size_t size);

/* As an object: `bound`, and what was busy. */
void load_write(const struct load *load, struct json_writer *writer, const char *name);

#endif
