/* orders.h - the orders between the cores of one server, within the process.
 *
 *   coordinator -> checkpointer       OPEN_RUN GO_BACK SEND_CHUNKS GONE MANIFEST EVENT
 *                                     SUMMARY
 *   checkpointer -> coordinator       RUN_OPENED MANIFEST_WRITTEN SUMMARY_WRITTEN
 *   router -> owners, checkpointer    LOAD; owners LET_GO
 *   owners, checkpointer -> router    LOADED; owners TAKEN, FIGURES, OWNER_SNAPSHOT, SCORED
 *   router -> coordinator       STOP_AT (server 0)
 *
 * Orders lie in the same queues as messages (outbox, mailbox), so that both keep their order: a
 * packet holds the one or the other. What goes within a server and over the wire alike (CUT,
 * CHUNK_STATE, PART_WRITTEN, STOP) is a message. Orders are never encoded: see message_encode.
 *
 * To add an order: a kind and a struct here, and its handler in the core that takes it (obey).
 *
 * Threads: plain values. */

#ifndef PS_ORDERS_ORDERS_H
#define PS_ORDERS_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/events/event.h"
#include "common/job/tally.h"
#include "common/wire/outbox.h"

enum order_kind {
    ORDER_NONE,
    ORDER_OPEN_RUN,   /* Claim the run directory, find a checkpoint. Payload: the declaration. */
    ORDER_GO_BACK,    /* A new generation; find a checkpoint again. */
    ORDER_RUN_OPENED, /* The answer to both. */
    ORDER_LOAD,       /* Get this server's chunks. */
    ORDER_LOADED,     /* An owner: my chunks are there. The checkpointer: what it could do. */
    ORDER_TAKEN,      /* An exchange has been looked at; no answer yet. With the packet's weight. */
    ORDER_SEND_CHUNKS, /* Another server needs its chunks. */
    ORDER_FIGURES,     /* Staleness of gradients. Payload: a tally (staleness_counters.h). */
    /* My chunks have taken the snapshot, or cannot. Payload: the same tally, as of then. */
    ORDER_OWNER_SNAPSHOT,
    ORDER_SCORED,  /* My chunks have all passed a count of batches that is scored. */
    ORDER_LET_GO,  /* Values kept for scores up to this one are not needed any more. */
    ORDER_STOP_AT, /* The last version there will be. */
    /* All parts are durable. Payload: struct checkpoint_part of each server; behind them, where
     * steps have sets, a list of those since the last snapshot or before (leaf_set.h). */
    ORDER_MANIFEST,
    ORDER_MANIFEST_WRITTEN,
    ORDER_GONE, /* For the record: a worker is lost, or leaves. */
    /* One line for events.jsonl. Payload of an epoch's: the staleness of gradients so far, a
     * struct histogram; or none. */
    ORDER_EVENT,
    /* Rewrite run.json; export the model at the end. Of a run that goes on only the faults
     * count, and there is no answer. Payload: struct run_summary, workers. */
    ORDER_SUMMARY,
    ORDER_SUMMARY_WRITTEN,
    ORDER_COUNT
};

#define ORDER_FROM_CHECKPOINTER UINT32_MAX
#define ORDER_EVERYBODY         UINT32_MAX

struct order_run_opened {
    enum status status;
    char text[MESSAGE_TEXT_MAX]; /* When status is not STATUS_OK. */
    bool restore;
    uint64_t restore_step;
    struct tally_so_far so_far; /* Of restore_step's epoch, before it; see statistics_init. */
    /* The run's, which outlives server 0's process, as recorded in the run directory. */
    uint64_t run_id;
    uint64_t generation; /* As recorded in the run directory. */
    /* Set whether or not another run can be opened: */
    uint64_t ended_run_id; /* Of the run that the directory held, if it had ended; else 0. */
    uint32_t exit_code;    /* Of that run. */
    bool ended;            /* It is the declaring worker's: there is only that to say. */
};

struct plan;
struct order_load {
    const struct plan *plan; /* Read-only, for as long as the server lives. */
    bool restore;
    bool records; /* Chunks log their batches. */
    uint64_t step;
    char out[MESSAGE_TEXT_MAX]; /* Server 0's run directory. */
};

struct order_loaded {
    bool shared;       /* From the checkpointer: it sees server 0's run directory. */
    bool needs_chunks; /* From the checkpointer: the checkpoint is with server 0. */
    enum status status;
    char text[MESSAGE_TEXT_MAX];
};

struct order_scored {
    uint64_t batches;
    bool lost; /* There was no memory to keep some chunk's values. */
};

struct order_written {
    enum status status;
    uint64_t step;               /* Of a manifest. */
    char text[MESSAGE_TEXT_MAX]; /* When status is not STATUS_OK. */
};

struct order_event {
    char name[32];
    char members[EVENT_MEMBERS_MAX]; /* See event_members. */
};

struct order {
    enum order_kind kind;
    uint32_t from; /* To the router: the owner's index, or ORDER_FROM_CHECKPOINTER. */
    uint64_t run_id;
    uint64_t generation; /* That it belongs to. */
    union {
        struct {
            uint64_t known_run_id; /* The run that the declaring worker was in, 0 for none. */
            bool records;          /* The run is recorded. */
        } open_run;
        struct order_run_opened run_opened;
        struct order_load load;
        struct order_loaded loaded;
        struct {
            uint32_t worker; /* Of the exchange. */
        } taken;
        struct {
            uint32_t server; /* Or ORDER_EVERYBODY: all have theirs. */
        } send_chunks;
        struct message_cut_taken owner_snapshot;
        struct order_scored scored;
        struct {
            uint64_t step;
        } stop_at;
        struct {
            uint64_t step;
            struct tally_so_far so_far; /* See statistics_so_far. */
            uint32_t instructions;      /* Of workers: see struct run_record_segment. */
        } manifest;
        struct {
            uint64_t batches;
        } let_go;
        struct {
            uint64_t ticket;
            uint64_t clock; /* Batches that it had finished. */
        } gone;
        struct order_written written;
        struct order_event event;
    };
};

/* Append an order; its payload, weight and validity are as in outbox_add. */
struct packet *order_add(struct outbox *outbox, enum destination to, uint32_t index,
                         const struct order *order);

/* An event that is recorded: its line in the log, if its row has one, and its line for events.jsonl, to the
 * checkpointer. The packet as order_add has it. */
#define order_event(outbox, kind_, ...)                                                            \
    order_put_event(outbox, &(struct event){.kind = (kind_), .origin = HERE, __VA_ARGS__})
struct packet *order_put_event(struct outbox *outbox, const struct event *event);

/* The report within an EXCHANGE, to the coordinator, in its sender's name. Valid until the next. */
struct message_report *order_report(const struct packet *exchange, struct outbox *outbox);

/* The order in a packet, or NULL: it is a message. */
const struct order *order_of(const struct packet *packet);

/* A packet that holds this order. */
struct packet order_packet(const struct order *order);

#endif
