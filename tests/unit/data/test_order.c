/* test_order.c - the order of examples in an epoch: each once, by seed and epoch, and fair. */

#include "worker/data/order.h"

#include <string.h>

#include "tests/lib/suite.h"

#define EXAMPLES 1003

TEST_PLAIN(every_example_stands_once_in_an_epoch)
{
    struct example_order order;
    ck_assert_int_eq(order_init(&order, 7, EXAMPLES), STATUS_OK);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint8_t seen[EXAMPLES] = {0};
        const uint32_t *places = order_places(&order, epoch, 0, EXAMPLES);
        for (int i = 0; i < EXAMPLES; i++) {
            ck_assert_uint_lt(places[i], EXAMPLES);
            ck_assert_uint_eq(seen[places[i]], 0);
            seen[places[i]] = 1;
        }
    }
    order_free(&order);
}

TEST_PLAIN(a_place_depends_on_seed_epoch_and_place_alone)
{
    struct example_order straight, hopping;
    uint32_t kept[3][EXAMPLES];
    order_init(&straight, 7, EXAMPLES);
    order_init(&hopping, 7, EXAMPLES);
    for (uint64_t epoch = 0; epoch < 3; epoch++)
        memcpy(kept[epoch], order_places(&straight, epoch, 0, EXAMPLES), sizeof kept[epoch]);
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t epoch = i * 7 % 3, place = i * 31 % EXAMPLES;
        ck_assert_uint_eq(*order_places(&hopping, epoch, place, 1), kept[epoch][place]);
    }
    order_free(&straight);
    order_free(&hopping);
}

static uint32_t equal_places(uint64_t seed_a, uint64_t epoch_a, uint64_t seed_b, uint64_t epoch_b)
{
    struct example_order a, b;
    order_init(&a, seed_a, EXAMPLES);
    order_init(&b, seed_b, EXAMPLES);
    const uint32_t *x = order_places(&a, epoch_a, 0, EXAMPLES);
    const uint32_t *y = order_places(&b, epoch_b, 0, EXAMPLES);
    uint32_t equal = 0;
    for (int i = 0; i < EXAMPLES; i++)
        equal += x[i] == y[i];
    order_free(&a);
    order_free(&b);
    return equal;
}

TEST_PLAIN(epochs_and_seeds_have_different_orders)
{
    /* Two random orders agree in one place on average. */
    ck_assert_uint_lt(equal_places(7, 0, 7, 1), 10);
    ck_assert_uint_lt(equal_places(7, 0, 8, 0), 10);
    ck_assert_uint_eq(equal_places(7, 5, 7, 5), EXAMPLES);
}

TEST_PLAIN(every_order_of_three_is_equally_likely)
{
    uint32_t seen[3][3] = {{0}};
    struct example_order order;
    order_init(&order, 1, 3);
    for (uint64_t epoch = 0; epoch < 6000; epoch++) {
        const uint32_t *places = order_places(&order, epoch, 0, 3);
        seen[places[0]][places[1]]++;
    }
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            /* 1000 expected, standard deviation 29. */
            ck_assert(a == b ? seen[a][b] == 0 : seen[a][b] > 850 && seen[a][b] < 1150);
        }
    }
    order_free(&order);
}

TEST_PLAIN(one_example_is_an_order_and_none_is_not)
{
    struct example_order order;
    ck_assert_int_eq(order_init(&order, 1, 1), STATUS_OK);
    ck_assert_uint_eq(*order_places(&order, 0, 0, 1), 0);
    order_free(&order);
    ck_assert_int_eq(order_init(&order, 1, 0), STATUS_INVALID);
    ck_assert_int_eq(order_init(&order, 1, 1ull << 32), STATUS_INVALID);
    order_free(&order);
}

int main(void)
{
    return suite_run("order", NULL);
}
