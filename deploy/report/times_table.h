/* times_table.h - what the seconds of an arm's workers went into, a row for each arm.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_TIMES_TABLE_H
#define DEPLOY_REPORT_TIMES_TABLE_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

/* A <table>, with a column for everything that any arm has spent time on; nothing where nothing is known. */
void times_table_write_html(FILE *stream, const struct comparison *comparison);

#endif
