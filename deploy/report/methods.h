/* methods.h - how the runs of a comparison were made and what its words mean, in a paragraph ready to quote.
 *
 * What is not the same in all runs is left to the arms, which it names; what is not known is left out.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_METHODS_H
#define DEPLOY_REPORT_METHODS_H

#include <stdio.h>

#include "deploy/conclusion/conclusion.h"

struct report_facts;

void methods_write(FILE *stream, const struct conclusion *conclusion,
                   const struct report_facts *facts);
/* With its heading; nothing without a run. */
void methods_write_html(FILE *stream, const struct conclusion *conclusion,
                        const struct report_facts *facts);

#endif
