/* window.h - the memory that a server and one worker on its host share, so that nothing is
 * copied between them:
 *
 *     worker writes, server reads    ring of headers, gradients [slots][shard]
 *     server writes, worker reads    ring of headers, parameters [shard]
 *     server writes, all read        published [copies][shard]
 *
 * A message is a record in a ring: the place of its payload, then its header. A payload that
 * lies in the window already travels as a reference. Any other is copied to the place that its
 * sender names (the chunk's in the server's shard), so a sender need not know which it is. A
 * server's payload without a place, because it is no chunk's, goes in the ring behind its
 * header, if it is small: a worker may be computing from the values.
 *
 * The server makes all memory and seals its size. Parameters and published values cannot be
 * mapped writable, and all that the worker says is checked, so a worker can spoil its own
 * gradient and nothing else. A side that ends closes the connection, which the other sees at
 * once. Memory lives on while a frame refers to it, and none of it has a name.
 *
 * The protocol decides when bytes may change: a gradient not from its push until all chunks of
 * that exchange are answered, parameters not from their answer until the worker's next push.
 *
 * Threads: one at a time; frames may be dropped anywhere. Units: bytes. */

#ifndef COMMON_TRANSPORT_SHM_WINDOW_H
#define COMMON_TRANSPORT_SHM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/transport/shm/ring.h"
#include "common/transport/shm/shared_memory.h"
#include "common/transport/transport.h"

struct window {
    bool serves;    /* This side is the server. */
    int connection; /* The other side closes it when it ends. */
    int mine;       /* eventfd: readable when this side must wake. */
    int theirs;     /* eventfd that wakes the other. */
    struct ring in, out;
    struct shared_memory *written;    /* By the worker, and both rings. */
    struct shared_memory *parameters; /* By the server. */
    struct shared_memory *published;  /* By the server, for all workers; NULL for none. */
    uint64_t gradients_at, gradients_bytes;
};

/* Server: make the memory and send it over the connection, which is taken over, also on failure.
 * published may be NULL; the window takes a reference. */
enum status window_make(struct window *window, int connection, const struct share *share,
                        struct shared_memory *published, struct error *error);

/* Worker: map the server's memory from the connection. STATUS_AGAIN while nothing has come. With
 * any other failure the connection is closed. */
enum status window_open(struct window *window, int connection, struct error *error);

void window_close(struct window *window);

/* STATUS_AGAIN: the other side does not read. STATUS_INVALID: it broke the rules.
 * STATUS_NOT_FOUND: the window has no such place. Takes over the payload, with any result. */
enum status window_send(struct window *window, const void *header, size_t header_bytes,
                        struct frame *payload, uint64_t place);

/* STATUS_AGAIN: nothing there. STATUS_INVALID: the other side broke the rules. */
enum status window_receive(struct window *window, struct received *received);

/* Whether window_receive has a message or a fault. */
bool window_has_some(const struct window *window);

/* Announce that this side is about to sleep until `mine` is readable; false when there is a
 * message already. And take it back. */
bool window_sleep(struct window *window);
void window_awake(struct window *window);

/* Worker: a frame in the memory for gradients. NULL when that is not covered. */
struct frame *window_lend(struct window *window, uint64_t place, uint64_t bytes);

#endif
