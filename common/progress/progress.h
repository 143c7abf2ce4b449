/* progress.h - what a person sees while a job trains, made from OUT/events.jsonl as it grows.
 *
 * On a terminal one line is drawn over and over, with a line that stays for each epoch:
 *
 *     epoch 3  step 2,814  loss 0.2867  accuracy 89.61 %  test accuracy 88.45 %
 *     epoch 3.4 of 10  loss 0.271  accuracy 90.0 %  21,300 images/s  19 s left
 *
 * Loss and accuracy are always means over the examples of an epoch as they were trained: in the
 * first line of the epoch that has ended, in the second of the epoch under way, so far. Where an
 * epoch's mean is not over all of its examples, its line says over how many. In async mode a test
 * accuracy is "about": workers score what each of them holds, some updates before or after.
 *
 * Elsewhere the second kind becomes a plain line every --log-every seconds. With --quiet nothing is
 * shown. Colour only on a terminal, without NO_COLOR and with a TERM that is not dumb.
 *
 * Events of earlier sessions of the run, there before progress_open, are not printed again.
 *
 * Threads: one. Ownership: progress_open opens nothing that progress_close does not close. */

#ifndef COMMON_PROGRESS_PROGRESS_H
#define COMMON_PROGRESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/figures/figures.h"
#include "common/file/disk.h"

#define PROGRESS_LINE_MAX 512

struct progress_style {
    bool quiet;
    bool live; /* Draw one line over and over. */
    bool colour;
    bool leave_waiting; /* The log says what the run waits for. */
    double log_every;   /* Seconds between plain lines. */
};

/* What suits `out` and the environment. */
struct progress_style progress_style_of(FILE *out, bool quiet, bool verbose, double log_every);

/* Where a job stands, by its events. NaN and 0 where nothing is known. */
struct progress_state {
    bool started;
    uint64_t first_step, steps, steps_per_epoch, update_examples, examples;
    uint64_t step;
    struct record_point now; /* Of the latest event. */
    char waiting[256];       /* The process, or "". */
};

/* An epoch whose line is still to be printed: what there is of it. */
struct progress_epoch {
    uint64_t number; /* From 1; 0: none. */
    uint64_t step;
    bool trained, scored; /* There is ... */
    bool dropped;         /* Its score: the next epoch was over before it was made. */
    struct record_epoch train;
    struct score_figures test; /* The loss NaN where it is not finite. */
};

struct progress {
    FILE *out;
    struct progress_style style;
    char path[DISK_PATH_MAX + 16]; /* Of events.jsonl. */
    int file;                      /* -1: not there yet. */
    uint64_t offset;               /* Bytes taken in. */
    char line[4096];               /* The line under way. */
    size_t line_bytes;
    bool line_too_long;
    struct progress_state state;
    struct progress_epoch epochs[2]; /* By number % 2: async, the next may have begun. */
    double opened;                   /* Seconds. */
    double printed;                  /* When the last plain line was written. */
    uint64_t epoch_step;             /* At which the last epoch\'s line was. */
    bool news;                       /* Something to draw. */
    bool drawn;                      /* The live line is on the screen. */
};

/* Watch the run directory `run`, which need not be there yet. */
void progress_open(struct progress *progress, FILE *out, struct progress_style style,
                   const char *run, double now);

/* Take in what is new and show it; call a few times a second. */
void progress_tick(struct progress *progress, double now);

/* A line for standard error that does not get mixed up with the live one. */
void progress_say(struct progress *progress, const char *line);

/* Take in the rest, and leave the cursor on a clean line. */
void progress_close(struct progress *progress);

#endif
