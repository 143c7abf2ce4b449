/* router_state.h - the fields of a router, for router.c, router_check.c and tests that spoil
 * them.
 *
 * Threads: the router's. */

#ifndef PS_ROUTER_ROUTER_STATE_H
#define PS_ROUTER_ROUTER_STATE_H

#include "common/wire/pages.h"
#include "ps/extension/owner_figures.h"
#include "ps/orders/orders.h"
#include "ps/router/router.h"
#include "ps/router/sessions.h"
#include "ps/shard/descriptions.h"

/* The latest CUT. */
struct router_snapshot {
    bool named;
    struct message_cut cut;
    uint32_t owners;                /* That have answered. */
    bool taken;                     /* All of them could take it. */
    bool said;                      /* CUT_TAKEN has been, with `verdicts`. */
    struct verdict_counts verdicts; /* The sum of theirs. */
    bool part_said;                 /* The checkpointer has spoken: `part`. */
    struct message_part_written part;
    uint64_t begun_us, patience_us;
};

/* The progress of the owners' chunks in being scored. */
struct router_scored {
    struct order_scored *owners; /* [owner_count] each one's last report; zeros: none. */
    struct order_scored all;     /* When all have reported the same; else zeros. */
    uint64_t let_go;             /* Scores whose values owners may drop, as they know. */
};

struct router {
    struct router_options options;
    enum router_state state;
    struct plan *plan;
    struct joining joining;
    struct pages pages; /* The declaration, while it comes in. */
    struct sessions sessions;
    struct descriptions descriptions; /* Of gradients, where the run is recorded. */
    uint8_t *owner_of;                /* [chunk_count] owner index of this server's chunks. */

    struct message_welcome welcome; /* Of this generation, as is the rest here. */
    uint32_t owners_loaded;         /* That have answered LOAD. */
    bool checkpointer_loaded;       /* The checkpointer has answered LOAD. */
    bool shared, needs_chunks;
    uint64_t chunks_us; /* When chunks were asked for, or the last one came. */
    struct router_snapshot snapshot;
    struct router_scored scored;
    struct owner_figures figures; /* Of staleness. */
    uint64_t rejected;            /* Gradients that did not fit the plan. */
    uint64_t released;            /* Highest version given out. */
    uint64_t stop_step;           /* Last version there will be. */

    struct router_counts counts, counts_logged;
    uint64_t counts_us;
};

/* See common/base/invariant.h. */
void router_check(const struct router *router);

#endif
