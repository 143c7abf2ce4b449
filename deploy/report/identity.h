/* identity.h - both sides of the identity of staleness (common/job/staleness.h) for people: sum +
 * renewed, and the expected number.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_IDENTITY_H
#define DEPLOY_REPORT_IDENTITY_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

/* A <table>, a row for each group with stale gradients, over all its runs; nothing without any. A
 * row with unequal sides has their difference. */
void identity_write_html(FILE *stream, const struct comparison *comparison);

#endif
