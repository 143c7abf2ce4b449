/* test_notes.c - what must be known of the figures: who is idle, crowded, processor-bound or disturbed. */

#include "deploy/report/notes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

#define CONFIGS 3

/* Three arms of a run each, on two processors. */
struct scene {
    struct comparison comparison;
    struct record records[CONFIGS];
    const struct record *of_config[CONFIGS];
    struct record *all[CONFIGS];
    struct worker_summary worker;
};

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->comparison.records = s->all;
    s->comparison.record_count = s->comparison.group_count = CONFIGS;
    for (unsigned i = 0; i < CONFIGS; i++) {
        struct group *group = &s->comparison.groups[i];
        struct record *record = &s->records[i];
        s->all[i] = record;
        s->of_config[i] = record;
        *record =
            (struct record){.workers = 1, .servers = 1, .global_batch = 64, .micro_batch = 16};
        snprintf(record->path, sizeof record->path, "out/runs/arm-%u-s1", i);
        snprintf(record->mode_text, sizeof record->mode_text, "sync");
        record->summary.processors = 2;
        *group = (struct group){.workers = 1, .records = &s->of_config[i], .record_count = 1};
        snprintf(group->mode_text, sizeof group->mode_text, "sync");
        snprintf(group->label, sizeof group->label, "arm %u", i);
    }
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), (void)s)

static void has_notes(const struct scene *s, const char *const *notes)
{
    char text[NOTE_TEXT_MAX];
    size_t count = 0;
    for (; notes[count] != NULL; count++) {
        ck_assert_msg(note_at(&s->comparison, count, text), "there is no %s", notes[count]);
        ck_assert_str_eq(text, notes[count]);
    }
    ck_assert(!note_at(&s->comparison, count, text));
}

#define NOTES(...) has_notes(s, (const char *const[]){__VA_ARGS__ NULL})

static void workers(struct scene *s, unsigned config, uint32_t count)
{
    s->records[config].workers = s->comparison.groups[config].workers = count;
}

TEST(of_runs_that_nothing_is_the_matter_with_nothing_is_said)
{
    NOTES();
}

TEST(workers_beyond_the_leaves_of_a_step_are_idle)
{
    workers(s, 1, 6);
    s->records[1].summary.processors = 64;
    NOTES("arm 1: a step has 4 leaves, and 2 workers have none (--global-batch, --micro-batch)", );
    snprintf(s->comparison.groups[1].mode_text, sizeof s->comparison.groups[1].mode_text, "async");
    NOTES();
}

TEST(servers_take_turns_with_workers_where_their_times_are_not_controlled)
{
    workers(s, 0, 2);
    s->records[2].servers = 2;
    NOTES(
        "more workers and servers than the 2 processors, so that they take turns: arm 0; arm 2", );
    workers(s, 1, 3);
    NOTES("more workers and servers than the 2 processors, so that they take turns: all arms", );
    for (unsigned i = 0; i < CONFIGS; i++)
        strcpy(s->records[i].config.compute, "constant:5ms");
    NOTES();
    for (unsigned i = 0; i < CONFIGS; i++) {
        s->records[i].config.compute[0] = '\0';
        strcpy(s->records[i].config.cluster, "every process on a host of its own");
    }
    NOTES();
}

TEST(leaves_that_take_longer_are_bound_by_processors)
{
    s->worker = (struct worker_summary){.controlled_leaves = 100, .longer_leaves = 3};
    s->records[0].summary.workers = &s->worker;
    s->records[0].summary.worker_count = 1;
    NOTES("arm 0: processor-bound, 3.0 % of leaves took longer than they should", );
}

TEST(runs_that_others_disturbed_are_named_each_with_how_much)
{
    s->records[0].noise = (struct run_noise){.processors = 2, .seconds = 10, .others = 0.9};
    s->records[1].noise =
        (struct run_noise){.processors = 2, .seconds = 10, .others = 1, .stolen = 1};
    s->records[2].noise = (struct run_noise){.processors = 2, .seconds = 10, .others = 5};
    NOTES("noisy: in 2 of 3 runs others had more than 5 % of the processors' time: arm-1-s1 10 %; "
          "arm-2-s1 25 %", );
    ck_assert(!note_is_noisy(&s->records[0]) && note_is_noisy(&s->records[1]));
    ck_assert_double_eq_tol(note_others_share(&s->records[0]), 0.045, 1e-9);
    s->records[2].noise.processors = 0;
    ck_assert(isnan(note_others_share(&s->records[2])));
    NOTES(
        "noisy: in 1 of 2 runs others had more than 5 % of the processors' time: arm-1-s1 10 %", );
}

int main(void)
{
    return suite_run("notes", NULL);
}
