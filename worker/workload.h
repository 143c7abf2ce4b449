/* workload.h - what a worker works on: the data, the model, and the job that it declares.
 *
 * All of it follows from options, and so does whether it is possible: a batch larger than the
 * data, a layer list that does not fit the images, more servers than the parameters can be dealt
 * over. workload_look finds that out without reading the data, so that a launcher can report it
 * before it starts a process. workload_read comes to the same answers in the same way, and then
 * reads the data.
 *
 * Both return an enum exit_code: EXIT_DONE; EXIT_USAGE for what is mistyped; EXIT_CANNOT_OPEN
 * for data that cannot be read; EXIT_PROGRAM for a program that cannot go on; EXIT_TRAINING_FAILED when memory runs out. Error holds one line.
 * workload_free is safe after either, and after nothing but zeroing.
 *
 * Threads: one owner. */

#ifndef WORKER_WORKLOAD_H
#define WORKER_WORKLOAD_H

#include <stdbool.h>

#include "common/file/disk.h"
#include "common/job/partition.h"
#include "common/options/options.h"
#include "worker/node_gradient.h"
#include "worker/source/source.h"

struct workload {
    struct source *source;
    struct job job; /* Looked at: without the data's digest. */
    /* [elements] The values that the job begins with; NULL: they follow from the seed. Owned. */
    float *initial;
    /* Of the parameter space over the servers; without chunks when there are none. */
    struct partition partition;
    struct node_gradient gradient; /* Read only. */
    bool gradient_made;
    struct leaf_trace trace; /* Of --compute trace:RUN; else empty. */
};

/* The times of worker number `worker`; borrows the workload. */
struct compute_time workload_compute_time(const struct workload *workload,
                                          const struct options *options, uint32_t worker);

/* Without --ps-hosts, --ps is the number of servers. Options that were not given take what a program
 * suggests. */
int workload_look(struct workload *workload, struct options *options, struct error *error);

/* The options alone. */
enum status workload_suggest(struct options *options, struct error *error);

/* Of a workload that is zeroed, or was looked at with these options. */
int workload_read(struct workload *workload, struct options *options, struct error *error);

/* A program's initial values go into out/initial.safetensors, as --initial of the job's processes; path keeps
 * that name. Nothing where the program gives none, or --initial does. */
enum status workload_give(struct workload *workload, struct options *options, const char *out,
                          char path[DISK_PATH_MAX], struct error *error);
/* The same of a job that is not looked at yet, for they may depend on its seed. An exit code. */
int workload_ask(struct options *options, const char *out, char path[DISK_PATH_MAX],
                 struct error *error);

void workload_free(struct workload *workload);

#endif
