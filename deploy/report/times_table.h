/* times_table.h - the parts of the seconds of a configuration's workers, a row for each
 * configuration.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_TIMES_TABLE_H
#define DEPLOY_REPORT_TIMES_TABLE_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

/* A <table>, with a column for each part that any configuration has spent time on; nothing without
 * figures. */
void times_table_write_html(FILE *stream, const struct comparison *comparison);

#endif
