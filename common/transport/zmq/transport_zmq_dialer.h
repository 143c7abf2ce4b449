/* transport_zmq_dialer.h - connects a DEALER socket to its address, one place at a time
 * (route.h); internal to transport_zmq*.c.
 *
 * libzmq itself would ask a name server on its only thread, take the first answer, and ignore
 * the others. So it gets numeric addresses alone.
 *
 * Threads: the socket's. Ownership: the socket is the caller's. */

#ifndef COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_DIALER_H
#define COMMON_TRANSPORT_ZMQ_TRANSPORT_ZMQ_DIALER_H

#include "common/address/route.h"
#include "common/base/status.h"
#include "common/transport/zmq/transport_zmq_monitor.h"

struct inquiry;

struct dialer {
    void *socket; /* NULL: nothing to do. */
    char address[ADDRESS_MAX];
    struct route route;
    struct inquiry *inquiry; /* Under way, or NULL. */
    char last[PLACE_BYTES];  /* Connected to last; "" never. */
};

/* STATUS_INVALID when address is not host:port. A numeric one is connected to at once. */
enum status dialer_start(struct dialer *dialer, void *socket, const char *address,
                         struct monitor *monitor, struct error *error);
/* Before the socket is closed. */
void dialer_stop(struct dialer *dialer);

/* Look at its state, and go on to another place if need be; monitor is up to date. stay: not to
 * another place. */
void dialer_look(struct dialer *dialer, struct monitor *monitor, bool stay, uint64_t now_us);

/* Another process answers than was meant: give the connection up, and go on. */
void dialer_shun(struct dialer *dialer, const char *who, uint64_t now_us);

/* For how long dialer_look need not be called; 0: for ever. */
int dialer_patience_ms(const struct dialer *dialer);

/* Between processes of one host: see the definition. place: the socket's next one. */
void dialer_suit(void *socket, bool loopback);

#endif
