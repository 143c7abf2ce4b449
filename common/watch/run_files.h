/* run_files.h - the files of a run's or comparison's folder over HTTP, as deploy/page/source.js asks for
 * them:
 *
 *     /run.json, /compare.json, /points.csv, ...   as they are, at most RUN_FILES_MAX bytes
 *     /events?from=BYTE                            whole lines of events.jsonl from there on, at most
 *                                                  HTTP_ANSWER_MAX bytes; 416: it is shorter than that
 *     /logs/worker-0.log?tail=50                   so many last lines, at most HTTP_ANSWER_MAX bytes
 *
 * No other file is read, whatever the path says.
 *
 * Threads: any. */

#ifndef COMMON_WATCH_RUN_FILES_H
#define COMMON_WATCH_RUN_FILES_H

#include "common/watch/http_server.h"

#define RUN_FILES_MAX (4u << 20)

/* Code 0: it is none of these, or there is no such file. */
struct http_answer run_files_answer(const char *folder, const struct http_request *request);

/* Of /state: the bytes of events.jsonl, 0 of none; and whether the folder has logs. */
uint64_t run_files_events(const char *folder);
bool run_files_has_logs(const char *folder);

#endif
