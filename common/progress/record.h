/* record.h - one run as it can be read back: what run.json sums up and events.jsonl tells.
 *
 * Reading is forgiving about what is missing (a run that was stopped has no test accuracy, an older
 * one lacks a field): numbers that are not there are NaN, counts 0, texts empty. It is strict about
 * run.json: bytes that are not JSON are STATUS_INVALID, with file and line. Of the events whatever
 * can be read is taken: lines that are no JSON are counted and left out, and a log that was set
 * aside (event_log.h) is read as the beginning of the one that names it.
 *
 * Ownership: record_free frees the series. Threads: plain values.
 * Units: seconds, examples, fractions of 1 for accuracies. */

#ifndef COMMON_PROGRESS_RECORD_H
#define COMMON_PROGRESS_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/job/job.h"
#include "common/progress/run_noise.h"
#include "common/store/run_directory.h"

#define RECORD_WORKERS_MAX 1024 /* More are not looked at. */

struct record {
    char path[DISK_PATH_MAX];
    char mode_text[32], optimizer[32], data[256], model[1024];
    char data_digest[65]; /* Of the decoded examples, in hexadecimal digits; "": not known. */
    char state[32];
    char keep[16]; /* Checkpoints: "all" or a number; "" in an older one. */
    uint32_t workers, servers;
    uint64_t seed, epochs, steps, global_batch, micro_batch;
    uint64_t
        accumulate;    /* Gradients in an update, of which `steps` counts the former; at least 1. */
    uint64_t examples; /* Of the training set; 0: not known. */
    /* Of the declaration only use_locking, colocated, what was done about staleness, chunk_bytes, and
     * controlled time; the rest is zero. */
    struct job config;
    double learning_rate;
    struct run_summary summary; /* But its state. */
    double staleness_mean;
    struct run_noise noise; /* Of no processors: not known. */
    /* Over all sessions, like the series; those of the summary are of the last one. */
    double training_seconds;
    double exchanged_bytes; /* NaN in an older run. */

    struct worker_summary *worker_details; /* [summary.worker_count], owned; without staleness. */
    struct record_point *points;           /* [point_count], owned, in order. */
    size_t point_count;
    struct record_evaluation *evaluations; /* [evaluation_count], owned, in order. */
    size_t evaluation_count;
    struct record_window *windows; /* [window_count], owned, in order. */
    size_t window_count;
    uint64_t damaged_lines; /* Of events.jsonl, left out. */
    struct error
        no_events; /* Why the events could not be read (to their end); "" when they were. */
};

/* Read the run directory at path. STATUS_NOT_FOUND without run.json; a run without events has empty
 * series. On failure the record is empty, and record_free is still allowed. */
enum status record_read(struct record *record, const char *path, struct error *error);
void record_free(struct record *record);

/* Classes of examples, which are the outputs of the model's last layer; 0: not known. */
unsigned record_classes(const struct record *record);

#endif
