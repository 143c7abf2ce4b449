/* errands.c - fork, exec and poll. */

#include "deploy/hosts/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#define OUTPUT      0
#define ERRORS      1
#define AT_ONCE_MAX 64
#define PATIENCE_MS 200 /* Between looks at who has ended. */

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* --- starting ------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void become(char *const *words, int input, int output, int errors,
                                             pid_t parent)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

static pid_t run(const struct arguments *command, int input, int output, int errors)
{
    char *const *words = arguments_list(command);
    pid_t parent = getpid();
    pid_t pid = words != NULL ? fork() : -1;
    if (pid == 0)
        become(words, input, output, errors, parent);
    return pid;
}

static void start(struct errand *errand, double seconds)
{
    int output[2] = {-1, -1}, errors[2] = {-1, -1};
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    errand->exit_code = -1;
    errand->deadline = clock_now_seconds() + seconds;
    if (nothing >= 0 && pipe2(output, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0)
        errand->pid = run(&errand->command, nothing, output[1], errors[1]);
    else
        errand->pid = -1;
    close_file(&nothing);
    close_file(&output[1]);
    close_file(&errors[1]);
    errand->files[OUTPUT] = output[0];
    errand->files[ERRORS] = errors[0];
    for (int i = 0; i < 2; i++)
        if (errand->files[i] >= 0)
            fcntl(errand->files[i], F_SETFL, O_NONBLOCK);
    if (errand->pid < 0)
        snprintf(errand->said, sizeof errand->said, "cannot start a process: %s", strerror(errno));
}

/* --- listening ----------------------------------------------------------------------------- */

static void keep_output(struct errand *errand, const char *bytes, size_t count)
{
    if (errand->first_at == 0)
        errand->first_at = wall_seconds();
    if (errand->output == NULL)
        errand->output = calloc(1, ERRAND_OUTPUT_MAX + 1);
    if (errand->output == NULL || count > ERRAND_OUTPUT_MAX - errand->output_bytes)
        return;
    memcpy(errand->output + errand->output_bytes, bytes, count);
    errand->output_bytes += count;
}

/* The last line that is not blank; control characters never reach a terminal from here. */
static void keep_line(char said[ERRAND_LINE_MAX], char line[ERRAND_LINE_MAX], size_t *line_bytes,
                      const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n') {
            line[*line_bytes] = '\0';
            if (line[strspn(line, " ")] != '\0')
                memcpy(said, line, *line_bytes + 1);
            *line_bytes = 0;
        } else if (c != '\r' && *line_bytes < ERRAND_LINE_MAX - 1)
            line[(*line_bytes)++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
}

static void listen_to(struct errand *errand, int which)
{
    char bytes[4096];
    ssize_t count;
    while (errand->files[which] >= 0 &&
           (count = read(errand->files[which], bytes, sizeof bytes)) != -1)
        if (count == 0)
            close_file(&errand->files[which]);
        else if (which == OUTPUT)
            keep_output(errand, bytes, (size_t)count);
        else
            keep_line(errand->said, errand->line, &errand->line_bytes, bytes, (size_t)count);
    if (errand->files[which] >= 0 && errno != EAGAIN && errno != EINTR)
        close_file(&errand->files[which]);
}

/* --- ending -------------------------------------------------------------------------------- */

static int exit_code_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

static void finish(struct errand *errand)
{
    for (int i = 0; i < 2; i++) {
        listen_to(errand, i);
        close_file(&errand->files[i]);
    }
    keep_line(errand->said, errand->line, &errand->line_bytes, "\n", 1);
    errand->pid = -1;
}

/* Whether it is over. */
/* A stop that the caller holds back is not kept waiting. */
static bool is_stopping(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

static bool look(struct errand *errand)
{
    int wait_status;
    if (errand->pid < 0) {
        finish(errand);
        return true;
    }
    for (int i = 0; i < 2; i++)
        listen_to(errand, i);
    if (!errand->late && (clock_now_seconds() > errand->deadline || is_stopping())) {
        errand->late = true;
        kill(errand->pid, SIGKILL);
    }
    pid_t pid = waitpid(errand->pid, &wait_status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return false;
    errand->exit_code = pid > 0 ? exit_code_of(wait_status) : -1;
    finish(errand);
    return true;
}

/* Until one of them says something, closes, or it is time to look again. */
static void wait_for_news(struct errand *const *running, size_t count)
{
    struct pollfd polls[2 * AT_ONCE_MAX];
    nfds_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
            if (running[i]->files[k] >= 0)
                polls[used++] = (struct pollfd){.fd = running[i]->files[k], .events = POLLIN};
    poll(polls, used, used == 0 ? 10 : PATIENCE_MS);
}

void errands_run(struct errand *errands, size_t count, uint32_t at_once, double seconds)
{
    struct errand *running[AT_ONCE_MAX];
    size_t used = 0, next = 0;
    size_t most = at_once < AT_ONCE_MAX ? at_once : AT_ONCE_MAX;
    while (used > 0 || next < count) {
        while (used < most && next < count) {
            start(&errands[next], seconds);
            running[used++] = &errands[next++];
        }
        wait_for_news(running, used);
        for (size_t i = 0; i < used;)
            if (look(running[i]))
                running[i] = running[--used];
            else
                i++;
    }
}

void errand_free(struct errand *errand)
{
    arguments_free(&errand->command);
    free(errand->output);
    *errand = (struct errand){0};
}

/* --- a pipe -------------------------------------------------------------------------------- */

/* Both ends, which have `seconds`; whether both ended with 0. */
static bool await_both(pid_t pids[2], int errors, double seconds, char *said)
{
    char line[ERRAND_LINE_MAX], bytes[4096];
    size_t line_bytes = 0;
    double deadline = clock_now_seconds() + seconds;
    bool fine = true, killed = false;
    struct pollfd news = {.fd = errors, .events = POLLIN};
    while (pids[0] > 0 || pids[1] > 0) {
        ssize_t heard = -1;
        poll(&news, 1, PATIENCE_MS / 4);
        while ((heard = read(errors, bytes, sizeof bytes)) > 0)
            keep_line(said, line, &line_bytes, bytes, (size_t)heard);
        for (int i = 0; i < 2; i++) {
            int wait_status = 0;
            if (pids[i] <= 0 || waitpid(pids[i], &wait_status, WNOHANG) == 0)
                continue;
            pids[i] = 0;
            fine = fine && exit_code_of(wait_status) == 0;
        }
        if (!killed && clock_now_seconds() > deadline) {
            killed = true;
            for (int i = 0; i < 2; i++)
                if (pids[i] > 0)
                    kill(pids[i], SIGKILL);
        }
    }
    ssize_t heard;
    while ((heard = read(errors, bytes, sizeof bytes)) > 0)
        keep_line(said, line, &line_bytes, bytes, (size_t)heard);
    keep_line(said, line, &line_bytes, "\n", 1);
    if (killed)
        snprintf(said, ERRAND_LINE_MAX, "it took longer than %.0f s", seconds);
    return fine && !killed;
}

bool errand_pipe(const struct arguments *source, const struct arguments *sink, double seconds,
                 char *said)
{
    int between[2] = {-1, -1}, errors[2] = {-1, -1};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pids[2] = {-1, -1};
    said[0] = '\0';
    if (nothing >= 0 && pipe2(between, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0) {
        fcntl(errors[0], F_SETFL, O_NONBLOCK);
        pids[0] = run(source, nothing, between[1], errors[1]);
        pids[1] = run(sink, between[0], nothing, errors[1]);
    }
    bool started = pids[0] > 0 && pids[1] > 0;
    close_file(&nothing);
    close_file(&between[0]);
    close_file(&between[1]);
    close_file(&errors[1]);
    bool fine = errors[0] >= 0 && await_both(pids, errors[0], seconds, said);
    close_file(&errors[0]);
    return started && fine;
}
