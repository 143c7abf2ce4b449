/* narrator.c - a thread that follows the run's own events.jsonl like any reader, so that
 * training never waits for a terminal. */

#include "common/progress/narrator.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/process/outlet.h"
#include "common/progress/progress.h"
#include "common/progress/record.h"
#include "common/progress/summary.h"

#define TICK_MS          250
#define RETRY_MS         50 /* Between tries, while the reader does not read. */
#define FAREWELL_SECONDS 2  /* For the reader to take the rest. */
#define EXTRA_SECONDS    1  /* Beyond that, for the thread to end. */
#define BUFFER_BYTES     65536
#define NULL_DEVICE      makedev(1, 3)

/* What is shared: the two atomics, written by the thread that stops the narrator; and the rest, which is
 * the thread's from its start to its end. */
struct narrator {
    pthread_t thread;
    atomic_int exit_code;           /* -1: it goes on. */
    atomic_uint_least64_t until_us; /* When patience with the reader ends. */
    int ending;                     /* An eventfd, readable once it does not go on. */
    char run[DISK_PATH_MAX];
    struct progress progress;
    struct outlet outlet;
    bool deaf;    /* The reader is gone. */
    bool summary; /* The end is printed, too. */
    FILE *out;    /* Into the outlet. */
};

/* --- writing ------------------------------------------------------------------------------- */

static bool is_ending(struct narrator *n)
{
    return atomic_load(&n->exit_code) >= 0;
}

static void put(struct narrator *n, const char *text, size_t bytes)
{
    while (!n->deaf) {
        enum outlet_result result = outlet_put(&n->outlet, text, bytes);
        if (result == OUTLET_TAKEN)
            return;
        n->deaf =
            result == OUTLET_GONE || (is_ending(n) && clock_now_us() > atomic_load(&n->until_us));
        if (!n->deaf)
            usleep(RETRY_MS * 1000);
    }
}

/* Bytes of the lines at the beginning of a text that are written at once. */
static size_t piece_length(const char *text, size_t bytes)
{
    if (bytes <= OUTLET_LINE_MAX)
        return bytes;
    const char *newline = memrchr(text, '\n', OUTLET_LINE_MAX);
    return newline != NULL ? (size_t)(newline - text) + 1 : OUTLET_LINE_MAX;
}

static ssize_t write_out(void *context, const char *text, size_t bytes)
{
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = piece_length(text + done, bytes - done);
        put(context, text + done, piece);
    }
    return (ssize_t)bytes;
}

/* --- announcing ------------------------------------------------------------------------------- */

static void tell_end(struct narrator *n, int exit_code)
{
    struct record record;
    bool goes_on = exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED ||
                   exit_code == EXIT_CLUSTER_LOST;
    /* A run that was stopped before it began is as it was. */
    if (!n->summary || (exit_code != EXIT_DONE && !(goes_on && n->progress.state.started)))
        return;
    bool read = record_read(&record, n->run, NULL) == STATUS_OK;
    if (read && exit_code != EXIT_CLUSTER_LOST)
        summary_print(n->out, &record, 0);
    if (read && goes_on)
        fprintf(n->out, "the same commands with --out %s go on from %s\n", n->run,
                exit_code == EXIT_CLUSTER_LOST ? "the newest checkpoint" : "there");
    record_free(&record);
}

static void *tell(void *argument)
{
    struct narrator *n = argument;
    struct pollfd ending = {.fd = n->ending, .events = POLLIN};
    while (!is_ending(n)) {
        progress_tick(&n->progress, clock_now_seconds());
        poll(&ending, 1, TICK_MS);
    }
    progress_close(&n->progress);
    tell_end(n, atomic_load(&n->exit_code));
    fclose(n->out);
    outlet_close(&n->outlet);
    return NULL;
}

/* --- who listens --------------------------------------------------------------------------- */

static bool has_no_reader(void)
{
    struct stat about;
    return fstat(STDOUT_FILENO, &about) != 0 ||
           (S_ISCHR(about.st_mode) && about.st_rdev == NULL_DEVICE);
}

static bool log_goes_there_too(void)
{
    struct stat out, log;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &log) == 0 &&
           out.st_dev == log.st_dev && out.st_ino == log.st_ino;
}

static void release(struct narrator *n)
{
    if (n->ending >= 0)
        close(n->ending);
    free(n);
}

/* What is there now is of earlier sessions: noted before more is added. */
static void open_progress(struct narrator *n, double log_every)
{
    /* Lines of the log may come in between: nothing is drawn over. */
    struct progress_style style = progress_style_of(stdout, false, true, log_every);
    style.leave_waiting = log_goes_there_too();
    progress_open(&n->progress, n->out, style, n->run, clock_now_seconds());
}

static enum status start(struct narrator *n, double log_every)
{
    static const cookie_io_functions_t operations = {.write = write_out};
    n->ending = eventfd(0, EFD_CLOEXEC);
    n->out = fopencookie(n, "w", operations);
    if (n->ending < 0 || n->out == NULL || setvbuf(n->out, NULL, _IOFBF, BUFFER_BYTES) != 0)
        return STATUS_IO;
    open_progress(n, log_every);
    if (pthread_create(&n->thread, NULL, tell, n) == 0)
        return STATUS_OK;
    progress_close(&n->progress);
    return STATUS_MEMORY;
}

void narrator_start(struct narrator **narrator, const char *run, double log_every,
                    enum narrator_tells tells)
{
    struct narrator *n = tells == NARRATOR_NOTHING || has_no_reader() ? NULL : calloc(1, sizeof *n);
    *narrator = n;
    if (n == NULL)
        return;
    atomic_init(&n->exit_code, -1);
    n->summary = tells == NARRATOR_ALL;
    snprintf(n->run, sizeof n->run, "%s", run);
    outlet_open(&n->outlet, STDOUT_FILENO);
    if (start(n, log_every) == STATUS_OK)
        return;
    if (n->out != NULL)
        fclose(n->out);
    outlet_close(&n->outlet);
    release(n);
    *narrator = NULL;
}

void narrator_stop(struct narrator **narrator, int exit_code)
{
    struct narrator *n = *narrator;
    struct timespec end;
    if (n == NULL)
        return;
    *narrator = NULL;
    atomic_store(&n->until_us, clock_now_us() + FAREWELL_SECONDS * 1000000u);
    atomic_store(&n->exit_code, exit_code);
    eventfd_write(n->ending, 1);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += FAREWELL_SECONDS + EXTRA_SECONDS;
    /* One that hangs in a file system that does not answer keeps what is its own. */
    if (pthread_timedjoin_np(n->thread, NULL, &end) == 0)
        release(n);
}
