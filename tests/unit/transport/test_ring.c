/* test_ring.c - the ring between two processes: in order, full, asleep, and written over by
 * somebody hostile. */
/* test: tsan */

#include "common/transport/shm/ring.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

/* What a hostile side knows about the layout: see struct ring_shared. */
enum { HEAD_AT = 0, TAIL_AT = 64, ASLEEP_AT = 128, RECORDS_AT = 192 };
enum { CAPACITY = 8192, PAGE = 4096 };

/* A ring between pages that must not be touched, both sides attached. Forked processes share it. */
struct pair {
    unsigned char *pages, *memory;
    size_t page_bytes;
    struct ring writer, reader;
};

static void pair_init(struct pair *pair)
{
    size_t bytes = ring_bytes(CAPACITY);
    pair->page_bytes = (bytes + PAGE - 1) / PAGE * PAGE + (size_t)2 * PAGE;
    pair->pages =
        mmap(NULL, pair->page_bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(pair->pages, MAP_FAILED);
    size_t middle = pair->page_bytes - (size_t)2 * PAGE;
    ck_assert_int_eq(mprotect(pair->pages + PAGE, middle, PROT_READ | PROT_WRITE), 0);
    pair->memory = pair->pages + PAGE + middle - bytes; /* Ends where the page does. */
    ring_attach(&pair->writer, pair->memory, CAPACITY);
    ring_attach(&pair->reader, pair->memory, CAPACITY);
}

static void pair_free(struct pair *pair)
{
    munmap(pair->pages, pair->page_bytes);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct pair, pair, pair_init(pair), pair_free(pair))

/* check notes every ck_assert in a file; these are passed by the million. */
static void must(bool condition, const char *what)
{
    if (!condition)
        ck_abort_msg("%s", what);
}

static enum status put_text(struct pair *pair, const char *text)
{
    return ring_put(&pair->writer, text, strlen(text) + 1, NULL, 0);
}

static enum status take(struct pair *pair, unsigned char record[RING_RECORD_MAX], size_t *bytes)
{
    return ring_take(&pair->reader, record, RING_RECORD_MAX, bytes);
}

static void poke(struct pair *pair, size_t at, uint64_t value, size_t bytes)
{
    memcpy(pair->memory + at, &value, bytes);
}

TEST(a_record_of_two_pieces_comes_out_as_one)
{
    unsigned char record[RING_RECORD_MAX];
    size_t bytes = 0;
    ck_assert(take(pair, record, &bytes) == STATUS_AGAIN);
    ck_assert(ring_put(&pair->writer, "ab", 2, "cde", 4) == STATUS_OK);
    ck_assert(ring_put(&pair->writer, NULL, 0, "f", 2) == STATUS_OK);
    ck_assert(take(pair, record, &bytes) == STATUS_OK);
    ck_assert_uint_eq(bytes, 6);
    ck_assert_str_eq((char *)record, "abcde");
    ck_assert(take(pair, record, &bytes) == STATUS_OK);
    ck_assert_uint_eq(bytes, 2);
    ck_assert_str_eq((char *)record, "f");
    ck_assert(take(pair, record, &bytes) == STATUS_AGAIN);
}

/* Record number `number`: its length and bytes follow from the number. */
static size_t record_of(uint64_t number, unsigned char record[RING_RECORD_MAX])
{
    uint32_t random[4];
    random_block(1, RANDOM_STREAM_PROBE, 0, number, random);
    size_t bytes = 1 + random[0] % (random[1] % 2 == 0 ? 40 : RING_RECORD_MAX);
    for (size_t i = 0; i < bytes; i++)
        record[i] = (unsigned char)(random[2] + i * 7);
    return bytes;
}

TEST(records_of_all_sizes_go_around_the_end_whole_and_in_order)
{
    unsigned char in[RING_RECORD_MAX], out[RING_RECORD_MAX];
    uint64_t put = 0, taken = 0;
    while (taken < 20000) {
        size_t length = record_of(put, in), cut = length * (put % 3) / 2, bytes = 0;
        enum status status = ring_put(&pair->writer, in, cut, in + cut, length - cut);
        if (status == STATUS_OK) {
            put++;
            continue;
        }
        ck_assert(status == STATUS_AGAIN); /* Full: take some, not always all. */
        for (uint64_t left = 1 + put % 50; left > 0 && taken < put; left--, taken++) {
            ck_assert(take(pair, out, &bytes) == STATUS_OK);
            ck_assert_uint_eq(bytes, record_of(taken, in));
            ck_assert_mem_eq(in, out, bytes);
        }
    }
}

TEST(a_full_ring_takes_no_more_and_has_room_again_once_read)
{
    unsigned char record[RING_RECORD_MAX] = {0};
    size_t bytes, count = 0;
    while (ring_put(&pair->writer, record, 12, NULL, 0) == STATUS_OK) /* 16 with its length. */
        count++;
    ck_assert_uint_eq(count, CAPACITY / 16); /* Every byte is used. */
    ck_assert(ring_put(&pair->writer, record, 1, NULL, 0) == STATUS_AGAIN);
    for (int asked = 0; asked < 2; asked++) { /* Whether the writer knows of the room or not. */
        ck_assert(take(pair, record, &bytes) == STATUS_OK);
        if (asked)
            ck_assert(ring_put(&pair->writer, record, 13, NULL, 0) == STATUS_AGAIN);
        ck_assert(ring_put(&pair->writer, record, 12, NULL, 0) == STATUS_OK);
    }
    for (; count > 0; count--)
        ck_assert(take(pair, record, &bytes) == STATUS_OK);
    ck_assert(take(pair, record, &bytes) == STATUS_AGAIN);
    ck_assert(ring_put(&pair->writer, record, RING_RECORD_MAX, NULL, 0) == STATUS_OK);
}

TEST(the_writer_is_asked_once_to_wake_a_reader_that_sleeps)
{
    unsigned char record[RING_RECORD_MAX];
    size_t bytes;
    ck_assert(put_text(pair, "awake") == STATUS_OK);
    ck_assert(!ring_wants_wake(&pair->writer));
    ck_assert(!ring_sleep(&pair->reader)); /* Something is there. */
    ck_assert(!ring_wants_wake(&pair->writer));
    ck_assert(take(pair, record, &bytes) == STATUS_OK);
    ck_assert(ring_sleep(&pair->reader));
    ck_assert(put_text(pair, "asleep") == STATUS_OK);
    ck_assert(ring_wants_wake(&pair->writer));
    ck_assert(!ring_wants_wake(&pair->writer));
    ck_assert(take(pair, record, &bytes) == STATUS_OK);
    ck_assert(ring_sleep(&pair->reader));
    ring_awake(&pair->reader); /* Something else woke it. */
    ck_assert(!ring_wants_wake(&pair->writer));
    ck_assert(put_text(pair, "seen") == STATUS_OK);
    ck_assert(put_text(pair, "not taken") == STATUS_OK);
    ck_assert(take(pair, record, &bytes) == STATUS_OK);
    ck_assert(!ring_sleep(&pair->reader)); /* One of two is left. */
}

/* A writer and a reader at the same time, and a descriptor to wake the reader with. */
struct traffic {
    struct pair pair;
    int event;
    uint64_t count;
    _Atomic uint64_t *taken; /* So that the writer can let the reader run dry. */
};

static void traffic_init(struct traffic *traffic, uint64_t count)
{
    pair_init(&traffic->pair);
    traffic->count = count;
    traffic->event = eventfd(0, EFD_CLOEXEC);
    ck_assert_int_ge(traffic->event, 0);
    traffic->taken = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(traffic->taken, MAP_FAILED);
}

static void traffic_free(struct traffic *traffic)
{
    munmap(traffic->taken, PAGE);
    close(traffic->event);
    pair_free(&traffic->pair);
}

static void wake(struct traffic *traffic)
{
    if (ring_wants_wake(&traffic->pair.writer))
        eventfd_write(traffic->event, 1);
}

/* A small record: its number, as often as its length says. */
static enum status write_one(struct traffic *traffic, uint64_t number)
{
    uint64_t record[4] = {number, number, number, number};
    size_t more = number % 4 * sizeof *record;
    return ring_put(&traffic->pair.writer, record, sizeof *record, record + 1, more);
}

/* Mostly in bursts that share one question, so that the reader meets records before it was woken
 * for them; now and then one at a time, each when the reader wants to sleep. */
static void *write_all(void *argument)
{
    struct traffic *traffic = argument;
    for (uint64_t number = 0; number < traffic->count;) {
        enum status status = write_one(traffic, number);
        if (status != STATUS_OK && status != STATUS_AGAIN)
            abort();
        number += status == STATUS_OK;
        bool alone = number % 1024 < 32;
        if (status == STATUS_AGAIN || alone || number % 16 == 0 || number == traffic->count)
            wake(traffic);
        if (status == STATUS_AGAIN)
            sched_yield();
        while (alone && atomic_load(traffic->taken) < number)
            sched_yield();
    }
    return NULL;
}

/* A lost wake-up would run into the suite's deadline. */
static void read_all(struct traffic *traffic)
{
    struct ring *ring = &traffic->pair.reader;
    for (uint64_t number = 0; number < traffic->count;) {
        uint64_t record[4], wanted[4] = {number, number, number, number};
        size_t bytes;
        enum status status = ring_take(ring, record, sizeof record, &bytes);
        if (status == STATUS_OK) {
            must(bytes == (1 + number % 4) * sizeof *record, "another length");
            must(memcmp(record, wanted, bytes) == 0, "another record");
            number++;
            atomic_store(traffic->taken, number);
            continue;
        }
        must(status == STATUS_AGAIN, "not to be read");
        for (volatile unsigned i = 0; i < number * 37 % 1024; i++)
            continue; /* Leave the writer time to come between looking and going to sleep. */
        eventfd_t ignored;
        if (number % 2048 < 1024) {
            sched_yield(); /* Without asleep only tail puts the bytes in order, for a while. */
        } else if (ring_sleep(ring)) {
            eventfd_read(traffic->event, &ignored);
            ring_awake(ring);
        }
    }
}

TEST_PLAIN(two_threads_lose_nothing_and_the_reader_is_always_woken)
{
    struct traffic traffic;
    pthread_t writer;
    traffic_init(&traffic, 1000000);
    ck_assert_int_eq(pthread_create(&writer, NULL, write_all, &traffic), 0);
    read_all(&traffic);
    pthread_join(writer, NULL);
    traffic_free(&traffic);
}

TEST_PLAIN(two_processes_lose_nothing_and_the_reader_is_always_woken)
{
    struct traffic traffic;
    int status;
    traffic_init(&traffic, 500000);
    pid_t child = fork();
    if (child == 0) {
        write_all(&traffic);
        _exit(0);
    }
    read_all(&traffic);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    traffic_free(&traffic);
}

TEST_PLAIN(positions_that_cannot_be_are_invalid)
{
    static const uint64_t tails[] = {CAPACITY + 24, CAPACITY + 17, 8, 0, UINT64_MAX, 1ull << 63};
    static const uint64_t heads[] = {4225, CAPACITY, UINT64_MAX, UINT64_MAX - CAPACITY, 1ull << 40};
    unsigned char record[RING_RECORD_MAX];
    size_t bytes;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct pair pair;
        pair_init(&pair);
        ck_assert(put_text(&pair, "12 bytes...") == STATUS_OK);
        ck_assert(take(&pair, record, &bytes) == STATUS_OK);
        poke(&pair, TAIL_AT, tails[i], 8); /* The reader stands at 16. */
        ck_assert(take(&pair, record, &bytes) == STATUS_INVALID);
        ck_assert(!ring_sleep(&pair.reader)); /* It finds out instead of sleeping. */
        pair_free(&pair);
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct pair pair;
        pair_init(&pair);
        ck_assert(put_text(&pair, "12 bytes...") == STATUS_OK);
        ck_assert(ring_put(&pair.writer, record, RING_RECORD_MAX, NULL, 0) == STATUS_OK);
        poke(&pair, HEAD_AT, heads[i], 8); /* The writer stands at 4224, and looks when full. */
        ck_assert(ring_put(&pair.writer, record, RING_RECORD_MAX, NULL, 0) == STATUS_INVALID);
        pair_free(&pair);
    }
}

TEST_PLAIN(lengths_that_cannot_be_are_invalid)
{
    static const uint32_t lengths[] = {
        0, 13, 4000, RING_RECORD_MAX + 1, CAPACITY, UINT32_MAX - 3, UINT32_MAX};
    unsigned char record[RING_RECORD_MAX];
    size_t bytes;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct pair pair;
        pair_init(&pair);
        ck_assert(put_text(&pair, "12 bytes...") == STATUS_OK);
        poke(&pair, RECORDS_AT, lengths[i], 4);
        ck_assert(take(&pair, record, &bytes) == STATUS_INVALID);
        poke(&pair, RECORDS_AT, 12, 4); /* What was refused was not dropped either. */
        ck_assert(ring_take(&pair.reader, record, 11, &bytes) == STATUS_INVALID);
        ck_assert(ring_take(&pair.reader, record, 12, &bytes) == STATUS_OK);
        pair_free(&pair);
    }
}

/* Mostly near what is true, where mistakes would be. */
static void corrupt(struct pair *pair, struct random_sequence *random)
{
    static const size_t words[] = {HEAD_AT, TAIL_AT, ASLEEP_AT};
    uint32_t what = random_below(random, 8);
    size_t at =
        what < 3 ? words[what] : RECORDS_AT + (size_t)8 * random_below(random, CAPACITY / 8);
    uint64_t near = what % 2 == 0 ? pair->writer.own : pair->reader.own;
    uint64_t value = random_next(random) >> random_below(random, 32);
    if (what < 3 && random_below(random, 4) > 0)
        value = near + random_below(random, 3 * CAPACITY) - CAPACITY - CAPACITY / 2;
    else if (random_below(random, 4) == 0)
        value = ~value;
    poke(pair, at, value, what < 3 ? 8 : 4);
}

static bool is_allowed(enum status status)
{
    return status == STATUS_OK || status == STATUS_AGAIN || status == STATUS_INVALID;
}

static void check_take(struct pair *pair)
{
    static const char canary[] = "untouched";
    unsigned char record[RING_RECORD_MAX + sizeof canary];
    size_t bytes = 0;
    memcpy(record + RING_RECORD_MAX, canary, sizeof canary);
    enum status status = take(pair, record, &bytes);
    must(is_allowed(status), "status");
    must(status != STATUS_OK || (bytes >= 1 && bytes <= RING_RECORD_MAX), "length");
    must(memcmp(record + RING_RECORD_MAX, canary, sizeof canary) == 0, "buffer overrun");
    must(pair->reader.other - pair->reader.own <= CAPACITY, "reader's positions");
    if (ring_sleep(&pair->reader))
        ring_awake(&pair->reader);
}

static void check_put(struct pair *pair, struct random_sequence *random)
{
    static const unsigned char bytes[RING_RECORD_MAX];
    uint32_t length = 1 + random_below(random, random_below(random, 2) ? 32 : RING_RECORD_MAX);
    uint32_t a = random_below(random, length + 1);
    must(is_allowed(ring_put(&pair->writer, bytes, a, bytes, length - a)), "status");
    must(pair->writer.own - pair->writer.other <= CAPACITY, "writer's positions");
    ring_wants_wake(&pair->writer);
}

TEST_PLAIN(corrupted_memory_harms_neither_side)
{
    struct random_sequence random;
    random_sequence_init(&random, 7, RANDOM_STREAM_PROBE, 1);
    for (int history = 0; history < 2000; history++) {
        struct pair pair;
        pair_init(&pair);
        for (size_t i = 0; history % 4 == 0 && i < RECORDS_AT + CAPACITY; i += 4)
            poke(&pair, i, random_next(&random), 4); /* Nothing but noise. */
        for (int i = 0; i < 100; i++) {
            if (random_below(&random, 8) == 0)
                corrupt(&pair, &random);
            if (random_below(&random, 2) == 0)
                check_put(&pair, &random);
            else
                check_take(&pair);
        }
        pair_free(&pair);
    }
}

/* Another process, so that ThreadSanitizer is not told of a race that is meant. */
static void scribble(struct pair *pair)
{
    struct random_sequence random;
    random_sequence_init(&random, 9, RANDOM_STREAM_PROBE, 2);
    for (;;) {
        poke(pair, RECORDS_AT + (size_t)8 * random_below(&random, CAPACITY / 8),
             random_below(&random, RING_RECORD_MAX + 100), 4);
        if (random_below(&random, 64) == 0) /* Leave it enough sense to be looked at again. */
            poke(pair, random_below(&random, 2) == 0 ? HEAD_AT : TAIL_AT,
                 (uint64_t)8 * random_below(&random, CAPACITY / 4), 8);
    }
}

TEST(memory_that_changes_while_it_is_read_harms_neither_side)
{
    struct random_sequence random;
    random_sequence_init(&random, 8, RANDOM_STREAM_PROBE, 3);
    pid_t child = fork();
    if (child == 0)
        scribble(pair);
    for (int i = 0; i < 200000; i++) {
        if (i % 20 == 0) { /* A new connection over the same mess. */
            ring_attach(&pair->writer, pair->memory, CAPACITY);
            ring_attach(&pair->reader, pair->memory, CAPACITY);
        }
        check_put(pair, &random);
        check_take(pair);
    }
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

int main(void)
{
    return suite_run("ring", NULL);
}
