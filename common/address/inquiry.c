/* inquiry.c - a detached thread calls the resolver; question and answer lie in memory that the last
 * of the two, asker or thread, frees. */

#include "common/address/inquiry.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/clock.h"

#define PROBE_MS    1000
#define STACK_BYTES (512u << 10) /* The C library's lookups want some of it. */

/* The thread's and the asker's; the last to let go frees it. places belongs to the thread until
 * `done` (release), then to the asker (acquire). */
struct inquiry {
    char address[ADDRESS_MAX];
    bool probe;
    int bell; /* eventfd: rung once, when it is done. */
    struct places places;
    atomic_bool done;
    atomic_int holders;
};

static void let_go(struct inquiry *inquiry)
{
    if (atomic_fetch_sub(&inquiry->holders, 1) != 1)
        return;
    close(inquiry->bell);
    free(inquiry);
}

static void *run(void *argument)
{
    struct inquiry *inquiry = argument;
    resolver_find(inquiry->address, &inquiry->places);
    if (inquiry->probe)
        resolver_probe(&inquiry->places, PROBE_MS);
    atomic_store_explicit(&inquiry->done, true, memory_order_release);
    eventfd_write(inquiry->bell, 1);
    let_go(inquiry);
    return NULL;
}

/* Signals are for others. */
static bool start(struct inquiry *inquiry)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, run, inquiry) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

struct inquiry *inquiry_begin(const char *address, bool probe)
{
    struct inquiry *inquiry = calloc(1, sizeof *inquiry);
    if (inquiry == NULL)
        return NULL;
    snprintf(inquiry->address, sizeof inquiry->address, "%s", address);
    inquiry->probe = probe;
    inquiry->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_init(&inquiry->holders, 2);
    if (inquiry->bell >= 0 && start(inquiry))
        return inquiry;
    if (inquiry->bell >= 0)
        close(inquiry->bell);
    free(inquiry);
    return NULL;
}

void inquiry_answer(struct inquiry *inquiry, int timeout_ms, struct places *places)
{
    struct pollfd bell = {inquiry->bell, POLLIN, 0};
    uint64_t until_us = clock_now_us() + 1000 * (uint64_t)timeout_ms, now_us;
    while (!atomic_load(&inquiry->done) && (now_us = clock_now_us()) < until_us)
        poll(&bell, 1, (int)((until_us - now_us) / 1000) + 1); /* A signal may end it early. */
    if (atomic_load_explicit(&inquiry->done, memory_order_acquire))
        *places = inquiry->places;
    else
        *places = (struct places){.status = STATUS_AGAIN};
}

void inquiry_drop(struct inquiry **inquiry)
{
    if (*inquiry != NULL)
        let_go(*inquiry);
    *inquiry = NULL;
}
