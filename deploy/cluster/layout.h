/* layout.h - the hosts of one job in a cluster, and the processes on each.
 *
 * A process is known by its number: servers from 0 on, then workers, then joining workers. A host
 * without processes is left out. Hosts are numbered in the order of their first processes.
 *
 * Processes of one host share its card, its processors and its loopback.
 *
 * Threads: read-only once made. Ownership: both lists, freed by layout_free. */

#ifndef DEPLOY_CLUSTER_LAYOUT_H
#define DEPLOY_CLUSTER_LAYOUT_H

#include "deploy/cluster/cluster.h"

struct layout {
    uint32_t servers, workers;
    bool colocated; /* Server and worker of one number share a host, as far as there are servers. */
    struct cluster_host *hosts; /* [host_count] */
    uint32_t host_count;
    uint32_t *host_of; /* [servers + workers] index into hosts. */
};

/* workers: including those that will join. The cluster has passed cluster_check for these numbers.
 * STATUS_INVALID: a process is on two hosts, or two processes of a host have different links.
 * STATUS_MEMORY. */
enum status layout_make(struct layout *layout, const struct cluster *cluster, uint32_t servers,
                        uint32_t workers, struct error *error);
/* The same with each server beside the worker of its number: naming either places both.
 * STATUS_INVALID also: a server and its worker are named on two hosts. */
enum status layout_make_colocated(struct layout *layout, const struct cluster *cluster,
                                  uint32_t servers, uint32_t workers, struct error *error);
void layout_free(struct layout *layout);

uint32_t layout_number(const struct layout *layout, struct place place);
struct place layout_place(const struct layout *layout, uint32_t number);

#endif
