/* client.h - a worker's connection to the servers of its job, for whoever computes gradients.
 *
 *     client_open(&client, &options, &error);
 *     while (client_next(client, &work) == STATUS_OK) {
 *         if (work.shares > 0) {
 *             score from client_scored(client) ...
 *             client_evaluation(client, &work, &score, 0, took_us);
 *         } else if (work.enough) {
 *             client_done(client);                        and wait: there may be more, after all
 *         } else if (work.early > 0) {
 *             begin with the parameters that are here ...      unless client_begin_at asks, none comes
 *         } else {
 *             compute from client_parameters(client) ...
 *             client_push(client, &push, gradient);       the last push of a step asks for values
 *         }
 *     }
 *     client_close(&client);
 *
 * Whoever waits does the work: inside client_next the caller's own thread moves the messages, so
 * that no other has to be woken on the way. While a gradient is computed a second thread says
 * "alive" and watches the deadlines; and where messages go to and fro meanwhile (client_ready,
 * client_begin_at), it moves them. Between client_next and the last push of that step the
 * parameters may be read; the rest of the time they are being filled.
 *
 * Servers and other workers may come and go meanwhile: the next work is then from elsewhere, also
 * one that was done before.
 *
 * Memory, in copies of the model: the parameters, with --mode allreduce the optimizer's slots as well, a
 * gradient, and values while they are scored or on their way.
 *
 * Threads: all functions from one thread, but client_request_stop, client_abandoned and
 *   client_request_leave from any. */

#ifndef WORKER_CLIENT_CLIENT_H
#define WORKER_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/deadlines.h"
#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/process/notify.h"
#include "common/steps/step_shape.h"
#include "common/transport/transport.h"
#include "common/wire/process_log.h"
#include "worker/model/model.h"

struct client;
struct recorder;

struct client_options {
    struct transport *transport;
    const struct job
        *job;        /* Declared as it is; job->servers are connected to. Outlives the client. */
    uint32_t worker; /* Task index. */
    uint8_t probe_digest[DIGEST_BYTES];
    const char *job_id; /* What an engine calls the job; NULL: nothing does. */
    bool has_parent;    /* A launcher holds this process by its standard input. */
    struct deadlines deadlines;
    uint64_t began_us;       /* From when deadlines.start counts; 0: client_open. */
    bool must_share;         /* A server that shares no memory with this process is an error. */
    struct process_log *log; /* NULL: none is kept. Outlives the client. */
    const struct listener *listener; /* Of events; NULL: none. Outlives it, too. */
    struct recorder *recorder;       /* Of what it does; NULL: nobody's. The same. */
    struct notify *notify;           /* Of a service manager; NULL: nobody's. The same. */
    /* Called, on another thread, when the job has ended and the caller has been computing on for a
     * while: it is stuck, and only ending the process is left. NULL: wait for it. */
    void (*stuck)(int exit_code, const char *reason);
};

/* What to compute next. */
struct work {
    uint64_t early;   /* Above 0: parameters before this element are here, and until the next
                                 * client_next they stay; the rest of the step is to come. Then shape,
                                 * step, members and position are what it will be of, unless something
                                 * else comes first. */
    bool begun;       /* The values are those of the early work just before this. */
    bool enough;      /* Nothing: training is over; say done. */
    uint64_t step;    /* Step (sync) or batch (async); when enough, the last version. */
    uint64_t started; /* Step at which the job, or this assignment of it, began. */
    uint32_t members, position; /* Sync: leaves are dealt among the members. */
    struct step_shape shape;    /* Unless there is enough: what the step or batch is. */
    uint32_t share, shares;     /* With shares, none of the above but: score this one of so many of
                             * the test set, on the model after `step` batches. */
};

struct push {
    uint64_t step;
    struct node node;
    uint32_t examples;
    bool last; /* Of this step: asks for parameters. */
    bool bad;  /* Async: the gradient is not finite, and NULL: the batch is skipped, and counted. */
    uint64_t compute_us, early_us; /* The second, of the first: before it was given the step. */
    uint32_t leaves, longer; /* Of controlled time, and of these the longer ones; see throttle.h. */
    uint64_t leaf_ns;        /* What one of its leaves took; see node_gradient_sample. */
    struct score score;      /* Counted once, with the node. */
};

enum status client_open(struct client **client, const struct client_options *options,
                        struct error *error);
/* Waits for the last words to leave, at most two seconds. */
void client_close(struct client **client);

/* [elements] the whole parameter space, 64-byte aligned. */
const float *client_parameters(const struct client *client);

/* The same, of the model to be scored; between client_next and client_evaluation. */
const float *client_scored(const struct client *client);

/* Wait for work. Anything but STATUS_OK: the job has ended; see client_exit_code. */
enum status client_next(struct client *client, struct work *work);

/* Give early work, too, when the next step's parameters are here up to element `end`, unless all are here
 * sooner; it has to be asked for each time. Only of chunks that come from elsewhere than memory that is
 * shared. */
void client_begin_at(struct client *client, uint64_t end);

/* A gradient buffer of the whole parameter space that nobody is reading; the client's. NULL when
 * out of memory. */
struct frame *client_gradient(struct client *client);

/* Compute no more until due_ns (clock_now_ns), but go on hearing and saying what there is, or until
 * the job has ended for this worker: client_next then says so, whatever is pushed before. */
void client_rest(struct client *client, uint64_t due_ns);

/* Of the last node of a step, which is being computed: the gradient is there, and finite, from element
 * `first` on, and neither is it written again nor are parameters from there on read; first only falls.
 * What may leave now does, and client_push follows, with the same but for what is not known yet:
 * compute_us, the leaves' times and the score. */
void client_ready(struct client *client, const struct push *push, struct frame *gradient,
                  uint64_t first);

/* Push a node computed from the parameters; gradient came from client_gradient. NULL for a worker
 * without leaves in this step, which only asks for parameters, and for a bad one. */
void client_push(struct client *client, const struct push *push, struct frame *gradient);

/* Report the share of a test score that the work asked for. regularisation: l2_loss of the model, with
 * share 0 where the job has it; else 0. */
void client_evaluation(struct client *client, const struct work *work, const struct score *score,
                       double regularisation, uint64_t took_us);

/* Training is over for this worker, as far as is known; client_next waits until the job has ended
 * for everybody. */
void client_done(struct client *client);

/* This worker cannot go on. Waits for the end, which is at once. */
void client_fail(struct client *client, int exit_code, const char *reason);

/* A person or the launcher asked for a clean stop. */
void client_request_stop(struct client *client, int exit_code);

/* Whoever started this process is gone; ask for a stop as well. */
void client_abandoned(struct client *client);

/* This worker alone is to go, with EXIT_TERMINATED: the job goes on without it. */
void client_request_leave(struct client *client);

/* After client_next failed. */
int client_exit_code(const struct client *client);
const char *client_exit_reason(const struct client *client);

#endif
