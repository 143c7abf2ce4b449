/* run_tree.h - removes the folder of a run with its content.
 *
 * Threads: no shared state. */

#ifndef DEPLOY_COMPARE_RUN_TREE_H
#define DEPLOY_COMPARE_RUN_TREE_H

#include "common/base/status.h"

/* A missing folder is no error. Links are removed, not followed. STATUS_IO. */
enum status run_tree_remove(const char *path, struct error *error);

#endif
