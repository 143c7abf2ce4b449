/* benchmark.h - the table of figures that benchmark programs print together, and its JSON.
 *
 *     int main(int argc, char **argv)
 *     {
 *         struct benchmark benchmark;
 *         benchmark_open(&benchmark, "update", argc, argv);
 *         measure_in_turn(pieces, 2, MEASURE_ROUNDS, measured);
 *         benchmark_line(&benchmark, &(struct figure){.what = "sgd, 64 MiB", ...});
 *         return benchmark_close(&benchmark);
 *     }
 *
 * A line is a figure of ours, the machine's own limit for the same work measured in turn with it,
 * the ratio of the two taken round by round, and what was to be reached. Numbers are medians with
 * their quartiles in brackets. A line is marked noisy when other processes or virtual machines were
 * at work, or its ratio (without a limit: its figure) was unsteady; nothing fails for that.
 *
 * Programs take [--json FILE] [--more]. FILE is one JSON document; a program that finds lines in it
 * adds its own and prints no heading again. --more: another program goes on with the table, so
 * leave out the summary below it. That is how `make bench` makes one table of many programs.
 *
 *     {"machine": {"processor", "processors", "kernel", "congestion"},
 *      "lines": [{"part", "what", "setting", "unit", "ours": SPREAD, "limit": SPREAD | null,
 *                 "limit_name", "ratio": SPREAD | null, "cpu_seconds_per_gb": number | null,
 *                 "target": text | null, "met": true | false | null, "noisy": text | null,
 *                 "rounds", "seconds", "others_cpu_seconds", "stolen_cpu_seconds", "switches"}]}
 *     SPREAD is {"least", "lower", "median", "upper", "most"}
 *
 * Units: GB are 1e9 bytes. Threads: one. Errors: trouble with FILE ends the program. */

#ifndef TESTS_LIB_BENCHMARK_H
#define TESTS_LIB_BENCHMARK_H

#include <stdbool.h>

#include "common/file/json_writer.h"
#include "tests/lib/measure.h"

/* Bounds to hold, each 0 when there is none. */
struct figure_target {
    double least, most;             /* Of the figure, in its unit. */
    double ratio_least, ratio_most; /* Of ours / limit. */
    double cpu_most;                /* Processor seconds per GB. */
};

struct figure {
    const char *what; /* "exchange, 64 MiB" */
    const char *unit; /* "GB/s", "images/s", "us" */
    /* A rate (false): per_call / seconds. A time (true): per_call * seconds, so 1e6 for "us". */
    bool is_time;
    double per_call;
    const struct measured *ours;
    const struct measured *limit; /* NULL: none. Else measured in turn with ours. */
    double limit_per_call;        /* As per_call, of the limit; 0 is the same. */
    const char *limit_name;       /* "raw ZeroMQ". Without a limit: why there is none, or NULL. */
    double bytes;                 /* That a call moves, for processor seconds per GB; 0: none. */
    const char *setting;          /* What matters: "bbr", "SkylakeX", "AVX-512". May be NULL. */
    struct figure_target target;
};

struct benchmark {
    const char *part;
    const char *json_path; /* NULL: not wanted. */
    bool more;             /* Other programs follow. */
    char *before;          /* The document that was there, NULL when none was. Owned. */
    size_t before_bytes;
    struct json_writer writer; /* This program's document. */
    size_t first_line;         /* Where its lines begin in it. */
};

/* Exits on arguments it does not know. */
void benchmark_open(struct benchmark *benchmark, const char *part, int argc, char **argv);

/* Prints the line at once. */
void benchmark_line(struct benchmark *benchmark, const struct figure *figure);

/* A remark under the last line, in printf's way: a formula, a state, why a line is missing. */
void benchmark_remark(struct benchmark *benchmark, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes FILE. Returns the program's exit code. */
int benchmark_close(struct benchmark *benchmark);

/* Whether the member at path is true, of a document read back. */
struct json;
bool benchmark_is_yes(const struct json *value, const char *path);

/* --- settings that matter ------------------------------------------------------------------ */

/* "bbr", of this network namespace. Static text. */
const char *benchmark_congestion(void);

/* The widest vector instructions that kernels may use here: "AVX-512", "AVX2" or "baseline". */
const char *benchmark_instructions(void);

#endif
