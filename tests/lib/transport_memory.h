/* transport_memory.h - endpoints within one process: the threads of a job without any wire between
 * them, for tests that are about the threads.
 *
 * Threads: as transport.h says. */

#ifndef TESTS_LIB_TRANSPORT_MEMORY_H
#define TESTS_LIB_TRANSPORT_MEMORY_H

#include "common/transport/transport.h"

enum status transport_memory_create(struct transport **transport);

#endif
