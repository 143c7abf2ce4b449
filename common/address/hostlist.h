/* hostlist.h - lists of hosts as Slurm writes them, and how many tasks each has.
 *
 *     node[001-003,7],login   node001 node002 node003 node7 login
 *     2(x3),1                 2 2 2 1
 *
 * What scontrol show hostnames does, without asking anybody. A range keeps its zeros, several
 * brackets in one name are every combination, the last one changing fastest.
 *
 * Threads: pure. */

#ifndef COMMON_ADDRESS_HOSTLIST_H
#define COMMON_ADDRESS_HOSTLIST_H

#include <stdint.h>

#include "common/base/status.h"

#define HOSTLIST_NAME_MAX  254   /* With the terminating zero. */
#define HOSTLIST_HOSTS_MAX 65536 /* More are no list, but a mistake. */

/* Host number `index`, from 0, of a list into name, and how many there are in all into *count, which
 * may be NULL. STATUS_INVALID when it is no list of hosts, STATUS_NOT_FOUND when it has no such. */
enum status hostlist_find(const char *list, uint64_t index, char name[HOSTLIST_NAME_MAX],
                          uint64_t *count, struct error *error);

/* On which host the task `rank` is when hosts have "2(x3),1" tasks and are filled one after the
 * other. STATUS_NOT_FOUND when there are fewer tasks: then *host is how many hosts there are. */
enum status hostlist_task(const char *tasks, uint64_t rank, uint64_t *host, struct error *error);

/* How many tasks `count` hosts have from number `first` on, into *sum; 0 where there are none, or where it is
 * no such list. */
void hostlist_tasks(const char *tasks, uint64_t first, uint64_t count, uint64_t *sum);

#endif
