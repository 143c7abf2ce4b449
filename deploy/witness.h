/* witness.h - watches a simulated cluster and says when it breaks a promise.
 *
 * It sees every message that goes into an owner core and comes out of one, every set of parameters
 * a trainer is given and every request a session makes, and holds them against a model of its own:
 * in sync mode the serial training of the same job, in async mode the same gradients applied in the
 * order in which the owners took them. From the gradient it knows beforehand which verdict and
 * which version must come out. What it checks, by the names of facts/transport-and-semantics.md 4:
 *
 *   A1 S6    a (chunk, batch) or (chunk, step, leaf) counts once; what comes again is a duplicate
 *   A3 A4    what a worker holds of a chunk only gets newer, and has its own gradients in it
 *   A5       staleness is versions at apply minus versions at compute
 *   A8 S7    parameters are bit for bit some version of each chunk; in sync mode all of one
 *   S3 S4    one update a step, when all leaves are in and not before; stale gradients change
 *            nothing
 *   S5       applied + stale + duplicate + rejected is what came
 *   S12      apply, version + 1, release: values leave only as the version they are
 *
 * Threads: one. The first broken promise is kept, and everything after it ignored. */

#ifndef DEPLOY_WITNESS_H
#define DEPLOY_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/outbox.h"
#include "common/partition.h"
#include "deploy/simulated_work.h"

struct witness_counts {
    uint64_t gradients, applied, stale, duplicate, rejected; /* Of chunks. */
    uint64_t updates;                                        /* Of chunks. */
    uint64_t staleness_sum, staleness_max;
    uint64_t pulls, skewed_pulls; /* Sets of parameters, and those of different versions. */
    uint64_t refused, moved_on;
    uint64_t cuts;
};

struct witness_chunk {
    uint64_t version;
    uint64_t applied; /* Batches in it, async. */
    uint8_t *leaves;  /* Sync: [leaves of a step] 1: counted in the open step. */
    uint8_t *batches; /* Async: [steps] 1: applied. */
    uint32_t leaves_in;
    uint64_t *checks; /* [steps + 1] checksum of each version's values; see known. */
    uint8_t *known;   /* [steps + 1] */
};

/* What a worker holds of a chunk. */
struct witness_held {
    uint64_t check;   /* Checksum of what the trainer computes from. */
    uint64_t version; /* As the session says. */
    uint64_t own;     /* Version that its own latest gradient made. */
    bool any;
};

/* What must come out of an owner for what went in. */
struct witness_expected {
    bool exchange, gradient, committed;
    uint32_t chunk;
    uint64_t peer, request;
    enum verdict verdict;
    uint64_t staleness, want_version;
    bool want, answered;
};

struct witness {
    const struct job *job;
    const struct partition *partition;
    const struct simulated_work *work;
    uint32_t owners_a_server;
    uint64_t first_step;
    struct model_state state;      /* Sync: of the last step. Async: as it stands. */
    struct witness_chunk *chunks;  /* [chunk_count] */
    struct witness_held *held;     /* [worker_count][chunk_count] */
    struct verdict_counts *owners; /* [server_count][owners_a_server] */
    uint64_t *cuts_taken;          /* The same: step after that of the latest cut taken. */
    uint8_t *given;                /* Async: [worker_count][steps] 1: the batch was given to it. */
    struct witness_expected expected;
    struct witness_counts counts;
    bool failed;
    char failure[512];
};

/* start: the model at first_step (sync: ignored, the serial training starts at step 0). */
enum status witness_init(struct witness *witness, const struct simulated_work *work,
                         const struct partition *partition, uint32_t owners_a_server,
                         uint64_t first_step, const struct model_state *start);
void witness_free(struct witness *witness);

/* Note a broken promise. */
void witness_fail(struct witness *witness, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Before an owner is given a packet, and with everything it puts out for it. */
void witness_owner_takes(struct witness *witness, uint32_t server, uint32_t owner,
                         const struct packet *packet);
void witness_owner_gave(struct witness *witness, uint32_t server, const struct outgoing *item);
void witness_owner_done(struct witness *witness);

/* A trainer is given parameters, and has computed from them. */
void witness_work(struct witness *witness, uint32_t worker, uint64_t step, bool enough,
                  const float *parameters);
void witness_computed(struct witness *witness, uint32_t worker, const float *parameters);

/* A session sends an EXCHANGE. */
void witness_session_asks(struct witness *witness, uint32_t worker, const struct packet *packet);

/* At the end: every chunk has had exactly the updates up to `step`. */
void witness_finish(struct witness *witness, uint64_t step);

/* The model as of `step`, which must be where the job stands. The caller frees it. */
enum status witness_model(const struct witness *witness, uint64_t step, struct model_state *state);

#endif
