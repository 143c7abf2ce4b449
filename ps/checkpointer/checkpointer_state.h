/* checkpointer_state.h - a checkpointer from inside: for checkpointer.c, checkpointer_check.c and
 * tests that spoil it.
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

/* One server's chunks of one cut, while they come in. */
struct part {
    uint64_t step;
    struct checkpoint_chunk *chunks; /* [plan's chunks of the server] in order of arrival. */
    struct frame **frames;           /* [chunks * arrays] what chunks points into. */
    uint32_t chunk_count, arrays_received;
    bool proven;                    /* The one of this step is written, was read back and is ... */
    struct checkpoint_part written; /* ... this; else zeros. */
};

/* The values that a score is of, while its chunks come in. */
struct kept_model {
    uint64_t batches;
    float *values; /* [elements]; NULL: none has begun, and zeros follow. */
    bool *had;     /* [the plan's chunks] */
    uint32_t had_count;
};

struct checkpointer {
    struct checkpointer_options options;
    const struct plan *plan;
    uint64_t generation; /* What comes from an older one is dropped. */
    bool shared;         /* This server writes its own parts. */
    bool records;        /* Chunks have entries, which go with each part. */
    struct part *parts;  /* [part_count], one for each server. */
    uint32_t part_count;
    struct checkpoint_reader reader; /* Open while chunks are being loaded from it. */
    bool reader_open;

    /* Server 0. */
    struct run_directory directory;
    bool directory_open;
    struct board board;
    struct generation claim; /* As we have left it in the run directory. */
    struct job job;          /* The declaration. */
    struct run_chronicle chronicle;
    uint64_t sets_session;      /* In whose record what steps are made of is; 0: in none. */
    struct frame *computations; /* Of the cut at computed_step, see computations_pack; or NULL. */
    uint64_t computed_step, computed_next;
    bool computed_over;          /* They are not remembered: the record ends at the cut before. */
    bool asked[JOB_SERVERS_MAX]; /* Who wanted chunks before the plan was there. */
    struct checkpoint_shelf shelf;
    uint64_t snapshot_step; /* The newest cut of which something was written ... */
    bool snapshot_failed;   /* ... and is of no use unless its manifest comes. */
    struct kept_model kept;
    struct log_once keeping, journal, scored;
};

/* See common/base/invariant.h. */
void checkpointer_check(const struct checkpointer *checkpointer);

#endif
