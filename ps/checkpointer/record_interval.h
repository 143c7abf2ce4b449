/* record_interval.h - from one snapshot to the next: the coordinator's computations and all
 * servers' update logs become blocks of the record.
 *
 * A computation that no chunk has had is left out. So are entries and sets before the last recorded
 * snapshot, which chunks and coordinator still have where it could not confirm it yet.
 *
 * Threads: the checkpointer's. */

#ifndef PS_CHECKPOINTER_RECORD_INTERVAL_H
#define PS_CHECKPOINTER_RECORD_INTERVAL_H

#include "ps/checkpointer/checkpointer_state.h"

/* Up to the snapshot at `step`, of which all parts are written; without a record nothing is
 * done. `sets`: up to that step, where steps are made of some. STATUS_IO, STATUS_MEMORY,
 * STATUS_INVALID: then there is no manifest. */
enum status record_interval_write(struct checkpointer *checkpointer, uint64_t step,
                                  struct leaf_sets sets, struct error *error);

#endif
