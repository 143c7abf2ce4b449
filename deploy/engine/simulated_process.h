/* simulated_process.h - one process of a simulated cluster, from its start to its exit or its kill:
 * cores or session and trainer, the queues between its threads, and what it missed while stopped.
 *
 * The cores are those of the real programs, wired as ps/server.c and worker/client/client.c wire
 * them: what a router thread has for itself is handled at once and in order, and what goes to or
 * comes from an owner or checkpointer thread waits in a queue, in order for each writer.
 *
 * Threads: one. Ownership: owns its cores, worker and what is queued for it while it is stopped. */

#ifndef DEPLOY_ENGINE_SIMULATED_PROCESS_H
#define DEPLOY_ENGINE_SIMULATED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/outbox.h"
#include "deploy/engine/event_queue.h"
#include "deploy/engine/scripted_client.h"
#include "deploy/engine/simulated_thread.h"
#include "deploy/engine/simulated_worker.h"
#include "ps/cores.h"

enum process_state {
    PROCESS_RUNNING,
    PROCESS_STOPPED, /* SIGSTOP: what comes waits. */
    PROCESS_OVER,    /* It has left by itself. */
    PROCESS_KILLED,
};

/* How it comes to its host. */
enum process_start {
    START_AT_HOST, /* Nobody is there, or whoever is: it is not found there any more. */
    START_BESIDE,  /* It is only found there if nobody else is. */
    START_ANYWAY,  /* As at a host that was given up for lost, and is not. */
};

#define PROCESS_NAME_MAX 32

/* Threads that write to the disk. */
enum { WRITING_CHECKPOINTER, WRITING_SET_WRITER, WRITING_THREADS };

struct writing_thread {
    bool busy;             /* Until what it wrote is durable: */
    struct outbox waiting; /* then it takes this, ... */
    struct outbox said;    /* ... and says this. */
};

struct simulated_process {
    uint32_t number;             /* In the order of their starts. */
    char name[PROCESS_NAME_MAX]; /* "worker/1 (3)": its place, and its number. */
    uint32_t host;               /* Its place, see engine.h; PROCESS_NOWHERE: a guest's. */
    uint32_t index;
    enum process_start how;
    bool is_server;
    bool is_scripted_client; /* Neither server nor worker. */
    struct scripted_client scripted_client;
    enum process_state state;
    uint64_t foreign_run; /* A worker of this other run; 0: of ours. */
    bool cores_made;
    struct cores cores;               /* A server's. */
    struct outbox outbox;             /* What its router or session has still to give out. */
    struct simulated_thread *threads; /* [thread_count] */
    uint32_t thread_count;
    struct writing_thread writing[WRITING_THREADS];
    struct simulated_worker worker; /* A worker's. */
    bool stuck;                     /* Its trainer does nothing any more. */
    double slow;                    /* It takes so many times as long: a fault's doing. */
    uint64_t *queue_until_ns;       /* When the last item of each queue arrives. */
    struct due *missed;             /* [missed_count] while it is stopped. */
    size_t missed_count, missed_capacity;
    uint64_t heard_us; /* When a message of server 0 reached it last. */
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
};

struct engine;

#define PROCESS_NOWHERE UINT32_MAX

/* NULL when out of memory. guest: NULL for a server or worker; else the host is PROCESS_NOWHERE, and the
 * index is what it is called by. */
struct simulated_process *simulated_process_start(struct engine *engine, uint32_t host,
                                                  const struct scripted_client *scripted_client,
                                                  uint32_t index);
void simulated_process_free(struct simulated_process *process);

/* It is stopped; goes on; or has ended, by itself or not: then its threads have nothing to do any more,
 * but for the owners of one that has ended by itself. */
void simulated_process_hold(struct engine *engine, const struct simulated_process *process);
void simulated_process_release(struct engine *engine, const struct simulated_process *process);
void simulated_process_end(struct engine *engine, struct simulated_process *process);
/* After that: what nobody needs of it any more is given back. Where many come and go, that is most of what
 * there is. */
void simulated_process_bury(struct simulated_process *process);

/* What happens to it; the event stays the caller's, without what has been taken out of it. Its
 * number is, of an DUE_WIRE, what the process calls the sender. */
void simulated_process_event(struct engine *engine, struct simulated_process *process,
                             struct due *event);

#endif
