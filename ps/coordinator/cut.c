/* cut.c - one mark a server for taken and one for written, and CUT said again to whoever lacks one.
 * */

#include "ps/coordinator/cut.h"

#include <string.h>

#include "common/kernels/kernels.h"
#include "common/store/run_record.h"

#define REPEAT_US 1000000u

static void tell(const struct cut *cut, const struct member *server,
                 const struct envelope *envelope, struct outbox *outbox)
{
    struct packet *packet = envelope_to_peer(envelope, server->peer, MESSAGE_CUT, outbox);
    packet->message.cut.step = cut->step;
    packet->message.cut.final = cut->final;
    packet->message.cut.recorded = cut->recorded;
}

void cut_begin(struct cut *cut, struct membership *membership, const struct envelope *envelope,
               uint64_t step, bool final, uint64_t recorded, uint64_t now_us, struct outbox *outbox)
{
    *cut = (struct cut){.under_way = true,
                        .final = final,
                        .step = step,
                        .recorded = recorded,
                        .named_us = now_us,
                        .told_us = now_us};
    for (uint32_t i = 0; i < membership->server_count; i++) {
        membership->servers[i].cut_taken = membership->servers[i].part_written = false;
        membership->servers[i].cut_answered = false;
        tell(cut, &membership->servers[i], envelope, outbox);
    }
}

void cut_reached(struct cut *cut, uint64_t now_us)
{
    if (cut->reached_us == 0)
        cut->reached_us = now_us;
}

void cut_repeat(struct cut *cut, const struct membership *membership,
                const struct envelope *envelope, uint64_t now_us, struct outbox *outbox)
{
    bool given_up = cut->given_up_us != 0;
    if ((!cut->under_way && !given_up) || now_us - cut->told_us < REPEAT_US)
        return;
    cut->told_us = now_us;
    for (uint32_t i = 0; i < membership->server_count; i++) {
        const struct member *server = &membership->servers[i];
        if (given_up ? !server->cut_answered : !server->cut_taken || !server->part_written)
            tell(cut, server, envelope, outbox);
    }
}

const struct member *cut_unanswered(const struct membership *membership, uint32_t *server)
{
    for (*server = 0; *server < membership->server_count; ++*server)
        if (!membership->servers[*server].cut_answered)
            return &membership->servers[*server];
    return NULL;
}

bool cut_is_taken(const struct membership *membership)
{
    for (uint32_t i = 0; i < membership->server_count; i++)
        if (!membership->servers[i].cut_taken)
            return false;
    return true;
}

/* What gradients are made with. All workers' arithmetic gives the same bits where that matters. */
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

enum status cut_collect(struct cut *cut, const struct membership *membership,
                        const struct envelope *envelope, const struct tally_so_far *so_far,
                        const struct closings *closings, struct outbox *outbox)
{
    if (cut->collected)
        return STATUS_AGAIN;
    for (uint32_t i = 0; i < membership->server_count; i++)
        if (!membership->servers[i].part_written)
            return STATUS_AGAIN;
    struct tally_so_far before = *so_far;
    struct frame *sets = NULL;
    if (closings != NULL) {
        struct closings_start start = closings_start_at(closings, cut->step);
        before.number = start.epoch;
        sets = closings_list(closings, start.first, cut->step);
    }
    size_t bytes = membership->server_count * sizeof(struct checkpoint_part);
    struct frame *parts = frame_create(bytes + (sets != NULL ? sets->bytes : 0));
    if (parts == NULL || (sets == NULL && closings != NULL)) {
        frame_release(parts);
        frame_release(sets);
        return STATUS_MEMORY;
    }
    struct checkpoint_part *to = parts->data;
    for (uint32_t i = 0; i < membership->server_count; i++)
        to[i] = membership->servers[i].part;
    if (sets != NULL)
        memcpy((char *)parts->data + bytes, sets->data, sets->bytes);
    frame_release(sets);
    const struct order manifest = {.kind = ORDER_MANIFEST,
                                   .generation = envelope->generation,
                                   .manifest = {cut->step, before, instructions_of(membership)}};
    order_add(outbox, TO_CHECKPOINTER, 0, &manifest)->payload = parts;
    cut->collected = true;
    return STATUS_OK;
}

uint64_t cut_bytes(const struct membership *membership)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < membership->server_count; i++)
        bytes += membership->servers[i].part.bytes;
    return bytes;
}
