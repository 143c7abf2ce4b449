/* history_legend.h - what is printed of histories, explained to whoever reads it.
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_HISTORY_LEGEND_H
#define DEPLOY_VERIFY_HISTORY_LEGEND_H

/* To standard output: the columns of the table, the faults by their names, the lines below it, and those
 * of a history told with --verbose. Within 80 columns. */
void history_legend_print(void);

#endif
