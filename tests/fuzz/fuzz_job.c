/* fuzz_job.c - declarations as they come over the wire: what decodes passes job_check, says the
 * same when it is encoded again, and can be cut into chunks. */

#include <stdlib.h>
#include <string.h>

#include "common/job/partition.h"
#include "common/wire/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

/* The arena, the variables themselves, twice, and the chunks of a partition. */
const struct fuzz_bounds fuzz_bounds = {
    2 * PARTITION_CHUNKS_MAX * sizeof(struct chunk_range) + (256u << 10), 128};

static struct job sample;

void fuzz_start(void)
{
    sample = samples_job("adam", MODE_SYNC);
}

static void check_partition(const struct job *job)
{
    struct partition partition;
    struct error error;
    if (partition_make(&partition, job->variables, job->variable_count, job->server_count,
                       job->chunk_bytes, job_borders(job), &error) != STATUS_OK)
        return;
    uint64_t end = 0;
    for (uint32_t i = 0; i < partition.chunk_count; i++) {
        fuzz_must(partition.chunks[i].first == end && partition.chunks[i].count > 0 &&
                      partition.chunks[i].server < job->server_count,
                  "chunks cover the space in order");
        end += partition.chunks[i].count;
    }
    fuzz_must(end == partition.elements, "chunks cover the whole space");
    partition_free(&partition);
}

static void check_again(const struct job *job)
{
    uint8_t *bytes = NULL, digest[DIGEST_BYTES];
    uint32_t count = 0;
    struct job again;
    struct error error;
    fuzz_must(job_encode(job, &bytes, &count) == STATUS_OK, "a job can be encoded");
    fuzz_must(job_decode(bytes, count, &again, &error) == STATUS_OK, "what was encoded decodes");
    fuzz_must(job_compare(job, "one", &again, "other", JOB_SCOPE_ALL, &error) == STATUS_OK,
              "encoding changes nothing");
    fuzz_must(job_digest(job, digest) == STATUS_OK, "a job has a digest");
    job_free(&again);
    free(bytes);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct job job;
    struct error error;
    if (job_decode(data, (uint32_t)size, &job, &error) != STATUS_OK)
        return;
    fuzz_must(job_check(&job, &error) == STATUS_OK, "what decodes has been checked");
    fuzz_must(job_leaves_max(&job) > 0 && job_batch(&job, job.steps - 1).examples > 0,
              "every step has examples");
    job_compare(&sample, "this job", &job, "worker/1", JOB_SCOPE_ALL, &error);
    check_again(&job);
    check_partition(&job);
    job_free(&job);
}
