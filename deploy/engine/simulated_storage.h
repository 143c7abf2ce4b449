/* simulated_storage.h - a disk in memory for each server of a cluster, or one for several.
 *
 * Threads: the engine's. Ownership: borrows the disks, which outlive the engine. */

#ifndef DEPLOY_ENGINE_SIMULATED_STORAGE_H
#define DEPLOY_ENGINE_SIMULATED_STORAGE_H

#include "deploy/engine/simulated_disk.h"
#include "deploy/engine/storage.h"

#define SIMULATED_OUT "run"

struct simulated_storage {
    struct simulated_disk **disks; /* [servers] */
    uint64_t from_us;              /* The disks' time when the engine's is 0. */
    uint64_t writes;               /* Of the current disk, before its turn. */
};

struct storage simulated_storage(struct simulated_storage *storage);

#endif
