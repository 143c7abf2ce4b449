/* status.h - the one way functions report that the world did not cooperate.
 *
 * Our own bugs are asserts, kept on in release builds. Everything that peers, disks, memory or
 * bytes can do wrong is a status, always handled by the caller. Where a person can act on it, a
 * struct error carries one clear line beside the status; functions that take one accept NULL.
 *
 * Threads: no shared state. */

#ifndef COMMON_BASE_STATUS_H
#define COMMON_BASE_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_AGAIN,       /* Nothing there now, or no room now; try later. */
    STATUS_INVALID,     /* Bytes or values that break a rule. */
    STATUS_MISMATCH,    /* Valid, but not what the other side declared. */
    STATUS_NOT_FOUND,   /* No such file, peer, name or version. */
    STATUS_EXISTS,      /* Something is there that must not be overwritten. */
    STATUS_IO,          /* The disk or the network failed. */
    STATUS_MEMORY,      /* Out of memory. */
    STATUS_UNREACHABLE, /* No route to the peer. */
    STATUS_TIMEOUT,     /* A deadline passed. */
    STATUS_REFUSED,     /* The other side said no. */
    STATUS_INTERRUPTED, /* A stop was asked for. */
    STATUS_DIVERGED,    /* Training produced a value that is not finite. */
    STATUS_LOST,        /* A process of the cluster is gone. */
    STATUS_PROGRAM,     /* A program that computes gradients cannot go on. */
};

/* What a program's exit code tells the person or scheduler that started it (proto/CONTRACT.md
 * section 7). Codes of 128 and more are worth a retry. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_TRAINING_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_MISMATCH = 3,
    EXIT_START_TIMEOUT = 4,
    EXIT_CANNOT_OPEN = 5,
    EXIT_UNAUTHENTICATED = 6,
    EXIT_PROGRAM = 7,
    EXIT_INTERRUPTED = 130, /* SIGINT, after a clean checkpoint. */
    EXIT_TERMINATED = 143,  /* SIGTERM, after a clean checkpoint. */
    EXIT_CLUSTER_LOST = 195,
};

struct error {
    enum status status;
    char text[512]; /* One line, no newline, for the person who can act on it. */
};

/* Fill error (which may be NULL) and return status, so that a guard is one statement:
 *     return error_set(error, STATUS_INVALID, "%s: header is cut off", path); */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A short English name of status, for logs. */
const char *status_name(enum status status);

#endif
