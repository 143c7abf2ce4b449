/* test_steps_ahead.c - what server 0 tells workers of steps that are made of what was dropped, and what a
 * worker (worker/mode/told_steps.h) makes of it. */

#include "ps/work/steps_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"
#include "worker/mode/told_steps.h"

#define BATCHES 40 /* An epoch. */
#define LEAVES  8  /* A step: two a worker. */
#define WORKERS 4

struct fixture {
    struct job job;
    struct quorum quorum;
    struct steps_ahead ahead;
};

static void open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->job = (struct job){.mode = MODE_BACKUP,
                          .worker_count = WORKERS,
                          .backup_workers = 1,
                          .dropped = DROPPED_REQUEUE,
                          .record = RECORDING_ON,
                          .batch = 2 * LEAVES,
                          .micro_batch = 2,
                          .steps = 3 * BATCHES};
    f->job.examples = BATCHES * f->job.batch - 1;
    quorum_init(&f->quorum, &f->job, 0);
    ck_assert_int_eq(quorum_go_back(&f->quorum, 0, 0, NULL, 0), STATUS_OK);
    quorum_deal(&f->quorum, WORKERS);
}

static void close(struct fixture *f)
{
    steps_ahead_free(&f->ahead);
    quorum_free(&f->quorum);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open(f), close(f))

static void report_of(struct fixture *f, uint32_t place)
{
    struct quorum *c = &f->quorum;
    struct timeline t = f->quorum.timeline;
    struct batch_range batch = timeline_batch(&t, &f->job, c->step);
    struct node run = tree_run(batch.leaves, WORKERS, place);
    uint64_t step = c->step;
    for (uint32_t i = 0; i < run.leaf_count && c->step == step; i++) {
        struct node leaf = {run.first_leaf + i, 1};
        struct message_report report = {
            .step = step, .node = leaf, .examples = leaf_set_examples(NULL, &f->job, batch, leaf)};
        if (quorum_report(c, &report, place, place, 0) == QUORUM_COUNTED)
            ck_assert_int_eq(quorum_go_on(c), STATUS_OK);
    }
}

/* A step of an epoch's batches, without one worker; or one of what it owes, with all. */
static void make(struct fixture *f, uint32_t late)
{
    uint64_t step = f->quorum.step;
    for (uint32_t place = 0; place < WORKERS; place++)
        if (place != late)
            report_of(f, place);
    ck_assert_uint_eq(f->quorum.step, step + 1);
}

static void look(struct fixture *f)
{
    ck_assert_int_eq(steps_ahead_look(&f->ahead, &f->quorum, WORKERS), STATUS_OK);
}

/* START, as it comes to the worker in this place. */
static struct told_steps tell(struct fixture *f, uint32_t place, struct message_start *start)
{
    struct told_steps told = {.job = NULL};
    *start = (struct message_start){.members = WORKERS, .position = place};
    steps_ahead_say(&f->ahead, start);
    struct frame *sets = quorum_list(&f->quorum, f->quorum.first, f->quorum.end);
    ck_assert(told_steps_fit(start, &f->job));
    ck_assert_int_eq(
        told_steps_take(&told, &f->job, start, steps_ahead_put(&f->ahead, sets, place)), STATUS_OK);
    frame_release(sets);
    return told;
}

TEST(before_an_epoch_is_closed_its_batches_are_known)
{
    struct message_start start;
    make(f, 3);
    look(f);
    struct told_steps told = tell(f, 0, &start);
    ck_assert_uint_eq(f->ahead.known_end, BATCHES);
    ck_assert_uint_eq(told_steps_end(&start, &f->job), BATCHES);
    struct step_shape shape;
    ck_assert_int_eq(told_steps_shape(&told, 0, &shape), STATUS_OK);
    ck_assert_ptr_null(shape.owed);
    ck_assert_int_eq(told_steps_shape(&told, BATCHES, &shape), STATUS_INVALID);
    told_steps_free(&told);
}

/* Every worker's part of every step is what is owed, in order; and then the next epoch begins. */
TEST(every_leaf_that_is_owed_is_told_once_to_who_computes_it)
{
    struct owed_leaf *owed;
    struct step_shape shape;
    size_t count;
    for (uint32_t step = 0; step < BATCHES; step++)
        make(f, step % WORKERS);
    look(f);
    struct timeline t = f->ahead.timeline;
    ck_assert(t.closed);
    ck_assert_uint_eq(t.owed, 2 * BATCHES);
    ck_assert_uint_eq(t.owed_examples, 4 * BATCHES - 1); /* The ragged leaf is the last worker's. */
    ck_assert_uint_eq(f->ahead.known_end, BATCHES + 10 + BATCHES);
    struct frame *list = quorum_list(&f->quorum, 0, BATCHES);
    ck_assert_int_eq(owed_list(&t, &f->job, list->data, list->bytes, &owed, &count), STATUS_OK);
    ck_assert_uint_eq(count, t.owed);
    for (uint32_t place = 0; place < WORKERS; place++) {
        struct message_start start;
        struct told_steps told = tell(f, place, &start);
        for (uint64_t step = 0; step < 10; step++) {
            ck_assert_int_eq(told_steps_shape(&told, BATCHES + step, &shape), STATUS_OK);
            ck_assert_uint_eq(shape.batch.leaves, LEAVES);
            struct node run = tree_run(LEAVES, WORKERS, place);
            for (uint32_t i = run.first_leaf; i < run.first_leaf + run.leaf_count; i++)
                ck_assert(shape.owed[i].batch == owed[step * LEAVES + i].batch &&
                          shape.owed[i].leaf == owed[step * LEAVES + i].leaf);
        }
        ck_assert_int_eq(told_steps_shape(&told, BATCHES + 10, &shape), STATUS_OK);
        ck_assert_ptr_null(shape.owed);
        ck_assert_uint_eq(shape.batch.epoch, 1);
        told_steps_free(&told);
    }
    free(owed);
    frame_release(list);
}

/* What is told is found to be wrong before it is used. */
TEST(a_start_that_cannot_be_is_no_start)
{
    struct message_start start;
    for (uint32_t step = 0; step < BATCHES; step++)
        make(f, 1);
    look(f);
    struct told_steps told = tell(f, 2, &start);
    struct step_shape shape;
    told.sets->bytes -= 1; /* Cut short. */
    ck_assert_int_eq(told_steps_shape(&told, BATCHES + 9, &shape), STATUS_INVALID);
    told_steps_free(&told);
    struct message_start wrong = start;
    wrong.owed = BATCHES * LEAVES;
    ck_assert(!told_steps_fit(&wrong, &f->job));
    wrong = start;
    wrong.owed_examples = 1;
    ck_assert(!told_steps_fit(&wrong, &f->job));
    wrong = start;
    wrong.owed_end++;
    ck_assert(!told_steps_fit(&wrong, &f->job));
    wrong = start;
    wrong.owed_from = 0;
    ck_assert(!told_steps_fit(&wrong, &f->job));
    wrong = start;
    wrong.epoch = 3;
    ck_assert(!told_steps_fit(&wrong, &f->job));
    wrong = start;
    wrong.epoch_closed = false;
    ck_assert(!told_steps_fit(&wrong, &f->job));
}

/* Whoever goes on from a checkpoint, at whatever step, with what that says, has the same steps before him. */
TEST(a_checkpoint_has_what_an_epoch_owes)
{
    for (uint32_t step = 0; step < BATCHES; step++)
        make(f, step % 3);
    for (uint32_t step = 0; step < 10 + BATCHES; step++)
        make(f, step < 10 ? WORKERS : step % 4);
    struct timeline t = f->quorum.timeline;
    uint64_t dropped = f->quorum.dropped.examples;
    ck_assert_uint_eq(t.epoch, 1);
    ck_assert(t.closed);
    for (uint64_t cut = 1; cut <= f->quorum.step; cut++) {
        struct quorum_start start = quorum_start_at(&f->quorum, cut);
        struct frame *earlier = quorum_list(&f->quorum, start.first, cut);
        struct frame *all = quorum_list(&f->quorum, start.first, f->quorum.end);
        struct quorum other;
        ck_assert_uint_eq(start.epoch, cut > BATCHES + 10);
        quorum_init(&other, &f->job, cut);
        ck_assert_int_eq(quorum_go_back(&other, cut, start.epoch, earlier->data, earlier->bytes),
                         STATUS_OK);
        quorum_check(&other);
        ck_assert_uint_eq(other.dropped.examples, 0); /* Of an earlier session. */
        ck_assert_int_eq(quorum_go_back(&other, cut, start.epoch, all->data, all->bytes),
                         STATUS_OK);
        ck_assert(other.timeline.epoch == (cut >= BATCHES + 10));
        ck_assert_uint_eq(quorum_job_end(&other), UINT64_MAX);
        if (cut >= BATCHES + 10) {
            ck_assert_uint_eq(other.timeline.owed, t.owed);
            ck_assert_uint_eq(other.timeline.first, t.first);
            ck_assert_uint_eq(quorum_made_up(&other), quorum_made_up(&f->quorum));
        }
        quorum_free(&other);
        frame_release(earlier);
        frame_release(all);
    }
    /* In the same session a going back takes back what is dropped again. */
    struct quorum_start start = quorum_start_at(&f->quorum, BATCHES + 20);
    struct frame *list = quorum_list(&f->quorum, start.first, BATCHES + 20);
    ck_assert_int_eq(quorum_go_back(&f->quorum, BATCHES + 20, start.epoch, list->data, list->bytes),
                     STATUS_OK);
    frame_release(list);
    ck_assert_uint_eq(f->quorum.dropped.examples, 4 * BATCHES + 4 * 10);
    quorum_deal(&f->quorum, WORKERS);
    for (uint32_t step = 10; step < BATCHES; step++)
        make(f, (step + 10) % 4);
    ck_assert_uint_eq(f->quorum.dropped.examples, dropped);
}

int main(void)
{
    return suite_run("steps_ahead", NULL);
}
