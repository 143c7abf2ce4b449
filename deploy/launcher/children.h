/* children.h - one child process: starting it, reading its output, stopping it. child_end.h has the
 * meaning of its end.
 *
 * Two pipes join it to its launcher:
 *
 *     standard input    begins with parent.h's greeting, and ends when the launcher dies
 *     standard error    is read line by line. The last lines are kept to explain a failure, and
 *                       all go to a log file once there is a place for it; until then up to
 *                       CHILD_EARLY_MAX bytes are buffered
 *
 * As CHILD_WORD it may have a file that several children share. Its standard output is /dev/null,
 * or ours. A remote child (site.h) has a third pipe for its standard output, and gets signals
 * through its standard input.
 *
 * A child is in a process group of its own: a Ctrl-C on the terminal reaches the launcher alone. It
 * gets SIGTERM from the kernel when the launcher dies in any way: it may not have read its standard
 * input yet.
 *
 * Threads: one, the one that starts children (PR_SET_PDEATHSIG follows the starting thread).
 * Ownership: a child owns its pipes and log until child_free. */

#ifndef DEPLOY_LAUNCHER_CHILDREN_H
#define DEPLOY_LAUNCHER_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/status.h"
#include "common/process/log_line.h"

/* Longer lines are truncated, in kept and in forwarded ones. */
#define CHILD_LINE_MAX  LOG_LINE_MAX
#define CHILD_TAIL      6 /* Kept lines. */
#define CHILD_EARLY_MAX 65536
#define CHILD_HOST_MAX  128
#define CHILD_WORD      3 /* The descriptor of the shared file. */

/* Gets a child's lines as they come; without newline. A line in another format than the log's
 * counts as LOG_INFO. */
typedef void child_line_fn(void *context, const char *line, enum log_level level);

/* An incomplete line. */
struct child_line {
    char text[CHILD_LINE_MAX];
    size_t bytes;
};

struct child {
    char name[32];             /* "ps/0", "worker/1" */
    char host[CHILD_HOST_MAX]; /* Of a remote child; else "". */
    pid_t pid;                 /* 0: never started. */
    bool running;
    int wait_status;       /* From waitpid, once it is not running. */
    double started, ended; /* Monotonic seconds. */
    bool signalled;        /* A signal from the launcher explains its end. */
    bool carried;          /* On another host; */
    bool up;               /* it has been reached. A local child is up once it is started. */
    bool cut;              /* Its end is unknown: the connection broke, or could not be made. */
    int end_code;          /* Its reported exit code; -1: none. */
    uint32_t restarts;     /* Number of restarts. */
    uint32_t early_ends;   /* In a row; see restart.h. */
    double restart_at;     /* The time of its restart; INFINITY: none. */
    double cut_since;      /* No start has succeeded since then; INFINITY: not so. */
    /* teaching.h: it is to be stopped until then, to run a part of the time, and is stopped now. */
    double stop_until;
    bool slow, stopped;

    int leash;                          /* Write end of its standard input, or -1. */
    int output;                         /* Read end of its standard error, or -1. */
    int voice;                          /* Read end of a remote child's standard output, or -1. */
    struct child_line line, voice_line; /* Incomplete ones. */
    char tail[CHILD_TAIL][CHILD_LINE_MAX];
    /* All lines so far; the newest is tail[(tail_count - 1) % CHILD_TAIL]. */
    size_t tail_count;
    char error[CHILD_LINE_MAX]; /* The text of its last line that reports an error, or "". */

    int log;       /* -1: not open. */
    int log_error; /* errno of a failed write, after which the log was given up. */
    char *early;   /* [early_bytes] buffered for the log, owned. */
    size_t early_bytes;
};

/* A child that was never started. */
void child_init(struct child *child);

/* The program to run. */
struct child_program {
    const char *path;
    char *const *arguments, *const *environment;
    int share;         /* A file for CHILD_WORD, borrowed; 0: none. */
    bool prints;       /* Its standard output is ours. */
    const char *host;  /* Of a remote child: its host; NULL: here. */
    bool carried;      /* The path is that of ssh or the like, found in PATH. */
    const char *input; /* Of a remote child: input before the greeting; NULL: none. */
};

/* A child that has ended may be restarted: it keeps its log, or the buffer for it, and its number
 * of restarts grows. */
enum status child_start(struct child *child, const char *name, const struct child_program *program,
                        double now, struct error *error);

/* Open "directory/ps-0.log" for appending (disk_open_log) and write the buffer. A failure does not
 * end the job: there is no log then. A line for people in *remark, "" for none. */
void child_open_log(struct child *child, const char *directory, struct error *remark);

/* Read the pipe's current content, calling each (may be NULL) with every line. */
void child_read(struct child *child, child_line_fn *each, void *context);
/* The same for a remote child's standard output; the lines of site.h are handled here. */
void child_read_voice(struct child *child, child_line_fn *each, void *context);

/* Notice its end, if it has come; does not wait. When another process has collected it (we were
 * started with SIGCHLD ignored, or by its debugger) its exit code is not known: it then counts as
 * one that lost the cluster. */
void child_reap(struct child *child, double now);

/* Whether its log has been given up since the last call, and the reason: "the log of ps/0 ends
 * here: No space left on device". */
bool child_lost_log(struct child *child, char *text, size_t bytes);

/* The end of a remote child, after its output was read to the end: from its reported exit code. */
void child_conclude(struct child *child);

/* child_ask, and note that its end is caused by us. */
void child_signal(struct child *child, int signal);
/* SIGINT and SIGTERM are requests that may be refused; SIGKILL is not. A remote child that does not
 * react in time has to be given up (child_abandon). */
void child_ask(struct child *child, int signal);
/* Give up the connection to a remote child. It ends without its launcher (parent.h). */
void child_abandon(struct child *child);

/* Close open files. The process must have ended, or be given up. */
void child_free(struct child *child);

#endif
