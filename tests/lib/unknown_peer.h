/* unknown_peer.h - a peer that speaks ZMTP 3 by hand, so that it can break every rule that libzmq
 * keeps: a handshake and no more, frames without an end, sizes that never come, half a message.
 *
 * Threads: one. Errors: connecting fails with false, since that may be what a server does to
 *   strangers. Writing tells how much was taken. */

#ifndef TESTS_LIB_UNKNOWN_PEER_H
#define TESTS_LIB_UNKNOWN_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unknown_peer {
    int fd; /* Non-blocking; -1: none. */
};

enum frame_flags {
    FRAME_MORE = 1, /* Another one of this message follows. */
    FRAME_LONG = 2, /* Eight bytes of size and not one. */
    FRAME_COMMAND = 4,
};

/* A connection to "127.0.0.1:port" and the handshake without keys, as a DEALER; waits for the other side's. */
bool unknown_peer_open(struct unknown_peer *unknown_peer, const char *address);

/* The same of whoever connects to a listening socket within a handshake's time. */
bool unknown_peer_accept(struct unknown_peer *unknown_peer, int listening);

void unknown_peer_close(struct unknown_peer *unknown_peer);

/* And what is under way either way is lost: the other side's connection breaks. */
void unknown_peer_reset(struct unknown_peer *unknown_peer);

/* As many bytes as are taken within timeout_ms; less than all when the other side does not read, or
 * has hung up. */
size_t unknown_peer_write(struct unknown_peer *unknown_peer, const void *bytes, size_t count,
                          int timeout_ms);

/* The beginning of a frame of so many bytes. */
bool unknown_peer_frame(struct unknown_peer *unknown_peer, unsigned flags, uint64_t bytes);

/* A whole message: a header and (payload_bytes > 0) a payload of one repeated byte. False when it
 * is not taken within timeout_ms. */
bool unknown_peer_say(struct unknown_peer *unknown_peer, const void *header, size_t header_bytes,
                      size_t payload_bytes, uint8_t payload, int timeout_ms);

/* The next message: its header into buffer[size], *bytes of it, and the size of its payload, whose
 * bytes are dropped. Answers ZMTP's own PINGs meanwhile. False when none has begun within
 * timeout_ms, or the other side has hung up, which closes this one too. */
bool unknown_peer_hear(struct unknown_peer *unknown_peer, void *buffer, size_t size, size_t *bytes,
                       uint64_t *payload_bytes, int timeout_ms);

/* Read and forget what has come. False when the other side has hung up. */
bool unknown_peer_listen(struct unknown_peer *unknown_peer);

/* Whether the other side hangs up within timeout_ms. */
bool unknown_peer_is_left(struct unknown_peer *unknown_peer, int timeout_ms);

#endif
