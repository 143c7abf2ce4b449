/* folder_pages.h - the page of a run or comparison over HTTP, from its folder: live while it goes on, and
 * afterwards.
 *
 *     /               the page
 *     /spans?steps=N  the newest steps of a trace
 *     /state, ...     what server 0 of a live run says (watch_pages.h), asked there; of a folder alone what
 *                     its run.json says
 *     /teach          whether a process can be touched; POST /teach/kill/worker/2: teaching.h
 *     else            files of the folder (run_files.h), or where it is not here, what server 0 says
 *
 * Threads: one that answers. */

#ifndef DEPLOY_SERVE_FOLDER_PAGES_H
#define DEPLOY_SERVE_FOLDER_PAGES_H

#include "common/watch/http_server.h"

struct folder_pages {
    const char *folder;
    uint16_t server_0_port;          /* On loopback, where it answers HTTP; 0: it does not. */
    int trace;                       /* Of a live run: its spans; -1: there are none. */
    const struct teaching *teaching; /* Of run --teach; NULL: no process is touched. */
};

/* As an http_answer_fn wants it: context is a struct folder_pages. */
struct http_answer folder_pages_answer(void *context, const struct http_request *request);

#endif
