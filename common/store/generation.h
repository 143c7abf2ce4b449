/* generation.h - the file OUT/generation: the run in a run directory, how often it went back to
 * a checkpoint, and whether it has ended.
 *
 *     syncopate-generation-1
 *     run_id 00c0ffee00c0ffee
 *     generation 3
 *     state open                       or "ended 0": the run is over, with this exit code
 *
 * Server 0 replaces it, durably, before a member hears of a new generation. So the successor of
 * a killed server 0 finds the run to go on with. A server 0 that was only stopped finds out that
 * it has a successor, because it reads the file again before critical writes.
 *
 * Threads: plain values. Errors: STATUS_NOT_FOUND; STATUS_INVALID for a file with anything else
 * in it, to the last byte; STATUS_IO. */

#ifndef COMMON_STORE_GENERATION_H
#define COMMON_STORE_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"

#define GENERATION_NAME "generation"

struct generation {
    uint64_t run_id;
    uint64_t number;
    bool ended;
    uint32_t exit_code; /* When it has ended; at most 255. */
};

bool generation_equal(const struct generation *a, const struct generation *b);

/* Of the run directory `out`. */
enum status generation_read(struct generation *generation, const struct disk *disk, const char *out,
                            struct error *error);
enum status generation_write(const struct generation *generation, const struct disk *disk,
                             const char *out, struct error *error);

#endif
