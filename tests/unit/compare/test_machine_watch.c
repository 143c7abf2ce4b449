/* test_machine_watch.c - whose the processors' time was, from a made up /proc/stat and from this machine's. */

#include "deploy/compare/machine_watch.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/suite.h"

/* As Linux has it: user nice system idle iowait irq softirq steal guest guest_nice. */
static char stat_text[] = "cpu  700 70 7 9000 90 9 99 900 60 6\n"
                          "cpu0 100 10 1 1000 10 1 11 100 50 5\n"
                          "cpu1 200 20 2 2000 20 2 22 200 10 1\n"
                          "cpu11 400 40 4 6000 60 6 66 600 0 0\n"
                          "intr 123 4 5\nctxt 9\n";

static bool read_of(const char *text, unsigned first, unsigned second, struct machine_times *times)
{
    cpu_set_t set;
    char copy[sizeof stat_text];
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    CPU_SET(second, &set);
    snprintf(copy, sizeof copy, "%s", text);
    FILE *stat = fmemopen(copy, strlen(copy), "r");
    ck_assert_ptr_nonnull(stat);
    bool found = machine_times_read(stat, &set, 10, times);
    fclose(stat);
    return found;
}

/* Guests are in user; interrupts and waiting for disks are nobody's work. */
TEST_PLAIN(work_is_that_of_the_processors_we_may_use)
{
    struct machine_times times;
    ck_assert(read_of(stat_text, 1, 11, &times));
    ck_assert_uint_eq(times.processors, 2);
    ck_assert_double_eq_tol(times.busy, (222 + 444) / 10.0, 1e-9);
    ck_assert_double_eq_tol(times.stolen, (200 + 600) / 10.0, 1e-9);
    ck_assert(!read_of(stat_text, 1, 2, &times));
    ck_assert_uint_eq(times.processors, 0);
    ck_assert(!read_of("cpu0 1 2 3\n", 0, 0, &times));
    ck_assert(!read_of("no numbers\n", 0, 0, &times));
}

static struct machine_watch at(double seconds, double busy, double stolen, double own)
{
    return (struct machine_watch){.times = {busy, stolen, 2}, .at = seconds, .own = own};
}

TEST_PLAIN(what_is_not_ours_is_others)
{
    struct run_noise noise;
    struct machine_watch before = at(100, 50, 5, 7), after = at(110, 65, 6, 19);
    machine_watch_between(&before, &after, &noise);
    ck_assert_uint_eq(noise.processors, 2);
    ck_assert_double_eq_tol(noise.seconds, 10, 1e-9);
    ck_assert_double_eq_tol(noise.own, 12, 1e-9);
    ck_assert_double_eq_tol(noise.others, 3, 1e-9);
    ck_assert_double_eq_tol(noise.stolen, 1, 1e-9);
    ck_assert_double_eq_tol(run_noise_share(&noise), 4 / 20.0, 1e-9);
    ck_assert(run_noise_is_much(&noise));
    after = at(110, 62.5, 5.2, 19);
    machine_watch_between(&before, &after, &noise);
    ck_assert(!run_noise_is_much(&noise));
    after = at(110, 61, 5, 19); /* Of ticks that are coarse. */
    machine_watch_between(&before, &after, &noise);
    ck_assert_double_eq_tol(noise.others, 0, 1e-9);
}

TEST_PLAIN(where_nothing_is_counted_nothing_is_known)
{
    struct run_noise noise;
    struct machine_watch before = at(100, 50, 5, 7), after = at(110, 50, 5, 19);
    machine_watch_between(&before, &after, &noise);
    ck_assert_uint_eq(noise.processors, 0);
    ck_assert(isnan(run_noise_share(&noise)) && !run_noise_is_much(&noise));
    after = at(110, 60, 5, 9);
    after.times.processors = 1;
    machine_watch_between(&before, &after, &noise);
    ck_assert_uint_eq(noise.processors, 0);
}

static void work_for(double seconds)
{
    struct timespec used;
    do {
        for (volatile int i = 0; i < 100000; i++)
            continue;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while ((double)used.tv_sec + 1e-9 * (double)used.tv_nsec < seconds);
}

/* A child's work is ours; that of one that is not ours is not. */
TEST_PLAIN(a_child_that_has_ended_is_ours)
{
    struct machine_watch before, after;
    struct run_noise noise;
    machine_watch_look(&before);
    pid_t child = fork();
    if (child == 0) {
        work_for(0.3);
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    machine_watch_look(&after);
    if (before.times.processors == 0)
        return; /* There is no /proc here, or another. */
    machine_watch_between(&before, &after, &noise);
    ck_assert_double_ge(noise.own, 0.29);
    ck_assert_double_le(noise.own + noise.others,
                        after.times.busy - before.times.busy + noise.own * 0.01 + 0.1);
    ck_assert_double_le(run_noise_share(&noise), 1.1);
}

int main(void)
{
    return suite_run("machine_watch", NULL);
}
