/* router.h - the core every server has: checks what workers send, hands it to the owners, and
 * carries this server through the job's life as the coordinator says.
 *
 *   workers --EXCHANGE--> router --> owner ---RESULT---> router --> worker
 *   coordinator (server 0) <--JOIN READY CUT_TAKEN PART_WRITTEN-- router
 *                           --JOB_PAGE WELCOME CUT FINISHED------> router
 *
 * Every server talks to the coordinator the same way, server 0 within its own thread and the others
 * over their connection to server 0. What a message of the wire says is checked here against the
 * plan before an owner sees it; what does not fit is answered REFUSED and counted.
 *
 * Threads: the server's router thread. Time arrives as an argument. */

#ifndef PS_ROUTER_H
#define PS_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/outbox.h"
#include "ps/plan.h"

struct router_options {
    uint32_t server; /* Task index. */
    uint64_t incarnation;
    uint64_t run_id;      /* Server 0: the one it has drawn; others learn it: 0. */
    uint32_t owner_count; /* 1 to 255. */
    uint8_t probe_digest[DIGEST_BYTES];
    char arithmetic[64], host[64];
    double start_timeout, worker_timeout; /* Seconds. */
};

enum router_state {
    ROUTER_JOINING, /* No job yet. */
    ROUTER_LOADING, /* Initial values or a checkpoint are on their way to the owners. */
    ROUTER_SERVING,
    ROUTER_OVER,
};

struct router;

enum status router_create(struct router **router, const struct router_options *options,
                          uint64_t now_us);
void router_destroy(struct router **router);

/* From a peer of the wire, the coordinator, an owner or the keeper. Takes over the payload. */
void router_handle_peer(struct router *router, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox);
void router_handle_coordinator(struct router *router, struct packet *packet, uint64_t now_us,
                               struct outbox *outbox);
void router_handle_inside(struct router *router, struct packet *packet, uint64_t now_us,
                          struct outbox *outbox);
void router_tick(struct router *router, uint64_t now_us, struct outbox *outbox);
/* In how many milliseconds to tick again at the latest. */
int router_patience_ms(const struct router *router);

/* NULL until the declaration has come; then owners can be made. */
const struct plan *router_plan(const struct router *router);
enum router_state router_state(const struct router *router);

/* While this server waits for a job: what for, "" if server 0 has never answered, and for how long;
 * NULL when it does not wait. */
const char *router_waiting(const struct router *router, double *seconds, uint64_t now_us);

/* Valid when ROUTER_OVER. */
int router_exit_code(const struct router *router);
const char *router_exit_reason(const struct router *router);

/* Stamp the sender's fields on a message about to leave this server. */
void router_stamp(const struct router *router, struct message *message);

#endif
