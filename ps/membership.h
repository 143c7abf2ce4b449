/* membership.h - who belongs to the job: one place for every server and worker it declares.
 *
 * A place is taken by the first incarnation that joins for it and given to no other; silence longer
 * than a deadline makes its process count as lost. It is bound to the key that came with the JOIN:
 * whoever speaks in its name must have that key.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_MEMBERSHIP_H
#define PS_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/message.h"

/* What server 0's own router is called among the peers. */
#define PEER_LOCAL UINT64_MAX

struct member {
    bool present; /* Has joined. */
    bool ready;   /* Servers: has its chunks. */
    bool done;    /* Workers: has finished training. */
    bool bye;     /* Knows that the job has ended. */
    uint64_t incarnation, peer, heard_us;
    uint8_t key[KEY_BYTES]; /* That its JOIN came with; none without keys. */
    char host[64];
    uint8_t probe_digest[DIGEST_BYTES];
    /* Servers: of the cut under way. */
    bool cut_taken, part_written;
    struct checkpoint_part part;
    struct verdict_counts verdicts; /* As of the last cut. */
    struct worker_summary summary;  /* Workers. */
};

struct membership {
    struct member *servers, *workers; /* [server_count], [worker_count], owned. */
    uint32_t server_count, worker_count;
};

enum status membership_init(struct membership *membership, uint32_t server_count,
                            uint32_t worker_count);
void membership_free(struct membership *membership);

/* The member that sent this message, or NULL when it is none of ours. */
struct member *membership_find(const struct membership *membership, const struct message *message);

/* Whether the key is the member's: knowing its incarnation does not make another peer it. */
bool membership_has_key(const struct member *member, const struct packet *packet);

/* Take in the sender of a JOIN. `exact`: its arithmetic must be that of the others of its role.
 * REFUSAL_NONE, or why not, with a line in text[MESSAGE_TEXT_MAX]. */
enum refusal membership_admit(struct membership *membership, const struct packet *join, bool exact,
                              uint64_t now_us, char *text);

/* Every server is ready and every worker has joined. */
bool membership_is_gathered(const struct membership *membership);

/* Every member that ever joined has said BYE. */
bool membership_has_left(const struct membership *membership);

/* "ps/1 (loading), worker/1 (never seen)". */
void membership_list_missing(const struct membership *membership, char *text, size_t size);

/* Whether somebody has been silent for longer than `seconds`; the line says who. It is given up:
 * its BYE is not waited for. */
bool membership_has_silent(struct membership *membership, double seconds, uint64_t now_us,
                           char *text, size_t size);

#endif
