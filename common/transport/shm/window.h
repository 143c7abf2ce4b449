/* window.h - what a server and one worker on the same host share, so that nothing is copied between
 * them:
 *
 *     worker writes, server reads    ring of headers, gradients [slots][shard]
 *     server writes, worker reads    ring of headers, parameters [shard]
 *     server writes, all read        published [copies][shard]
 *
 * A message is a record in a ring: where its payload lies, then its header. A payload that lies in
 * the window already travels as a reference; any other is copied to the place its sender names
 * (where the chunk lies in the server's shard), so a sender need not know which it is. What a server
 * sends that has no place there, because it is no chunk's, goes in the ring behind its header, if it
 * is small: where values lie a worker may be computing from them.
 *
 * The server makes all memory and seals its size; parameters and published values cannot be mapped
 * writable, and what the worker says is checked before it is used, so a worker can spoil its own
 * gradient and nothing else. Whoever ends closes the connection, which tells the other at once;
 * memory lives on while a frame refers to it, and nothing of it has a name.
 *
 * When bytes may change is for the protocol to keep: a gradient from its push until all chunks of
 * that exchange are answered, parameters from their answer until the worker's next push.
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
    int connection; /* Closed by the other side when it goes. */
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

/* Worker: map what has come over the connection. STATUS_AGAIN while nothing has. With any other
 * failure the connection is closed. */
enum status window_open(struct window *window, int connection, struct error *error);

void window_close(struct window *window);

/* STATUS_AGAIN: the other side does not read. STATUS_INVALID: it broke the rules. STATUS_NOT_FOUND:
 * the window has no such place. Takes over the payload, whatever it returns. */
enum status window_send(struct window *window, const void *header, size_t header_bytes,
                        struct frame *payload, uint64_t place);

/* STATUS_AGAIN: nothing there. STATUS_INVALID: the other side broke the rules. */
enum status window_receive(struct window *window, struct received *received);

/* Whether window_receive has something to say. */
bool window_has_some(const struct window *window);

/* Announce that this side is about to sleep until `mine` is readable; false when something is there
 * already. And take it back. */
bool window_sleep(struct window *window);
void window_awake(struct window *window);

/* Worker: a frame in the memory for gradients. NULL when that is not covered. */
struct frame *window_lend(struct window *window, uint64_t place, uint64_t bytes);

#endif
