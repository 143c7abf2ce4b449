/* test_recorder.c - what processes do is kept in a file of bounded size: the first steps, the last and the
 * slowest; what is damaged or nobody's is left out. */
/* promises: trace */

#include "common/trace/recorder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/suite.h"

#define MS    UINT64_C(1000000)
#define STEPS 9u

struct kept {
    int file;
    struct recorder *recorder;
};

static struct recorder *begin_at(int file, enum role role, uint32_t index, uint32_t slots)
{
    struct recorder *recorder;
    struct error error;
    const struct region region = {.role = role, .index = index, .slots = slots, .host = 7};
    ck_assert_int_eq(
        recorder_begin(&recorder, fcntl(file, F_DUPFD_CLOEXEC, 0), &region, STEPS, &error),
        STATUS_OK);
    return recorder;
}

static void open_kept(struct kept *k, enum role role, uint32_t slots)
{
    k->file = memfd_create("trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_ge(k->file, 0);
    k->recorder = begin_at(k->file, role, 3, slots);
}

static void close_kept(struct kept *k)
{
    recorder_close(&k->recorder);
    close(k->file);
}

#define TEST(name, role, slots)                                                                    \
    SUITE_TEST(name, struct kept, k, open_kept(k, role, slots), close_kept(k))

/* --- reading it ---------------------------------------------------------------------------------- */

struct read {
    struct span *list; /* [count] */
    size_t count;
    uint32_t regions;
    uint64_t damaged;
};

static enum status note_region(void *context, const struct region *region, struct error *error)
{
    struct read *read = context;
    (void)error;
    ck_assert_uint_eq(region->host, 7);
    read->regions++;
    return STATUS_OK;
}

static enum status note_segment(void *context, const struct segment *segment,
                                const struct span *spans, struct error *error)
{
    struct read *read = context;
    (void)error;
    read->list = realloc(read->list, (read->count + segment->count + 1) * sizeof *read->list);
    memcpy(read->list + read->count, spans, segment->count * sizeof *spans);
    read->count += segment->count;
    return STATUS_OK;
}

static struct read read_all(int file, enum status expected, const char *says)
{
    struct read read = {.list = NULL};
    struct error error = {STATUS_OK, ""};
    const struct span_reader reader = {&read, note_region, note_segment};
    ck_assert_int_eq(span_file_read(file, &reader, &read.damaged, &error), expected);
    ck_assert_ptr_nonnull(strstr(error.text, says));
    return read;
}

static size_t count_of(const struct read *read, enum span_kind kind, uint64_t step)
{
    size_t count = 0;
    for (size_t i = 0; i < read->count; i++)
        count += read->list[i].kind == kind && read->list[i].step == step;
    return count;
}

/* --- what is done ---------------------------------------------------------------------------------- */

/* A step of `messages` messages. */
static void take_step(struct recorder *recorder, uint64_t step, uint64_t at_ns, uint64_t took_ns,
                      uint32_t messages)
{
    struct span compute = span_of(ROLE_WORKER, 3, LANE_TRAINER, SPAN_COMPUTE);
    compute.step = step;
    compute.from_ns = at_ns;
    compute.to_ns = at_ns + took_ns / 2;
    recorder_span(recorder, &compute);
    for (uint32_t i = 0; i < messages; i++) {
        struct span send = span_of(ROLE_WORKER, 3, LANE_FRONT, SPAN_SEND);
        send.step = step;
        send.from_ns = compute.to_ns + i;
        send.to_ns = send.from_ns + 1;
        recorder_span(recorder, &send);
    }
}

static void count_event(void *context, const struct event *event)
{
    unsigned *taken = context;
    *taken += event->kind == EVENT_SCORED || event->kind == EVENT_CUT;
}

TEST(what_a_trainer_says_that_it_has_done_is_a_span, ROLE_WORKER, 4)
{
    unsigned taken = 0;
    struct listener listener = {UINT64_C(1) << EVENT_SCORED | UINT64_C(1) << EVENT_CUT, count_event,
                                &taken};
    recorder_listen(k->recorder, &listener);
    event(&listener, EVENT_COMPUTED, .step = 5, .node = {4, 2}, .us = 9, .early_us = 2);
    event(&listener, EVENT_SCORED, .step = 6, .us = 8);
    event(&listener, EVENT_CUT, .step = 7);
    ck_assert_uint_eq(taken, 2);
    recorder_close(&k->recorder);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_eq(count_of(&read, SPAN_SCORE, 6), 1);
    ck_assert_uint_eq(count_of(&read, SPAN_COMPUTE, 5), 1);
    const struct span *computed = &read.list[0];
    ck_assert(computed->kind == SPAN_COMPUTE && span_is_of(computed, ROLE_WORKER, 3));
    ck_assert(computed->first == 4 && computed->count == 2);
    ck_assert_uint_eq(computed->to_ns - computed->from_ns, 7000);
    free(read.list);
}

TEST(what_is_kept_is_read_back_and_steps_are_seen_in_it, ROLE_WORKER, 4)
{
    for (uint64_t step = 0; step < 5; step++)
        take_step(k->recorder, step, (step + 1) * 10 * MS, 8 * MS, 2);
    recorder_close(&k->recorder);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_eq(read.count, 5 * 4);
    ck_assert_uint_eq(read.damaged, 0);
    for (uint64_t step = 0; step < 5; step++) {
        ck_assert_uint_eq(count_of(&read, SPAN_COMPUTE, step), 1);
        ck_assert_uint_eq(count_of(&read, SPAN_SEND, step), 2);
        ck_assert_uint_eq(count_of(&read, SPAN_STEP, step), 1);
    }
    for (size_t i = 0; i < read.count; i++)
        if (read.list[i].kind == SPAN_STEP && read.list[i].step < 4) {
            ck_assert_uint_eq(read.list[i].from_ns, (read.list[i].step + 1) * 10 * MS);
            ck_assert_uint_eq(read.list[i].to_ns, (read.list[i].step + 2) * 10 * MS);
        }
    free(read.list);
}

/* 40 segments' worth and more in 20 slots. */
TEST(a_long_run_stays_in_its_region_and_has_the_first_last_and_slowest, ROLE_WORKER, 20)
{
    struct stat before, after;
    uint64_t at_ns = MS;
    ck_assert_int_eq(fstat(k->file, &before), 0);
    for (uint64_t step = 0; step < 3000; step++) {
        uint64_t took_ns = step == 700 || step == 1500 ? 9 * MS : MS;
        take_step(k->recorder, step, at_ns, took_ns, 10);
        at_ns += took_ns;
    }
    recorder_close(&k->recorder);
    ck_assert_int_eq(fstat(k->file, &after), 0);
    ck_assert_int_eq(before.st_size, after.st_size);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_le(read.count, 20 * SEGMENT_SPANS);
    static const uint64_t wanted[] = {0, 1, 2, 700, 1500, 2997, 2998, 2999};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ck_assert_uint_eq(count_of(&read, SPAN_STEP, wanted[i]), 1);
        ck_assert_uint_eq(count_of(&read, SPAN_SEND, wanted[i]), 10);
    }
    ck_assert_uint_eq(count_of(&read, SPAN_SEND, 400), 0);
    free(read.list);
}

/* Every step has more than a slot: the newest is there. */
TEST(where_steps_are_larger_than_the_region_the_newest_stay, ROLE_WORKER, 2)
{
    for (uint64_t step = 0; step < 8; step++)
        take_step(k->recorder, step, (step + 1) * 10 * MS, 10 * MS, 2000);
    recorder_close(&k->recorder);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_gt(count_of(&read, SPAN_SEND, 7), 0);
    ck_assert_uint_eq(count_of(&read, SPAN_SEND, 0), 0);
    free(read.list);
}

/* What a worker's steps are a server sees from when it answers and is pushed to. */
TEST(a_server_keeps_what_is_slow_for_its_workers, ROLE_PS, 20)
{
    uint64_t at_ns = MS;
    for (uint64_t step = 0; step < 6000; step++) {
        uint64_t took_ns = step == 800 ? 9 * MS : MS;
        struct message exchange = {.kind = MESSAGE_EXCHANGE, .role = ROLE_WORKER, .index = 5};
        exchange.exchange = (struct message_exchange){.step = step, .gradient = true};
        recorder_heard(k->recorder, &exchange, at_ns + took_ns / 2);
        for (int i = 0; i < 5; i++) {
            struct span send = span_of(ROLE_PS, 3, LANE_FRONT, SPAN_SEND);
            send.what = MESSAGE_RESULT;
            send.other_role = ROLE_WORKER;
            send.other = 5;
            send.step = step;
            send.to_ns = at_ns + took_ns;
            send.from_ns = send.to_ns - 10;
            recorder_span(k->recorder, &send);
        }
        at_ns += took_ns;
    }
    recorder_close(&k->recorder);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_eq(count_of(&read, SPAN_SEND, 0), 5);
    ck_assert_uint_eq(count_of(&read, SPAN_SEND, 800), 5);
    ck_assert_uint_eq(count_of(&read, SPAN_SEND, 5998), 5);
    ck_assert_uint_eq(count_of(&read, SPAN_SEND, 2000), 0);
    ck_assert_uint_eq(count_of(&read, SPAN_STEP, 800), 0); /* Steps are the workers'. */
    free(read.list);
}

TEST(a_process_that_is_killed_has_left_what_it_did, ROLE_WORKER, 4)
{
    for (uint64_t step = 0; step < 5; step++)
        take_step(k->recorder, step, (step + 1) * 150 * MS, 100 * MS, 2);
    struct read read = read_all(k->file, STATUS_OK, ""); /* Nobody has closed it. */
    ck_assert_uint_eq(count_of(&read, SPAN_COMPUTE, 3), 1);
    ck_assert_uint_eq(count_of(&read, SPAN_STEP, 2), 1);
    free(read.list);
}

TEST(several_processes_have_a_file_together, ROLE_WORKER, 2)
{
    struct recorder *others[5];
    for (uint32_t i = 0; i < 5; i++)
        others[i] = begin_at(k->file, ROLE_PS, i, 1 + i);
    for (uint32_t i = 0; i < 5; i++) {
        struct span span = span_of(ROLE_PS, i, LANE_FRONT, SPAN_APPLY);
        span.from_ns = span.to_ns = 1000 + i;
        span.step = i;
        recorder_span(others[i], &span);
    }
    take_step(k->recorder, 77, MS, MS, 1);
    for (uint32_t i = 0; i < 5; i++)
        recorder_close(&others[i]);
    recorder_close(&k->recorder);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_eq(read.regions, 6);
    ck_assert_uint_eq(read.count, 5 + 3);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_uint_eq(count_of(&read, SPAN_APPLY, i), 1);
    free(read.list);
}

/* --- what goes wrong ----------------------------------------------------------------------------------- */

TEST(when_it_cannot_be_written_any_more_the_process_goes_on, ROLE_WORKER, 2)
{
    ck_assert_int_eq(fcntl(k->file, F_ADD_SEALS, F_SEAL_WRITE), 0);
    for (uint64_t step = 0; step < 1000; step++)
        take_step(k->recorder, step, (step + 1) * MS, MS, 2);
    recorder_close(&k->recorder);
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_eq(read.count, 0);
}

TEST_PLAIN(what_is_no_file_of_spans_is_not_added_to)
{
    struct recorder *recorder;
    struct error error;
    char path[] = "/tmp/syncopate-trace-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_eq(write(file, "somebody's letters", 18), 18);
    ck_assert_int_eq(recorder_open(&recorder, path, ROLE_PS, 0, 20, &error), STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "something else"));
    ck_assert_int_eq(recorder_open(&recorder, "/nowhere/at/all", ROLE_PS, 0, 20, &error),
                     STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "--trace"));
    ck_assert_int_eq(recorder_open(&recorder, "/dev/null", ROLE_PS, 0, 20, &error), STATUS_IO);
    ck_assert_int_eq(recorder_open(&recorder, "fd:999", ROLE_PS, 0, 20, &error), STATUS_IO);
    ck_assert_int_eq(recorder_open(&recorder, NULL, ROLE_PS, 0, 20, &error), STATUS_OK);
    ck_assert_ptr_null(recorder);
    struct read read = read_all(file, STATUS_INVALID, "no trace");
    ck_assert_uint_eq(read.regions, 0);
    unlink(path);
    close(file);
}

TEST_PLAIN(without_a_recorder_nothing_happens)
{
    struct recorder *none = NULL;
    const struct span span = {.to_ns = 1};
    const struct message message = {.kind = MESSAGE_EXCHANGE, .role = ROLE_WORKER};
    recorder_span(none, &span);
    recorder_heard(none, &message, 1);
    struct span begun = recorder_begins(none, LANE_FRONT, SPAN_TAKE);
    ck_assert_uint_eq(begun.from_ns, 0);
    recorder_ends(none, &begun);
    struct listener listener = {.kinds = 0};
    recorder_listen(none, &listener);
    ck_assert(listener.kinds == 0 && listener.take == NULL);
    recorder_close(&none);
}

/* Every byte of a head and of a span, spoilt: the segment is left out, or still something that may be. */
TEST(what_is_damaged_is_left_out_and_counted, ROLE_WORKER, 2)
{
    for (uint64_t step = 0; step < 3; step++)
        take_step(k->recorder, step, (step + 1) * MS, MS, 1);
    recorder_close(&k->recorder);
    uint64_t damaged = 0;
    for (off_t at = 4096; at < 4096 + 64 + 56; at++) {
        uint8_t byte, spoilt;
        ck_assert_int_eq(pread(k->file, &byte, 1, at), 1);
        spoilt = byte ^ 0x80;
        ck_assert_int_eq(pwrite(k->file, &spoilt, 1, at), 1);
        struct read read = read_all(k->file, STATUS_OK, "");
        for (size_t i = 0; i < read.count; i++)
            ck_assert(span_is_valid(&read.list[i]));
        damaged += read.damaged;
        free(read.list);
        ck_assert_int_eq(pwrite(k->file, &byte, 1, at), 1);
    }
    ck_assert_uint_gt(damaged, 30);
    ck_assert_int_eq(ftruncate(k->file, 4096 + 300), 0); /* In the middle of a segment. */
    struct read read = read_all(k->file, STATUS_OK, "");
    ck_assert_uint_eq(read.count, 0);
    ck_assert_uint_eq(read.damaged, 1);
    ck_assert_int_eq(ftruncate(k->file, 100), 0);
    read_all(k->file, STATUS_OK, "");
    ck_assert_int_eq(ftruncate(k->file, 10), 0);
    read_all(k->file, STATUS_INVALID, "no trace");
    ck_assert_int_eq(ftruncate(k->file, 0), 0);
    read_all(k->file, STATUS_INVALID, "empty");
}

int main(void)
{
    return suite_run("recorder", NULL);
}
