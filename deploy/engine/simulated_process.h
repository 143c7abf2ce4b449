/* simulated_process.h - one process of a simulated cluster, from its start to its exit or its kill:
 * state machines or session and trainer, the queues between its threads, and the events missed
 * while it was stopped.
 *
 * The state machines are those of the real programs, connected as in ps/server.c and
 * worker/client/client.c. Items of a router thread for itself are handled at once and in order.
 * Items to or from an owner or checkpointer thread wait in a queue, in order for each writer.
 *
 * Threads: one. Ownership: owns its state machines, worker and queued items while it is stopped. */

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
    PROCESS_STOPPED, /* SIGSTOP: events wait. */
    PROCESS_OVER,    /* It has left by itself. */
    PROCESS_KILLED,
};

enum process_start {
    START_AT_HOST, /* The host is free, or its process is not reachable there any more. */
    START_BESIDE,  /* It is reachable there only if no other process is. */
    START_ANYWAY,  /* Like a host that was given up as lost, and is not. */
};

#define PROCESS_NAME_MAX 32

struct writing_thread {
    bool busy;             /* Until its writes are durable: */
    struct outbox waiting; /* then it takes this, */
    struct outbox said;    /* and sends this. */
};

struct simulated_process {
    uint32_t number;             /* In the order of their starts. */
    char name[PROCESS_NAME_MAX]; /* "worker/1 (3)": its place, and its number. */
    /* Its place, see engine.h; PROCESS_NOWHERE: of a scripted client. */
    uint32_t host;
    uint32_t index;
    enum process_start how;
    bool is_server;
    bool is_scripted_client; /* Neither server nor worker. */
    struct scripted_client scripted_client;
    enum process_state state;
    uint64_t foreign_run; /* A worker of this other run; 0: of this one. */
    bool cores_made;
    struct cores cores;               /* A server's. */
    struct outbox outbox;             /* Items that its router or session has still to send. */
    struct simulated_thread *threads; /* [thread_count] */
    uint32_t thread_count;
    struct writing_thread writing;
    struct simulated_worker worker; /* A worker's. */
    bool stuck;                     /* Its trainer has stopped. */
    double slow;                    /* The factor of its times, set by faults. */
    uint64_t *queue_until_ns;       /* The arrival of the last item of each queue. */
    struct due *missed;             /* [missed_count] while it is stopped. */
    size_t missed_count, missed_capacity;
    uint64_t heard_us; /* The time of server 0's last message to it. */
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
};

struct engine;

#define PROCESS_NOWHERE UINT32_MAX

/* NULL when out of memory. scripted_client: NULL for a server or worker; otherwise the host is
 * PROCESS_NOWHERE, and the index is part of its name. */
struct simulated_process *simulated_process_start(struct engine *engine, uint32_t host,
                                                  const struct scripted_client *scripted_client,
                                                  uint32_t index);
void simulated_process_free(struct simulated_process *process);

/* It is stopped; resumes; or has ended, by itself or not: then its threads have no work, but for
 * the owners of one that has ended by itself. */
void simulated_process_hold(struct engine *engine, const struct simulated_process *process);
void simulated_process_release(struct engine *engine, const struct simulated_process *process);
void simulated_process_end(struct engine *engine, struct simulated_process *process);
/* Afterwards: release its unneeded memory. With many short-lived processes that is most of it. */
void simulated_process_bury(struct simulated_process *process);

/* Handle an event; the caller keeps the event, without the parts that were taken. For DUE_WIRE its
 * number is the process's name for the sender. */
void simulated_process_event(struct engine *engine, struct simulated_process *process,
                             struct due *event);

#endif
