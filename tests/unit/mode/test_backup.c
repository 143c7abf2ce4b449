/* test_backup.c - a chunk that does not wait for all leaves: what it keeps, which leaves make the
 * update, and what becomes of the others. */
/* promises: backup */

#include <string.h>

#include "ps/mode/shard_mode.h"
#include "ps/shard/group.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define WIDTH 16

/* Of step 0: four leaves of two examples, two of each worker. */
static const struct node first_half = {0, 2}, second_half = {2, 2};

struct fixture {
    struct job job;
    struct plan *plan;
    struct shard shard;
};

static void open_fixture(struct fixture *f)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_BACKUP, 2, 1);
    ck_assert_msg(plan_create(&f->plan, &f->job, 0, 1, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(shard_init(&f->shard, f->plan, 0, NULL), STATUS_OK);
    chunk_initialize(&f->shard.chunk);
    f->shard.rules->open(&f->shard);
}

static void close_fixture(struct fixture *f)
{
    shard_check(&f->shard);
    shard_free(&f->shard);
    plan_destroy(&f->plan);
    job_free(&f->job);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static struct message gradient_of(uint64_t step, uint32_t worker, struct node node)
{
    return (struct message){.kind = MESSAGE_EXCHANGE,
                            .index = worker,
                            .exchange = {.step = step,
                                         .base_version = step,
                                         .gradient = true,
                                         .node = node,
                                         .examples = 2 * node.leaf_count}};
}

static enum verdict judge(struct fixture *f, uint64_t step, struct node node)
{
    const struct message message = gradient_of(step, 0, node);
    return f->shard.rules->judge(&f->shard, &message);
}

static enum push_status sent_before(struct fixture *f, uint64_t step, struct node node)
{
    const struct message message = gradient_of(step, 0, node);
    return f->shard.rules->sent_before(&f->shard, &message.exchange);
}

static enum verdict take(struct fixture *f, uint64_t step, uint32_t worker, struct node node,
                         float value)
{
    enum verdict verdict = VERDICT_NONE;
    const struct message message = gradient_of(step, worker, node);
    ck_assert_int_eq(judge(f, step, node), VERDICT_NONE);
    ck_assert_int_eq(f->shard.rules->take(&f->shard, &message, frame_of(value, WIDTH), &verdict),
                     STATUS_OK);
    return verdict;
}

/* Server 0 says which leaves of the step make it. */
static void close_step(struct fixture *f, uint64_t step, struct node run)
{
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, run);
    f->shard.rules->close_step(&f->shard, &(struct message_close){.step = step}, &set);
}

/* The next update is made, as an owner does it. */
static struct update made(struct fixture *f)
{
    struct update update;
    ck_assert(f->shard.rules->next_update(&f->shard, &update));
    ck_assert(!update.lost && update.what.keep_previous);
    update.what.sum = update.gradient->data;
    ck_assert_int_eq(group_add(&f->shard.chunk, &update.what), STATUS_OK);
    f->shard.rules->applied(&f->shard, &update);
    shard_check(&f->shard);
    return update;
}

static void expect_no_update(struct fixture *f)
{
    struct update update;
    ck_assert(!f->shard.rules->next_update(&f->shard, &update));
}

static float value(struct fixture *f)
{
    return ((float *)f->shard.chunk.values->data)[0];
}

TEST(the_leaves_of_the_set_make_the_update_and_no_others)
{
    ck_assert_int_eq(take(f, 0, 0, first_half, 4), VERDICT_APPLIED);
    ck_assert_int_eq(take(f, 0, 1, second_half, 400), VERDICT_APPLIED);
    expect_no_update(f); /* All leaves are here, and which of them count is not known. */
    close_step(f, 0, first_half);
    const struct update update = made(f);
    ck_assert_uint_eq(update.what.examples, 4);
    ck_assert_uint_eq(update.used, 1);
    ck_assert_uint_eq(update.left, 1);
    ck_assert_uint_eq(f->shard.chunk.version, 1);
    ck_assert(value(f) == -1);
    ck_assert(!f->shard.rules->left_out(&f->shard, 0));
    ck_assert(f->shard.rules->left_out(&f->shard, 1));
}

TEST(the_set_may_be_known_before_its_leaves_are_here)
{
    close_step(f, 0, (struct node){0, 4});
    take(f, 0, 1, second_half, 2);
    expect_no_update(f);
    take(f, 0, 0, first_half, 6);
    ck_assert_uint_eq(made(f).what.examples, 8);
    ck_assert(value(f) == -1);
    ck_assert(!f->shard.rules->left_out(&f->shard, 0) && !f->shard.rules->left_out(&f->shard, 1));
}

/* One worker has two nodes of the step, and one of them is in the set. */
TEST(a_worker_that_is_used_at_all_is_not_left_out)
{
    take(f, 0, 65, first_half, 1);
    take(f, 0, 65, second_half, 1);
    close_step(f, 0, second_half);
    ck_assert_uint_eq(made(f).left, 1);
    ck_assert(!f->shard.rules->left_out(&f->shard, 65));
}

TEST(what_is_late_too_early_or_closed_out_is_not_taken)
{
    ck_assert_int_eq(judge(f, 1, first_half), VERDICT_REJECTED);
    ck_assert_int_eq(sent_before(f, 1, first_half), PUSH_UNKNOWN);
    ck_assert_int_eq(sent_before(f, 0, second_half), PUSH_MISSING);
    take(f, 0, 1, second_half, 1);
    ck_assert_int_eq(take(f, 0, 1, second_half, 1), VERDICT_DUPLICATE);
    ck_assert_int_eq(sent_before(f, 0, second_half), PUSH_HELD);
    close_step(f, 0, first_half);
    ck_assert_int_eq(judge(f, 0, second_half), VERDICT_STALE);
    ck_assert_int_eq(sent_before(f, 0, second_half), PUSH_STALE);
    take(f, 0, 0, first_half, 1);
    made(f);
    ck_assert_int_eq(judge(f, 0, first_half), VERDICT_STALE);
    ck_assert_int_eq(sent_before(f, 0, first_half), PUSH_STALE);
}

TEST(a_set_is_known_one_step_ahead_and_no_set_of_a_step_that_is_made_counts)
{
    close_step(f, 2, first_half); /* In the place of step 0's. */
    take(f, 0, 0, first_half, 1);
    expect_no_update(f);
    close_step(f, 1, second_half);
    close_step(f, 0, first_half);
    made(f);
    close_step(f, 0, first_half);
    close_step(f, 1, second_half); /* Repeated. */
    ck_assert_int_eq(judge(f, 1, first_half), VERDICT_STALE);
    take(f, 1, 1, second_half, 1);
    made(f);
    ck_assert_uint_eq(f->shard.chunk.version, 2);
    ck_assert_int_eq(judge(f, 2, (struct node){0, 1}), VERDICT_NONE);
    close_step(f, 2, first_half);
    close_step(f, 0, second_half); /* Repeated, and the place is another's. */
    ck_assert_int_eq(judge(f, 2, second_half), VERDICT_STALE);
}

TEST(a_generation_that_ends_leaves_no_gradient_and_no_set)
{
    take(f, 0, 0, first_half, 1);
    close_step(f, 0, (struct node){0, 4});
    f->shard.rules->forget(&f->shard);
    ck_assert_int_eq(sent_before(f, 0, first_half), PUSH_MISSING);
    close_step(f, 0, second_half);
    take(f, 0, 1, second_half, 4);
    made(f);
    ck_assert(value(f) == -1);
}

TEST(a_gradient_of_the_newest_version_lets_the_one_before_go)
{
    struct read_result read;
    const struct read_request before = {.version = 0};
    take(f, 0, 0, first_half, 1);
    close_step(f, 0, first_half);
    made(f);
    ck_assert_int_eq(f->shard.rules->answer(&f->shard, &before, &read), RELEASE_NOW);
    take(f, 1, 0, first_half, 1);
    ck_assert_int_eq(f->shard.rules->answer(&f->shard, &before, &read), RELEASE_NEVER);
    ck_assert_int_eq(f->shard.rules->answer(&f->shard, &(struct read_request){.version = 2}, &read),
                     RELEASE_LATER);
}

TEST(a_gradient_that_does_not_fit_its_step_has_a_fault)
{
    static const struct {
        bool retry, skip;
        struct node node;
        uint32_t examples;
        uint64_t base;
        const char *fault;
    } cases[] = {
        {.node = {0, 2}, .examples = 4, .fault = NULL},
        {.node = {0, 2}, .examples = 1, .fault = NULL}, /* Of those of its leaves that count. */
        {.node = {0, 2}, .examples = 0, .fault = "a wrong number of examples"},
        {.node = {0, 2}, .examples = 5, .fault = "a wrong number of examples"},
        {.node = {1, 2}, .examples = 4, .fault = "not a node of the step's tree"},
        {.node = {0, 2},
         .examples = 4,
         .base = 1,
         .fault = "a gradient of one step made from another version"},
        {.node = {0, 2}, .examples = 0, .base = 1, .retry = true, .fault = NULL},
        {.node = {0, 2}, .skip = true, .fault = "a step to be skipped, where every leaf counts"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct message_exchange exchange = {.node = cases[i].node,
                                                  .examples = cases[i].examples,
                                                  .base_version = cases[i].base,
                                                  .retry = cases[i].retry,
                                                  .skip = cases[i].skip};
        const char *fault = f->shard.rules->fault(&f->job, &exchange);
        ck_assert_msg(cases[i].fault == NULL ? fault == NULL
                                             : fault != NULL && strcmp(fault, cases[i].fault) == 0,
                      "case %u: %s", i, fault != NULL ? fault : "none");
    }
}

int main(void)
{
    return suite_run("backup", NULL);
}
