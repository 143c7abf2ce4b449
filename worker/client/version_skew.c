/* version_skew.c - versions by chunk, and the chunks of each variable. */

#include "worker/client/version_skew.h"

#include <stdlib.h>

#include "common/job/variable.h"

/* The chunk of an element, from `chunk` on. */
static uint32_t chunk_at(const struct partition *partition, uint32_t chunk, uint64_t element)
{
    while (chunk + 1 < partition->chunk_count && partition->chunks[chunk + 1].first <= element)
        chunk++;
    return chunk;
}

static void find_variables(struct version_skew *skew, const struct job *job,
                           const uint64_t *offsets)
{
    uint32_t chunk = 0;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        uint64_t end = offsets[i] + variable_elements(&job->variables[i]);
        chunk = skew->first_chunk[i] = chunk_at(skew->partition, chunk, offsets[i]);
        skew->last_chunk[i] = chunk_at(skew->partition, chunk, end - 1);
    }
}

enum status version_skew_init(struct version_skew *skew, const struct job *job,
                              const struct partition *partition)
{
    uint32_t variables = job->variable_count;
    uint64_t *offsets = calloc(variables, sizeof *offsets);
    *skew = (struct version_skew){.partition = partition, .variable_count = variables};
    skew->versions = calloc(partition->chunk_count, sizeof *skew->versions);
    skew->first_chunk = calloc(variables, sizeof *skew->first_chunk);
    skew->last_chunk = calloc(variables, sizeof *skew->last_chunk);
    skew->servers = calloc(partition->server_count, sizeof *skew->servers);
    bool made = offsets != NULL && skew->versions != NULL && skew->first_chunk != NULL &&
                skew->last_chunk != NULL && skew->servers != NULL;
    if (made) {
        variables_layout(job->variables, variables, offsets);
        find_variables(skew, job, offsets);
    }
    free(offsets);
    return made ? STATUS_OK : STATUS_MEMORY;
}

void version_skew_free(struct version_skew *skew)
{
    free(skew->versions);
    free(skew->first_chunk);
    free(skew->last_chunk);
    free(skew->servers);
    *skew = (struct version_skew){.partition = skew->partition};
}

/* The skew of all versions that it has seen. */
static uint64_t see(struct version_range *range, uint32_t round, uint64_t version)
{
    if (range->round != round)
        *range = (struct version_range){version, version, round};
    range->least = version < range->least ? version : range->least;
    range->most = version > range->most ? version : range->most;
    return range->most - range->least;
}

uint64_t version_skew_of_read(const struct version_skew *skew)
{
    struct version_range all = {0};
    uint64_t apart = 0;
    for (uint32_t i = 0; i < skew->partition->chunk_count; i++)
        apart = see(&all, 1, skew->versions[i]);
    return apart;
}

static uint64_t version_skew_of_variable(struct version_skew *skew, uint32_t variable)
{
    uint64_t most = 0;
    skew->round = skew->round == UINT32_MAX ? 1 : skew->round + 1;
    for (uint32_t i = skew->first_chunk[variable]; i <= skew->last_chunk[variable]; i++) {
        struct version_range *range = &skew->servers[skew->partition->chunks[i].server];
        uint64_t apart = see(range, skew->round, skew->versions[i]);
        most = apart > most ? apart : most;
    }
    return most;
}

uint64_t version_skew_within_variables(struct version_skew *skew)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < skew->variable_count; i++) {
        uint64_t apart = version_skew_of_variable(skew, i);
        most = apart > most ? apart : most;
    }
    return most;
}
