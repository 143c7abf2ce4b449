/* placement.h - assigns the processes of a job to hosts.
 *
 * Servers are first, in the order of the list, each on an allowed host with the fewest servers.
 * With role=ps in a list servers are only there. Workers follow, each on the host with most free
 * slots. A host without a number of slots is unlimited, and takes its turn like a host with one
 * slot. Therefore without slots all hosts get equally many processes; with slots no host gets more.
 *
 * With servers at the workers' places (colocated) a place is one slot, and server i is with worker
 * i.
 *
 * Threads: pure. Ownership: the placement owns its arrays. */

#ifndef DEPLOY_HOSTS_PLACEMENT_H
#define DEPLOY_HOSTS_PLACEMENT_H

#include <stdbool.h>

#include "deploy/hosts/host_list.h"

struct placement {
    uint32_t servers, workers;
    size_t *server_hosts; /* [servers] an index into the list, owned. */
    size_t *worker_hosts; /* [workers], owned. */
    uint32_t *taken;      /* [hosts] slots in use, owned. */
};

/* The number of workers that fit beside so many servers: all free slots, one for each host without
 * a number. 0: none. */
uint32_t placement_room(const struct host_list *list, uint32_t servers, bool colocated);

/* STATUS_INVALID when not all fit, with a line that has the free slots; STATUS_MEMORY. Call
 * placement_free in any case. */
enum status placement_make(struct placement *placement, const struct host_list *list,
                           uint32_t servers, uint32_t workers, bool colocated, struct error *error);

/* Move worker number `worker` to the host with most free slots that is not `gone` [hosts]. The
 * slots may be in use: a slow worker is better than none. False when there is no other host. */
bool placement_move(struct placement *placement, const struct host_list *list, uint32_t worker,
                    const bool *gone);

/* Accepts a zeroed struct. */
void placement_free(struct placement *placement);

#endif
