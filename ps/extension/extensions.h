/* extensions.h - what listens to the chunks of a server (chunk_listener.h), without being needed for
 * training: owners are given it by those who wire a server, threads and virtual time.
 *
 * Threads: a constant. */

#ifndef PS_EXTENSION_EXTENSIONS_H
#define PS_EXTENSION_EXTENSIONS_H

#include "ps/shard/chunk_listener.h"

extern const struct chunk_listener *const extensions[]; /* NULL behind the last. */

#endif
