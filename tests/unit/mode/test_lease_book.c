/* test_lease_book.c - batches held and said to be done: taken once, and said until somebody has
 * heard. */
/* promises: record staleness-rules */

#include "worker/mode/lease_book.h"

#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

struct fixture {
    struct job job;
    struct lease_book book;
    struct envelope envelope;
    struct post post;
    uint64_t now_us;
};

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_ASYNC, 2, 1);
    f->job.steps = 100000;
    f->now_us = 1000000;
    lease_book_init(&f->book, &f->job);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static void speak(struct fixture *f)
{
    lease_book_speak(&f->book, &f->envelope, false, f->now_us, &f->post.outbox);
}

static void work(struct fixture *f, uint64_t request, uint64_t batch)
{
    struct message message = {.kind = MESSAGE_WORK, .request = request, .work.batch = batch};
    lease_book_work(&f->book, &f->envelope, &message, f->now_us);
    speak(f);
}

static void finish_next(struct fixture *f, uint64_t expected)
{
    uint64_t batch;
    ck_assert(lease_book_next(&f->book, &batch));
    ck_assert_uint_eq(batch, expected);
    lease_book_finish(&f->book, &f->envelope);
    speak(f);
}

TEST(a_batch_is_taken_once_however_long_ago)
{
    uint64_t batch;
    for (uint64_t i = 0; i < 3 * LEASES_TAKEN_MAX; i += 3) {
        work(f, 0, i);
        finish_next(f, i);
        work(f, f->book.said[0].request, i);
        post_clear(&f->post);
    }
    for (uint64_t i = 0; i < 3 * LEASES_TAKEN_MAX; i += 3) {
        work(f, 0, i);
        post_clear(&f->post);
    }
    ck_assert(!lease_book_next(&f->book, &batch));
    lease_book_init(&f->book, &f->job);
    work(f, 0, 0);
    ck_assert(lease_book_next(&f->book, &batch));
    post_clear(&f->post);
}

/* Whether a WORK with this batch gives something to compute. */
static bool takes(struct fixture *f, uint64_t batch)
{
    uint64_t next;
    work(f, 0, batch);
    post_clear(&f->post);
    return lease_book_next(&f->book, &next);
}

/* The newest LEASES_TAKEN_MAX are told apart, and what is older counts as taken. */
TEST(whoever_took_a_batch_is_known_as_far_back_as_the_book_goes)
{
    const uint64_t newest = 5 * LEASES_TAKEN_MAX, oldest = newest - LEASES_TAKEN_MAX + 1;
    ck_assert(takes(f, oldest));
    ck_assert(takes(f, newest));
    ck_assert(!takes(f, oldest));
    ck_assert(takes(f, oldest + 1));
    ck_assert(!takes(f, oldest - 1));
    ck_assert(takes(f, newest + 1));
    ck_assert(!takes(f, oldest));
    lease_book_init(&f->book, &f->job);
    ck_assert(takes(f, newest));
    ck_assert(takes(f, oldest));
    ck_assert(!takes(f, oldest - 1));
    ck_assert(takes(f, newest + LEASES_TAKEN_MAX + 1));
    ck_assert(takes(f, newest + LEASES_TAKEN_MAX)); /* In the place of the newest before. */
}

TEST(a_finished_batch_that_is_still_on_lease_is_said_to_be_finished_again)
{
    work(f, 0, 7);
    finish_next(f, 7);
    post_clear(&f->post);
    work(f, 0, 7); /* Its LEASE has not been answered yet, and is repeated anyway. */
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    work(f, 1, 7);
    const struct packet *packet = post_find(&f->post, TO_SERVER, MESSAGE_LEASE);
    ck_assert(packet->message.lease.finished);
    ck_assert_uint_eq(packet->message.lease.batch, 7);
    ck_assert_uint_eq(packet->message.request, 2);
}

TEST(what_is_held_or_computed_is_not_finished)
{
    uint64_t batch;
    work(f, 0, 7);
    work(f, 0, 8);
    ck_assert(lease_book_next(&f->book, &batch));
    work(f, 0, 7);
    work(f, 0, 8);
    work(f, 0, 100000); /* There is no such. */
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    ck_assert_uint_eq(f->book.held_count, 1);
}

/* It stays on lease, so nothing is said of it; and what WORK repeats of it changes nothing. */
TEST(a_batch_that_some_chunk_refused_is_the_next_to_be_computed)
{
    uint64_t batch;
    for (uint64_t i = 0; i < LEASES_HELD_MAX; i++)
        work(f, 0, i);
    ck_assert(lease_book_next(&f->book, &batch));
    work(f, 0, LEASES_HELD_MAX); /* Somebody gives more than anybody should. */
    post_clear(&f->post);
    lease_book_again(&f->book);
    lease_book_check(&f->book);
    work(f, 0, 0);
    work(f, 0, LEASES_HELD_MAX + 1); /* There is no room for that. */
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_LEASE), 0);
    for (uint64_t i = 0; i <= LEASES_HELD_MAX; i++)
        finish_next(f, i);
    lease_book_check(&f->book);
}

TEST(more_unanswered_leases_than_there_is_room_for_forget_the_oldest)
{
    for (uint64_t i = 0; i < LEASES_SAID_MAX + 2; i++) {
        work(f, 0, i);
        finish_next(f, i);
    }
    post_clear(&f->post);
    f->now_us += 500000;
    lease_book_speak(&f->book, &f->envelope, true, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_LEASE), LEASES_SAID_MAX);
    ck_assert_uint_eq(post_find(&f->post, TO_SERVER, MESSAGE_LEASE)->message.lease.batch, 2);
    post_clear(&f->post);
    work(f, 0, 0); /* It comes again, because nobody has heard. */
    ck_assert_uint_eq(post_find(&f->post, TO_SERVER, MESSAGE_LEASE)->message.lease.batch, 0);
    work(f, f->envelope.last_request, 100); /* The answer to the last one leaves the others. */
    ck_assert_uint_eq(f->book.said_count, LEASES_SAID_MAX - 1);
    ck_assert_uint_eq(f->book.said[LEASES_SAID_MAX - 2].batch, LEASES_SAID_MAX + 1);
}

TEST(with_enough_nobody_asks)
{
    struct message message = {.kind = MESSAGE_WORK, .work = {.enough = true, .batch = 5}};
    f->now_us += 900000;
    lease_book_speak(&f->book, &f->envelope, false, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    lease_book_work(&f->book, &f->envelope, &message, f->now_us);
    f->now_us += 900000;
    lease_book_speak(&f->book, &f->envelope, true, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
}

/* --- clocks -------------------------------------------------------------------------------- */

TEST(a_clock_begins_as_server_0_says_and_counts_what_is_finished)
{
    struct message message = {.kind = MESSAGE_WORK, .work = {.batch = 3, .clock = 7}};
    lease_book_work(&f->book, &f->envelope, &message, f->now_us);
    ck_assert_uint_eq(f->book.clock, 7);
    finish_next(f, 3);
    ck_assert_uint_eq(f->book.clock, 8);
    message.work.batch = 4; /* From before server 0 heard of that. */
    lease_book_work(&f->book, &f->envelope, &message, f->now_us);
    ck_assert_uint_eq(f->book.clock, 8);
    lease_book_init(&f->book, &f->job);
    ck_assert_uint_eq(f->book.clock, 0);
}

int main(void)
{
    return suite_run("lease_book", NULL);
}
