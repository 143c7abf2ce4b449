/* watch_pages.h - the pages of a server that is watched over HTTP.
 *
 *     /state     server 0: what is so now, see watched.h; and the files of the run's folder (run_files.h)
 *     /metrics   what watched.h has, and what the process takes, for Prometheus
 *     /healthz   200 while the router's thread goes round, else 503
 *     /readyz    200 while this server takes gradients, and on server 0 the job runs; else 503 and for
 *                what it waits
 *
 * Threads: one of the HTTP server's. */

#ifndef PS_WATCH_WATCH_PAGES_H
#define PS_WATCH_WATCH_PAGES_H

#include "common/watch/http_server.h"
#include "ps/watch/watched.h"

struct watch_pages {
    struct watched_board board;
    const char *version;
    struct watched copy, earlier; /* Of the thread that answers. */
};

/* As an http_answer_fn wants it: context is a struct watch_pages. */
struct http_answer watch_pages_answer(void *context, const struct http_request *request);

#endif
