/* recorded.h - a recorded run: its declaration, its results, and the files of its record, one after
 * the other.
 *
 * Threads: one owner.
 * Errors: STATUS_NOT_FOUND, STATUS_IO and STATUS_INVALID as for run.json. STATUS_MISMATCH: the run
 *         has no record to replay: it is missing, damaged, or of another declaration. The line
 *         names the file. */

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
    struct record record;        /* From run.json and events.jsonl. */
    struct recorded_file *files; /* [file_count] one a session, in order. Owned. */
    uint32_t file_count;
    float *initial;                 /* Given values (initial.h); NULL: none. Owned. */
    struct run_record_snapshot end; /* Of the last file. */
    bool plain;                     /* Gradients were computed without fused multiply-add. */
    uint64_t bytes;                 /* Of all files. */
    char checkpoint[DISK_PATH_MAX]; /* The newest, which ends the record; "": none. */
};

/* Reads every file to its end and checks it against the run. */
enum status recorded_open(struct recorded *recorded, const struct disk *disk, const char *path,
                          struct error *error);
void recorded_close(struct recorded *recorded);

#endif
