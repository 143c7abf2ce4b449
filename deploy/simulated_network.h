/* simulated_network.h - wires between processes in virtual time: late, out of order, twice.
 *
 * A message is really encoded when it is sent and decoded when it arrives. Its payload is summed up
 * at either end, because nobody may write a frame that is in flight. Receivers get a copy, which
 * they may write, as from a socket; or, as over the transport in memory, the sender's own frame.
 *
 * A message keeps its place behind those sent before it over the same wire unless it is one of the
 * share that overtake. (ZeroMQ keeps all of them in place; the protocol is meant not to depend on
 * it.) Loss is in the table, at 0: recovery from it is another piece of work.
 *
 * Threads: one. */

#ifndef DEPLOY_SIMULATED_NETWORK_H
#define DEPLOY_SIMULATED_NETWORK_H

#include "common/message.h"
#include "common/random.h"
#include "deploy/event_queue.h"

struct network_faults {
    uint64_t delay_min_us, delay_max_us;
    double straggle;         /* Share that takes ten times as long. */
    double overtake;         /* Share that does not wait for those before it. */
    double repeat;           /* Share that arrives twice. */
    uint64_t repeat_late_us; /* How much later than the first at most. */
    double lose;             /* Share that never arrives. */
    bool share_frames;       /* The receiver gets the sender's frame. */
};

struct network_counts {
    uint64_t sent, delivered, repeated, lost, overtaking;
    uint64_t delay_min_us, delay_max_us; /* Among first copies. */
};

struct simulated_network {
    const struct network_faults *faults;
    struct random_sequence random;
    struct event_queue *queue;
    uint32_t processes;
    uint64_t *busy_until_us; /* [processes][processes] when the last message sent will arrive. */
    struct network_counts counts;
};

enum status simulated_network_init(struct simulated_network *network,
                                   const struct network_faults *faults, uint64_t seed,
                                   uint32_t processes, struct event_queue *queue);
void simulated_network_free(struct simulated_network *network);

/* Takes over the payload. */
void simulated_network_send(struct simulated_network *network, uint64_t now_us, uint32_t from,
                            uint32_t to, const struct message *message, struct frame *payload);

/* Take what has arrived out of its parcel; the packet's peer stays to be filled in.
 * STATUS_INVALID when it is not what was sent. */
enum status simulated_network_open(struct simulated_network *network, struct parcel *parcel,
                                   struct packet *packet, struct error *error);

/* A checksum of bytes that any change of a few of them changes. */
uint64_t simulated_checksum(const void *data, size_t bytes);

#endif
