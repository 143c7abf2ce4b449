/* A real server without keys, honest workers, and strangers at the door who are no members and
 * never will be: as many as there are, whatever they do, they take no more memory than ps/server.h
 * says, the job goes on, whoever looks is answered, and whoever comes late to work gets in. */
/* promises: hostile */
/* test: asan */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/hostile.h"
#include "tests/lib/observer.h"
#include "tests/lib/scratch.h"
#include "tests/lib/siege.h"
#include "tests/lib/suite.h"

enum {
    FEW = 20,
    MANY = 800,
    THOUSANDS = 3000,
    LATE_FEW = 8,
    LATE_MANY = 800,
    UPDATES = 2000,
    MIB = 1 << 20
};

#define EACH_MAX ((uint64_t)MIB) /* Bytes a stranger may take; ps/server.h. */
#define ALL_MAX  (64 * (uint64_t)MIB)
/* Seconds for an answer, or to get in: who was lost after the silence of hostile.c has to get in again. */
#define PATIENCE (HOSTILE_SANITIZED ? 60.0 : 20.0)
#define SLOW_US  200000
#define LATE_US  10000000
#define ENOUGH   6 /* Times UPDATES: some are left when the last of many who are late has had work. */
#define PAUSE_US 5000

static uint64_t bound_of(uint32_t strangers)
{
    uint64_t all = strangers * EACH_MAX;
    return all < ALL_MAX ? all : ALL_MAX;
}

/* --- one siege ----------------------------------------------------------------------------- */

/* As anybody who looks; while they are there. */
static void check_answers(const struct hostile *h, const char *kind)
{
    struct observer observer;
    observer_open(&observer, h->servers[0]);
    ck_assert_msg(observer_ask(&observer, PATIENCE), "nobody answers among those who %s", kind);
    ck_assert(observer_state_is(&observer, "running"));
    observer_close(&observer);
}

/* The honest are served: they make updates. */
static void check_progress(const struct hostile *h, const char *kind)
{
    double before = hostile_progress(h), until = clock_now_seconds() + PATIENCE;
    while (hostile_progress(h) == before) {
        if (clock_now_seconds() >= until) {
            hostile_say_logs(h);
            ck_abort_msg("no progress among those who %s", kind);
        }
        usleep(PAUSE_US);
    }
}

/* They run at the lowest priority, so on a busy machine it may take them a while. */
static void await_strangers(struct hostile *h, const struct siege *siege, uint32_t count)
{
    double until = clock_now_seconds() + HOSTILE_DEADLINE;
    while (atomic_load(&siege->shared->connections) < count) {
        ck_assert_msg(clock_now_seconds() < until, "only %llu of %u strangers get in",
                      (unsigned long long)atomic_load(&siege->shared->connections), count);
        hostile_check_there(h);
        hostile_look(h);
        usleep(PAUSE_US);
    }
}

/* What a server has for so long a siege, at most, beyond what it had before. */
static uint64_t besiege(struct hostile *h, enum siege_kind kind, uint32_t count, double seconds)
{
    struct siege siege = {.address = h->servers[0], .kind = kind, .count = count};
    uint64_t before = hostile_memory(h, 0);
    double until = clock_now_seconds() + seconds;
    h->most = 0;
    siege_start(&siege);
    await_strangers(h, &siege, count / 2); /* Not all that knock are let in. */
    while (clock_now_seconds() < until) {
        hostile_check_there(h);
        hostile_look(h);
        usleep(PAUSE_US);
    }
    check_answers(h, siege_name(kind));
    check_progress(h, siege_name(kind));
    hostile_look(h);
    siege_end(&siege);
    return h->most > before ? h->most - before : 0;
}

/* One kind after another at the same job. */
static void check_kinds(const enum siege_kind *kinds, size_t kind_count, uint32_t strangers,
                        double seconds)
{
    struct hostile h;
    hostile_open(&h, MODE_ASYNC, UPDATES, 1);
    hostile_pace(&h, SLOW_US);
    uint64_t first = hostile_memory(&h, 0);
    for (size_t i = 0; i < kind_count; i++) {
        uint64_t grown = besiege(&h, kinds[i], strangers, seconds);
        printf("%u %s: %.1f MiB\n", strangers, siege_name(kinds[i]), (double)grown / MIB);
        if (!HOSTILE_SANITIZED)
            ck_assert_msg(grown < bound_of(strangers), "%u that %s take %llu KiB", strangers,
                          siege_name(kinds[i]), (unsigned long long)grown / 1024);
    }
    ck_assert_double_lt(hostile_progress(&h), 1);
    hostile_pace(&h, 0);
    hostile_end_well(&h, first + 2 * ALL_MAX);
    ck_assert(!hostile_logged(&h, 0, "lost worker"));
    hostile_close(&h);
}

START_TEST(a_few_strangers_take_little_whatever_they_do)
{
    static const enum siege_kind kinds[] = {SIEGE_ASK, SIEGE_PARTS, SIEGE_HUGE, SIEGE_BRIEF};
    check_kinds(kinds, sizeof kinds / sizeof *kinds, FEW, 1.5);
}
END_TEST

/* More than there are places for, or that may come in at once. */
START_TEST(thousands_of_connections_are_no_more_harm_than_hundreds)
{
    static const enum siege_kind kinds[] = {SIEGE_HALF};
    uint32_t most = siege_most();
    check_kinds(kinds, 1, most < THOUSANDS ? most : THOUSANDS, 4);
}
END_TEST

START_TEST(a_few_of_every_kind_take_little)
{
    enum siege_kind kinds[SIEGE_KINDS];
    for (unsigned i = 0; i < SIEGE_KINDS; i++)
        kinds[i] = (enum siege_kind)i;
    check_kinds(kinds, SIEGE_KINDS, FEW, 3);
}
END_TEST

START_TEST(hundreds_of_strangers_take_little_whatever_they_do)
{
    enum siege_kind kind = (enum siege_kind)_i;
    check_kinds(&kind, 1, MANY, 12);
}
END_TEST

/* --- whoever comes late -------------------------------------------------------------------- */

/* How many are left, and how the others ended that did not end well. */
static void say_crowd(const struct crowd *crowd, uint32_t first)
{
    uint32_t left = 0;
    for (uint32_t i = first; i < crowd->count; i++) {
        const struct crowd_worker *worker = &crowd->shared->workers[i];
        int code = atomic_load(&worker->exit_code);
        left += code < 0;
        if (code > 0)
            fprintf(stderr, "worker %u: %d %s\n", i, code, worker->end);
    }
    fprintf(stderr, "%u of %u are still at work\n", left, crowd->count - first);
}

/* Workers beyond those that were declared come while strangers pour. */
static void check_latecomers(uint32_t strangers, uint32_t late_count)
{
    struct hostile h;
    struct crowd late;
    hostile_open_patient(&h, MODE_ASYNC, late_count > LATE_FEW ? ENOUGH * UPDATES : UPDATES);
    hostile_pace(&h, SLOW_US);
    struct siege siege = {.address = h.servers[0], .kind = SIEGE_ASK, .count = strangers};
    siege_start(&siege);
    await_strangers(&h, &siege, strangers);
    crowd_init(&late, &h.job, "tcp", HOSTILE_HONEST + late_count);
    for (uint32_t i = 0; i < late_count; i++) /* Not to have done all before the last is there. */
        atomic_store(&late.shared->workers[HOSTILE_HONEST + i].delay_us, LATE_US);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t first = late_count * i / 4, end = late_count * (i + 1) / 4;
        crowd_start(&late, HOSTILE_HONEST + first, end - first);
    }
    ck_assert_msg(crowd_wait(&late, HOSTILE_HONEST, late_count, HOSTILE_DEADLINE),
                  "somebody who came late did not get work");
    siege_end(&siege);
    for (uint32_t i = 0; i < late_count; i++)
        atomic_store(&late.shared->workers[HOSTILE_HONEST + i].delay_us, 0);
    hostile_pace(&h, 0);
    hostile_end_well(&h, UINT64_MAX);
    bool well = crowd_ends(&late, HOSTILE_DEADLINE);
    if (!well)
        say_crowd(&late, HOSTILE_HONEST);
    ck_assert_msg(well, "somebody who came late ended badly, or not at all");
    crowd_end(&late);
    crowd_free(&late);
    hostile_close(&h);
}

START_TEST(whoever_comes_late_gets_in)
{
    check_latecomers(FEW, LATE_FEW);
}
END_TEST

START_TEST(hundreds_who_come_late_get_in_among_hundreds_of_strangers)
{
    check_latecomers(MANY, LATE_MANY);
}
END_TEST

static void add(TCase *t)
{
    tcase_set_timeout(t, 400);
    tcase_add_checked_fixture(t, scratch_open, scratch_close);
    tcase_add_test(t, a_few_strangers_take_little_whatever_they_do);
    tcase_add_test(t, thousands_of_connections_are_no_more_harm_than_hundreds);
    tcase_add_test(t, whoever_comes_late_gets_in);
}

static void add_long(TCase *t)
{
    tcase_set_timeout(t, 400);
    tcase_add_checked_fixture(t, scratch_open, scratch_close);
    tcase_add_test(t, a_few_of_every_kind_take_little);
    tcase_add_loop_test(t, hundreds_of_strangers_take_little_whatever_they_do, 0, SIEGE_KINDS);
    tcase_add_test(t, hundreds_who_come_late_get_in_among_hundreds_of_strangers);
}

int main(void)
{
    return suite_run_both("siege", add, add_long);
}
