/* nic_queue.h - bytes that leave a host in turns, and wait for a card behind a deep buffer: how a kernel's
 * streams really share one.
 *
 * A stream does not give its host's card all that it has to send, but pieces: another while what it has there
 * is less than two such ones, or than what the card sends in ahead_ns. The card sends pieces in the order in
 * which it was given them, one after the other, each at its full rate. (Linux: a piece is what segmentation
 * is left to the card for, 64 KB, and how much a socket may have there is tcp_small_queue_check's.) So of two
 * messages that a host sends, the one that is first stays first by up to two pieces, where under max-min
 * sharing (flows.h) both would be late:
 *
 *     two of two pieces, the second asked for when half of the first is gone (a: first, b: second)
 *         max-min    aaaaabababababababbbbb       the first is there after 3/4, the second after 1
 *         turns      aaaaaaaaaabbbbbbbbbbbb       after 1/2, and after 1
 *
 * What leaves a host comes to a queue in front of the receiver's card, as long as it has to be, first come
 * first served; what comes from several hosts at the same time is mixed there in proportion. A
 * transfer is there when its last byte has gone through that card.
 *
 * Nobody is told to send less: it is for windows that hold a message, on deep buffers.
 *
 *     nic_queue_connect(turns, stream, from, to);
 *     nic_queue_make_room(turns, 0);
 *     nic_queue_begin(turns, stream, bytes, tag, now_ns);
 *     while ((next = nic_queue_next(turns)) != NIC_QUEUE_NEVER)
 *         tags = nic_queue_advance(turns, next, &count);   those that are there then
 *
 * Numbers: times in whole nanoseconds, a piece leaving and a transfer being there in the nearest one; what waits in rates times
 * nanoseconds, exactly, in 128 bits. The same bits everywhere.
 *
 * Threads: one at a time. Ownership: tags that nic_queue_advance gives are its own, until the next call.
 * Cost: an event for each piece and one for each transfer, whatever else is under way. */

#ifndef DEPLOY_CLUSTER_NIC_QUEUE_H
#define DEPLOY_CLUSTER_NIC_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define NIC_QUEUE_NEVER UINT64_MAX

struct nic_queue;

struct nic_queue_options {
    uint64_t
        piece_bytes; /* At most; but half of what is sent in ahead_ns, if that is more. At least 1. */
    uint64_t
        first_bytes; /* Of a transfer, the first piece: what is written before the rest. 0: as all. */
    uint64_t ahead_ns; /* At most 1 s. */
};

/* Rates in bytes a second, 1 to 2^46; hosts are numbered from 0 on. NULL without memory. */
struct nic_queue *nic_queue_create(const struct nic_queue_options *options,
                                   const uint64_t *up_rates, const uint64_t *down_rates,
                                   uint32_t host_count);
void nic_queue_free(struct nic_queue *queue);

/* A stream from one host to another: number `stream`, which is one that nothing is under way on, or the next that
 * there was not. */
enum status nic_queue_connect(struct nic_queue *queue, uint32_t stream, uint32_t from, uint32_t to);

/* For one transfer more than so many, which is asked for with each number from 0 on; nothing else needs
 * memory. */
enum status nic_queue_make_room(struct nic_queue *queue, size_t count);

/* Bytes, at least 1 and at most 2^46, are asked for on a stream, behind what is there; there is room for
 * them. The number of the transfer, until it is there. now_ns is not before the last of any call, and not
 * beyond nic_queue_next. */
uint32_t nic_queue_begin(struct nic_queue *queue, uint32_t stream, uint64_t bytes, uint64_t tag,
                         uint64_t now_ns);

/* It sends no more, and never is there. What has left stays in the receiver's queue. */
void nic_queue_stop(struct nic_queue *queue, uint32_t transfer, uint64_t now_ns);

/* When something happens next, if nothing begins before. */
uint64_t nic_queue_next(const struct nic_queue *queue);

/* It is now_ns, which is not beyond nic_queue_next: the tags of the transfers that are there now, those of a
 * stream in its order. There may be none. */
const uint64_t *nic_queue_advance(struct nic_queue *queue, uint64_t now_ns, size_t *count);

/* What a stream has of its host's card at the moment, in bytes a second: all or nothing. */
uint64_t nic_queue_rate(const struct nic_queue *queue, uint32_t stream);

#endif
