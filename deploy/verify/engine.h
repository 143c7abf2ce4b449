/* engine.h - a whole cluster in one thread, in virtual time, from one seed.
 *
 *     ps/0: router+coordinator | owner 0 | owner 1 | checkpointer      worker/0: session | trainer
 *                 |  queues between the threads of a process, each late as the scheduler likes  |
 *                 '--- wires: late, out of order, twice, never; processes that come and go -----'
 *
 * The cores are those of the real programs (simulated_process.h). Clock, randomness, disk and wire
 * come in from here, and so does what goes wrong (fault_injector.h). A witness (witness.h) looks
 * on.
 *
 * A host is a place of the job: servers are hosts 0 to server_count - 1, workers come after them.
 * Several processes may have been at one host, one after the other or at once.
 *
 * Units: virtual microseconds. Threads: one. */

#ifndef DEPLOY_VERIFY_ENGINE_H
#define DEPLOY_VERIFY_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/outbox.h"
#include "deploy/engine/event_queue.h"
#include "deploy/engine/simulated_disk.h"
#include "deploy/engine/simulated_network.h"
#include "deploy/engine/transcript.h"
#include "deploy/verify/fault_injector.h"
#include "deploy/verify/fault_plan.h"
#include "deploy/verify/simulated_process.h"
#include "deploy/verify/simulated_work.h"
#include "deploy/verify/witness.h"

#define SIMULATED_OUT  "run"
#define STRANGERS_HOST UINT32_MAX /* No place of the job. */

enum simulated_place {
    ON_WIRE,      /* What a process sends. */
    OFF_WIRE,     /* What has arrived, before anybody looks at it. */
    INTO_OWNER,   /* Before the witness sees it, ... */
    INSIDE_OWNER, /* ... and after: as if the owner did something else with it. */
    BY_OWNER,     /* What an owner puts out, before the witness sees it, ... */
    OUT_OF_OWNER, /* ... and after. */
};

/* Called for every item on its way. It may change the item; false loses it. */
struct engine_tamper {
    bool (*item)(void *context, enum simulated_place place, uint32_t process,
                 struct outgoing *item);
    void *context;
};

struct engine_options {
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
    uint64_t generation;           /* Of the run directory; 0: it has none. */
    uint64_t disk_latency_us;      /* When nothing slows them down. */
    uint64_t disks_us;             /* What the time is for them when it is 0 here. */
    const char *restore;
    struct deadlines deadlines;
    enum worker_loss on_worker_loss;
    uint32_t bad_one_in;           /* See simulated_work.h. */
    const struct fault_plan *plan; /* NULL: nothing goes wrong. */
    /* Ask a host for a clean stop so long after the first worker was started; 0: never. Before
     * that, processes that have not joined would stay behind until their start deadline. */
    uint64_t stop_after_us;
    uint32_t stop_host;
    uint64_t time_limit_us; /* After calm_us of the plan, if there is one. */
    struct engine_tamper tamper;
    bool scarce;  /* Allocations may fail, see witness.h. */
    bool verbose; /* Print what the processes log. */
};

struct engine {
    struct engine_options options;
    struct partition partition;
    struct simulated_work work;
    struct witness witness;
    struct event_queue queue;
    struct simulated_network network;
    struct random_sequence random;
    struct simulated_process **processes; /* [process_count] by number. */
    uint32_t process_count;
    size_t process_capacity;
    struct simulated_process **at; /* [host_count] who is at a host; NULL: nobody. */
    uint32_t host_count;           /* Those who joined have theirs, too. */
    size_t host_capacity;
    struct fault_injector injector;
    uint64_t now_us, events;
    struct transcript transcript;
    uint32_t running;  /* Processes. */
    uint32_t starting; /* Will be started. */
    bool started;      /* A trainer was told to start. */
    bool finished;     /* Somebody has left at the end of the job, the first one at ... */
    uint64_t finished_us;
    bool announced;       /* That the job has ended was said to somebody. */
    bool failed;          /* Server 0 has given the job up, because of a disk. */
    bool left_unheard;    /* A worker has left, and no server 0 knows it. */
    struct host_set left; /* Hosts whose processes have. */
};

enum status engine_init(struct engine *engine, const struct engine_options *options,
                        struct error *error);
void engine_free(struct engine *engine);

/* Until everybody is over, a promise is broken or the time limit passes. The exit code all have
 * in common; -1 after a failure, which engine->witness names. */
int engine_run(struct engine *engine);

static inline uint32_t engine_servers(const struct engine *engine)
{
    return engine->options.job->server_count;
}

static inline uint32_t engine_workers(const struct engine *engine)
{
    return engine->options.job->worker_count;
}

static inline uint64_t engine_disk_us(const struct engine *engine)
{
    return engine->options.disks_us + engine->now_us;
}

/* --- for the parts of a simulator ------------------------------------------------------------ */

/* A process has left by itself; written something; taken something off the wire; been told to start
 * training. */
void engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                 const char *reason);
void engine_wrote(struct engine *engine, const struct simulated_process *process);
void engine_delivered(struct engine *engine, enum message_kind kind);
void engine_note_start(struct engine *engine);

/* Let time pass first. */
void engine_later(struct engine *engine, uint64_t after_us, enum event_kind kind, uint32_t process,
                  uint64_t number);

/* Start a process at a host. primary: whoever was there is not found there any more. */
struct simulated_process *engine_start(struct engine *engine, uint32_t host, bool primary);
/* All connections of a host break. They come back after back_us. */
void engine_cut_off(struct engine *engine, uint32_t host, uint64_t back_us);
void engine_kill(struct engine *engine, struct simulated_process *process);
void engine_stop(struct engine *engine, struct simulated_process *process);
void engine_continue(struct engine *engine, struct simulated_process *process);

#endif
