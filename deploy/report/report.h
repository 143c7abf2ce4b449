/* report.h - writes a comparison: report.html with everything in it, and the parts as files.
 *
 *     OUT/report.html     conclusion, tables, figures and explanations in one file that needs no
 *                         other (see page.h)
 *     OUT/table.txt       conclusion and tables as text; with .md in Markdown, with .tex in LaTeX
 *     OUT/compare.json    both for programs (see table.h)
 *     OUT/methods.txt     the method, in a paragraph (see methods.h)
 *     OUT/points.csv      every number of every run (see points.h)
 *     OUT/steps.json      steps as the page draws them (deploy/page/source.js)
 *
 * Threads: plain values. Errors: as disk.h. */

#ifndef DEPLOY_REPORT_REPORT_H
#define DEPLOY_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "deploy/conclusion/conclusion.h"

/* Facts beside the runs' own. Texts are borrowed; NULL or "" for unknown. */
struct report_facts {
    const char *command;                           /* As it can be typed again. */
    const char *machine;                           /* See report_machine. */
    const char *date;                              /* The date of the comparison. */
    bool colocated;                                /* Servers beside the workers. */
    const char *transport, *instructions;          /* Requested, and in use. */
    const char *compute, *slow, *straggle, *pause; /* Options as given. */
    uint32_t warm_up;   /* Steps of the warm-up of each configuration; 0: none. */
    const char *remark; /* A note for the reader, e.g. that it was ended early. */
};

/* Processor, memory and system of this machine in one line. */
void report_machine(char *text, size_t bytes);

/* A command line quoted for a shell, from argv; truncated with "...". */
void report_command(char *text, size_t bytes, int argc, char **argv);

/* For a terminal: the conclusion with one table, the modes' options, warnings, and whether bits agree.
 * all: then each number, as in table.txt. */
void report_print(FILE *stream, const struct conclusion *conclusion, bool all);

enum status report_write(const struct disk *disk, const char *out,
                         const struct conclusion *conclusion, const struct report_facts *facts,
                         struct error *error);

#endif
