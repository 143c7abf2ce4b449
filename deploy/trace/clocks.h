/* clocks.h - the clock differences of several hosts, from the messages between them, by NTP's
 * method (RFC 5905, section 8). Of a question and its answer
 *
 *     server          t2 ==== t3
 *                    /          \            ahead = ((t2 - t1) + (t3 - t4)) / 2
 *     worker       t1            t4          error <= ((t4 - t1) - (t3 - t2)) / 2
 *
 * Of those within a time the one with the shortest way counts, because its error bound is the
 * smallest. Between two such times the difference is interpolated: clocks of two hosts also drift
 * apart, by milliseconds an hour. Hosts without messages between them are compared through others.
 *
 * Threads: one owner. Units: nanoseconds. */

#ifndef DEPLOY_TRACE_CLOCKS_H
#define DEPLOY_TRACE_CLOCKS_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/trace/span.h"

#define CLOCKS_HOSTS_MAX 256u

struct trace_host {
    uint64_t id;       /* span_file_host. */
    uint64_t unix_ns;  /* The wall clock minus its own; 0: not known. */
    bool known;        /* By messages; otherwise by the wall clocks alone. */
    uint64_t error_ns; /* The maximum error of its times; 0 for the reference. */
    int64_t ahead_ns;  /* Of the reference, at the middle. */
};

/* Convert all spans to the clock of hosts[reference]. host_of: the host number of each span.
 * STATUS_MEMORY. */
enum status clocks_align(struct span *spans, const uint16_t *host_of, size_t count,
                         struct trace_host *hosts, size_t host_count, size_t reference);

#endif
