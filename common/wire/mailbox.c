/* mailbox.c - a growing ring under a lock, and an eventfd that is written when the ring was empty.
 * */

#include "common/wire/mailbox.h"
#include "common/base/clock.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/process/log.h"

#define MAILBOX_FIRST_CAPACITY 64

enum status mailbox_init(struct mailbox *mailbox)
{
    memset(mailbox, 0, sizeof *mailbox);
    mailbox->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (mailbox->event < 0)
        return STATUS_IO;
    pthread_mutex_init(&mailbox->lock, NULL);
    return STATUS_OK;
}

void mailbox_free(struct mailbox *mailbox)
{
    struct outgoing item;
    while (mailbox_take(mailbox, &item))
        frame_release(item.packet.payload);
    free(mailbox->ring);
    close(mailbox->event);
    pthread_mutex_destroy(&mailbox->lock);
}

/* The lock is held. */
static void grow(struct mailbox *mailbox)
{
    size_t capacity = mailbox->capacity == 0 ? MAILBOX_FIRST_CAPACITY : 2 * mailbox->capacity;
    struct outgoing *ring = malloc(capacity * sizeof *ring);
    if (ring == NULL) {
        log_error("out of memory for %zu packets between threads", capacity);
        exit(EXIT_TRAINING_FAILED);
    }
    assert(mailbox->count <= mailbox->capacity);
    for (size_t i = 0; i < mailbox->count; i++)
        ring[i] = mailbox->ring[(mailbox->first + i) % mailbox->capacity];
    free(mailbox->ring);
    mailbox->ring = ring;
    mailbox->capacity = capacity;
    mailbox->first = 0;
}

void mailbox_post(struct mailbox *mailbox, const struct outgoing *item)
{
    pthread_mutex_lock(&mailbox->lock);
    bool was_empty = mailbox->count == 0;
    if (mailbox->count == mailbox->capacity)
        grow(mailbox);
    mailbox->ring[(mailbox->first + mailbox->count++) % mailbox->capacity] = *item;
    pthread_mutex_unlock(&mailbox->lock);
    if (was_empty) /* A reader that found it empty may be asleep; nobody else can be. */
        mailbox_ring(mailbox);
}

void mailbox_ring(struct mailbox *mailbox)
{
    eventfd_write(mailbox->event, 1);
}

bool mailbox_take(struct mailbox *mailbox, struct outgoing *item)
{
    pthread_mutex_lock(&mailbox->lock);
    bool there = mailbox->count > 0;
    if (there) {
        assert(mailbox->capacity > 0);
        *item = mailbox->ring[mailbox->first];
        mailbox->first = (mailbox->first + 1) % mailbox->capacity;
        mailbox->count--;
    } else {
        /* Under the lock, so that a post after this finds it empty and rings again. */
        eventfd_t ignored;
        eventfd_read(mailbox->event, &ignored);
    }
    pthread_mutex_unlock(&mailbox->lock);
    return there;
}

void mailbox_wait(struct mailbox *mailbox, int timeout_ms)
{
    struct pollfd pollfd = {mailbox->event, POLLIN, 0};
    poll(&pollfd, 1, clock_patience_ms(timeout_ms));
}
