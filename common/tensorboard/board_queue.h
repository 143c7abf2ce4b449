/* board_queue.h - points of one kind in the order of their numbers, where they come in any.
 *
 * Batches overtake each other, and so may windows and epochs come: 2 before 1. TensorBoard takes what comes
 * at an earlier step for something that is made again, and forgets what it has from there on. So 2 waits
 * for 1. (Where 1 never comes, until there is no more room, or the end.)
 *
 * Threads: values. */

#ifndef COMMON_TENSORBOARD_BOARD_QUEUE_H
#define COMMON_TENSORBOARD_BOARD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/tensorboard/board_event.h"

#define BOARD_QUEUE_MAX 8
#define POINTS_MAX      BOARD_VALUES_MAX

/* The points of a step; tags are constants. */
struct points {
    uint64_t number; /* Of their kind, from 1; 0: they have none. */
    uint64_t step;
    struct board_value values[POINTS_MAX]; /* [count] */
    size_t count;
};

/* Zeroed is empty, and awaits number 0. */
struct board_queue {
    uint64_t next; /* The number that comes next. */
    struct points held[BOARD_QUEUE_MAX];
    size_t count;
};

/* There is room for one more when board_queue_take has returned false. */
void board_queue_add(struct board_queue *queue, const struct points *points);

/* The lowest, when its turn has come, there is no room for another, or `all` are asked for. */
bool board_queue_take(struct board_queue *queue, bool all, struct points *points);

#endif
