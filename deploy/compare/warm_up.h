/* warm_up.h - a short run of an arm before those that count: the first run of a day finds programs and data
 * on the disk and not in memory, and processors at another clock, and would pay for it alone.
 *
 *     OUT/warm-up/ARM/     as any run's folder; of the last time, and counted nowhere
 *
 * It has all that the arm has, but for its length: steps of batches, one checkpoint at its end, nothing
 * recorded; but it is traced (deploy/trace), for the page's picture of a step. Whoever wants to look at a step of each arm finds one here that costs the counted runs nothing:
 * what is asked of these runs alone is set in warm_up_options.
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_WARM_UP_H
#define DEPLOY_COMPARE_WARM_UP_H

#include "common/file/disk.h"
#include "deploy/compare/configs.h"

#define WARM_UP_FOLDER "warm-up"

struct warm_up {
    struct options options; /* Borrows from the arm, and from `out`. */
    char out[DISK_PATH_MAX];
};

/* Of so many steps, in the folder of a comparison. */
void warm_up_options(struct warm_up *warm_up, const struct config_plan *config, uint32_t steps,
                     const char *folder);

/* Make it, when what an earlier one left is taken away: an exit code; error says what it failed for. Nothing
 * is said of it meanwhile. */
int warm_up_run(const struct warm_up *warm_up, struct error *error);

#endif
