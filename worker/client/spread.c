/* spread.c - versions by chunk, and which chunks a variable lies in. */

#include "worker/client/spread.h"

#include <stdlib.h>

#include "common/job/variable.h"

/* The chunk that an element lies in, from `chunk` on. */
static uint32_t chunk_at(const struct partition *partition, uint32_t chunk, uint64_t element)
{
    while (chunk + 1 < partition->chunk_count && partition->chunks[chunk + 1].first <= element)
        chunk++;
    return chunk;
}

static void find_variables(struct spread *spread, const struct job *job, const uint64_t *offsets)
{
    uint32_t chunk = 0;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        uint64_t end = offsets[i] + variable_elements(&job->variables[i]);
        chunk = spread->first_chunk[i] = chunk_at(spread->partition, chunk, offsets[i]);
        spread->last_chunk[i] = chunk_at(spread->partition, chunk, end - 1);
    }
}

enum status spread_init(struct spread *spread, const struct job *job,
                        const struct partition *partition)
{
    uint32_t variables = job->variable_count;
    uint64_t *offsets = calloc(variables, sizeof *offsets);
    *spread = (struct spread){.partition = partition, .variable_count = variables};
    spread->versions = calloc(partition->chunk_count, sizeof *spread->versions);
    spread->first_chunk = calloc(variables, sizeof *spread->first_chunk);
    spread->last_chunk = calloc(variables, sizeof *spread->last_chunk);
    spread->servers = calloc(partition->server_count, sizeof *spread->servers);
    bool made = offsets != NULL && spread->versions != NULL && spread->first_chunk != NULL &&
                spread->last_chunk != NULL && spread->servers != NULL;
    if (made) {
        variables_layout(job->variables, variables, offsets);
        find_variables(spread, job, offsets);
    }
    free(offsets);
    return made ? STATUS_OK : STATUS_MEMORY;
}

void spread_free(struct spread *spread)
{
    free(spread->versions);
    free(spread->first_chunk);
    free(spread->last_chunk);
    free(spread->servers);
    *spread = (struct spread){.partition = spread->partition};
}

/* Returns how far apart what it has seen is. */
static uint64_t see(struct spread_range *range, uint32_t round, uint64_t version)
{
    if (range->round != round)
        *range = (struct spread_range){version, version, round};
    range->least = version < range->least ? version : range->least;
    range->most = version > range->most ? version : range->most;
    return range->most - range->least;
}

uint64_t spread_of_pull(const struct spread *spread)
{
    struct spread_range all = {0};
    uint64_t apart = 0;
    for (uint32_t i = 0; i < spread->partition->chunk_count; i++)
        apart = see(&all, 1, spread->versions[i]);
    return apart;
}

static uint64_t spread_of_variable(struct spread *spread, uint32_t variable)
{
    uint64_t most = 0;
    spread->round = spread->round == UINT32_MAX ? 1 : spread->round + 1;
    for (uint32_t i = spread->first_chunk[variable]; i <= spread->last_chunk[variable]; i++) {
        struct spread_range *range = &spread->servers[spread->partition->chunks[i].server];
        uint64_t apart = see(range, spread->round, spread->versions[i]);
        most = apart > most ? apart : most;
    }
    return most;
}

uint64_t spread_of_parts(struct spread *spread)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < spread->variable_count; i++) {
        uint64_t apart = spread_of_variable(spread, i);
        most = apart > most ? apart : most;
    }
    return most;
}
