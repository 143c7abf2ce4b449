/* outlet.h - lines for people, to a descriptor whose reader may stop reading: a terminal that was
 * stopped with Ctrl-S, a full pipe. Writing never waits for the reader.
 *
 * A line goes out whole and in one write, or not at all. Of one that the reader takes only the
 * beginning of, the rest is kept and goes out before the next.
 *
 * A terminal or pipe is opened anew for this, because whether writes wait is a property that all
 * who have a descriptor share: the shell is not to be surprised.
 *
 * Threads: one at a time. Ownership: outlet_open may open a descriptor; outlet_close closes it. */

#ifndef COMMON_PROCESS_OUTLET_H
#define COMMON_PROCESS_OUTLET_H

#include <stdbool.h>
#include <stddef.h>

#define OUTLET_LINE_MAX 4096

struct outlet {
    int file;
    bool own; /* Opened by us. */
    char rest[OUTLET_LINE_MAX];
    size_t rest_bytes; /* Of the line that went out in part. */
};

enum outlet_result {
    OUTLET_TAKEN,
    OUTLET_FULL, /* Try again later, or do without. */
    OUTLET_GONE, /* The reader is gone. */
};

void outlet_open(struct outlet *outlet, int file);
void outlet_close(struct outlet *outlet);

/* At most OUTLET_LINE_MAX bytes, newline included. */
enum outlet_result outlet_put(struct outlet *outlet, const char *line, size_t bytes);

#endif
