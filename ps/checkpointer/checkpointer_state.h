/* checkpointer_state.h - the fields of a checkpointer, for checkpointer.c, checkpointer_check.c
 * and tests that spoil them.
 *
 * Threads: the checkpointer's. */

#ifndef PS_CHECKPOINTER_CHECKPOINTER_STATE_H
#define PS_CHECKPOINTER_CHECKPOINTER_STATE_H

#include "common/process/log_once.h"
#include "common/store/checkpoint.h"
#include "common/store/generation.h"
#include "common/store/run_chronicle.h"
#include "common/store/run_directory.h"
#include "common/tensorboard/board.h"
#include "ps/checkpointer/checkpointer.h"
#include "ps/shard/plan.h"

#define GONE_MAX 256 /* Lost workers; what an older one sent is all there. */

/* One server's chunks of one snapshot, while they come in. */
struct part {
    uint64_t step;
    struct checkpoint_chunk *chunks; /* [plan's chunks of the server] in order of arrival. */
    struct frame **frames;           /* [chunks * arrays] what chunks points into. */
    uint32_t chunk_count, arrays_received;
    bool proven;                    /* The part of this step is written and was read back. */
    struct checkpoint_part written; /* When it is proven; else zeros. */
};

/* The model of a score, while its chunks come in. */
struct kept_model {
    uint64_t batches;
    float *values; /* [elements]; NULL: none has begun, and zeros follow. */
    bool *had;     /* [the plan's chunks] */
    uint32_t had_count;
};

struct checkpointer {
    struct checkpointer_options options;
    const struct plan *plan;
    uint64_t generation; /* Items of an older one are dropped. */
    bool shared;         /* This server writes its own parts. */
    bool records;        /* Chunks have update logs, which go with each part. */
    struct part *parts;  /* [part_count], one for each server. */
    uint32_t part_count;
    struct checkpoint_reader reader; /* Open while chunks are being loaded; else of step 0. */
    bool reader_open;

    /* Server 0. */
    struct run_directory directory;
    bool directory_open;
    struct board board;
    struct generation claim; /* As we left it in the run directory. */
    struct job job;          /* The declaration. */
    struct run_chronicle chronicle;
    struct run_record_gone gone[GONE_MAX]; /* [gone_count] in this generation, newest first. */
    uint32_t gone_count;
    bool asked[JOB_SERVERS_MAX]; /* Servers that asked for chunks before the plan was there. */
    struct checkpoint_shelf shelf;
    uint64_t snapshot_step; /* The newest snapshot of which something was written. */
    bool snapshot_failed;   /* It is of no use unless its manifest comes. */
    struct kept_model kept;
    struct log_once keeping, journal, scored;
};

/* Whether the run is still ours: its generation is as we left it. STATUS_EXISTS: it is not. */
enum status checkpointer_check_claim(const struct checkpointer *checkpointer, struct error *error);

/* See common/base/invariant.h. */
void checkpointer_check(const struct checkpointer *checkpointer);

#endif
