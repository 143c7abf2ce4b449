/* zmtp.h - what ZeroMQ's protocol makes of a frame on a wire (ZMTP 3.0, 2.3).
 *
 * Threads: no shared state. Units: bytes. */

#ifndef COMMON_TRANSPORT_ZMQ_ZMTP_H
#define COMMON_TRANSPORT_ZMQ_ZMTP_H

#include <stdint.h>

/* Flags, a size of one or of eight bytes, and the frame itself. */
static inline uint64_t zmtp_frame_bytes(uint64_t bytes)
{
    return bytes + (bytes > 255 ? 9 : 2);
}

#endif
