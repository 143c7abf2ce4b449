/* proof.h - proves that a ticket was given to a process.
 *
 * A ticket says which of two processes came later (sessions.h), so it counts, and can be
 * guessed. A proof goes with it, 64 bits that cannot be guessed: a digest of the ticket and its
 * owner under a secret, which server 0 draws when its process starts, and shares with the other
 * servers in WELCOME. So every server can check that server 0 has admitted a process, without
 * hearing of each.
 *
 * Threads: plain values. */

#ifndef PS_WORK_PROOF_H
#define PS_WORK_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/message.h"

/* Of the message's sender with this ticket; never 0. */
uint64_t proof_make(const uint8_t secret[HASH_BYTES], const struct message *message,
                    uint64_t ticket);

/* Whether the message has the proof of its sender and ticket. Takes the same time for all. */
bool proof_holds(const uint8_t secret[HASH_BYTES], const struct message *message);

#endif
