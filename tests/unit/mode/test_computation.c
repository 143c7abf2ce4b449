/* test_computation.c - what a gradient is made from, as it is said to each server. */
/* promises: record */

#include "worker/mode/computation.h"

#include <string.h>

#include "common/job/bases.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define CHUNKS 900

struct fixture {
    struct computation computation;
    struct envelope envelope;
    struct post post;
};

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    ck_assert_int_eq(computation_init(&f->computation, CHUNKS), STATUS_OK);
    f->computation.records = true;
}

static void close_fixture(struct fixture *f)
{
    computation_free(&f->computation);
    post_free(&f->post);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

/* Many chunks, far from each other. */
TEST(bases_that_fit_no_header_are_pages)
{
    uint8_t bases[CHUNKS * BASES_BYTES_A_CHUNK];
    uint64_t versions[CHUNKS], found[CHUNKS];
    size_t bytes = 0;
    for (uint32_t i = 0; i < CHUNKS; i++)
        versions[i] = i % 2 * 1000;
    f->computation.clock = 5;
    computation_begin(&f->computation, 3, 9, versions);
    computation_describe(&f->computation, &f->envelope, 1, &f->post.outbox);
    ck_assert_uint_eq(post_count(&f->post, TO_SERVER, MESSAGE_GRADIENT), 2);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct message_gradient *page = &f->post.taken[i].packet.message.gradient;
        ck_assert_uint_eq(f->post.taken[i].index, 1);
        ck_assert(page->count == 1 && page->batch == 3 && page->clock == 5 && page->ticket == 9);
        ck_assert_uint_eq(page->offset, bytes);
        ck_assert_uint_eq(page->total, f->computation.bases_bytes);
        memcpy(bases + bytes, page->bases, page->bytes);
        bytes += page->bytes;
    }
    ck_assert_uint_eq(bytes, f->computation.bases_bytes);
    ck_assert(bases_decode(bases, bytes, 1000, found, CHUNKS));
    ck_assert_mem_eq(found, versions, sizeof versions);
}

TEST(each_gradient_has_a_count_and_none_where_nothing_is_recorded)
{
    const uint64_t versions[CHUNKS] = {0};
    computation_begin(&f->computation, 3, 9, versions);
    computation_begin(&f->computation, 3, 9, versions); /* Once more, because a chunk refused it. */
    ck_assert_uint_eq(f->computation.count, 2);
    f->computation.records = false;
    computation_begin(&f->computation, 4, 9, versions);
    ck_assert_uint_eq(f->computation.count, 2);
}

int main(void)
{
    return suite_run("computation", NULL);
}
