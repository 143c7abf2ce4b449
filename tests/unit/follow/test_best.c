/* test_best.c - which score is the best, and when patience ends. */
/* promises: follow */

#include "deploy/follow/best.h"

#include <math.h>

#include "tests/lib/suite.h"

static bool take(struct best *best, uint64_t step, double loss, double accuracy)
{
    return best_take(best, step, &(struct score_figures){loss, accuracy, 0});
}

TEST_PLAIN(of_equals_the_first_stays)
{
    struct best best = {.by = BEST_BY_ACCURACY};
    ck_assert(take(&best, 10, 1.0, 0.5));
    ck_assert(!take(&best, 20, 0.1, 0.5)); /* A smaller loss is not asked for. */
    ck_assert(take(&best, 30, 2.0, 0.6));
    ck_assert_uint_eq(best.step, 30);
    ck_assert_double_eq(best.test.loss, 2.0);
    ck_assert_double_eq(best.test.accuracy, 0.6);
}

TEST_PLAIN(by_loss_less_is_better)
{
    struct best best = {.by = BEST_BY_LOSS};
    ck_assert(take(&best, 10, 1.0, 0.5));
    ck_assert(!take(&best, 20, 1.0, 0.9));
    ck_assert(take(&best, 30, 0.9, 0.1));
    ck_assert_uint_eq(best.step, 30);
}

TEST_PLAIN(what_is_no_number_is_never_the_best)
{
    for (int by = BEST_BY_ACCURACY; by <= BEST_BY_LOSS; by++) {
        struct best best = {.by = (enum best_by)by, .patience = 2};
        ck_assert(!take(&best, 10, (double)NAN, (double)NAN));
        ck_assert(!best.known);
        ck_assert(take(&best, 20, 5.0, 0.1));
        ck_assert(!take(&best, 30, (double)NAN, (double)NAN));
        ck_assert_uint_eq(best.step, 20);
        ck_assert(!best_is_enough(&best));
        ck_assert(!take(&best, 40, (double)INFINITY, (double)-INFINITY));
        ck_assert(best_is_enough(&best));
    }
}

TEST_PLAIN(without_accuracy_the_loss_decides)
{
    struct best best = {.by = BEST_BY_ACCURACY};
    ck_assert(take(&best, 10, 1.0, (double)NAN));
    ck_assert(!take(&best, 20, 1.5, (double)NAN));
    ck_assert(take(&best, 30, 0.5, (double)NAN));
    ck_assert_int_eq(best.by, BEST_BY_LOSS);
}

TEST_PLAIN(patience_ends_after_so_many_in_a_row)
{
    struct best best = {.patience = 3}, endless = {.patience = 0};
    for (uint64_t step = 0; step < 10; step++) {
        take(&endless, step, 1.0, 0.5);
        ck_assert(!best_is_enough(&endless));
    }
    take(&best, 1, 1.0, 0.5);
    for (uint64_t step = 2; step < 4; step++)
        take(&best, step, 1.0, 0.4);
    ck_assert(!best_is_enough(&best));
    take(&best, 4, 1.0, 0.6); /* Hope again. */
    for (uint64_t step = 5; step < 8; step++) {
        ck_assert(!best_is_enough(&best));
        take(&best, step, 1.0, 0.6);
    }
    ck_assert(best_is_enough(&best));
}

int main(void)
{
    return suite_run("best", NULL);
}
