/* leaf_trace.c - counts of buckets added up, and looked up by halves. */

#include "common/compute/leaf_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"

#define RUN_JSON_BYTES_MAX (64u << 20)

/* --- reading --------------------------------------------------------------------------------- */

/* Counts in the place of sums, for now. What is not as we write it is not there. */
static void read_worker(struct leaf_trace_worker *worker, const struct json *item)
{
    const struct json *least = json_at(item, "leaf_times.least_ns");
    const struct json *counts = json_at(item, "leaf_times.counts");
    size_t length = json_length(counts, "");
    for (size_t i = 0; i < length && i < json_length(least, ""); i++) {
        uint64_t ns, count;
        if (json_whole(json_item(least, i), &ns) && json_whole(json_item(counts, i), &count) &&
            count <= UINT32_MAX)
            worker->below[leaf_times_bucket(ns)] += count;
    }
}

static uint64_t total_of(const struct leaf_trace_worker *worker)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < LEAF_TIMES_BUCKETS; i++)
        total += worker->below[i];
    return total;
}

static void add_up(struct leaf_trace_worker *worker)
{
    uint64_t below = 0;
    for (unsigned i = 0; i <= LEAF_TIMES_BUCKETS; i++) {
        uint64_t count = worker->below[i];
        worker->below[i] = below;
        below += count;
    }
}

/* A worker without any gets those of all. False: there are none. */
static bool fill_up(struct leaf_trace *trace)
{
    struct leaf_trace_worker all = {{0}};
    for (uint32_t w = 0; w < trace->worker_count; w++)
        for (unsigned i = 0; i < LEAF_TIMES_BUCKETS; i++)
            all.below[i] += trace->workers[w].below[i];
    for (uint32_t w = 0; w < trace->worker_count; w++) {
        if (total_of(&trace->workers[w]) == 0)
            trace->workers[w] = all;
        add_up(&trace->workers[w]);
    }
    return total_of(&all) > 0;
}

static enum status refuse(const struct json *root, const char *run, struct error *error)
{
    if (json_text(root, "virtual") != NULL)
        return error_set(error, STATUS_INVALID,
                         "%.300s is a run in virtual time: a trace is of a real one", run);
    return error_set(error, STATUS_INVALID,
                     "%.300s has no times of leaves: it was made before they were kept, or has "
                     "computed nothing",
                     run);
}

static enum status take(struct leaf_trace *trace, const struct json *root, const char *run,
                        uint32_t micro_batch, struct error *error)
{
    const struct json *details = json_at(root, "worker_details");
    uint64_t own = json_u64(root, "micro_batch", 0);
    size_t count = json_length(details, "");
    trace->workers = calloc(count + 1, sizeof *trace->workers);
    if (trace->workers == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the times of %.300s", run);
    trace->worker_count = (uint32_t)count;
    for (uint32_t i = 0; i < trace->worker_count; i++)
        read_worker(&trace->workers[i], json_item(details, i));
    if (!fill_up(trace))
        return refuse(root, run, error);
    if (micro_batch > 0 && own != micro_batch)
        return error_set(error, STATUS_INVALID,
                         "%.300s: its leaves have %" PRIu64 " examples, this job's %" PRIu32
                         " (--micro-batch)",
                         run, own, micro_batch);
    return STATUS_OK;
}

enum status leaf_trace_open(struct leaf_trace *trace, const struct disk *disk, const char *run,
                            uint32_t micro_batch, struct error *error)
{
    char path[DISK_PATH_MAX + 16];
    struct json *root = NULL;
    memset(trace, 0, sizeof *trace);
    snprintf(path, sizeof path, "%.4000s/run.json", run);
    enum status status = json_read_file(disk, path, RUN_JSON_BYTES_MAX, &root, error);
    if (status == STATUS_OK)
        status = take(trace, root, run, micro_batch, error);
    json_release(&root);
    if (status != STATUS_OK)
        leaf_trace_close(trace);
    return status;
}

void leaf_trace_close(struct leaf_trace *trace)
{
    free(trace->workers);
    memset(trace, 0, sizeof *trace);
}

/* --- drawing --------------------------------------------------------------------------------- */

static const struct leaf_trace_worker *worker_of(const struct leaf_trace *trace, uint32_t worker)
{
    return &trace->workers[worker % trace->worker_count];
}

/* The bucket that number `rank` of a worker's leaves is in. */
static unsigned bucket_of(const struct leaf_trace_worker *worker, double rank)
{
    unsigned low = 0, high = LEAF_TIMES_BUCKETS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (rank < (double)worker->below[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static double width_of(unsigned bucket)
{
    return (double)(leaf_times_least(bucket + 1) - leaf_times_least(bucket));
}

double leaf_trace_draw(const struct leaf_trace *trace, uint32_t worker, const uint32_t random[2])
{
    const struct leaf_trace_worker *of = worker_of(trace, worker);
    uint64_t bits = ((uint64_t)random[0] << 32 | random[1]) >> 12;
    double rank = ((double)bits + 0.5) * 0x1p-52 * (double)of->below[LEAF_TIMES_BUCKETS];
    unsigned bucket = bucket_of(of, rank);
    double count = (double)(of->below[bucket + 1] - of->below[bucket]);
    double part = (rank - (double)of->below[bucket]) / count;
    return (double)leaf_times_least(bucket) + part * width_of(bucket);
}
