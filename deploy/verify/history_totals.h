/* history_totals.h - what many histories have had in them, as tables for people.
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_HISTORY_TOTALS_H
#define DEPLOY_VERIFY_HISTORY_TOTALS_H

#include <stdint.h>

#include "deploy/verify/history.h"

struct history_totals {
    uint64_t histories, failed, stopped, ended, processes, events;
    double virtual_seconds;
    uint64_t healing_us; /* The longest. */
    uint64_t kept;       /* Models that were scored, there at the ends. */
    struct oracle_counts counts;
    struct network_counts network;
    uint64_t faults[FAULT_KIND_COUNT];
    uint8_t digest[HASH_BYTES]; /* Of all that happened, one history after the other. */
};

void history_totals_add(struct history_totals *totals, const struct history_result *result);

/* modes: [MODE_COUNT], of which those without a history are left out. */
void history_totals_print(const struct history_totals *modes, double seconds);

#endif
