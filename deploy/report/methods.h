/* methods.h - the method of a comparison and the definitions of its terms, in a paragraph ready to
 * quote.
 *
 * A setting that differs between runs refers to the configurations; an unknown one is left out.
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
