/* lanes.h - the row of each span in a picture: spans of one row follow each other or are nested, as
 * trace viewers require. A span that overlaps another in its lane gets a row of its own below.
 *
 *     lane   |----a----|      row 0  |----a----|
 *              |--b--|                 |--b--|
 *                  |---c---|  row 1        |---c---|
 *
 * Threads: plain values. Ownership: lanes_free. */

#ifndef DEPLOY_TRACE_LANES_H
#define DEPLOY_TRACE_LANES_H

#include "common/base/status.h"
#include "deploy/trace/spans.h"

struct row {
    enum role role;
    uint32_t index;
    uint32_t lane, depth; /* depth: 0, or more for overlaps. */
};

struct lanes {
    uint32_t *row_of; /* [spans->count] */
    struct row *rows; /* [row_count] by process, lane, depth. */
    size_t row_count;
};

enum status lanes_make(struct lanes *lanes, const struct spans *spans);
void lanes_free(struct lanes *lanes);

#endif
