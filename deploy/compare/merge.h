/* merge.h - several comparisons as one: the plan that has all their arms, and their runs in one folder.
 *
 * What has to be the same, and is not, is named (shared_settings.h). An arm that several have has to be the
 * same, and so has a run; it is then taken once, from the first. Options that differ between the comparisons
 * and tell arms apart become those of the arms. Seeds are those of all: a run that none of them has, or that
 * is not done, is still to come.
 *
 * Nothing of the sources is changed; runs are copies (run_tree.h). A merge that was cut off goes on when it
 * is asked for again.
 *
 * Ownership: merge_close. Threads: plain values. */

#ifndef DEPLOY_COMPARE_MERGE_H
#define DEPLOY_COMPARE_MERGE_H

#include "deploy/compare/source.h"

#define MERGE_SOURCES_MAX 16

struct merge {
    struct source *sources; /* [count], owned. */
    size_t count;
    struct arguments words; /* The command that makes all of it; options point into it. */
    struct options options; /* Of that. */
    struct plan plan;
    size_t twice; /* Runs that several have. */
};

/* STATUS_INVALID, STATUS_MISMATCH: error says why they do not go together; and as source_open. merge_close in
 * any case. */
enum status merge_open(struct merge *merge, const struct options_list *paths, struct error *error);
void merge_close(struct merge *merge);

/* Whether a folder is none of the sources, nor in one. STATUS_INVALID. */
enum status merge_check_out(const struct merge *merge, const char *out, struct error *error);

/* Whether one of the sources has this run, done. */
bool merge_has(const struct merge *merge, const char *run);

/* Copy the runs into OUT/runs, those that are not there yet. STATUS_MISMATCH: one that is there is another. */
enum status merge_runs(const struct merge *merge, const char *out, struct error *error);

#endif
