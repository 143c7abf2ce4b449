/* set_writer.h - the state machine of server 0 that writes down which leaves make each step,
 * before a server learns of it. A step waits for that, and must not wait for a checkpoint.
 *
 *     takes   RUN_OPENED from the checkpointer, on its way to the coordinator, where steps are
 *             made of sets; SETS from the coordinator.
 *     gives   RUN_OPENED, with the sets that were sent from there on, and SETS_WRITTEN to the
 *             coordinator.
 *
 *     coordinator --SETS--> here --SETS_WRITTEN--> coordinator --CLOSE--> all servers
 *     coordinator --GO_BACK--> checkpointer --RUN_OPENED--> here --RUN_OPENED + sets--> coordinator
 *
 * All sets from before a going back are in this queue before its RUN_OPENED. So the file then
 * holds exactly what is sent again, and none is decided anew. A set that comes after the
 * checkpointer has raised the generation is not written: its coordinator goes back, and will not
 * hear of it.
 *
 * Nothing is written, either, when another server 0 has taken over the run: the file is its from
 * then on.
 *
 * Threads: one of its own. Ownership: the file is its alone while the process has the run. */

#ifndef PS_CHECKPOINTER_SET_WRITER_H
#define PS_CHECKPOINTER_SET_WRITER_H

#include <stdint.h>

#include "common/file/disk.h"
#include "common/store/generation.h"
#include "common/store/set_log.h"
#include "ps/orders/orders.h"

struct set_writer {
    const struct disk *disk; /* Borrowed. */
    char out[MESSAGE_TEXT_MAX];
    const struct job *job;   /* Of the run; the checkpointer's, never changed. NULL: none yet. */
    struct generation claim; /* As the checkpointer left it in the run directory. */
    uint64_t session;        /* Of the record; 0: there is none. */
    struct set_log log;      /* Of that session. */
};

void set_writer_init(struct set_writer *writer, const struct disk *disk, const char *out);

/* Takes over the packet's payload. */
void set_writer_handle(struct set_writer *writer, struct packet *packet, struct outbox *outbox);

#endif
