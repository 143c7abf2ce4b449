/* oracle_record.h - what is to be recorded of a run, as the witness has seen it: who has announced
 * what, under which number, and what chunks have had.
 *
 *   R1   a number is given once in a generation, for what its worker has announced
 *   R2   nothing is sent before its number is there, nor under another; and it is made of the bases
 *        that were announced, chunk by chunk
 *   R3   what an owner hands over with a cut is what its chunks have had since the cut before, in order
 *
 * Threads: the witness's. */

#ifndef DEPLOY_VERIFY_ORACLE_RECORD_H
#define DEPLOY_VERIFY_ORACLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/wire/outbox.h"

struct oracle;

/* What a worker process has announced, and the number that it was given; 0: none yet. */
struct oracle_computation {
    uint32_t process;
    uint64_t generation, request, batch, number;
    uint64_t *bases; /* [chunk_count] Owned. */
};

/* What a chunk has had as its batch of some number; of a generation that is gone back behind it is
 * written over. */
struct oracle_entry {
    uint64_t generation, computation;
    bool skipped, closes;
};

struct oracle_record {
    bool records;
    struct oracle_entry **entries;           /* [chunk_count][steps] Owned. */
    struct oracle_computation *computations; /* [count] */
    size_t count, capacity;
};

struct oracle_record_counts {
    uint64_t announced, numbered; /* Computations. */
    uint64_t entries;             /* That were handed over, ... */
    uint64_t kept;                /* ... and that are in the record at the end; ... */
    uint64_t torn;                /* ... batches of which chunks had different computations. */
};

enum status oracle_record_init(struct oracle *oracle);
void oracle_record_free(struct oracle *oracle);

/* A chunk that has had so many batches has had one more, or left it out; an owner hands over what all
 * have had in its generation. */
void oracle_record_took(struct oracle *oracle, uint32_t chunk, uint64_t batches,
                        const struct packet *packet, bool skipped);
/* The last of so many batches makes a version. */
void oracle_record_closed(struct oracle *oracle, uint32_t chunk, uint64_t batches);
void oracle_record_snapshot(struct oracle *oracle, uint32_t chunk, uint64_t generation,
                            const struct packet *packet);

/* What a session of the run has in its record, up to this step; where it began. */
uint64_t oracle_record_finish(struct oracle *oracle, const void *bytes, size_t count,
                              uint64_t step);

/* A session says something to a server; server 0 says something to a process. */
void oracle_record_asks(struct oracle *oracle, uint32_t process, const struct packet *packet);
void oracle_record_says(struct oracle *oracle, const struct outgoing *item, uint32_t to);

#endif
