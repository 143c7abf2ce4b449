/* checkpointer.h - the state machine for all that must survive: checkpoints and, on server 0,
 * the run directory with its generation, event log, summary and exported model.
 *
 *     takes   OPEN_RUN, GO_BACK, SEND_CHUNKS, MANIFEST, EVENT, SUMMARY from the coordinator (on
 *             server 0); LOAD from the router; CHUNK_STATE from the owners, and on server 0 from servers
 *             that do not see its run directory.
 *     gives   RUN_OPENED, PART_WRITTEN, MANIFEST_WRITTEN, SUMMARY_WRITTEN to the coordinator; LOADED
 *             and, out of a checkpoint, CHUNK_STATE to the router.
 *
 * One snapshot is written at a time; the coordinator names the next when the last is settled.
 *
 * Generations. OPEN_RUN and GO_BACK raise the number in OUT/generation, durably, before they are
 * answered. A run whose server 0 was killed is still open there: its successor goes on under the
 * same run id. A run that has ended leaves its exit code. A worker of that run gets it
 * (`ended`); any other worker begins another session, with a run id of its own. Items of a
 * generation before the last LOAD or GO_BACK are dropped; all answers carry message.generation.
 * Before server 0 writes a manifest, a summary or another generation it reads the file again. If
 * the file has changed there is another server 0, and it refuses.
 *
 * Disks fail. A part or manifest that cannot be written is an answer with a reason. Whole
 * checkpoints stay whole, and the next snapshot starts afresh after the failed one's files are
 * removed. An event log that cannot be written costs its lines, TensorBoard's files (board.h)
 * their events. Only the run's beginning, a new generation and the last model must succeed.
 *
 * A job with given initial values begins with those, as from a checkpoint at step 0 that server 0 has.
 *
 * `--restore`: a run goes on from its own newest whole checkpoint. Where there is none, "auto"
 * and "never" begin at step 0, and a directory is where it begins. "never" refuses an unfinished
 * run, unless the run is still open: then it is this very run, whose server 0 was killed.
 *
 * The disk comes in as a table. Threads: the checkpointer's own, so that a slow disk delays no
 * other. */

#ifndef PS_CHECKPOINTER_CHECKPOINTER_H
#define PS_CHECKPOINTER_CHECKPOINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file/disk.h"
#include "common/tensorboard/board_place.h"
#include "ps/orders/orders.h"

struct checkpointer_options {
    uint32_t server;
    const struct disk *disk;
    char out[MESSAGE_TEXT_MAX];  /* Server 0: the run directory. */
    char restore[DISK_PATH_MAX]; /* Server 0: "auto", "never" or a checkpoint's directory. */
    char initial[DISK_PATH_MAX]; /* Server 0: file of given initial values; "": OUT has it. */
    bool unchecked;              /* No checks of itself (common/base/invariant.h). */
    uint32_t keep;    /* Server 0: checkpoints (checkpoint.h); 0: as the run began with. */
    const char *page; /* Server 0: of the job (run_directory.h); NULL: none. Borrowed. */
    const struct policy *policy; /* NULL: the mode decides. Borrowed. */
    struct board_place board;    /* Server 0: where TensorBoard's event files go, if anywhere. */
};

struct checkpointer;

enum status checkpointer_create(struct checkpointer **checkpointer,
                                const struct checkpointer_options *options);
void checkpointer_destroy(struct checkpointer **checkpointer);

/* Takes over the packet's payload. */
void checkpointer_handle(struct checkpointer *checkpointer, struct packet *packet,
                         struct outbox *outbox);

#endif
