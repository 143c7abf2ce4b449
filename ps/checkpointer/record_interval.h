/* record_interval.h - from one snapshot to the next: the coordinator's computations and all
 * servers' update logs become blocks of the record.
 *
 * A computation that no chunk has had is left out. So are entries before the last recorded
 * snapshot, which chunks still have where the coordinator could not confirm it yet.
 *
 * Threads: the checkpointer's. */

#ifndef PS_CHECKPOINTER_RECORD_INTERVAL_H
#define PS_CHECKPOINTER_RECORD_INTERVAL_H

#include "ps/checkpointer/checkpointer_state.h"

/* Up to the snapshot at `step`, of which all parts are written; without a record nothing is
 * done. STATUS_IO, STATUS_MEMORY, STATUS_INVALID: then there is no manifest. */
enum status record_interval_write(struct checkpointer *checkpointer, uint64_t step,
                                  struct error *error);

#endif
