/* test_driver_lock.c - two threads and a wheel: the trainer never waits long for it. */
/* test: tsan */

#include "worker/client/driver_lock.h"

#include <poll.h>

#include "common/base/clock.h"
#include "tests/lib/suite.h"

#define LONG_MS 20000 /* For which the second thread would wait. */
#define TIMES   2000

struct fixture {
    struct driver_lock driver_lock;
    struct mailbox doorbell;
    pthread_t second;
    atomic_bool over;
    int driven; /* Guarded by the wheel. */
    bool moves; /* The same. */
    atomic_int waited;
};

/* As heart_run and help in client.c. */
static void *drive(void *argument)
{
    struct fixture *f = argument;
    struct outgoing none;
    while (!atomic_load(&f->over)) {
        mailbox_wait(&f->doorbell, 10);
        if (!driver_lock_try(&f->driver_lock))
            continue;
        mailbox_take(&f->doorbell, &none);
        while (!atomic_load(&f->over) && f->moves && driver_lock_helps(&f->driver_lock)) {
            atomic_fetch_add(&f->waited, 1);
            mailbox_wait(&f->doorbell, LONG_MS);
            driver_lock_waited(&f->driver_lock);
            mailbox_take(&f->doorbell, &none);
            f->driven++;
        }
        driver_lock_let_go(&f->driver_lock);
    }
    return NULL;
}

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.moves = false};
    ck_assert_int_eq(mailbox_init(&f->doorbell), STATUS_OK);
    driver_lock_init(&f->driver_lock, &f->doorbell);
    ck_assert_int_eq(pthread_create(&f->second, NULL, drive, f), 0);
}

static void close_fixture(struct fixture *f)
{
    atomic_store(&f->over, true);
    driver_lock_take(&f->driver_lock);
    driver_lock_give(&f->driver_lock);
    mailbox_ring(&f->doorbell);
    pthread_join(f->second, NULL);
    driver_lock_free(&f->driver_lock);
    mailbox_free(&f->doorbell);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

/* Not more than so many have begun. */
static void await_wait(struct fixture *f, int count)
{
    uint64_t began_us = clock_now_us();
    while (atomic_load(&f->waited) < count && clock_now_us() - began_us < LONG_MS * 500u)
        poll(NULL, 0, 1);
    ck_assert_int_ge(atomic_load(&f->waited), count);
}

TEST(the_second_thread_waits_while_the_first_computes_and_lets_go_at_once)
{
    uint64_t began_us = clock_now_us();
    driver_lock_take(&f->driver_lock);
    f->moves = true;
    driver_lock_hand_over(&f->driver_lock);
    await_wait(f, 1);
    for (int i = 0; i < TIMES; i++) { /* With it asleep, about to wait, and waiting. */
        driver_lock_take(&f->driver_lock);
        if (i % 2 == 0)
            driver_lock_hand_over(&f->driver_lock);
        else
            driver_lock_give(&f->driver_lock);
    }
    ck_assert_uint_lt(clock_now_us() - began_us, LONG_MS * 500u);
}

TEST(after_give_it_does_not_wait_for_messages)
{
    driver_lock_take(&f->driver_lock);
    f->moves = true;
    driver_lock_give(&f->driver_lock);
    poll(NULL, 0, 50);
    ck_assert_int_eq(atomic_load(&f->waited), 0);
    driver_lock_take(&f->driver_lock);
    driver_lock_hand_over(&f->driver_lock);
    await_wait(f, 1);
    driver_lock_take(&f->driver_lock); /* And has it again when the first is done with it. */
    int driven = f->driven;
    driver_lock_hand_over(&f->driver_lock);
    await_wait(f, 2);
    driver_lock_take(&f->driver_lock);
    ck_assert_int_gt(f->driven, driven);
    driver_lock_give(&f->driver_lock);
}

static void add(TCase *t)
{
    tcase_set_timeout(t, 60);
}

int main(void)
{
    return suite_run("wheel", add);
}
