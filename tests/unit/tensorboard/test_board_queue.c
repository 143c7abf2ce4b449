/* test_board_queue.c - points in the order of their numbers, whoever overtakes whom. */

#include "common/tensorboard/board_queue.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

/* Add these numbers in turn, and say in what order they come out: "1 2 | 3" where after the bar all are
 * asked for. */
static const char *order_of(uint64_t next, const unsigned *numbers, size_t count)
{
    static char text[200];
    struct board_queue queue = {.next = next};
    struct points points;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        board_queue_add(&queue, &(struct points){.number = numbers[i], .step = 10 * numbers[i]});
        while (board_queue_take(&queue, false, &points)) {
            ck_assert_uint_eq(points.step, 10 * points.number);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%u ",
                     (unsigned)points.number);
        }
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "|");
    while (board_queue_take(&queue, true, &points))
        snprintf(text + strlen(text), sizeof text - strlen(text), " %u", (unsigned)points.number);
    ck_assert(!board_queue_take(&queue, true, &points));
    return text;
}

#define ORDER(next, ...)                                                                           \
    order_of(next, (const unsigned[]){__VA_ARGS__},                                                \
             sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

TEST_PLAIN(what_is_overtaken_comes_first)
{
    ck_assert_str_eq(ORDER(1, 1, 2, 3), "1 2 3 |");
    ck_assert_str_eq(ORDER(1, 2, 1, 4, 3), "1 2 3 4 |");
    ck_assert_str_eq(ORDER(1, 3, 2, 1), "1 2 3 |");
    ck_assert_str_eq(ORDER(7, 8, 7, 9), "7 8 9 |"); /* A session that went on. */
}

TEST_PLAIN(nobody_waits_for_ever)
{
    ck_assert_str_eq(ORDER(1, 3, 2), "| 2 3");
    ck_assert_str_eq(ORDER(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "2 3 4 5 6 7 8 9 10 |");
    ck_assert_str_eq(ORDER(4, 2, 3, 4), "2 3 4 |"); /* Told again. */
    ck_assert_str_eq(ORDER(0, 5, 6), "| 5 6");
}

int main(void)
{
    return suite_run("board_queue", NULL);
}
