/* proof.h - what shows that a ticket was given, and to whom.
 *
 * A ticket says which of two processes came later (sessions.h), so it counts, and can be guessed. A
 * proof goes with it, 64 bits that nobody can guess: a digest of whose the ticket is under a secret
 * that server 0 draws when its process starts, and shares with the other servers in WELCOME. So
 * every server can tell whether server 0 has admitted a process, without being told of each.
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
