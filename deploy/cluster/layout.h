/* layout.h - the hosts of one job in a cluster, and which of its processes is on which.
 *
 * A process is known by its number: servers from 0 on, workers behind them, those that join last. A
 * host that none of them is on is not there. Hosts are numbered as the first of their processes come.
 *
 * Processes of one host share its card, its processors and its loopback.
 *
 * Threads: read-only once made. Ownership: both lists, freed by layout_free. */

#ifndef DEPLOY_CLUSTER_LAYOUT_H
#define DEPLOY_CLUSTER_LAYOUT_H

#include "deploy/cluster/cluster.h"

struct layout {
    uint32_t servers, workers;
    bool
        colocated; /* Server and worker of a number are on one host, as far as there are servers. */
    struct cluster_host *hosts; /* [host_count] */
    uint32_t host_count;
    uint32_t *host_of; /* [servers + workers] index into hosts. */
};

/* workers: with all that will join. The cluster has passed cluster_check for as many.
 * STATUS_INVALID: a process is on two hosts, or two processes of a host have different links.
 * STATUS_MEMORY. */
enum status layout_make(struct layout *layout, const struct cluster *cluster, uint32_t servers,
                        uint32_t workers, struct error *error);
/* The same where each server is beside the worker of its number, so that naming either says where both
 * are. STATUS_INVALID also: a server and its worker are named on two hosts. */
enum status layout_make_colocated(struct layout *layout, const struct cluster *cluster,
                                  uint32_t servers, uint32_t workers, struct error *error);
void layout_free(struct layout *layout);

uint32_t layout_number(const struct layout *layout, struct place place);
struct place layout_place(const struct layout *layout, uint32_t number);

#endif
