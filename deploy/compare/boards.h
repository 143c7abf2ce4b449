/* boards.h - what TensorBoard is shown of a comparison.
 *
 *     DIR/ARM/seed-1    a run, as it goes on: its event files (board.h), which whoever makes it writes
 *     DIR/ARM/mean      the mean of the arm's runs that are done (config_mean.h)
 *
 * A mean changes with every run. It is told anew then, in a file of its own that begins with SessionLog START
 * at step 0: TensorBoard reads a folder's files one after the other and forgets what such an event undoes.
 * (In a file that is replaced under its name it would read on where it was, in the middle of a record.) Its
 * times are the mean seconds of training, after the date at which the comparison began.
 *
 * Threads: one. Ownership: borrows the directory's name. */

#ifndef DEPLOY_COMPARE_BOARDS_H
#define DEPLOY_COMPARE_BOARDS_H

#include "common/tensorboard/board_place.h"
#include "deploy/conclusion/comparison.h"

struct configs;

#define BOARDS_NAME_MAX (CONFIG_TEXT_MAX + 32)

struct boards {
    const char *directory; /* NULL: nothing is written. */
    struct board_place place;
};

/* Whether there can be a folder for each arm: before any run is made. STATUS_IO, STATUS_INVALID. */
enum status boards_open(struct boards *boards, const char *directory, const struct configs *configs,
                        struct error *error);

/* "ARM/seed-1", what a run is called below the directory. */
void boards_name(char name[BOARDS_NAME_MAX], const char *config, uint64_t seed);

/* The arm's mean, anew. */
enum status boards_tell_mean(const struct boards *boards, const struct group *group,
                             struct error *error);

#endif
