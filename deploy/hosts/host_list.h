/* host_list.h - the hosts of a job, in the forms that people write.
 *
 * A file has a line for each host:
 *
 *     # the first host gets the first server
 *     alpha
 *     kim@beta:2222  slots=4            # sshd listens on 2222, and there is room for four
 *     gamma          role=ps            # servers only
 *
 * [user@]host[:sshport], then slots=N (its number of processes; unlimited without it) and role=ps
 * or role=worker (only these are placed there). A list on the command line has slots after the
 * colon, like mpirun and horovodrun: "alpha:2,kim@beta:2,gamma". In both "node[1-3,08]" means
 * several hosts. A repeated host gets one more slot, or its given number.
 *
 * Any other text is refused with its line. A host's name may be any that a name server knows, or an
 * IP address, "[::1]:2". It is a word of its own on other programs' command lines; a name with a
 * leading dash is refused.
 *
 * Threads: pure. Ownership: the list owns its hosts. Errors: STATUS_INVALID, STATUS_MEMORY. */

#ifndef DEPLOY_HOSTS_HOST_LIST_H
#define DEPLOY_HOSTS_HOST_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define HOST_NAME_MAX_BYTES 128 /* With the terminating zero, */
#define HOST_USER_MAX_BYTES 64  /* as here. */
#define HOST_SLOTS_MAX      100000
#define HOST_COUNT_MAX      4096

enum host_role { HOST_ROLE_ANY, HOST_ROLE_PS, HOST_ROLE_WORKER };

struct host {
    char name[HOST_NAME_MAX_BYTES]; /* The other hosts know it by this name, too. */
    char user[HOST_USER_MAX_BYTES]; /* "" when not given. */
    uint16_t port;                  /* Of its sshd; 0: not given. */
    uint32_t slots;                 /* Its number of processes; 0: not given, unlimited. */
    enum host_role role;
    uint32_t line; /* Its line, from 1. */
};

struct host_list {
    struct host *hosts; /* [count], owned. */
    size_t count, capacity;
};

/* text[bytes], a file called `name` in errors. A list without hosts is refused. */
enum status host_list_read(struct host_list *list, const char *text, size_t bytes, const char *name,
                           struct error *error);

/* "alpha:2,beta": errors call it `name`. */
enum status host_list_read_words(struct host_list *list, const char *text, const char *name,
                                 struct error *error);

/* Accepts a zeroed struct. */
void host_list_free(struct host_list *list);

#endif
