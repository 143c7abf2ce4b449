/* rendezvous.h - where two processes on one host meet to hand file descriptors over.
 *
 * An abstract Unix socket (SOCK_SEQPACKET: messages stay whole) called "syncopate-" and 16 hex
 * digits of a number that is the server's alone. Abstract names live in a network namespace, not
 * in a file system, and vanish with the listening process, so nothing outlives a job. Containers
 * with networks of their own do not find each other, and fall back to TCP. Names have no
 * permissions: both sides ask the kernel for the other's user, and deal with their own only. Any
 * process of this host can read a name, but not what it is made of.
 *
 * Nothing here blocks or raises signals, and every descriptor made or received is close-on-exec.
 *
 * Threads: a descriptor belongs to one thread at a time. Ownership: listening and connected
 * descriptors are the caller's, to poll and to close; so are received ones. Sent ones stay the
 * sender's, which may close them at once. */

#ifndef COMMON_TRANSPORT_SHM_RENDEZVOUS_H
#define COMMON_TRANSPORT_SHM_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define RENDEZVOUS_BYTES_MAX 4096 /* Of a message. */
#define RENDEZVOUS_FDS_MAX   16   /* With a message. */

/* Of a server, from its incarnation, which only members know. */
uint64_t rendezvous_name(uint64_t incarnation);

/* STATUS_EXISTS when another process listens there, STATUS_IO. */
enum status rendezvous_listen(uint64_t name, int *fd, struct error *error);

/* The next connection of our own user; others' are closed. STATUS_AGAIN for none now, STATUS_IO
 * (out of descriptors). */
enum status rendezvous_accept(int fd, int *connection);

/* STATUS_NOT_FOUND when no process listens there, STATUS_REFUSED when another user does,
 * STATUS_AGAIN when too many wait to be accepted, STATUS_IO. */
enum status rendezvous_connect(uint64_t name, int *connection);

/* One message of 1..RENDEZVOUS_BYTES_MAX bytes with 0..RENDEZVOUS_FDS_MAX descriptors. STATUS_AGAIN
 * when there is no room, STATUS_LOST when the other side has gone, STATUS_IO. */
enum status rendezvous_send(int connection, const void *bytes, size_t count, const int *fds,
                            size_t fd_count);

/* One message. STATUS_AGAIN when there is none, STATUS_LOST when the other side has gone,
 * STATUS_INVALID when it is longer than size or brings more than fd_max descriptors (or more than
 * this process may have open), STATUS_IO. Except with STATUS_OK, no descriptor stays open. */
enum status rendezvous_receive(int connection, void *bytes, size_t size, size_t *count, int *fds,
                               size_t fd_max, size_t *fd_count);

#endif
