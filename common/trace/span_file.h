/* span_file.h - files of spans: each process that writes to one has a region of it, of so many segments,
 * which it writes again and again.
 *
 *     | region: ps/0         | region: worker/0     | region: worker/1 ...
 *     | head | s2 | s0 | s1  | head | s0 | --       |
 *
 * A segment has the spans of some time, in the order in which they ended, and a number; one that follows
 * another has its number and one. What is lost between two of them was written over. So a file has a
 * bounded size however long a run is, and holes where nothing is written take no room.
 *
 * A process that is killed leaves what it has written. What was cut off in the middle does not fit its
 * segment's head, and is left out and counted.
 *
 * Several processes may use a file by its name or as a descriptor that they were given; regions are
 * claimed under a lock. Files are read by programs of the same version on hosts of the same byte order;
 * others are refused. Bytes may come from anywhere.
 *
 * Threads: one for each region. Ownership: the file is the caller's. Errors: STATUS_IO (no space, ...),
 * STATUS_INVALID, STATUS_MEMORY. */

#ifndef COMMON_TRACE_SPAN_FILE_H
#define COMMON_TRACE_SPAN_FILE_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/trace/span.h"

#define SEGMENT_BYTES    32768u
#define SEGMENT_SPANS    584u /* What fits in behind a head. */
#define REGION_SLOTS     128u /* 4 MiB: some thousand steps of a small job. */
#define REGION_SLOTS_MAX 65536u
#define REGIONS_MAX      4096u

/* Whose region it is, and by what clock. */
struct region {
    enum role role; /* ROLE_NONE: of several processes, which spans name. */
    uint32_t index;
    uint32_t slots;
    uint64_t host;           /* Of one clock (span_file_host); 0: virtual time. */
    uint64_t opened_ns;      /* By that clock ... */
    uint64_t opened_unix_ns; /* ... and by the wall's; 0: none. */
    uint64_t at;             /* Byte of the file where it begins; set by claiming or reading. */
};

struct segment {
    uint32_t slot, count;
    uint64_t sequence;       /* From 0. */
    uint64_t from_ns, to_ns; /* All of its spans lie between. */
};

/* A number for this host's clock, which is the same for all who share it: containers, but not those that
 * have set their clocks apart. */
uint64_t span_file_host(void);

/* Open a file that is added to, or made; "fd:3" is a descriptor of one. */
enum status span_file_open(const char *where, int *file, struct error *error);

/* Put a region behind all others, and set region->at. */
enum status span_file_claim(int file, struct region *region, struct error *error);

/* Write spans[first .. segment->count - 1] of a segment and then its head: what is before them is there
 * already. */
enum status span_file_put(int file, const struct region *region, const struct segment *segment,
                          uint32_t first, const struct span *spans, struct error *error);

/* Callbacks for what a file has: each region, then its segments in the order of their slots. Whatever they
 * return but STATUS_OK ends the reading. */
struct span_reader {
    void *context;
    enum status (*region)(void *context, const struct region *region, struct error *error);
    enum status (*segment)(void *context, const struct segment *segment, const struct span *spans,
                           struct error *error);
};

/* damaged: how many segments were left out. STATUS_INVALID: it is no such file, or ends early. */
enum status span_file_read(int file, const struct span_reader *reader, uint64_t *damaged,
                           struct error *error);

#endif
