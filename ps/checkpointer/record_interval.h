/* record_interval.h - from one snapshot to the next: all servers' descriptions of gradients and
 * their update logs become blocks of the record.
 *
 * Servers describe one gradient each by itself, as the same ticket and count. It becomes one
 * computation, and has its number here. Computations are in an order in which each comes behind
 * those whose updates its bases count; of those that could be next the one with the least clock
 * is. That is an order in which they may have been begun, and bounds on clocks hold in it.
 *
 * A gradient that no chunk has had is left out. So are entries and sets before the last recorded
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
                                  struct leaf_sets sets, struct outbox *outbox,
                                  struct error *error);

#endif
