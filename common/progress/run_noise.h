/* run_noise.h - what else was at work on the machine while a run in real time was made: OUT/machine.json,
 * beside its run.json, written by the launcher.
 *
 *     {"format": "syncopate-machine-1", "machine": "... 2 processors, 23.5 GiB of memory, Linux ...",
 *      "processors": 2, "seconds": 9.2, "own_cpu_seconds": 14.1,
 *      "others_cpu_seconds": 0.31, "stolen_cpu_seconds": 0.0, "others_share": 0.017}
 *
 * Processors are those that the run might use. Of their time in these seconds, which are all from the start of
 * the run's processes to their end, `own` is what they and their launcher took, `others` what all other
 * processes did, the kernel's threads among them, and `stolen` what a host took away from a virtual
 * machine. What the kernel does in interrupts counts for no process. A run that went on has the sums of its sessions.
 *
 * Threads: plain values. Errors: as disk.h. */

#ifndef COMMON_PROGRESS_RUN_NOISE_H
#define COMMON_PROGRESS_RUN_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"

#define RUN_NOISE_FILE    "machine.json"
#define RUN_MACHINE_CHARS 256

/* A run is noisy when others had more of its processors' time. Ticks, by which the kernel counts, are not worth
 * half of that. */
#define RUN_NOISY 0.05

struct run_noise {
    char machine[RUN_MACHINE_CHARS];
    uint32_t processors; /* 0: nothing is known. */
    double seconds;
    double own, others, stolen; /* Processor seconds. */
};

/* The part of the processors' time that others had, or the host; NaN where nothing is known. */
double run_noise_share(const struct run_noise *noise);
bool run_noise_is_much(const struct run_noise *noise);

/* What was measured is added to what the run's folder has of earlier sessions. */
enum status run_noise_add(const struct run_noise *noise, const struct disk *disk, const char *path,
                          struct error *error);
/* Of a run that has none, or another program's, nothing is known. */
void run_noise_read(struct run_noise *noise, const struct disk *disk, const char *path);

#endif
