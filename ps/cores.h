/* cores.h - the cores of one server, and the way of messages between them.
 *
 * Only here router, coordinator, owners and checkpointer are wired together. Threads (server.c)
 * and the engine of virtual time both drive it, so the simulation is of the real thing.
 *
 * Threads: each core belongs to one thread; cores_deliver touches only the core an item is for.
 * Ownership: owns all cores. */

#ifndef PS_CORES_H
#define PS_CORES_H

#include <stdbool.h>

#include "common/wire/outbox.h"
#include "ps/checkpointer/checkpointer.h"
#include "ps/coordinator/coordinator.h"
#include "ps/owner/owner.h"
#include "ps/router/router.h"

struct cores {
    struct router *router;
    struct coordinator *coordinator; /* Server 0 only, else NULL. */
    struct checkpointer *checkpointer;
    struct owner **owners; /* [owner_count], NULL until the plan is there. */
    uint32_t owner_count;
    const struct chunk_listener *const *listeners;
    const struct policy *policy;
    bool unchecked;
};

struct cores_options {
    struct router_options router;
    struct coordinator_options coordinator; /* Used on server 0; but for incarnation and job_id. */
    struct checkpointer_options checkpointer;
    const struct chunk_listener *const *listeners; /* See owner_options. */
    const struct policy *policy;                   /* NULL: the mode decides. Borrowed. */
    bool unchecked; /* No core checks itself (common/base/invariant.h). */
};

enum status cores_init(struct cores *cores, const struct cores_options *options, uint64_t now_us);
void cores_free(struct cores *cores);

/* Make the owners once router_plan is there. memory: see chunk_init. On failure there are none. */
enum status cores_make_owners(struct cores *cores, const struct chunk_memory *memory);

/* A message from the wire, of a peer of the listening endpoint or of server 0. */
void cores_receive(struct cores *cores, struct packet *packet, bool from_server_0, uint64_t now_us,
                   struct outbox *outbox);

/* Give an item to its core; the new items in the outbox have to be delivered in turn. True: the
 * item is for the wire, as it is now, and for the caller to send: TO_PEER, or TO_SERVER 0, for
 * its coordinator. Owners and the checkpointer put out nothing for the wire. */
bool cores_deliver(struct cores *cores, struct outgoing *item, uint64_t now_us,
                   struct outbox *outbox);

/* Whether training has started. Before, cores_enough would not reach members that join later. */
bool cores_have_started(const struct cores *cores);

/* It has been trained enough: a clean stop with EXIT_DONE, of server 0 alone. */
void cores_enough(const struct cores *cores, const char *why, struct outbox *outbox);
/* This server was asked for a clean stop of the job, with EXIT_INTERRUPTED or EXIT_TERMINATED:
 * tell server 0. */
void cores_stop(const struct cores *cores, int exit_code, struct outbox *outbox);

/* The launcher of this process is gone, or the connection to it is: server 0 decides which. */
void cores_abandon(struct cores *cores);

void cores_tick(struct cores *cores, uint64_t now_us, struct outbox *outbox);

/* Server 0 has the run directory, and is not about to leave it. */
bool cores_hold_run(const struct cores *cores);

/* Nothing is left to do: the router is over, and so is the coordinator, if there is one. */
bool cores_are_over(const struct cores *cores);

#endif
