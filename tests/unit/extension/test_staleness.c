/* test_staleness.c - what an owner keeps of staleness: its identity for random histories, counted
 * here in another way, and the bytes that travel. */
/* promises: accumulate run-json */

#include "ps/extension/staleness.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

#define WORKERS 5
#define UPDATES 400

/* One chunk's history: each worker holds a version, and makes the next one from it. */
struct history {
    struct staleness_counters counters;
    struct histogram shape;
    uint64_t version, first, held[WORKERS], last[WORKERS], after[WORKERS];
    bool made[WORKERS];
    uint64_t sum, updates;
};

static void begin(struct history *h, uint64_t first)
{
    h->first = h->version = first;
    for (uint32_t i = 0; i < WORKERS; i++)
        h->held[i] = first;
    h->counters.first = first;
}

static void update(struct history *h, uint32_t worker)
{
    h->sum += h->version - h->held[worker];
    h->updates++;
    ck_assert(staleness_counters_add(&h->counters, &h->shape, worker, h->held[worker], h->version,
                                     true) == STATUS_OK);
    h->held[worker] = ++h->version;
    h->made[worker] = true;
    for (uint32_t i = 0; i < WORKERS; i++)
        h->after[i] = i == worker ? 0 : h->after[i] + 1;
}

/* U (W - 1) - sum over workers of the updates after its last one, as it stands in the page. */
static uint64_t expected(const struct history *h)
{
    uint64_t workers = 0, after = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers += h->made[i];
        after += h->made[i] ? h->after[i] : 0;
    }
    return h->updates * (workers - 1) - after;
}

static struct staleness_tally tally_of(const struct history *h)
{
    struct staleness_tally tally = {.all.shape = h->shape};
    ck_assert(staleness_tally_add_counters(&tally, &h->counters) == STATUS_OK);
    return tally;
}

TEST_TIMES(the_sum_is_what_the_last_updates_say_whatever_the_speeds, 50)
{
    struct history h = {0};
    struct random_sequence random;
    random_sequence_init(&random, (uint64_t)_i, RANDOM_STREAM_SIMULATOR, 0);
    begin(&h, (uint64_t)_i * 7);
    uint32_t workers = 1 + (uint32_t)random_below(&random, (uint32_t)WORKERS);
    for (unsigned i = 0; i < UPDATES; i++) /* The fast are much faster. */
        update(&h, (uint32_t)random_below(&random,
                                          (uint32_t)1 + random_below(&random, (uint32_t)workers)));
    struct staleness_tally tally = tally_of(&h);
    ck_assert_uint_eq(tally.all.shape.count, UPDATES);
    ck_assert_uint_eq(tally.all.shape.sum, h.sum);
    ck_assert_uint_eq(tally.all.expected, expected(&h));
    ck_assert_uint_eq(tally.all.shape.sum, tally.all.expected);
    ck_assert_uint_eq(tally.all.renewed, 0);
    staleness_tally_free(&tally);
    staleness_counters_free(&h.counters);
}

TEST_TIMES(what_newer_values_take_off_is_counted, 20)
{
    struct history h = {0};
    struct random_sequence random;
    random_sequence_init(&random, (uint64_t)_i, RANDOM_STREAM_SIMULATOR, 0);
    begin(&h, 3);
    for (unsigned i = 0; i < UPDATES; i++) {
        uint32_t worker = (uint32_t)random_below(&random, (uint32_t)WORKERS);
        if (random_below(&random, (uint32_t)4) == 0) /* Joins again, or is given newer ones. */
            h.held[worker] = h.version;
        update(&h, worker);
    }
    struct staleness_tally tally = tally_of(&h);
    ck_assert_uint_gt(tally.all.renewed, 0);
    ck_assert_uint_eq(tally.all.shape.sum, h.sum);
    ck_assert_uint_eq(tally.all.expected, expected(&h));
    ck_assert_uint_eq(tally.all.shape.sum + tally.all.renewed, tally.all.expected);
    staleness_tally_free(&tally);
    staleness_counters_free(&h.counters);
}

/* A gradient that waits for others leaves the version that it met; what is held a cut may apply. */
static void accumulate(struct history *h, uint32_t worker, uint32_t *members, uint32_t group,
                       uint64_t *made)
{
    bool closes = ++*members == group;
    h->sum += h->version - h->held[worker];
    ck_assert(staleness_counters_add(&h->counters, &h->shape, worker, h->held[worker], h->version,
                                     closes) == STATUS_OK);
    h->version += closes;
    *made += closes;
    if (closes)
        *members = 0;
    h->held[worker] = h->last[worker] = h->version;
    h->made[worker] = true;
}

TEST_TIMES(of_groups_the_sum_is_what_the_last_gradients_and_those_that_made_updates_say, 50)
{
    struct history h = {0};
    struct random_sequence random;
    random_sequence_init(&random, (uint64_t)_i, RANDOM_STREAM_SIMULATOR, 0);
    uint32_t members = 0, group = 2 + (uint32_t)_i % 4;
    uint64_t made = 0, cuts = 0, workers = 0, after = 0;
    begin(&h, (uint64_t)_i);
    for (unsigned i = 0; i < UPDATES; i++) {
        accumulate(&h, (uint32_t)random_below(&random, (uint32_t)WORKERS), &members, group, &made);
        if (members > 0 && random_below(&random, (uint32_t)30) == 0) {
            h.version++;
            members = 0;
            cuts++;
        }
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers += h.made[i];
        after += h.made[i] ? h.version - h.last[i] : 0;
    }
    ck_assert_uint_eq(h.version - h.first, made + cuts);
    struct staleness_tally tally = tally_of(&h);
    ck_assert_uint_eq(tally.all.shape.count, UPDATES);
    ck_assert_uint_eq(tally.all.shape.sum, h.sum);
    ck_assert_uint_eq(tally.all.renewed, 0);
    ck_assert_uint_eq(tally.all.expected, (made + cuts) * workers - made - after);
    ck_assert_uint_eq(tally.all.shape.sum, tally.all.expected);
    staleness_tally_free(&tally);
    staleness_counters_free(&h.counters);
}

TEST_PLAIN(a_base_that_there_is_not_yet_makes_nothing_stale)
{
    struct history h = {0};
    begin(&h, 2);
    ck_assert(staleness_counters_add(&h.counters, &h.shape, 1, 9, 2, true) == STATUS_OK);
    ck_assert_uint_eq(h.shape.max, 0);
    staleness_counters_free(&h.counters);
}

TEST_PLAIN(an_owner_that_begins_anew_has_forgotten_all)
{
    struct history h = {0};
    struct owner_staleness *owner = calloc(1, sizeof *owner + sizeof h.counters);
    begin(&h, 0);
    for (uint32_t i = 0; i < 30; i++)
        update(&h, i % 3);
    owner->chunks[0] = h.counters;
    owner->shape = h.shape;
    staleness_listener.forget(owner, 1, false);
    struct staleness_tally tally = {.all.shape = owner->shape};
    ck_assert(staleness_tally_add_counters(&tally, &owner->chunks[0]) == STATUS_OK);
    ck_assert_uint_eq(tally.all.shape.count + tally.all.expected + tally.workers[2].count, 0);
    staleness_tally_free(&tally);
    staleness_listener.forget(owner, 1, true);
    free(owner);
}

/* A tally of two books, one of them with high numbers. */
static struct staleness_tally make_tally(void)
{
    struct history h = {0};
    begin(&h, 0);
    for (uint32_t i = 0; i < 90; i++)
        update(&h, i % 10 == 0 ? 4 : i % 2);
    h.held[3] = 0;
    h.version = 1u << 20;
    update(&h, 3);
    struct staleness_tally tally = tally_of(&h);
    staleness_counters_free(&h.counters);
    return tally;
}

TEST_PLAIN(what_is_written_is_what_is_read_and_adds_up)
{
    struct staleness_tally tally = make_tally(), twice = {0};
    struct frame *frame = staleness_tally_frame(&tally);
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_le(frame->bytes, STALENESS_BYTES_MAX);
    ck_assert(staleness_tally_read(&twice, frame) == STATUS_OK);
    ck_assert_mem_eq(&twice.all, &tally.all, sizeof tally.all);
    ck_assert(staleness_tally_read(&twice, frame) == STATUS_OK);
    ck_assert_uint_eq(twice.all.shape.count, 2 * tally.all.shape.count);
    ck_assert_uint_eq(twice.all.expected, 2 * tally.all.expected);
    ck_assert_uint_eq(twice.workers[4].count, 2 * tally.workers[4].count);
    ck_assert_uint_eq(twice.workers[3].max, (1u << 20));
    frame_release(frame);
    staleness_tally_free(&tally);
    staleness_tally_free(&twice);
}

/* Bytes come from anyone: whatever is cut off or changed, nothing is read beyond the end, and what
 * does not add up is not taken. */
TEST_PLAIN(bytes_that_are_no_tally_are_refused_whole)
{
    struct staleness_tally tally = make_tally(), none = {0};
    struct frame *frame = staleness_tally_frame(&tally);
    uint64_t *words = frame->data;
    size_t bytes = frame->bytes;
    for (size_t cut = 0; cut < bytes; cut++) {
        frame->bytes = cut;
        ck_assert(staleness_tally_read(&none, frame) == STATUS_INVALID);
    }
    frame->bytes = bytes;
    static const uint64_t wrong[] = {UINT64_MAX, 1ull << 61, HISTOGRAM_BUCKETS + 1};
    for (size_t at = 0; at < STALENESS_WORDS; at++) {
        if (at == 1 || at == 3 || at == 4 || at == 5) /* Sums: any may be. */
            continue;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            uint64_t right = words[at];
            words[at] = wrong[i];
            ck_assert_msg(staleness_tally_read(&none, frame) == STATUS_INVALID, "word %zu", at);
            words[at] = right;
        }
    }
    ck_assert_uint_eq(none.all.shape.count, 0);
    ck_assert(staleness_tally_read(&none, frame) == STATUS_OK);
    frame_release(frame);
    staleness_tally_free(&tally);
    staleness_tally_free(&none);
}

int main(void)
{
    return suite_run("staleness_book", NULL);
}
