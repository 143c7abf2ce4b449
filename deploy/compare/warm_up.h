/* warm_up.h - a short run of a configuration before those that count. The first run of a day would
 * otherwise pay alone for loading programs and data from disk, and for the processors' other clock.
 *
 *     OUT/warm-up/ARM/     like any run's folder; the latest one, and never counted
 *
 * It has all options of the configuration but its length: steps of batches, one checkpoint at its
 * end, no recording. It is traced (deploy/trace), for the page's picture of a step, at no cost to
 * the runs that count. warm_up_options sets its special options.
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_WARM_UP_H
#define DEPLOY_COMPARE_WARM_UP_H

#include "common/file/disk.h"
#include "deploy/compare/configs.h"

#define WARM_UP_FOLDER "warm-up"

struct warm_up {
    struct options options; /* Borrows from the configuration, and from `out`. */
    char out[DISK_PATH_MAX];
};

/* For so many steps, in the folder of a comparison. */
void warm_up_options(struct warm_up *warm_up, const struct config_plan *config, uint32_t steps,
                     const char *folder);

/* Run it, after removing an earlier one: an exit code; error has the reason of a failure. It prints
 * no progress. */
int warm_up_run(const struct warm_up *warm_up, struct error *error);

#endif
