/* snapshot.c - two marks a server, taken and written, and CUT repeated to servers that lack one. */

#include "ps/coordinator/snapshot.h"

#include <string.h>

#include "common/kernels/kernels.h"
#include "common/store/run_record.h"

#define REPEAT_US 1000000u

static void tell(const struct snapshot *snapshot, const struct member *server,
                 const struct envelope *envelope, struct outbox *outbox)
{
    struct packet *packet = envelope_to_peer(envelope, server->peer, MESSAGE_CUT, outbox);
    packet->message.cut.step = snapshot->step;
    packet->message.cut.final = snapshot->final;
    packet->message.cut.recorded = snapshot->recorded;
}

void snapshot_begin(struct snapshot *snapshot, struct membership *membership,
                    const struct envelope *envelope, uint64_t step, bool final, uint64_t recorded,
                    uint64_t now_us, struct outbox *outbox)
{
    *snapshot = (struct snapshot){.under_way = true,
                                  .final = final,
                                  .step = step,
                                  .recorded = recorded,
                                  .named_us = now_us,
                                  .sent_us = now_us};
    for (uint32_t i = 0; i < membership->server_count; i++) {
        membership->servers[i].cut_taken = membership->servers[i].part_written = false;
        membership->servers[i].snapshot_answered = false;
        tell(snapshot, &membership->servers[i], envelope, outbox);
    }
}

void snapshot_reached(struct snapshot *snapshot, uint64_t now_us)
{
    if (snapshot->reached_us == 0)
        snapshot->reached_us = now_us;
}

void snapshot_repeat(struct snapshot *snapshot, const struct membership *membership,
                     const struct envelope *envelope, uint64_t now_us, struct outbox *outbox)
{
    bool given_up = snapshot->given_up_us != 0;
    if ((!snapshot->under_way && !given_up) || now_us - snapshot->sent_us < REPEAT_US)
        return;
    snapshot->sent_us = now_us;
    for (uint32_t i = 0; i < membership->server_count; i++) {
        const struct member *server = &membership->servers[i];
        if (given_up ? !server->snapshot_answered : !server->cut_taken || !server->part_written)
            tell(snapshot, server, envelope, outbox);
    }
}

const struct member *snapshot_unanswered(const struct membership *membership, uint32_t *server)
{
    for (*server = 0; *server < membership->server_count; ++*server)
        if (!membership->servers[*server].snapshot_answered)
            return &membership->servers[*server];
    return NULL;
}

bool snapshot_is_taken(const struct membership *membership)
{
    for (uint32_t i = 0; i < membership->server_count; i++)
        if (!membership->servers[i].cut_taken)
            return false;
    return true;
}

/* The instructions of gradients. All workers' arithmetic gives the same bits where that matters. */
static uint32_t instructions_of(const struct membership *membership)
{
    enum kernels_instructions instructions;
    for (uint32_t i = 0; i < membership->worker_count; i++)
        if (membership->workers[i].ever)
            return kernels_instructions_named(membership->workers[i].arithmetic, &instructions)
                       ? instructions
                       : RUN_RECORD_OTHERS;
    return RUN_RECORD_OTHERS;
}

enum status snapshot_collect(struct snapshot *snapshot, const struct membership *membership,
                             const struct envelope *envelope, const struct tally_so_far *so_far,
                             struct outbox *outbox)
{
    if (snapshot->collected)
        return STATUS_AGAIN;
    for (uint32_t i = 0; i < membership->server_count; i++)
        if (!membership->servers[i].part_written)
            return STATUS_AGAIN;
    struct frame *parts = frame_create(membership->server_count * sizeof(struct checkpoint_part));
    if (parts == NULL)
        return STATUS_MEMORY;
    struct checkpoint_part *to = parts->data;
    for (uint32_t i = 0; i < membership->server_count; i++)
        to[i] = membership->servers[i].part;
    const struct order manifest = {
        .kind = ORDER_MANIFEST,
        .generation = envelope->generation,
        .manifest = {snapshot->step, *so_far, instructions_of(membership)}};
    order_add(outbox, TO_CHECKPOINTER, 0, &manifest)->payload = parts;
    snapshot->collected = true;
    return STATUS_OK;
}

uint64_t snapshot_bytes(const struct membership *membership)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < membership->server_count; i++)
        bytes += membership->servers[i].part.bytes;
    return bytes;
}
