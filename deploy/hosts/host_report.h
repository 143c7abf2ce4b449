/* host_report.h - the facts about a host before a job is started there, and whether it can take
 * part.
 *
 * A few lines of shell and `syncopate probe` print them (host_probe.h), in lines that begin like
 * these; other lines, of login shells, are ignored:
 *
 *     @time 1764137114.123456789
 *     @shared                                 the mark in the run's folder is seen here
 *     @version syncopate-ps syncopate 0.1.0   of each of the programs
 *     {"version": ...}                        probe's
 *
 * Threads: pure. Errors: a line of its own in host_report.fault. */

#ifndef DEPLOY_HOSTS_HOST_REPORT_H
#define DEPLOY_HOSTS_HOST_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define HOST_PORTS_MAX 4096 /* The number of checked ports. */

struct host_report {
    /* The reason against using the host: "cannot be reached: ..."; "" without one. */
    char fault[400];
    int exit_code; /* An enum exit_code, for the fault. */

    bool shares;        /* It shares the run's folder. */
    double clock_ahead; /* Seconds before our clock; NaN: not known. */
    char home[256];
    char instructions[32];
    char arithmetic[65]; /* Hexadecimal digits. */
    char program[65];    /* As well, of what it computes; "": without. */
    uint32_t processors;
    uint8_t taken[HOST_PORTS_MAX / 8]; /* A bit for each checked port from the first on. */
};

struct host_wanted {
    const char *version; /* "syncopate 0.1.0" */
    uint16_t first_port;
    const char *bin; /* The folder of the programs. */
};

/* Parse a host's output: text, exit code and last error line of its channel. heard_at: wall-clock
 * seconds of its first output. */
void host_report_read(struct host_report *report, const struct host_wanted *wanted,
                      const char *text, int exit_code, const char *said, double heard_at);

bool host_report_port_taken(const struct host_report *report, const struct host_wanted *wanted,
                            uint16_t port);

/* Sets the fault of each of reports [count] that computes other bits than the first usable host, or
 * has another program. names [count]. */
void host_reports_compare(struct host_report *reports, const char *const *names, size_t count);

#endif
