/* promises.c - which table a mode has. */

#include "deploy/verify/promises.h"

#include <assert.h>

static const struct promises *const tables[MODE_COUNT] = {
    [MODE_ASYNC] = &promises_async,         [MODE_SYNC] = &promises_sync,
    [MODE_BACKUP] = &promises_backup,       [MODE_SSP] = &promises_ssp,
    [MODE_ALLREDUCE] = &promises_allreduce,
};

const struct promises *promises_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT && tables[job->mode] != NULL);
    return tables[job->mode];
}
