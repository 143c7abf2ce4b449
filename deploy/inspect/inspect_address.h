/* inspect_address.h - the job's status as server 0 reports it: once, or until the job has ended.
 *
 * Watching repeats the status: on a terminal in the same place, otherwise a line each time, or in
 * JSON an object on one line. Server 0 announces the end of the job, which is printed as a last
 * line. A server that falls silent is asked for another minute: it may be restarted.
 *
 * Threads: one. */

#ifndef DEPLOY_INSPECT_INSPECT_ADDRESS_H
#define DEPLOY_INSPECT_INSPECT_ADDRESS_H

#include <stdbool.h>

#include "common/base/status.h"

struct keys;

struct inspect_style {
    bool json;
    bool watch;
    bool redraw;  /* Watching: on a terminal. */
    double every; /* Watching: seconds between two looks. */
};

/* Ask the server at "host:port" for its status, print it to standard output, and return an enum
 * exit_code; error holds one line when it is not EXIT_DONE. keys: NULL for none. */
int inspect_address(const char *address, const struct keys *keys, const struct inspect_style *style,
                    struct error *error);

#endif
