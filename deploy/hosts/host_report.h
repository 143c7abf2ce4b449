/* host_report.h - what a host says of itself before a job is started there, and whether it can take
 * part.
 *
 * A few lines of shell and `syncopate probe` say it (host_probe.h), in lines that begin so; others, of
 * login shells, are left out:
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

#define HOST_PORTS_MAX 4096 /* That are asked about. */

struct host_report {
    /* What keeps the host from taking part: "cannot be reached: ..."; "" when nothing does. */
    char fault[400];
    int exit_code; /* An enum exit_code, of the fault. */

    bool shares;        /* It sees the run's folder. */
    double clock_ahead; /* Seconds, of ours; NaN: not known. */
    char home[256];
    char instructions[32];
    char arithmetic[65]; /* Hexadecimal digits. */
    uint32_t processors;
    uint8_t
        taken[HOST_PORTS_MAX / 8]; /* A bit for each port from the first that was asked about. */
};

/* What is expected. */
struct host_wanted {
    const char *version; /* "syncopate 0.1.0" */
    uint16_t first_port; /* That it was asked about. */
    const char *bin;     /* Where the programs are to be. */
};

/* Read what a host said: text, and the exit code and the last line of errors of what carried it.
 * heard_at: the wall's seconds when it began to. */
void host_report_read(struct host_report *report, const struct host_wanted *wanted,
                      const char *text, int exit_code, const char *said, double heard_at);

bool host_report_port_taken(const struct host_report *report, const struct host_wanted *wanted,
                            uint16_t port);

/* Which of reports [count] computes other bits than the first that can take part: its fault says so.
 * names [count]. */
void host_reports_compare(struct host_report *reports, const char *const *names, size_t count);

#endif
