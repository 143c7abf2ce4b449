/* host_set.h - a set of a cluster's hosts, of any number.
 *
 * A zeroed set is empty. An inverted set has every host that it lacked, including hosts that come
 * later.
 *
 * Threads: one. Ownership: owns its bits. Errors: out of memory ends the process, as in
 *          event_queue.h. */

#ifndef DEPLOY_ENGINE_HOST_SET_H
#define DEPLOY_ENGINE_HOST_SET_H

#include <stdbool.h>
#include <stdint.h>

struct host_set {
    uint64_t *words; /* [word_count] a bit a host, from 0 on. */
    uint32_t word_count;
    bool rest; /* Includes all hosts beyond those. */
};

void host_set_free(struct host_set *set); /* Empties it. */

void host_set_add(struct host_set *set, uint32_t host);
void host_set_invert(struct host_set *set);

/* Of one host; of the hosts of set `bits`, from host 0 on; a copy. */
struct host_set host_set_of(uint32_t host);
struct host_set host_set_of_bits(uint64_t bits);
struct host_set host_set_copy(const struct host_set *set);

static inline bool host_set_has(const struct host_set *set, uint32_t host)
{
    return host / 64 < set->word_count ? set->words[host / 64] >> host % 64 & 1 : set->rest;
}

#endif
