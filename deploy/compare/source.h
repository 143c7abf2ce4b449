/* source.h - the folder of a comparison as a source of runs: its plan, its configurations, and its
 * finished runs.
 *
 * The folder stays unchanged, and is locked while it is open, where there are such locks: no
 * comparison can resume in it.
 *
 * Ownership: source_close. Threads: plain values. */

#ifndef DEPLOY_COMPARE_SOURCE_H
#define DEPLOY_COMPARE_SOURCE_H

#include "common/file/disk.h"
#include "common/progress/run_noise.h"
#include "deploy/compare/configs.h"

/* A finished run. */
struct source_run {
    char name[CONFIG_TEXT_MAX + 32]; /* "sync-w2-s1" */
    char path[DISK_PATH_MAX];
    size_t config;  /* Number of its configuration. */
    struct job job; /* As declared; owned. */
    char parameters_sha256[65];
    uint32_t processors;             /* Of the machine; 0: not known. */
    char machine[RUN_MACHINE_CHARS]; /* Without its system's version; "": not known. */
};

struct source {
    const char *path; /* Borrowed. */
    struct arguments words;
    struct options options; /* Of the command that is equivalent to its plan. */
    struct plan plan;
    struct configs configs;
    struct source_run *runs; /* [run_count], owned; seed by seed. */
    size_t run_count;
    size_t planned; /* All runs. */
    int occupied;   /* -1: not locked. */
};

/* STATUS_NOT_FOUND: there is no plan; STATUS_INVALID: the plan is not ours; STATUS_EXISTS: a
 * comparison is in progress there; STATUS_MEMORY. Call source_close in any case. */
enum status source_open(struct source *source, const char *path, struct error *error);
void source_close(struct source *source);

/* A finished run from the folder at `path`. STATUS_NOT_FOUND: it is missing, or not finished. The
 * caller frees its job with job_free. */
enum status source_run_read(struct source_run *run, const char *name, const char *path,
                            struct error *error);

/* The run of this name; NULL: it is missing, or not finished. */
const struct source_run *source_find(const struct source *source, const char *name);
/* The configuration of this name; NULL: there is none. */
const struct config_plan *source_config(const struct source *source, const char *name);

#endif
