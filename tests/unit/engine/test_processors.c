/* Shared processors: what can be worked out by hand, and all the rest against a reference that goes
 * through every single nanosecond. */

#include <stdlib.h>

#include "common/base/random.h"
#include "deploy/engine/processors.h"
#include "tests/lib/suite.h"

/* Ends, as they come. */
struct ends {
    uint64_t tag[64], at_ns[64];
    uint32_t count;
};

static void take_all(struct processors *p, uint64_t now_ns, struct ends *ends)
{
    for (uint64_t tag; processors_take(p, &tag); ends->count++) {
        ck_assert_uint_lt(ends->count, 64);
        ends->tag[ends->count] = tag;
        ends->at_ns[ends->count] = now_ns;
    }
}

static struct ends run_out(struct processors *p)
{
    struct ends ends = {.count = 0};
    for (uint64_t next_ns; (next_ns = processors_next_ns(p)) != UINT64_MAX;) {
        processors_advance(p, next_ns);
        take_all(p, next_ns, &ends);
    }
    return ends;
}

static struct processors *make(uint64_t count)
{
    return processors_create(&count, 1);
}

/* --- by hand --------------------------------------------------------------------------------- */

TEST_PLAIN(with_a_processor_for_each_nobody_waits_for_anybody)
{
    struct processors *p = make(4);
    for (uint64_t i = 0; i < 4; i++)
        processors_begin(p, 10 * i, 0, 1000 - 100 * i, i);
    struct ends ends = run_out(p);
    ck_assert_uint_eq(ends.count, 4);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(ends.tag[i], 3 - i);
        ck_assert_uint_eq(ends.at_ns[i], 10 * (3 - i) + 1000 - 100 * (3 - i));
    }
    processors_free(p);
}

/* n alike on P: n W / P, and in the order in which they began. */
TEST_PLAIN(those_who_are_more_than_processors_take_longer_all_alike)
{
    for (uint64_t count = 1; count <= 3; count++)
        for (uint64_t n = 1; n <= 12; n++) {
            struct processors *p = make(count);
            for (uint64_t i = 0; i < n; i++)
                processors_begin(p, 5, 0, 1000000, i);
            ck_assert_uint_eq(processors_running(p, 0), n);
            struct ends ends = run_out(p);
            ck_assert_uint_eq(ends.count, n);
            uint64_t busy = n < count ? count : n;
            for (uint64_t i = 0; i < n; i++) {
                ck_assert_uint_eq(ends.tag[i], i);
                ck_assert_uint_eq(ends.at_ns[i], 5 + (1000000 * busy + count - 1) / count);
            }
            processors_free(p);
        }
}

/* On one processor the k-th shortest ends after the sum of min(w_i, w_k). */
TEST_PLAIN(short_ones_get_out_of_the_way)
{
    static const uint64_t work[] = {700, 100, 300, 300};
    struct processors *p = make(1);
    for (uint64_t i = 0; i < 4; i++)
        processors_begin(p, 0, 0, work[i], i);
    struct ends ends = run_out(p);
    static const uint64_t tag[] = {1, 2, 3, 0}, at_ns[] = {400, 1000, 1000, 1400};
    ck_assert_uint_eq(ends.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(ends.tag[i], tag[i]);
        ck_assert_uint_eq(ends.at_ns[i], at_ns[i]);
    }
    processors_free(p);
}

/* Two workers and a server on two cores. */
TEST_PLAIN(a_third_thread_slows_two_down_only_while_it_works)
{
    struct processors *p = make(2);
    processors_begin(p, 0, 0, 30000000, 0);
    processors_begin(p, 0, 0, 30000000, 1);
    processors_begin(p, 3000000, 0, 2000000, 2);
    struct ends ends = run_out(p);
    ck_assert_uint_eq(ends.count, 3);
    ck_assert_uint_eq(ends.tag[0], 2);
    ck_assert_uint_eq(ends.at_ns[0], 6000000); /* At 2/3 of a processor. */
    ck_assert_uint_eq(ends.at_ns[1], 31000000);
    ck_assert_uint_eq(ends.at_ns[2], 31000000);
    processors_free(p);
}

TEST_PLAIN(what_is_held_takes_nothing_and_what_is_stopped_tells_what_it_had)
{
    struct processors *p = make(1);
    uint32_t held = processors_begin(p, 0, 0, 100, 1), stopped = processors_begin(p, 0, 0, 100, 2);
    processors_hold(p, 40, held); /* Both have had 20. */
    ck_assert_uint_eq(processors_next_ns(p), 120);
    ck_assert_uint_eq(processors_stop(p, 70, stopped), 50);
    ck_assert_uint_eq(processors_next_ns(p), UINT64_MAX);
    processors_release(p, 1000, held);
    processors_release(p, 1000, held);
    ck_assert_uint_eq(processors_next_ns(p), 1080);
    ck_assert_uint_eq(processors_stop(p, 1030, held), 50);
    ck_assert_uint_eq(processors_next_ns(p), UINT64_MAX);
    processors_free(p);
}

TEST_PLAIN(one_that_is_done_can_still_be_stopped)
{
    struct processors *p = make(1);
    uint64_t tag;
    uint32_t first = processors_begin(p, 0, 0, 10, 7);
    processors_begin(p, 0, 0, 10, 8);
    processors_advance(p, 20);
    processors_hold(p, 20, first);
    ck_assert_uint_eq(processors_stop(p, 20, first), 10);
    ck_assert(processors_take(p, &tag) && tag == 8);
    ck_assert(!processors_take(p, &tag));
    processors_free(p);
}

TEST_PLAIN(no_work_is_done_at_once_and_the_most_is_done_in_the_end)
{
    struct processors *p = make(1);
    processors_begin(p, 77, 0, 0, 1);
    ck_assert_uint_eq(processors_next_ns(p), 77);
    run_out(p);
    for (uint64_t i = 0; i < 16; i++)
        processors_begin(p, 77, 0, UINT64_MAX, i);
    struct ends ends = run_out(p);
    ck_assert_uint_eq(ends.count, 16);
    ck_assert_uint_eq(ends.at_ns[15], 77 + 16 * PROCESSORS_WORK_MOST);
    processors_free(p);
}

/* Thirds and sevenths that do not come out even, again and again, and an end that does. */
TEST_PLAIN(rounding_moves_no_end_however_often_somebody_comes_and_goes)
{
    struct processors *p = make(1);
    uint64_t had = 0, now_ns = 0, tag;
    processors_begin(p, 0, 0, 1000000, 1);
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t others[6], n = i % 2 == 0 ? 2 : 6;
        for (unsigned k = 0; k < n; k++)
            others[k] = processors_begin(p, now_ns, 0, 1000, 2);
        now_ns += 1; /* Of which it has 1/3 or 1/7. */
        for (unsigned k = 0; k < n; k++)
            processors_stop(p, now_ns, others[k]);
        had += i % 2 == 0 ? 7 : 3; /* In 1/21. */
    }
    ck_assert_uint_eq(processors_next_ns(p), now_ns + (21 * 1000000 - had + 20) / 21);
    run_out(p);
    for (uint64_t i = 0; i < 3; i++)
        processors_begin(p, 10000000, 0, 1000, i);
    processors_advance(p, 10001000); /* Only looked at. */
    ck_assert(!processors_take(p, &tag));
    ck_assert_uint_eq(processors_next_ns(p), 10003000);
    processors_free(p);
}

TEST_PLAIN(hosts_have_nothing_to_do_with_one_another_and_ends_of_one_time_are_in_order)
{
    static const uint64_t counts[] = {1, 2, 1};
    struct processors *p = processors_create(counts, 3);
    processors_begin(p, 0, 2, 100, 0);
    processors_begin(p, 0, 0, 50, 1);
    processors_begin(p, 0, 1, 100, 2);
    processors_begin(p, 0, 0, 50, 3);
    processors_begin(p, 0, 1, 99, 4);
    struct ends ends = run_out(p);
    static const uint64_t tag[] = {4, 0, 1, 2, 3};
    ck_assert_uint_eq(ends.count, 5);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_eq(ends.tag[i], tag[i]);
        ck_assert_uint_eq(ends.at_ns[i], i == 0 ? 99 : 100);
    }
    processors_free(p);
}

/* --- the reference --------------------------------------------------------------------------- */

#define HOSTS 3
#define TASKS 24  /* In all at a time; at most 8 a host. */
#define WHOLE 840 /* A nanosecond in parts that 1 to 8 divide. */

enum naive_state { NAIVE_FREE, NAIVE_RUNS, NAIVE_HELD };

struct naive {
    enum naive_state state;
    uint32_t host, task;
    uint64_t order, left;
};

struct contest {
    struct processors *p;
    struct random_sequence random;
    uint64_t counts[HOSTS];
    struct naive naive[TASKS];
    uint64_t begun, now_ns, ended;
};

static uint64_t running(const struct contest *c, uint32_t host)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < TASKS; i++)
        n += c->naive[i].state == NAIVE_RUNS && c->naive[i].host == host;
    return n;
}

static uint64_t there(const struct contest *c, uint32_t host)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < TASKS; i++)
        n += c->naive[i].state != NAIVE_FREE && c->naive[i].host == host;
    return n;
}

static void begin_one(struct contest *c, struct naive *n)
{
    uint32_t host = random_below(&c->random, HOSTS);
    if (there(c, host) == 8)
        return;
    uint64_t work = random_below(&c->random, 2) == 0 ? 30 : random_below(&c->random, 60);
    *n = (struct naive){NAIVE_RUNS, host, 0, c->begun++, WHOLE * work};
    n->task = processors_begin(c->p, c->now_ns, host, work, n->order);
}

static void touch(struct contest *c, struct naive *n)
{
    uint32_t what = random_below(&c->random, 10);
    if (n->state == NAIVE_FREE) {
        begin_one(c, n);
    } else if (what < 5) {
        processors_hold(c->p, c->now_ns, n->task);
        n->state = NAIVE_HELD;
    } else if (what < 9) {
        processors_release(c->p, c->now_ns, n->task);
        n->state = NAIVE_RUNS;
    } else {
        processors_stop(c->p, c->now_ns, n->task);
        n->state = NAIVE_FREE;
    }
}

/* The one that is done now and began first, which is gone then; NULL. */
static struct naive *naive_done(struct contest *c)
{
    struct naive *first = NULL;
    for (unsigned i = 0; i < TASKS; i++) {
        struct naive *n = &c->naive[i];
        if (n->state == NAIVE_RUNS && n->left == 0 && (first == NULL || n->order < first->order))
            first = n;
    }
    if (first != NULL)
        first->state = NAIVE_FREE;
    return first;
}

static void expect_the_same_ends(struct contest *c)
{
    uint64_t tag;
    struct naive *done;
    while (processors_next_ns(c->p) == c->now_ns)
        processors_advance(c->p, c->now_ns);
    while ((done = naive_done(c)) != NULL) {
        ck_assert_msg(processors_take(c->p, &tag), "number %u is not done at %u",
                      (unsigned)done->order, (unsigned)c->now_ns);
        ck_assert_uint_eq(tag, done->order);
        c->ended++;
    }
    ck_assert(!processors_take(c->p, &tag));
    ck_assert_uint_gt(processors_next_ns(c->p), c->now_ns);
}

static void pass_a_nanosecond(struct contest *c)
{
    uint64_t n[HOSTS];
    for (uint32_t host = 0; host < HOSTS; host++)
        n[host] = running(c, host);
    for (unsigned i = 0; i < TASKS; i++) {
        struct naive *naive = &c->naive[i];
        if (naive->state != NAIVE_RUNS)
            continue;
        uint64_t on = n[naive->host], processors = c->counts[naive->host];
        uint64_t part = on > processors ? WHOLE * processors / on : WHOLE;
        naive->left -= part < naive->left ? part : naive->left;
    }
    c->now_ns++;
}

TEST_TIMES(nobody_ends_at_another_time_than_one_nanosecond_after_the_other_says, 20)
{
    struct contest c = {.counts = {1, 2, 3}};
    random_sequence_init(&c.random, (uint64_t)_i, RANDOM_STREAM_SIMULATOR, 0);
    c.p = processors_create(c.counts, HOSTS);
    while (c.now_ns < 20000) {
        expect_the_same_ends(&c);
        for (uint32_t n = random_below(&c.random, 3); n > 0; n--)
            touch(&c, &c.naive[random_below(&c.random, TASKS)]);
        expect_the_same_ends(&c);
        pass_a_nanosecond(&c);
    }
    ck_assert_uint_gt(c.ended, 1000);
    processors_free(c.p);
}

int main(void)
{
    return suite_run("processors", NULL);
}
