/* headroom.h - whether there is room for a library that ends the process when there is none.
 *
 * libzmq aborts when it cannot start a thread, or have a few kilobytes. Where memory or the number
 * of threads is limited (ulimit -v, ulimit -u, cgroups) that is better found out before: what has
 * just been had and given back can be had again, because glibc keeps freed stacks and memory.
 *
 * Threads: any. */

#ifndef COMMON_PROCESS_HEADROOM_H
#define COMMON_PROCESS_HEADROOM_H

#include <stddef.h>

#include "common/base/status.h"

/* STATUS_MEMORY, with a line, unless so many threads can be started now and so much memory had. */
enum status headroom_check(unsigned threads, size_t bytes, struct error *error);

#endif
