/* file_limit.h - as many open files as this process may have.
 *
 * ZeroMQ takes a descriptor for every socket and connection, on servers one a worker and on workers
 * several a server, and the usual soft limit of 1024 is for programs that use select.
 *
 * Threads: once, in main. */

#ifndef COMMON_PROCESS_FILE_LIMIT_H
#define COMMON_PROCESS_FILE_LIMIT_H

#include <stdint.h>

#include "common/base/status.h"

/* To the hard limit. Where that cannot be had, things stay as they are. */
void file_limit_raise(void);

/* STATUS_IO, with a line, when a process of a job may have too few for itself and its connections to so
 * many others. libzmq ends a process that has none left, and a checkpoint cannot be written. */
enum status file_limit_check(uint32_t others, struct error *error);

/* How many of the files may be connections to a listening socket: half. The others are for shared
 * memory and for the process itself. */
uint64_t file_limit_connections(void);

#endif
