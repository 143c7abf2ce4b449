/* run_tree.h - a copy of the folder of a run that is independent of the original.
 *
 * Files that are only ever replaced as a whole (*.safetensors: checkpoints, models) are hard links
 * where the file system has them, and use no more space; all others, some of which grow, are
 * copied. Other kinds of entries are refused: a symbolic link may lead anywhere.
 *
 * The copy is durable and atomic: it is made under its name plus RUN_TREE_PART, and then renamed.
 * The remains of a crash are removed by the next copy to the same name.
 *
 * Threads: no shared state. Errors: STATUS_EXISTS (of `to`), STATUS_INVALID, STATUS_IO. */

#ifndef DEPLOY_COMPARE_RUN_TREE_H
#define DEPLOY_COMPARE_RUN_TREE_H

#include "common/base/status.h"

#define RUN_TREE_PART ".part"

/* The folder of `to` exists. */
enum status run_tree_copy(const char *from, const char *to, struct error *error);

/* With its content; a missing folder is no error. Links are removed, not followed. */
enum status run_tree_remove(const char *path, struct error *error);

#endif
