/* folder.h - whether there is, or can be, a folder to write to: for `option`, such as
 * --out; and the end of one.
 *
 * Asked before anything is started, so that hours of work are not done for a folder that cannot be.
 * The answer is for this moment: a disk that fills up, or is taken away later, is a failure of its
 * own.
 *
 * Threads: no shared state. */

#ifndef COMMON_FILE_FOLDER_H
#define COMMON_FILE_FOLDER_H

#include "common/base/status.h"

/* STATUS_OK when the directory is there and may be written to, or can be made with what is missing
 * above it; this is tried out, and nothing of it stays. STATUS_IO: one line says what stands in the
 * way. STATUS_INVALID: it is no path. */
enum status folder_check(const char *option, const char *directory, struct error *error);

/* With its content; a missing folder is no error. Links are removed, not followed. STATUS_IO. */
enum status folder_remove(const char *path, struct error *error);

#endif
