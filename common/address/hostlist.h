/* hostlist.h - Slurm's lists of hosts, and the number of tasks on each.
 *
 *     node[001-003,7],login   node001 node002 node003 node7 login
 *     2(x3),1                 2 2 2 1
 *
 * Like scontrol show hostnames, without contacting Slurm. A range keeps its zeros; several brackets
 * in one name are every combination, the last one changing fastest.
 *
 * Threads: pure. */

#ifndef COMMON_ADDRESS_HOSTLIST_H
#define COMMON_ADDRESS_HOSTLIST_H

#include <stdint.h>

#include "common/base/status.h"

#define HOSTLIST_NAME_MAX  254   /* With the terminating zero. */
#define HOSTLIST_HOSTS_MAX 65536 /* A longer list is an error. */

/* Host number `index`, from 0, of a list into name, and the number of hosts into *count, which may
 * be NULL. STATUS_INVALID: not a list of hosts; STATUS_NOT_FOUND: there is no such index. */
enum status hostlist_find(const char *list, uint64_t index, char name[HOSTLIST_NAME_MAX],
                          uint64_t *count, struct error *error);

/* The host of the task `rank` when hosts have "2(x3),1" tasks and are filled one after the other.
 * STATUS_NOT_FOUND: there are fewer tasks; then *host is the number of hosts. */
enum status hostlist_task(const char *tasks, uint64_t rank, uint64_t *host, struct error *error);

/* The sum of tasks of `count` hosts from number `first` on; 0 for missing hosts, or for another
 * text. */
void hostlist_tasks(const char *tasks, uint64_t first, uint64_t count, uint64_t *sum);

#endif
