/* oracle.h - watches a simulated cluster and says when it breaks a promise.
 *
 * It sees every message that goes into an owner core and comes out of one, every set of parameters
 * a trainer is given and every request a session makes. What a version's values are it knows by a serial
 * model: the serial training of the same job, or in async mode the same gradients applied in the order in
 * which the owners took them. Of messages it holds few properties, by the names of proto/CONTRACT.md
 * section 1; what a mode's own are is in mode_invariants.h, what the record has in record_check.h, and the
 * states of a core are held by the core's own checks (common/base/invariant.h).
 *
 *   once         a (chunk, batch) or (chunk, step, leaf) counts once; what comes again is a duplicate;
 *                who asks after one hears whether it is there (A1 S3 S6)
 *   order        a chunk says the version that it has, and what a worker holds only gets newer (A4 A5)
 *   barrier      a request is answered, or waits for a version that is not there; in the moment it is
 *                there it is answered, and the version before stays until it cannot be needed (S4 S8);
 *                an answer gives back what its request weighs, once
 *   not early    values leave only as the version they are: to workers, scores, checkpoints, models that
 *                are kept (A8 A9 S7 S12); a score is said when all its shares are there
 *   counts       what a server counts is what came (S5 A5)
 *   cuts         F3 a cut that can be taken is taken of each chunk in the moment it gets there; F4 all
 *                servers begin a generation from one cut; F1 a worker that has been replaced is not heard
 *                any more; F2 one owner a leaf and assignment
 *
 * Threads: one. The first broken promise is kept, and everything after it ignored. */

#ifndef DEPLOY_VERIFY_ORACLE_H
#define DEPLOY_VERIFY_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/job/partition.h"
#include "common/wire/outbox.h"
#include "deploy/engine/simulated_process.h"
#include "deploy/verify/record_check.h"
#include "deploy/verify/simulated_work.h"
#include "ps/orders/orders.h"

#define ORACLE_WORKERS_MAX 64 /* Indexes. */

struct oracle_counts {
    uint64_t gradients, retries;    /* Of chunks; and those asked after. */
    struct verdict_counts verdicts; /* Of backup only those that were said. */
    uint64_t staleness_sum, staleness_max;
    uint64_t skewed_pulls; /* Sets of parameters of different versions. */
    uint64_t moved_on;
    uint64_t loads;       /* Of chunks, from a checkpoint. */
    uint64_t sums, slots; /* That replicas were fed with, by chunk. */
    uint64_t identities;  /* Counts of staleness that were held against owners. */
    struct record_counts record;
    uint64_t shares; /* Of scores, whose values were right. */
    uint64_t handed; /* Chunks of models to be kept. */
};

void oracle_counts_add(struct oracle_counts *to, const struct oracle_counts *from);

/* A request that waits at the barrier. */
struct oracle_waiting {
    uint64_t peer, request, want_version; /* 0: there is none. */
};

/* Which leaves a step is made of, where not all may count. */
struct oracle_closed {
    bool there;
    uint64_t step;
    struct leaf_set set;
    uint64_t generation; /* That has decided so. */
};

struct oracle_chunk {
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
    bool is_used;      /* A gradient was made from this version: all chunks have it. */
    bool has_advanced; /* By the item that its owner has now. */
    bool to_snapshot;  /* When it comes to snapshot_step. */
    uint64_t snapshot_step;
    struct oracle_waiting waiting[ORACLE_WORKERS_MAX];
    uint64_t
        given[ORACLE_WORKERS_MAX]; /* One more than the version that the worker was given last. */
};

/* One owner of a server process, since its latest LOAD. */
struct oracle_owner {
    uint64_t generation, load_step;
    struct verdict_counts verdicts;
    struct histogram staleness; /* Of batches that count. */
    uint64_t gradients;
    /* It has been told to cut at snapshot_step, and has not said what came of it; no chunk was past it. */
    bool snapshot_owed, snapshot_possible;
    uint64_t snapshot_step, snapshot_number;
    struct {
        uint64_t ticket;
        uint32_t process;
    } known
        [ORACLE_WORKERS_MAX]; /* Who was heard as which worker: server 0 may count tickets anew. */
};

/* Shares of a score that server 0 has heard. */
struct oracle_scores {
    uint64_t generation, batches;
    uint32_t shares, come;
    uint64_t had[16]; /* Bits: shares. */
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
    struct oracle_scores scores; /* Of server 0. */
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
    struct oracle_held *held; /* [chunk_count] */
    float *base;              /* [elements] what it computes from. */
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
    const struct owner *core;
    bool exchange;
    uint32_t chunk;
    uint64_t peer, request;
    uint64_t weight; /* To be given back. */
    bool knows_verdict, counts_staleness;
    enum verdict verdict;
    uint64_t staleness, want_version;
    bool want, newest, answered;
    bool missing;       /* A gradient that is asked after. */
    bool slots;         /* Values and slots of a version, which there are only of the newest. */
    bool may_be_silent; /* There can have been no such gradient; or it is for a score. */
};

/* Who computes a leaf: [leaves of a step] of two steps that follow each other. */
struct oracle_lease {
    uint64_t generation, step;
    uint32_t assignment, worker;
};

/* Where steps are made of sets of leaves: what server 0 has told of them, and the serial training. */
#define ORACLE_DEALS 16
struct oracle_deal {
    uint32_t members, declared; /* Workers. */
};

struct oracle_sets {
    uint64_t generation;         /* Of the newest CLOSE. */
    uint64_t started;            /* Of the newest START, ... */
    uint32_t server_0;           /* ... and the process that said it. */
    struct oracle_closed *steps; /* [steps] the latest that were told. */
    struct model_state
        *states;     /* [steps + 1] as each step begins, of no arrays where nobody knows. */
    float *gradient; /* [elements] scratch. */
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
    struct oracle_even even;               /* Async: what the latest cut is like. */
    uint64_t begun_generation, begun_step; /* The latest that an owner was told to load. */
    struct oracle_lease *leases;           /* Sync: [2][leaves of a step] */
    struct oracle_sets sets;               /* Backup. */
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

/* For the observer of a struct check_run (deploy/engine/observer.h). */
void oracle_owner_takes(void *check_run, const struct simulated_process *process, uint32_t owner,
                        const struct packet *packet, uint32_t sender);
void oracle_owner_gave(void *check_run, const struct simulated_process *process,
                       const struct outgoing *item);
void oracle_owner_done(void *check_run);
void oracle_start(void *check_run, const struct simulated_process *process,
                  const struct message *message);
void oracle_work(void *check_run, const struct simulated_process *process, uint64_t step,
                 bool enough, const float *parameters);
void oracle_leases(void *check_run, const struct simulated_process *process, uint32_t assignment,
                   uint64_t step, struct node node);
void oracle_computed(void *check_run, const struct simulated_process *process,
                     const float *parameters);
void oracle_scored(void *check_run, const struct simulated_process *process, uint64_t generation,
                   const struct message_work *work, const float *values);
void oracle_session_asks(void *check_run, const struct simulated_process *process,
                         const struct packet *packet);

/* Server 0 hears a message, and says one or gives an order. */
void oracle_coordinator_hears(struct oracle *oracle, uint32_t process,
                              const struct message *message);
void oracle_coordinator_says(struct oracle *oracle, uint32_t process, const struct outgoing *item);

/* At the end: every chunk that a server holds to which workers spoke has had exactly the updates up
 * to `step`. */
void oracle_finish(struct oracle *oracle, uint64_t step);

/* Whether a whole model as of `step` is one that there was: in sync mode the serial one, in async
 * mode chunk by chunk one that was cut. */
bool oracle_knows(const struct oracle *oracle, uint64_t step, const struct model_state *model);

/* Whether a whole model is what all chunks had after so many batches, in one generation. */
bool oracle_knows_kept(const struct oracle *oracle, uint64_t batches, const float *values);

#endif
