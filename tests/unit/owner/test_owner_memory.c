/* test_owner_memory.c - an owner without memory for a cut, for an update, or for itself.
 *
 * These functions are this program's own first (Makefile: --wrap), and fail when they are told to. */
/* wraps: frame_create aligned_alloc calloc */

#include "ps/owner/owner_state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

struct frame *__real_frame_create(size_t bytes);
struct frame *__wrap_frame_create(size_t bytes);

static unsigned calls, fail_at; /* The call that fails, from 1; 0: none does. */

struct frame *__wrap_frame_create(size_t bytes)
{
    return ++calls == fail_at ? NULL : __real_frame_create(bytes);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static unsigned allocations,
    last_allocation = UINT_MAX; /* All from this one on fail, or it alone. */
static bool alone;

static bool is_spent(void)
{
    return ++allocations == last_allocation || (allocations > last_allocation && !alone);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return is_spent() ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_spent() ? NULL : __real_calloc(count, bytes);
}

/* One server that owns all four chunks of the small job with adagrad: each has a slot to be copied. */
struct fixture {
    struct job job;
    struct plan *plan;
    struct owner *owner;
    struct post post;
};

static void open_fixture(struct fixture *f, enum mode mode, uint32_t accumulate)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, 2, 1);
    f->job.accumulate = accumulate;
    f->job.optimizer = optimizer_find("adagrad")->defaults;
    strcpy(f->job.optimizer.name, "adagrad");
    ck_assert_msg(plan_create(&f->plan, &f->job, 0, 99, &error) == STATUS_OK, "%s", error.text);
    ck_assert(owner_create(&f->owner, &(struct owner_options){.plan = f->plan, .count = 1}) ==
              STATUS_OK);
    struct packet load =
        order_packet(&(struct order){.kind = ORDER_LOAD, .load = {.plan = f->plan}});
    owner_handle(f->owner, &load, 0, &f->post.outbox);
    post_clear(&f->post);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    owner_destroy(&f->owner);
    plan_destroy(&f->plan);
    job_free(&f->job);
}

static bool has_ended(struct fixture *f)
{
    return post_find(&f->post, TO_COORDINATOR, MESSAGE_STOP) != NULL;
}

/* Whether a cut after so many batches was taken; and how many arrays came of it. */
static bool cut(struct fixture *f, uint64_t step, unsigned fails_at, unsigned *arrays)
{
    struct packet packet = {.message = {.kind = MESSAGE_CUT, .cut.step = step}};
    post_clear(&f->post);
    calls = 0;
    fail_at = fails_at;
    owner_handle(f->owner, &packet, 0, &f->post.outbox);
    fail_at = 0;
    *arrays = post_count(&f->post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
    ck_assert_uint_eq(post_count_orders(&f->post, TO_ROUTER, ORDER_OWNER_SNAPSHOT), 1);
    return post_order(&f->post, TO_ROUTER, ORDER_OWNER_SNAPSHOT)->owner_snapshot.taken;
}

/* Of a cut that was given up nothing is left to be cut. */
TEST_TIMES(a_cut_that_memory_lacks_for_is_given_up_and_the_next_one_is_whole, 4)
{
    struct fixture f;
    unsigned arrays;
    open_fixture(&f, MODE_SYNC, 0);
    ck_assert(!cut(&f, 0, (unsigned)_i + 1, &arrays));
    ck_assert_uint_eq(arrays, 2 * (unsigned)_i + 1); /* And nothing of the chunks behind it. */
    ck_assert_ptr_nonnull(post_log(&f.post, "out of memory for a checkpoint"));
    ck_assert(cut(&f, 0, 0, &arrays));
    ck_assert_uint_eq(arrays, 8);
    close_fixture(&f);
}

static void push(struct fixture *f, uint32_t chunk, struct node node, struct frame *gradient)
{
    const struct message_exchange exchange = {
        .chunk = chunk, .gradient = true, .node = node, .examples = 2 * node.leaf_count};
    struct packet packet = {.message = {.kind = MESSAGE_EXCHANGE, .exchange = exchange},
                            .payload = frame_retain(gradient)};
    owner_handle(f->owner, &packet, 0, &f->post.outbox);
}

/* A reader has the values, so that they are not written in place. */
TEST_PLAIN(a_group_that_memory_lacks_for_is_the_end_and_not_in_a_cut)
{
    struct fixture f;
    unsigned arrays;
    open_fixture(&f, MODE_ASYNC, 4);
    struct frame *read = frame_retain(f.owner->owned[0].shard.chunk.values);
    for (uint32_t chunk = 0; chunk < 2; chunk++)
        push(&f, chunk, tree_root(4), read);
    ck_assert(!cut(&f, 1, 1, &arrays) && has_ended(&f));
    ck_assert_uint_eq(arrays + f.owner->owned[1].shard.chunk.version, 0);
    frame_release(read);
    close_fixture(&f);
}

/* Each half has a reader, and their sum needs memory. */
TEST_PLAIN(a_step_that_memory_lacks_for_is_the_end_and_not_left_out)
{
    struct fixture f;
    open_fixture(&f, MODE_BACKUP, 0);
    struct shard *shard = &f.owner->owned[0].shard;
    struct frame *half = frame_of(1, 16);
    push(&f, 0, (struct node){0, 2}, half);
    shard->rules->close_step(shard, &(struct message_close){0}, &(struct leaf_set){.bits = {15}});
    calls = 0;
    fail_at = 1;
    push(&f, 0, (struct node){2, 2}, half);
    ck_assert(has_ended(&f));
    ck_assert_uint_eq(shard->chunk.version, 0);
    frame_release(half);
    close_fixture(&f);
}

/* Sums of groups, sums that are moved, slots: with each allocation failing alone, or all behind it as well. */
TEST_TIMES(an_owner_is_made_whole_or_not_at_all, 2 * MODE_COUNT)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC, 0);
    f.plan->job.mode = (enum mode)(_i / 2);
    f.plan->job.delay_compensation = 0.5f;
    f.plan->job.accumulate = 2;
    alone = _i % 2 == 1;
    enum status status = STATUS_MEMORY;
    for (unsigned fails_at = 1; status == STATUS_MEMORY; fails_at++) {
        struct owner *owner = NULL;
        allocations = 0;
        last_allocation = fails_at;
        status = owner_create(&owner, &(struct owner_options){.plan = f.plan, .count = 1});
        last_allocation = UINT_MAX;
        ck_assert_int_eq(status, allocations < fails_at ? STATUS_OK : STATUS_MEMORY);
        ck_assert((owner == NULL) == (status == STATUS_MEMORY));
        owner_destroy(&owner);
    }
    close_fixture(&f);
}

int main(void)
{
    return suite_run("owner memory", NULL);
}
