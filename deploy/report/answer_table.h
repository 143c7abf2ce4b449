/* answer_table.h - the answer as it is shown: its first sentences, a row for each arm, and what it comes
 * from; for terminals, the report, Markdown and LaTeX.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_ANSWER_TABLE_H
#define DEPLOY_REPORT_ANSWER_TABLE_H

#include <stdio.h>

#include "deploy/answer/answer.h"

/* Within 80 columns. */
void answer_write_text(FILE *stream, const struct answer *answer);
void answer_write_html(FILE *stream, const struct answer *answer);
void answer_write_markdown(FILE *stream, const struct answer *answer);
void answer_write_latex(FILE *stream, const struct answer *answer);

/* What the columns mean, one "name: meaning" for each index; NULL when there are no more. */
const char *answer_note(size_t index);

#endif
