/* run_tree.h - the folder of a run once more, in another place, so that neither can change the other.
 *
 * Files that are only ever replaced as a whole (*.safetensors: checkpoints, models) are linked, where the
 * file system has such links, and take no further room; all others, some of which grow, are copied. What is
 * neither a file nor a folder is refused: a symbolic link may lead anywhere.
 *
 * The copy is durable, and under its name it is whole or not there: it is made beside, with RUN_TREE_PART
 * behind its name, and then renamed. What a crash leaves of it the next copy to the same name takes away.
 *
 * Threads: no shared state. Errors: STATUS_EXISTS (of `to`), STATUS_INVALID, STATUS_IO. */

#ifndef DEPLOY_COMPARE_RUN_TREE_H
#define DEPLOY_COMPARE_RUN_TREE_H

#include "common/base/status.h"

#define RUN_TREE_PART ".part"

/* `to` is in a folder that is there. */
enum status run_tree_copy(const char *from, const char *to, struct error *error);

/* With all that is in it; not an error when it is not there. Links are removed, not followed. */
enum status run_tree_remove(const char *path, struct error *error);

#endif
