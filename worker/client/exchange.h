/* exchange.h - the chunks under way between a worker and its servers: who has been asked for what,
 * which gradients were sent, what is confirmed, and what has to be said again.
 *
 * An exchange is one of
 *
 *     newest    every chunk is asked for at whichever version it is; then those that are ahead of
 *               the lowest are asked for exactly that one (sync). How a worker joins the flow.
 *     step      the nodes of one step are pushed; parameters are asked for with the last one.
 *     scored    every chunk is asked for the values that it has kept for a score (scoring.h).
 *
 * It is complete when every chunk has come. A request without its answer is repeated: as a header
 * only, and the server says whether it holds the gradient or has to be sent it again; so all nodes
 * of a step are referred to until it is complete. A repeated request for values has a new number.
 * Of several answers the first to come is taken; but values that stay in memory of the server's
 * only from the answer to the latest, because a later answer is written over an earlier one's, and
 * so where gradients are compensated, because a server keeps what it gave in the latest.
 *
 * Of what is sent to one server and not confirmed there are never more than WINDOW_BYTES,
 * but always two chunks; the rest waits here in order. Where a step waits for several workers on
 * several hosts, they keep together: the window is small (bandwidth_share.h), and from the step's first values
 * on it is of what has not been answered, not of what has not arrived.
 *
 * The last node of a step may be pushed as it comes (exchange_push_ready): what of its gradient is
 * there leaves, and is answered like anything that was pushed. To the servers that is a push of which
 * some messages are late. The chunk with the report leaves last, so nothing is complete before all has
 * been pushed. A gradient comes from its end to its beginning, and the next forward pass needs values
 * from their beginning on: so of what is there the first chunk leaves first, and meanwhile no more than
 * two chunks are unconfirmed at a server, lest what comes later and is needed sooner stand behind them
 * in a queue (Jayarajan et al., "Priority-based parameter propagation for distributed DNN training",
 * SysML 2019).
 *
 * Values may be read before all have come: those from the beginning up to the first that are missing
 * (exchange_front) are not written again in this exchange; nor in another one while they are read
 * (exchange_read): an answer that would be is not taken, and comes when it is asked for again.
 *
 * Threads: the session's. Time arrives as an argument.
 * Ownership: borrows job, partition and the memory for parameters. */

#ifndef WORKER_CLIENT_EXCHANGE_H
#define WORKER_CLIENT_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/partition.h"
#include "common/job/tree.h"
#include "common/transport/transport.h"
#include "common/wire/envelope.h"
#include "worker/client/replica.h"
#include "worker/client/version_skew.h"

#define EXCHANGE_RETRY_US      1000000u   /* Without any progress; doubled ... */
#define EXCHANGE_RETRY_MOST_US 4000000u   /* ... up to this. */
#define EXCHANGE_WHATEVER      UINT64_MAX /* Of versions. */

struct asked; /* A chunk. */
struct link;  /* A server. */

/* One node of the step under way. */
struct pushed {
    struct message_exchange what; /* For every chunk, but its number. */
    struct frame *gradient;       /* [elements], or NULL: nothing to push, or a skipped batch. */
    uint64_t first_request;       /* Chunk 0's; the others' follow. */
    uint8_t *sent;                /* [chunk_count] enum sent; kept from step to step. */
};

enum exchange_outcome {
    EXCHANGE_IGNORED,  /* Not asked for, or not any more. */
    EXCHANGE_PROGRESS, /* That is one. */
    EXCHANGE_COMPLETE, /* That was the last: all parameters are of exchange->version (sync). */
    EXCHANGE_MISSED,   /* What was asked for is gone: ask for the newest. */
    EXCHANGE_REJECTED, /* A gradient was refused (sync). */
    EXCHANGE_MEMORY,   /* Out of memory for a gradient. */
};

struct exchange {
    const struct job *job;
    const struct partition *partition;
    float *parameters;       /* [elements] where values are copied to that do not stay. */
    const float *view;       /* [elements] the parameters that have come. */
    struct replica *replica; /* The session's: sums are applied to it. NULL: values are given. */
    struct asked *chunks;
    struct link *links;
    uint32_t report_chunk; /* The one whose EXCHANGE carries the report: server 0's first. */
    uint32_t under_way;    /* Chunks without their answer. */
    struct pushed pushed[TREE_COVER_MAX];
    uint32_t pushed_count;
    bool early;       /* Some of the last node left before the rest was there. */
    bool open;        /* The last node is pushed as it comes: ... */
    uint64_t ready;   /* ... it is there from this element on. */
    bool newest;      /* This is a newest one. */
    bool pulls;       /* It began as one: values are asked for, whatever there is beside. */
    bool apart;       /* Gradients must not go through memory that servers see. */
    uint64_t version; /* Sync: that all chunks have, or will have. */
    uint64_t serial;  /* Another one for values that may be others. */
    uint32_t front;   /* The chunks before it have come, when all are asked for. */
    uint64_t read_to; /* Parameters before this element are being read. */
    uint64_t began_us;
    /* Of the answers: */
    uint32_t held_us; /* The longest wait at a barrier, and how much of it is told, ... */
    uint32_t held_told_us;
    uint32_t held_for;        /* ... one more than the worker that it was for, or 0, ... */
    uint64_t let_go_us;       /* ... and when the first came that had waited; 0: none. */
    uint64_t missed_at;       /* After EXCHANGE_MISSED: the version that some chunk is at. */
    bool refused;             /* Some chunk has not taken the gradient: it was too stale. */
    uint64_t paced;           /* How often chunks began to wait so that workers keep together. */
    struct version_skew skew; /* The versions that they are of. */
};

enum status exchange_init(struct exchange *exchange, const struct job *job,
                          const struct partition *partition, float *parameters);
void exchange_free(struct exchange *exchange);

/* Nothing is under way; answers that come are ignored. Frees all gradients. */
void exchange_forget(struct exchange *exchange);

/* Forget, and ask for everything anew. */
void exchange_ask_newest(struct exchange *exchange, struct envelope *envelope, uint64_t now_us,
                         struct outbox *outbox);

/* Of the last node of a step the gradient is there from element `first` on, and the parameters from
 * there on may be written: push of it what may leave before the rest. first only falls until
 * exchange_push comes with the same node, which is to follow. STATUS_MEMORY. */
enum status exchange_push_ready(struct exchange *exchange, struct envelope *envelope,
                                const struct message_exchange *what, struct frame *gradient,
                                uint64_t first, uint64_t now_us, struct outbox *outbox);

/* Push a node (gradient: a reference is taken), skip a batch or, with neither, only ask; or the rest
 * of what is pushed as it comes. With what->want this is the last of its step, and the exchange is
 * under way. STATUS_MEMORY. */
enum status exchange_push(struct exchange *exchange, struct envelope *envelope,
                          const struct message_exchange *what, struct frame *gradient,
                          uint64_t now_us, struct outbox *outbox);

/* Up to which element all values are here, where the parameters are, that the exchange under way ends
 * with; 0: none, or other ones are to be asked for yet. */
uint64_t exchange_front(struct exchange *exchange);

/* From now on parameters before element `end`, no more than exchange_front said, are being read; 0: they
 * are not. */
void exchange_read(struct exchange *exchange, uint64_t end);

/* Answers from server number `server`. Payloads stay the caller's. */
enum exchange_outcome exchange_take_result(struct exchange *exchange, struct envelope *envelope,
                                           uint32_t server, const struct packet *packet,
                                           uint64_t now_us, struct outbox *outbox);
enum exchange_outcome exchange_take_receipt(struct exchange *exchange, struct envelope *envelope,
                                            uint32_t server, const struct message *message,
                                            uint64_t now_us, struct outbox *outbox);
enum exchange_outcome exchange_take_moved_on(struct exchange *exchange, uint32_t server,
                                             const struct message *message, uint64_t now_us);

/* Say again what has waited too long for its answer. */
void exchange_tick(struct exchange *exchange, struct envelope *envelope, uint64_t now_us,
                   struct outbox *outbox);

/* For how long the server that has said nothing longest has owed an answer; 0 when none does. */
uint64_t exchange_silence_us(const struct exchange *exchange, uint64_t now_us, uint32_t *server);

/* This process was stopped for a while: nobody was silent meanwhile. */
void exchange_resume(struct exchange *exchange, uint64_t gap_us, uint64_t now_us);

/* The versions of what the view has, of every chunk. */
void exchange_versions(const struct exchange *exchange, uint64_t *versions);

/* Whether gradients were sent whose step is not known to be over; then of which. */
bool exchange_has_pushed(const struct exchange *exchange, uint64_t *step);

#endif
