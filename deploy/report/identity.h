/* identity.h - both sides of what staleness has to add up to (common/job/staleness.h), as people read
 * them: sum + renewed, and what was expected.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_IDENTITY_H
#define DEPLOY_REPORT_IDENTITY_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

/* A <table>, a row for each group whose gradients grew stale, over all its runs; nothing when there
 * is none. A row of which the sides differ says by how much. */
void identity_write_html(FILE *stream, const struct comparison *comparison);

#endif
