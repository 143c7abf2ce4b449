/* results.h - the results of a comparison in progress: figures of finished runs, including those
 * from before, and the reasons of failed runs.
 *
 * Every report uses all of them in the order of the plan. The order of finishing has no influence,
 * and a resumed comparison has all earlier results in its first report.
 *
 * Ownership: results own the records, and borrow the interleaving; results_free. Threads: plain
 *            values. */

#ifndef DEPLOY_COMPARE_RESULTS_H
#define DEPLOY_COMPARE_RESULTS_H

#include "deploy/compare/interleaving.h"
#include "deploy/conclusion/comparison.h"

/* Of one run; without record and reason it is still to come. */
struct result {
    struct record *record; /* NULL: no figures. */
    int exit_code;         /* Of a failed run. */
    char *reason;          /* Owned; NULL: not failed. */
};

struct results {
    const struct interleaving *interleaving;
    struct result *list; /* [rounds->run_count], owned. */
    struct comparison all;
};

/* STATUS_MEMORY. Finished runs are read at once; a read error is reported when its turn comes. */
enum status results_init(struct results *results, const struct interleaving *interleaving,
                         struct error *error);
void results_free(struct results *results);

/* The figures of run number `index`, from its folder; no effect when they are known. Errors: as
 * record_read. */
enum status results_read(struct results *results, size_t index, struct error *error);
/* Record a failure. STATUS_MEMORY. */
enum status results_fail(struct results *results, size_t index, int exit_code, const char *reason,
                         struct error *error);

size_t results_failed(const struct results *results);

/* Build results->all again from all results; it borrows them until the next call. STATUS_MEMORY. */
enum status results_collect(struct results *results, struct error *error);

#endif
