/* transport_zmq_guard.h - the thread that accepts peers or refuses them; internal to
 * transport_zmq*.c.
 *
 * It answers ZAP (ZeroMQ RFC 27), which libzmq asks at inproc://zeromq.zap.01 for every CURVE
 * handshake of a listening socket of the same context: 200 and the identity for a key on the
 * list (allow_list.h), 400 for any other. The folder of the list is read again when it has
 * changed, and at most once a second, so that keys can be added and removed while a server runs.
 * Existing connections stay. A file that cannot be used is named in the log, and its key
 * refused.
 *
 * Listening sockets must demand a guard (guard_arm), so that without one, or with a dead one, no
 * peer gets in (Z18, proto/CONTRACT.md section 8).
 *
 * Threads: guard_start and guard_stop from one; the thread is the guard's own. */

#ifndef COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_GUARD_H
#define COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_GUARD_H

#include "common/base/status.h"
#include "common/keys/keys.h"

struct guard;

/* Before any socket listens. keys outlives the guard. */
enum status guard_start(struct guard **guard, void *context, const struct keys *keys,
                        struct error *error);
/* Sets the pointer to NULL; NULL is fine. From here on all peers are refused. */
void guard_stop(struct guard **guard);

/* Have a socket encrypt; a listening one asks the guard about every peer. Before it is bound or
 * connected. */
enum status guard_arm(void *socket, bool listening, const struct keys *keys);

#endif
