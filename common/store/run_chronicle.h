/* run_chronicle.h - the files of a run's record (run_record.h), as a session of the run keeps
 * them:
 *
 *     OUT/record/0001.log   session 1: as its checkpoints name it; grows no more
 *                0002.log   session 2, this one: grows with every checkpoint, before its manifest
 *
 * A manifest says how much of which file belongs to it. A session that goes on from a checkpoint
 * goes on writing there: the rest is cut off, and files of later sessions go. So all that a
 * manifest names is there after any kill. A disk that fails costs the checkpoint, and all is
 * kept for the next.
 *
 * Threads: one owner. Errors: STATUS_IO, STATUS_MEMORY, STATUS_INVALID, with a line. */

#ifndef COMMON_STORE_RUN_CHRONICLE_H
#define COMMON_STORE_RUN_CHRONICLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file/disk.h"
#include "common/job/partition.h"
#include "common/store/manifest.h"
#include "common/store/run_record.h"

/* The end of this session's checkpoint in its file. */
struct run_chronicle_mark {
    uint64_t bytes;
    uint8_t last[4]; /* The last four bytes before it. */
};

struct run_chronicle {
    bool on;
    /* The next batches are not recorded, and so nothing more is: see run_chronicle_end. */
    bool ended;
    const struct disk *disk; /* Borrowed. */
    char out[DISK_PATH_MAX];
    uint64_t session;
    uint32_t instructions; /* For the segment; those of this process until others are known. */
    struct manifest_record found; /* Where the session, or its latest generation, began. */
    uint64_t step;                /* Of the snapshot at which the next interval begins. */
    uint64_t version;             /* The chunks' version there. */
    uint64_t generation;
    bool generation_due;              /* Its begin has not been written yet. */
    struct run_chronicle_mark *marks; /* [mark_count] by bytes. Owned. */
    size_t mark_count, mark_capacity;
    struct run_chronicle_mark next; /* Written, and not in a manifest yet. */
    uint64_t next_computation;      /* The number after `next`. */
    uint64_t next_step;             /* The batch after `next`. */
    uint64_t next_version;          /* The version after `next`. */
    struct run_record_writer writer;
    struct error remark; /* A fault of the existing record, or "". */
};

/* The session begins at `step`, where chunks are at `version`, from a checkpoint with this
 * record (zeros: from none). `on`: it is recorded; else the existing record stays. */
enum status run_chronicle_open(struct run_chronicle *chronicle, const struct disk *disk,
                               const char *out, bool on, const struct manifest_record *found,
                               uint64_t step, uint64_t version, uint64_t generation,
                               struct error *error);
void run_chronicle_close(struct run_chronicle *chronicle);

/* More has happened since the last snapshot than can be remembered until it is written: the
 * record of this run ends here. It stays as it is, unless all go back to where it ends. */
void run_chronicle_end(struct run_chronicle *chronicle);

/* Whether the record ends before the run, and after how many batches. */
bool run_chronicle_has_ended(const struct run_chronicle *chronicle, uint64_t *batches);

/* All go back to this checkpoint. */
void run_chronicle_go_back(struct run_chronicle *chronicle, const struct manifest_record *found,
                           uint64_t step, uint64_t version, uint64_t generation);

/* The writer for what happened since the last snapshot, up to the one at `step`, before the
 * snapshot itself. partition: NULL where chunks have no entries. */
struct run_record_writer *run_chronicle_begin(struct run_chronicle *chronicle,
                                              const struct job *job, uint64_t run_id,
                                              const struct partition *partition,
                                              struct error *error);
/* Write the writer's bytes, with the snapshot, into the file. */
enum status run_chronicle_write(struct run_chronicle *chronicle,
                                const struct run_record_snapshot *cut, struct error *error);
/* The record as the manifest of that snapshot has it; and the manifest is written. */
struct manifest_record run_chronicle_record(const struct run_chronicle *chronicle);
void run_chronicle_commit(struct run_chronicle *chronicle, uint64_t step);

/* The number of the first computation behind the last snapshot; numbers only grow. */
uint64_t run_chronicle_next(const struct run_chronicle *chronicle);

/* The number of files up to this session, and their bytes. */
void run_chronicle_size(const struct run_chronicle *chronicle, uint64_t *files, uint64_t *bytes);

#endif
