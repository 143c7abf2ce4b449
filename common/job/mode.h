/* mode.h - the facts of a mode.
 *
 * A mode decides when a gradient is applied, when an answer is released and when work is given,
 * in ps/mode and worker/mode. All other code asks for a fact, and never compares a mode with a
 * name: so one more mode is a row of mode.c and its own files.
 *
 * Threads: constants. */

#ifndef COMMON_JOB_MODE_H
#define COMMON_JOB_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

/* As on the wire. */
enum mode { MODE_ASYNC, MODE_SYNC, MODE_SSP, MODE_ALLREDUCE, MODE_BACKUP, MODE_COUNT };

struct mode_facts {
    enum mode number; /* To index tables with, only. */
    const char *name; /* In options, files and lines. */
    const char *unit; /* One unit of progress: "step" of all workers, "update" by one. */
    /* The leaves of a step are dealt over the workers; else each leases whole batches, and
     * gradients grow stale. */
    bool steps;
    /* The same bits on any number of processes: they must agree about arithmetic, and runs can
     * be compared by their parameters. */
    bool exact;
    bool single_version; /* A worker computes from one version of all chunks. */
    /* A gradient that is not finite is left out, and counted; else it ends the job. */
    bool may_skip;
    bool is_recorded;        /* Computations have numbers, and chunks log them (--record). */
    bool shared_read;        /* Workers of the host read values where servers write them. */
    bool replicates;         /* Workers get the sums, and make every update as well. */
    const char *explanation; /* An explanation of the mode for beginners. */
    unsigned hue;            /* Its colour in figures, from 1; 0: any that is left. */
    bool bounds;             /* Its setting is "ssp:S": batches that workers may be apart. */
    /* Its setting is the number of workers that a step does not wait for, from 1. */
    bool has_backup;
    bool sets;        /* The leaves that make a step are decided as it goes, and recorded. */
    bool locks;       /* --use-locking has something to lock. */
    bool accumulates; /* One update may be made of several gradients. */
    /* Updates are made while gradients are computed, so staleness can be treated. */
    bool may_be_stale;
};

/* An unknown number has the name "unknown" and no other fact. */
const struct mode_facts *mode_facts(enum mode mode);

const char *mode_name(enum mode mode);
const char *mode_numbered(unsigned number); /* NULL behind the last. */

/* The facts of the mode in a run.json, "ssp:3"; those of an unknown mode for any other text. */
const struct mode_facts *mode_facts_named(const char *name);

/* As in --mode, run.json and reports: "sync", "async", "ssp:3", "ssp:inf", "sync+backup:1". */
#define MODE_UNBOUNDED   UINT64_MAX
#define MODE_BOUND_MAX   1000000000
#define MODE_SPARES_MAX  1023 /* Of at most 1024 workers. */
#define MODE_BOUND_WORDS "with S from 0 to 1000000000, or inf"

struct mode_setting {
    enum mode mode;
    /* Of a mode that has one; MODE_UNBOUNDED for "inf". Else 0. See also `has_backup`. */
    uint64_t bound;
};

#define MODE_TEXT_MAX 32
struct mode_text {
    char text[MODE_TEXT_MAX];
};

struct mode_text mode_text(struct mode_setting setting);

/* In upper or lower case; STATUS_NOT_FOUND. */
enum status mode_read(const char *text, struct mode_setting *setting);

#endif
