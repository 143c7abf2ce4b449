/* manifest.h - the file that makes a checkpoint of its parts: readable JSON, written last.
 *
 *     {
 *       "format": "syncopate-checkpoint-3",
 *       "run_id": "00c0ffee00c0ffee",
 *       "step": 938,
 *       "epoch_so_far": {"updates": 0, "examples": 0, "correct": 0, "loss": 0},  before this step,
 *                                              as trained; loss in its unit; no updates: not known
 *       "window_so_far": {"first": 930, "updates": 8, ...},  of the window (windows.h) that the step
 *                                              lies in; left out where that is not known, or nothing
 *       "record": {"session": 1, "bytes": 20480, "computation": 939, "batches": 938},  its length,
 *                                              the next number, and its last batch: fewer than
 *                                              `step` when it has ended and the run has not;
 *                                              session 0: the run is not recorded
 *       "job": {...},                                  the whole declaration, see job_json.h
 *       "parts": [{"file": "part-0-of-2.safetensors", "bytes": 731904, "blake2b": "..."}, ...],
 *       "blake2b": "..."                               of all the text before this member's comma
 *     }
 *
 * The last member guards the manifest itself, so that a flipped bit in a step or a seed is
 * noticed, too.
 *
 * Threads: plain values. Errors: STATUS_INVALID for bytes that break a rule; the line names the
 * file. */

#ifndef COMMON_STORE_MANIFEST_H
#define COMMON_STORE_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/job/checkpoint_part.h"
#include "common/job/job.h"
#include "common/job/tally.h"

#define CHECKPOINT_FORMAT "syncopate-checkpoint-3"

/* The record of the run up to this checkpoint, see run_record.h. */
struct manifest_record {
    uint64_t session;     /* Of the last file; 0: there is no record. */
    uint64_t bytes;       /* Of that file. */
    uint64_t computation; /* The next number; at least 1. */
    /* The record goes up to here. Before `step`: it has ended, and the run went on. */
    uint64_t batches;
};

struct manifest {
    struct job job;
    uint64_t run_id;
    uint64_t step;
    struct tally_so_far so_far; /* See statistics_so_far. */
    struct manifest_record record;
    uint32_t part_count;
    struct checkpoint_part *parts; /* [part_count], owned. */
};

void manifest_free(struct manifest *manifest);

/* The name of part number `server` of server_count, as a server of this generation writes it:
 * "part-0-of-2.g3.safetensors", or without ".g3" in generation 0. So a server left behind by a
 * later generation cannot overwrite that one's parts. */
void checkpoint_part_name(char name[CHECKPOINT_PART_NAME_MAX], uint32_t server,
                          uint32_t server_count, uint64_t generation);

/* Whether it is the name of part number `server` of server_count in any generation. */
bool checkpoint_is_part_name(const char *name, uint32_t server, uint32_t server_count);

enum status manifest_write(const struct disk *disk, const char *path,
                           const struct manifest *manifest, struct error *error);

/* Everything checked but the parts' files; the caller frees the manifest only after STATUS_OK. */
enum status manifest_read(struct manifest *manifest, const struct disk *disk, const char *path,
                          struct error *error);

#endif
