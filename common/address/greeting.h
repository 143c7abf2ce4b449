/* greeting.h - what kind of ZeroMQ answers at an address: its ZMTP greeting names its mechanism.
 *
 * libzmq says that a handshake came to nothing, but not how far it came. A peer that does not have
 * our key for its own just hangs up, like one that never spoke ZeroMQ; its greeting tells them
 * apart.
 *
 * Threads: any; no shared state. */

#ifndef COMMON_ADDRESS_GREETING_H
#define COMMON_ADDRESS_GREETING_H

enum greeting {
    GREETING_NONE,  /* No listener, a silent one, or something else than ZMTP 3. */
    GREETING_PLAIN, /* ZMTP 3 without keys. */
    GREETING_CURVE, /* With. */
};

/* Connect to a place, which is numeric ("10.0.0.5:7000"), and read the greeting, within timeout_ms
 * at most. */
enum greeting greeting_ask(const char *place, int timeout_ms);

#endif
