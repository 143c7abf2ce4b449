/* placement.h - which of a job's processes goes to which host.
 *
 * Servers first, in the order of the list, over the hosts that may have some: each goes where there
 * are fewest servers. A list with role=ps has its servers there and nowhere else. Workers then go
 * where there is most room left: a host's room is its slots, or, where none were said, as much as
 * comes, and then it takes its turn as one of one slot. So without slots processes are dealt over
 * all hosts alike; with them no host gets more than it has.
 *
 * With servers at the workers' places (colocated) a place is one slot, and server i is with worker i.
 *
 * Threads: pure. Ownership: the seating owns its arrays. */

#ifndef DEPLOY_HOSTS_PLACEMENT_H
#define DEPLOY_HOSTS_PLACEMENT_H

#include <stdbool.h>

#include "deploy/hosts/host_list.h"

struct placement {
    uint32_t servers, workers;
    size_t *server_hosts; /* [servers] an index into the list, owned. */
    size_t *worker_hosts; /* [workers], owned. */
    uint32_t *taken;      /* [hosts] slots that are taken, owned. */
};

/* How many workers a list has room for beside so many servers: all slots that are left, one for each
 * host that does not say. 0: none. */
uint32_t placement_room(const struct host_list *list, uint32_t servers, bool colocated);

/* STATUS_INVALID when there is not room for all, with a line that says how much there is;
 * STATUS_MEMORY. placement_free in any case. */
enum status placement_make(struct placement *placement, const struct host_list *list,
                           uint32_t servers, uint32_t workers, bool colocated, struct error *error);

/* Where worker number `worker` might go instead: the host with most room but those that are `gone`
 * [hosts], whether or not its slots are taken, since work that is done anywhere is better than none.
 * Moves it there; false when there is no other. */
bool placement_move(struct placement *placement, const struct host_list *list, uint32_t worker,
                    const bool *gone);

/* Accepts what was only zeroed. */
void placement_free(struct placement *placement);

#endif
