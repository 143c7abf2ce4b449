/* mode.h - the facts of a mode.
 *
 * A mode decides when a gradient is applied, when an answer is released and when work is given,
 * in ps/mode and worker/mode. All other code asks for a fact, and never compares a mode with a
 * name: so one more mode is a row of mode_rows.inc and its own files.
 *
 * Threads: constants. */

#ifndef COMMON_JOB_MODE_H
#define COMMON_JOB_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

/* As on the wire. */
enum mode {
#define MODE(number, ...) MODE_##number,
#include "common/job/mode_rows.inc"
#undef MODE
    MODE_COUNT
};

struct mode_facts {
    const char *name; /* In options, files and lines. */
    const char *explanation;
    unsigned hue; /* Its colour in figures, from 1; 0: any that is left. */
    /* The leaves of a step are dealt over the workers, and all compute it from one version of all
     * chunks. So it has the same bits on any number of processes, which must agree about
     * arithmetic; no gradient is stale; and one that is not finite ends the job. Else each worker
     * leases whole batches. Updates are made while gradients are computed, which grow stale; what
     * is not finite is left out, and counted; --use-locking has something to lock; and chunks log
     * computations, which have numbers (--record). */
    bool steps;
    bool sets;       /* The leaves that make a step are decided as it goes, and recorded. */
    bool replicates; /* Workers get the sums, and make every update as well. */
    /* "ssp:S" where its setting is the batches that workers may be apart; else NULL. */
    const char *bounds;
    bool accumulates; /* One update may be made of several gradients. */
};

/* An unknown number has the name "unknown" and no other fact. */
const struct mode_facts *mode_facts(enum mode mode);

const char *mode_name(enum mode mode);
const char *mode_numbered(unsigned number); /* NULL behind the last. */
/* What --mode may be, sync first, as everywhere that people read: "ssp:S". NULL behind the last. */
const char *mode_word(unsigned index);

/* The facts of the mode in a run.json, "ssp:3"; those of an unknown mode for any other text. */
const struct mode_facts *mode_facts_named(const char *name);

/* As in --mode, run.json and reports: "sync", "async", "ssp:3", "ssp:inf", "sync+backup:1". */
#define MODE_UNBOUNDED   UINT64_MAX
#define MODE_BOUND_MAX   1000000000
#define MODE_SPARES_MAX  1023 /* Of at most 1024 workers. */
#define MODE_BOUND_WORDS "with S from 0 to 1000000000, or inf"

struct mode_setting {
    enum mode mode;
    /* Of a mode that has one: S, or MODE_UNBOUNDED for "inf"; where `sets`, the workers, from 1,
     * that a step does not wait for. Else 0. */
    uint64_t bound;
};

#define MODE_TEXT_MAX 32
struct mode_text {
    char text[MODE_TEXT_MAX];
};

/* Whether the mode is called so, or is of this kind: one that "leases", "accumulates" or
 * "replicates". */
bool mode_is(const struct mode_facts *facts, const char *kind);

struct mode_text mode_text(struct mode_setting setting);

/* In upper or lower case; STATUS_NOT_FOUND. */
enum status mode_read(const char *text, struct mode_setting *setting);

#endif
