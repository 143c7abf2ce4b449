/* methods.h - the method of a comparison and the definitions of its terms, in a paragraph ready to
 * quote.
 *
 * A setting that differs between runs refers to the configurations; an unknown one is left out.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_METHODS_H
#define DEPLOY_REPORT_METHODS_H

#include "deploy/conclusion/conclusion.h"

struct report_facts;

struct methods_text {
    char text[16384]; /* One line; "" without a run. */
};

void methods_make(struct methods_text *text, const struct conclusion *conclusion,
                  const struct report_facts *facts);

#endif
