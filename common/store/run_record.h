/* run_record.h - OUT/record/NNNN.log: the history of a run, from which `syncopate replay` makes
 * every update of it again, to the bit.
 *
 *     segment      one file a session of the run: its run, and how the parameter space is cut
 *     interval     from one snapshot to the next: in every chunk the same batches, each once
 *       computation    one gradient: its worker, its batch, and the version of every chunk
 *       entry          of a chunk: a computation's gradient, or its batch without an update
 *     snapshot     every chunk has had all batches before it, and is of one version
 *
 * A chunk's entries are in its own order: the place of an entry is the number of batches that
 * the chunk had before. When a worker is lost in the middle of its push, a batch may have
 * several computations, each with entries of its own in some of the chunks. A computation
 * without an entry is left out.
 *
 * Where a step is made of a set of leaves, an interval has the set of each of its steps.
 *
 * There are as many versions as entries that close their group (all do, unless several gradients
 * are applied as one).
 *
 * Writing and reading are over buffers; nothing here touches a disk. Bytes:
 * common/store/RECORD.md. Checksums chain all blocks, so that a lost, repeated or moved block is
 * noticed, but for the last ones; the newest manifest has the file's length.
 *
 * Threads: plain values. Errors: STATUS_INVALID for bytes that break a rule, with a line that
 * names the file, the byte and the fault; STATUS_MEMORY. */

#ifndef COMMON_STORE_RUN_RECORD_H
#define COMMON_STORE_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/steps/leaf_set.h"

#define RUN_RECORD_FOLDER       "record"
#define RUN_RECORD_OTHERS       3u /* No enum kernels_instructions: see `instructions` below. */
#define RUN_RECORD_MAGIC        "syncopate-record" /* 16 bytes, without a terminating zero. */
#define RUN_RECORD_FORMAT       4
#define RUN_RECORD_SESSIONS_MAX 9999

/* Longest segment that is read. */
#define RUN_RECORD_BYTES_MAX ((size_t)8 << 30)

/* "OUT/record/0001.log" into path[DISK_PATH_MAX]. */
void run_record_path(char *path, const char *out, uint64_t session);

/* The begin of a session: every chunk is as of one snapshot. */
struct run_record_segment {
    uint64_t run_id;
    uint64_t session;                  /* From 1. */
    uint8_t declaration[DIGEST_BYTES]; /* job_hash of JOB_SCOPE_RESUME. */
    /* enum kernels_instructions of the gradients, or RUN_RECORD_OTHERS: workers with other
     * arithmetic. */
    uint32_t instructions;
    uint32_t worker_count, server_count; /* Declared. */
    uint64_t batches;                    /* Had by every chunk. */
    uint64_t version;                    /* Their updates. */
    uint64_t computation;                /* The first number that this session gives. */
    uint32_t chunk_count;
    uint64_t *elements; /* [chunk_count] of each chunk, in the order of the parameter space. */
};

/* Above the number of any computation. */
#define RUN_RECORD_NUMBER_END (UINT64_C(1) << 60)

struct run_record_computation {
    uint64_t number;
    uint64_t batch;
    uint64_t clock; /* Where workers have clocks: batches it had finished; else 0. */
    uint32_t worker;
    uint64_t ticket;       /* The worker's process, by the number of its admission. */
    float rate;            /* Factor of the learning rate, above 0. */
    const uint64_t *bases; /* [chunk_count] the version of each chunk in its base. */
};

/* In a mode with clocks: a process was lost, or left, when so many batches of it were known to be
 * finished. Bounds do not count what it did from there on. It may come in later intervals,
 * too. */
struct run_record_gone {
    uint64_t ticket, clock;
};

struct run_record_entry {
    uint64_t computation;
    bool skipped; /* The batch is had without an update. */
    bool closes;  /* It makes a version, with its group. */
};

struct run_record_snapshot {
    uint64_t batches, version;
    uint64_t computation; /* The next number. */
};

/* --- writing ------------------------------------------------------------------------------- */

/* In this order, any number of times what is in brackets:
 *
 *     segment [ [generation] [gone]... [computation]... [entries]... [sets] snapshot ]...
 *
 * Failures stick until finish, which takes back all bytes since the last one. */
struct run_record_writer {
    uint8_t *bytes; /* [count], owned. */
    size_t count, capacity;
    uint32_t chunk_count;
    uint32_t chain; /* Checksum of the last block. */
    size_t block;   /* The begin of the open block. */
    uint32_t type;  /* Its type; 0: none is open. */
    /* The last computation in it, to which the next one is relative; and its base. */
    uint64_t number;
    uint64_t base;
    bool failed;
    size_t whole; /* Count and chain at the last finish. */
    uint32_t whole_chain;
};

void run_record_writer_init(struct run_record_writer *writer);
void run_record_writer_free(struct run_record_writer *writer);

/* A new file. */
void run_record_writer_segment(struct run_record_writer *writer,
                               const struct run_record_segment *segment);
/* Go on with a file that is there up to a snapshot: its last four bytes. */
void run_record_writer_resume(struct run_record_writer *writer, uint32_t chunk_count,
                              const uint8_t last[4]);

/* At a snapshot or the begin: all go on from here in a new generation, and clocks are at 0. */
void run_record_writer_generation(struct run_record_writer *writer, uint64_t generation);
void run_record_writer_gone(struct run_record_writer *writer, const struct run_record_gone *gone);
/* In the order of their numbers. */
void run_record_writer_computation(struct run_record_writer *writer,
                                   const struct run_record_computation *computation);
/* Of one chunk, from place `first` on; a chunk's may come in several pieces. */
void run_record_writer_entries(struct run_record_writer *writer, uint32_t chunk, uint64_t first,
                               const struct run_record_entry *entries, size_t count);
/* Of each step up to the snapshot, all that the list has. */
void run_record_writer_sets(struct run_record_writer *writer, const struct leaf_sets *sets);
void run_record_writer_snapshot(struct run_record_writer *writer,
                                const struct run_record_snapshot *cut);

/* After a snapshot. STATUS_OK: bytes[count] are whole blocks, to be appended to the file.
 * STATUS_MEMORY: they are as after the last finish. */
enum status run_record_writer_finish(struct run_record_writer *writer);

/* --- reading ------------------------------------------------------------------------------- */

struct run_record_place {
    uint32_t computation; /* Index in the interval. */
    bool skipped, closes;
};

/* All between two snapshots. */
struct run_record_interval {
    bool begins;         /* With a new generation. */
    uint64_t generation; /* Its number, if it begins. */
    struct run_record_snapshot from, to;

    struct run_record_computation *computations; /* [computation_count] by number. */
    uint32_t computation_count;
    struct run_record_gone *gone; /* [gone_count] */
    uint32_t gone_count;
    /* Of every chunk its to.batches - from.batches entries, chunk behind chunk. */
    struct run_record_place *places;
    /* Of its steps, within the file, unread; without any of no bytes. */
    struct leaf_sets sets;
};

struct run_record_reader {
    char name[256];       /* Of the file, for lines. */
    const uint8_t *bytes; /* [count], the caller's. */
    size_t count, at;
    uint32_t chain;
    struct run_record_segment segment;   /* Owned. */
    struct run_record_interval interval; /* The last that was read; owned. */
    uint64_t oldest;                     /* No base of this generation is older. */
    uint64_t first;                      /* Batches that chunks had when the generation began. */
    struct run_record_clock {
        uint64_t ticket, clock;
    } clocks[JOB_WORKERS_MAX]; /* Of each worker's newest process its last one. */
    bool begun;                /* A generation has begun. */
    /* Of the interval being read: */
    uint64_t *bases; /* [computation_count][chunk_count] */
    size_t base_capacity, computation_capacity, gone_capacity;
    struct run_record_piece *pieces; /* [piece_count] where entries are. */
    size_t piece_count, piece_capacity;
};

/* The segment at the begin of bytes[count]. run_record_reader_close is safe after a failure, and
 * for a zeroed reader. */
enum status run_record_reader_open(struct run_record_reader *reader, const char *name,
                                   const void *bytes, size_t count, struct error *error);
/* STATUS_NOT_FOUND, without a line: there is no more. Drops the one before. */
enum status run_record_reader_next(struct run_record_reader *reader, struct error *error);
void run_record_reader_close(struct run_record_reader *reader);

#endif
