#include "common/signals.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/clock.h"

/* Which are ours to take. SIGINT also where a shell has it ignored, as for jobs in the background:
 * who sends it all the same means it. */
static void fill(sigset_t *set)
{
    struct sigaction hangup;
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGUSR1);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(set, SIGHUP);
}

void signals_block(void)
{
    sigset_t set;
    fill(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void take(struct signals *signals, int number)
{
    if (number == SIGUSR1) {
        if (signals->leave != NULL)
            signals->leave(signals->context);
        return;
    }
    int code = number == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
    enum stop_wish wish = stop_request_take(&signals->request, number, clock_now_seconds());
    if (wish == STOP_AT_ONCE)
        _exit(code);
    if (wish == STOP_CLEANLY)
        signals->requested(signals->context, code);
}

static void *watch(void *argument)
{
    struct signals *signals = argument;
    struct pollfd files[] = {{.fd = signals->stop, .events = POLLIN},
                             {.fd = signals->incoming, .events = POLLIN}};
    while (files[0].revents == 0) {
        struct signalfd_siginfo info;
        if (read(signals->incoming, &info, sizeof info) == sizeof info)
            take(signals, (int)info.ssi_signo);
        else
            poll(files, sizeof files / sizeof *files, -1);
    }
    return NULL;
}

static void close_files(struct signals *signals)
{
    if (signals->incoming >= 0)
        close(signals->incoming);
    if (signals->stop >= 0)
        close(signals->stop);
}

enum status signals_start(struct signals *signals, void (*requested)(void *context, int exit_code),
                          void *context)
{
    return signals_start_leaving(signals, requested, NULL, context);
}

enum status signals_start_leaving(struct signals *signals,
                                  void (*requested)(void *context, int exit_code),
                                  void (*leave)(void *context), void *context)
{
    sigset_t set;
    fill(&set);
    *signals = (struct signals){
        .incoming = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
        .stop = eventfd(0, EFD_CLOEXEC),
        .requested = requested,
        .leave = leave,
        .context = context,
    };
    if (signals->incoming >= 0 && signals->stop >= 0 &&
        pthread_create(&signals->thread, NULL, watch, signals) == 0)
        return STATUS_OK;
    close_files(signals);
    return STATUS_MEMORY;
}

void signals_stop(struct signals *signals)
{
    eventfd_write(signals->stop, 1);
    pthread_join(signals->thread, NULL);
    close_files(signals);
}
