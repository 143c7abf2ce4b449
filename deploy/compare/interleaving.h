/* interleaving.h - the order in which the runs of a comparison are made, and the state of each.
 *
 * Seeds are the outer loop: changes of the machine during the day meet every configuration alike,
 * and a comparison that is ended early has whole rounds. Every round begins with another
 * configuration: none is always the first.
 *
 * Ownership: an interleaving borrows its configurations and the folder's path; interleaving_free.
 * Threads: plain values. */

#ifndef DEPLOY_COMPARE_INTERLEAVING_H
#define DEPLOY_COMPARE_INTERLEAVING_H

#include "common/file/disk.h"
#include "deploy/compare/boards.h"
#include "deploy/compare/configs.h"

#define INTERLEAVING_RUNS     "runs" /* The folder with the folders of the runs. */
#define INTERLEAVING_NAME_MAX (CONFIG_TEXT_MAX + 32)

struct interleaving {
    const struct configs *configs;
    const char *out; /* The comparison's folder. */
    size_t run_count;
    bool *kept;                      /* [run_count], owned. Finished before. */
    const char *tensorboard;         /* Folder of the runs' event files; NULL until set: none. */
    char (*boards)[BOARDS_NAME_MAX]; /* [run_count], owned. Their names there. */
    double *took; /* [run_count], owned. Seconds, from start to end; 0: not run now, or failed. */
};

struct interleaved_run {
    struct options options;
    struct config config;             /* "sync-w2", "ssp-3-w2" */
    char name[INTERLEAVING_NAME_MAX]; /* "sync-w2-s1" */
    char out[DISK_PATH_MAX];
};

/* STATUS_INVALID: more runs than a comparison may have. STATUS_MEMORY. */
enum status interleaving_init(struct interleaving *interleaving, const struct configs *configs,
                              uint32_t seeds, const char *out, struct error *error);
void interleaving_free(struct interleaving *interleaving);

size_t interleaving_config(const struct interleaving *interleaving, size_t index);
/* Whether no run of its configuration comes after it. */
bool interleaving_is_last(const struct interleaving *interleaving, size_t index);
/* Run number `index`, from 0; it borrows from the interleaving and the configurations. */
void interleaving_run(struct interleaved_run *run, const struct interleaving *interleaving,
                      size_t index);

/* Check which runs are finished already. */
void interleaving_look(struct interleaving *interleaving);

/* The expected time for the runs from number `from` on, by the times of the same configuration,
 * else of all; 0: not known. */
double interleaving_seconds_left(const struct interleaving *interleaving, size_t from);

#endif
