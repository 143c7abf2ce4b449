/* mode_invariants.c - which table a mode has. */

#include "deploy/verify/mode_invariants.h"

#include <assert.h>

static const struct mode_invariants *const tables[MODE_COUNT] = {
#define MODE(number, text, shard, work, follow, invariants, ...)                                   \
    [MODE_##number] = &mode_invariants_##invariants,
#include "common/job/mode_rows.inc"
#undef MODE
};

const struct mode_invariants *mode_invariants_of(const struct job *job)
{
    assert((unsigned)job->mode < MODE_COUNT && tables[job->mode] != NULL);
    return tables[job->mode];
}
