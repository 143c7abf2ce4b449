/* merge.h - several comparisons as one: a plan with all their configurations, and their runs in one
 * folder.
 *
 * A difference that prevents it is named (shared_settings.h). A configuration of several
 * comparisons has to be equal in all, and so has a run; it is taken once, from the first. Options
 * that differ between the comparisons and distinguish configurations become options of those. Seeds
 * are the union: a run that no comparison has finished is still to come.
 *
 * The sources stay unchanged; runs are copies (run_tree.h). An interrupted merge is resumed by the
 * same command.
 *
 * Ownership: merge_close. Threads: plain values. */

#ifndef DEPLOY_COMPARE_MERGE_H
#define DEPLOY_COMPARE_MERGE_H

#include "deploy/compare/source.h"

#define MERGE_SOURCES_MAX 16

struct merge {
    struct source *sources; /* [count], owned. */
    size_t count;
    struct arguments words; /* The command of the merged comparison; options point into it. */
    struct options options;
    struct plan plan;
    size_t twice; /* Runs of several sources. */
};

/* STATUS_INVALID, STATUS_MISMATCH: error has the reason against a merge; otherwise as source_open.
 * Call merge_close in any case. */
enum status merge_open(struct merge *merge, const struct options_list *paths, struct error *error);
void merge_close(struct merge *merge);

/* Whether a folder is outside of all sources. STATUS_INVALID. */
enum status merge_check_out(const struct merge *merge, const char *out, struct error *error);

/* Whether one of the sources has finished this run. */
bool merge_has(const struct merge *merge, const char *run);

/* Copy missing runs into OUT/runs. STATUS_MISMATCH: another run is there. */
enum status merge_runs(const struct merge *merge, const char *out, struct error *error);

#endif
