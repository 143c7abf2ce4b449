/* process.c - opens the standard files that are closed, and sets signals back to what programs
 * expect. */

#include "common/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "common/base/status.h"

#define KEPT_BLOCK_BYTES (32 << 20)
#define KEPT_BYTES       (256 << 20)
#define SPARE_BYTES      (16 << 20) /* Of addresses; a heap that is emptied would go without. */

/* Something that can be neither read nor written takes the place of what is closed: a directory,
 * which needs no /dev. The lowest free number is the one that is missing. */
static void open_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF && open("/", O_RDONLY | O_DIRECTORY) != file)
            return;
}

static bool may_stay_ignored(int number)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* Before anything is begun that would have to be ended. */
static void end_hung_up(int number)
{
    (void)number;
    _exit(EXIT_TERMINATED);
}

void process_add_heeded(sigset_t *set)
{
    static const int numbers[] = {SIGINT, SIGHUP};
    struct sigaction inherited;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
            sigaddset(set, numbers[i]);
}

static void end_by_signal(int number)
{
    _exit(128 + number);
}

/* To the first process of a container, or of whatever has processes of its own, the kernel passes no signal
 * that it has not asked for: SIGTERM would be lost on a process that resolves a name before it takes signals. */
static void end_as_first(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action;
    if (getpid() != 1)
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            signal(numbers[i], end_by_signal);
}

static void reset_signals(void)
{
    struct sigaction action;
    for (int number = 1; number < SIGRTMAX; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN &&
            !may_stay_ignored(number))
            signal(number, SIG_DFL);
    if (sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        signal(SIGHUP, end_hung_up);
    end_as_first();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void process_begin(void)
{
    open_standard_files();
    reset_signals();
}

void process_keep_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_TOP_PAD, SPARE_BYTES);
}
