/* narration.h - a process log as a story: every message of a run once, when it was sent, and every event, in the
 * order of time, in plain words.
 *
 *    61.204 ms  worker/0 -> ps/1  EXCHANGE
 *      "Here is my gradient of step 0 for chunk 1 (20,480 values; leaves 0 to 1, summed over 32
 *      examples), computed from version 0. Give me version 1 when it is there." And 3 more like it,
 *      for chunks 3, 5 and 7. (worker/client/exchange.c:send_chunk)
 *
 * Entries that differ only in their chunk, and repeated ones such as heartbeats, are printed once
 * and counted. With `singly` each message is printed, with all its fields and the time of its receipt.
 *
 * Threads: one. */

#ifndef DEPLOY_EXPLAIN_NARRATION_H
#define DEPLOY_EXPLAIN_NARRATION_H

#include <stdio.h>

#include "deploy/explain/words.h"

struct narration {
    const struct job *job;
    const struct partition *partition;
    bool singly;
};

/* Print the file's entries. STATUS_INVALID: its end is damaged; the entries before it are printed.
 * STATUS_MEMORY. */
enum status narration_print(FILE *out, const struct narration *narration, int file,
                            struct error *error);

#endif
