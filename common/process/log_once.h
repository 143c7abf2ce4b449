/* log_once.h - says what goes wrong once, counts how often, and says when it is over.
 *
 *     if (log_once_add(&log_once, error.text))
 *         log_warning("checkpoint not written: %s", error.text);
 *     ...
 *     if ((count = log_once_end(&log_once)) > 0)
 *         log_info("checkpoints are written again; %llu were not", count);
 *
 * A full disk fails every checkpoint of a long run for one reason. The kind of a line is what
 * stands behind its last ": ", where disk.h puts the system's reason: the paths before it differ
 * each time.
 *
 * Threads: one owner. */

#ifndef COMMON_PROCESS_LOG_ONCE_H
#define COMMON_PROCESS_LOG_ONCE_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_ONCE_KINDS 4 /* Said at most, until it is over: reasons may take turns. */

/* Zeroed is ready. */
struct log_once {
    char kinds[LOG_ONCE_KINDS][96]; /* [kind_count] that were said ... */
    uint32_t kind_count;
    uint64_t count; /* ... and how often it went wrong, since the last log_once_end. */
};

/* Count one. Whether to say it: there was none of its kind yet. */
bool log_once_add(struct log_once *log_once, const char *line);

/* It works (again): how many there were since it last did. */
uint64_t log_once_end(struct log_once *log_once);

#endif
