/* message.h - every message of the protocol as a plain struct, and its header frame.
 *
 * message.c is the only user of protobuf-c. Decoding takes at most HEADER_BYTES_MAX bytes,
 * allocates from a fixed arena on the stack, and checks every enum, length and count. Its
 * results are safe to look at; whether a number makes sense (is there such a chunk?) is checked
 * by its handler, which has the plan. proto/PROTOCOL.md says who sends what and when.
 *
 * To add a message: a message in syncopate.proto, a kind and a struct here, its fields in
 * message_rows.inc, its handler in the core that receives it, and its text in
 * deploy/explain/words.c.
 *
 * Threads: plain values. */

#ifndef COMMON_WIRE_MESSAGE_H
#define COMMON_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/hash.h"
#include "common/base/key.h"
#include "common/base/origin.h"
#include "common/base/status.h"
#include "common/base/wait.h"
#include "common/figures/figures.h"
#include "common/job/checkpoint_part.h"
#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/job/verdict.h"

#define PROTOCOL_VERSION_MIN 9
#define PROTOCOL_VERSION_MAX 9
#define HEADER_BYTES_MAX     4096
#define MESSAGE_TEXT_MAX     400
#define JOB_PAGE_BYTES       1024
#define GRADIENT_PAGE_BYTES  1024
#define GRADIENT_BYTES_MAX   (10u << 16) /* Of all pages: PARTITION_CHUNKS_MAX versions. */
#define JOB_BYTES_MAX        (12u << 20)
#define WINDOW_BYTES         (16u << 20) /* Gradients in flight from one worker to one server. */

enum role { ROLE_NONE, ROLE_PS, ROLE_WORKER, ROLE_OBSERVER, ROLE_COUNT };

enum refusal {
    REFUSAL_NONE,
    REFUSAL_VERSION,
    REFUSAL_JOB,
    REFUSAL_MEMBER,
    REFUSAL_RUN,
    REFUSAL_PROBE,
    REFUSAL_MALFORMED,
    REFUSAL_REJOIN,
    REFUSAL_KEY,
    REFUSAL_OWNER, /* Of a LEAVE alone; its sender stays a member. */
    REFUSAL_COUNT
};

/* The standard input by which a launcher holds a process (parent.h): it ends with the launcher,
 * and with the connection to it. */
enum leash { LEASH_NONE, LEASH_HELD, LEASH_LOST, LEASH_COUNT };

enum message_kind {
    MESSAGE_NONE, /* No message, see struct packet. */
    MESSAGE_JOIN,
    MESSAGE_WANT_JOB,
    MESSAGE_JOB_PAGE,
    MESSAGE_WELCOME,
    MESSAGE_WAITING,
    MESSAGE_REFUSED,
    MESSAGE_READY,
    MESSAGE_START,
    MESSAGE_PING,
    MESSAGE_PONG,
    MESSAGE_EXCHANGE,
    MESSAGE_RESULT,
    MESSAGE_MOVED_ON,
    MESSAGE_LEASE,
    MESSAGE_WORK,
    MESSAGE_REPORT,
    MESSAGE_EVALUATION,
    MESSAGE_DONE,
    MESSAGE_RECEIPT,
    MESSAGE_GRADIENT,
    MESSAGE_LEAVE,
    MESSAGE_STOP,
    MESSAGE_CUT,
    MESSAGE_CUT_TAKEN,
    MESSAGE_CLOSE,
    MESSAGE_CHUNK_STATE,
    MESSAGE_PART_WRITTEN,
    MESSAGE_FINISHED,
    MESSAGE_BYE,
    MESSAGE_STATUS,
    MESSAGE_STATUS_ANSWER,
    MESSAGE_DISMISS,
    MESSAGE_DISMISSED,
    MESSAGE_KIND_COUNT
};

struct message_join {
    uint32_t version_min, version_max;
    uint8_t job_digest[DIGEST_BYTES]; /* Zeros from a server. */
    uint8_t probe_digest[DIGEST_BYTES];
    char host[64];
    char arithmetic[64];
    char job_id[JOB_ID_BYTES]; /* An engine's name for the job; "": none. */
};

struct message_job_page {
    uint32_t offset, total; /* Bytes. */
    uint32_t bytes;
    uint8_t page[JOB_PAGE_BYTES];
};

struct message_welcome {
    bool restore;
    uint64_t restore_step;
    char out[MESSAGE_TEXT_MAX];
    uint64_t ticket, proof;
    uint8_t secret[HASH_BYTES]; /* Zeros to a worker. See ps/work/proof.h. */
    bool records;               /* Chunks log the gradients that they have had. */
};

struct message_ready {
    bool shared, needs_chunks;
    uint64_t scored;  /* The last scored count of batches that all its chunks have passed. */
    bool scored_lost; /* Not all of them could keep their values. */
    uint32_t leash;   /* enum leash */
};

struct message_start {
    uint64_t step;
    uint32_t assignment, members, position;
    uint64_t stop_step;
    bool records; /* Gradients are described before they are sent. */
};

/* The payload: a list (leaf_set.h) of the step's set. */
struct message_close {
    uint64_t step;
};

struct message_ping {
    uint64_t step;
    uint32_t assignment; /* Workers: the one they follow. */
    bool computing;
    uint32_t leash; /* enum leash */
};

/* A worker's time since its first START, as sums that only grow, and its bytes. */
struct message_times {
    uint64_t wall_us; /* All that passed, of which the rest are parts. */
    uint64_t compute_us, exchange_us, evaluate_us;
    uint64_t barrier_us, bound_us, gate_us, lease_us; /* Waiting; see common/base/wait.h. */
    /* One more than the worker that was waited for longest since the last report; 0: not known. */
    uint32_t whom;
    uint64_t whom_us; /* How long for it, and for those that were named before. */
    /* Of payload, sent and received, since the first START of this server 0. */
    uint64_t exchanged_bytes;
};

struct message_report {
    uint64_t step;
    struct node node;
    int64_t loss; /* In the job's unit of loss. */
    uint64_t correct, examples;
    struct message_times times;
    bool bad;                     /* The gradient was not finite. */
    uint64_t spread, part_spread; /* Of its base versions; see worker/client/version_skew.h. */
    /* Of controlled time: leaves, and those that took longer than given. */
    uint32_t leaves, longer;
    uint64_t leaf_ns; /* The computing time of a whole leaf; 0: none. */
    /* Within server 0: its chunk has refused the gradient, and only the times count. */
    bool refused;
};

struct message_exchange {
    uint32_t chunk;
    uint64_t step;
    uint64_t base_version;
    bool gradient;
    struct node node;
    uint32_t examples;
    bool want;
    uint64_t want_version;
    bool newest;     /* Asks for the newest version. */
    bool retry;      /* The gradient was sent before, and is not with this. */
    bool receipt;    /* Say at once whether the gradient is held. */
    bool skip;       /* Async: the batch's gradient was not finite; count the batch without one. */
    bool has_report; /* For server 0's first chunk alone. */
    struct message_report report;
    uint64_t count; /* The sender's, of its GRADIENT; 0: the job has no record. */
    bool scored; /* Asks for the values that are kept for the score after want_version batches. */
    bool sum;    /* All-reduce: asks for the sum that makes want_version, and not its values. */
    bool slots;  /* All-reduce: asks for the values and the slots. */
    uint64_t replica; /* Hash of the sender's replica at base_version (replica.h); 0: none. */
    /* Within a server: its description's number (ps/shard/descriptions.h), and ticket. */
    uint64_t described, named;
};

struct message_lease {
    bool finished; /* The sender has finished `finished_batch`, if that follows. */
    uint64_t batch;
};

/* A page of what describes a gradient. */
struct message_gradient {
    uint64_t count;  /* The sender's, from 1 on. */
    uint64_t ticket; /* The sender's at the START before it began this. */
    uint64_t batch;
    uint64_t clock;         /* Where workers have clocks: batches that it had finished; else 0. */
    uint32_t offset, total; /* Bytes of the versions that it was made from (common/job/bases.h). */
    uint32_t bytes;
    uint8_t bases[GRADIENT_PAGE_BYTES];
};

struct message_receipt {
    uint32_t chunk;
    uint64_t step;
    struct node node;
    bool missing; /* The gradient is not here: send it. */
};

struct message_result {
    uint32_t chunk;
    enum verdict verdict;
    uint64_t version;
    uint64_t staleness;
    uint32_t held_us;
    /* One more than the worker whose gradient it waited for; 0: it did not wait. */
    uint32_t held_for;
    uint64_t stop_step;
    bool parameters;
    bool scored;    /* Values of a score: version is a count of batches. */
    bool sum;       /* The payload is the sum of the step that made the version. */
    uint32_t array; /* The payload is this array of the chunk: 0 the values, from 1 on the slots. */
};

struct message_work {
    bool enough, none;
    uint64_t batch;
    enum wait waited;       /* The reason of its wait until now, if it waited. */
    uint32_t whom;          /* One more than the worker that it waited for; 0: not known. */
    uint64_t clock;         /* Where workers have clocks: the receiver's, as far as is known. */
    uint64_t scored;        /* Not 0: score the model after so many batches, and no more. */
    uint32_t share, shares; /* The share of the test set to score. */
};

struct message_evaluation {
    uint64_t step; /* Batches that the model has had. */
    int64_t loss;
    uint64_t correct, examples, not_finite, took_us;
    uint32_t share, shares; /* Which of how many equal shares of the test set. */
    double regularisation;  /* Of share 0: l2_loss of the model, where the job has it. */
    struct message_times times;
};

struct message_done {
    uint64_t step;
    struct message_times times;
};

struct message_chunk_state {
    uint64_t step;
    uint64_t first, count;
    uint32_t array;
    uint32_t server;
    /* Updates by then, where they are fewer than batches, which are step; else 0. */
    uint64_t version;
};

struct message_part_written {
    uint64_t step;
    bool written;
    struct checkpoint_part part;
    char text[MESSAGE_TEXT_MAX];
    uint32_t server;
};

struct message_cut {
    uint64_t step;
    bool final;
    uint64_t recorded; /* The record has what chunks have had before this step. */
    uint64_t number;   /* Counts what server 0 names; a lower one comes late. */
};

struct message_cut_taken {
    uint64_t step;
    bool taken;
    struct verdict_counts verdicts; /* Of this server, so far. */
};

/* The state of server 0's job, for any peer that asks. */
enum job_state {
    JOB_WAITING, /* For a worker to declare one. */
    JOB_OPENING,
    JOB_GATHERING,
    JOB_RECOVERING,
    JOB_RUNNING,
    JOB_CLOSING,
    JOB_FINISHING,
    JOB_OVER,
    JOB_STATE_COUNT
};

/* The result of asking that a worker leave. */
enum eviction {
    EVICTION_DONE,    /* It is still here, and learns of it with its next sign of life. */
    EVICTION_GONE,    /* Its place is free. */
    EVICTION_ANOTHER, /* Asked again: its place has a process that was not asked to leave. */
    EVICTION_OWNER,   /* Its place owns chunks. */
    EVICTION_EARLY,   /* There is no job yet. */
    EVICTION_OVER,    /* The job ends. */
    EVICTION_COUNT
};

/* The header's role and index are those of the worker that is meant. */
struct message_dismiss {
    bool again; /* Only report the result. */
};

struct message_dismissed {
    enum eviction outcome;
    char text[MESSAGE_TEXT_MAX]; /* A line for people. */
};

struct message_status {
    bool watch; /* Answer once more when the job has ended. */
};

struct message_status_answer {
    enum job_state state;
    double seconds;     /* Spent in this state. */
    uint32_t exit_code; /* From JOB_FINISHING on. */
    char out[MESSAGE_TEXT_MAX];
    char text
        [MESSAGE_TEXT_MAX]; /* What is waited for; from JOB_FINISHING on the reason of the end. */

    char mode_text[MODE_TEXT_MAX]; /* As --mode has it; "" and zeros before there is a job. */
    uint32_t figures_bytes;        /* Of the job's figures, as they came; 0: there is no job. */
    struct job_figures job;
};

struct message {
    enum message_kind kind;
    enum role role; /* Of the sender. */
    uint32_t index;
    uint64_t incarnation, run_id, generation, request;
    uint64_t ticket; /* Of the sender's admission. */
    uint64_t proof;  /* That the ticket is the sender's, see ps/work/proof.h. */
    union {
        struct message_join join;
        struct message_job_page job_page;
        struct message_welcome welcome;
        struct {
            char text[MESSAGE_TEXT_MAX];
            uint64_t scored; /* Pong alone, to servers: scores up to these batches are made. */
            bool leave;      /* Pong alone, to workers: it was asked to leave. */
        } waiting;           /* Also pong. */
        struct {
            enum refusal reason;
            uint32_t version; /* Of the receiver, to write this message in; 0: the current one. */
            char text[MESSAGE_TEXT_MAX];
        } refused;
        struct message_ready ready;
        struct message_start start;
        struct message_ping ping;
        struct message_exchange exchange;
        struct message_result result;
        struct message_receipt receipt;
        struct {
            uint32_t chunk;
            uint64_t version;
            bool scored; /* The values of a score are gone. */
        } moved_on;
        struct message_gradient gradient;
        struct message_lease lease;
        struct message_work work;
        struct message_report report;
        struct message_evaluation evaluation;
        struct message_done done;
        struct {
            uint32_t exit_code;
            char reason[MESSAGE_TEXT_MAX];
            bool left; /* Finished alone: for the receiver, which has left, and not for the job. */
        } stop;        /* Also finished. */
        struct message_cut cut;
        struct message_cut_taken cut_taken;
        struct message_close close;
        struct message_chunk_state chunk_state;
        struct message_part_written part_written;
        struct message_status status;
        struct message_status_answer status_answer;
        struct message_dismiss dismiss;
        struct message_dismissed dismissed;
    };
};

/* In the place of a message: an order between the parts of one process, which alone know its
 * meaning (ps/orders/orders.h). */
#define PACKET_INNER_BYTES 560
struct packet_inner {
    enum message_kind kind; /* MESSAGE_NONE; lies where a message's does. */
    _Alignas(8) unsigned char bytes[PACKET_INNER_BYTES];
};

/* A message under way: its sender or receiver, and its payload. */
struct packet {
    struct origin origin;   /* The process that began it, if it is ours. */
    uint64_t peer;          /* A transport's name for the other end. */
    bool member;            /* The other end belongs to the job, as far as is known. */
    uint8_t key[KEY_BYTES]; /* The sender's, as the transport found it; zeros without keys. */
    union {
        struct message message;
        struct packet_inner inner;
    };
    struct frame *payload; /* One reference, the packet's; NULL for none. */
    uint64_t place;        /* Of the payload in the server's shard, bytes; for the transport. */
    /* Within a server: the bytes of an exchange until its owner's first answer, which carries
     * the same number. */
    uint64_t weight;
};

/* Whether it is from that server; and the real sender: "ps/1, not ps/0". */
bool message_is_from_server(const struct message *message, uint32_t index);
void message_describe_sender(const struct message *message, uint32_t meant, char who[32]);

const char *message_kind_name(enum message_kind kind);
const char *role_name(enum role role);
const char *job_state_name(enum job_state state); /* "waiting for a job", "running" */

/* Write the header frame into buffer[HEADER_BYTES_MAX]; returns its bytes. Asserts that our own
 * message fits. */
size_t message_encode(const struct message *message, uint8_t *buffer);

/* STATUS_INVALID with a line that names the fault. Bytes may be anything. */
enum status message_decode(const void *bytes, size_t count, struct message *message,
                           struct error *error);

/* Whether this kind may come with a payload frame. */
bool message_may_have_payload(enum message_kind kind);

/* The declaration as bytes (malloc'd, the caller's) and back. Decoding checks with job_check. */
enum status job_encode(const struct job *job, uint8_t **bytes, uint32_t *count);
enum status job_decode(const uint8_t *bytes, uint32_t count, struct job *job, struct error *error);

/* The declaration's digest in JOIN. The data set's name is left out, because each host may have
 * its own; the digest of the data is in. */
enum status job_digest(const struct job *job, uint8_t digest[DIGEST_BYTES]);

#endif
