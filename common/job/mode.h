/* mode.h - what everybody may know of a mode: its facts.
 *
 * A mode decides when a gradient is applied, when an answer is released and when work is given. That
 * is done in the rooms of the modes, ps/mode and worker/mode. Everybody else asks for a fact, and
 * nobody compares a mode with a name: so one mode more is a row of mode.c and its own files.
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
    enum mode number; /* To index tables with, and for nothing else. */
    const char *name; /* In options, files and lines. */
    const char *unit; /* What it makes: "step" of all workers, "update" by one. */
    bool steps;       /* The leaves of a step are dealt over the workers; else each is leased whole
                       * batches, and gradients grow stale. */
    bool exact;       /* The same bits whoever computes: processes must agree about arithmetic, and
                       * runs can be compared by their parameters. */
    bool single_version; /* All that a worker computes from is of one version. */
    bool may_skip;       /* A gradient that is not finite is left out, and counted; else the end. */
    bool is_recorded;    /* What is computed has a number, and chunks note it (--record). */
    bool shared_read;    /* Workers of the host read values where servers write them. */
    bool replicates;     /* Workers are given the sums, and make every update themselves as well. */
    const char *told;    /* What it is, for who has never heard of it. */
    unsigned hue;        /* Of it in figures, from 1; 0: any that is left. */
    bool bounds;       /* A number belongs to it: "ssp:S", how many batches workers may be apart. */
    bool has_backup;   /* One does that is how many workers a step does not wait for, from 1. */
    bool sets;         /* Which leaves a step is made of is decided as it goes, and recorded. */
    bool locks;        /* --use-locking has something to lock. */
    bool accumulates;  /* One update may be made of several gradients. */
    bool may_be_stale; /* Updates are made while gradients are computed: something may be done about
                       * their staleness. */
};

/* An unknown number has the name "unknown" and no other fact. */
const struct mode_facts *mode_facts(enum mode mode);

const char *mode_name(enum mode mode);
const char *mode_numbered(unsigned number); /* NULL from the first that is not there. */

/* The facts of the mode that a run.json names, "ssp:3"; of none, if it names none of ours. */
const struct mode_facts *mode_facts_named(const char *name);

/* What --mode, run.json and reports say: "sync", "async", "ssp:3", "ssp:inf", "sync+backup:1". */
#define MODE_UNBOUNDED   UINT64_MAX
#define MODE_BOUND_MAX   1000000000
#define MODE_SPARES_MAX  1023 /* Of at most 1024 workers. */
#define MODE_BOUND_WORDS "with S from 0 to 1000000000, or inf"

struct mode_setting {
    enum mode mode;
    uint64_t
        bound; /* Of a mode that has one; MODE_UNBOUNDED for "inf". Else 0. See also `spares`. */
};

#define MODE_TEXT_MAX 32
struct mode_text {
    char text[MODE_TEXT_MAX];
};

struct mode_text mode_text(struct mode_setting setting);

/* In whatever case; STATUS_NOT_FOUND. */
enum status mode_read(const char *text, struct mode_setting *setting);

#endif
