/* partition.c - the chunks: near-equal ones, of the space or of each layer, dealt in turn; or,
 * with locking, the largest part first, to the server that has least. */

#include "common/job/partition.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"

/* Sizes are counted in granules, the 64-byte pieces of every chunk. */
#define GRANULE_BYTES (PARAMETER_ALIGNMENT * sizeof(float))

/* With locking the smallest piece is a variable's part on one server. So variables above 1/32 of
 * a server's fair share are cut until their parts are smaller (or until there is a part on every
 * server). The servers then differ by at most about 1/32. */
#define LOCKING_PARTS_PER_SHARE 32

/* The default without locking: small enough that sending, updating and receiving overlap, large
 * enough that a message is little work beside its bytes. `make bench BENCH=exchange` shows the
 * difference (--chunk-bytes). */
#define CHUNK_BYTES_SMALL (256u << 10)
#define CHUNK_BYTES_LARGE (1u << 20)
#define LARGE_MODEL_BYTES (16u << 20)

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t minimum(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static enum status refuse_servers(uint32_t server_count, uint64_t granules, struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "%u servers are too many: the model has only %s of %zu bytes", server_count,
                     wording_counted(granules, "piece", "pieces").text, GRANULE_BYTES);
}

static enum status allocate_chunks(struct partition *partition, uint64_t count, const char *remedy,
                                   struct error *error)
{
    if (count > PARTITION_CHUNKS_MAX)
        return error_set(error, STATUS_INVALID, "the model needs %llu chunks, the most is %d: %s",
                         (unsigned long long)count, PARTITION_CHUNKS_MAX, remedy);
    partition->chunks = calloc(count, sizeof *partition->chunks);
    if (partition->chunks == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for %llu chunks",
                         (unsigned long long)count);
    partition->chunk_count = (uint32_t)count;
    return STATUS_OK;
}

static void set_chunk(struct partition *partition, uint32_t index, uint64_t first_granule,
                      uint64_t granules, uint32_t server)
{
    uint64_t count = granules * PARAMETER_ALIGNMENT;
    partition->chunks[index] =
        (struct chunk_range){first_granule * PARAMETER_ALIGNMENT, count, 0, server};
    if (count > partition->chunk_elements)
        partition->chunk_elements = count;
}

/* --- without locking ----------------------------------------------------------------------- */

/* Granules of a chunk, as wanted, in a space of so many. */
static uint64_t wanted_granules(uint64_t granules, uint64_t chunk_bytes)
{
    if (chunk_bytes == 0)
        chunk_bytes =
            granules * GRANULE_BYTES >= LARGE_MODEL_BYTES ? CHUNK_BYTES_LARGE : CHUNK_BYTES_SMALL;
    uint64_t wanted = minimum(chunk_bytes, CHUNK_BYTES_MAX) / GRANULE_BYTES;
    return wanted > 0 ? wanted : 1;
}

/* A run of granules that is cut by itself: the space, or a layer. */
struct section {
    uint64_t first, granules;
    uint64_t chunks;
};

/* The number of chunks: for the wanted size, rounded up to a multiple of the servers, but at
 * most as many as granules. */
static struct section cut_section(uint64_t first, uint64_t granules, uint64_t wanted,
                                  uint32_t server_count)
{
    uint64_t count = divide_up(divide_up(granules, wanted), server_count) * server_count;
    uint64_t most = granules < server_count ? granules : granules / server_count * server_count;
    return (struct section){first, granules, minimum(count, most)};
}

/* Deal a section in turn. The remaining granules go one each to the first chunks, and the next
 * section goes on behind the longer ones. So servers stay within one granule of each other.
 * Spreading the longer chunks evenly over the space could give all of them to the same server.
 * Returns the server to go on with. */
static uint32_t deal_section(struct partition *partition, const struct section *section,
                             uint32_t first_chunk, uint32_t server)
{
    uint32_t server_count = partition->server_count;
    uint64_t base = section->granules / section->chunks, first = section->first;
    uint64_t longer = section->granules % section->chunks;
    for (uint32_t i = 0; i < section->chunks; i++) {
        uint64_t size = base + (i < longer);
        set_chunk(partition, first_chunk + i, first, size, (server + i) % server_count);
        first += size;
    }
    uint64_t uneven = section->chunks % server_count != 0 ? section->chunks : longer;
    return (uint32_t)((server + uneven) % server_count);
}

static bool same_layer(const struct variable *a, const struct variable *b)
{
    const char *slash = strrchr(a->name, '/'), *other = strrchr(b->name, '/');
    return slash != NULL && other != NULL && slash - a->name == other - b->name &&
           memcmp(a->name, b->name, (size_t)(slash - a->name)) == 0;
}

/* A section for each layer, [variable_count] at most, or one of all; returns their number. */
static uint32_t cut_space(struct section *sections, const struct variable *variables,
                          uint32_t variable_count, bool at_layers, uint64_t wanted,
                          uint32_t server_count)
{
    uint64_t first = 0, granules = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < variable_count; i++) {
        granules += divide_up(variable_elements(&variables[i]), PARAMETER_ALIGNMENT);
        if (i + 1 < variable_count && (!at_layers || same_layer(&variables[i], &variables[i + 1])))
            continue;
        sections[count++] = cut_section(first, granules, wanted, server_count);
        first += granules;
        granules = 0;
    }
    return count;
}

static enum status make_dealt(struct partition *partition, const struct variable *variables,
                              uint32_t variable_count, uint64_t chunk_bytes, bool at_layers,
                              struct error *error)
{
    uint64_t chunks = 0;
    uint64_t wanted = wanted_granules(partition->elements / PARAMETER_ALIGNMENT, chunk_bytes);
    struct section *sections = calloc(at_layers ? variable_count : 1, sizeof *sections);
    if (sections == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for %u variables", variable_count);
    uint32_t count =
        cut_space(sections, variables, variable_count, at_layers, wanted, partition->server_count);
    for (uint32_t i = 0; i < count; i++)
        chunks += sections[i].chunks;
    enum status status = allocate_chunks(
        partition, chunks,
        at_layers ? "ask for larger chunks, or not for borders at layers" : "ask for larger chunks",
        error);
    uint32_t chunk = 0, server = 0;
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        server = deal_section(partition, &sections[i], chunk, server);
        chunk += (uint32_t)sections[i].chunks;
    }
    free(sections);
    return status;
}

/* --- with locking -------------------------------------------------------------------------- */

struct piece { /* A variable to be cut and dealt. */
    uint32_t variable;
    uint32_t parts;         /* 1 .. servers */
    uint32_t first_chunk;   /* Of its parts, which lie together. */
    uint64_t first_granule; /* In the parameter space. */
    uint64_t granules;
};

struct load { /* The load of a server so far. */
    uint32_t server;
    uint64_t granules;
};

static int largest_first(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->granules != b->granules)
        return a->granules > b->granules ? -1 : 1;
    return a->variable < b->variable ? -1 : 1;
}

static int least_loaded_first(const void *left, const void *right)
{
    const struct load *a = left, *b = right;
    if (a->granules != b->granules)
        return a->granules < b->granules ? -1 : 1;
    return a->server < b->server ? -1 : 1;
}

/* Decide into how many parts each variable is cut; returns the chunks in all. */
static uint64_t plan_pieces(struct piece *pieces, const struct variable *variables,
                            uint32_t variable_count, uint64_t granules, uint32_t server_count)
{
    uint64_t part_max = granules / server_count / LOCKING_PARTS_PER_SHARE;
    uint64_t chunks = 0, first = 0;
    for (uint32_t i = 0; i < variable_count; i++) {
        uint64_t size = divide_up(variable_elements(&variables[i]), PARAMETER_ALIGNMENT);
        uint64_t parts = divide_up(size, part_max > 0 ? part_max : 1);
        parts = minimum(parts, server_count);
        /* first_chunk may wrap when there are too many chunks; they are refused then. */
        pieces[i] = (struct piece){i, (uint32_t)parts, (uint32_t)chunks, first, size};
        chunks += parts;
        first += size;
    }
    return chunks;
}

/* Give each part to another one of the least loaded servers. With no part above p granules the
 * servers never differ by more than p: only servers below the rest gain on them. */
static void deal_piece(struct partition *partition, const struct piece *piece, struct load *loads)
{
    qsort(loads, partition->server_count, sizeof *loads, least_loaded_first);
    uint64_t base = piece->granules / piece->parts, longer = piece->granules % piece->parts;
    uint64_t first = piece->first_granule;
    for (uint32_t i = 0; i < piece->parts; i++) {
        uint64_t size = base + (i < longer);
        set_chunk(partition, piece->first_chunk + i, first, size, loads[i].server);
        loads[i].granules += size;
        first += size;
    }
}

static enum status make_locking(struct partition *partition, const struct variable *variables,
                                uint32_t variable_count, struct error *error)
{
    uint32_t server_count = partition->server_count;
    enum status status = STATUS_MEMORY;
    struct piece *pieces = calloc(variable_count, sizeof *pieces);
    struct load *loads = calloc(server_count, sizeof *loads);
    if (pieces == NULL || loads == NULL) {
        error_set(error, status, "out of memory for %u variables", variable_count);
        goto done;
    }
    for (uint32_t i = 0; i < server_count; i++)
        loads[i].server = i;

    uint64_t chunks = plan_pieces(pieces, variables, variable_count,
                                  partition->elements / PARAMETER_ALIGNMENT, server_count);
    status = allocate_chunks(partition, chunks, "use fewer servers, or no locking", error);
    if (status != STATUS_OK)
        goto done;
    qsort(pieces, variable_count, sizeof *pieces, largest_first);
    for (uint32_t i = 0; i < variable_count; i++)
        deal_piece(partition, &pieces[i], loads);
done:
    free(loads);
    free(pieces);
    return status;
}

/* --- either -------------------------------------------------------------------------------- */

static uint64_t space_granules(const struct variable *variables, uint32_t variable_count)
{
    uint64_t granules = 0;
    for (uint32_t i = 0; i < variable_count; i++)
        granules += divide_up(variable_elements(&variables[i]), PARAMETER_ALIGNMENT);
    return granules;
}

static enum status place_chunks(struct partition *partition, struct error *error)
{
    uint64_t *ends = calloc(partition->server_count, sizeof *ends);
    if (ends == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for %u servers",
                         partition->server_count);
    for (uint32_t i = 0; i < partition->chunk_count; i++) {
        struct chunk_range *chunk = &partition->chunks[i];
        chunk->place = ends[chunk->server];
        ends[chunk->server] += chunk->count;
    }
    free(ends);
    return STATUS_OK;
}

enum status partition_make(struct partition *partition, const struct variable *variables,
                           uint32_t variable_count, uint32_t server_count, uint64_t chunk_bytes,
                           enum chunk_borders borders, struct error *error)
{
    *partition = (struct partition){.server_count = server_count};
    uint64_t granules = space_granules(variables, variable_count);
    if (server_count == 0)
        return error_set(error, STATUS_INVALID, "a partition needs at least one server");
    if (server_count > granules)
        return refuse_servers(server_count, granules, error);

    partition->elements = granules * PARAMETER_ALIGNMENT;
    enum status status = borders == CHUNKS_LOCKED
                             ? make_locking(partition, variables, variable_count, error)
                             : make_dealt(partition, variables, variable_count, chunk_bytes,
                                          borders == CHUNKS_AT_LAYERS, error);
    /* Only with locking, where a chunk is as large as its variable and the servers make it. */
    if (status == STATUS_OK && partition->chunk_elements > CHUNK_BYTES_MAX / sizeof(float))
        status = error_set(error, STATUS_INVALID,
                           "with locking the largest chunk has %llu bytes, the most is %u: use "
                           "more servers, or no locking",
                           (unsigned long long)(partition->chunk_elements * sizeof(float)),
                           CHUNK_BYTES_MAX);
    if (status == STATUS_OK)
        status = place_chunks(partition, error);
    if (status != STATUS_OK)
        partition_free(partition);
    return status;
}

enum status partition_make_sized(struct partition *partition, const struct variable *variables,
                                 uint32_t variable_count, const uint64_t *elements,
                                 uint32_t chunk_count, struct error *error)
{
    uint64_t granules = space_granules(variables, variable_count), first = 0;
    *partition = (struct partition){.server_count = 1, .elements = granules * PARAMETER_ALIGNMENT};
    enum status status = allocate_chunks(partition, chunk_count, "fewer of them", error);
    for (uint32_t i = 0; i < chunk_count && status == STATUS_OK; i++) {
        uint64_t left = granules - first, size = elements[i] / PARAMETER_ALIGNMENT;
        if (elements[i] % PARAMETER_ALIGNMENT != 0 || size == 0 || size > left)
            status = error_set(error, STATUS_INVALID, "chunk %u of %llu elements does not fit", i,
                               (unsigned long long)elements[i]);
        else
            set_chunk(partition, i, first, size, 0);
        first += size;
    }
    if (status == STATUS_OK && first != granules)
        status = error_set(error, STATUS_INVALID, "%u chunks do not cover the model", chunk_count);
    if (status == STATUS_OK)
        status = place_chunks(partition, error);
    if (status != STATUS_OK)
        partition_free(partition);
    return status;
}

void partition_free(struct partition *partition)
{
    free(partition->chunks);
    *partition = (struct partition){0};
}

uint64_t partition_server_bytes(const struct partition *partition, uint32_t server)
{
    assert(server < partition->server_count);
    uint64_t elements = 0;
    for (uint32_t i = 0; i < partition->chunk_count; i++)
        if (partition->chunks[i].server == server)
            elements += partition->chunks[i].count;
    return elements * sizeof(float);
}

double partition_imbalance(const struct partition *partition)
{
    uint64_t largest = 0;
    for (uint32_t server = 0; server < partition->server_count; server++) {
        uint64_t bytes = partition_server_bytes(partition, server);
        if (bytes > largest)
            largest = bytes;
    }
    double mean =
        (double)partition->elements * (double)sizeof(float) / (double)partition->server_count;
    return (double)largest / mean;
}
