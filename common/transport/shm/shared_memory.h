/* shared_memory.h - memory made here that another process may map, as a file descriptor (memfd).
 *
 * It has no name anywhere, and goes with the last process that has it. Its size is sealed when
 * it is made, so that no process can shrink what another reads (which would be SIGBUS). Memory
 * for readers only can be written through nothing but its maker's own mapping: not by write, not
 * by a new writable mapping, not by punching holes. In memory that others may write they may
 * also punch holes; these read as zeros. Pages cost memory once they are touched, by reading
 * too.
 *
 * Threads: references may be taken by a holder and dropped by any thread, like frames; the rest
 * only reads. The caller decides what the bytes mean and when they may change.
 * Ownership: create and open return one reference. The last one unmaps and closes. */

#ifndef COMMON_TRANSPORT_SHM_SHARED_MEMORY_H
#define COMMON_TRANSPORT_SHM_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"

struct shared_memory;

/* Zeros, writable here. readers_only: others may map it for reading only.
 * STATUS_MEMORY, STATUS_IO (this kernel cannot). */
enum status shared_memory_create(size_t bytes, bool readers_only, struct shared_memory **memory,
                                 struct error *error);

/* Map another process's memory. fd is taken over, also on failure. STATUS_INVALID when it is not
 * memory of exactly so many bytes whose size is sealed, STATUS_REFUSED when writing was asked
 * for and is sealed off, STATUS_MEMORY. */
enum status shared_memory_open(int fd, size_t bytes, bool writable, struct shared_memory **memory,
                               struct error *error);

/* To hand over; stays the memory's. */
int shared_memory_fd(const struct shared_memory *memory);

/* Aligned to a page. */
void *shared_memory_data(const struct shared_memory *memory);

size_t shared_memory_bytes(const struct shared_memory *memory);

struct shared_memory *shared_memory_retain(struct shared_memory *memory);

/* Drop a reference; NULL is allowed. */
void shared_memory_release(struct shared_memory *memory);

/* Whether a peer's range lies within the memory. */
bool shared_memory_covers(const struct shared_memory *memory, uint64_t offset, uint64_t bytes);

/* A frame into it that keeps it alive and is never exclusive, because other processes see the
 * bytes. The range must be covered. NULL when out of memory. */
struct frame *shared_memory_frame(struct shared_memory *memory, size_t offset, size_t bytes);

/* Whether these bytes lie wholly in it, and at which offset (may be NULL). */
bool shared_memory_holds(const struct shared_memory *memory, const void *data, size_t bytes,
                         size_t *offset);

#endif
