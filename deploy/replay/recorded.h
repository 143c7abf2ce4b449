/* recorded.h - a run as it was recorded: its declaration, what came of it, and the files of its record,
 * which go on from each other.
 *
 * Threads: one owner. Errors: STATUS_NOT_FOUND, STATUS_IO and STATUS_INVALID as reading run.json has
 * them; STATUS_MISMATCH when there is a run, but no record that it could be made again from: none, a
 * damaged one, one of another declaration. The line names the file. */

#ifndef DEPLOY_REPLAY_RECORDED_H
#define DEPLOY_REPLAY_RECORDED_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/progress/record.h"
#include "common/store/run_directory.h"
#include "common/store/run_record.h"

struct recorded_file {
    char name[DISK_PATH_MAX];
    void *bytes; /* [count], owned. */
    size_t count;
};

struct recorded {
    struct run_found found;      /* The declaration, of the last session. */
    struct record told;          /* What run.json and events.jsonl tell. */
    struct recorded_file *files; /* [file_count] one a session, in order. Owned. */
    uint32_t file_count;
    void *
        sets; /* [set_bytes] A list (common/steps/leaf_set.h) of what its steps are made of, where that
                 * is not all their leaves; else NULL. Owned. */
    size_t set_bytes;
    struct run_record_snapshot end; /* Of the last. */
    bool plain;                     /* Gradients were made without fused products. */
    uint64_t bytes;                 /* Of all files. */
    char checkpoint[DISK_PATH_MAX]; /* The newest, which ends the record; "": there is none. */
};

/* Every file is read to its end and held against the run. */
enum status recorded_open(struct recorded *recorded, const struct disk *disk, const char *path,
                          struct error *error);
void recorded_close(struct recorded *recorded);

#endif
