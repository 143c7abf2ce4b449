#include "common/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>
#include <unistd.h>

static void add(sigset_t *set)
{
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGUSR1);
}

static void fill(sigset_t *set)
{
    sigemptyset(set);
    add(set);
}

/* Runs on a thread that was there before signals_block, a library's (OpenBLAS makes some when it is
 * loaded): from here on that thread blocks them too, and the signal goes to whoever waits for it.
 */
static void pass_on(int number, siginfo_t *info, void *interrupted)
{
    (void)info;
    add(&((ucontext_t *)interrupted)->uc_sigmask);
    kill(getpid(), number);
}

void signals_block(void)
{
    sigset_t set;
    fill(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_mask = set;
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        /* What was ignored when we were started stays so: shells do that to background jobs. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

static void *watch(void *argument)
{
    struct signals *signals = argument;
    sigset_t set;
    int seen = 0;
    fill(&set);
    while (true) {
        int number = sigwaitinfo(&set, NULL);
        if (atomic_load(&signals->stop))
            break;
        if (number <= 0)
            continue;
        if (number == SIGUSR1) {
            if (signals->leave != NULL)
                signals->leave(signals->context);
            continue;
        }
        int code = number == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
        if (seen++ > 0)
            _exit(code);
        signals->requested(signals->context, code);
    }
    return NULL;
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
    signals->requested = requested;
    signals->leave = leave;
    signals->context = context;
    atomic_init(&signals->stop, false);
    return pthread_create(&signals->thread, NULL, watch, signals) == 0 ? STATUS_OK : STATUS_MEMORY;
}

void signals_stop(struct signals *signals)
{
    atomic_store(&signals->stop, true);
    pthread_kill(signals->thread, SIGINT); /* To nobody else: only so that it looks. */
    pthread_join(signals->thread, NULL);
}
