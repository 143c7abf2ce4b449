/* children.c - fork, exec and pipes; lines are split, kept and logged as they come. */

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
#include "deploy/launcher/site.h"

/* Signals that the launcher blocks, or ignores itself. Those ignored at its start (nohup) stay
 * ignored. */
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
    int input[2], output[2], voice[2];
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
        close_file(&pipes->voice[i]);
    }
}

/* All of it at once, or errno: without a reader yet the pipe has to hold it. */
static bool fill(int file, const char *text)
{
    size_t bytes = strlen(text);
    int room = fcntl(file, F_GETPIPE_SZ);
    if (bytes + sizeof PARENT_GREETING > (size_t)(room > 0 ? room : 4096) &&
        fcntl(file, F_SETPIPE_SZ, (int)(bytes + sizeof PARENT_GREETING)) < 0)
        return false;
    return write(file, text, bytes) == (ssize_t)bytes;
}

/* False with errno. */
static bool pipes_open(struct pipes *pipes, const struct child_program *program)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(pipes->input, O_CLOEXEC) == 0 && pipe2(pipes->output, O_CLOEXEC) == 0 &&
        (!program->carried || pipe2(pipes->voice, O_CLOEXEC) == 0) &&
        (program->input == NULL || fill(pipes->input[1], program->input)) &&
        fill(pipes->input[1], PARENT_GREETING))
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
    /* ssh notices the end by its standard input, and srun kills for less. */
    if (!program->carried)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launcher) /* It died before the line above. */
        _exit(EXIT_CLUSTER_LOST);
    setpgid(0, 0);
    /* The launcher prints most of it itself. */
    int voice = program->carried ? pipes->voice[1] : open("/dev/null", O_WRONLY | O_CLOEXEC);
    inherit(pipes->input[0], STDIN_FILENO); /* The descriptor of the pipe is above these. */
    if (!program->prints)
        inherit(voice >= 0 ? voice : pipes->output[1], STDOUT_FILENO);
    inherit(pipes->output[1], STDERR_FILENO);
    /* Last: it may be another's place. */
    if (program->share > 0)
        inherit(program->share, CHILD_WORD);
    child_reset_signals();
    if (program->carried)
        execvpe(program->path, program->arguments, program->environment);
    else
        execve(program->path, program->arguments, program->environment);
    child_say_exec_failed(program->path);
    _exit(EXIT_CANNOT_OPEN);
}

void child_init(struct child *child)
{
    *child = (struct child){.leash = -1,
                            .output = -1,
                            .voice = -1,
                            .log = -1,
                            .end_code = -1,
                            .restart_at = INFINITY,
                            .cut_since = INFINITY};
}

/* The state of a child before its first start, or before a restart. */
static void child_reset(struct child *child, const char *name, const char *host)
{
    struct child before = *child;
    close_file(&before.leash);
    close_file(&before.output);
    close_file(&before.voice);
    child_init(child);
    if (before.pid != 0) {
        child->restarts = before.restarts + 1;
        child->cut_since = before.cut_since;
        child->early_ends = before.early_ends;
        child->log = before.log;
        child->early = before.early;
        child->early_bytes = before.early_bytes;
    }
    snprintf(child->name, sizeof child->name, "%s", name);
    snprintf(child->host, sizeof child->host, "%s", host != NULL ? host : "");
}

/* The launcher's side. */
static void child_take_pipes(struct child *child, struct pipes *pipes)
{
    close_file(&pipes->input[0]);
    close_file(&pipes->output[1]);
    close_file(&pipes->voice[1]);
    child->leash = pipes->input[1];
    child->output = pipes->output[0];
    child->voice = pipes->voice[0];
    fcntl(child->output, F_SETFL, O_NONBLOCK);
    if (child->voice >= 0) {
        fcntl(child->voice, F_SETFL, O_NONBLOCK);
        fcntl(child->leash, F_SETFL, O_NONBLOCK); /* A stuck child does not block us. */
    }
}

enum status child_start(struct child *child, const char *name, const struct child_program *program,
                        double now, struct error *error)
{
    struct pipes pipes;
    child_reset(child, name, program->host);
    if (!pipes_open(&pipes, program))
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

    setpgid(pid, pid); /* In parent and child: a signal must not find it in our group. */
    child_take_pipes(child, &pipes);
    child->pid = pid;
    child->running = true;
    child->carried = program->carried;
    child->up = !program->carried;
    child->started = now;
    return STATUS_OK;
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

/* The error in a line of another format than the log's, from a sanitizer; or NULL. */
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
    const char *text = child->line.text;
    if (text[0] == '\0')
        return;
    struct log_line line;
    bool of_log = log_line_read(&line, text);
    const char *error = !of_log ? error_in_line(text) : line.level == LOG_ERROR ? line.text : NULL;
    if (error != NULL)
        snprintf(child->error, sizeof child->error, "%s", error);
    memcpy(child->tail[child->tail_count++ % CHILD_TAIL], text, sizeof child->line.text);
    if (each != NULL)
        each(context, text, line.level);
}

/* Greetings of a login shell are dropped: before it is up their meaning is unknown. */
static void child_end_voice_line(struct child *child, child_line_fn *each, void *context)
{
    const char *text = child->voice_line.text;
    if (strcmp(text, SITE_UP) == 0) {
        child->up = true;
        child->cut_since = INFINITY;
    } else if (strncmp(text, SITE_END, strlen(SITE_END)) == 0)
        child->end_code = atoi(text + strlen(SITE_END));
    else if (child->up && each != NULL)
        each(context, text, LOG_INFO);
}

typedef void end_line_fn(struct child *child, child_line_fn *each, void *context);

static void end_line(struct child *child, struct child_line *line, end_line_fn *end,
                     child_line_fn *each, void *context)
{
    line->text[line->bytes] = '\0';
    line->bytes = 0;
    end(child, each, context);
}

/* Control characters never reach a terminal from here. */
static void child_take(struct child *child, const char *bytes, size_t count,
                       struct child_line *line, end_line_fn *end, child_line_fn *each,
                       void *context)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            end_line(child, line, end, each, context);
        else if (line->bytes < sizeof line->text - 1)
            line->text[line->bytes++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
}

/* The available bytes, at most `size`; 0 when there are none, or at the end: then the file is
 * closed, and *ended. */
static size_t read_some(int *file, char *bytes, size_t size, bool *ended)
{
    ssize_t count;
    do
        count = read(*file, bytes, size);
    while (count < 0 && errno == EINTR);
    *ended = count == 0 || (count < 0 && errno != EAGAIN);
    if (*ended)
        close_file(file);
    return count > 0 ? (size_t)count : 0;
}

void child_read(struct child *child, child_line_fn *each, void *context)
{
    char bytes[4096];
    bool ended = false;
    /* A child that floods its pipe must not keep us from the others. */
    for (int turns = 0; child->output >= 0 && turns < 64; turns++) {
        size_t count = read_some(&child->output, bytes, sizeof bytes, &ended);
        if (ended)
            end_line(child, &child->line, child_end_line, each, context);
        if (count == 0)
            return;
        if (child->log >= 0)
            child_log_write(child, bytes, count);
        else
            child_hold_back(child, bytes, count);
        child_take(child, bytes, count, &child->line, child_end_line, each, context);
    }
}

void child_read_voice(struct child *child, child_line_fn *each, void *context)
{
    char bytes[4096];
    bool ended = false;
    for (int turns = 0; child->voice >= 0 && turns < 64; turns++) {
        size_t count = read_some(&child->voice, bytes, sizeof bytes, &ended);
        if (ended && child->voice_line.bytes > 0)
            end_line(child, &child->voice_line, child_end_voice_line, each, context);
        if (count == 0)
            return;
        child_take(child, bytes, count, &child->voice_line, child_end_voice_line, each, context);
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

/* 126 and 127 are from a shell: the program was missing, or could not be run. */
void child_conclude(struct child *child)
{
    int code = child->end_code;
    if (!child->carried || child->running)
        return;
    if (code == 126 || code == 127)
        child->up = false;
    child->cut = !child->signalled && (code < 0 || !child->up);
    if (child->cut)
        child->cut_since = fmin(child->cut_since, child->ended);
    if (code < 0 && child->up && !child->signalled)
        child->wait_status = W_EXITCODE(EXIT_CLUSTER_LOST, 0);
    else if (code > 128 && code <= 128 + 64 && code != EXIT_INTERRUPTED && code != EXIT_TERMINATED)
        child->wait_status = code - 128;
    else if (code >= 0)
        child->wait_status = W_EXITCODE(code, 0);
}

/* One that has not come to its host yet has nothing to lose. */
static void child_pass(struct child *child, int signal)
{
    char word = signal == SIGINT    ? PARENT_INTERRUPTS
                : signal == SIGKILL ? PARENT_KILLS
                                    : PARENT_TERMINATES;
    if (!child->carried || !child->up)
        kill(child->pid, signal);
    else if (child->leash >= 0 && write(child->leash, &word, 1) != 1)
        child_abandon(child);
}

void child_ask(struct child *child, int signal)
{
    if (child->running)
        child_pass(child, signal);
}

void child_signal(struct child *child, int signal)
{
    if (!child->running)
        return;
    child->signalled = true;
    child_pass(child, signal);
}

void child_abandon(struct child *child)
{
    if (!child->running || !child->carried)
        return;
    close_file(&child->leash);
    kill(child->pid, SIGTERM);
}

void child_free(struct child *child)
{
    close_file(&child->leash);
    close_file(&child->output);
    close_file(&child->voice);
    close_file(&child->log);
    free(child->early);
    child_init(child);
}
