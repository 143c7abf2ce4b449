/* test_mailbox.c - packets between threads: in order, none lost, and the reader is always woken. */
/* test: tsan */

#include "common/wire/mailbox.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static void post_number(struct mailbox *mailbox, uint32_t writer, uint64_t number)
{
    struct outgoing item = {.index = writer, .packet.message.request = number};
    mailbox_post(mailbox, &item);
}

TEST_PLAIN(packets_come_out_in_the_order_they_went_in)
{
    struct mailbox mailbox;
    struct outgoing item;
    ck_assert(mailbox_init(&mailbox) == STATUS_OK);
    ck_assert(!mailbox_take(&mailbox, &item));
    uint64_t in = 0, out = 0;
    for (int round = 0; round < 50; round++) { /* The ring grows while it is wrapped around. */
        for (int i = 0; i < 3 * round; i++)
            post_number(&mailbox, 0, in++);
        for (int i = 0; i < 2 * round; i++) {
            ck_assert(mailbox_take(&mailbox, &item));
            ck_assert_uint_eq(item.packet.message.request, out++);
        }
    }
    while (mailbox_take(&mailbox, &item))
        ck_assert_uint_eq(item.packet.message.request, out++);
    ck_assert_uint_eq(in, out);
    mailbox_free(&mailbox);
}

TEST_PLAIN(what_is_left_behind_is_released)
{
    struct mailbox mailbox;
    struct frame *frame = frame_of(1, 4);
    ck_assert(mailbox_init(&mailbox) == STATUS_OK);
    for (int i = 0; i < 100; i++) {
        struct outgoing item = {.packet.payload = frame_retain(frame)};
        mailbox_post(&mailbox, &item);
    }
    mailbox_free(&mailbox);
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
}

static bool is_readable(const struct mailbox *mailbox)
{
    struct pollfd pollfd = {mailbox->event, POLLIN, 0};
    return poll(&pollfd, 1, 0) == 1;
}

TEST_PLAIN(the_descriptor_is_readable_while_something_may_be_there)
{
    struct mailbox mailbox;
    struct outgoing item;
    ck_assert(mailbox_init(&mailbox) == STATUS_OK);
    ck_assert(!is_readable(&mailbox));
    post_number(&mailbox, 0, 1);
    post_number(&mailbox, 0, 2);
    ck_assert(is_readable(&mailbox));
    ck_assert(mailbox_take(&mailbox, &item));
    ck_assert(is_readable(&mailbox));
    ck_assert(mailbox_take(&mailbox, &item));
    ck_assert(!mailbox_take(&mailbox, &item));
    ck_assert(!is_readable(&mailbox));
    mailbox_ring(&mailbox);
    ck_assert(is_readable(&mailbox));
    ck_assert(!mailbox_take(&mailbox, &item));
    ck_assert(!is_readable(&mailbox));
    mailbox_free(&mailbox);
}

TEST_PLAIN(waiting_ends_with_its_time)
{
    struct mailbox mailbox;
    ck_assert(mailbox_init(&mailbox) == STATUS_OK);
    uint64_t began_us = clock_now_us();
    mailbox_wait(&mailbox, 30);
    ck_assert_uint_ge(clock_now_us() - began_us, 25000);
    mailbox_free(&mailbox);
}

enum { WRITERS = 4, EACH = 20000 };

struct writer {
    struct mailbox *mailbox;
    uint32_t index;
    pthread_t thread;
};

static void *write_all(void *argument)
{
    struct writer *writer = argument;
    for (uint64_t i = 0; i < EACH; i++)
        post_number(writer->mailbox, writer->index, i);
    return NULL;
}

TEST_PLAIN(nothing_is_lost_or_reordered_and_the_reader_is_always_woken)
{
    struct mailbox mailbox;
    struct writer writers[WRITERS];
    struct outgoing item;
    uint64_t next[WRITERS] = {0}, taken = 0;
    ck_assert(mailbox_init(&mailbox) == STATUS_OK);
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.mailbox = &mailbox, .index = i};
        pthread_create(&writers[i].thread, NULL, write_all, &writers[i]);
    }
    while (taken < WRITERS * EACH) {
        while (mailbox_take(&mailbox, &item)) {
            ck_assert_uint_eq(item.packet.message.request, next[item.index]);
            next[item.index]++;
            taken++;
        }
        if (taken < WRITERS * EACH) /* A lost wake-up would run into the suite's deadline. */
            mailbox_wait(&mailbox, -1);
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    ck_assert(!mailbox_take(&mailbox, &item));
    mailbox_free(&mailbox);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* They take address space. */
/* Far more than there is room for in so much address space. */
static void post_within(size_t bytes)
{
    struct mailbox mailbox;
    const struct rlimit limit = {bytes, bytes};
    if (mailbox_init(&mailbox) != STATUS_OK || setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(100);
    for (uint64_t i = 0; i < 1000000; i++)
        post_number(&mailbox, 0, i);
    _exit(101);
}

/* An order that is dropped without a word would be waited for. */
TEST_PLAIN(a_packet_for_which_there_is_no_memory_ends_the_process)
{
    int how;
    pid_t process = fork();
    if (process == 0)
        post_within(256 << 20);
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    ck_assert(WIFEXITED(how));
    ck_assert_int_eq(WEXITSTATUS(how), EXIT_TRAINING_FAILED);
}
#endif

int main(void)
{
    return suite_run("mailbox", NULL);
}
