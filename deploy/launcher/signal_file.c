/* signal_file.c - a mask, and a signalfd over the same signals. */

#include "deploy/launcher/signal_file.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/process/process.h"

enum status signal_file_open(struct signal_file *signals, struct error *error)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGCHLD);
    process_add_heeded(&mask);
    sigprocmask(SIG_BLOCK, &mask, &signals->before);
    signals->file = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->file >= 0)
        return STATUS_OK;
    int reason = errno;
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
    return error_set(error, STATUS_IO, "cannot watch signals: %s", strerror(reason));
}

int signal_file_next(const struct signal_file *signals)
{
    struct signalfd_siginfo info;
    while (read(signals->file, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            return (int)info.ssi_signo;
    return 0;
}

void signal_file_close(struct signal_file *signals)
{
    if (signals->file < 0)
        return;
    close(signals->file);
    signals->file = -1;
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}
