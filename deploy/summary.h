/* summary.h - one run's end as a table for people, from run.json.
 *
 * Threads: plain values. */

#ifndef DEPLOY_SUMMARY_H
#define DEPLOY_SUMMARY_H

#include <stdio.h>

#include "deploy/record.h"

void summary_print(FILE *out, const struct record *record);

#endif
