/* mailbox.c - an outbox under a lock, and an eventfd that is written when the outbox was empty. */

#include "common/wire/mailbox.h"
#include "common/base/clock.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum status mailbox_init(struct mailbox *mailbox)
{
    *mailbox = (struct mailbox){.event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (mailbox->event < 0)
        return STATUS_IO;
    pthread_mutex_init(&mailbox->lock, NULL);
    return STATUS_OK;
}

void mailbox_free(struct mailbox *mailbox)
{
    outbox_free(&mailbox->items);
    close(mailbox->event);
    pthread_mutex_destroy(&mailbox->lock);
}

void mailbox_post(struct mailbox *mailbox, const struct outgoing *item)
{
    pthread_mutex_lock(&mailbox->lock);
    bool was_empty = mailbox->items.count == 0;
    outbox_append(&mailbox->items, item);
    pthread_mutex_unlock(&mailbox->lock);
    if (was_empty) /* A reader that found it empty may sleep, and no other can. */
        mailbox_ring(mailbox);
}

void mailbox_ring(struct mailbox *mailbox)
{
    eventfd_write(mailbox->event, 1);
    atomic_store(&mailbox->rung, true); /* Later: a reader that sees it finds something to read. */
}

bool mailbox_take(struct mailbox *mailbox, struct outgoing *item)
{
    eventfd_t ignored;
    pthread_mutex_lock(&mailbox->lock);
    bool there = outbox_take(&mailbox->items, item);
    /* Under the lock, so that a post after this finds it empty and rings again. */
    if (!there && atomic_exchange(&mailbox->rung, false))
        eventfd_read(mailbox->event, &ignored);
    pthread_mutex_unlock(&mailbox->lock);
    return there;
}

void mailbox_wait(struct mailbox *mailbox, int timeout_ms)
{
    poll(&(struct pollfd){mailbox->event, POLLIN, 0}, 1, clock_patience_ms(timeout_ms));
}
