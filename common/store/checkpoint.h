/* checkpoint.h - checkpoints on disk: parts, manifests, and reading them.
 *
 *     OUT/checkpoints/step-000000000938/part-0-of-2.g3.safetensors   server 0's chunks
 *                                       part-1-of-2.g3.safetensors   server 1's chunks
 *                                       manifest.json                written last, by server 0
 *
 * A part is a valid safetensors file of flat F32 tensors "chunk-<first element>/values" and
 * "chunk-<first element>/<slot name>". Its metadata hold the kind of file, the step, and the
 * version where that is another number. The manifest holds the whole declaration, the step, the
 * run id, and name, size and BLAKE2b-256 of every part. Only a directory with a manifest is a
 * checkpoint, and only if every part matches.
 *
 * A checkpoint is a snapshot at a step: every chunk has had exactly `step` batches, in `version`
 * updates. (In async mode the coordinator lets the batches under way finish first.) So it can be
 * read by element range, whatever servers and chunks wrote it.
 *
 * After any interruption, by a kill, a full disk or a torn write, the checkpoints that were
 * whole stay whole: a part is written under a name of its own, a manifest names only existing
 * parts, and a removal takes the manifest first.
 *
 * Threads: a reader belongs to one thread. Errors: STATUS_INVALID for bytes that break a rule,
 * STATUS_NOT_FOUND, STATUS_IO; the line names the file. Source: proto/CONTRACT.md section 5. */

#ifndef COMMON_STORE_CHECKPOINT_H
#define COMMON_STORE_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/job/job.h"
#include "common/store/manifest.h"
#include "common/store/model_file.h"

/* Whole ones that are kept: by default, at most, and without end. */
#define CHECKPOINTS_KEPT     3
#define CHECKPOINTS_KEPT_MAX 1000
#define CHECKPOINTS_ALL      UINT32_MAX

/* The arrays of a chunk: values, then the optimizer's slots. */
struct checkpoint_chunk {
    uint64_t first, count;                      /* Elements of the parameter space. */
    const float *arrays[CHECKPOINT_ARRAYS_MAX]; /* [1 + slot_count][count], borrowed. */
    uint64_t version; /* Its updates: one number for all chunks of a snapshot. */
    /* Their number and the entries, and a page of descriptions; NULL where nothing is recorded.
     * Borrowed. */
    const uint32_t *entries, *descriptions;
};

/* "OUT/checkpoints/step-%012u" into path[DISK_PATH_MAX]. */
void checkpoint_path(char *path, const char *out, uint64_t step);

/* One server's part of the snapshot at `step`, in the name of a generation; *part describes it.
 * proven: the part is then read back and compared while its digest is made; STATUS_IO where it
 * differs. */
enum status checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                  uint64_t generation, uint32_t server, uint32_t server_count,
                                  struct slots slots, const struct checkpoint_chunk *chunks,
                                  uint32_t chunk_count, bool proven, struct checkpoint_part *part,
                                  struct error *error);

/* Make a checkpoint of the manifest's parts. STATUS_INVALID when one of them is not where this
 * process would read it, in full length. Then other files of the checkpoint's directory (parts
 * of earlier generations, files of killed writers) are removed, if possible. */
enum status checkpoint_write_manifest(const struct disk *disk, const char *out,
                                      const struct manifest *manifest, struct error *error);

/* --- keeping ------------------------------------------------------------------------------- */

/* Checkpoints that this process has written or read, and so knows to be whole; each is read at
 * most once to find out. Zeroed is ready. */
struct checkpoint_shelf {
    uint32_t keep;                        /* CHECKPOINTS_ALL; 0: CHECKPOINTS_KEPT. */
    uint64_t steps[CHECKPOINTS_KEPT_MAX]; /* [count], at most as many as are kept. */
    uint32_t count;
    uint64_t newest; /* Last put on the shelf; never removed. */
};
void checkpoint_shelf_add(struct checkpoint_shelf *shelf, uint64_t step);

/* How many it keeps. */
uint32_t checkpoint_shelf_keep(const struct checkpoint_shelf *shelf);

/* Remove those that are older than the newest whole checkpoints to be kept, oldest first
 * (manifest before parts). A damaged one does not count, and stays until enough are newer. Of
 * those that are not on the shelf only some are read. If they do not decide it nothing is
 * removed, and the next call goes on from there. */
enum status checkpoint_prune(const struct disk *disk, const char *out,
                             struct checkpoint_shelf *shelf, struct error *error);

/* Remove directories of steps before `before` without a manifest, which no process will finish. */
enum status checkpoint_sweep(const struct disk *disk, const char *out, uint64_t before,
                             struct error *error);

/* Steps of a run's checkpoints that have a manifest, newest first. Returns their number and
 * writes at most `max`. A missing directory has none. */
size_t checkpoint_list(const struct disk *disk, const char *out, uint64_t *steps, size_t max);

/* The place of some elements of an array. */
struct checkpoint_run {
    uint32_t array, part;  /* Indices. */
    uint64_t first, count; /* Elements. */
    uint64_t offset;       /* Bytes from the start of the part's file. */
};

struct checkpoint_reader {
    struct manifest manifest;
    const struct disk *disk;     /* Borrowed. */
    char path[DISK_PATH_MAX];    /* Of its directory. */
    struct checkpoint_run *runs; /* [run_count] of all elements, owned. */
    size_t run_count;
    float *arrays[CHECKPOINT_ARRAYS_MAX]; /* [array_count][elements] whole spaces, owned. */
    uint32_t array_count;                 /* 1 + slot_count, or 1 where only values are read. */
    uint64_t elements;
    uint64_t version;             /* Of all chunks. */
    bool proven[JOB_SERVERS_MAX]; /* Parts that need no second reading to be verified. */
};

/* Read and verify a whole checkpoint: path is a step-... directory. */
enum status checkpoint_open(struct checkpoint_reader *reader, const struct disk *disk,
                            const char *path, struct error *error);
/* The same with array 0 alone: the slots are verified, and take no memory. */
enum status checkpoint_open_values(struct checkpoint_reader *reader, const struct disk *disk,
                                   const char *path, struct error *error);
/* The newest whole one under out. Each damaged newer one is reported through `damaged(argument,
 * line)`. STATUS_NOT_FOUND when there is no manifest at all, STATUS_INVALID when there are
 * checkpoints but none is whole. */
enum status checkpoint_open_newest(struct checkpoint_reader *reader, const struct disk *disk,
                                   const char *out,
                                   void (*damaged)(void *argument, const char *line),
                                   void *argument, struct error *error);
/* A path that a person gives: a checkpoint's directory, or a run's with checkpoints in it
 * (*of_run). STATUS_NOT_FOUND when it is neither, with a line. Reads none of them. */
enum status checkpoint_find(const struct disk *disk, const char *path, bool *of_run,
                            struct error *error);
/* The checkpoint to go on from: the newest whole one under out, or when there is none the one
 * that `restore` names; "auto" and "never" name none, and then it is STATUS_NOT_FOUND. So a run
 * that has begun goes on from its own checkpoints, however it is started again; *passed_over
 * says that `restore` named another. Damaged ones are reported as above. */
enum status checkpoint_resume(struct checkpoint_reader *reader, const struct disk *disk,
                              const char *out, const char *restore, bool *passed_over,
                              void (*damaged)(void *argument, const char *line), void *argument,
                              struct error *error);
void checkpoint_close(struct checkpoint_reader *reader);

/* --- values, piece by piece ---------------------------------------------------------------- */

/* A checkpoint of which only the headers are read: its arrays take no memory. What is read of it
 * counts only if checkpoint_verify finds it whole. */
enum status checkpoint_open_headers(struct checkpoint_reader *reader, const struct disk *disk,
                                    const char *path, struct error *error);
/* Elements first to first + count - 1 into to[count], 64-byte aligned or not. */
enum status checkpoint_read_values(const struct checkpoint_reader *reader, uint64_t first,
                                   uint64_t count, float *to, struct error *error);
/* This process has just written and read back the part: unless the manifest's differs, it counts
 * as verified. */
void checkpoint_trust(struct checkpoint_reader *reader, uint32_t index,
                      const struct checkpoint_part *part);
/* Read all parts that are not trusted, and compare them with the manifest, in little memory. */
enum status checkpoint_verify(const struct checkpoint_reader *reader, struct error *error);
/* Bytes of the parts to verify, as their writers say. */
uint64_t checkpoint_unproven(const struct checkpoint_reader *reader);

#endif
