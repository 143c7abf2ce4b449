/* remote_commands.c - runs them with fork, exec and poll. */

#include "deploy/hosts/remote_commands.h"

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
#define PATIENCE_MS 200 /* Between checks for ended processes. */

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

static void start(struct remote_command *remote_command, double seconds)
{
    int output[2] = {-1, -1}, errors[2] = {-1, -1};
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    remote_command->exit_code = -1;
    remote_command->deadline = clock_now_seconds() + seconds;
    if (nothing >= 0 && pipe2(output, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0)
        remote_command->pid = run(&remote_command->command, nothing, output[1], errors[1]);
    else
        remote_command->pid = -1;
    close_file(&nothing);
    close_file(&output[1]);
    close_file(&errors[1]);
    remote_command->files[OUTPUT] = output[0];
    remote_command->files[ERRORS] = errors[0];
    for (int i = 0; i < 2; i++)
        if (remote_command->files[i] >= 0)
            fcntl(remote_command->files[i], F_SETFL, O_NONBLOCK);
    if (remote_command->pid < 0)
        snprintf(remote_command->said, sizeof remote_command->said, "cannot start a process: %s",
                 strerror(errno));
}

/* --- listening ----------------------------------------------------------------------------- */

static void keep_output(struct remote_command *remote_command, const char *bytes, size_t count)
{
    if (remote_command->first_at == 0)
        remote_command->first_at = wall_seconds();
    if (remote_command->output == NULL)
        remote_command->output = calloc(1, REMOTE_COMMAND_OUTPUT_MAX + 1);
    if (remote_command->output == NULL ||
        count > REMOTE_COMMAND_OUTPUT_MAX - remote_command->output_bytes)
        return;
    memcpy(remote_command->output + remote_command->output_bytes, bytes, count);
    remote_command->output_bytes += count;
}

/* The last line that is not blank; control characters never reach a terminal from here. */
static void keep_line(char said[REMOTE_COMMAND_LINE_MAX], char line[REMOTE_COMMAND_LINE_MAX],
                      size_t *line_bytes, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n') {
            line[*line_bytes] = '\0';
            if (line[strspn(line, " ")] != '\0')
                memcpy(said, line, *line_bytes + 1);
            *line_bytes = 0;
        } else if (c != '\r' && *line_bytes < REMOTE_COMMAND_LINE_MAX - 1)
            line[(*line_bytes)++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
}

static void listen_to(struct remote_command *remote_command, int which)
{
    char bytes[4096];
    ssize_t count;
    while (remote_command->files[which] >= 0 &&
           (count = read(remote_command->files[which], bytes, sizeof bytes)) != -1)
        if (count == 0)
            close_file(&remote_command->files[which]);
        else if (which == OUTPUT)
            keep_output(remote_command, bytes, (size_t)count);
        else
            keep_line(remote_command->said, remote_command->line, &remote_command->line_bytes,
                      bytes, (size_t)count);
    if (remote_command->files[which] >= 0 && errno != EAGAIN && errno != EINTR)
        close_file(&remote_command->files[which]);
}

/* --- ending -------------------------------------------------------------------------------- */

static int exit_code_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

static void finish(struct remote_command *remote_command)
{
    for (int i = 0; i < 2; i++) {
        listen_to(remote_command, i);
        close_file(&remote_command->files[i]);
    }
    keep_line(remote_command->said, remote_command->line, &remote_command->line_bytes, "\n", 1);
    remote_command->pid = -1;
}

/* Whether it has ended. */
/* A stop that the caller holds back is not kept waiting. */
static bool is_stopping(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

static bool look(struct remote_command *remote_command)
{
    int wait_status;
    if (remote_command->pid < 0) {
        finish(remote_command);
        return true;
    }
    for (int i = 0; i < 2; i++)
        listen_to(remote_command, i);
    if (!remote_command->late &&
        (clock_now_seconds() > remote_command->deadline || is_stopping())) {
        remote_command->late = true;
        kill(remote_command->pid, SIGKILL);
    }
    pid_t pid = waitpid(remote_command->pid, &wait_status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return false;
    remote_command->exit_code = pid > 0 ? exit_code_of(wait_status) : -1;
    finish(remote_command);
    return true;
}

/* Until there is output, a closed pipe, or the next check. */
static void wait_for_news(struct remote_command *const *running, size_t count)
{
    struct pollfd polls[2 * AT_ONCE_MAX];
    nfds_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
            if (running[i]->files[k] >= 0)
                polls[used++] = (struct pollfd){.fd = running[i]->files[k], .events = POLLIN};
    poll(polls, used, used == 0 ? 10 : PATIENCE_MS);
}

void remote_commands_run(struct remote_command *remote_commands, size_t count, uint32_t at_once,
                         double seconds)
{
    struct remote_command *running[AT_ONCE_MAX];
    size_t used = 0, next = 0;
    size_t most = at_once < AT_ONCE_MAX ? at_once : AT_ONCE_MAX;
    while (used > 0 || next < count) {
        while (used < most && next < count) {
            start(&remote_commands[next], seconds);
            running[used++] = &remote_commands[next++];
        }
        wait_for_news(running, used);
        for (size_t i = 0; i < used;)
            if (look(running[i]))
                running[i] = running[--used];
            else
                i++;
    }
}

void remote_command_free(struct remote_command *remote_command)
{
    arguments_free(&remote_command->command);
    free(remote_command->output);
    *remote_command = (struct remote_command){0};
}

/* --- a pipe -------------------------------------------------------------------------------- */

/* Both ends, which have `seconds`; whether both ended with 0. */
static bool await_both(pid_t pids[2], int errors, double seconds, char *said)
{
    char line[REMOTE_COMMAND_LINE_MAX], bytes[4096];
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
        snprintf(said, REMOTE_COMMAND_LINE_MAX, "it took longer than %.0f s", seconds);
    return fine && !killed;
}

bool remote_command_pipe(const struct arguments *source, const struct arguments *sink,
                         double seconds, char *said)
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
