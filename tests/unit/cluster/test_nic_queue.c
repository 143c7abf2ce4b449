/* test_nic_queue.c - streams that take turns: by hand, and against the same thing counted byte by byte. */

#include "deploy/cluster/nic_queue.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

#define RATE 1000000000ull /* A byte a nanosecond. */

/* --- by hand: hosts of one rate, pieces of 100 bytes ------------------------------------------------- */

static const struct nic_queue_options pieces_of_100 = {.piece_bytes = 100};

struct hosts {
    struct nic_queue *queue;
    uint32_t streams;
};

static void open_hosts(struct hosts *h, const struct nic_queue_options *options, const uint64_t *up,
                       const uint64_t *down, uint32_t count)
{
    *h = (struct hosts){.queue = nic_queue_create(options, up, down, count)};
    ck_assert_ptr_nonnull(h->queue);
    for (uint32_t from = 0; from < count; from++)
        for (uint32_t to = 0; to < count; to++)
            ck_assert_int_eq(nic_queue_connect(h->queue, h->streams++, from, to), STATUS_OK);
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(nic_queue_make_room(h->queue, i), STATUS_OK);
}

static void open_alike(struct hosts *h)
{
    static const uint64_t rates[] = {RATE, RATE, RATE, RATE};
    open_hosts(h, &pieces_of_100, rates, rates, 4);
}

static void close_hosts(struct hosts *h)
{
    ck_assert_uint_eq(nic_queue_next(h->queue), NIC_QUEUE_NEVER);
    nic_queue_free(h->queue);
}

#define TEST(name) SUITE_TEST(name, struct hosts, h, open_alike(h), close_hosts(h))

/* The stream between two of the four hosts. */
static uint32_t of(uint32_t from, uint32_t to)
{
    return 4 * from + to;
}

static void pass(struct hosts *h, uint64_t until_ns)
{
    size_t count;
    while (nic_queue_next(h->queue) <= until_ns) {
        nic_queue_advance(h->queue, nic_queue_next(h->queue), &count);
        ck_assert_uint_eq(count, 0);
    }
}

/* The next to be there is the one of that tag, then. */
static void ends(struct hosts *h, uint64_t tag, uint64_t at_ns)
{
    size_t count = 0;
    const uint64_t *tags = NULL;
    uint64_t now_ns = 0;
    while (count == 0 && nic_queue_next(h->queue) != NIC_QUEUE_NEVER) {
        now_ns = nic_queue_next(h->queue);
        tags = nic_queue_advance(h->queue, now_ns, &count);
    }
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(tags[0], tag);
    ck_assert_uint_eq(now_ns, at_ns);
}

TEST_PLAIN(a_transfer_alone_has_the_slower_of_its_cards)
{
    static const uint64_t up[] = {RATE, RATE, RATE / 2, RATE};
    static const uint64_t down[] = {RATE, RATE / 4, RATE, RATE};
    struct hosts it, *h = &it;
    open_hosts(h, &pieces_of_100, up, down, 4);
    nic_queue_begin(h->queue, of(0, 3), 1001, 7, 5);
    ends(h, 7, 1006);
    nic_queue_begin(h->queue, of(0, 1), 1000, 8, 2000);
    ends(h, 8, 6000);
    nic_queue_begin(h->queue, of(2, 3), 1000, 9, 7000);
    ends(h, 9, 9000);
    close_hosts(h);
}

/* 333 1/3 ns a piece: what one's end is rounded by is not lost for the next. */
TEST_PLAIN(a_piece_leaves_in_the_nearest_nanosecond)
{
    static const uint64_t up[] = {3 * RATE / 10, RATE};
    static const uint64_t down[] = {RATE, RATE};
    struct hosts it, *h = &it;
    open_hosts(h, &pieces_of_100, up, down, 2);
    nic_queue_begin(h->queue, 1, 200, 1, 0);
    ends(h, 1, 667);
    nic_queue_begin(h->queue, 1, 1000, 2, 1000);
    ends(h, 2, 4333);
    close_hosts(h);
}

TEST(the_one_that_is_first_stays_first_by_two_pieces)
{
    nic_queue_begin(h->queue, of(0, 1), 300, 1, 0);
    pass(h, 150);
    nic_queue_begin(h->queue, of(0, 2), 300, 2, 150);
    ends(h, 1, 300);
    ends(h, 2, 600);
}

TEST(long_ones_take_turns_piece_by_piece)
{
    nic_queue_begin(h->queue, of(0, 1), 1000, 1, 0);
    pass(h, 450);
    nic_queue_begin(h->queue, of(0, 2), 1000, 2, 450);
    pass(h, 650); /* aaaaa a bb aa bb aa bb ... */
    ends(h, 1, 1400);
    ends(h, 2, 2000);
}

TEST(what_is_less_than_half_a_piece_waits_until_those_before_it_have_left)
{
    nic_queue_begin(h->queue, of(0, 1), 140, 1, 0);
    nic_queue_begin(h->queue, of(0, 2), 160, 2, 0);
    ends(h, 2, 260);
    ends(h, 1, 300);
}

/* As libzmq writes a message: three of its pieces may be there then. */
TEST_PLAIN(a_first_piece_is_as_long_as_is_said)
{
    static const struct nic_queue_options options = {.piece_bytes = 100, .first_bytes = 10};
    static const uint64_t rates[] = {RATE, RATE, RATE, RATE};
    struct hosts it, *h = &it;
    open_hosts(h, &options, rates, rates, 4);
    nic_queue_begin(h->queue, of(0, 1), 320, 1, 0);
    nic_queue_begin(h->queue, of(0, 2), 50, 2, 0); /* 10 and 40. */
    ends(h, 2, 260);
    ends(h, 1, 370);
    close_hosts(h);
}

TEST_PLAIN(a_fast_card_is_given_as_much_as_it_sends_in_a_while)
{
    static const struct nic_queue_options options = {.piece_bytes = 100, .ahead_ns = 1000};
    static const uint64_t rates[] = {RATE, RATE, RATE / 10, RATE};
    struct hosts it, *h = &it;
    open_hosts(h, &options, rates, rates, 4);
    nic_queue_begin(h->queue, of(0, 1), 1000, 1, 0);
    nic_queue_begin(h->queue, of(0, 3), 1000, 2, 0);
    ends(h, 1, 1000);
    ends(h, 2, 2000);
    nic_queue_begin(h->queue, of(2, 1), 300, 3, 3000);
    nic_queue_begin(h->queue, of(2, 3), 200, 4, 3000);
    ends(h, 4, 3000 + 4000);
    ends(h, 3, 3000 + 5000);
    close_hosts(h);
}

TEST(what_comes_from_several_is_mixed_in_front_of_a_card)
{
    nic_queue_begin(h->queue, of(0, 3), 500, 1, 0);
    pass(h, 200);
    nic_queue_begin(h->queue, of(1, 3), 500, 2, 200);
    ends(h, 1, 800); /* As evenly shared: alone until 200. */
    ends(h, 2, 1000);
}

TEST_PLAIN(a_slow_receiver_holds_up_nobody_else)
{
    static const uint64_t up[] = {RATE, RATE, RATE, RATE};
    static const uint64_t down[] = {RATE, RATE / 10, RATE, RATE};
    struct hosts it, *h = &it;
    open_hosts(h, &pieces_of_100, up, down, 4);
    nic_queue_begin(h->queue, of(0, 1), 200, 1, 0);
    nic_queue_begin(h->queue, of(0, 2), 200, 2, 0);
    ends(h, 2, 400);
    ends(h, 1, 2000);
    close_hosts(h);
}

TEST(a_stream_has_an_order_and_no_pause)
{
    nic_queue_begin(h->queue, of(0, 1), 130, 1, 0);
    nic_queue_begin(h->queue, of(0, 1), 20, 2, 0);
    nic_queue_begin(h->queue, of(0, 1), 400, 3, 0);
    ends(h, 1, 130);
    ends(h, 2, 150);
    ends(h, 3, 550);
}

TEST(what_is_stopped_sends_no_more_and_what_has_left_stays)
{
    uint32_t first = nic_queue_begin(h->queue, of(0, 3), 1000, 1, 0);
    uint32_t second = nic_queue_begin(h->queue, of(0, 3), 1000, 2, 0);
    nic_queue_begin(h->queue, of(1, 3), 500, 3, 0);
    nic_queue_begin(h->queue, of(0, 2), 100, 4, 0);
    pass(h, 150);
    nic_queue_stop(h->queue, second, 150);
    nic_queue_stop(h->queue, first, 150); /* In the middle of its second piece. */
    ends(h, 4, 250);
    ends(h, 3, 650); /* 150 of the first were before its end. */
}

TEST(what_waits_for_its_card_only_may_still_be_stopped)
{
    uint32_t first = nic_queue_begin(h->queue, of(0, 3), 100, 1, 0);
    nic_queue_begin(h->queue, of(1, 3), 100, 2, 0);
    nic_queue_begin(h->queue, of(2, 3), 100, 3, 0);
    pass(h, 200);
    nic_queue_stop(h->queue, first, 200);
    size_t count;
    const uint64_t *tags = nic_queue_advance(h->queue, 300, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(tags[0] + tags[1], 5);
}

/* --- byte by byte: rates of whole bytes a nanosecond, pieces that all of them divide ------------------- */

#define HOSTS   5
#define STREAMS 12
#define ASKED   60
#define PIECE   24u
#define AHEAD   4

struct asked {
    uint32_t stream;
    uint64_t at_ns, bytes;
    uint64_t there_ns; /* 0: not yet. */
    /* What the slow one knows. */
    uint64_t left, in_nic;
    uint64_t threshold; /* Of what has come to the card down before its end; 0: not all has left. */
};

struct world {
    struct nic_queue_options options;
    uint32_t from[STREAMS], to[STREAMS];
    uint64_t up[HOSTS], down[HOSTS];
    struct asked asked[ASKED];
};

static void draw(struct world *w, uint64_t seed)
{
    static const uint64_t rates[] = {1, 2, 3, 4};
    struct random_sequence random;
    random_sequence_init(&random, seed, RANDOM_STREAM_SIMULATOR, 9);
    memset(w, 0, sizeof *w);
    w->options = (struct nic_queue_options){.piece_bytes = PIECE,
                                            .first_bytes = 12 * random_below(&random, 2),
                                            .ahead_ns = 24 * random_below(&random, 2)};
    for (int h = 0; h < HOSTS; h++) {
        w->up[h] = rates[random_below(&random, 4)];
        w->down[h] = rates[random_below(&random, 4)];
    }
    for (int s = 0; s < STREAMS; s++) {
        w->from[s] = random_below(&random, HOSTS);
        w->to[s] = random_below(&random, HOSTS);
    }
    uint64_t at_ns = 1;
    for (int i = 0; i < ASKED; i++) {
        uint64_t bytes = 12 * (1 + random_below(&random, 40));
        w->asked[i] = (struct asked){.stream = random_below(&random, STREAMS),
                                     .at_ns = at_ns,
                                     .bytes = bytes,
                                     .left = bytes};
        at_ns += random_below(&random, 2) * random_below(&random, 200);
    }
}

/* The slow one: a list of pieces of each host, in which a byte is a byte. */
struct piece {
    uint32_t asked;
    uint64_t bytes, left;
};
struct list {
    struct piece pieces[STREAMS * AHEAD];
    size_t count;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of what has been asked for; false when the card has enough of the stream. */
static bool give_piece(struct world *w, struct list *list, uint32_t i)
{
    struct asked *asked = &w->asked[i];
    uint64_t ahead = w->up[w->from[asked->stream]] * w->options.ahead_ns, there = 0, pieces = 0;
    for (size_t j = 0; j < list->count; j++)
        if (w->asked[list->pieces[j].asked].stream == asked->stream) {
            there += list->pieces[j].bytes;
            pieces++;
        }
    bool first = asked->left == asked->bytes && w->options.first_bytes > 0;
    uint64_t most = first ? w->options.first_bytes : larger(PIECE, ahead / 2);
    uint64_t bytes = asked->left < most ? asked->left : most;
    if (pieces == AHEAD || (there > 0 && there >= larger(2 * bytes, ahead)))
        return false;
    list->pieces[list->count++] = (struct piece){i, bytes, bytes};
    asked->left -= bytes;
    asked->in_nic++;
    return true;
}

/* A stream gives its card what it may of the first `count` that have been asked for. */
static void give(struct world *w, struct list *lists, uint32_t stream, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        while (w->asked[i].stream == stream && w->asked[i].left > 0)
            if (!give_piece(w, &lists[w->from[stream]], i))
                return;
}

/* One nanosecond of a card up; the stream of which a piece has left, or STREAMS. */
static uint32_t send(struct world *w, struct list *list, uint64_t rate, uint64_t *come)
{
    if (list->count == 0)
        return STREAMS;
    struct piece *first = &list->pieces[0];
    uint32_t stream = w->asked[first->asked].stream;
    first->left -= rate;
    come[w->to[stream]] += rate;
    if (first->left > 0)
        return STREAMS;
    w->asked[first->asked].in_nic--;
    list->count--;
    memmove(first, first + 1, list->count * sizeof *first);
    return stream;
}

/* How many are there now for the first time. */
static uint32_t note_arrivals(struct world *w, uint32_t asked_for, const uint64_t *come,
                              const uint64_t *gone, uint64_t now_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < asked_for; i++) {
        struct asked *asked = &w->asked[i];
        uint32_t to = w->to[asked->stream];
        if (asked->threshold == 0 && asked->left == 0 && asked->in_nic == 0)
            asked->threshold = come[to];
        if (asked->there_ns > 0 || asked->threshold == 0 || gone[to] < asked->threshold)
            continue;
        asked->there_ns = now_ns;
        count++;
    }
    return count;
}

static void count_bytes(struct world *w)
{
    static struct list lists[HOSTS];
    uint64_t come[HOSTS] = {0}, gone[HOSTS] = {0};
    memset(lists, 0, sizeof lists);
    uint32_t asked_for = 0, there = 0;
    for (uint64_t now_ns = 1; there < ASKED; now_ns++) {
        for (; asked_for < ASKED && w->asked[asked_for].at_ns == now_ns; asked_for++)
            give(w, lists, w->asked[asked_for].stream, asked_for + 1);
        uint32_t left[HOSTS];
        for (int h = 0; h < HOSTS; h++)
            left[h] = send(w, &lists[h], w->up[h], come);
        for (int h = 0; h < HOSTS; h++) {
            gone[h] += w->down[h] < come[h] - gone[h] ? w->down[h] : come[h] - gone[h];
            if (left[h] < STREAMS)
                give(w, lists, left[h], asked_for);
        }
        there += note_arrivals(w, asked_for, come, gone, now_ns + 1);
    }
}

/* In the nearest nanosecond; as counted, in the first by whose end it is there. */
static void expect_arrival(const struct asked *asked, uint64_t tag, uint64_t at_ns)
{
    ck_assert_msg(asked->there_ns == at_ns || asked->there_ns == at_ns + 1,
                  "%u is there at %u, not %u", (unsigned)tag, (unsigned)at_ns,
                  (unsigned)asked->there_ns);
}

static void expect_the_same(struct world *w)
{
    uint64_t up[HOSTS], down[HOSTS];
    for (int h = 0; h < HOSTS; h++) {
        up[h] = w->up[h] * RATE;
        down[h] = w->down[h] * RATE;
    }
    struct nic_queue *queue = nic_queue_create(&w->options, up, down, HOSTS);
    for (uint32_t s = 0; s < STREAMS; s++)
        ck_assert_int_eq(nic_queue_connect(queue, s, w->from[s], w->to[s]), STATUS_OK);
    for (uint32_t asked = 0, there = 0; there < ASKED;) {
        uint64_t next_ns = nic_queue_next(queue);
        if (asked < ASKED && w->asked[asked].at_ns < next_ns) {
            ck_assert_int_eq(nic_queue_make_room(queue, asked - there), STATUS_OK);
            nic_queue_begin(queue, w->asked[asked].stream, w->asked[asked].bytes, asked,
                            w->asked[asked].at_ns);
            asked++;
            continue;
        }
        size_t count;
        const uint64_t *tags = nic_queue_advance(queue, next_ns, &count);
        for (size_t i = 0; i < count; i++, there++)
            expect_arrival(&w->asked[tags[i]], tags[i], next_ns);
    }
    nic_queue_free(queue);
}

TEST_PLAIN(it_is_as_counted_byte_by_byte)
{
    static struct world world;
    for (uint64_t seed = 0; seed < 200; seed++) {
        draw(&world, seed);
        count_bytes(&world);
        expect_the_same(&world);
    }
}

int main(void)
{
    return suite_run("turns", NULL);
}
