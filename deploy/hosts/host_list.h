/* host_list.h - the hosts that a job is to be spread over, as people write them down.
 *
 * A file has a line for each host:
 *
 *     # whoever comes first gets the first server
 *     alpha
 *     kim@beta:2222  slots=4            # sshd listens on 2222, and there is room for four
 *     gamma          role=ps            # servers only
 *
 * [user@]host[:sshport], then slots=N (processes that it takes; as many as come where it is not
 * said) and role=ps or role=worker (nothing else is put there). A list on the command line has
 * slots behind the colon, as mpirun and horovodrun have them: "alpha:2,kim@beta:2,gamma". In both
 * "node[1-3,08]" stands for several, and a host that is named again has one slot more, or as many as
 * it says.
 *
 * What is none of this is refused with its line. A host's name may be any that a name server knows,
 * or an IP address, "[::1]:2"; it goes to other programs as a word of its own, so one that begins
 * with a dash is refused.
 *
 * Threads: pure. Ownership: the list owns its hosts. Errors: STATUS_INVALID, STATUS_MEMORY. */

#ifndef DEPLOY_HOSTS_HOST_LIST_H
#define DEPLOY_HOSTS_HOST_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define HOST_NAME_MAX_BYTES 128 /* With the terminating zero, as is */
#define HOST_USER_MAX_BYTES 64  /* this. */
#define HOST_SLOTS_MAX      100000
#define HOST_COUNT_MAX      4096

enum host_role { HOST_ROLE_ANY, HOST_ROLE_PS, HOST_ROLE_WORKER };

struct host {
    char name[HOST_NAME_MAX_BYTES]; /* By which the other hosts know it, too. */
    char user[HOST_USER_MAX_BYTES]; /* "" when none was said. */
    uint16_t port;                  /* Of its sshd; 0: not said. */
    uint32_t slots;                 /* Processes that it takes; 0: not said, any number. */
    enum host_role role;
    uint32_t line; /* Where it stands, from 1. */
};

struct host_list {
    struct host *hosts; /* [count], owned. */
    size_t count, capacity;
};

/* text[bytes], a file called `name` in errors. A list of no hosts is refused. */
enum status host_list_read(struct host_list *list, const char *text, size_t bytes, const char *name,
                           struct error *error);

/* "alpha:2,beta": errors call it `name`. */
enum status host_list_read_words(struct host_list *list, const char *text, const char *name,
                                 struct error *error);

/* Accepts what was only zeroed. */
void host_list_free(struct host_list *list);

#endif
