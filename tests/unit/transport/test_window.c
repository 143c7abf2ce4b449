/* What a server and a worker on one host share. Both sides are in this process, with mappings of
 * their own, over a pair of sockets in place of the rendezvous. */
/* promises: no-copy */

#include "common/transport/shm/window.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/transport/shm/rendezvous.h"
#include "tests/lib/suite.h"

enum { SHARD = 4096 + 64, SLOTS = 2, PUBLISHED = 2 * SHARD };

/* What a hostile side knows about the layout: see struct ring_shared, and note in window.c. */
enum { HEAD_AT = 0, TAIL_AT = 64 };
enum { NOWHERE, IN_GRADIENTS, IN_PARAMETERS, IN_PUBLISHED, IN_RECORD };
struct note {
    uint32_t where, reserved;
    uint64_t offset, bytes;
};

struct pair {
    size_t descriptors; /* Open before. */
    struct shared_memory *published;
    struct window server, worker;
};

static void connect_pair(int ends[2])
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
                     0);
}

static void pair_open(struct pair *pair, bool publishes)
{
    struct share share = {.shard_bytes = SHARD, .slots = SLOTS, .messages = 1, .peers_max = 1};
    struct error error = {0};
    int ends[2];
    *pair = (struct pair){.descriptors = suite_descriptors()};
    if (publishes)
        ck_assert(shared_memory_create(PUBLISHED, true, &pair->published, &error) == STATUS_OK);
    connect_pair(ends);
    ck_assert_msg(window_make(&pair->server, ends[0], &share, pair->published, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_msg(window_open(&pair->worker, ends[1], &error) == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(pair->worker.gradients_bytes, (uint64_t)SLOTS * SHARD);
}

static void pair_close(struct pair *pair)
{
    window_close(&pair->worker);
    window_close(&pair->server);
    shared_memory_release(pair->published);
    ck_assert_uint_eq(suite_descriptors(), pair->descriptors);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct pair, pair, pair_open(pair, __VA_ARGS__), pair_close(pair))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct pair, pair, pair_open(pair, __VA_ARGS__), pair_close(pair))

static struct frame *filled(size_t bytes, int with)
{
    struct frame *frame = frame_create(bytes);
    memset(frame->data, with, bytes);
    return frame;
}

static enum status send_text(struct window *window, const char *text, struct frame *payload,
                             uint64_t place)
{
    return window_send(window, text, strlen(text), payload, place);
}

/* The next message has this header; its payload, the caller's. */
static struct frame *receive_text(struct window *window, const char *text)
{
    struct received received;
    ck_assert_int_eq(window_receive(window, &received), STATUS_OK);
    ck_assert_uint_eq(received.header_bytes, strlen(text));
    ck_assert_mem_eq(received.header, text, strlen(text));
    return received.payload;
}

static void nothing_comes(struct window *window)
{
    struct received received;
    ck_assert_int_eq(window_receive(window, &received), STATUS_AGAIN);
    ck_assert_ptr_null(received.payload);
}

static void lies_at(const struct frame *frame, const struct shared_memory *memory, size_t offset)
{
    size_t at;
    ck_assert_ptr_nonnull(frame);
    ck_assert(shared_memory_holds(memory, frame->data, frame->bytes, &at));
    ck_assert_uint_eq(at, offset);
    ck_assert(frame->stays);
    ck_assert(!frame->exclusive);
}

/* --- round trips --------------------------------------------------------------------------- */

TEST(messages_without_a_payload_go_both_ways, false)
{
    char longest[4096];
    nothing_comes(&pair->server);
    nothing_comes(&pair->worker);
    memset(longest, 'x', sizeof longest);
    ck_assert_int_eq(send_text(&pair->worker, "up", NULL, 0), STATUS_OK);
    ck_assert_int_eq(window_send(&pair->worker, longest, sizeof longest, NULL, 7), STATUS_OK);
    ck_assert_int_eq(send_text(&pair->server, "down", NULL, UINT64_MAX), STATUS_OK);
    ck_assert_ptr_null(receive_text(&pair->server, "up"));
    struct received received;
    ck_assert_int_eq(window_receive(&pair->server, &received), STATUS_OK);
    ck_assert_uint_eq(received.header_bytes, sizeof longest);
    ck_assert_mem_eq(received.header, longest, sizeof longest);
    ck_assert_ptr_null(receive_text(&pair->worker, "down"));
    nothing_comes(&pair->server);
    nothing_comes(&pair->worker);
}

TEST(a_gradient_in_lent_memory_travels_as_a_reference, false)
{
    struct frame *lent = window_lend(&pair->worker, SHARD, SHARD);
    ck_assert_ptr_nonnull(lent);
    memset(lent->data, 3, SHARD);
    /* A part of it; the place it is said to belong to plays no role. */
    ck_assert_int_eq(send_text(&pair->worker, "part", frame_slice(lent, 64, 128), 0), STATUS_OK);
    ck_assert(frame_is_unique(lent)); /* Sending holds on to nothing. */
    struct frame *seen = receive_text(&pair->server, "part");
    ck_assert_uint_eq(seen->bytes, 128);
    lies_at(seen, pair->server.written, pair->server.gradients_at + SHARD + 64);
    ck_assert_int_eq(((char *)seen->data)[127], 3);
    ((char *)lent->data)[64 + 127] = 4;
    ck_assert_int_eq(((char *)seen->data)[127], 4);
    frame_release(seen);
    frame_release(lent);
}

TEST(a_gradient_from_elsewhere_is_copied_to_its_place, false)
{
    struct frame *own = filled(SHARD, 5);
    ck_assert_int_eq(send_text(&pair->worker, "all", frame_retain(own), SHARD), STATUS_OK);
    ck_assert(frame_is_unique(own));
    memset(own->data, 6, SHARD);
    struct frame *seen = receive_text(&pair->server, "all");
    ck_assert_uint_eq(seen->bytes, SHARD);
    lies_at(seen, pair->server.written, pair->server.gradients_at + SHARD);
    for (size_t i = 0; i < SHARD; i++)
        ck_assert_int_eq(((char *)seen->data)[i], 5);
    frame_release(seen);
    frame_release(own);
}

TEST(published_values_travel_as_references_and_others_are_copied, true)
{
    struct frame *lent = shared_memory_frame(pair->published, SHARD + 64, 640);
    memset(lent->data, 1, 640);
    ck_assert_int_eq(send_text(&pair->server, "by reference", frame_retain(lent), 0), STATUS_OK);
    ck_assert_int_eq(send_text(&pair->server, "by copy", filled(640, 2), 64), STATUS_OK);
    struct frame *seen = receive_text(&pair->worker, "by reference");
    lies_at(seen, pair->worker.published, SHARD + 64);
    ((char *)lent->data)[639] = 9;
    ck_assert_int_eq(((char *)seen->data)[639], 9);
    struct frame *copied = receive_text(&pair->worker, "by copy");
    lies_at(copied, pair->worker.parameters, 64);
    ck_assert_int_eq(((char *)copied->data)[639], 2);
    frame_release(seen);
    frame_release(copied);
    frame_release(lent);
}

TEST_PLAIN(a_gradient_that_has_arrived_may_be_answered_with)
{
    struct pair pair; /* It lies in memory that the other side sees, but not where answers lie. */
    pair_open(&pair, true);
    ck_assert_int_eq(send_text(&pair.worker, "up", filled(64, 8), 0), STATUS_OK);
    struct frame *seen = receive_text(&pair.server, "up");
    ck_assert_int_eq(send_text(&pair.server, "down", seen, 128), STATUS_OK);
    struct frame *back = receive_text(&pair.worker, "down");
    lies_at(back, pair.worker.parameters, 128);
    ck_assert_int_eq(((char *)back->data)[63], 8);
    frame_release(back);
    pair_close(&pair);
}

TEST(payloads_may_be_empty, true)
{
    ck_assert_int_eq(send_text(&pair->worker, "up", frame_create(0), SLOTS * SHARD), STATUS_OK);
    ck_assert_int_eq(send_text(&pair->server, "down", frame_create(0), 0), STATUS_OK);
    struct frame *up = receive_text(&pair->server, "up"),
                 *down = receive_text(&pair->worker, "down");
    ck_assert_uint_eq(up->bytes, 0);
    ck_assert_uint_eq(down->bytes, 0);
    frame_release(up);
    frame_release(down);
}

/* A worker computes from the values that lie in its memory, and a list of sets is not one of them. */
TEST(what_is_no_chunk_s_is_not_put_where_values_lie, true)
{
    char header[4096] = "h";
    struct frame *values = filled(SHARD, 1);
    ck_assert_int_eq(send_text(&pair->server, "values", values, 0), STATUS_OK);
    struct frame *seen = receive_text(&pair->worker, "values");
    const size_t sizes[] = {0, 1, 5, TRANSPORT_SMALL_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct frame *list = filled(sizes[i], 2);
        ck_assert_int_eq(send_text(&pair->server, "list", list, TRANSPORT_PLACE_NOWHERE),
                         STATUS_OK);
        struct frame *own = receive_text(&pair->worker, "list");
        ck_assert_uint_eq(own->bytes, sizes[i]);
        ck_assert(!own->stays && frame_is_writable(own));
        for (size_t at = 0; at < own->bytes; at++)
            ck_assert_int_eq(((char *)own->data)[at], 2);
        frame_release(own);
    }
    for (size_t at = 0; at < SHARD; at++)
        ck_assert_int_eq(((char *)seen->data)[at], 1);
    frame_release(seen);
    struct frame *list = filled(TRANSPORT_SMALL_BYTES, 2); /* Both do not fit a record. */
    ck_assert_int_eq(
        window_send(&pair->server, header, sizeof header, list, TRANSPORT_PLACE_NOWHERE),
        STATUS_NOT_FOUND);
    nothing_comes(&pair->worker);
}

/* --- places -------------------------------------------------------------------------------- */

static void has_no_place(struct window *window, uint64_t place, size_t bytes)
{
    struct frame *frame = filled(bytes, 1);
    ck_assert_int_eq(send_text(window, "x", frame_retain(frame), place), STATUS_NOT_FOUND);
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
}

TEST(a_place_that_is_not_there_is_said_so_and_nothing_is_sent, true)
{
    uint64_t wraps = UINT64_MAX - pair->worker.gradients_at;
    const uint64_t beyond[] = {(uint64_t)SLOTS * SHARD, 1u << 30,  UINT64_MAX / 64 * 64,
                               wraps / 64 * 64,         wraps + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        has_no_place(&pair->worker, beyond[i], 64);
        has_no_place(&pair->server, beyond[i],
                     beyond[i] == TRANSPORT_PLACE_NOWHERE ? TRANSPORT_SMALL_BYTES + 1 : 64);
    }
    has_no_place(&pair->worker, (uint64_t)SLOTS * SHARD - 64, 128);
    has_no_place(&pair->server, SHARD - 64, 65);
    for (uint64_t i = 1; i < 64; i++) {
        has_no_place(&pair->worker, i, 64);
        has_no_place(&pair->server, 64 + i, 4);
    }
    nothing_comes(&pair->server);
    nothing_comes(&pair->worker);
    ck_assert_int_eq(send_text(&pair->worker, "fits", filled(64, 1), (uint64_t)SLOTS * SHARD - 64),
                     STATUS_OK);
    frame_release(receive_text(&pair->server, "fits"));
}

TEST(lent_memory_ends_where_the_gradients_do, false)
{
    uint64_t all = (uint64_t)SLOTS * SHARD;
    struct frame *whole = window_lend(&pair->worker, 0, all);
    ck_assert_ptr_nonnull(whole);
    ck_assert_ptr_null(window_lend(&pair->worker, 64, all));
    ck_assert_ptr_null(window_lend(&pair->worker, all + 64, 0));
    ck_assert_ptr_null(window_lend(&pair->worker, UINT64_MAX, 64));
    ck_assert_ptr_null(window_lend(&pair->worker, UINT64_MAX - pair->worker.gradients_at + 1, 64));
    ck_assert_ptr_null(window_lend(&pair->worker, 0, UINT64_MAX));
    frame_release(whole);
}

/* A reference must be aligned, or the other side would take us for hostile. */
TEST(an_unaligned_part_of_lent_memory_is_copied_like_any_other, true)
{
    struct frame *lent = window_lend(&pair->worker, 0, SHARD);
    for (int i = 0; i < SHARD; i++)
        ((char *)lent->data)[i] = (char)i;
    ck_assert_int_eq(send_text(&pair->worker, "x", frame_slice(lent, 4, 256), 0), STATUS_OK);
    struct frame *seen = receive_text(&pair->server, "x");
    lies_at(seen, pair->server.written, pair->server.gradients_at);
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq(((char *)seen->data)[i], (char)(i + 4));
    frame_release(seen);
    frame_release(lent);
    struct frame *values = shared_memory_frame(pair->published, 4, 64);
    memset(values->data, 7, 64);
    ck_assert_int_eq(send_text(&pair->server, "y", values, 64), STATUS_OK);
    seen = receive_text(&pair->worker, "y");
    lies_at(seen, pair->worker.parameters, 64);
    frame_release(seen);
}

/* --- the other side breaks the rules ------------------------------------------------------- */

static void is_refused(struct window *from, struct window *to, struct note note)
{
    struct received received;
    ck_assert_int_eq(ring_put(&from->out, &note, sizeof note, "header", 6), STATUS_OK);
    ck_assert_int_eq(window_receive(to, &received), STATUS_INVALID);
    ck_assert_ptr_null(received.payload);
}

TEST(a_worker_s_references_outside_its_gradients_are_refused, true)
{
    uint64_t all = (uint64_t)SLOTS * SHARD, at = pair->server.gradients_at;
    const struct note notes[] = {
        {IN_PARAMETERS, 0, 0, 64},
        {IN_PUBLISHED, 0, 0, 64},
        {IN_RECORD, 0, 0, 3},
        {IN_RECORD + 1, 0, 0, 64},
        {UINT32_MAX, 0, 0, 64},
        {IN_GRADIENTS, 0, all, 64},
        {IN_GRADIENTS, 0, all - 64, 65},
        {IN_GRADIENTS, 0, 0, all + 1},
        {IN_GRADIENTS, 0, 0, UINT64_MAX},
        {IN_GRADIENTS, 0, 64, UINT64_MAX - 63},
        {IN_GRADIENTS, 0, 64, UINT64_MAX - at - 63},
        {IN_GRADIENTS, 0, UINT64_MAX - 63, 64},
        {IN_GRADIENTS, 0, UINT64_MAX - at + 1, 64}, /* Where the rings are, if it wrapped. */
        {IN_GRADIENTS, 0, UINT64_MAX - at - 63, 64},
        {IN_GRADIENTS, 0, 1, 64},
        {IN_GRADIENTS, 0, 32, 64},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        is_refused(&pair->worker, &pair->server, notes[i]);
    ck_assert_int_eq(send_text(&pair->worker, "good", filled(64, 1), 0), STATUS_OK);
    frame_release(receive_text(&pair->server, "good"));
}

TEST_EACH(a_server_s_references_outside_its_values_are_refused, 2, _i)
{
    const int publishes = _i;
    const struct note notes[] = {
        {IN_GRADIENTS, 0, 0, 64},
        {IN_RECORD, 0, 0, 6}, /* There is no header left. */
        {IN_RECORD, 0, 0, UINT64_MAX},
        {IN_RECORD + 1, 0, 0, 64},
        {IN_PARAMETERS, 0, SHARD, 64},
        {IN_PARAMETERS, 0, 0, SHARD + 1},
        {IN_PARAMETERS, 0, 64, UINT64_MAX - 63},
        {IN_PARAMETERS, 0, 4, 64},
        {IN_PUBLISHED, 0, publishes ? PUBLISHED : 0, 64},
        {IN_PUBLISHED, 0, 0, publishes ? PUBLISHED + 1 : 64},
        {IN_PUBLISHED, 0, UINT64_MAX - 63, 64},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        is_refused(&pair->server, &pair->worker, notes[i]);
}

TEST(records_that_are_no_messages_are_refused, false)
{
    struct note note = {NOWHERE, 0, 0, 0};
    struct received received;
    unsigned char bytes[4097] = {0};
    ck_assert_int_eq(ring_put(&pair->worker.out, &note, sizeof note - 1, NULL, 0), STATUS_OK);
    ck_assert_int_eq(window_receive(&pair->server, &received), STATUS_INVALID);
    ck_assert_int_eq(ring_put(&pair->worker.out, &note, sizeof note, NULL, 0), STATUS_OK);
    ck_assert_int_eq(window_receive(&pair->server, &received), STATUS_INVALID);
    ck_assert_int_eq(ring_put(&pair->worker.out, &note, sizeof note, bytes, sizeof bytes),
                     STATUS_OK);
    ck_assert_int_eq(window_receive(&pair->server, &received), STATUS_INVALID);
    ck_assert_int_eq(ring_put(&pair->worker.out, &note, sizeof note, bytes, sizeof bytes - 1),
                     STATUS_OK);
    ck_assert_int_eq(window_receive(&pair->server, &received), STATUS_OK);
}

static void poke(struct ring *ring, size_t at, uint64_t value)
{
    memcpy((char *)ring->shared + at, &value, sizeof value);
}

TEST_PLAIN(positions_that_cannot_be_are_refused_and_not_slept_over)
{
    const uint64_t tails[] = {UINT64_MAX, 1ull << 63, 1ull << 40};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct pair pair;
        struct received received;
        pair_open(&pair, false);
        ck_assert_int_eq(send_text(&pair.worker, "x", NULL, 0), STATUS_OK);
        receive_text(&pair.server, "x");
        poke(&pair.worker.out, TAIL_AT, tails[i]);
        ck_assert(!window_sleep(&pair.server));
        ck_assert_int_eq(window_receive(&pair.server, &received), STATUS_INVALID);
        /* And what the reader says is believed as little. */
        poke(&pair.worker.in, HEAD_AT, tails[i]);
        enum status status;
        do
            status = send_text(&pair.server, "y", NULL, 0);
        while (status == STATUS_OK);
        ck_assert_int_eq(status, STATUS_INVALID);
        pair_close(&pair);
    }
}

/* --- handing over -------------------------------------------------------------------------- */

/* See struct offer in window.c. */
struct offer {
    uint32_t magic, version;
    uint64_t written_bytes, parameters_bytes, published_bytes;
    uint64_t gradients_at, gradients_bytes;
    uint32_t ring_capacity, reserved;
};

/* What a server would send, to be spoilt. */
struct handover {
    struct offer offer;
    size_t bytes;
    struct shared_memory *memory[3]; /* Written, parameters, published. */
    int fds[RENDEZVOUS_FDS_MAX];
    size_t fd_count;
};

static void handover_init(struct handover *handover)
{
    struct error error;
    int ends[2];
    size_t bytes, fd_count;
    struct window window;
    struct share share = {.shard_bytes = SHARD, .slots = SLOTS, .messages = 1, .peers_max = 1};
    memset(handover, 0, sizeof *handover);
    ck_assert(shared_memory_create(PUBLISHED, true, &handover->memory[2], &error) == STATUS_OK);
    connect_pair(ends);
    ck_assert(window_make(&window, ends[0], &share, handover->memory[2], &error) == STATUS_OK);
    ck_assert(rendezvous_receive(ends[1], &handover->offer, sizeof handover->offer, &bytes,
                                 handover->fds, RENDEZVOUS_FDS_MAX, &fd_count) == STATUS_OK);
    ck_assert_uint_eq(bytes, sizeof handover->offer);
    ck_assert_uint_eq(fd_count, 5);
    handover->bytes = bytes;
    handover->fd_count = fd_count;
    handover->memory[0] = shared_memory_retain(window.written);
    handover->memory[1] = shared_memory_retain(window.parameters);
    window_close(&window);
    close(ends[1]);
}

static void handover_free(struct handover *handover)
{
    for (size_t i = 0; i < 3; i++)
        shared_memory_release(handover->memory[i]);
    for (size_t i = 0; i < 5; i++)
        close(handover->fds[i]);
}

/* What a worker makes of it; whatever that is, no descriptor stays open. */
static enum status taken(const struct handover *handover)
{
    struct window window;
    struct error error;
    struct {
        struct offer offer;
        char more[64];
    } message = {.offer = handover->offer};
    int ends[2];
    size_t before = suite_descriptors();
    connect_pair(ends);
    ck_assert(rendezvous_send(ends[0], &message, handover->bytes, handover->fds,
                              handover->fd_count) == STATUS_OK);
    enum status status = window_open(&window, ends[1], &error);
    if (status == STATUS_OK)
        window_close(&window);
    close(ends[0]);
    ck_assert_uint_eq(suite_descriptors(), before);
    return status;
}

TEST_PLAIN(an_offer_that_makes_no_sense_is_refused)
{
    const struct {
        size_t at, bytes;
        uint64_t value;
    } spoilt[] = {
#define SPOIL(field, value)                                                                        \
    {offsetof(struct offer, field), sizeof(((struct offer *)0)->field), value}
        SPOIL(magic, 0),
        SPOIL(version, 0),
        SPOIL(version, 2),
        SPOIL(written_bytes, 0),
        SPOIL(written_bytes, 4096),
        SPOIL(written_bytes, UINT64_MAX),
        SPOIL(parameters_bytes, 0),
        SPOIL(parameters_bytes, SHARD + 64),
        SPOIL(parameters_bytes, UINT64_MAX),
        SPOIL(published_bytes, 0), /* But five descriptors. */
        SPOIL(published_bytes, 64),
        SPOIL(published_bytes, UINT64_MAX),
        SPOIL(gradients_at, 0),
        SPOIL(gradients_at, 4096),
        SPOIL(gradients_at, UINT64_MAX / 4096 * 4096),
        SPOIL(gradients_bytes, 0),
        SPOIL(gradients_bytes, (uint64_t)SLOTS * SHARD + 1),
        SPOIL(gradients_bytes, UINT64_MAX),
        SPOIL(ring_capacity, 0),
        SPOIL(ring_capacity, 4096),
        SPOIL(ring_capacity, 3 * 65536),
        SPOIL(ring_capacity, 1u << 31),
        SPOIL(ring_capacity, UINT32_MAX),
#undef SPOIL
    };
    struct handover handover;
    size_t before = suite_descriptors();
    handover_init(&handover);
    ck_assert_int_eq(taken(&handover), STATUS_OK);
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        struct handover bad = handover;
        memcpy((char *)&bad.offer + spoilt[i].at, &spoilt[i].value, spoilt[i].bytes);
        ck_assert_msg(taken(&bad) == STATUS_INVALID, "offer %zu", i);
    }
    for (size_t count = 0; count < 5; count++) {
        struct handover bad = handover;
        bad.fd_count = count;
        ck_assert_int_eq(taken(&bad), STATUS_INVALID);
    }
    struct handover bad = handover;
    bad.fds[bad.fd_count++] = bad.fds[0];
    ck_assert_int_eq(taken(&bad), STATUS_INVALID);
    bad = handover;
    bad.bytes--;
    ck_assert_int_eq(taken(&bad), STATUS_INVALID);
    bad.bytes += 2;
    ck_assert_int_eq(taken(&bad), STATUS_INVALID);
    handover_free(&handover);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST_PLAIN(descriptors_that_are_not_what_they_should_be_are_refused)
{
    struct handover handover, bad;
    handover_init(&handover);
    for (size_t i = 0; i < 5; i++) { /* A bell in place of memory, memory that may not be ours. */
        if (i == 2 || i == 3)
            continue; /* Bells themselves are only ever written to. */
        bad = handover;
        bad.fds[i] = handover.fds[2];
        ck_assert_int_eq(taken(&bad), STATUS_INVALID);
    }
    bad = handover; /* Memory that only its maker may write, where we must. */
    struct shared_memory *sealed;
    struct error error;
    ck_assert(shared_memory_create(handover.offer.written_bytes, true, &sealed, &error) ==
              STATUS_OK);
    bad.fds[0] = shared_memory_fd(sealed);
    ck_assert_int_eq(taken(&bad), STATUS_REFUSED);
    shared_memory_release(sealed);
    bad = handover; /* Memory that could shrink while we read it. */
    bad.fds[1] = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(bad.fds[1], SHARD), 0);
    ck_assert_int_eq(taken(&bad), STATUS_INVALID);
    close(bad.fds[1]);
    handover_free(&handover);
}

TEST_PLAIN(who_offers_nothing_is_waited_for_or_lost)
{
    struct window window;
    struct error error;
    int ends[2];
    size_t before = suite_descriptors();
    connect_pair(ends);
    ck_assert_int_eq(window_open(&window, ends[1], &error), STATUS_AGAIN);
    ck_assert_int_eq(window_open(&window, ends[1], &error), STATUS_AGAIN);
    close(ends[0]);
    ck_assert_int_eq(window_open(&window, ends[1], &error), STATUS_LOST);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST_PLAIN(who_has_gone_before_it_was_offered_anything_costs_nothing)
{
    struct window window;
    struct error error;
    struct share share = {.shard_bytes = SHARD, .slots = SLOTS, .messages = 1, .peers_max = 1};
    int ends[2];
    size_t before = suite_descriptors();
    connect_pair(ends);
    close(ends[1]);
    ck_assert_int_eq(window_make(&window, ends[0], &share, NULL, &error), STATUS_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "cannot hand memory over"));
    ck_assert_uint_eq(suite_descriptors(), before);
}

/* --- time ---------------------------------------------------------------------------------- */

TEST_PLAIN(a_frame_outlives_the_window_it_came_through)
{
    struct pair pair;
    pair_open(&pair, true);
    size_t between = suite_descriptors();
    ck_assert_int_eq(send_text(&pair.worker, "up", filled(64, 1), 0), STATUS_OK);
    ck_assert_int_eq(send_text(&pair.server, "down", filled(64, 2), 0), STATUS_OK);
    struct frame *lent = window_lend(&pair.worker, SHARD, 64);
    struct frame *up = receive_text(&pair.server, "up"), *down = receive_text(&pair.worker, "down");
    window_close(&pair.worker);
    window_close(&pair.server);
    ck_assert_uint_lt(suite_descriptors(), between);
    memset(lent->data, 3, 64);
    ck_assert_int_eq(((char *)up->data)[63], 1);
    ck_assert_int_eq(((char *)down->data)[63], 2);
    frame_release(up);
    frame_release(down);
    frame_release(lent);
    pair_close(&pair); /* Closing again is no harm. */
}

TEST(what_was_said_before_the_end_can_be_read_after_it, false)
{
    ck_assert_int_eq(send_text(&pair->worker, "last", filled(64, 1), 0), STATUS_OK);
    ck_assert_int_eq(send_text(&pair->worker, "words", NULL, 0), STATUS_OK);
    window_close(&pair->worker);
    struct pollfd connection = {pair->server.connection, POLLIN, 0};
    ck_assert_int_eq(poll(&connection, 1, 0), 1); /* Its end is seen at once. */
    struct frame *seen = receive_text(&pair->server, "last");
    ck_assert_int_eq(((char *)seen->data)[63], 1);
    frame_release(seen);
    receive_text(&pair->server, "words");
    nothing_comes(&pair->server);
}

TEST(a_full_ring_takes_no_more_until_it_is_read, false)
{
    char text[16];
    int sent = 0, read = 0;
    ck_assert(window_sleep(&pair->server));
    for (int round = 0; round < 3; round++) {
        enum status status;
        struct frame *payload = filled(64, round);
        do {
            snprintf(text, sizeof text, "%d", sent);
            status = send_text(&pair->worker, text, frame_retain(payload), 64);
        } while (status == STATUS_OK && ++sent);
        ck_assert_int_eq(status, STATUS_AGAIN);
        ck_assert(frame_is_unique(payload));
        frame_release(payload);
        window_awake(&pair->server);
        while (read < sent) {
            snprintf(text, sizeof text, "%d", read++);
            frame_release(receive_text(&pair->server, text));
        }
        nothing_comes(&pair->server);
    }
    ck_assert_int_gt(sent, 1000);
}

static bool rings(int bell)
{
    eventfd_t count;
    return eventfd_read(bell, &count) == 0;
}

static void check_bells(struct window *sleeper, struct window *other)
{
    ck_assert_int_eq(send_text(other, "a", NULL, 0), STATUS_OK);
    ck_assert(!rings(sleeper->mine)); /* Awake. */
    ck_assert(!window_sleep(sleeper));
    receive_text(sleeper, "a");
    ck_assert(window_sleep(sleeper));
    ck_assert(!rings(sleeper->mine));
    ck_assert_int_eq(send_text(other, "b", NULL, 0), STATUS_OK);
    ck_assert_int_eq(send_text(other, "c", NULL, 0), STATUS_OK);
    ck_assert(rings(sleeper->mine));
    window_awake(sleeper);
    receive_text(sleeper, "b");
    receive_text(sleeper, "c");
    ck_assert(window_sleep(sleeper));
    window_awake(sleeper); /* Thought better of it. */
    ck_assert_int_eq(send_text(other, "d", NULL, 0), STATUS_OK);
    ck_assert(!rings(sleeper->mine));
    receive_text(sleeper, "d");
    ck_assert(!rings(other->mine));
}

TEST(the_bell_rings_for_who_sleeps_and_no_one_else, false)
{
    check_bells(&pair->server, &pair->worker);
    check_bells(&pair->worker, &pair->server);
}

TEST(who_sleeps_while_its_ring_is_full_is_woken, false)
{
    enum status status;
    do
        status = send_text(&pair->worker, "x", NULL, 0);
    while (status == STATUS_OK);
    /* Nothing of ours sleeps over a full ring; the announcement is set by hand, as if it had been
     * made between the last message that fit and this one. */
    uint32_t asleep = 1;
    memcpy((char *)pair->server.in.shared + 128, &asleep, sizeof asleep);
    ck_assert_int_eq(send_text(&pair->worker, "x", NULL, 0), STATUS_AGAIN);
    ck_assert(rings(pair->server.mine));
}

int main(void)
{
    return suite_run("window", NULL);
}
