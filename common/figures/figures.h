/* figures.h - the one table of a run's figures: its rows stand in figure_rows.inc.
 *
 * What a figure is called, of what it is, and how and where it is shown is written in its row alone. The
 * structs here are made of the rows, and so are JSON in both directions (run.json, --json), STATUS_ANSWER
 * (common/wire/message_fields.h), metrics (ps/watch) and TensorBoard's curves.
 *
 * Threads: plain values. */

#ifndef COMMON_FIGURES_FIGURES_H
#define COMMON_FIGURES_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/base/leaf_times.h"
#include "common/base/run_phases.h"
#include "common/base/wait.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"

enum figure_kind {
    FIGURE_U32,
    FIGURE_U64,
    FIGURE_INDEX, /* uint64_t from 1; 0: none, null, and so is an object that begins with it. */
    FIGURE_FLAG,  /* uint64_t, a truth. */
    FIGURE_MAYBE, /* uint64_t, or FIGURE_UNKNOWN: null, and so is an object that begins with it. */
    FIGURE_REAL,  /* double; NaN is null. */
    FIGURE_WHOLE, /* double, a whole number; NaN is null. */
    FIGURE_TEXT,  /* char[size]; "" is null. */
    FIGURE_HISTOGRAM,
    FIGURE_SET, /* The figures of another struct. */
};

#define FIGURE_UNKNOWN UINT64_MAX

struct figure_row {
    const char *name; /* In JSON; NULL: its members are those of the object around. */
    enum figure_kind kind;
    size_t offset, size;                   /* In its struct. */
    const struct figure_row *(*set)(void); /* FIGURE_SET: its rows, and if not all ... */
    unsigned first;                        /* ... how many of them; else 0. */
    const char *metric, *help;             /* For Prometheus, after "syncopate_"; NULL: none. */
    const char *tag;                       /* Of its curve in TensorBoard; NULL: none. */
    const char *counted_one, *counted;     /* "worker lost", "workers lost"; NULL: not shown so. */
};

#define JOB_FAULTS 5 /* Rows of the faults. */

enum run_state { RUN_RUNNING, RUN_STOPPED, RUN_DONE, RUN_FAILED };

/* One worker's part of the staleness. */
struct staleness_share {
    uint64_t count, sum, max;
};

/* What the mode of the job says of itself, by name; "mode_figures" in run.json. */
#define MODE_FIGURES_MAX 4
struct mode_figures {
    uint32_t count;
    struct {
        char name[32];
        uint64_t value;
    } figures[MODE_FIGURES_MAX]; /* [count] */
};

/* clang-format off */
#define FIGURE_C_U32       uint32_t
#define FIGURE_C_U64       uint64_t
#define FIGURE_C_INDEX     uint64_t
#define FIGURE_C_FLAG      uint64_t
#define FIGURE_C_MAYBE     uint64_t
#define FIGURE_C_REAL      double
#define FIGURE_C_WHOLE     double
#define FIGURE_C_HISTOGRAM struct histogram

#define FIGURES(type)              struct type {
#define FIGURE(kind, member, ...)  FIGURE_C_##kind member;
#define TEXT(member, bytes, name)  char member[bytes];
#define SET(type, member, ...)     struct type member;
#define OURS(declaration)          declaration;
#define END                        };
#include "common/figures/figure_rows.inc"

/* Of each struct its rows, in the same name, up to one of no size: run_summary_rows(). */
#define FIGURES(type)              const struct figure_row *type##_rows(void);
#define FIGURE(...)
#define TEXT(...)
#define SET(...)
#define OURS(...)
#define END
#include "common/figures/figure_rows.inc"
/* clang-format on */

/* Members into the object that is open; all null where `of` is NULL. */
void figures_write(struct json_writer *writer, const struct figure_row *rows, const void *of);
/* An object, which is null where its first row says so; name NULL: in an array. */
void figures_object(struct json_writer *writer, const char *name, const struct figure_row *rows,
                    const void *of);

/* Forgiving: what is not there is 0, NaN, FIGURE_UNKNOWN or "". object may be NULL. OURS stay as they are. */
void figures_read(const struct figure_row *rows, const struct json *object, void *to);

/* Sums of whole numbers; of structs that have nothing else. */
void figures_add(const struct figure_row *rows, void *to, const void *from);

/* Of a number that is known; NaN of any other. */
double figure_value(const struct figure_row *row, const void *of);

#endif
