/* complaint.h - says what goes wrong once, counts how often, and says when it is over.
 *
 *     if (complaint_add(&complaint, error.text))
 *         log_warning("checkpoint not written: %s", error.text);
 *     ...
 *     if ((count = complaint_end(&complaint)) > 0)
 *         log_info("checkpoints are written again; %llu were not", count);
 *
 * A full disk fails every checkpoint of a long run for one reason. The kind of a line is what
 * stands behind its last ": ", where disk.h puts the system's reason: the paths before it differ
 * each time.
 *
 * Threads: one owner. */

#ifndef COMMON_COMPLAINT_H
#define COMMON_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is ready. */
struct complaint {
    char kind[96];  /* Of the last line that was said; empty when there is nothing to complain. */
    uint64_t count; /* Since the last complaint_end. */
};

/* Count one. Whether to say it: it is of another kind than the last. */
bool complaint_add(struct complaint *complaint, const char *line);

/* It works (again): how many there were since it last did. */
uint64_t complaint_end(struct complaint *complaint);

#endif
