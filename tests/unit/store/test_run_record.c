/* test_run_record.c - what is written reads back; whatever is damaged is noticed and named. */
/* promises: backup replay */
/* wraps: malloc calloc realloc aligned_alloc */

#include "common/store/run_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/store/run_record_block.h"
#include "tests/lib/memory/scarcity.h"
#include "tests/lib/records/sample_record.h"
#include "tests/lib/suite.h"

#define TEST(name, workers, chunks)                                                                \
    SUITE_TEST(name, struct sample_record, r, sample_record_begin(r, 1, workers, chunks),          \
               sample_record_free(r))

/* Reads all; the status of what ends it. */
static enum status read_all(const void *bytes, size_t count, uint64_t *batches, struct error *error)
{
    struct run_record_reader reader;
    *error = (struct error){0};
    enum status status = run_record_reader_open(&reader, "x/record/0001.log", bytes, count, error);
    while (status == STATUS_OK) {
        status = run_record_reader_next(&reader, error);
        *batches = reader.interval.to.batches;
    }
    run_record_reader_close(&reader);
    return status;
}

static void must_be_damaged(const void *bytes, size_t count, const char *what)
{
    struct error error;
    uint64_t batches;
    ck_assert_msg(read_all(bytes, count, &batches, &error) == STATUS_INVALID, "%s passes", what);
    ck_assert_msg(strstr(error.text, "x/record/0001.log: ") == error.text, "%s", error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
}

static void must_say(const void *bytes, size_t count, const char *words)
{
    struct error error;
    uint64_t batches;
    ck_assert_int_eq(read_all(bytes, count, &batches, &error), STATUS_INVALID);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s", error.text);
}

TEST(a_segment_reads_back, 3, 5)
{
    struct run_record_reader reader;
    sample_record_train(r, 0);
    ck_assert_int_eq(run_record_reader_open(&reader, "x", r->writer.bytes, r->writer.count, NULL),
                     STATUS_OK);
    ck_assert_uint_eq(reader.segment.run_id, 0xc0ffee);
    ck_assert_uint_eq(reader.segment.session, 1);
    ck_assert_mem_eq(reader.segment.declaration, r->segment.declaration, DIGEST_BYTES);
    ck_assert_uint_eq(reader.segment.instructions, 1);
    ck_assert_uint_eq(reader.segment.worker_count, 3);
    ck_assert_uint_eq(reader.segment.server_count, 2);
    ck_assert_uint_eq(reader.segment.chunk_count, 5);
    ck_assert_mem_eq(reader.segment.elements, r->segment.elements, 5 * sizeof(uint64_t));
    ck_assert_int_eq(run_record_reader_next(&reader, NULL), STATUS_OK);
    ck_assert(reader.interval.begins);
    ck_assert_uint_eq(reader.interval.generation, 1);
    ck_assert_int_eq(run_record_reader_next(&reader, NULL), STATUS_NOT_FOUND);
    run_record_reader_close(&reader);
}

TEST(every_chunk_has_every_batch_once_in_the_order_told, 4, 6)
{
    struct run_record_reader reader;
    r->loss = 0.02;
    sample_record_train(r, 300);
    sample_record_train(r, 50);
    ck_assert_uint_gt(r->torn, 0);
    ck_assert_int_eq(run_record_reader_open(&reader, "x", r->writer.bytes, r->writer.count, NULL),
                     STATUS_OK);
    for (uint64_t from = 0; from < 350;) {
        ck_assert_int_eq(run_record_reader_next(&reader, NULL), STATUS_OK);
        const struct run_record_interval *s = &reader.interval;
        uint64_t batches = s->to.batches - s->from.batches;
        ck_assert_uint_eq(s->from.batches, from);
        ck_assert_uint_eq(batches, from == 0 ? 300 : 50);
        ck_assert_uint_eq(s->to.version, s->to.batches);
        for (uint32_t chunk = 0; chunk < 6; chunk++)
            for (uint64_t i = 0; i < batches; i++) {
                const struct run_record_place *place = &s->places[chunk * batches + i];
                ck_assert(place->closes);
                ck_assert_uint_le(s->computations[place->computation].bases[chunk], from + i);
            }
        from = s->to.batches;
    }
    ck_assert_int_eq(run_record_reader_next(&reader, NULL), STATUS_NOT_FOUND);
    run_record_reader_close(&reader);
}

TEST(numbers_workers_bases_and_losses_are_as_written, 2, 2)
{
    struct run_record_reader reader;
    const uint64_t bases[] = {0, 0}, later[] = {1, 0};
    const struct run_record_entry one[] = {{5, false, true}, {1000000, true, true}};
    const struct run_record_entry two[] = {{1000000, false, true}, {5, false, true}};
    struct run_record_writer *w = &r->writer;
    run_record_writer_gone(w, &(struct run_record_gone){9, 3});
    run_record_writer_computation(
        w, &(struct run_record_computation){.number = 5, .worker = 1, .ticket = 7, .bases = bases});
    run_record_writer_computation(w,
                                  &(struct run_record_computation){
                                      .number = 1000000, .batch = 1, .clock = 2, .bases = later});
    run_record_writer_entries(w, 0, 0, one, 2);
    run_record_writer_entries(w, 1, 0, two, 1);
    run_record_writer_entries(w, 1, 1, two + 1, 1);
    run_record_writer_snapshot(w, &(struct run_record_snapshot){2, 2, 1000001});
    ck_assert_int_eq(run_record_writer_finish(w), STATUS_OK);
    struct error error = {0};
    ck_assert_int_eq(run_record_reader_open(&reader, "x", w->bytes, w->count, &error), STATUS_OK);
    ck_assert_msg(run_record_reader_next(&reader, &error) == STATUS_OK, "%s", error.text);
    const struct run_record_interval *s = &reader.interval;
    ck_assert_uint_eq(s->computation_count, 2);
    ck_assert_uint_eq(s->computations[0].number, 5);
    ck_assert_uint_eq(s->computations[0].worker, 1);
    ck_assert_uint_eq(s->computations[0].ticket, 7);
    ck_assert_uint_eq(s->computations[1].number, 1000000);
    ck_assert_uint_eq(s->computations[1].batch, 1);
    ck_assert_uint_eq(s->computations[1].clock, 2);
    ck_assert_mem_eq(s->computations[1].bases, later, sizeof later);
    ck_assert_uint_eq(s->gone_count, 1);
    ck_assert_uint_eq(s->gone[0].ticket, 9);
    ck_assert_uint_eq(s->gone[0].clock, 3);
    ck_assert_uint_eq(s->places[0].computation, 0);
    ck_assert(s->places[1].skipped && !s->places[0].skipped);
    ck_assert_uint_eq(s->places[2].computation, 1);
    run_record_reader_close(&reader);
}

/* Sets of so many steps, of leaf i of step i, and a snapshot. */
static void write_sets(struct run_record_writer *w, uint64_t from, uint64_t sets, uint64_t to)
{
    uint8_t bytes[8 * LEAF_SET_BYTES_MAX];
    struct leaf_sets list = {.bytes = bytes};
    for (uint64_t i = 0; i < sets; i++) {
        struct leaf_set set = {.bits = {UINT64_C(1) << (from + i)}};
        list.bytes_left += leaf_set_put(bytes + list.bytes_left, &set);
    }
    run_record_writer_sets(w, &list);
    run_record_writer_snapshot(w, &(struct run_record_snapshot){to, to, 1});
    ck_assert_int_eq(run_record_writer_finish(w), STATUS_OK);
}

TEST(each_step_has_its_set_of_leaves, 2, 0)
{
    struct run_record_reader reader;
    struct error error = {0};
    struct leaf_set set;
    write_sets(&r->writer, 0, 3, 3);
    write_sets(&r->writer, 3, 2, 5);
    run_record_writer_snapshot(&r->writer, &(struct run_record_snapshot){6, 6, 1});
    ck_assert_int_eq(run_record_writer_finish(&r->writer), STATUS_OK);
    ck_assert_int_eq(run_record_reader_open(&reader, "x", r->writer.bytes, r->writer.count, &error),
                     STATUS_OK);
    for (uint64_t step = 0; step < 5;) {
        ck_assert_msg(run_record_reader_next(&reader, &error) == STATUS_OK, "%s", error.text);
        struct leaf_sets list = reader.interval.sets;
        ck_assert_uint_eq(list.step, step);
        ck_assert_uint_eq(list.left, step == 0 ? 3 : 2);
        for (; leaf_sets_next(&list, &set); step++)
            ck_assert(leaf_set_has(&set, (uint32_t)step));
    }
    ck_assert_int_eq(run_record_reader_next(&reader, &error), STATUS_OK);
    ck_assert_uint_eq(reader.interval.sets.left, 0);
    run_record_reader_close(&reader);
}

TEST(a_set_too_few_or_too_many_is_named, 2, 0)
{
    write_sets(&r->writer, 0, 3, 4);
    must_say(r->writer.bytes, r->writer.count, "of step 3 there is no set of leaves");
    sample_record_free(r);
    sample_record_begin(r, 1, 2, 0);
    write_sets(&r->writer, 0, 3, 2);
    must_say(r->writer.bytes, r->writer.count, "of step 2 there is no set of leaves, or another");
    sample_record_free(r);
    sample_record_begin(r, 1, 2, 0);
    run_record_writer_sets(&r->writer, &(struct leaf_sets){.bytes = (const uint8_t *)""});
    write_sets(&r->writer, 0, 2, 2);
    must_say(r->writer.bytes, r->writer.count, "for the second time");
}

TEST(sets_of_chunks_are_named, 2, 1)
{
    write_sets(&r->writer, 0, 2, 2);
    must_say(r->writer.bytes, r->writer.count, "or of chunks");
}

TEST(groups_make_fewer_versions_than_batches, 3, 4)
{
    struct error error;
    uint64_t batches = 0;
    r->group = 4;
    sample_record_train(r, 42);
    ck_assert_uint_eq(r->at.version, 11);
    ck_assert_int_eq(read_all(r->writer.bytes, r->writer.count, &batches, &error),
                     STATUS_NOT_FOUND);
    ck_assert_uint_eq(batches, 42);
}

TEST(a_file_goes_on_from_its_last_four_bytes, 3, 4)
{
    struct error error;
    uint64_t batches = 0;
    uint8_t all[1 << 16];
    sample_record_train(r, 40);
    size_t first = r->writer.count;
    memcpy(all, r->writer.bytes, first);
    run_record_writer_free(&r->writer);
    run_record_writer_init(&r->writer);
    run_record_writer_resume(&r->writer, 4, all + first - 4);
    sample_record_go_back(r);
    sample_record_train(r, 30);
    size_t second = r->writer.count;
    memcpy(all + first, r->writer.bytes, second);
    run_record_writer_free(&r->writer);
    run_record_writer_init(&r->writer);
    run_record_writer_resume(&r->writer, 4, all + first + second - 4);
    sample_record_train(r, 10);
    memcpy(all + first + second, r->writer.bytes, r->writer.count);
    ck_assert_int_eq(read_all(all, first + second + r->writer.count, &batches, &error),
                     STATUS_NOT_FOUND);
    ck_assert_uint_eq(batches, 80);
}

TEST(every_change_of_a_byte_is_noticed, 3, 3)
{
    r->loss = 0.02;
    sample_record_train(r, 12);
    sample_record_go_back(r);
    sample_record_train(r, 5);
    for (size_t i = 0; i < r->writer.count; i++) {
        uint8_t was = r->writer.bytes[i];
        for (unsigned change = 1; change < 256; change++) {
            r->writer.bytes[i] = (uint8_t)(was ^ change);
            must_be_damaged(r->writer.bytes, r->writer.count, "a changed byte");
        }
        r->writer.bytes[i] = was;
    }
}

/* How long it is the manifest says: a file that ends at an earlier cut is whole by itself. */
TEST(a_file_that_is_cut_off_anywhere_but_at_a_cut_is_noticed, 3, 3)
{
    struct error error;
    uint64_t batches;
    size_t whole[4], count = 0;
    run_record_writer_free(&r->writer);
    run_record_writer_init(&r->writer);
    run_record_writer_segment(&r->writer, &r->segment);
    ck_assert_int_eq(run_record_writer_finish(&r->writer), STATUS_OK);
    whole[count++] = r->writer.count;
    for (int i = 0; i < 3; i++) {
        sample_record_train(r, 9);
        whole[count++] = r->writer.count;
    }
    for (size_t length = 0, next = 0; length <= r->writer.count; length++) {
        if (length == whole[next]) {
            next++;
            ck_assert_int_eq(read_all(r->writer.bytes, length, &batches, &error), STATUS_NOT_FOUND);
        } else {
            must_be_damaged(r->writer.bytes, length, "a part");
        }
    }
}

/* Where each block begins, behind the segment; how many. */
static size_t find_blocks(const struct sample_record *r, size_t *starts, size_t most)
{
    const uint8_t *bytes = r->writer.bytes;
    size_t at = RUN_RECORD_START + run_record_u32(bytes + RUN_RECORD_MAGIC_BYTES + 4) + 4,
           count = 0;
    for (; at < r->writer.count; at += run_record_u32(bytes + at + 4) + 12) {
        ck_assert_uint_lt(count, most);
        starts[count++] = at;
    }
    starts[count] = at;
    return count;
}

TEST(blocks_that_are_swapped_lost_or_repeated_are_noticed, 3, 4)
{
    size_t starts[65], count;
    uint8_t other[1 << 16];
    r->loss = 0.02;
    sample_record_train(r, 20);
    sample_record_train(r, 20);
    count = find_blocks(r, starts, 64);
    ck_assert_uint_gt(count, 10);
    const uint8_t *bytes = r->writer.bytes;
    for (size_t i = 0; i + 1 < count; i++) {
        size_t a = starts[i], b = starts[i + 1], c = starts[i + 2], end = r->writer.count;
        memcpy(other, bytes, a);
        memcpy(other + a, bytes + b, c - b);
        memcpy(other + a + (c - b), bytes + a, b - a);
        memcpy(other + c, bytes + c, end - c);
        if (c - b != b - a || memcmp(bytes + a, bytes + b, c - b) != 0)
            must_be_damaged(other, end, "two blocks swapped");
        memcpy(other + a, bytes + b, end - b);
        must_be_damaged(other, end - (b - a), "a block lost");
        memcpy(other, bytes, b);
        memcpy(other + b, bytes + a, end - a);
        must_be_damaged(other, end + (b - a), "a block repeated");
    }
}

TEST(another_format_is_refused_by_its_number, 1, 1)
{
    sample_record_train(r, 1);
    r->writer.bytes[RUN_RECORD_MAGIC_BYTES]++;
    must_say(r->writer.bytes, r->writer.count, "format 5, and this program reads 4");
}

/* --- what only somebody could write who knows the checksums --------------------------------- */

/* Two chunks, two batches, as given; the line has to have the words. */
static void must_refuse(struct sample_record *r, const struct run_record_computation *computations,
                        size_t count, const struct run_record_entry *one,
                        const struct run_record_entry *two, const char *words)
{
    struct run_record_writer *w = &r->writer;
    for (size_t i = 0; i < count; i++)
        run_record_writer_computation(w, &computations[i]);
    run_record_writer_entries(w, 0, 0, one, 2);
    run_record_writer_entries(w, 1, 0, two, 2);
    run_record_writer_snapshot(w, &(struct run_record_snapshot){2, 2, 3});
    ck_assert_int_eq(run_record_writer_finish(w), STATUS_OK);
    if (words != NULL) {
        must_say(w->bytes, w->count, words);
        return;
    }
    struct error error;
    uint64_t batches;
    ck_assert_int_eq(read_all(w->bytes, w->count, &batches, &error), STATUS_NOT_FOUND);
}

static const uint64_t zeros[2], ones[2] = {1, 1}, threes[2] = {3, 3};
static const struct run_record_computation honest[2] = {{.number = 1, .batch = 0, .bases = zeros},
                                                        {.number = 2, .batch = 1, .bases = ones}};
static const struct run_record_entry in_order[2] = {{1, false, true}, {2, false, true}};

TEST(these_two_batches_are_honest, 2, 2)
{
    must_refuse(r, honest, 2, in_order, in_order, NULL);
}

TEST(an_entry_of_an_unknown_computation_is_named, 2, 2)
{
    const struct run_record_entry wrong[2] = {{1, false, true}, {7, false, true}};
    must_refuse(r, honest, 2, in_order, wrong,
                "chunk 1 has an entry of computation 7, which is not in the record");
}

TEST(a_batch_that_a_chunk_has_twice_is_named, 2, 2)
{
    const struct run_record_entry wrong[2] = {{1, false, true}, {1, false, true}};
    must_refuse(r, honest, 2, wrong, in_order, "chunk 0 has batch 0 twice");
}

TEST(a_base_that_is_not_there_yet_is_named, 2, 2)
{
    const struct run_record_entry wrong[2] = {{2, false, true}, {1, false, true}};
    must_refuse(r, honest, 2, in_order, wrong,
                "computation 2 is made from version 1 of chunk 1, which has it at version 0");
}

TEST(a_base_beyond_the_cut_is_named, 2, 2)
{
    struct run_record_computation wrong[2] = {honest[0], honest[1]};
    wrong[1].bases = threes;
    must_refuse(r, wrong, 2, in_order, in_order,
                "computation 2 is made from version 3 of chunk 0, and the cut behind it");
}

TEST(a_base_of_before_the_generation_is_named, 2, 2)
{
    struct run_record_computation late = honest[0];
    uint64_t old[2] = {2, 1};
    must_refuse(r, honest, 2, in_order, in_order, NULL);
    sample_record_go_back(r);
    late.number = 3;
    late.batch = 2;
    late.bases = old;
    run_record_writer_computation(&r->writer, &late);
    run_record_writer_snapshot(&r->writer, &(struct run_record_snapshot){3, 3, 4});
    ck_assert_int_eq(run_record_writer_finish(&r->writer), STATUS_OK);
    must_say(r->writer.bytes, r->writer.count,
             "computation 3 is made from version 1 of chunk 1, and its generation began at 2");
}

TEST(a_clock_that_runs_backwards_is_named, 2, 2)
{
    struct run_record_computation wrong[2] = {honest[0], honest[1]};
    wrong[0].clock = 1;
    must_refuse(r, wrong, 2, in_order, in_order,
                "computation 2 of worker/0 is at clock 0, and its last one was at 1");
}

TEST(a_worker_that_comes_again_may_begin_at_an_earlier_clock, 2, 2)
{
    struct run_record_computation again[2] = {honest[0], honest[1]};
    again[0].clock = 1;
    again[1].ticket = 1;
    must_refuse(r, again, 2, in_order, in_order, NULL);
}

TEST(a_clock_of_more_batches_than_there_were_is_named, 2, 2)
{
    struct run_record_computation wrong[2] = {honest[0], honest[1]};
    wrong[1].clock = 3;
    must_refuse(r, wrong, 2, in_order, in_order,
                "computation 2 of worker/0 is at clock 3, and its generation has 2 batches");
}

TEST(a_computation_without_an_entry_is_named, 2, 2)
{
    const struct run_record_computation three[3] = {
        honest[0], honest[1], {.number = 3, .batch = 1, .bases = ones}};
    struct run_record_writer *w = &r->writer;
    for (int i = 0; i < 3; i++)
        run_record_writer_computation(w, &three[i]);
    run_record_writer_entries(w, 0, 0, in_order, 2);
    run_record_writer_entries(w, 1, 0, in_order, 2);
    run_record_writer_snapshot(w, &(struct run_record_snapshot){2, 2, 4});
    ck_assert_int_eq(run_record_writer_finish(w), STATUS_OK);
    must_say(w->bytes, w->count, "computation 3 has no entry");
}

/* Of two chunks the second has so many entries, from such a place: refused in these words. */
static void must_refuse_chunk_1(struct sample_record *r, uint64_t first, size_t count,
                                const char *words)
{
    struct run_record_writer *w = &r->writer;
    run_record_writer_computation(w, &honest[0]);
    run_record_writer_computation(w, &honest[1]);
    run_record_writer_entries(w, 0, 0, in_order, 2);
    run_record_writer_entries(w, 1, first, in_order, count);
    run_record_writer_snapshot(w, &(struct run_record_snapshot){2, 2, 3});
    ck_assert_int_eq(run_record_writer_finish(w), STATUS_OK);
    must_say(w->bytes, w->count, words);
}

TEST(a_chunk_without_all_batches_at_a_cut_is_named, 2, 2)
{
    must_refuse_chunk_1(r, 0, 1, "2 batches since the cut before, and 3 entries in 2 chunks");
}

TEST(entries_from_another_place_are_named, 2, 2)
{
    must_refuse_chunk_1(r, 1, 2, "entries of chunk 1 from place 1, where 0 comes next");
}

TEST(a_group_that_is_open_at_a_cut_is_named, 2, 2)
{
    const struct run_record_entry open[2] = {{1, false, true}, {2, false, false}};
    must_refuse(r, honest, 2, in_order, open,
                "chunk 1 has 2 batches and version 1, with a group open, at the cut");
}

TEST(a_chunk_out_of_range_is_named, 2, 2)
{
    struct run_record_writer *w = &r->writer;
    w->chunk_count = 3;
    run_record_writer_entries(w, 2, 0, in_order, 2);
    run_record_writer_snapshot(w, &(struct run_record_snapshot){2, 2, 3});
    ck_assert_int_eq(run_record_writer_finish(w), STATUS_OK);
    must_say(w->bytes, w->count, "entries of chunk 2, and there are 2");
}

TEST(a_generation_in_the_middle_of_a_stretch_is_named, 2, 2)
{
    run_record_writer_computation(&r->writer, &honest[0]);
    sample_record_go_back(r);
    must_refuse(r, honest, 0, in_order, in_order, "a generation begins, and not at a cut");
}

/* --- memory -------------------------------------------------------------------------------- */

TEST(without_memory_a_writer_takes_back_what_is_not_whole, 3, 4)
{
    struct error error;
    uint64_t batches, bases[4] = {0};
    sample_record_train(r, 40);
    size_t whole = r->writer.count;
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        struct run_record_snapshot cut = {40, 40, r->at.computation};
        scarcity_arm(n);
        for (int i = 0; i < 4000; i++) /* Beyond all that there is room for. */
            run_record_writer_computation(
                &r->writer, &(struct run_record_computation){
                                .number = r->at.computation + (uint64_t)i, .bases = bases});
        run_record_writer_snapshot(&r->writer, &cut);
        enum status status = run_record_writer_finish(&r->writer);
        hit = scarcity_disarm();
        ck_assert_int_eq(status, hit ? STATUS_MEMORY : STATUS_OK);
        if (hit)
            ck_assert_uint_eq(r->writer.count, whole);
        if (n == 1)
            ck_assert(hit);
    }
    r->writer.count = whole;
    ck_assert_int_eq(read_all(r->writer.bytes, whole, &batches, &error), STATUS_NOT_FOUND);
}

TEST(without_memory_a_reader_says_so, 3, 4)
{
    struct error error;
    uint64_t batches;
    bool hit = true;
    r->loss = 0.02;
    sample_record_train(r, 60);
    unsigned rounds = 0;
    for (; hit; rounds++) {
        scarcity_arm(rounds + 1);
        enum status status = read_all(r->writer.bytes, r->writer.count, &batches, &error);
        hit = scarcity_disarm();
        ck_assert_int_eq(status, hit ? STATUS_MEMORY : STATUS_NOT_FOUND);
    }
    ck_assert_uint_gt(rounds, 5);
}

int main(void)
{
    return suite_run("run_record", NULL);
}
