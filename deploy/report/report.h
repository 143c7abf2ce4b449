/* report.h - a comparison written down: report.html with everything in it, and the parts as files.
 *
 *     OUT/report.html     answer, tables, figures and explanations in one file that needs no other
 *                         (see page.h)
 *     OUT/table.txt       answer and table as text; with .md the answer in Markdown, with .tex in LaTeX
 *     OUT/compare.json    both for programs (see table.h)
 *     OUT/methods.txt     how the runs were made, in a paragraph (see methods.h)
 *     OUT/points.csv      every number of every run (see points.h)
 *     OUT/NAME.svg        each figure (figures.h): loss-seconds.svg, ..., test-loss-bytes.svg,
 *                         staleness.svg, spread.svg, time.svg, workers.svg
 *
 * Threads: plain values. Errors: as disk.h. */

#ifndef DEPLOY_REPORT_REPORT_H
#define DEPLOY_REPORT_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "deploy/conclusion/conclusion.h"

/* What the runs themselves do not tell. Texts are borrowed; NULL or "" for unknown. */
struct report_facts {
    const char *command;                           /* As it can be typed again. */
    const char *machine;                           /* See report_machine. */
    const char *date;                              /* When it was made. */
    bool colocated;                                /* Servers beside the workers. */
    const char *transport, *instructions;          /* Asked for, and in use. */
    const char *compute, *slow, *straggle, *pause; /* Options, as they were given. */
    uint32_t warm_up;   /* Steps of a run of each arm before those that count; 0: none. */
    const char *remark; /* Something the reader must know, e.g. that it was ended early. */
};

/* Processor, memory and system of this machine in one line. */
void report_machine(char *text, size_t bytes);

/* A command line as it can be pasted into a shell, from argv; cut with "..." where it is longer. */
void report_command(char *text, size_t bytes, int argc, char **argv);

/* What a terminal shows of it, and how table.txt begins: the answer, the table, what the modes' options did,
 * and whether bits agree. */
void report_print(FILE *stream, const struct conclusion *conclusion);

enum status report_write(const struct disk *disk, const char *out,
                         const struct conclusion *conclusion, const struct report_facts *facts,
                         struct error *error);

#endif
