/* places.h - a set of processes of a job, as people write it: "worker/0-3,worker/7,ps/0".
 *
 * Threads: plain values. */

#ifndef DEPLOY_CLUSTER_PLACES_H
#define DEPLOY_CLUSTER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/wire/message.h"

#define PLACES_RANGES_MAX 16
#define PLACES_TEXT_MAX   (PLACES_RANGES_MAX * sizeof "worker/1023-1023,")

struct place {
    enum role role; /* ROLE_PS or ROLE_WORKER. */
    uint32_t index; /* Below JOB_SERVERS_MAX, JOB_WORKERS_MAX. */
};

struct place_text {
    char text[32];
};

/* In the order of the text; no process is in two ranges. */
struct places {
    struct place_range {
        enum role role;
        uint32_t first, last;
    } ranges[PLACES_RANGES_MAX];
    uint32_t count;
};

/* Read from the start of *text; then *text is after it, not at a comma. STATUS_INVALID: error. */
enum status places_read(const char **text, struct places *places, struct error *error);

/* Writes the form that places_read reads. */
void places_write(const struct places *places, char text[PLACES_TEXT_MAX]);
struct place_text place_text(struct place place);

bool places_have(const struct places *places, struct place place);
/* Whether the sets share a process; *shared, which may be NULL, is the first. */
bool places_meet(const struct places *a, const struct places *b, struct place *shared);
/* The number of processes; and number `index` of them from 0 on, in the order of the text. */
uint32_t places_count(const struct places *places);
struct place places_at(const struct places *places, uint32_t index);

/* STATUS_INVALID unless all are among so many servers and workers: error names the first that is
 * not. */
enum status places_check(const struct places *places, uint32_t servers, uint32_t workers,
                         struct error *error);

#endif
