/* simulated_storage.h - a disk in memory for each server of a cluster, or the same for several.
 *
 * Threads: the engine's. Ownership: borrows the disks, which outlive the engine. */

#ifndef DEPLOY_ENGINE_SIMULATED_STORAGE_H
#define DEPLOY_ENGINE_SIMULATED_STORAGE_H

#include "deploy/engine/simulated_disk.h"
#include "deploy/engine/storage.h"

#define SIMULATED_OUT "run"

struct simulated_storage {
    struct simulated_disk **disks; /* [servers] */
    uint64_t from_us;              /* What the time is for them when it is 0 for the engine. */
    uint64_t writes;               /* Of the disk whose turn it is, before that. */
};

struct storage simulated_storage(struct simulated_storage *storage);

#endif
