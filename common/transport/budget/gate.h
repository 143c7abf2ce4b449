/* gate.h - how much strangers may say to a listening port, how much they are told, and how many of
 * them are let in.
 *
 * A stranger is whoever speaks over a connection on which no member of the job has been heard, yet
 * or ever. It may say what an honest process says before it is one: a few short messages, now and
 * then. Nobody can tell who will be honest, so all of them share what there is for strangers:
 *
 *     ahead    bytes that each may have sent and that have not been heard yet. The more of them
 *              there are, the less: what they make this process hold does not add up.
 *     credit   of each. Whatever is heard of it costs its bytes, and as much as it costs to hear
 *              any message. It comes back with time: the more of them there are, the slower. Of
 *              whoever has none nothing more is taken from the line (inflow.h): that costs nothing.
 *     owed     bytes that each may have been told and not taken. Who does not read is told no more.
 *     entries  new connections a second, and a store of them for when many come at once, as after
 *              a restart. When it is used up a lot decides who is let in; who is not knocks again
 *              in a second, by itself.
 *     places   There are never more than so many. Then whoever has no credit goes first, and
 *              whoever has been silent for longest.
 *
 * While no job is under way there is nothing to be slowed down, and strangers may be many honest
 * workers who wait for one: then credit is ample.
 *
 * Threads: one. Units: bytes; credit in bytes of this process's attention. */

#ifndef COMMON_TRANSPORT_BUDGET_GATE_H
#define COMMON_TRANSPORT_BUDGET_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define GATE_PLACES 896u /* Beside those that are expected, and are no members yet. */
#define GATE_OWED   4096u

#define GATE_OPEN UINT32_MAX /* A chance of all who knock. */

struct gate {
    bool busy;          /* A job is under way. */
    uint32_t strangers; /* That share what there is. */
    int64_t entries;    /* Left in the store; may be overdrawn. */
    uint32_t chance;    /* Of whoever knocks, of 2^32. */
};

void gate_init(struct gate *gate);

/* Bytes that any stranger may be ahead of what is heard of it. */
uint64_t gate_ahead(const struct gate *gate);

/* The credit of one that has just come; what it is after so much time; and after a message of so
 * many frames and bytes. Above 0 there is some. */
int64_t gate_first(const struct gate *gate);
int64_t gate_refill(const struct gate *gate, int64_t credit, uint64_t elapsed_us);
int64_t gate_charge(int64_t credit, uint64_t frames, uint64_t bytes);

/* So many have come in since the last call. Sets the chance of whoever knocks next. */
void gate_count(struct gate *gate, uint64_t came, uint64_t elapsed_us);

#endif
