/* simulator.h - a whole cluster in one thread, in virtual time, from one seed.
 *
 *     ps/0: router+coordinator | owner 0 | owner 1 | keeper      worker/0: session | trainer
 *                 |  queues between the threads of a process, each late as the scheduler likes  |
 *                 '------------------- wires: late, out of order, twice -------------------------'
 *
 * The cores are those of the real programs, wired as ps/server.c and worker/client.c wire them:
 * what a router thread has for itself is handled at once and in order, and what goes to or comes
 * from an owner or keeper thread waits in a queue, in order for each writer. Clock, randomness,
 * disk and wire come in from here. A witness (witness.h) looks on.
 *
 * Units: virtual microseconds. Threads: one. */

#ifndef DEPLOY_SIMULATOR_H
#define DEPLOY_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/outbox.h"
#include "deploy/event_queue.h"
#include "deploy/simulated_disk.h"
#include "deploy/simulated_network.h"
#include "deploy/simulated_work.h"
#include "deploy/simulated_worker.h"
#include "deploy/witness.h"
#include "ps/cores.h"

#define SIMULATED_OUT "run"

enum simulated_place { ON_WIRE, INTO_OWNER, OUT_OF_OWNER };

/* Called for every item on its way. It may change the item; false loses it. */
struct simulator_tamper {
    bool (*item)(void *context, enum simulated_place place, uint32_t process,
                 struct outgoing *item);
    void *context;
};

struct simulator_options {
    uint64_t seed;
    const struct job *job; /* Servers and workers as it says. */
    enum work_kind kind;
    uint32_t owners_a_server;
    bool owners_inline; /* The router thread is the owner; then owners_a_server is 1. */
    struct network_faults faults;
    uint64_t queue_delay_us;       /* Between the threads of a process, at most. */
    uint64_t start_within_us;      /* Processes start in any order within this time. */
    uint64_t compute_us;           /* One node, at most twice this. */
    const double *slow;            /* [worker_count] times as long; NULL for all alike. */
    struct simulated_disk **disks; /* [server_count] several may be the same. */
    const char *restore;
    uint64_t first_step;             /* Where it will go on. */
    const struct model_state *model; /* As of first_step. */
    /* Ask a process for a clean stop so long after the first worker was started; 0: never. Before
     * that, processes that have not joined would stay behind until their start deadline. */
    uint64_t stop_after_us;
    uint32_t stop_process;
    uint64_t time_limit_us;
    struct simulator_tamper tamper;
    bool verbose; /* Print what the processes log. */
};

struct simulated_server {
    struct cores cores;
    struct outbox outbox; /* Of the router thread. */
    bool over;
    uint64_t *queue_until_us; /* [3 * owners + 2] when the last item of each queue arrives. */
};

struct simulator {
    struct simulator_options options;
    struct partition partition;
    struct simulated_work work;
    struct witness witness;
    struct event_queue queue;
    struct simulated_network network;
    struct random_sequence random;
    struct simulated_server *servers; /* [server_count] */
    struct simulated_worker *workers; /* [worker_count] */
    bool *worker_over;                /* [worker_count] */
    uint64_t (*worker_until_us)[2];   /* [worker_count] last in the queue to session, to trainer. */
    uint64_t now_us, events;
    uint32_t running; /* Processes. */
    bool started;     /* A trainer was told to start. */
};

/* Servers are processes 0 to server_count - 1, workers come after them. */
enum status simulator_init(struct simulator *simulator, const struct simulator_options *options,
                           struct error *error);
void simulator_free(struct simulator *simulator);

/* Until everybody is over, a promise is broken or the time limit passes. The exit code all have
 * in common; -1 after a failure, which simulator->witness names. */
int simulator_run(struct simulator *simulator);

#endif
