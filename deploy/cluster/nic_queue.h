/* nic_queue.h - bytes that leave a host in turns, and wait for a card behind an unlimited buffer: the
 * way a kernel's streams share a card.
 *
 * A stream gives its host's card pieces: another one while it has less than two pieces there, or
 * less than the card sends in ahead_ns. The card sends pieces in the order in which they came, each
 * at its full rate. (Linux: a piece is a segment offloaded to the card, 64 KB;
 * tcp_small_queue_check limits a socket's bytes there.) Therefore, of two messages that a host
 * sends, the first stays first by up to two pieces; if both shared the card equally both would be
 * late.
 *
 * Bytes that leave a host enter a first-in first-out queue in front of the receiver's card.
 * Simultaneous arrivals from several hosts are mixed there in proportion. A transfer ends when its
 * last byte has gone through that card.
 *
 * No sender slows down: the model is for windows that hold a message, on large buffers.
 *
 *     nic_queue_connect(turns, stream, from, to);
 *     nic_queue_make_room(turns, 0);
 *     nic_queue_begin(turns, stream, bytes, tag, now_ns);
 *     while ((next = nic_queue_next(turns)) != NIC_QUEUE_NEVER)
 *         tags = nic_queue_advance(turns, next, &count);   those that end then
 *
 * Numbers: times in whole nanoseconds; a piece leaves and a transfer ends in the nearest one. Queue
 *          lengths are rates times nanoseconds, exactly, in 128 bits. The same bits everywhere.
 *
 * Threads: one at a time.
 * Ownership: turns owns the tags that nic_queue_advance gives, until the next call.
 * Cost: an event for each piece and one for each transfer, whatever the number of transfers. */

#ifndef DEPLOY_CLUSTER_NIC_QUEUE_H
#define DEPLOY_CLUSTER_NIC_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define NIC_QUEUE_NEVER UINT64_MAX

struct nic_queue;

struct nic_queue_options {
    uint64_t
        piece_bytes; /* At most, or half of the bytes sent in ahead_ns, if that is more. At least
                      * 1. */
    uint64_t
        first_bytes;   /* The first piece of a transfer: the bytes that are written before the rest.
                      * 0: like the others. */
    uint64_t ahead_ns; /* At most 1 s. */
};

/* Rates in bytes a second, 1 to 2^46; hosts are numbered from 0 on. NULL without memory. */
struct nic_queue *nic_queue_create(const struct nic_queue_options *options,
                                   const uint64_t *up_rates, const uint64_t *down_rates,
                                   uint32_t host_count);
void nic_queue_free(struct nic_queue *queue);

/* A stream from one host to another. `stream` is a number without transfers, or the next new
 * one. */
enum status nic_queue_connect(struct nic_queue *queue, uint32_t stream, uint32_t from, uint32_t to);

/* Reserve room for one more transfer beyond `count`; call it with each number from 0 on. Nothing
 * else allocates. */
enum status nic_queue_make_room(struct nic_queue *queue, size_t count);

/* Queue 1 to 2^46 bytes on a stream, in reserved room. Returns the number of the transfer, valid
 * until its end. now_ns is not before the last of any call, and not beyond nic_queue_next. */
uint32_t nic_queue_begin(struct nic_queue *queue, uint32_t stream, uint64_t bytes, uint64_t tag,
                         uint64_t now_ns);

/* The transfer sends no more, and never ends. Bytes that have left stay in the receiver's queue. */
void nic_queue_stop(struct nic_queue *queue, uint32_t transfer, uint64_t now_ns);

/* The time of the next event, if no transfer begins before. */
uint64_t nic_queue_next(const struct nic_queue *queue);

/* Advance to now_ns, which is not beyond nic_queue_next. The tags of the transfers that end now, those
 * of a stream in order. There may be none. */
const uint64_t *nic_queue_advance(struct nic_queue *queue, uint64_t now_ns, size_t *count);

#endif
