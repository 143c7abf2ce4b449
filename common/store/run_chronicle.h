/* run_chronicle.h - the files of a run's record (run_record.h) as a session of the run keeps them:
 *
 *     OUT/record/0001.log   session 1: what its checkpoints name, and it grows no more
 *                0002.log   session 2, this one: grows with every checkpoint, before its manifest
 *
 * A manifest says how much of which file belongs to it. Whoever goes on from a checkpoint goes on
 * writing there: what lies behind is cut off, and files of later sessions go. So what a manifest
 * names is there, whenever somebody is killed; and a disk that fails costs the checkpoint, of which
 * all is kept for the next.
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

/* Where a checkpoint of this session ends in its file. */
struct run_chronicle_mark {
    uint64_t bytes;
    uint8_t last[4]; /* Of them. */
};

struct run_chronicle {
    bool on;
    bool ended; /* What came next is not recorded, and so nothing more is: see run_chronicle_end. */
    const struct disk *disk; /* Borrowed. */
    char out[DISK_PATH_MAX];
    uint64_t session;
    uint32_t
        instructions; /* For the segment; those of this process, until somebody knows better. */
    struct manifest_record found; /* What the session, or its latest generation, began from ... */
    uint64_t step;                /* ... and the cut that the next stretch begins at: its end ... */
    uint64_t version;             /* ... where chunks are at this version. */
    uint64_t generation;
    bool generation_due;              /* It has not been said yet that it began. */
    struct run_chronicle_mark *marks; /* [mark_count] by bytes. Owned. */
    size_t mark_count, mark_capacity;
    struct run_chronicle_mark next; /* Written, and not in a manifest yet ... */
    uint64_t next_computation;      /* ... with this number ... */
    uint64_t next_step;             /* ... up to this batch ... */
    uint64_t next_version;          /* ... and this version. */
    struct run_record_writer writer;
    struct error remark; /* What was found to be wrong with what there is of the record, or "". */
};

/* The session begins at `step`, where chunks are at `version`, from a checkpoint with this record
 * (zeros: from none). `on`: it is recorded; else what there is stays. */
enum status run_chronicle_open(struct run_chronicle *chronicle, const struct disk *disk,
                               const char *out, bool on, const struct manifest_record *found,
                               uint64_t step, uint64_t version, uint64_t generation,
                               struct error *error);
void run_chronicle_close(struct run_chronicle *chronicle);

/* What comes after the last cut is too much to be remembered until it can be written: from here on
 * there is no more record of this run. It stays as far as it is, and is not gone on with, unless all
 * go back to where it ends. */
void run_chronicle_end(struct run_chronicle *chronicle);

/* Whether there is a record that ends before the run, and after how many batches. */
bool run_chronicle_has_ended(const struct run_chronicle *chronicle, uint64_t *batches);

/* All go back to this checkpoint. */
void run_chronicle_go_back(struct run_chronicle *chronicle, const struct manifest_record *found,
                           uint64_t step, uint64_t version, uint64_t generation);

/* What happened since the last cut, up to the one at `step`, is to be put into the writer: whatever
 * comes before its cut. partition: NULL where chunks have no entries. */
struct run_record_writer *run_chronicle_begin(struct run_chronicle *chronicle,
                                              const struct job *job, uint64_t run_id,
                                              const struct partition *partition,
                                              struct error *error);
/* It is in the writer: into the file, with the cut. */
enum status run_chronicle_write(struct run_chronicle *chronicle,
                                const struct run_record_snapshot *cut, struct error *error);
/* What the manifest of that cut is to say; and it has been written. */
struct manifest_record run_chronicle_record(const struct run_chronicle *chronicle);
void run_chronicle_commit(struct run_chronicle *chronicle, uint64_t step);

/* How many files there are up to this session, and of how many bytes. */
void run_chronicle_size(const struct run_chronicle *chronicle, uint64_t *files, uint64_t *bytes);

#endif
