/* test_set_writer.c - what steps are made of is in the file before it is said to be, comes back after a
 * going back, and is not written for a run that is another's. */

#include "ps/checkpointer/set_writer.h"

#include <string.h>

#include "common/steps/leaf_set.h"
#include "deploy/engine/simulated_disk.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { RUN = 77 };

struct fixture {
    struct simulated_disk disk;
    struct job job;
    struct set_writer writer;
    struct post post;
};

static void claim(struct fixture *f, uint64_t run_id, uint64_t number)
{
    struct error error;
    const struct generation generation = {.run_id = run_id, .number = number};
    ck_assert(generation_write(&generation, &f->disk.disk, "run", &error) == STATUS_OK);
}

static void give(struct fixture *f, const struct order *order, struct frame *payload)
{
    struct packet packet = order_packet(order);
    packet.payload = payload;
    set_writer_handle(&f->writer, &packet, &f->post.outbox);
    ck_assert_ptr_null(packet.payload);
}

/* As the checkpointer says it; what the coordinator hears, with its payload for a look. */
static struct order opened(struct fixture *f, uint64_t session, bool begins, uint64_t generation,
                           uint64_t step, struct leaf_set *first)
{
    struct frame *place = frame_create(sizeof(struct sets_place));
    *(struct sets_place *)place->data = (struct sets_place){&f->job, session, begins};
    give(f,
         &(struct order){
             .kind = ORDER_RUN_OPENED,
             .generation = generation,
             .run_opened = {.run_id = RUN, .generation = generation, .restore_step = step}},
         place);
    ck_assert_uint_eq(post_count_orders(&f->post, TO_COORDINATOR, ORDER_RUN_OPENED), 1);
    struct packet *packet = NULL;
    for (size_t i = 0; i < f->post.taken_count; i++)
        if (order_of(&f->post.taken[i].packet) != NULL)
            packet = &f->post.taken[i].packet;
    struct order order = *order_of(packet);
    leaf_set_clear(first);
    if (packet->payload != NULL)
        (void)leaf_sets_find(packet->payload->data, packet->payload->bytes, step, first);
    post_clear(&f->post);
    return order;
}

static void open_fixture(struct fixture *f)
{
    struct leaf_set none;
    memset(f, 0, sizeof *f);
    simulated_disk_init(&f->disk, 1, 1);
    f->job = small_job(MODE_BACKUP, 2, 1);
    set_writer_init(&f->writer, &f->disk.disk, "run");
    claim(f, RUN, 0);
    ck_assert(opened(f, 1, true, 0, 0, &none).run_opened.status == STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    simulated_disk_free(&f->disk);
    job_free(&f->job);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static struct leaf_set set_of(uint64_t step)
{
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, (struct node){(uint32_t)step % 2, 1});
    return set;
}

/* The sets of the steps [first, end) are to be written; what is answered, if anything is. */
static bool write_sets(struct fixture *f, uint64_t generation, uint64_t first, uint64_t end,
                       struct order_written *written)
{
    struct frame *list = frame_create(LEAF_SETS_START_MAX + (end - first) * LEAF_SET_BYTES_MAX);
    size_t used = leaf_sets_put_start(list->data, first, end - first);
    for (uint64_t step = first; step < end; step++) {
        struct leaf_set set = set_of(step);
        used += leaf_set_put((uint8_t *)list->data + used, &set);
    }
    struct frame *cut = frame_slice(list, 0, used);
    frame_release(list);
    give(f,
         &(struct order){
             .kind = ORDER_SETS, .generation = generation, .sets = {.first = first, .end = end}},
         cut);
    const struct order *order = post_order(&f->post, TO_COORDINATOR, ORDER_SETS_WRITTEN);
    if (order != NULL)
        *written = order->written;
    post_clear(&f->post);
    return order != NULL;
}

/* What the file has of this step, told with a going back to it. */
static bool comes_back(struct fixture *f, uint64_t generation, uint64_t step)
{
    struct leaf_set found, expected = set_of(step);
    claim(f, RUN, generation);
    struct order order = opened(f, 0, false, generation, step, &found);
    ck_assert(order.run_opened.status == STATUS_OK);
    ck_assert_uint_eq(order.generation, generation);
    return leaf_set_equal(&found, &expected);
}

TEST(what_was_written_is_told_again_after_a_going_back)
{
    struct order_written written = {0};
    ck_assert(write_sets(f, 0, 0, 3, &written));
    ck_assert(written.status == STATUS_OK);
    ck_assert_uint_eq(written.step, 3);
    ck_assert(comes_back(f, 1, 1));
    ck_assert(comes_back(f, 2, 2));
    ck_assert(!comes_back(f, 3, 3));
    ck_assert(write_sets(f, 3, 3, 4, &written)); /* And training goes on. */
    ck_assert_uint_eq(written.step, 4);
    ck_assert(comes_back(f, 4, 3));
}

/* They are decided anew, and must not be in the file twice. */
TEST(sets_of_before_a_going_back_are_not_written_after_it)
{
    struct order_written written = {0};
    claim(f, RUN, 1); /* The checkpointer has raised it; its word is still on the way. */
    ck_assert(write_sets(f, 0, 0, 1, &written));
    ck_assert(written.status == STATUS_EXISTS);
    ck_assert(!comes_back(f, 1, 0));
    ck_assert(!write_sets(f, 0, 0, 1, &written));
    ck_assert(!comes_back(f, 2, 0));
}

TEST(nothing_is_written_when_another_server_0_has_the_run)
{
    struct order_written written = {0};
    claim(f, RUN + 1, 0);
    ck_assert(write_sets(f, 0, 0, 1, &written));
    ck_assert(written.status == STATUS_EXISTS);
    ck_assert_uint_eq(written.step, 0);
    ck_assert(!comes_back(f, 1, 0));
}

TEST(a_disk_that_fails_is_answered_with_what_is_not_written)
{
    struct order_written written = {0};
    ck_assert(write_sets(f, 0, 0, 2, &written));
    f->disk.full = true;
    ck_assert(write_sets(f, 0, 2, 4, &written));
    ck_assert(written.status != STATUS_OK && written.text[0] != '\0');
    ck_assert_uint_eq(written.step, 2);
}

TEST(without_a_record_there_is_no_file)
{
    struct leaf_set found;
    struct order_written written = {0};
    claim(f, RUN, 5);
    ck_assert(opened(f, 0, true, 5, 0, &found).run_opened.status == STATUS_OK);
    ck_assert(write_sets(f, 5, 0, 1, &written));
    ck_assert(written.status == STATUS_NOT_FOUND);
}

int main(void)
{
    return suite_run("set writer", NULL);
}
