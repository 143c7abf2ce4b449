/* fault_plan.h - what is going to go wrong in a simulated cluster, and when; drawn from a seed.
 *
 * A fault strikes a host: the place of a server or worker, whichever process is there at the time.
 * It strikes at a time, or when some message has been delivered so and so often, because most of
 * what can go wrong goes wrong between two messages that follow each other; or shortly after the
 * fault before it, because the rest goes wrong while something else is being got over. What lasts
 * is over after for_us, and all of it at calm_us: then everything heals, whoever is missing is
 * started, and the job must come to its end.
 *
 * Threads: plain values. */

#ifndef DEPLOY_VERIFY_FAULT_PLAN_H
#define DEPLOY_VERIFY_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/random.h"
#include "common/wire/message.h"

#define FAULTS_MAX 8

enum fault_kind {
    FAULT_CRASH,        /* kill -9; started again after for_us. */
    FAULT_HOST,         /* The same of both processes of a place, where there are such. */
    FAULT_TORN,         /* The same, in the middle of one of the next writes to its disk. */
    FAULT_LOST,         /* A worker is killed and stays away: others take over. */
    FAULT_PAUSE,        /* SIGSTOP, SIGCONT after for_us. */
    FAULT_REPLACE,      /* SIGSTOP, a second process meanwhile, SIGCONT after for_us. */
    FAULT_TWIN,         /* A second process while the first lives. */
    FAULT_SNAPSHOT,     /* All its connections break and come back after for_us. */
    FAULT_PARTITION,    /* Some hosts are cut off from all others. */
    FAULT_ONE_WAY,      /* Some hosts are heard by nobody, but hear. */
    FAULT_LOSS,         /* One message in ten is lost, anywhere. */
    FAULT_STUCK,        /* A worker's trainer does nothing any more; killed after for_us. */
    FAULT_SLOW,         /* A worker computes twenty times as long. */
    FAULT_JOIN,         /* One worker more than declared. */
    FAULT_LEAVE,        /* A worker goes, properly. */
    FAULT_UNKNOWN_PEER, /* Somebody of another run speaks to everybody. */
    FAULT_DISK,         /* Writing to a server's disk fails. */
    FAULT_SLOW_DISK,    /* It takes long. */
    FAULT_KIND_COUNT
};

enum fault_time {
    FAULT_AT,       /* at_us since the beginning, ... */
    FAULT_FOLLOWS,  /* ... or since the fault before it in the plan. */
    FAULT_MESSAGES, /* When `message` has been delivered `count` times. */
};

struct fault {
    enum fault_kind kind;
    enum fault_time time;
    uint64_t at_us;
    enum message_kind message;
    uint32_t count;
    uint32_t host;
    uint64_t hosts; /* Those that are cut off, as bits: a history has some ten. */
    uint64_t for_us;
    bool hold;       /* What is cut off arrives late, instead of never. */
    uint64_t number; /* Whatever else has to be drawn. */
};

struct fault_plan {
    struct fault faults[FAULTS_MAX];
    uint32_t count;
    uint64_t calm_us;
};

/* For so many servers and workers in a job that takes about_us when nothing happens. */
void fault_plan_draw(struct fault_plan *plan, struct random_sequence *random, uint32_t servers,
                     uint32_t workers, uint64_t about_us);

/* Of a cluster whose places have a server and a worker: half of the crashes are of a whole place. */
void fault_plan_lose_hosts(struct fault_plan *plan);

const char *fault_name(enum fault_kind kind);

/* Append "crash ps/1 at 1.2 s for 0.8 s, ..." to text[size]. */
void fault_plan_describe(const struct fault_plan *plan, uint32_t servers, char *text, size_t size);

#endif
