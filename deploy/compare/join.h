/* join.h - several comparisons as one: the plan that has all their arms, and their runs in one folder.
 *
 * What has to be the same, and is not, is named (common_ground.h). An arm that several have has to be the
 * same, and so has a run; it is then taken once, from the first. Options that differ between the comparisons
 * and tell arms apart become those of the arms. Seeds are those of all: a run that none of them has, or that
 * is not done, is still to come.
 *
 * Nothing of the sources is changed; runs are copies (run_tree.h). A join that was cut off goes on when it
 * is asked for again.
 *
 * Ownership: join_close. Threads: plain values. */

#ifndef DEPLOY_COMPARE_JOIN_H
#define DEPLOY_COMPARE_JOIN_H

#include "deploy/compare/source.h"

#define JOIN_SOURCES_MAX 16

struct join {
    struct source *sources; /* [count], owned. */
    size_t count;
    struct arguments words; /* The command that makes all of it; options point into it. */
    struct options options; /* Of that. */
    struct plan plan;
    size_t twice; /* Runs that several have. */
};

/* STATUS_INVALID, STATUS_MISMATCH: error says why they do not go together; and as source_open. join_close in
 * any case. */
enum status join_open(struct join *join, const struct options_list *paths, struct error *error);
void join_close(struct join *join);

/* Whether a folder is none of the sources, nor in one. STATUS_INVALID. */
enum status join_check_out(const struct join *join, const char *out, struct error *error);

/* Whether one of the sources has this run, done. */
bool join_has(const struct join *join, const char *run);

/* Copy the runs into OUT/runs, those that are not there yet. STATUS_MISMATCH: one that is there is another. */
enum status join_runs(const struct join *join, const char *out, struct error *error);

#endif
