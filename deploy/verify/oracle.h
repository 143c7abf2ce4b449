/* oracle.h - watches a simulated cluster and says when it breaks a promise.
 *
 * It sees every message that goes into an owner core and comes out of one, every set of parameters
 * a trainer is given and every request a session makes, and holds them against a model of its own:
 * in sync mode the serial training of the same job, in async mode the same gradients applied in the
 * order in which the owners took them. From the gradient it knows beforehand which verdict and
 * which version must come out. Processes come, die and load what they had at a cut: the model of
 * their chunks goes back with them, and only to a cut that the witness has seen. What it checks, by
 * the names of proto/CONTRACT.md section 1:
 *
 *   A1 S6    a (chunk, batch) or (chunk, step, leaf) counts once; what comes again is a duplicate
 *   A3 A4    what a worker holds of a chunk only gets newer within a generation, and has its own
 *            gradients in it
 *   A5       staleness is versions at apply minus versions at compute
 *   A8 S7    parameters are bit for bit some version of each chunk; in sync mode all of one
 *   S3 S4    one update a step, when all leaves are in and not before; stale gradients change
 *            nothing; chunks of one generation are at most one version apart
 *   S5       applied + stale + duplicate + rejected is what came
 *   S8       who waits for a version is answered in the moment it is there
 *   S12      apply, version + 1, release: values leave only as the version they are
 *   A9       what a score is made of are the values that each chunk had after just so many batches,
 *            and they are not let go before the score is whole, or can never be;
 *            a model that is kept as a file is of these values, all of one generation
 *   F1       a worker that has been replaced is not heard any more
 *   F2       one owner a leaf and assignment
 *   F3       a cut that can be taken is taken, of each chunk in the moment it gets there
 *   F4       all servers begin a generation from one cut, at its version and with its batches;
 *            nothing that was made after it is seen again, and batches are given from it on
 *
 * Threads: one. The first broken promise is kept, and everything after it ignored. */

#ifndef DEPLOY_VERIFY_ORACLE_H
#define DEPLOY_VERIFY_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/partition.h"
#include "common/wire/outbox.h"
#include "deploy/verify/record_check.h"
#include "deploy/verify/simulated_work.h"
#include "ps/orders/orders.h"

#define ORACLE_WORKERS_MAX 64 /* Indexes. */

struct oracle_counts {
    uint64_t gradients, applied, stale, duplicate, rejected; /* Of chunks. */
    uint64_t updates;                                        /* Of chunks. */
    uint64_t staleness_sum, staleness_max;
    uint64_t pulls, skewed_pulls; /* Sets of parameters, and those of different versions. */
    uint64_t refused, moved_on;
    uint64_t cuts;
    uint64_t loads; /* Of chunks, from a checkpoint. */
    uint64_t retries, receipts, newest;
    uint64_t sums, slots; /* That replicas were fed with, by chunk. */
    uint64_t identities;  /* Counts of staleness that were held against owners. */
    struct record_counts record;
    uint64_t closes, resent, left_out; /* Backup: steps, those said before, leaves not counted. */
    uint64_t shares;                   /* Of scores, whose values were right. */
    uint64_t handed;                   /* Chunks of models to be kept. */
};

void oracle_counts_add(struct oracle_counts *to, const struct oracle_counts *from);

/* A request that waits at the barrier. */
struct oracle_waiting_read {
    bool waiting;
    uint64_t peer, request, want_version;
};

#define ORACLE_PARTS_MAX 256

/* What a chunk has been sent of the open step, where not all leaves may count; and which do, of a step. */
struct oracle_part {
    struct node node;
    uint32_t examples;
};
struct oracle_closed {
    bool there;
    uint64_t step;
    struct leaf_set set;
};

struct oracle_chunk {
    struct oracle_part parts[ORACLE_PARTS_MAX]; /* [part_count] */
    uint32_t part_count;
    struct oracle_closed closed[2]; /* Place step % 2. */
    bool loaded;
    uint32_t arrays; /* Bits of those that have been loaded. */
    uint64_t version;
    uint64_t had; /* Batches. */
    struct {
        uint32_t members, gradients, examples; /* Batches; those not left out; in them. */
        uint64_t staleness;                    /* The greatest. */
        float *sum, *moved; /* [elements of the chunk]; moved: one that is to be added. */
    } group;                /* That is open, where the job accumulates. */
    uint64_t check;         /* Checksum of its values, async. */
    uint8_t *leaves;        /* Sync: [leaves of a step] 1: counted in the open step. */
    uint8_t *batches;       /* Async: [steps] 1: applied. */
    uint32_t leaves_in;
    bool to_snapshot; /* When it comes to snapshot_step. */
    uint64_t snapshot_step;
    struct oracle_waiting_read *waiting_read; /* Sync: [ORACLE_WORKERS_MAX] */
    uint64_t *staleness; /* Async: [steps] of the batches from `first` to `had`. */
    uint64_t first;      /* Batches that it was loaded with. */
    struct {
        uint64_t ticket, request;
    } answered[ORACLE_WORKERS_MAX]; /* With compensation: the latest that was given values. */
    uint64_t scored;       /* The last count of batches that is scored; 0: none, of this loading. */
    uint64_t scored_check; /* Of its values then, where the witness has them itself. */
    uint64_t settled;      /* Its owner was told that scores up to this count are made. */
};

/* One owner of a server process. */
struct oracle_owner {
    uint64_t generation, load_step; /* Of its latest LOAD. */
    struct verdict_counts verdicts;
    uint64_t cut_taken; /* Step after that of its latest cut taken, in this generation. */
    bool
        snapshot_owed; /* It has been told to cut at snapshot_step, and has not said what came of it. */
    bool snapshot_possible; /* No chunk was past that step. */
    uint64_t snapshot_step;
    struct {
        uint64_t ticket;
        uint32_t process;
    } known[ORACLE_WORKERS_MAX]; /* Who was heard as which worker, in this generation. */
};

/* One process that is a server. */
struct oracle_server {
    uint32_t index;
    bool alive;
    bool current;                /* It is the one that workers speak to, ... */
    uint64_t reached_generation; /* ... in this generation. */
    struct model_state state;    /* Async: its chunks as they stand. */
    struct oracle_chunk *chunks; /* [chunk_count] */
    struct oracle_owner *owners; /* [owners_a_server] */
};

/* What a worker process holds of a chunk. */
struct oracle_held {
    uint64_t check;          /* Checksum of what the trainer computes from. */
    uint64_t version;        /* As the session says. */
    uint64_t own;            /* Version that its own latest gradient made, ... */
    uint64_t own_batch;      /* ... which may be sent once more. */
    uint64_t generation;     /* In which that was said ... */
    uint64_t own_generation; /* ... and that made. */
};

struct oracle_worker {
    uint32_t index;
    uint64_t generation;      /* As its session says. */
    uint64_t step;            /* Of its work. */
    struct oracle_held *held; /* [chunk_count] */
    float *base;              /* [elements] what it computes from. */
    uint64_t *given;          /* Async: [steps] in which life of its leases it was given. */
    uint64_t leases;          /* Lives: a START begins another. */
};

/* One process: a server or a worker, the other is NULL. */
struct oracle_process {
    struct oracle_server *server;
    struct oracle_worker *worker;
};

/* The chunks of a cut have all made as many versions. */
struct oracle_even {
    uint64_t generation, step, version;
};

/* What must come out of an owner for what went in. */
struct oracle_expected {
    struct oracle_server *server;
    uint32_t owner;
    bool exchange, gradient, retry;
    uint32_t chunk;
    uint64_t peer, request;
    uint64_t weight; /* To be given back. */
    enum verdict verdict;
    uint64_t staleness, want_version;
    bool want, newest, answered, missing;
    bool scored, kept;  /* Values for a score; and they must be there. */
    bool slots;         /* Values and slots of a version, which there are only of the newest. */
    bool receipt;       /* One is owed at once. */
    bool may_be_silent; /* Waits at the barrier, or is dropped. */
};

/* What server 0 was told of scores, in a generation. */
struct oracle_scores {
    uint64_t generation, base; /* Which, and the step that it begins at. */
    uint64_t passed;           /* No chunk of some server keeps values of lesser counts any more. */
    uint64_t batches;          /* Of the shares that have come. */
    uint32_t shares, come;
    uint64_t had[16]; /* Bits: shares. */
    uint64_t whole;   /* The last count of which all shares came, ... */
    bool ends_whole;  /* ... and whether that of the job's end was, in any generation. */
};

/* Who computes a leaf: [leaves of a step] of two steps that follow each other. */
struct oracle_lease {
    uint64_t generation, step;
    uint32_t assignment, worker;
};

/* Async: which batches server 0 has given in its generation. */
struct oracle_giving {
    bool begun;
    uint32_t server_0; /* Its process. */
    uint64_t generation;
    uint64_t next; /* The first never given. */
};

/* Where steps are made of sets of leaves: what server 0 has told of them, and the serial training. */
#define ORACLE_DEALS 16
struct oracle_deal {
    uint32_t members, declared; /* Workers. */
};

struct oracle_sets {
    uint64_t generation;           /* Of the newest CLOSE. */
    uint64_t started;              /* Of the newest START, ... */
    uint32_t server_0;             /* ... and the process that said it. */
    struct oracle_closed *steps;   /* [steps] those that were told, ... */
    struct oracle_closed *earlier; /* ... and that were before this simulation began. */
    struct model_state
        *states;     /* [steps + 1] as each step begins, of no arrays where nobody knows. */
    float *gradient; /* [elements] scratch. */
    uint64_t *
        said; /* [steps] with how many examples the epoch that the step ends was trained; 0: not said. */
    struct oracle_deal deals[ORACLE_DEALS]; /* The latest first. */
};

struct mode_invariants;

struct oracle {
    const struct job *job;
    const struct mode_invariants *mode_invariants; /* Of its mode. */
    const struct partition *partition;
    const struct simulated_work *work;
    uint32_t owners_a_server;
    bool in_order; /* Wires keep messages in order. */
    bool scarce;   /* Memory is: who waits may be forgotten, and asks again; a cut is given up. */
    struct model_state initial;
    struct oracle_process *processes; /* [process_count] by number. */
    uint32_t process_count;
    uint64_t *known; /* [known_capacity] hashes of (chunk, version, values) that ever were. */
    size_t known_count, known_capacity;
    struct oracle_even even; /* Async: what the latest cut is like. */
    bool begun;
    uint64_t begun_generation, begun_step; /* The latest that an owner was told to load. */
    struct oracle_lease *leases;           /* Sync: [2][leaves of a step] */
    struct oracle_giving giving;           /* Async, ssp. */
    struct oracle_sets sets;               /* Backup. */
    bool forgetful; /* What was told of sets may be lost: a disk has failed. */
    struct oracle_scores scores;
    uint64_t most_started; /* One more than the highest batch or step given to a trainer. */
    struct oracle_expected expected;
    struct oracle_counts counts;
    bool failed;
    char failure[512];
};

enum status oracle_init(struct oracle *oracle, const struct simulated_work *work,
                        const struct partition *partition, uint32_t owners_a_server);
void oracle_free(struct oracle *oracle);

/* A checkpoint that is there: the model as of `step`. */
enum status oracle_know(struct oracle *oracle, uint64_t step, const struct model_state *model);

/* A model is there that was kept as scored after so many batches. */
void oracle_know_kept(struct oracle *oracle, uint64_t batches, const float *values);

/* Processes have numbers from 0, in the order they are added. */
enum status oracle_add_server(struct oracle *oracle, uint32_t index);
enum status oracle_add_worker(struct oracle *oracle, uint32_t index);
void oracle_ends(struct oracle *oracle, uint32_t process);

/* Note a broken promise. */
void oracle_fail(struct oracle *oracle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Before an owner is given a packet, and with everything it puts out for it. `sender` is the
 * process that an EXCHANGE really comes from. */
void oracle_owner_takes(struct oracle *oracle, uint32_t process, uint32_t owner,
                        const struct packet *packet, uint32_t sender);
void oracle_owner_gave(struct oracle *oracle, uint32_t process, const struct outgoing *item);
void oracle_owner_done(struct oracle *oracle);

/* A trainer is started, is given parameters, has computed from them. */
void oracle_start(struct oracle *oracle, uint32_t process, const struct message *message);
void oracle_work(struct oracle *oracle, uint32_t process, uint64_t step, bool enough,
                 const float *parameters);
void oracle_computed(struct oracle *oracle, uint32_t process, const float *parameters);
/* It scores a share, and has scored it: on values that every chunk had after so many batches. */
void oracle_scored(struct oracle *oracle, uint32_t process, uint64_t generation,
                   const struct message_work *work, const float *values);
/* Which leaves it computes of a step. */
void oracle_leases(struct oracle *oracle, uint32_t process, uint32_t assignment, uint64_t step,
                   struct node node);

/* Server 0 hears a message, and says one or gives an order. `to`: the process at the other end. */
void oracle_coordinator_hears(struct oracle *oracle, const struct packet *packet);
void oracle_coordinator_says(struct oracle *oracle, uint32_t process, const struct outgoing *item);

/* A session sends something to a server. */
void oracle_session_asks(struct oracle *oracle, uint32_t process, const struct packet *packet);

/* At the end: every chunk that a server holds to which workers spoke has had exactly the updates up
 * to `step`. */
void oracle_finish(struct oracle *oracle, uint64_t step);

/* Whether a whole model as of `step` is one that there was: in sync mode the serial one, in async
 * mode chunk by chunk one that was cut. */
bool oracle_knows(const struct oracle *oracle, uint64_t step, const struct model_state *model);

/* Whether a whole model is what all chunks had after so many batches, in one generation. */
bool oracle_knows_kept(const struct oracle *oracle, uint64_t batches, const float *values);

#endif
