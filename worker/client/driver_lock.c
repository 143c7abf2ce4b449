/* driver_lock.c - a mutex, and a doorbell for its holder while that waits. */

#include "worker/client/driver_lock.h"

void driver_lock_init(struct driver_lock *driver_lock, struct mailbox *doorbell)
{
    pthread_mutex_init(&driver_lock->lock, NULL);
    pthread_cond_init(&driver_lock->given, NULL);
    atomic_init(&driver_lock->wanted, false);
    atomic_init(&driver_lock->waits, false);
    driver_lock->helps = driver_lock->second = false;
    driver_lock->doorbell = doorbell;
}

void driver_lock_free(struct driver_lock *driver_lock)
{
    pthread_cond_destroy(&driver_lock->given);
    pthread_mutex_destroy(&driver_lock->lock);
}

void driver_lock_take(struct driver_lock *driver_lock)
{
    atomic_store(&driver_lock->wanted, true);
    if (atomic_load(&driver_lock->waits))
        mailbox_ring(driver_lock->doorbell);
    pthread_mutex_lock(&driver_lock->lock);
}

static void let_go(struct driver_lock *driver_lock, bool helps)
{
    bool asleep = !driver_lock->second;
    driver_lock->helps = helps;
    atomic_store(&driver_lock->wanted, false);
    pthread_cond_signal(&driver_lock->given);
    pthread_mutex_unlock(&driver_lock->lock);
    if (helps && asleep)
        mailbox_ring(driver_lock->doorbell);
}

void driver_lock_give(struct driver_lock *driver_lock)
{
    let_go(driver_lock, false);
}

void driver_lock_hand_over(struct driver_lock *driver_lock)
{
    let_go(driver_lock, true);
}

bool driver_lock_try(struct driver_lock *driver_lock)
{
    if (pthread_mutex_trylock(&driver_lock->lock) != 0)
        return false;
    driver_lock->second = true;
    return true;
}

bool driver_lock_helps(struct driver_lock *driver_lock)
{
    while (driver_lock->helps) {
        atomic_store(&driver_lock->waits, true);
        if (!atomic_load(&driver_lock->wanted))
            return true;
        atomic_store(&driver_lock->waits, false);
        pthread_cond_wait(&driver_lock->given, &driver_lock->lock);
    }
    return false;
}

void driver_lock_waited(struct driver_lock *driver_lock)
{
    atomic_store(&driver_lock->waits, false);
}

void driver_lock_let_go(struct driver_lock *driver_lock)
{
    driver_lock->second = false;
    pthread_mutex_unlock(&driver_lock->lock);
}
