/* windows.h - the score of every run of N batches as it was trained (--report-every N).
 *
 * Window k is the batches [k N, (k + 1) N) of the job, wherever epochs end; the last one ends
 * with the job and may be shorter. Batches come in any order, each once. A window is reported
 * when it has all of its own, so where batches overtake each other a window may be reported
 * before the one before it:
 *
 *     N 4   0 1 2 3 | 4 5 6 7 | 8 9      batch 2 is slow: 4..7 come first, then 0..3
 *
 * Going back to a step forgets all from there on. Of the step's window the first part is its
 * score so far, if that is known. If not, the window is reported with fewer batches than it has.
 *
 * Memory: a tally for each window between the first that lacks a batch and the last that has
 * one: at most WINDOWS_REACH / N and two, for batches are never further apart.
 * Threads: the owner's. Ownership: windows_free. */

#ifndef COMMON_JOB_WINDOWS_H
#define COMMON_JOB_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/tally.h"

/* From the first uncounted batch to the last that may be counted: see batch_set.h. */
#define WINDOWS_REACH 4096

struct window {
    uint64_t number;     /* From 0. */
    uint64_t first, end; /* Its batches [first, end). */
    uint64_t examples;   /* Their examples. */
    struct tally tally;  /* Of `tally.updates` batches: all, unless a first part is unknown. */
    bool ragged;         /* The last one, shorter than the others. */
};

struct windows {
    const struct job *job; /* Borrowed. Without report_every there are no windows. */
    uint64_t from;         /* The first batch counted in this session. */
    uint64_t since;        /* The first batch in the tallies. */
    uint64_t low;          /* The first window that is not complete. */
    uint32_t room;
    struct tally *tallies; /* [room], window k in place k % room; owned. */
};

/* Count from `first`, before which its window had scored `so_far`. STATUS_MEMORY. */
enum status windows_init(struct windows *windows, const struct job *job, uint64_t first,
                         const struct window_so_far *so_far);
void windows_free(struct windows *windows);

/* A batch was counted. True when that completes its window, which is then in *complete. */
bool windows_count(struct windows *windows, uint64_t batch, const struct tally *tally,
                   struct window *complete);

/* The score of the window of `step` before the step: of no batches where a window begins there. */
struct window_so_far windows_so_far(const struct windows *windows, uint64_t step);

/* Count all from `step` on again. */
void windows_go_back(struct windows *windows, uint64_t step, const struct window_so_far *so_far);

/* Whether the window of the step begins there. */
bool windows_begin_at(const struct job *job, uint64_t step);

/* See common/base/invariant.h. */
void windows_check(const struct windows *windows);

#endif
