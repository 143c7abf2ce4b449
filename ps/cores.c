/* cores.c - a switch over destinations: what a core put into its outbox goes to another core, or
 * out, stamped by whom it is for. */

#include "ps/cores.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status cores_init(struct cores *cores, const struct cores_options *options, uint64_t now_us)
{
    memset(cores, 0, sizeof *cores);
    cores->owner_count = options->router.owner_count;
    enum status status = router_create(&cores->router, &options->router, now_us);
    if (status == STATUS_OK)
        status = keeper_create(&cores->keeper, &options->keeper);
    if (status == STATUS_OK && options->router.server == 0)
        status = coordinator_create(&cores->coordinator, &options->coordinator, now_us);
    if (status != STATUS_OK)
        cores_free(cores);
    return status;
}

static void owners_free(struct cores *cores)
{
    for (uint32_t i = 0; cores->owners != NULL && i < cores->owner_count; i++)
        owner_destroy(&cores->owners[i]);
    free(cores->owners);
    cores->owners = NULL;
}

void cores_free(struct cores *cores)
{
    owners_free(cores);
    keeper_destroy(&cores->keeper);
    coordinator_destroy(&cores->coordinator);
    router_destroy(&cores->router); /* Last: the others look at its plan. */
    memset(cores, 0, sizeof *cores);
}

enum status cores_make_owners(struct cores *cores, const struct chunk_memory *memory)
{
    assert(cores->owners == NULL && router_plan(cores->router) != NULL);
    cores->owners = calloc(cores->owner_count, sizeof *cores->owners);
    if (cores->owners == NULL)
        return STATUS_MEMORY;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < cores->owner_count && status == STATUS_OK; i++)
        status = owner_create(&cores->owners[i], router_plan(cores->router), i, cores->owner_count,
                              memory);
    if (status != STATUS_OK)
        owners_free(cores);
    return status;
}

void cores_receive(struct cores *cores, struct packet *packet, bool from_server_0, uint64_t now_us,
                   struct outbox *outbox)
{
    /* A REPORT comes in an EXCHANGE, whose sender the router checks; by itself it is refused. */
    bool for_router =
        packet->message.kind == MESSAGE_EXCHANGE || packet->message.kind == MESSAGE_REPORT;
    if (from_server_0)
        router_handle_coordinator(cores->router, packet, now_us, outbox);
    else if (cores->coordinator != NULL && !for_router)
        coordinator_handle(cores->coordinator, packet, now_us, outbox);
    else
        router_handle_peer(cores->router, packet, now_us, outbox);
}

/* What the keeper tells the coordinator; everything else comes from routers and owners. */
static bool is_from_keeper(enum message_kind kind)
{
    return kind == MESSAGE_RUN_OPENED || kind == MESSAGE_PART_WRITTEN ||
           kind == MESSAGE_CHUNK_STATE || kind == MESSAGE_MANIFEST_WRITTEN ||
           kind == MESSAGE_SUMMARY_WRITTEN;
}

static void deliver_to_coordinator(struct cores *cores, struct packet *packet, uint64_t now_us,
                                   struct outbox *outbox)
{
    struct message *message = &packet->message;
    bool keeper = cores->coordinator != NULL && is_from_keeper(message->kind);
    if (message->kind == MESSAGE_PART_WRITTEN)
        router_note_part(cores->router, message);
    if (message->kind != MESSAGE_REPORT)
        packet->peer = PEER_LOCAL;
    if (message->kind == MESSAGE_REPORT) { /* As its worker has stamped it. */
        coordinator_handle(cores->coordinator, packet, now_us, outbox);
    } else if (keeper) { /* It may be of a generation that our own router has still to hear of. */
        uint64_t generation = message->generation;
        router_stamp(cores->router, message);
        message->generation = generation;
        coordinator_handle_keeper(cores->coordinator, packet, now_us, outbox);
    } else if (message->generation == router_generation(cores->router)) {
        router_stamp(cores->router, message);
        if (cores->coordinator != NULL)
            coordinator_handle(cores->coordinator, packet, now_us, outbox);
        else
            *outbox_add(outbox, TO_SERVER, message->kind) = *packet;
    } else { /* The generation has changed while it was on its way. */
        frame_release(packet->payload);
    }
}

/* Who it is from, and nothing that members know each other by: whoever is none might say it back.
 */
static void stamp_for_stranger(const struct cores *cores, struct message *message)
{
    router_stamp(cores->router, message);
    message->incarnation = message->run_id = message->generation = 0;
    message->ticket = message->proof = 0;
}

/* The coordinator speaks for a run and a generation that our own router may have to hear of first,
 * and says which; all others leave it to the router. */
static void stamp_for_member(const struct cores *cores, struct message *message)
{
    uint64_t run_id = message->run_id, generation = message->generation;
    router_stamp(cores->router, message);
    if (run_id != 0) {
        message->run_id = run_id;
        message->generation = generation;
    }
}

static void deliver_to_peer(struct cores *cores, struct packet *packet, uint64_t now_us,
                            struct outbox *outbox)
{
    struct message *message = &packet->message;
    if (packet->member || packet->peer == PEER_LOCAL)
        stamp_for_member(cores, message);
    else
        stamp_for_stranger(cores, message);
    if (packet->peer == PEER_LOCAL)
        router_handle_coordinator(cores->router, packet, now_us, outbox);
    else
        *outbox_add(outbox, TO_PEER, message->kind) = *packet;
}

bool cores_is_for_wire(const struct outgoing *item)
{
    return item->to == TO_SERVER || (item->to == TO_PEER && item->packet.peer != PEER_LOCAL &&
                                     item->packet.message.role == ROLE_PS);
}

void cores_deliver(struct cores *cores, struct outgoing *item, uint64_t now_us,
                   struct outbox *outbox)
{
    struct packet *packet = &item->packet;
    switch (item->to) {
    case TO_ROUTER:
        router_handle_inside(cores->router, packet, now_us, outbox);
        break;
    case TO_COORDINATOR:
        deliver_to_coordinator(cores, packet, now_us, outbox);
        break;
    case TO_OWNER:
        owner_handle(cores->owners[item->index], packet, now_us, outbox);
        break;
    case TO_KEEPER:
        keeper_handle(cores->keeper, packet, outbox);
        break;
    case TO_PEER:
        deliver_to_peer(cores, packet, now_us, outbox);
        break;
    default:
        assert(!"an item for no core");
    }
}

void cores_stop(const struct cores *cores, int exit_code, struct outbox *outbox)
{
    struct message *message = &outbox_add(outbox, TO_COORDINATOR, MESSAGE_STOP)->message;
    router_stop(cores->router, exit_code);
    router_stamp(cores->router, message);
    message->stop.exit_code = (uint32_t)exit_code;
    snprintf(message->stop.reason, MESSAGE_TEXT_MAX, "ps/%u was asked to", message->index);
}

void cores_abandon(struct cores *cores, double seconds)
{
    router_abandon(cores->router);
    if (cores->coordinator != NULL)
        coordinator_abandon(cores->coordinator, seconds);
}

void cores_tick(struct cores *cores, uint64_t now_us, struct outbox *outbox)
{
    if (cores->coordinator != NULL)
        coordinator_tick(cores->coordinator, now_us, outbox);
    router_tick(cores->router, now_us, outbox);
}

bool cores_hold_run(const struct cores *cores)
{
    return cores->coordinator != NULL && coordinator_holds_run(cores->coordinator);
}

bool cores_are_over(const struct cores *cores)
{
    return router_state(cores->router) == ROUTER_OVER &&
           (cores->coordinator == NULL || coordinator_is_over(cores->coordinator));
}
