/* transport_zmq_bind.h - has a ROUTER socket listen on one address or several; internal to
 * transport_zmq*.c.
 *
 * Threads: the socket's. */

#ifndef COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_BIND_H
#define COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_BIND_H

#include "common/base/status.h"
#include "common/job/job.h"

/* list: numeric addresses with commas, as for the listen of transport.h. They have one port: a
 * second 0 is the first one's. An address that is not this host's is passed over, with a line,
 * when there is another. Any other failure is an error that names it, and some may be bound
 * already. */
enum status bind_list(void *socket, const char *list, char bound[ADDRESS_MAX], struct error *error);

#endif
