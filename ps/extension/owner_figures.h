/* owner_figures.h - the last staleness figures of one server's owners, on their way to server 0:
 * with a sign of life when there is news, and with every CUT_TAKEN as of that snapshot, so that
 * no lost message loses a snapshot's figures.
 *
 * Threads: the router's. Ownership: frames that are put in are owned. */

#ifndef PS_EXTENSION_OWNER_FIGURES_H
#define PS_EXTENSION_OWNER_FIGURES_H

#include "ps/extension/staleness_counters.h"

struct owner_figures {
    struct frame **owners; /* [owner_count], owned; NULL before an owner has reported. */
    uint32_t owner_count;
    struct frame *at_snapshot; /* Owned; NULL for none. */
    bool news;
};

enum status owner_figures_init(struct owner_figures *figures, uint32_t owner_count);
void owner_figures_free(struct owner_figures *figures);

/* A generation begins. */
void owner_figures_forget(struct owner_figures *figures);

/* An owner's report, a tally or NULL. Takes the reference. */
void owner_figures_put(struct owner_figures *figures, uint32_t owner, struct frame *frame);

/* All owners have taken their snapshot: their last reports are as of it. */
void owner_figures_snapshot(struct owner_figures *figures);

/* A reference, the caller's, or NULL: for CUT_TAKEN; and for a sign of life, once. */
struct frame *owner_figures_at_snapshot(const struct owner_figures *figures);
struct frame *owner_figures_news(struct owner_figures *figures);

#endif
