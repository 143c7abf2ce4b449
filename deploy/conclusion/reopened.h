/* reopened.h - a comparison as its folder has it, read back: the runs that OUT/compare.json names, in their
 * arms, and what was asked of them.
 *
 * Numbers are those of the runs' own folders, read anew; of compare.json only names are taken, which runs
 * failed, how many were planned, and the question.
 *
 * Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_REOPENED_H
#define DEPLOY_CONCLUSION_REOPENED_H

#include "deploy/conclusion/conclusion.h"

#define REOPENED_FILE "compare.json"

struct reopened {
    struct comparison comparison;
    struct question question;
    char command[4096]; /* It was made by; cut where it is longer. */
};

/* STATUS_NOT_FOUND: there is no compare.json, or a run that it names is gone; STATUS_INVALID: it is none of
 * ours. reopened_free in any case. */
enum status reopened_read(struct reopened *reopened, const char *path, struct error *error);
void reopened_free(struct reopened *reopened);

#endif
