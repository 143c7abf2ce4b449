/* inspect_address.h - what a running server 0 says of its job: once, or until the job has ended.
 *
 * Watching shows the job again every so often: on a terminal over and over in the same place, else
 * a line each time, or in JSON an object on one line. Server 0 says by itself when the job has
 * ended, which is shown as a last line. One that falls silent is asked on for a minute, because it
 * may be started again.
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
