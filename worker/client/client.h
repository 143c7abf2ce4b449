/* client.h - a worker's connection to the servers of its job, for a program that computes
 * gradients.
 *
 *     client_open(&client, &options, &error);
 *     while (client_next(client, &work) == STATUS_OK) {
 *         if (work.early > 0) {
 *             begin with the parameters that are here ...      only if client_begin_at asked
 *         } else if (work.shares > 0) {
 *             score from client_scored(client) ...
 *             client_evaluation(client, &score, took_us);
 *         } else {
 *             compute each of work.nodes from client_parameters(client) ...
 *             client_push(client, &push, gradient);       the last push of a step asks for values
 *         }
 *     }
 *     client_close(&client);
 *
 * The caller's own thread moves the messages inside client_next, so that no other thread has to
 * be woken. While a gradient is computed a second thread says "alive" and watches the deadlines.
 * Where messages are urgent meanwhile (client_ready, client_begin_at), it moves them. The
 * parameters may be read between client_next and the last push of that step; at other times they
 * are being filled.
 *
 * Servers and other workers may come and go meanwhile. The next work is then from elsewhere, and
 * may be one that was done before.
 *
 * Memory, in copies of the model: the parameters, with --mode allreduce the optimizer's slots as
 * well, a gradient, and values while they are scored or in flight.
 *
 * Threads: all functions from one thread, but client_request_stop, client_abandoned and
 * client_request_leave from any. */

#ifndef WORKER_CLIENT_CLIENT_H
#define WORKER_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/deadlines.h"
#include "common/process/notify.h"
#include "common/transport/traffic.h"
#include "worker/client/trainer.h"

struct client;

struct client_options {
    struct transport *transport;
    /* The declaration; job->servers are connected to. Outlives the client. */
    const struct job *job;
    uint32_t worker; /* Task index. */
    uint8_t probe_digest[DIGEST_BYTES];
    const char *job_id; /* An engine's name for the job; NULL: none. */
    bool has_parent;    /* A launcher holds this process by its standard input. */
    struct deadlines deadlines;
    uint64_t began_us;       /* The begin of deadlines.start; 0: client_open. */
    bool must_share;         /* A server that shares no memory with this process is an error. */
    struct process_log *log; /* NULL: none is kept. Outlives the client. */
    const struct listener *listener; /* Of events; NULL: none. Outlives it, too. */
    struct recorder *recorder;       /* Of spans; NULL: none. Outlives the client. */
    struct notify *notify;           /* A service manager's; NULL: none. Outlives the client. */
    /* Called on another thread when the job has ended and the caller still computes after a
     * while: it is stuck, and only ending the process is left. NULL: wait for it. */
    void (*stuck)(int exit_code, const char *reason);
};

enum status client_open(struct client **client, const struct client_options *options,
                        struct error *error);
/* Waits at most two seconds for the last messages to leave. */
void client_close(struct client **client);

/* [elements] the whole parameter space, 64-byte aligned. */
const float *client_parameters(const struct client *client);

/* The same of the model to be scored; between client_next and client_evaluation. */
const float *client_scored(const struct client *client);

/* Wait for work. Any other result than STATUS_OK: the job has ended; why says client_trainer. */
enum status client_next(struct client *client, struct trainer_work *work);

/* Give early work, too, once the next step's parameters are here up to element `end`. Has to be
 * asked for each time. Not of chunks in shared memory. */
void client_begin_at(struct client *client, uint64_t end);

/* A gradient buffer of the whole parameter space without readers; the client's. NULL when out of
 * memory. */
struct frame *client_gradient(struct client *client);

/* Do not compute until due_ns (clock_now_ns), but exchange messages, or until the job has ended
 * for this worker: client_next then says so. */
void client_rest(struct client *client, uint64_t due_ns);

/* Of the last node of a step, under way: the gradient is there, and finite, from element `first`
 * on. It is not written again, and parameters from there on are not read; first only falls. What
 * may leave now does. client_push follows with the same values, and with compute_us, the leaves'
 * times and the score. */
void client_ready(struct client *client, const struct push *push, struct frame *gradient,
                  uint64_t first);

/* What it works on, and how it ended; see trainer_next and trainer_may_push. */
const struct trainer *client_trainer(const struct client *client);

/* Push a node computed from the parameters; gradient came from client_gradient, and is NULL for a
 * bad one. */
void client_push(struct client *client, const struct push *push, struct frame *gradient);

/* Report the score of the share that the work asked for. */
void client_evaluation(struct client *client, const struct score *score, uint64_t took_us);

/* This worker cannot go on. Waits for the end, which is at once. */
void client_fail(struct client *client, int exit_code, const char *reason);

/* A person or the launcher asked for a clean stop. */
void client_request_stop(struct client *client, int exit_code);

/* The parent process is gone; ask for a stop as well. */
void client_abandoned(struct client *client);

/* This worker alone leaves, with EXIT_TERMINATED; the job goes on without it. */
void client_request_leave(struct client *client);

#endif
