/* conclusion_table.h - the conclusion as a table: its first sentences, a row for each
 * configuration, and the sentences below; for terminals, the report, Markdown and LaTeX.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_CONCLUSION_TABLE_H
#define DEPLOY_REPORT_CONCLUSION_TABLE_H

#include <stdio.h>

#include "deploy/conclusion/conclusion.h"

/* Within 80 columns: of the table what fits beside the names; then all of it. */
void conclusion_write_text(FILE *stream, const struct conclusion *conclusion);
void conclusion_write_columns(FILE *stream, const struct conclusion *conclusion);
void conclusion_write_markdown(FILE *stream, const struct conclusion *conclusion);
/* Three floats of at most seven columns each, see grid_write_latex. */
void conclusion_write_latex(FILE *stream, const struct conclusion *conclusion);

/* The meaning of the columns, one "name: meaning" for each index; NULL when there are no more. */
const char *conclusion_note(size_t index);

#endif
