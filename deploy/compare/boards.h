/* boards.h - the event files of a comparison for TensorBoard.
 *
 *     DIR/ARM/seed-1    a run while it goes on: its event files (board.h), written by the run
 *     itself
 *     DIR/ARM/mean      the mean over the finished runs of the configuration (config_mean.h)
 *
 * A mean changes with every run. It is then written to a new file that begins with SessionLog START
 * at step 0: TensorBoard reads a folder's files in order and drops the data that such an event
 * undoes. (In a file that is replaced under its name it would continue in the middle of a record.)
 * Its times are the mean seconds of training, added to the start of the comparison.
 *
 * Threads: one. Ownership: borrows the directory's name. */

#ifndef DEPLOY_COMPARE_BOARDS_H
#define DEPLOY_COMPARE_BOARDS_H

#include "common/tensorboard/board_place.h"
#include "deploy/conclusion/comparison.h"

struct configs;

#define BOARDS_NAME_MAX (CONFIG_TEXT_MAX + 32)

struct boards {
    const char *directory; /* NULL: disabled. */
    struct board_place place;
};

/* Whether there can be a folder for each configuration, checked before the first run. STATUS_IO,
 * STATUS_INVALID. */
enum status boards_open(struct boards *boards, const char *directory, const struct configs *configs,
                        struct error *error);

/* "ARM/seed-1", the name of a run below the directory. */
void boards_name(char name[BOARDS_NAME_MAX], const char *config, uint64_t seed);

/* Writes the configuration's mean again. */
enum status boards_tell_mean(const struct boards *boards, const struct group *group,
                             struct error *error);

#endif
