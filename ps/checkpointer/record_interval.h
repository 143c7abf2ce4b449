/* record_interval.h - from one cut to the next: what server 0 has of computations and all servers of
 * entries becomes blocks of the record.
 *
 * A computation that no chunk has had is left out; chunks have had entries before the last cut that is
 * recorded if server 0 could not tell them of it yet, and those are left out too.
 *
 * Threads: the checkpointer's. */

#ifndef PS_CHECKPOINTER_RECORD_INTERVAL_H
#define PS_CHECKPOINTER_RECORD_INTERVAL_H

#include "ps/checkpointer/checkpointer_state.h"

/* Up to the cut at `step`, of which all parts are written; where nothing is recorded nothing is done.
 * STATUS_IO, STATUS_MEMORY, STATUS_INVALID: then there is to be no manifest. */
enum status record_interval_write(struct checkpointer *checkpointer, uint64_t step,
                                  struct error *error);

#endif
