/* job_command.h - a job as people run it, the whole command, and what its run.json says: the
 * reference job, `syncopate run --mode sync --ps 1 --workers 2` with the cnn on Fashion-MNIST, or
 * one that is told in words.
 *
 * Threads: one. Errors: end the program. */

#ifndef TESTS_BENCH_LIB_JOB_COMMAND_H
#define TESTS_BENCH_LIB_JOB_COMMAND_H

#include "common/file/disk.h"
#include "tests/bench/lib/folder.h"

#define JOB_COMMAND_MODEL   "cnn"
#define JOB_COMMAND_WORKERS 2

struct job_command {
    char program[DISK_PATH_MAX], out[FOLDER_PATH_MAX], epochs[16];
    const char *checkpoint_every; /* Steps, "0" for the last alone, NULL for the default. */
    const char *const *job; /* The options of another job, NULL at the end; NULL: reference. */
    unsigned run;           /* How many there have been. */
    /* Of the last run, seconds. */
    double wall, training, evaluation, checkpoint;
    double trained;                 /* The three together. */
    double per_image;               /* Of training. */
    double accuracy;                /* Share. */
    double compute, exchange, wait; /* Mean of the workers. */
    double record_bytes;            /* Of OUT/record. */
};

/* Makes a folder for the runs, which job_command_free removes. */
void job_command_init(struct job_command *command, unsigned epochs);
void job_command_free(struct job_command *command);

/* One run; a piece's work (measure.h), whose context is the command. */
void job_command_run(void *context);

/* Takes --epochs out of the arguments; else BENCH_EPOCHS says how many, else it is 2. */
unsigned job_command_epochs(int *argc, char **argv);

#endif
