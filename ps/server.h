/* server.h - one server process: the cores, driven by threads.
 *
 *                     ROUTER socket        DEALER to server 0 (other servers)
 *                          |                  |
 *     .-------------- router thread ------------------.
 *     |   router core, and on server 0 coordinator    |
 *     '--+----------------+-------------------+-------'
 *        | mailbox        | mailbox           | mailbox
 *     owner 0    ...   owner n-1            checkpointer
 *
 * Everything between threads goes through mailboxes. With owner_threads 0 the router's thread runs
 * one owner itself: on few cores and for small models a hand-over costs more than it brings.
 *
 * Memory, at most, in bytes:
 *
 *     S  the values of this server's chunks: 4 x elements     c  the largest chunk
 *     k  slots of the optimizer (0 to 2)      L  the leaves of the largest step
 *     W  the highest worker index seen + 1    n  nodes that one worker pushes in a step (plan.h)
 *     m  a message under way inside this process, about 1.5 KiB      C  its chunks
 *     G  one worker's window: max(16 MiB, 2c) + (1024 + 2 C n) m
 *
 *     model            sync (3 + k) S: a version, the one before, a spare to write the next to
 *                      async (2 + k) S; with delay compensation (W + 3 + k) S, or 1 more where it
 *                      adapts: what each worker computes from, a gradient that is moved, and the
 *                      mean square; with --accumulate S more: the sum of the group that is open
 *                      allreduce (5 + k) S: the sums that made the version and the one before as well
 *     held gradients   sync, at the barrier: (min(W n, L / 2 rounded up) + 1) S
 *                      sync+backup (W n or, dealt anew, at most 4 L) S: nodes are kept as they came until the
 *                      step is closed; on server 0 some 4 (B + 2) bytes for each step since the newest
 *                      checkpoint: which leaves it was made of (65,536 steps at most,
 *                      unless checkpoints cannot be written)
 *     between threads  W G: gradients and requests with the owners, see sessions.h
 *     a score          S: values kept until it is whole, see scores.h; with --keep-scored S more,
 *                      and on server 0 twice the model: chunks on their way, and the one they make
 *     answers          W (4 S + 2 c): values on their way to workers, see in_flight.h. What versions
 *                      they are is shared, so honest workers that keep up take nothing here
 *     a checkpoint     (1 + k) S under way with the checkpointer, once more while it loads one; on
 *                      server 0 those of the servers that do not see its disk as well
 *     the record       4 C for each batch since the cut before, twice while it is handed over; on
 *                      server 0 (40 + C) more for each, and as much again: at most 65,536 batches,
 *                      and while checkpoints cannot be written what comes on top
 *     waiting          64 C W for requests, 64 x 1024 for sessions
 *     sharing          for each worker on this host (n + 1) S and two rings (window.h); in sync the
 *                      values then lie in 2 S of shared memory, and S of the model's are private
 *                      only while a connection or a checkpoint holds a version, or after a reload
 *     the transport    25 KiB a connection, and what came over it and was not taken yet: of a worker
 *                      that keeps to the rules at most its window. Nothing else bounds it (MemoryMax=
 *                      of the service, the container's limit)
 *     a declaration    12 MiB, four times that while it is decoded
 *
 * So W workers cost at most W (G + 4 S + 2 c), their windows, and the held gradients, and nothing
 * grows with time; what was freed is kept for the next time, so resident memory stays
 * at its highest. A process that was replaced keeps its answers until its connection ends. Two
 * generations do not add up: of the one before only messages in flight are left.
 *
 * Threads: server_run is the router thread and makes the others; server_request_stop,
 *   server_abandoned and server_enough may be called from any thread. */

#ifndef PS_SERVER_H
#define PS_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file/disk.h"
#include "common/options/options.h"
#include "common/process/notify.h"
#include "common/tensorboard/board_place.h"
#include "common/transport/traffic.h"
#include "ps/coordinator/coordinator.h"
#include "ps/watch/showing.h"

struct server;

struct server_options {
    struct transport *transport;
    const struct disk *disk;
    uint32_t index;
    const char *listen;               /* As for a transport. */
    const char *name;                 /* For others; NULL: as `listen`. */
    const char *coordinator;          /* Server 0's address; NULL on server 0: as `name`. */
    const char *job_id;               /* An engine's name for the job; NULL: none. */
    const char *port_file;            /* For the bound address; NULL: none. */
    const char *out, *restore, *page; /* page: see checkpointer.h. */
    const char *initial;              /* NULL: not given. */
    struct board_place board;         /* Of server 0; see checkpointer.h. */
    uint32_t keep;                    /* Checkpoints; 0: as the run began with. */
    int32_t owner_threads;            /* -1: choose. */
    struct deadlines deadlines;
    uint64_t began_us; /* The begin of deadlines.start, by clock_now_us. */
    enum worker_loss on_worker_loss;
    uint32_t max_bad_gradients;
    bool allow_mixed;
    bool has_parent;                 /* A launcher stands for the job, see occupancy.h. */
    struct process_log *log;         /* NULL: none is kept. */
    const struct listener *listener; /* Of events; NULL: none. */
    struct recorder *recorder;       /* Of its threads; NULL: none. Both outlive the server. */
    struct notify *notify;           /* A service manager's; NULL: none. */
    /* Where it shows its state now and then; NULL: nowhere. */
    struct watched_board *board_of_figures;
};

/* Listens at once, so that an address in use is an error here. */
enum status server_create(struct server **server, const struct server_options *options,
                          struct error *error);
void server_destroy(struct server **server);

/* Its address for others, and the numeric ones where it listens. */
const char *server_address(const struct server *server);
const char *server_bound(const struct server *server);

/* Ask for a clean stop with EXIT_INTERRUPTED or EXIT_TERMINATED. */
void server_request_stop(struct server *server, int exit_code);

/* Ask server 0 for a clean stop of a job that has been trained enough: it ends with EXIT_DONE,
 * as soon as it has started. From one thread, once. */
void server_enough(struct server *server, const char *why);

/* The launcher of this process is gone; ask for a stop as well. */
void server_abandoned(struct server *server);

/* Serve until the job is over; the exit code, with one line in reason when it is not 0. */
int server_run(struct server *server, struct error *reason);

#endif
