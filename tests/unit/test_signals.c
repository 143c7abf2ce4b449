#include "common/signals.h"

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/lib/suite.h"

struct heard {
    sem_t any;
    atomic_int code, count;
};

static void hear(void *context, int exit_code)
{
    struct heard *heard = context;
    atomic_store(&heard->code, exit_code);
    atomic_fetch_add(&heard->count, 1);
    sem_post(&heard->any);
}

static void hear_leave(void *context)
{
    hear(context, -1);
}

static void start(struct signals *signals, struct heard *heard)
{
    sem_init(&heard->any, 0, 0);
    atomic_init(&heard->code, 0);
    atomic_init(&heard->count, 0);
    signals_block();
    ck_assert(signals_start_leaving(signals, hear, hear_leave, heard) == STATUS_OK);
}

START_TEST(a_signal_becomes_one_request)
{
    static const int signals_sent[] = {SIGINT, SIGTERM, SIGUSR1};
    static const int codes[] = {EXIT_INTERRUPTED, EXIT_TERMINATED, -1};
    for (int i = 0; i < 3; i++) {
        struct signals signals;
        struct heard heard;
        start(&signals, &heard);
        kill(getpid(), signals_sent[i]);
        sem_wait(&heard.any);
        signals_stop(&signals);
        ck_assert_int_eq(atomic_load(&heard.code), codes[i]);
        ck_assert_int_eq(atomic_load(&heard.count), 1);
        sem_destroy(&heard.any);
    }
}
END_TEST

static void *idle(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        usleep(1000);
    return NULL;
}

/* As OpenBLAS makes them when it is loaded. */
START_TEST(threads_that_were_there_before_are_no_way_around)
{
    struct signals signals;
    struct heard heard;
    atomic_bool stop = false;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, idle, &stop), 0);
    start(&signals, &heard);
    for (int i = 0; i < 4; i++) {
        kill(getpid(), SIGUSR1);
        sem_wait(&heard.any);
    }
    kill(getpid(), SIGTERM);
    sem_wait(&heard.any);
    ck_assert_int_eq(atomic_load(&heard.code), EXIT_TERMINATED);
    signals_stop(&signals);
    ck_assert_int_eq(atomic_load(&heard.count), 5);
    atomic_store(&stop, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    sem_destroy(&heard.any);
}
END_TEST

/* It wakes the thread with a signal of its own. */
START_TEST(ceasing_to_watch_is_not_a_request)
{
    for (int i = 0; i < 100; i++) {
        struct signals signals;
        struct heard heard;
        start(&signals, &heard);
        signals_stop(&signals);
        ck_assert_int_eq(atomic_load(&heard.count), 0);
        sem_destroy(&heard.any);
    }
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_signal_becomes_one_request);
    tcase_add_test(t, threads_that_were_there_before_are_no_way_around);
    tcase_add_test(t, ceasing_to_watch_is_not_a_request);
}

int main(void)
{
    return suite_run("signals", add);
}
