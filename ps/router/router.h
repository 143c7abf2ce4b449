/* router.h - the state machine of every server: checks workers' messages, hands them to the
 * owners, and follows the coordinator through the job's life.
 *
 *   workers --EXCHANGE--> router --> owner --RESULT...--> router --> worker
 *   coordinator (server 0) <--JOIN READY CUT_TAKEN REPORT-- router
 *                           --JOB_PAGE WELCOME CUT FINISHED------> router
 *
 * Every server talks to the coordinator the same way, server 0 within its own thread and the
 * others over their connection to server 0. Messages of the wire are checked here against the
 * plan before an owner sees them.
 *
 * Generations: a WELCOME with a greater one takes the job back to a checkpoint: every chunk is loaded
 * again, in every mode. Everything of another generation is dropped, from workers, from server 0, and from
 * within, where it may have been in flight: owners and checkpointer name the generation of their messages.
 *
 * What becomes of an EXCHANGE:
 *
 *   dropped    no answer, the worker repeats: not serving yet, or a generation that is not known
 *              here yet. Beyond the worker's window: a gradient is answered RECEIPT(missing).
 *              (So are answers to a worker that does not read the ones before.)
 *   fenced     of an older generation: no answer. From a process whose place another one has
 *              taken: REFUSED(MEMBER).
 *   refused    of another run, from no worker, or not fitting the plan.
 *   received   all else. A gradient (also one that is skipped; a retry is none) that is received,
 *              or does not fit the plan, has one verdict: applied + stale + duplicate + rejected =
 *              received, counted from zero in each generation, and reported with CUT_TAKEN. The other
 *              three are counted since the start, and logged once in a while.
 *
 * Threads: the server's router thread. Time arrives as an argument. */

#ifndef PS_ROUTER_ROUTER_H
#define PS_ROUTER_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/joining.h"
#include "ps/orders/orders.h"
#include "ps/shard/plan.h"

struct router_options {
    struct joining_options self; /* deadlines.start: until there is a job. */
    uint32_t owner_count;        /* 1 to 255. */
    bool unchecked;              /* No checks of itself (common/base/invariant.h). */
};

enum router_state {
    ROUTER_JOINING, /* No job yet. */
    ROUTER_LOADING, /* Initial values or a checkpoint are on their way to the owners. */
    ROUTER_SERVING,
    ROUTER_OVER,
};

struct router_counts {
    uint64_t received;                 /* Gradients, in this generation. */
    uint64_t fenced, dropped, refused; /* Exchanges, since the start. */
};

struct router;

enum status router_create(struct router **router, const struct router_options *options,
                          uint64_t now_us);
void router_destroy(struct router **router);

/* From a peer of the wire, the coordinator, an owner or the checkpointer. Takes over the
 * payload. */
void router_handle_peer(struct router *router, struct packet *packet, struct outbox *outbox);
void router_handle_coordinator(struct router *router, struct packet *packet, uint64_t now_us,
                               struct outbox *outbox);
void router_handle_inside(struct router *router, struct packet *packet, uint64_t now_us,
                          struct outbox *outbox);
void router_tick(struct router *router, uint64_t now_us, struct outbox *outbox);

/* The checkpointer's PART_WRITTEN for this server passes by: it is repeated if need be. */
void router_note_part(struct router *router, const struct message *message);

/* This server cannot go on: the coordinator hears of it, and all members end with this exit
 * code. */
void router_fail(struct router *router, int exit_code, const char *reason, struct outbox *outbox);

/* NULL until the declaration has come; then owners can be made. */
const struct plan *router_plan(const struct router *router);
enum router_state router_state(const struct router *router);
struct router_counts router_counts(const struct router *router);

/* While this server waits for server 0 to admit it: the reason, "" if it has not answered, and
 * for how long; NULL when it does not wait. */
const char *router_waiting(const struct router *router, double *seconds, uint64_t now_us);

/* This server's identity, and when ROUTER_OVER the reason; and where to stop and to abandon it. */
struct joining *router_joining(struct router *router);

#endif
