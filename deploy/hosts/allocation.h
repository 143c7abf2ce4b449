/* allocation.h - the hosts of the allocation that a command runs in, from what a batch system has left
 * in its environment.
 *
 *     Slurm          SLURM_JOB_NODELIST, and slots by SLURM_TASKS_PER_NODE
 *     PBS, Torque    PBS_NODEFILE, a file with a line a process
 *     LSF            LSB_DJOB_HOSTFILE, the same
 *     Grid Engine    PE_HOSTFILE, "host slots queue processors" a line
 *
 * Threads: pure, but for the files that variables name. */

#ifndef DEPLOY_HOSTS_ALLOCATION_H
#define DEPLOY_HOSTS_ALLOCATION_H

#include "deploy/hosts/host_list.h"

/* environment: "NAME=value" [.., NULL]. STATUS_NOT_FOUND: it is in no allocation of Slurm's;
 * STATUS_INVALID: what is there is no list of hosts. host_list_free in any case. */
enum status allocation_slurm(struct host_list *list, const char *const *environment,
                             struct error *error);

/* The first there is of all. STATUS_IO: its file cannot be read. */
enum status allocation_any(struct host_list *list, const char *const *environment,
                           struct error *error);

/* The text of a PE_HOSTFILE. */
enum status allocation_read_grid(struct host_list *list, const char *text, size_t bytes,
                                 const char *name, struct error *error);

#endif
