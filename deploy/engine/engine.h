/* engine.h - a whole cluster in one thread, in virtual time, from one seed.
 *
 *     ps/0: router+coordinator | owner 0 | owner 1 | checkpointer      worker/0: session | trainer
 *                 |  queues between the threads of a process, each late as the scheduler likes  |
 *                 '--- wires: late, out of order, twice, never; processes that come and go -----'
 *
 * The cores are those of the real programs (simulated_process.h). Clock, randomness, disk and wire
 * come in from here. What differs from one use to another are tables that the engine is given:
 *
 *     computing.h   what workers compute          timing.h    how long that and queues take
 *     channel.h     how messages travel           limits.h    when it is enough
 *     storage.h     where servers keep what must survive
 *     observer.h    who looks on                  faults.h    who makes things go wrong
 *
 * Those of computing, times, carrying and storing are required.
 *
 * A host is a place of the job: servers are hosts 0 to server_count - 1, workers come after them.
 * Several processes may have been at one host, one after the other or at once. There may be any number
 * of hosts.
 *
 * Time is virtual, and the engine's is in nanoseconds. Cores and people are told whole microseconds of it,
 * rounded down, and what is asked for from outside is in microseconds.
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
    ON_WIRE,      /* What a process sends. */
    OFF_WIRE,     /* What has arrived, before anybody looks at it. */
    INTO_OWNER,   /* Before the observer sees it, ... */
    INSIDE_OWNER, /* ... and after: as if the owner did something else with it. */
    BY_OWNER,     /* What an owner puts out, before the observer sees it, ... */
    OUT_OF_OWNER, /* ... and after. */
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
    const struct job *job; /* Servers and workers as it says. */
    uint32_t owners_a_server;
    bool owners_inline; /* The router thread is the owner; then owners_a_server is 1. */
    struct computing computing;
    struct timing timing;
    struct channel channel;
    struct storage storage;
    struct observer observer;
    struct limits limits;
    struct faults faults;
    bool overlap; /* Workers send what is there of a gradient while they compute the rest. Of the
                        * engine's processors (timing.h) nobody makes parts. */
    bool share_frames; /* A message's receiver gets the sender's frame, not a copy. */
    bool
        unchecked; /* Nothing is summed up, no transcript and no payload in flight, no core looks at
                        * itself, and nobody looks at those who have ended. */
    const char *arithmetic;   /* What processes say that they compute with; NULL: "simulated". */
    uint64_t start_within_us; /* Processes start in any order within this time. */
    const char *restore;
    uint32_t keep;                   /* Checkpoints; 0: as the run was begun with. */
    const struct board_place *board; /* For TensorBoard; NULL: nothing. See board_place.h. */
    struct deadlines deadlines;
    enum worker_loss on_worker_loss;
    uint32_t max_bad_gradients; /* As in options.h. */
    /* Ask a host for a clean stop so long after the first worker was started; 0: never. Before
     * that, processes that have not joined would stay behind until their start deadline. */
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
    struct simulated_process **at; /* [host_count] who is at a host; NULL: nobody. */
    uint32_t host_count;           /* Those who joined have theirs, too. */
    size_t host_capacity;
    uint64_t now_ns, now_us; /* The same, of which the second is rounded. */
    uint64_t events;
    struct transcript transcript;
    uint32_t *ended; /* [ended_count] whose memory is to be given back, by number. */
    uint32_t ended_count;
    size_t ended_capacity;
    uint32_t running;     /* Processes. */
    uint32_t starting;    /* Will be started. */
    bool started;         /* A trainer was told to start. */
    bool finished;        /* Somebody's ending was that of the job. */
    bool hopeless;        /* Somebody's ending was that of all. */
    struct host_set left; /* Hosts to which nobody comes any more. */
    bool failed;          /* The engine itself cannot go on: */
    char failure[512];    /* why. */
};

enum status engine_init(struct engine *engine, const struct engine_options *options,
                        struct error *error);
void engine_free(struct engine *engine);

/* Until everybody is over: true. False when the observer has seen what must not be; when the time limit
 * has passed, a message is not what was sent, or a worker is told what no trainer is: then
 * engine->failed, and engine->failure says what. */
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

/* What ends it. The first time counts. */
void engine_fail(struct engine *engine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For incarnations and the like: not 0. */
uint64_t engine_draw_u64(struct engine *engine);

/* A process has left by itself; written something; taken something off the wire; been told to start
 * training. */
void engine_over(struct engine *engine, struct simulated_process *process, int exit_code,
                 const char *reason);
void engine_wrote(struct engine *engine, const struct simulated_process *process);
void engine_delivered(struct engine *engine, enum message_kind kind);
void engine_note_start(struct engine *engine);

/* Let time pass first. */
void engine_later(struct engine *engine, uint64_t after_us, enum due_kind kind, uint32_t process,
                  uint64_t number);
/* The same of an DUE_FAULT, at a time to the nanosecond, which is not past. */
void engine_fault_at(struct engine *engine, uint64_t at_ns, uint64_t number);

/* Start a process at a host, which may be one more; DUE_START does it too, where nobody is or, with
 * START_ANYWAY for its number, whoever is. And a guest, which is called worker/INDEX. */
struct simulated_process *engine_start(struct engine *engine, uint32_t host,
                                       enum process_start how);
struct simulated_process *
engine_start_scripted_client(struct engine *engine, const struct scripted_client *scripted_client,
                             uint32_t index);
/* All connections of a host break. They come back after back_us. */
/* Server 0 is asked for a clean stop now, or as soon as it is there. */
void engine_request_stop(struct engine *engine);
void engine_cut_off(struct engine *engine, uint32_t host, uint64_t back_us);
void engine_kill(struct engine *engine, struct simulated_process *process);
void engine_stop(struct engine *engine, struct simulated_process *process);
void engine_continue(struct engine *engine, struct simulated_process *process);

#endif
