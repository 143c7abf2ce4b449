/* engine.h - a whole cluster in one thread, in virtual time, from one seed.
 *
 *     ps/0: router+coordinator | owner 0 | owner 1 | checkpointer      worker/0: session | trainer
 *                 |  queues between the threads of a process, each with a random delay  |
 *                 '--- wires: late, out of order, twice, never; processes that come and go -----'
 *
 * The state machines are those of the real programs (simulated_process.h). Clock, randomness, disk
 * and wire come from here. Uses differ in the tables that the engine is given:
 *
 *     computing.h   the workers' computation      timing.h    its duration, and that of queues
 *     channel.h     the ways of messages          limits.h    the end
 *     storage.h     the servers' files
 *     observer.h    observation                   faults.h    failures
 *
 * Computing, timing, channel and storage are required.
 *
 * A host is a place of the job: servers are hosts 0 to server_count - 1, then workers. Several
 * processes may have been at one host, one after the other or at once. The number of hosts is
 * unlimited.
 *
 * Time is virtual, in nanoseconds. State machines and people see whole microseconds, rounded down,
 * and arguments from outside are in microseconds.
 *
 * Threads: one. */

#ifndef DEPLOY_ENGINE_ENGINE_H
#define DEPLOY_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/outbox.h"
#include "deploy/engine/channel.h"
#include "deploy/engine/computing.h"
#include "deploy/engine/event_queue.h"
#include "deploy/engine/faults.h"
#include "deploy/engine/host_set.h"
#include "deploy/engine/limits.h"
#include "deploy/engine/observer.h"
#include "deploy/engine/scripted_client.h"
#include "deploy/engine/simulated_network.h"
#include "deploy/engine/simulated_process.h"
#include "deploy/engine/storage.h"
#include "deploy/engine/timing.h"
#include "deploy/engine/transcript.h"

enum simulated_place {
    ON_WIRE,      /* Sent by a process. */
    OFF_WIRE,     /* After arrival, before any reading. */
    INTO_OWNER,   /* Before the observer sees it, */
    INSIDE_OWNER, /* and after: as if the owner did something else with it. */
    BY_OWNER,     /* An output of an owner, before the observer sees it, */
    OUT_OF_OWNER, /* and after. */
};

/* Called for every item on its way. It may change the item; false loses it. */
struct engine_tamper {
    bool (*item)(void *context, enum simulated_place place, uint32_t process,
                 struct outgoing *item);
    void *context;
};

struct board_place;
struct engine_options {
    uint64_t seed;
    const struct job *job; /* Has the numbers of servers and workers. */
    uint32_t owners_a_server;
    bool owners_inline; /* The router thread is the owner; then owners_a_server is 1. */
    struct computing computing;
    struct timing timing;
    struct channel channel;
    struct storage storage;
    struct observer observer;
    struct span_listener spans; /* Of workers that exchange, or wait. */
    struct limits limits;
    struct faults faults;
    /* Workers send finished parts of a gradient while they compute the rest. With shared processors
     * (timing.h) there are no parts. */
    bool overlap;
    bool share_frames; /* A message's receiver gets the sender's frame, not a copy. */
    bool unchecked; /* Without checksums, transcript, payload checks, self-checks of state machines,
                    * and a check of ended processes. */
    bool trusting;  /* Cores do not check themselves, and messages are not decoded. */
    const char *arithmetic;   /* The arithmetic that processes report; NULL: "simulated". */
    uint64_t start_within_us; /* Processes start in any order within this time. */
    const char *restore;
    const char *initial;             /* Of given initial values; NULL: there are none. */
    uint32_t keep;                   /* Checkpoints; 0: as at the run's beginning. */
    const struct board_place *board; /* For TensorBoard; NULL: none. See board_place.h. */
    struct deadlines deadlines;
    enum worker_loss on_worker_loss;
    uint32_t max_bad_gradients;  /* As in options.h. */
    const struct policy *policy; /* Of all servers; NULL: the mode decides. */
    /* Request a clean stop of a host this long after the first worker's start; 0: never. Earlier,
     * processes that have not joined would stay until their start deadline. */
    uint64_t stop_after_us;
    uint32_t stop_host;
    struct engine_tamper tamper;
    bool verbose; /* Print what the processes log. */
};

struct engine {
    struct engine_options options;
    struct partition partition;
    struct event_queue queue;
    struct simulated_network network;
    struct random_sequence random;
    struct simulated_process **processes; /* [process_count] by number. */
    uint32_t process_count;
    size_t process_capacity;
    struct simulated_process **at; /* [host_count] the process at each host; NULL: none. */
    uint32_t host_count;           /* Includes joined ones. */
    size_t host_capacity;
    uint64_t now_ns, now_us; /* The same time; the second is rounded. */
    uint64_t events;
    struct transcript transcript;
    uint32_t *ended; /* [ended_count] numbers of processes whose memory is to be released. */
    uint32_t ended_count;
    size_t ended_capacity;
    uint32_t running;     /* Processes. */
    uint32_t starting;    /* Will be started. */
    bool started;         /* A trainer has received START. */
    bool finished;        /* An end of a process ended the job. */
    bool hopeless;        /* An end of a process ended everything. */
    struct host_set left; /* Hosts without further processes. */
    bool failed;          /* The engine itself has failed: */
    char failure[512];    /* the reason. */
};

enum status engine_init(struct engine *engine, const struct engine_options *options,
                        struct error *error);
void engine_free(struct engine *engine);

/* Until all processes have ended: true. False when the observer has failed, the time limit has
 * passed, a message was corrupted, or a worker received a message that no trainer may get: then
 * engine->failed, and engine->failure has the reason. */
bool engine_run(struct engine *engine);

static inline uint32_t engine_servers(const struct engine *engine)
{
    return engine->options.job->server_count;
}

static inline uint32_t engine_workers(const struct engine *engine)
{
    return engine->options.job->worker_count;
}

/* --- for its parts and tables ----------------------------------------------------------------- */

/* Ends it. The first call counts. */
void engine_fail(struct engine *engine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For incarnations and the like: not 0. */
uint64_t engine_draw_u64(struct engine *engine);

/* A process has left by itself; written something; taken something off the wire; received the start
 * of training. */
void engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                 const char *reason);
void engine_wrote(struct engine *engine, const struct simulated_process *process);
void engine_delivered(struct engine *engine, enum message_kind kind);
void engine_note_start(struct engine *engine);

/* After a delay. */
void engine_later(struct engine *engine, uint64_t after_us, enum due_kind kind, uint32_t process,
                  uint64_t number);
/* The same for DUE_FAULT, at a time in nanoseconds that is not past. */
void engine_fault_at(struct engine *engine, uint64_t at_ns, uint64_t number);

/* Start a process at a host, which may be one more. DUE_START does it too, at a free host or, with
 * START_ANYWAY as its number, at any. And a scripted client, named worker/INDEX. */
struct simulated_process *engine_start(struct engine *engine, uint32_t host,
                                       enum process_start how);
struct simulated_process *
engine_start_scripted_client(struct engine *engine, const struct scripted_client *scripted_client,
                             uint32_t index);
/* All connections of a host break. They come back after back_us. */
/* Ask server 0 for a clean stop now, or as soon as it is there. */
void engine_request_stop(struct engine *engine);
void engine_cut_off(struct engine *engine, uint32_t host, uint64_t back_us);
void engine_kill(struct engine *engine, struct simulated_process *process);
void engine_stop(struct engine *engine, struct simulated_process *process);
void engine_continue(struct engine *engine, struct simulated_process *process);

#endif
