/* signals.c - one thread waits on a signalfd and on standard input and turns what comes into the
 * requests; when time is up it ends the process. */

#include "common/process/signals.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/process/log.h"
#include "common/process/parent.h"
#include "common/process/process.h"

/* Which are ours to take. */
static void fill(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    process_add_heeded(set);
}

void signals_block(void)
{
    sigset_t set;
    fill(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void take(struct signals *signals, int number)
{
    const struct signals_options *options = &signals->options;
    int code = number == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
    enum stop_action action = stop_request_take(&signals->request, number, clock_now_seconds());
    if (action == STOP_AT_ONCE)
        _exit(code);
    if (action == STOP_CLEANLY && code == EXIT_TERMINATED && options->leave != NULL)
        options->leave(options->context);
    else if (action == STOP_CLEANLY)
        options->stop(options->context, code);
}

/* What it asks for by its line. */
static void obey(struct signals *signals, char word)
{
    if (word == PARENT_KILLS)
        _exit(EXIT_TERMINATED);
    take(signals, word == PARENT_INTERRUPTS ? SIGINT : SIGTERM);
}

/* Looked at before any signal is taken: files are closed before a death is made known otherwise. */
static void look_for_parent(struct signals *signals)
{
    const struct signals_options *options = &signals->options;
    enum parent_news news;
    char word;
    if (!options->has_parent || signals->abandoned_at > 0)
        return;
    while ((news = parent_look(&word)) == PARENT_ASKS)
        obey(signals, word);
    if (news != PARENT_GONE)
        return;
    signals->abandoned_at = clock_now_seconds();
    log_warning("the launcher of this process is gone, or the connection is; ending within %s",
                wording_duration(options->abandoned_seconds).text);
    if (options->abandoned != NULL)
        options->abandoned(options->context);
    else if (!signals->request.made)
        options->stop(options->context, EXIT_TERMINATED);
    signals->request = (struct stop_request){.made = true};
}

static double seconds_left(const struct signals *signals)
{
    return signals->abandoned_at + signals->options.abandoned_seconds - clock_now_seconds();
}

/* Milliseconds to wait for something to happen; ends the process when its time is up. */
static int patience_ms(const struct signals *signals)
{
    if (signals->abandoned_at == 0)
        return -1;
    double left = seconds_left(signals);
    if (left > 0)
        return (int)ceil(1e3 * left);
    log_error("not stopped within %s since the launcher is gone",
              wording_duration(signals->options.abandoned_seconds).text);
    _exit(EXIT_CLUSTER_LOST);
}

static void *watch(void *argument)
{
    struct signals *signals = argument;
    struct pollfd files[] = {{.fd = signals->over, .events = POLLIN},
                             {.fd = signals->incoming, .events = POLLIN},
                             {.fd = STDIN_FILENO, .events = POLLIN}};
    while (files[0].revents == 0) {
        struct signalfd_siginfo info;
        bool watched = signals->options.has_parent && signals->abandoned_at == 0;
        poll(files, watched ? 3 : 2, clock_patience_ms(patience_ms(signals)));
        look_for_parent(signals);
        while (read(signals->incoming, &info, sizeof info) == sizeof info)
            take(signals, (int)info.ssi_signo);
    }
    return NULL;
}

static void close_files(struct signals *signals)
{
    if (signals->incoming >= 0)
        close(signals->incoming);
    if (signals->over >= 0)
        close(signals->over);
}

enum status signals_start(struct signals *signals, const struct signals_options *options)
{
    sigset_t set;
    fill(&set);
    *signals = (struct signals){
        .options = *options,
        .incoming = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
        .over = eventfd(0, EFD_CLOEXEC),
    };
    if (signals->incoming >= 0 && signals->over >= 0 &&
        pthread_create(&signals->thread, NULL, watch, signals) == 0)
        return STATUS_OK;
    close_files(signals);
    return STATUS_MEMORY;
}

void signals_stop(struct signals *signals)
{
    eventfd_write(signals->over, 1);
    pthread_join(signals->thread, NULL);
    close_files(signals);
    if (signals->abandoned_at > 0)
        alarm((unsigned)fmax(1, ceil(seconds_left(signals))));
}
