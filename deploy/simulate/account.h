/* account.h - OUT/virtual.json: the planned failures of a virtual run, the failures that happened,
 * and the load.
 *
 *     {
 *       "format": "syncopate-virtual-1",
 *       "options": {"kill": "worker/1@300ms+200ms"},                       to give simulate again
 *       "happened": [{"seconds": 0.3, "text": "worker/1 is killed; another comes in 200ms"}],
 *       "load": {...}                                                      load.h; null while it
 *       runs
 *     }
 *
 * Together with cluster.json and run.json it determines the command. It is of the last session.
 *
 * Threads: one owner. Ownership: its copies of texts; borrows the failures. */

#ifndef DEPLOY_SIMULATE_ACCOUNT_H
#define DEPLOY_SIMULATE_ACCOUNT_H

#include <stdio.h>

#include "common/file/json.h"
#include "deploy/cluster/failures.h"
#include "deploy/simulate/load.h"

#define ACCOUNT_FORMAT "syncopate-virtual-1"
#define ACCOUNT_FILE   "virtual.json"

struct account {
    const struct failures *failures;
    const char *policy; /* NULL: the mode decides. */
    struct account_event {
        uint64_t at_ns;
        char *text;
    } * events;                   /* [count] */
    size_t count, capacity, lost; /* lost: for lack of memory. */
};

/* Borrows both. */
void account_init(struct account *account, const struct failures *failures, const char *policy);
void account_free(struct account *account);

void account_note(struct account *account, uint64_t at_ns, const char *text);

/* load: NULL while it runs. STATUS_IO, STATUS_MEMORY. */
enum status account_write(const struct account *account, const struct load *load, const char *out,
                          struct error *error);

/* The content from a run directory, which the caller releases; NULL: the file is missing or
 * invalid. */
struct json *account_read(const char *out);

/* For people, in the lines of a summary: the policy, the planned failures, those that happened, and the
 * bottleneck. */
void account_print(FILE *out, const struct json *account);

#endif
