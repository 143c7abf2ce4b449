/* rogue.h - a worker that joins like an honest one, and then says whatever it is told to.
 *
 *     rogue_join(&rogue, address, &job, 3, digest, 10000);
 *     struct message message = rogue_message(&rogue, MESSAGE_EXCHANGE);
 *     ... and fill in what it lies about
 *     rogue_say(&rogue, &message, payload_bytes, 0x3c, 1000);
 *
 * It speaks over a stranger (ZMTP by hand), so nothing keeps it from breaking off, not reading, or
 * sending faster than it should.
 *
 * Threads: one. */

#ifndef TESTS_LIB_ROGUE_H
#define TESTS_LIB_ROGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/wire/message.h"
#include "tests/lib/unknown_peer.h"

struct rogue {
    struct unknown_peer unknown_peer;
    const struct job *job; /* Outlives it. */
    uint32_t index;
    uint64_t incarnation;
    uint8_t probe_digest[DIGEST_BYTES];
    /* As server 0 has said. */
    uint64_t run_id, generation, ticket, proof;
    bool welcome, started, finished;
    struct message_start start;
    uint64_t requests;
};

/* Until it is a member, declaring the job if it is asked to. False when it has not become one
 * within timeout_ms; then it is closed. probe_digest: as its honest neighbours', see PROTOCOL.md.
 */
bool rogue_join(struct rogue *rogue, const char *address, const struct job *job, uint32_t index,
                const uint8_t probe_digest[DIGEST_BYTES], int timeout_ms);
void rogue_close(struct rogue *rogue);

/* A message with all right that says who sends it. */
struct message rogue_message(struct rogue *rogue, enum message_kind kind);

/* payload: what every byte of the payload is. False when it is not all taken in time. */
bool rogue_say(struct rogue *rogue, const struct message *message, size_t payload_bytes,
               uint8_t payload, int timeout_ms);

/* The next answer, of which the rogue remembers what it needs to know. False when there is none
 * within timeout_ms. */
bool rogue_hear(struct rogue *rogue, struct message *message, int timeout_ms);

/* Say "alive", as all do twice a second. */
bool rogue_ping(struct rogue *rogue);

#endif
