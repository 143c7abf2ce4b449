/* reopened.h - reads a comparison back from its folder: the runs that OUT/compare.json names, their
 * configurations, and the question.
 *
 * Numbers are read from the runs' own folders. From compare.json come only names, the failed runs,
 * the number of planned runs, and the question.
 *
 * Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_REOPENED_H
#define DEPLOY_CONCLUSION_REOPENED_H

#include "deploy/conclusion/conclusion.h"

#define REOPENED_FILE "compare.json"

struct reopened {
    struct comparison comparison;
    struct question question;
    char command[4096];           /* The command that made it; truncated when longer. */
    struct conclusion conclusion; /* Of these. */
};

/* Owned. STATUS_NOT_FOUND: compare.json or a run that it names is missing. STATUS_INVALID:
 * compare.json is not ours. Call reopened_close in any case. */
enum status reopened_open(struct reopened **reopened, const char *path, struct error *error);
void reopened_close(struct reopened **reopened);

#endif
