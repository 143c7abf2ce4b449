/* children.c - fork, exec and three pipes; lines are cut, kept and logged as they come, and what a
 * child's end means is read from its exit code and its last lines. */

#include "deploy/launcher/children.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/process/parent.h"

/* What the launcher blocks, or ignores for itself. What was ignored when it began (nohup) stays so.
 */
static void child_reset_signals(void)
{
    static const int signals[] = {SIGCHLD, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_say_exec_failed(const char *path)
{
    char line[CHILD_LINE_MAX];
    int bytes = snprintf(line, sizeof line, "cannot run %s: %s\n", path, strerror(errno));
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)bytes);
    (void)ignored;
}

/* The ends of a child's pipes; -1: none. */
struct pipes {
    int input[2], output[2], word[2];
};

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

static void pipes_close(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_file(&pipes->input[i]);
        close_file(&pipes->output[i]);
        close_file(&pipes->word[i]);
    }
}

/* False with errno. */
static bool pipes_open(struct pipes *pipes, bool announces)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    size_t bytes = strlen(PARENT_GREETING);
    if (pipe2(pipes->input, O_CLOEXEC) == 0 && pipe2(pipes->output, O_CLOEXEC) == 0 &&
        (!announces || pipe2(pipes->word, O_CLOEXEC) == 0) &&
        write(pipes->input[1], PARENT_GREETING, bytes) == (ssize_t)bytes)
        return true;
    int reason = errno;
    pipes_close(pipes);
    errno = reason;
    return false;
}

/* dup2, but that a file which has the number already is inherited as well. */
static void inherit(int file, int as)
{
    if (file == as)
        fcntl(file, F_SETFD, 0);
    else if (file >= 0)
        dup2(file, as);
}

/* Between fork and exec: nothing here takes memory before exec has failed. */
__attribute__((noreturn)) static void child_become(const struct child_program *program,
                                                   const struct pipes *pipes, pid_t launcher)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launcher) /* It died before the line above. */
        _exit(EXIT_CLUSTER_LOST);
    setpgid(0, 0);
    /* What they would tell on standard output we mostly tell. */
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    inherit(pipes->input[0], STDIN_FILENO); /* Whose own number is beyond these. */
    if (!program->prints)
        inherit(nothing >= 0 ? nothing : pipes->output[1], STDOUT_FILENO);
    inherit(pipes->output[1], STDERR_FILENO);
    inherit(pipes->word[1], CHILD_WORD); /* Last: it may be another's place. */
    child_reset_signals();
    execve(program->path, program->arguments, program->environment);
    child_say_exec_failed(program->path);
    _exit(EXIT_CANNOT_OPEN);
}

void child_init(struct child *child)
{
    *child =
        (struct child){.leash = -1, .output = -1, .word = -1, .log = -1, .restart_at = INFINITY};
}

/* A child as it is before its first start, or, if it has run, before its next. */
static void child_reset(struct child *child, const char *name)
{
    struct child before = *child;
    close_file(&before.leash);
    close_file(&before.output);
    close_file(&before.word);
    child_init(child);
    if (before.pid != 0) {
        child->restarts = before.restarts + 1;
        child->early_ends = before.early_ends;
        child->log = before.log;
        child->early = before.early;
        child->early_bytes = before.early_bytes;
    }
    snprintf(child->name, sizeof child->name, "%s", name);
}

/* The launcher's side. */
static void child_take_pipes(struct child *child, struct pipes *pipes)
{
    close_file(&pipes->input[0]);
    close_file(&pipes->output[1]);
    close_file(&pipes->word[1]);
    child->leash = pipes->input[1];
    child->output = pipes->output[0];
    child->word = pipes->word[0];
    fcntl(child->output, F_SETFL, O_NONBLOCK);
    if (child->word >= 0)
        fcntl(child->word, F_SETFL, O_NONBLOCK);
}

enum status child_start(struct child *child, const char *name, const struct child_program *program,
                        double now, struct error *error)
{
    struct pipes pipes;
    child_reset(child, name);
    if (!pipes_open(&pipes, program->announces))
        return error_set(error, STATUS_IO, "cannot start %s: %s", name, strerror(errno));
    pid_t launcher = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        int reason = errno;
        pipes_close(&pipes);
        return error_set(error, STATUS_IO, "cannot start %s: %s", name, strerror(reason));
    }
    if (pid == 0)
        child_become(program, &pipes, launcher);

    setpgid(pid, pid); /* Whoever comes first; a signal must not find it in our group. */
    child_take_pipes(child, &pipes);
    child->pid = pid;
    child->running = true;
    child->started = now;
    return STATUS_OK;
}

const char *child_announced(struct child *child)
{
    size_t room = sizeof child->announced - 1 - child->announced_bytes;
    ssize_t count = -1;
    if (child->word >= 0 && room > 0)
        count = read(child->word, child->announced + child->announced_bytes, room);
    if (count > 0)
        child->announced_bytes += (size_t)count;
    child->announced[child->announced_bytes] = '\0';
    char *end = strchr(child->announced, '\n');
    if (end != NULL)
        *end = '\0';
    if (end != NULL || count == 0)
        close_file(&child->word);
    return end != NULL ? child->announced : NULL;
}

/* Whole or not at all: a log that cannot be written is given up. */
static void child_log_write(struct child *child, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(child->log, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            child->log_error = written < 0 ? errno : EIO;
            close(child->log);
            child->log = -1;
            return;
        }
        bytes += written;
        count -= (size_t)written;
    }
}

static void child_hold_back(struct child *child, const char *bytes, size_t count)
{
    if (child->early == NULL)
        child->early = malloc(CHILD_EARLY_MAX);
    if (child->early == NULL || count > CHILD_EARLY_MAX - child->early_bytes)
        return;
    memcpy(child->early + child->early_bytes, bytes, count);
    child->early_bytes += count;
}

void child_open_log(struct child *child, const char *directory, struct error *remark)
{
    char path[DISK_PATH_MAX], aside[DISK_PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s.log", directory, child->name);
    remark->text[0] = '\0';
    if (child->pid == 0 || child->log >= 0 || (size_t)length >= sizeof path)
        return;
    char *slash = strrchr(path, '/');
    *slash = '-';
    if (disk_open_log(path, &child->log, aside, remark) == STATUS_OK)
        child_log_write(child, child->early, child->early_bytes);
    free(child->early);
    child->early = NULL;
    child->early_bytes = 0;
}

/* What a line that is none of a log says is wrong, or NULL: a sanitizer's. */
static const char *error_in_line(const char *line)
{
    static const char *const marks[] = {"ERROR: ", "runtime error: "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *mark = strstr(line, marks[i]);
        if (mark != NULL)
            return mark + strlen(marks[i]);
    }
    return NULL;
}

static void child_end_line(struct child *child, child_line_fn *each, void *context)
{
    child->line[child->line_bytes] = '\0';
    child->line_bytes = 0;
    if (child->line[0] == '\0')
        return;
    struct log_line line;
    bool of_log = log_line_read(&line, child->line);
    const char *error = !of_log                   ? error_in_line(child->line)
                        : line.level == LOG_ERROR ? line.text
                                                  : NULL;
    if (error != NULL)
        snprintf(child->error, sizeof child->error, "%s", error);
    memcpy(child->tail[child->tail_count++ % CHILD_TAIL], child->line, sizeof child->line);
    if (each != NULL)
        each(context, child->line, line.level);
}

/* Control characters never reach a terminal from here. */
static void child_take(struct child *child, const char *bytes, size_t count, child_line_fn *each,
                       void *context)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            child_end_line(child, each, context);
        else if (child->line_bytes < sizeof child->line - 1)
            child->line[child->line_bytes++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
}

void child_read(struct child *child, child_line_fn *each, void *context)
{
    char bytes[4096];
    /* A child that floods its pipe must not keep us from the others. */
    for (int turns = 0; child->output >= 0 && turns < 64; turns++) {
        ssize_t count = read(child->output, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        if (count <= 0) {
            close(child->output);
            child->output = -1;
            child_end_line(child, each, context);
            return;
        }
        if (child->log >= 0)
            child_log_write(child, bytes, (size_t)count);
        else
            child_hold_back(child, bytes, (size_t)count);
        child_take(child, bytes, (size_t)count, each, context);
    }
}

void child_reap(struct child *child, double now)
{
    if (!child->running)
        return;
    pid_t pid = waitpid(child->pid, &child->wait_status, WNOHANG);
    if (pid < 0 && errno == ECHILD)
        child->wait_status = W_EXITCODE(EXIT_CLUSTER_LOST, 0);
    else if (pid != child->pid)
        return;
    child->running = false;
    child->ended = now;
    close_file(&child->leash);
}

bool child_lost_log(struct child *child, char *text, size_t bytes)
{
    if (child->log_error == 0)
        return false;
    snprintf(text, bytes, "the log of %s ends here: %s", child->name, strerror(child->log_error));
    child->log_error = 0;
    return true;
}

void child_signal(struct child *child, int signal)
{
    if (!child->running)
        return;
    child->told = true;
    kill(child->pid, signal);
}

int child_exit_code(const struct child *child)
{
    return WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status) : -1;
}

/* `before` stands between how it ended and what is quoted of it. */
static void child_describe(const struct child *child, const char *before, const char *quoted,
                           char *text, size_t bytes)
{
    if (WIFSIGNALED(child->wait_status))
        snprintf(text, bytes, "%s was killed by signal %d (%s)%s%s", child->name,
                 WTERMSIG(child->wait_status), strsignal(WTERMSIG(child->wait_status)), before,
                 quoted);
    else
        snprintf(text, bytes, "%s ended with exit code %d%s%s", child->name, child_exit_code(child),
                 before, quoted);
}

void child_describe_end(const struct child *child, char *text, size_t bytes)
{
    child_describe(child, child->error[0] != '\0' ? ": " : "", child->error, text, bytes);
}

void child_explain(const struct child *child, char *text, size_t bytes)
{
    if (child->error[0] != '\0')
        child_describe_end(child, text, bytes);
    else if (child->tail_count > 0)
        child_describe(child,
                       "; its last line: ", child->tail[(child->tail_count - 1) % CHILD_TAIL], text,
                       bytes);
    else
        child_describe(child, ": ", "it left no message", text, bytes);
}

void child_free(struct child *child)
{
    close_file(&child->leash);
    close_file(&child->output);
    close_file(&child->word);
    close_file(&child->log);
    free(child->early);
    child_init(child);
}
