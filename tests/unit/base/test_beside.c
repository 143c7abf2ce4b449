/* test_beside.c - work by a thread of its own is done when it is joined, and without one at once. */
/* promises: model-file */
/* test: tsan */

#include "common/base/beside.h"

#include <stdatomic.h>
#include <time.h>

#include "tests/lib/suite.h"

static atomic_bool let_go;

/* What it has made is no atomic: ThreadSanitizer sees whether joining orders it. */
static void make(void *argument)
{
    int *made = argument;
    while (!atomic_load(&let_go))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    *made = 7;
}

TEST_PLAIN(large_work_goes_on_beside_its_starter_and_is_done_when_it_is_joined)
{
    struct beside beside;
    int made = 0;
    atomic_store(&let_go, false);
    beside_start(&beside, BESIDE_BYTES_MIN, make, &made); /* Which would not return by itself. */
    ck_assert(beside.running);
    atomic_store(&let_go, true);
    beside_join(&beside);
    ck_assert_int_eq(made, 7);
    beside_join(&beside); /* Once more does no harm. */
}

TEST_PLAIN(small_work_is_done_at_once)
{
    struct beside beside;
    int made = 0;
    atomic_store(&let_go, true);
    beside_start(&beside, BESIDE_BYTES_MIN - 1, make, &made);
    ck_assert(!beside.running);
    ck_assert_int_eq(made, 7);
    beside_join(&beside);
}

int main(void)
{
    return suite_run("beside", NULL);
}
