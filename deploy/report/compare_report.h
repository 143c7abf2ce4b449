/* compare_report.h - what `syncopate compare` says of its runs: in its folder after each of them, and at the end
 * on the terminal as well.
 *
 * Threads: one. Ownership: all is borrowed. */

#ifndef DEPLOY_REPORT_COMPARE_REPORT_H
#define DEPLOY_REPORT_COMPARE_REPORT_H

#include <stdio.h>

#include "common/options/options.h"
#include "deploy/conclusion/comparison.h"

struct compare_report {
    int typed_count; /* The command as it was typed, from its name on. */
    char **typed;
    const struct options *options; /* Those that hold: not those typed where it merges. */
    const char *folder;
    FILE *told;  /* Where all is told but the object of --json. */
    bool colour; /* There. */
    bool merged; /* Runs were not made here and now. */
};

/* The files of the folder (report.h). remark: what the reader must know, or "". Errors: as report_write. */
enum status compare_report_write(const struct compare_report *report,
                                 const struct comparison *comparison, const char *remark,
                                 struct error *error);

/* The same, and the table on the terminal, pictures as PNG unless it was `ended` early, and the object. */
enum status compare_report_end(const struct compare_report *report,
                               const struct comparison *comparison, const char *remark, bool ended,
                               struct error *error);

/* A line that stands out, where there are colours. */
void compare_report_strong(const struct compare_report *report, const char *text);

#endif
