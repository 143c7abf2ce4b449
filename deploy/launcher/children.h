/* children.h - one child process: started, listened to, told to stop. What its end means: child_end.h.
 *
 * Two pipes join it to its launcher:
 *
 *     standard input    begins with parent.h's greeting, and ends when the launcher dies
 *     standard error    comes line by line. The last lines are kept so that a failure can be
 *                       explained, and everything goes to a log file once there is a place for it;
 *                       until then up to CHILD_EARLY_MAX bytes are held back
 *
 * As CHILD_WORD it may have a file that several share.
 * Its standard output is /dev/null, unless it is to have ours, or is carried elsewhere (site.h): its
 * lines then come through a third pipe, and signals go to it through its standard input.
 *
 * A child is in a process group of its own, so a Ctrl-C on the terminal reaches the launcher alone,
 * and gets SIGTERM from the kernel when the launcher dies, however it dies: it may not have come to
 * look at its standard input yet.
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

#define CHILD_LINE_MAX  LOG_LINE_MAX /* Longer lines are cut, in what is kept and passed on. */
#define CHILD_TAIL      6            /* Lines kept. */
#define CHILD_EARLY_MAX 65536
#define CHILD_HOST_MAX  128
#define CHILD_WORD      3 /* The descriptor of what it shares. */

/* Whoever wants a child's lines as they come; without newline. What is no line of its log counts as
 * LOG_INFO. */
typedef void child_line_fn(void *context, const char *line, enum log_level level);

/* A line that comes in pieces. */
struct child_line {
    char text[CHILD_LINE_MAX];
    size_t bytes;
};

struct child {
    char name[32];             /* "ps/0", "worker/1" */
    char host[CHILD_HOST_MAX]; /* Of a carried one; else "". */
    pid_t pid;                 /* 0: never started. */
    bool running;
    int wait_status;       /* From waitpid, once it is not running. */
    double started, ended; /* Monotonic seconds. */
    bool told;             /* We sent it a signal: its end is our doing. */
    bool carried;          /* To another host; */
    bool up;             /* and has come there. One that is not carried is up once it is started. */
    bool cut;            /* Nobody told its end: the connection broke, or could not be made. */
    int end_code;        /* What was told of its end; -1: nothing. */
    uint32_t restarts;   /* Times it was started again. */
    uint32_t early_ends; /* In a row; see restart.h. */
    double restart_at;   /* It will be started again then; INFINITY: it will not. */
    double cut_since;    /* Since then no start got through; INFINITY: it is not so. */

    int leash;                          /* Write end of its standard input, or -1. */
    int output;                         /* Read end of its standard error, or -1. */
    int voice;                          /* Read end of a carried one's standard output, or -1. */
    struct child_line line, voice_line; /* Under way. */
    char tail[CHILD_TAIL][CHILD_LINE_MAX];
    size_t tail_count;          /* Lines ever; the newest is tail[(tail_count - 1) % CHILD_TAIL]. */
    char error[CHILD_LINE_MAX]; /* What its last line that reports an error says, or "". */

    int log;       /* -1: not open. */
    int log_error; /* errno: it could not be written, and was given up. */
    char *early;   /* [early_bytes] held back for the log, owned. */
    size_t early_bytes;
};

/* Never started. */
void child_init(struct child *child);

/* What to run. */
struct child_program {
    const char *path;
    char *const *arguments, *const *environment;
    int share;         /* A file that it is given as CHILD_WORD, borrowed; 0: none. */
    bool prints;       /* Its standard output is ours. */
    const char *host;  /* Of a carried one: where to; NULL: here. */
    bool carried;      /* The path is of what carries it elsewhere, looked for in PATH. */
    const char *input; /* Of a carried one: what stands before the greeting; NULL: nothing. */
};

/* A child that has ended may be started again: then it keeps its log, or what is held back for it,
 * and restarts counts one more. */
enum status child_start(struct child *child, const char *name, const struct child_program *program,
                        double now, struct error *error);

/* Open "directory/ps-0.log" for appending (disk_open_log) and write what was held back. Failing is
 * no reason to end a job: the log is then left out. A line for people in *remark, "" for none. */
void child_open_log(struct child *child, const char *directory, struct error *remark);

/* Take in what the pipe holds now, calling each (may be NULL) with every line. */
void child_read(struct child *child, child_line_fn *each, void *context);
/* The same of what a carried one prints, but for the lines of site.h, which are taken in. */
void child_read_voice(struct child *child, child_line_fn *each, void *context);

/* Notice its end, if it has come; does not wait. When somebody else has collected it (the process
 * that we are was made to ignore SIGCHLD, or its debugger did) how it ended is not known: it then
 * counts as one that lost the cluster. */
void child_reap(struct child *child, double now);

/* Whether its log has been given up since this was last asked, and why: "the log of ps/0 ends here:
 * No space left on device". */
bool child_lost_log(struct child *child, char *text, size_t bytes);

/* How a carried one ended, once it has been read to the end: from what was told of it. */
void child_conclude(struct child *child);

/* child_ask, and its end is then our doing. */
void child_signal(struct child *child, int signal);
/* SIGINT and SIGTERM are asked for and may be refused; SIGKILL is not. A carried one that does not
 * take it in time has to be given up (child_abandon). */
void child_ask(struct child *child, int signal);
/* Give up the connection to a carried one. It ends for want of its launcher (parent.h). */
void child_abandon(struct child *child);

/* Close what is open. The process must have ended, or be somebody else's worry. */
void child_free(struct child *child);

#endif
