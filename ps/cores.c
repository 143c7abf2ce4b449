/* cores.c - a switch over destinations: an item in a core's outbox goes to another core, or out,
 * with the right sender. */

#include "ps/cores.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status cores_init(struct cores *cores, const struct cores_options *options, uint64_t now_us)
{
    memset(cores, 0, sizeof *cores);
    struct router_options router = options->router;
    struct checkpointer_options checkpointer = options->checkpointer;
    struct coordinator_options coordinator = options->coordinator;
    router.unchecked = checkpointer.unchecked = coordinator.unchecked = options->unchecked;
    checkpointer.policy = coordinator.policy = cores->policy = options->policy;
    coordinator.incarnation = options->router.self.incarnation;
    memcpy(coordinator.job_id, options->router.self.job_id, sizeof coordinator.job_id);
    cores->owner_count = options->router.owner_count;
    cores->listeners = options->listeners;
    cores->unchecked = options->unchecked;
    enum status status = router_create(&cores->router, &router, now_us);
    if (status == STATUS_OK)
        status = checkpointer_create(&cores->checkpointer, &checkpointer);
    if (status == STATUS_OK && options->router.self.index == 0)
        status = coordinator_create(&cores->coordinator, &coordinator, now_us);
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
    checkpointer_destroy(&cores->checkpointer);
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
    struct owner_options options = {.plan = router_plan(cores->router),
                                    .count = cores->owner_count,
                                    .memory = memory,
                                    .listeners = cores->listeners,
                                    .policy = cores->policy,
                                    .unchecked = cores->unchecked};
    enum status status = STATUS_OK;
    for (; options.index < cores->owner_count && status == STATUS_OK; options.index++)
        status = owner_create(&cores->owners[options.index], &options);
    if (status != STATUS_OK)
        owners_free(cores);
    return status;
}

void cores_receive(struct cores *cores, struct packet *packet, bool from_server_0, uint64_t now_us,
                   struct outbox *outbox)
{
    /* A REPORT comes in an EXCHANGE, whose sender the router checks; by itself it is refused. */
    enum message_kind kind = packet->message.kind;
    bool for_router =
        kind == MESSAGE_EXCHANGE || kind == MESSAGE_GRADIENT || kind == MESSAGE_REPORT;
    if (from_server_0)
        router_handle_coordinator(cores->router, packet, now_us, outbox);
    else if (cores->coordinator != NULL && !for_router)
        coordinator_handle(cores->coordinator, packet, now_us, outbox);
    else
        router_handle_peer(cores->router, packet, outbox);
}

/* What the checkpointer sends to the coordinator, here or over the wire. */
static bool is_from_checkpointer(enum message_kind kind)
{
    return kind == MESSAGE_PART_WRITTEN || kind == MESSAGE_CHUNK_STATE;
}

/* From within this server. Whether it is for the wire: server 0 is another one. */
static bool deliver_to_coordinator(struct cores *cores, struct outgoing *item, uint64_t now_us,
                                   struct outbox *outbox)
{
    struct packet *packet = &item->packet;
    struct message *message = &packet->message;
    uint64_t generation = message->generation;
    if (order_of(packet) != NULL) {
        if (cores->coordinator != NULL) /* Else a STOP came to a server that cannot stop the job. */
            coordinator_handle_inside(cores->coordinator, packet, now_us, outbox);
        else
            frame_release(packet->payload);
        return false;
    }
    if (message->kind == MESSAGE_REPORT) { /* Its worker has sealed it. */
        coordinator_handle(cores->coordinator, packet, now_us, outbox);
        return false;
    }
    if (message->kind == MESSAGE_PART_WRITTEN)
        router_note_part(cores->router, message);
    packet->peer = PEER_LOCAL;
    envelope_seal_to_server(&router_joining(cores->router)->envelope, message);
    if (cores->coordinator != NULL && is_from_checkpointer(message->kind)) {
        message->generation = generation; /* Our own router may have to hear of it yet. */
        coordinator_handle_inside(cores->coordinator, packet, now_us, outbox);
    } else if (generation != message->generation) { /* It changed while this was in flight. */
        frame_release(packet->payload);
    } else if (cores->coordinator != NULL) {
        coordinator_handle(cores->coordinator, packet, now_us, outbox);
    } else {
        item->to = TO_SERVER;
        item->index = 0;
        return true;
    }
    return false;
}

bool cores_deliver(struct cores *cores, struct outgoing *item, uint64_t now_us,
                   struct outbox *outbox)
{
    struct packet *packet = &item->packet;
    switch (item->to) {
    case TO_ROUTER:
        router_handle_inside(cores->router, packet, now_us, outbox);
        return false;
    case TO_COORDINATOR:
        return deliver_to_coordinator(cores, item, now_us, outbox);
    case TO_OWNER:
        owner_handle(cores->owners[item->index], packet, now_us, outbox);
        return false;
    case TO_CHECKPOINTER:
        checkpointer_handle(cores->checkpointer, packet, outbox);
        return false;
    case TO_PEER:
        if (packet->peer != PEER_LOCAL)
            return true;
        router_handle_coordinator(cores->router, packet, now_us, outbox);
        return false;
    default:
        assert(!"an item for no core");
        return false;
    }
}

void cores_stop(const struct cores *cores, int exit_code, struct outbox *outbox)
{
    struct message *message = &outbox_add(outbox, TO_COORDINATOR, MESSAGE_STOP)->message;
    joining_stop(router_joining(cores->router), exit_code);
    message->generation = router_joining(cores->router)->envelope.generation;
    message->stop.exit_code = (uint32_t)exit_code;
    snprintf(message->stop.reason, MESSAGE_TEXT_MAX, "ps/%u was asked to",
             router_joining(cores->router)->envelope.index);
}

bool cores_have_started(const struct cores *cores)
{
    return cores->coordinator != NULL && coordinator_has_started(cores->coordinator);
}

void cores_enough(const struct cores *cores, const char *why, struct outbox *outbox)
{
    struct message *message = &outbox_add(outbox, TO_COORDINATOR, MESSAGE_STOP)->message;
    message->generation = router_joining(cores->router)->envelope.generation;
    message->stop.exit_code = EXIT_DONE;
    snprintf(message->stop.reason, MESSAGE_TEXT_MAX, "%s", why);
}

void cores_abandon(struct cores *cores)
{
    joining_abandon(router_joining(cores->router));
    if (cores->coordinator != NULL)
        coordinator_abandon(cores->coordinator);
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
