/* program_child.c - fork, exec, pidfd and waitpid for one child. */

#include "worker/source/program_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/source/program_message.h"

extern char **environ;

#define SHELL_SIGNAL  128 /* A shell exits with this and the signal's number. */
#define OWN_VARIABLES 4
#define VARIABLE_MAX  64

/* The environment with our variables in place of others of their names. Owned by the caller, with the
 * array alone. */
static char **make_environment(char own[OWN_VARIABLES][VARIABLE_MAX])
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **made = calloc(count + OWN_VARIABLES + 1, sizeof *made);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        bool ours = false;
        for (int j = 0; j < OWN_VARIABLES; j++)
            ours = ours || strncmp(environ[i], own[j], strcspn(own[j], "=") + 1) == 0;
        if (!ours)
            made[kept++] = environ[i];
    }
    for (int j = 0; j < OWN_VARIABLES; j++)
        made[kept++] = own[j];
    return made;
}

/* The number of this worker among those of its host, as its starter says it. */
static const char *local_index(void)
{
    static const char *const names[] = {"SYNCOPATE_LOCAL_INDEX", "SLURM_LOCALID",
                                        "OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL && strlen(getenv(names[i])) < 10)
            return getenv(names[i]);
    return NULL;
}

/* In the child, where only what is safe in a signal handler may be called. */
static _Noreturn void become(const char *command, char *const environment[], pid_t parent,
                             int socket, int memory)
{
    static const char shell[] = "/bin/sh", absent[] = "cannot run /bin/sh, which a program needs\n";
    char sh[] = "sh", c[] = "-c", *const words[] = {sh, c, (char *)(uintptr_t)command, NULL};
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    fcntl(socket, F_SETFD, 0);
    if (memory >= 0) {
        fcntl(memory, F_SETFD, 0);
    } else {
        dup2(socket, STDIN_FILENO);
        dup2(socket, STDOUT_FILENO);
        close(socket);
    }
    execve(shell, words, environment);
    _exit(write(STDERR_FILENO, absent, sizeof absent - 1) < 0 ? EXIT_FAILURE : 127);
}

enum status program_child_start(struct program_child *child, const char *command, int memory,
                                unsigned task, struct error *error)
{
    int pair[2];
    char own[OWN_VARIABLES][VARIABLE_MAX], index[16];
    *child = (struct program_child){.pidfd = -1, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(error, STATUS_IO, "no socket for a program: %s", strerror(errno));
    snprintf(index, sizeof index, "%u", task);
    snprintf(own[0], VARIABLE_MAX, "SYNCOPATE_PROGRAM=%d,%d,%d", PROGRAM_VERSION, pair[1], memory);
    snprintf(own[1], VARIABLE_MAX, "SYNCOPATE_TASK_INDEX=%s", index);
    snprintf(own[2], VARIABLE_MAX, "SYNCOPATE_LOCAL_INDEX=%s",
             local_index() != NULL ? local_index() : index);
    /* Programs are as many as workers, and other numbers of threads may give other bits. */
    const char *threads = getenv("OMP_NUM_THREADS");
    snprintf(own[3], VARIABLE_MAX, "OMP_NUM_THREADS=%s", threads != NULL ? threads : "1");
    char **environment = make_environment(own);
    pid_t parent = getpid(), pid = environment != NULL ? fork() : -1;
    if (pid == 0)
        become(command, environment, parent, pair[1], memory);
    int failed = errno;
    free(environment);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return error_set(error, STATUS_IO, "cannot start a program: %s", strerror(failed));
    }
    setpgid(pid, pid);
    *child = (struct program_child){.pid = pid, .pidfd = pidfd_open(pid, 0), .socket = pair[0]};
    if (child->pidfd >= 0)
        return STATUS_OK;
    failed = errno;
    program_child_kill(child);
    return error_set(error, STATUS_IO, "cannot watch a program: %s", strerror(failed));
}

static void forget(struct program_child *child)
{
    if (child->socket >= 0)
        close(child->socket);
    if (child->pidfd >= 0)
        close(child->pidfd);
    *child = (struct program_child){.pidfd = -1, .socket = -1};
}

bool program_child_ended(struct program_child *child, int *code)
{
    int status = 0;
    kill(-child->pid, SIGKILL); /* What it has started, while its number is not given to another. */
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    forget(child);
    *code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (!WIFSIGNALED(status) && *code > SHELL_SIGNAL && *code < SHELL_SIGNAL + NSIG) {
        *code -= SHELL_SIGNAL;
        return true;
    }
    return WIFSIGNALED(status);
}

void program_child_kill(struct program_child *child)
{
    int code;
    if (child->pid == 0)
        return;
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL); /* Before it has its group. */
    program_child_ended(child, &code);
}

bool program_child_ends(const struct program_child *child, double seconds)
{
    struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
    int ready;
    while ((ready = poll(&ended, 1, (int)(1000 * seconds))) < 0 && errno == EINTR) {
    }
    return ready > 0;
}

void program_child_end(struct program_child *child, double seconds)
{
    if (child->pid == 0)
        return;
    close(child->socket);
    child->socket = -1;
    program_child_ends(child, seconds);
    program_child_kill(child);
}
