/* results.h - what is known of the runs of a comparison while it is under way: figures of those that are done, also
 * of those that were there before their turn, and the reasons of those that failed.
 *
 * A comparison is made of all of them, in the order of the plan, for every report: which run was done first
 * decides nothing, and one that goes on has from its first report on what it had before.
 *
 * Ownership: results own the records, and borrow rounds; results_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_RESULTS_H
#define DEPLOY_COMPARE_RESULTS_H

#include "deploy/compare/interleaving.h"
#include "deploy/conclusion/comparison.h"

/* Of one run; of neither record nor reason: it is still to come. */
struct result {
    struct record *record; /* NULL: there are no figures. */
    int exit_code;         /* Of one that failed. */
    char *reason;          /* Owned; NULL: it has not failed. */
};

struct results {
    const struct interleaving *interleaving;
    struct result *list; /* [rounds->run_count], owned. */
    struct comparison all;
};

/* STATUS_MEMORY. Those that are kept are read at once; one that cannot be will say so in its turn. */
enum status results_init(struct results *results, const struct interleaving *interleaving,
                         struct error *error);
void results_free(struct results *results);

/* The figures of run number `index`, from its folder; nothing when they are known. Errors: as record_read. */
enum status results_read(struct results *results, size_t index, struct error *error);
/* It has none. STATUS_MEMORY. */
enum status results_fail(struct results *results, size_t index, int exit_code, const char *reason,
                         struct error *error);

/* How many have failed. */
size_t results_failed(const struct results *results);

/* results->all anew, of all that is known; what it was made of is borrowed until the next call. STATUS_MEMORY. */
enum status results_collect(struct results *results, struct error *error);

#endif
