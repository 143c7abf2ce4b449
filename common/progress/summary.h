/* summary.h - one run's end as a table for people, from run.json.
 *
 * Threads: plain values. */

#ifndef COMMON_PROGRESS_SUMMARY_H
#define COMMON_PROGRESS_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

#include "common/progress/record.h"

/* restarts: processes that the launcher started again; 0 when not known. */
void summary_print(FILE *out, const struct record *record, uint32_t restarts);

/* "86.20 %, loss 0.4000, regularisation loss 0.0256" */
void summary_print_score(FILE *out, const struct score_figures *score);

#endif
