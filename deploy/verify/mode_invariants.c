/* mode_invariants.c - which table a mode has. */

#include "deploy/verify/mode_invariants.h"

#include <assert.h>

static const struct mode_invariants *const tables[MODE_COUNT] = {
    [MODE_ASYNC] = &mode_invariants_async,         [MODE_SYNC] = &mode_invariants_sync,
    [MODE_BACKUP] = &mode_invariants_backup,       [MODE_SSP] = &mode_invariants_ssp,
    [MODE_ALLREDUCE] = &mode_invariants_allreduce,
};

const struct mode_invariants *mode_invariants_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT && tables[job->mode] != NULL);
    return tables[job->mode];
}
