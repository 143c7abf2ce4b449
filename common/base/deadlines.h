/* deadlines.h - how long the processes of a job wait, and for what.
 *
 * Filled once, from the options, and passed on by value. A deadline that is one more is a field
 * here, a row of options and the line that keeps it.
 *
 * Units: seconds, as given.
 * Threads: plain values. */

#ifndef COMMON_BASE_DEADLINES_H
#define COMMON_BASE_DEADLINES_H

struct deadlines {
    double start;   /* --start-timeout: until all members are there. */
    double silence; /* --worker-timeout: of who is not heard; then it is lost, or a line says so. */
    double recovery; /* --recovery-timeout: for who is lost to be back, or another in its place. */
    double progress; /* --progress-timeout: for a step, and a worker's own arithmetic. */
    double stop;     /* --stop-timeout: for an end that was asked for. */
};

#endif
