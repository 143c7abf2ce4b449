/* file_limit.c - RLIMIT_NOFILE, the soft limit up to the hard one. */

#include "common/process/file_limit.h"

#include <sys/resource.h>

/* At most 43 of a server's own were seen, and of each connection 11 in a worker (memory that both share,
 * its rings and bells), 6 in a server, 4 in a launcher. */
#define OWN_FILES        64
#define FILES_OF_ANOTHER 12

void file_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

uint64_t file_limit_connections(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : UINT64_MAX;
}

enum status file_limit_check(uint32_t others, struct error *error)
{
    struct rlimit limit;
    uint64_t needed = OWN_FILES + FILES_OF_ANOTHER * (uint64_t)others;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return STATUS_OK;
    return error_set(error, STATUS_IO,
                     "a process may open %llu files, and this job needs %llu: raise the limit "
                     "(ulimit -n %llu, or the service's or container's)",
                     (unsigned long long)limit.rlim_cur, (unsigned long long)needed,
                     (unsigned long long)needed);
}
