/* clocks.h - what the clocks of several hosts are apart, from the messages between them: NTP's way (RFC
 * 5905, section 8). Of a question and its answer
 *
 *     server          t2 ==== t3
 *                    /          \            ahead = ((t2 - t1) + (t3 - t4)) / 2
 *     worker       t1            t4          error <= ((t4 - t1) - (t3 - t2)) / 2
 *
 * and of those within a while the one that took least on the way counts, because that is how far it may
 * be wrong. Between them it is interpolated: clocks of two hosts also drift apart, by milliseconds an
 * hour. Hosts that never spoke to each other are compared through others.
 *
 * Threads: one owner. Units: nanoseconds. */

#ifndef DEPLOY_TRACE_CLOCKS_H
#define DEPLOY_TRACE_CLOCKS_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/trace/span.h"

#define CLOCKS_HOSTS_MAX 256u

/* A host, and what is known of its clock. */
struct trace_host {
    uint64_t id;       /* span_file_host. */
    uint64_t unix_ns;  /* What the wall's clock was ahead of its own; 0: not known. */
    bool known;        /* By messages; else by the clocks on the wall, whatever they are worth. */
    uint64_t error_ns; /* How far times of it may be wrong at the most; of the reference 0. */
    int64_t ahead_ns;  /* Of the reference, in the middle. */
};

/* Put all spans on the clock of hosts[reference]. host_of: of each span, its number. STATUS_MEMORY. */
enum status clocks_align(struct span *spans, const uint16_t *host_of, size_t count,
                         struct trace_host *hosts, size_t host_count, size_t reference);

#endif
