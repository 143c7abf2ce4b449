/* keeper.h - the core that looks after what must survive: checkpoints and, on server 0, the run
 * directory with its journal, summary and the exported model.
 *
 * Takes   OPEN_RUN, SEND_CHUNKS, MANIFEST, EVENT, SUMMARY from the coordinator (server 0 only);
 *         LOAD from the router; CHUNK_STATE from the owners, and on server 0 from servers that do
 * not see its run directory. Gives   RUN_OPENED, PART_WRITTEN, MANIFEST_WRITTEN, SUMMARY_WRITTEN to
 * the coordinator; LOADED and, out of a checkpoint, CHUNK_STATE to the router.
 *
 * One cut is written at a time; the coordinator names the next one when it has heard of the last.
 * The disk comes in as a table. Threads: the keeper's own, so that a slow disk holds up nobody. */

#ifndef PS_KEEPER_H
#define PS_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk.h"
#include "common/outbox.h"

struct keeper_options {
    uint32_t server;
    const struct disk *disk;
    char out[MESSAGE_TEXT_MAX];  /* Server 0: the run directory. */
    char restore[DISK_PATH_MAX]; /* Server 0: "auto", "never" or a checkpoint's directory. */
    bool journal; /* Write run.json and events.jsonl (the simulator has no use for them). */
};

struct keeper;

enum status keeper_create(struct keeper **keeper, const struct keeper_options *options);
void keeper_destroy(struct keeper **keeper);

/* Takes over the packet's payload. */
void keeper_handle(struct keeper *keeper, struct packet *packet, struct outbox *outbox);

#endif
