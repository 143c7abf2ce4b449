/* source.h - a comparison's folder as something to take runs from: its plan, the arms that this comes to, and
 * those of its runs that are done.
 *
 * Nothing in it is changed; while it is open nobody can go on with it, where there are such locks.
 *
 * Ownership: source_close. Threads: plain values. */

#ifndef DEPLOY_COMPARE_SOURCE_H
#define DEPLOY_COMPARE_SOURCE_H

#include "common/file/disk.h"
#include "common/progress/run_noise.h"
#include "deploy/compare/configs.h"

/* A run that is done. */
struct source_run {
    char name[CONFIG_TEXT_MAX + 32]; /* "sync-w2-s1" */
    char path[DISK_PATH_MAX];
    size_t config;  /* Number of an arm. */
    struct job job; /* As it was declared; owned. */
    char parameters_sha256[65];
    uint32_t processors;             /* Of the machine; 0: not known. */
    char machine[RUN_MACHINE_CHARS]; /* Without the version of its system; "": not known. */
};

struct source {
    const char *path; /* Borrowed. */
    struct arguments words;
    struct options options; /* Of the command that its plan stands for. */
    struct plan plan;
    struct configs configs;
    struct source_run *runs; /* [run_count], owned; seed by seed. */
    size_t run_count;
    size_t planned; /* Runs in all. */
    int occupied;   /* -1: not locked. */
};

/* STATUS_NOT_FOUND: there is no plan; STATUS_INVALID: it is none of ours; STATUS_EXISTS: a comparison is
 * under way there; STATUS_MEMORY. source_close in any case. */
enum status source_open(struct source *source, const char *path, struct error *error);
void source_close(struct source *source);

/* A run that is done, as the folder at path has it. STATUS_NOT_FOUND: it is not there, or not done. What comes
 * out is to be freed by job_free of its job. */
enum status source_run_read(struct source_run *run, const char *name, const char *path,
                            struct error *error);

/* The run of this name; NULL: it is not there, or not done. */
const struct source_run *source_find(const struct source *source, const char *name);
/* The arm of this name; NULL: it has none. */
const struct config_plan *source_config(const struct source *source, const char *name);

#endif
