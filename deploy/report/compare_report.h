/* compare_report.h - the reports of `syncopate compare`: in its folder after each run, and at the
 * end on the terminal as well.
 *
 * Threads: one. Ownership: all is borrowed. */

#ifndef DEPLOY_REPORT_COMPARE_REPORT_H
#define DEPLOY_REPORT_COMPARE_REPORT_H

#include <stdio.h>

#include "common/options/options.h"
#include "deploy/conclusion/comparison.h"

struct compare_report {
    int typed_count; /* The command as typed, from its name on. */
    char **typed;
    const struct options *options;
    const char *folder;
    FILE *output; /* The stream of all output but the object of --json. */
    bool colour;  /* On that stream. */
};

/* The files of the folder (report.h). remark: a note for the reader, or "". Errors: as
 * report_write. */
enum status compare_report_write(const struct compare_report *report,
                                 const struct comparison *comparison, const char *remark,
                                 struct error *error);

/* The same, then the table on the terminal, and the object. */
enum status compare_report_end(const struct compare_report *report,
                               const struct comparison *comparison, const char *remark,
                               struct error *error);

/* A highlighted line, where there are colours. */
void compare_report_strong(const struct compare_report *report, const char *text);

#endif
