/* wait.h - what a worker waits for that has all values and nothing to compute, or whose answer is held.
 *
 * Threads: constants. */

#ifndef COMMON_BASE_WAIT_H
#define COMMON_BASE_WAIT_H

enum wait {
    WAIT_LEASE,   /* A batch: the way to server 0 and back, or all are with others. */
    WAIT_BOUND,   /* The slowest, that it may not run further ahead of (ssp). */
    WAIT_GATE,    /* A checkpoint, before which all have to come to the same batch. */
    WAIT_BARRIER, /* The others' gradients of the step (sync). */
    WAIT_COUNT
};

const char *wait_name(enum wait wait); /* "lease", "bound", "gate", "barrier" */

#endif
