/* wheel.c - a mutex, and a ring for who holds it while it waits. */

#include "worker/client/wheel.h"

#include <sys/eventfd.h>

void wheel_init(struct wheel *wheel, int doorbell)
{
    pthread_mutex_init(&wheel->lock, NULL);
    pthread_cond_init(&wheel->given, NULL);
    atomic_init(&wheel->wanted, false);
    atomic_init(&wheel->waits, false);
    wheel->helps = wheel->second = false;
    wheel->doorbell = doorbell;
}

void wheel_free(struct wheel *wheel)
{
    pthread_cond_destroy(&wheel->given);
    pthread_mutex_destroy(&wheel->lock);
}

void wheel_take(struct wheel *wheel)
{
    atomic_store(&wheel->wanted, true);
    if (atomic_load(&wheel->waits))
        eventfd_write(wheel->doorbell, 1);
    pthread_mutex_lock(&wheel->lock);
}

static void let_go(struct wheel *wheel, bool helps)
{
    bool asleep = !wheel->second;
    wheel->helps = helps;
    atomic_store(&wheel->wanted, false);
    pthread_cond_signal(&wheel->given);
    pthread_mutex_unlock(&wheel->lock);
    if (helps && asleep)
        eventfd_write(wheel->doorbell, 1);
}

void wheel_give(struct wheel *wheel)
{
    let_go(wheel, false);
}

void wheel_hand_over(struct wheel *wheel)
{
    let_go(wheel, true);
}

bool wheel_try(struct wheel *wheel)
{
    if (pthread_mutex_trylock(&wheel->lock) != 0)
        return false;
    wheel->second = true;
    return true;
}

bool wheel_helps(struct wheel *wheel)
{
    while (wheel->helps) {
        atomic_store(&wheel->waits, true);
        if (!atomic_load(&wheel->wanted))
            return true;
        atomic_store(&wheel->waits, false);
        pthread_cond_wait(&wheel->given, &wheel->lock);
    }
    return false;
}

void wheel_waited(struct wheel *wheel)
{
    atomic_store(&wheel->waits, false);
}

void wheel_let_go(struct wheel *wheel)
{
    wheel->second = false;
    pthread_mutex_unlock(&wheel->lock);
}
