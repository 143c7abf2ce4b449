/* test_policy.c - what a chunk of async does with a policy's answers about a gradient. */
/* promises: virtual-policy */

#include "ps/mode/shard_mode.h"
#include "ps/shard/group.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define WIDTH 16

struct fixture {
    struct job job;
    struct plan *plan;
    struct shard shard;
    struct policy policy;
    struct policy_answer answer; /* Its next. */
    struct policy_gradient asked;
};

static struct policy_answer say(void *context, const struct policy_gradient *gradient)
{
    struct fixture *f = context;
    f->asked = *gradient;
    return f->answer;
}

static void open_fixture(struct fixture *f)
{
    struct error error;
    f->job = small_job(MODE_ASYNC, 2, 1);
    f->job.accumulate = 9;
    f->policy = (struct policy){.context = f, .judge = say};
    ck_assert_msg(plan_create(&f->plan, &f->job, 0, 1, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(shard_init(&f->shard, f->plan, 0, NULL), STATUS_OK);
    f->shard.policy = &f->policy;
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

/* The gradient of a batch, made from version 0, comes, and the policy says so. As an owner does it. */
static enum verdict comes(struct fixture *f, uint64_t batch, enum policy_verdict word, float rate)
{
    enum verdict verdict;
    struct update update;
    struct node root = tree_root(job_batch(&f->job, batch).leaves);
    const struct message message = {.kind = MESSAGE_EXCHANGE,
                                    .index = 1,
                                    .exchange = {.step = batch,
                                                 .gradient = true,
                                                 .node = root,
                                                 .examples = job_batch(&f->job, batch).examples}};
    f->answer = (struct policy_answer){word, rate};
    verdict = f->shard.rules->judge(&f->shard, &message);
    if (verdict != VERDICT_NONE)
        return verdict;
    ck_assert_int_eq(f->shard.rules->take(&f->shard, &message, frame_of(8, WIDTH), &verdict),
                     STATUS_OK);
    ck_assert(f->shard.rules->next_update(&f->shard, &update));
    update.what.sum = update.gradient != NULL ? update.gradient->data : NULL;
    ck_assert_int_eq(group_add(&f->shard.chunk, &update.what), STATUS_OK);
    f->shard.rules->applied(&f->shard, &update);
    shard_check(&f->shard);
    return verdict;
}

static float value(struct fixture *f)
{
    return ((float *)f->shard.chunk.values->data)[0];
}

TEST(what_is_held_waits_for_one_that_is_applied)
{
    ck_assert_int_eq(comes(f, 0, POLICY_HOLD, 1), VERDICT_APPLIED);
    ck_assert_int_eq(comes(f, 1, POLICY_HOLD, 1), VERDICT_APPLIED);
    ck_assert_uint_eq(f->shard.chunk.version, 0);
    ck_assert(value(f) == 0);
    ck_assert_int_eq(comes(f, 2, POLICY_APPLY, 1), VERDICT_APPLIED);
    ck_assert_uint_eq(f->asked.held, 2);
    ck_assert_uint_eq(f->shard.chunk.version, 1);
    ck_assert_uint_eq(f->shard.chunk.batches, 3);
    ck_assert(value(f) < 0);
}

TEST(an_update_has_the_rate_of_the_gradient_that_makes_it)
{
    comes(f, 0, POLICY_APPLY, 1);
    float whole = value(f);
    comes(f, 1, POLICY_APPLY, 0.5f);
    ck_assert(value(f) == 1.5f * whole);
    ck_assert_uint_eq(f->asked.now, 1);
    ck_assert_uint_eq(f->asked.base, 0);
    ck_assert_uint_eq(f->asked.worker, 1);
}

TEST(the_batch_of_an_ignored_gradient_counts_without_it)
{
    ck_assert_int_eq(comes(f, 0, POLICY_IGNORE, 1), VERDICT_REJECTED);
    ck_assert_uint_eq(f->shard.chunk.batches, 1);
    ck_assert_int_eq(comes(f, 0, POLICY_APPLY, 1), VERDICT_DUPLICATE);
    ck_assert(value(f) == 0);
}

TEST(a_batch_that_is_made_again_has_not_been_had)
{
    ck_assert_int_eq(comes(f, 0, POLICY_AGAIN, 1), VERDICT_STALE);
    ck_assert_uint_eq(f->shard.chunk.batches, 0);
    ck_assert_int_eq(comes(f, 0, POLICY_APPLY, 1), VERDICT_APPLIED);
    ck_assert_uint_eq(f->shard.chunk.batches, 1);
}

int main(void)
{
    return suite_run("policy", NULL);
}
