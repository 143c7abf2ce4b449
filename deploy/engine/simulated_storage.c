/* simulated_storage.c - turns, crashes and locks of simulated disks, following their server. */

#include "deploy/engine/simulated_storage.h"

#include "deploy/engine/simulated_process.h"

static struct simulated_disk *disk_of(const struct simulated_storage *storage,
                                      const struct simulated_process *process)
{
    return storage->disks[process->index];
}

static const struct disk *find_disk(void *context, const struct simulated_process *process)
{
    return &disk_of(context, process)->disk;
}

static void begin(void *context, const struct simulated_process *process, uint64_t now_us)
{
    struct simulated_storage *storage = context;
    struct simulated_disk *disk = disk_of(storage, process);
    storage->writes = disk->writes;
    simulated_disk_turn(disk, process->number, storage->from_us + now_us);
}

static struct stored end(void *context, const struct simulated_process *process, uint64_t now_us)
{
    const struct simulated_storage *storage = context;
    const struct simulated_disk *disk = disk_of(storage, process);
    uint64_t done_us = simulated_disk_done_us(disk, process->number);
    return (struct stored){.took_us = done_us - (storage->from_us + now_us),
                           .wrote = disk->writes > storage->writes};
}

static void ended(void *context, const struct simulated_process *process, uint64_t now_us)
{
    const struct simulated_storage *storage = context;
    if (process->state == PROCESS_KILLED)
        simulated_disk_crash(disk_of(storage, process), process->number, storage->from_us + now_us);
    else
        simulated_disk_unlock(disk_of(storage, process), process->number);
}

struct storage simulated_storage(struct simulated_storage *storage)
{
    return (struct storage){.context = storage,
                            .out = SIMULATED_OUT,
                            .disk = find_disk,
                            .begin = begin,
                            .end = end,
                            .ended = ended};
}
