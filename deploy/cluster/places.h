/* places.h - some processes of a job, as people name them: "worker/0-3,worker/7,ps/0".
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

/* As they were written; no process is in two. */
struct places {
    struct place_range {
        enum role role;
        uint32_t first, last;
    } ranges[PLACES_RANGES_MAX];
    uint32_t count;
};

/* What *text begins with; then *text is behind it, at what is no comma. STATUS_INVALID: error. */
enum status places_read(const char **text, struct places *places, struct error *error);

/* As it reads back. */
void places_write(const struct places *places, char text[PLACES_TEXT_MAX]);
struct place_text place_text(struct place place);

bool places_have(const struct places *places, struct place place);
/* Whether any is in both; which: *shared, which may be NULL. */
bool places_meet(const struct places *a, const struct places *b, struct place *shared);
/* Processes in all; number `index` of them from 0 on, in the order of the text. */
uint32_t places_count(const struct places *places);
struct place places_at(const struct places *places, uint32_t index);

bool places_equal(const struct places *a, const struct places *b);

/* STATUS_INVALID unless all are among so many servers and workers: error says who is not. */
enum status places_check(const struct places *places, uint32_t servers, uint32_t workers,
                         struct error *error);

#endif
