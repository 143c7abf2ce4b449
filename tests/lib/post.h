/* post.h - looks at what a core wants sent, and makes small jobs for cores to work on.
 *
 *     struct post post = {0};
 *     owner_handle(owner, &packet, now_us, &post.outbox);
 *     struct packet *result = post_find(&post, TO_ROUTER, MESSAGE_RESULT);
 *     post_clear(&post);
 *
 * Threads: one. Ownership: a post owns the payloads of what it has taken from its outbox. */

#ifndef TESTS_LIB_POST_H
#define TESTS_LIB_POST_H

#include "ps/orders/orders.h"

#define POST_MAX 1024

struct post {
    struct outbox outbox;
    struct outgoing *taken; /* [taken_count], at most POST_MAX; owned. */
    size_t taken_count;
};

/* Forget what has been sent. */
void post_clear(struct post *post);

/* Forget, and give the outbox's memory back. */
void post_free(struct post *post);

/* The first packet to there of this kind since post_clear, or NULL; and the number of them. */
struct packet *post_find(struct post *post, enum destination to, enum message_kind kind);
struct packet *post_find_to(struct post *post, enum destination to, uint32_t index,
                            enum message_kind kind);
unsigned post_count(struct post *post, enum destination to, enum message_kind kind);

/* The same of orders, and the packet that one is in. */
const struct order *post_order(struct post *post, enum destination to, enum order_kind kind);
struct packet *post_order_packet(struct post *post, enum destination to, enum order_kind kind);
unsigned post_count_orders(struct post *post, enum destination to, enum order_kind kind);

/* How many packets were sent in all, lines for people left out. */
unsigned post_count_all(struct post *post);

/* The text of the first line for people that contains `part`, or NULL. */
const char *post_log(struct post *post, const char *part);

/* sgd with learning rate 1 on 64 elements that start at 0, in chunks of 16 dealt over the servers.
 * 20 examples in batches of 8 and leaves of 2: steps of 4, 4 and 2 leaves, 6 steps in all. Passes
 * job_check; the caller frees it. */
struct job small_job(enum mode mode, uint32_t workers, uint32_t servers);

/* [count] floats of this value in a new frame. */
struct frame *frame_of(float value, size_t count);

#endif
