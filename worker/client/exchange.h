/* exchange.h - the chunks under way between a worker and its servers: requests, sent gradients,
 * confirmations and repeats.
 *
 * An exchange is one of
 *
 *     newest    every chunk is asked for at its newest version; then those that are ahead of
 *               the lowest are asked for exactly that one (sync). How a worker joins the flow.
 *     step      the nodes of one step are pushed; parameters are asked for with the last one.
 *     scored    every chunk is asked for the values that it has kept for a score (scoring.h).
 *
 * It is complete when every chunk has come. A request without an answer is repeated as a header
 * only. The server then says whether it holds the gradient or needs it again, so all nodes of a
 * step are kept until it is complete. A repeated request for values has a new number, and the
 * first answer counts. But values in the server's memory count only from the answer to the
 * latest request, because a later answer overwrites them. The same holds where gradients are
 * compensated, because a server keeps its latest answer as the base.
 *
 * At most WINDOW_BYTES, but always two chunks, are sent to one server and unconfirmed; the rest
 * waits here in order. Where a step waits for workers on several hosts, they keep together: the
 * window is small (bandwidth_share.h). From the step's first values on it counts bytes that are
 * not answered, and not only those that have not arrived.
 *
 * The last node of a step may be pushed as it comes (exchange_push_ready). The servers see a
 * push of which some messages are late. The chunk with the report leaves last, so nothing is
 * complete before all is pushed. A gradient comes from its end to its beginning, but the next
 * forward pass needs values from the beginning on. So the first chunk that is there leaves
 * first, and meanwhile at most two chunks are unconfirmed at a server. Else a chunk that comes
 * later and is needed sooner would stand behind them in a queue (Jayarajan et al.,
 * "Priority-based parameter propagation for distributed DNN training", SysML 2019).
 *
 * Values may be read before all have come. Those up to the first that is missing
 * (exchange_front) are not written again in this exchange, nor in another one while they are
 * read (exchange_read). An answer that would overwrite them is not taken, and comes when it is
 * asked for again.
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
#include "worker/mode/computation.h"

#define EXCHANGE_RETRY_US      1000000u   /* Without any progress; doubles. */
#define EXCHANGE_RETRY_MOST_US 4000000u   /* Doubled up to this. */
#define EXCHANGE_WHATEVER      UINT64_MAX /* As a version: any. */

struct asked; /* A chunk. */
struct link;  /* A server. */

/* One node of the step under way. */
struct pushed {
    struct message_exchange what; /* The same for every chunk, but for its number. */
    struct frame *gradient;       /* [elements], or NULL: nothing to push, or a skipped batch. */
    uint64_t first_request;       /* Chunk 0's; the others' follow. */
    uint8_t *sent;                /* [chunk_count] enum sent; kept from step to step. */
};

enum exchange_outcome {
    EXCHANGE_IGNORED,  /* Not asked for, or no more. */
    EXCHANGE_PROGRESS, /* One answer more. */
    EXCHANGE_COMPLETE, /* The last one: all parameters are of exchange->version (sync). */
    EXCHANGE_MISSED,   /* The requested version is gone: ask for the newest. */
    EXCHANGE_REJECTED, /* A gradient was refused (sync). */
    EXCHANGE_MEMORY,   /* Out of memory for a gradient. */
};

struct exchange {
    const struct job *job;
    const struct partition *partition;
    float *parameters;       /* [elements] for values that are copied. */
    const float *view;       /* [elements] the parameters that have come. */
    struct replica *replica; /* The session's, to which sums are applied. NULL: values come. */
    /* The session's: what gradients with a count are made from. NULL: none has one. */
    const struct computation *computation;
    struct asked *chunks;
    struct link *links;
    uint32_t under_way; /* Chunks without their answer. */
    struct pushed pushed[TREE_COVER_MAX];
    uint32_t pushed_count;
    bool early;       /* Part of the last node left before the rest was there. */
    bool open;        /* The last node is pushed as it comes. */
    uint64_t ready;   /* It is there from this element on. */
    bool pulls;       /* It began as a `newest` one: values are asked for in any case. */
    bool apart;       /* Gradients must not go through memory that servers see. */
    uint64_t version; /* Sync: of all chunks, or to be. */
    uint64_t serial;  /* Changes where the values may. */
    uint32_t front;   /* The chunks before it have come, when all are asked for. */
    uint64_t read_to; /* Parameters before this element are being read. */
    uint64_t began_us;
    /* From the answers: */
    uint32_t held_us; /* The longest wait at a barrier, and the part of it that was reported. */
    uint32_t held_reported_us;
    uint32_t held_for;        /* One more than the worker that it was for; 0: not known. */
    uint64_t let_go_us;       /* When the first answer came that had waited; 0: none. */
    uint64_t missed_at;       /* After EXCHANGE_MISSED: a chunk's version. */
    bool refused;             /* Some chunk refused the gradient as too stale. */
    uint64_t paced;           /* How often chunks began to wait so that workers keep together. */
    struct version_skew skew; /* Of the versions of the values. */
};

enum status exchange_init(struct exchange *exchange, const struct job *job,
                          const struct partition *partition, float *parameters);
void exchange_free(struct exchange *exchange);

/* Nothing is under way; answers are ignored. Frees all gradients. */
void exchange_forget(struct exchange *exchange);

/* Forget, and ask every chunk for the values that `what` names. */
void exchange_ask(struct exchange *exchange, struct envelope *envelope,
                  const struct message_exchange *what, uint64_t now_us, struct outbox *outbox);

/* Of the last node of a step the gradient is there from element `first` on, and parameters from
 * there on may be written: push what may leave before the rest. first only falls until
 * exchange_push comes with the same node, which has to follow. STATUS_MEMORY. */
enum status exchange_push_ready(struct exchange *exchange, struct envelope *envelope,
                                const struct message_exchange *what, struct frame *gradient,
                                uint64_t first, uint64_t now_us, struct outbox *outbox);

/* Push a node (gradient: takes a reference), skip a batch or, with neither, only ask; or push
 * the rest of an open node. With what->want it is the last of its step, and the exchange is
 * under way. STATUS_MEMORY. */
enum status exchange_push(struct exchange *exchange, struct envelope *envelope,
                          const struct message_exchange *what, struct frame *gradient,
                          uint64_t now_us, struct outbox *outbox);

/* The element up to which all values are here, in their final place, of the exchange under way;
 * 0: none, or others have to be asked for. */
uint64_t exchange_front(struct exchange *exchange);

/* Parameters before element `end`, at most exchange_front, are being read from now on; 0: none
 * are. */
void exchange_read(struct exchange *exchange, uint64_t end);

/* RESULT, RECEIPT or MOVED_ON from server number `server`. Its payload stays the caller's. */
enum exchange_outcome exchange_take(struct exchange *exchange, struct envelope *envelope,
                                    uint32_t server, const struct packet *packet, uint64_t now_us,
                                    struct outbox *outbox);

/* Repeat requests that have waited too long. */
void exchange_tick(struct exchange *exchange, struct envelope *envelope, uint64_t now_us,
                   struct outbox *outbox);

/* How long the most silent server has owed an answer; 0 when none does. */
uint64_t exchange_silence_us(const struct exchange *exchange, uint64_t now_us, uint32_t *server);

/* This process was stopped for a while: no server was silent meanwhile. */
void exchange_resume(struct exchange *exchange, uint64_t gap_us, uint64_t now_us);

/* One more than the step that gradients were sent of, and that is not known to be over; else 0. */
uint64_t exchange_pushed_end(const struct exchange *exchange);

#endif
