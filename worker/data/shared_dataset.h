/* shared_dataset.h - a data set that the workers of one host have together, read once.
 *
 * Their launcher makes memory that has no name (memfd) and lets them inherit it. The worker
 * that comes first reads the data, writes what came out and its digest there and seals it; the
 * others wait for that, and map it for reading. Only these processes ever have the memory, and
 * once it is sealed none of them can change or shorten it. So nothing is believed that a worker
 * would not believe of itself: on a disk, names, owners, torn writes and old files would be.
 *
 * Sharing only saves time. Where there is no room, where the memory holds other data than were
 * asked for, or where the reading one ends or takes too long, a worker reads by itself. A worker
 * started again finds the data as they were at first, even if the files have changed since.
 *
 * Threads: none is kept; one caller at a time in a process. Errors: as dataset_open. */

#ifndef WORKER_DATA_SHARED_DATASET_H
#define WORKER_DATA_SHARED_DATASET_H

#include "worker/data/dataset.h"

/* Empty memory, which child processes do not inherit by themselves. -1: this kernel has none. */
int shared_dataset_create(void);

/* As dataset_open, through memory that was inherited as `file`, which stays the caller's and may be
 * closed afterwards. patience: seconds at most to wait for another worker that reads.
 * STATUS_INVALID also when `file` is no memory of shared_dataset_create. */
enum status shared_dataset_open(struct dataset *dataset, int file, const char *data, uint64_t seed,
                                double patience, struct error *error);

#endif
