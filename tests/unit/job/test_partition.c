/* test_partition.c - how variables are cut into chunks and dealt to servers, with and without
 * locking. */
/* promises: bits chunks */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/job/partition.h"
#include "tests/lib/suite.h"

enum { GRANULE = PARAMETER_ALIGNMENT, VARIABLES_MAX = 60, SERVERS_MAX = 256 };

/* One random declaration of variables and what to make of it. */
struct plan {
    struct variable variables[VARIABLES_MAX];
    uint64_t offsets[VARIABLES_MAX];
    uint64_t elements;
    uint32_t variable_count, server_count;
    uint64_t chunk_bytes;
};

static struct variable vector(uint64_t elements)
{
    return (struct variable){.rank = 1, .shape = {elements}};
}

/* A number whose order of magnitude is random too. */
static uint32_t any_size(struct random_sequence *random, uint32_t bits_max)
{
    return 1 + random_below(random, 1u << random_below(random, bits_max + 1));
}

static void random_plan(struct plan *plan, struct random_sequence *random)
{
    plan->variable_count = 1 + random_below(random, VARIABLES_MAX);
    for (uint32_t i = 0; i < plan->variable_count; i++)
        plan->variables[i] = vector(any_size(random, 20));
    plan->elements = variables_layout(plan->variables, plan->variable_count, plan->offsets);
    plan->server_count = any_size(random, 8);
    plan->chunk_bytes = 64 + any_size(random, 20);
}

static enum status make(struct partition *partition, const struct plan *plan,
                        enum chunk_borders borders, struct error *error)
{
    return partition_make(partition, plan->variables, plan->variable_count, plan->server_count,
                          plan->chunk_bytes, borders, error);
}

struct tally {
    uint32_t chunks_min, chunks_max; /* Of any server. */
    uint64_t bytes_min, bytes_max;
};

static struct tally tally_servers(const struct partition *partition)
{
    uint32_t chunks[SERVERS_MAX] = {0};
    uint64_t bytes[SERVERS_MAX] = {0};
    for (uint32_t i = 0; i < partition->chunk_count; i++) {
        chunks[partition->chunks[i].server]++;
        bytes[partition->chunks[i].server] += partition->chunks[i].count * sizeof(float);
    }
    struct tally tally = {UINT32_MAX, 0, UINT64_MAX, 0};
    for (uint32_t s = 0; s < partition->server_count; s++) {
        tally.chunks_min = chunks[s] < tally.chunks_min ? chunks[s] : tally.chunks_min;
        tally.chunks_max = chunks[s] > tally.chunks_max ? chunks[s] : tally.chunks_max;
        tally.bytes_min = bytes[s] < tally.bytes_min ? bytes[s] : tally.bytes_min;
        tally.bytes_max = bytes[s] > tally.bytes_max ? bytes[s] : tally.bytes_max;
    }
    ck_assert_uint_eq(partition_server_bytes(partition, 0), bytes[0]);
    return tally;
}

/* What holds of every partition. */
static void check_covers(const struct partition *partition, const struct plan *plan)
{
    uint64_t at = 0, largest = 0;
    ck_assert_uint_eq(partition->elements, plan->elements);
    ck_assert_uint_eq(partition->server_count, plan->server_count);
    ck_assert_uint_le(partition->chunk_count, PARTITION_CHUNKS_MAX);
    for (uint32_t i = 0; i < partition->chunk_count; i++) {
        struct chunk_range chunk = partition->chunks[i];
        /* Without ck_assert, which writes to a file each time. */
        bool good = chunk.first == at && chunk.count > 0 && chunk.count % GRANULE == 0 &&
                    chunk.server < partition->server_count;
        if (!good)
            ck_abort_msg("chunk %u is wrong", i);
        at += chunk.count;
        largest = chunk.count > largest ? chunk.count : largest;
    }
    ck_assert_uint_eq(at, plan->elements);
    ck_assert_uint_eq(partition->chunk_elements, largest);
}

static void check_balance(const struct partition *partition, struct tally tally)
{
    double mean = (double)(partition->elements * sizeof(float)) / partition->server_count;
    double imbalance = partition_imbalance(partition);
    ck_assert_double_eq_tol(imbalance, (double)tally.bytes_max / mean, 1e-12);
    ck_assert_uint_ge(tally.chunks_min, 1);
    /* Below that a single granule is more than a twentieth of a server. */
    if (mean >= 20 * 64)
        ck_assert_double_le(imbalance, 1.05);
}

TEST_PLAIN(without_locking_chunks_are_near_equal_and_dealt_in_turn)
{
    struct random_sequence random;
    random_sequence_init(&random, 1, RANDOM_STREAM_PROBE, 0);
    uint32_t made = 0, many = 0;
    for (int round = 0; round < 3000; round++) {
        struct plan plan;
        struct partition partition;
        random_plan(&plan, &random);
        if (make(&partition, &plan, CHUNKS_EVEN, NULL) != STATUS_OK)
            continue;
        check_covers(&partition, &plan);
        struct tally tally = tally_servers(&partition);
        check_balance(&partition, tally);
        ck_assert_uint_eq(tally.chunks_min, tally.chunks_max);
        ck_assert_uint_le(tally.bytes_max - tally.bytes_min, 64);
        /* Chunks of one granule may not come out as a multiple of the servers; those of two do. */
        uint64_t bytes_max = plan.chunk_bytes > 128 ? plan.chunk_bytes : 128;
        ck_assert_uint_le(partition.chunk_elements * sizeof(float), bytes_max);
        for (uint32_t i = 0; i < partition.chunk_count; i++)
            if (partition.chunks[i].count + GRANULE < partition.chunk_elements ||
                partition.chunks[i].server != i % plan.server_count)
                ck_abort_msg("chunk %u is wrong", i);
        made++;
        many += tally.chunks_min >= 16;
        partition_free(&partition);
    }
    ck_assert_uint_gt(made, 1000);
    ck_assert_uint_gt(many, 300); /* The case the balance is promised for was met. */
}

/* The variable that holds element `first`. */
static uint32_t variable_at(const struct plan *plan, uint64_t first)
{
    uint32_t variable = plan->variable_count - 1;
    while (plan->offsets[variable] > first)
        variable--;
    return variable;
}

static uint64_t variable_end(const struct plan *plan, uint32_t variable)
{
    return variable + 1 < plan->variable_count ? plan->offsets[variable + 1] : plan->elements;
}

/* No chunk spans variables, and no server has two chunks of one variable. */
static void check_parts(const struct partition *partition, const struct plan *plan)
{
    static bool owns[VARIABLES_MAX][SERVERS_MAX];
    memset(owns, 0, sizeof owns);
    for (uint32_t i = 0; i < partition->chunk_count; i++) {
        struct chunk_range chunk = partition->chunks[i];
        uint32_t variable = variable_at(plan, chunk.first);
        if (chunk.first + chunk.count > variable_end(plan, variable) ||
            owns[variable][chunk.server])
            ck_abort_msg("chunk %u is wrong", i);
        owns[variable][chunk.server] = true;
    }
}

/* Layers of one to three variables; some variables are of none but their own. */
static void name_layers(struct plan *plan, struct random_sequence *random)
{
    for (uint32_t i = 0, layer = 0; i < plan->variable_count; i++) {
        layer += i == 0 || random_below(random, 2) == 0;
        snprintf(plan->variables[i].name, VARIABLE_NAME_MAX,
                 random_below(random, 5) == 0 ? "alone%u-%u" : "layer%u/part%u", layer, i);
    }
}

static bool begins_layer(const struct plan *plan, uint32_t variable)
{
    const char *name = plan->variables[variable].name, *slash = strchr(name, '/');
    return variable == 0 || slash == NULL ||
           strncmp(name, plan->variables[variable - 1].name, (size_t)(slash - name) + 1) != 0;
}

/* No chunk spans layers; each layer's are near-equal, and where it is large enough all servers have as
 * many of them. */
static void check_layers(const struct partition *partition, const struct plan *plan)
{
    uint32_t chunk = 0;
    for (uint32_t i = 0; i < plan->variable_count;) {
        uint64_t end = 0, least = UINT64_MAX, most = 0;
        uint32_t owned[SERVERS_MAX] = {0}, first = chunk;
        do
            end = variable_end(plan, i);
        while (++i < plan->variable_count && !begins_layer(plan, i));
        for (; chunk < partition->chunk_count && partition->chunks[chunk].first < end; chunk++) {
            const struct chunk_range *range = &partition->chunks[chunk];
            if (range->first + range->count > end)
                ck_abort_msg("chunk %u spans layers", chunk);
            least = range->count < least ? range->count : least;
            most = range->count > most ? range->count : most;
            owned[range->server]++;
        }
        uint64_t granules = (end - partition->chunks[first].first) / GRANULE;
        uint32_t each = (chunk - first) / plan->server_count;
        bool small = granules < plan->server_count;
        for (uint32_t s = 0; s < plan->server_count; s++)
            if (owned[s] != each && !(small && owned[s] <= 1))
                ck_abort_msg("server %u has %u chunks of a layer of %u", s, owned[s],
                             chunk - first);
        if (most - least > GRANULE)
            ck_abort_msg("chunks before %u are uneven", chunk);
    }
    ck_assert_uint_eq(chunk, partition->chunk_count);
}

TEST_PLAIN(at_layers_no_chunk_has_anything_of_two_and_servers_are_as_even)
{
    struct random_sequence random;
    random_sequence_init(&random, 5, RANDOM_STREAM_PROBE, 0);
    uint32_t made = 0, many = 0;
    for (int round = 0; round < 3000; round++) {
        struct plan plan;
        struct partition partition;
        random_plan(&plan, &random);
        name_layers(&plan, &random);
        if (make(&partition, &plan, CHUNKS_AT_LAYERS, NULL) != STATUS_OK)
            continue;
        check_covers(&partition, &plan);
        check_layers(&partition, &plan);
        struct tally tally = tally_servers(&partition);
        check_balance(&partition, tally);
        ck_assert_uint_le(tally.bytes_max - tally.bytes_min, 64);
        made++;
        many += tally.chunks_min >= 16;
        partition_free(&partition);
    }
    ck_assert_uint_gt(made, 1000);
    ck_assert_uint_gt(many, 300);
}

TEST_PLAIN(with_locking_a_chunk_is_one_variables_part_on_one_server)
{
    struct random_sequence random;
    random_sequence_init(&random, 2, RANDOM_STREAM_PROBE, 0);
    uint32_t made = 0, many = 0;
    for (int round = 0; round < 3000; round++) {
        struct plan plan;
        struct partition partition;
        random_plan(&plan, &random);
        if (make(&partition, &plan, CHUNKS_LOCKED, NULL) != STATUS_OK)
            continue;
        check_covers(&partition, &plan);
        check_parts(&partition, &plan);
        struct tally tally = tally_servers(&partition);
        check_balance(&partition, tally);
        uint64_t mean = plan.elements * sizeof(float) / plan.server_count;
        ck_assert_uint_le(tally.bytes_max - tally.bytes_min, mean / 32 > 64 ? mean / 32 : 64);
        made++;
        many += tally.chunks_min >= 16;
        partition_free(&partition);
    }
    ck_assert_uint_gt(made, 1000);
    ck_assert_uint_gt(many, 300);
}

TEST_PLAIN(only_more_servers_than_pieces_of_64_bytes_are_refused)
{
    struct random_sequence random;
    random_sequence_init(&random, 3, RANDOM_STREAM_PROBE, 0);
    uint32_t refused = 0;
    for (int round = 0; round < 2000; round++) {
        struct plan plan;
        struct partition partition;
        struct error error;
        random_plan(&plan, &random);
        plan.variable_count = 1 + random_below(&random, 3);
        for (uint32_t i = 0; i < plan.variable_count; i++)
            plan.variables[i] = vector(any_size(&random, 10));
        plan.elements = variables_layout(plan.variables, plan.variable_count, plan.offsets);
        bool fits = plan.server_count <= plan.elements / GRANULE;
        enum status status = make(&partition, &plan, (enum chunk_borders)(round % 3), &error);
        ck_assert_int_eq(status, fits ? STATUS_OK : STATUS_INVALID);
        if (fits)
            check_balance(&partition, tally_servers(&partition));
        else
            ck_assert_ptr_nonnull(strstr(error.text, "too many"));
        refused += !fits;
        partition_free(&partition);
    }
    ck_assert_uint_gt(refused, 100);
}

TEST_PLAIN(one_large_variable_among_small_ones_does_not_unbalance_the_servers)
{
    struct plan plan = {.variable_count = 40, .server_count = 16, .chunk_bytes = 4096};
    for (uint32_t i = 0; i < plan.variable_count; i++)
        plan.variables[i] = vector(i == 20 ? 1000000 : 63 * GRANULE);
    plan.elements = variables_layout(plan.variables, plan.variable_count, plan.offsets);
    for (int borders = CHUNKS_EVEN; borders <= CHUNKS_LOCKED; borders++) {
        struct partition partition;
        ck_assert_int_eq(make(&partition, &plan, (enum chunk_borders)borders, NULL), STATUS_OK);
        ck_assert_double_le(partition_imbalance(&partition), 1.05);
        partition_free(&partition);
    }
}

TEST_PLAIN(a_small_model_gets_one_chunk_a_server)
{
    const struct variable variable = vector(1000);
    struct partition partition;
    ck_assert_int_eq(partition_make(&partition, &variable, 1, 4, 1 << 20, CHUNKS_EVEN, NULL),
                     STATUS_OK);
    ck_assert_uint_eq(partition.chunk_count, 4);
    ck_assert_uint_eq(partition.elements, 1008);
    partition_free(&partition);
}

TEST_PLAIN(the_same_declaration_gives_the_same_plan)
{
    struct random_sequence random;
    random_sequence_init(&random, 4, RANDOM_STREAM_PROBE, 0);
    for (int round = 0; round < 100; round++) {
        struct plan plan;
        random_plan(&plan, &random);
        plan.server_count = 1 + plan.server_count % 8;
        plan.chunk_bytes = 65536;
        for (uint32_t i = 0; i < plan.variable_count; i += 2) /* Equal sizes must not matter. */
            plan.variables[i] = vector(5000);
        struct partition a, b;
        ck_assert_int_eq(make(&a, &plan, (enum chunk_borders)(round % 3), NULL), STATUS_OK);
        ck_assert_int_eq(make(&b, &plan, (enum chunk_borders)(round % 3), NULL), STATUS_OK);
        ck_assert_uint_eq(a.chunk_count, b.chunk_count);
        ck_assert_mem_eq(a.chunks, b.chunks, a.chunk_count * sizeof *a.chunks);
        partition_free(&a);
        partition_free(&b);
    }
}

TEST_PLAIN(too_many_chunks_are_refused_with_the_remedy)
{
    const struct variable variable = vector(UINT64_C(1) << 30);
    struct partition partition;
    struct error error;
    ck_assert_int_eq(partition_make(&partition, &variable, 1, 2, 64, CHUNKS_EVEN, &error),
                     STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "larger chunks"));
    ck_assert_int_eq(partition_make(&partition, &variable, 1, 0, 64, CHUNKS_EVEN, &error),
                     STATUS_INVALID);
    partition_free(&partition);
}

TEST_PLAIN(the_largest_model_is_cut_without_overflow)
{
    struct plan plan = {.variable_count = 1, .server_count = 255, .chunk_bytes = 1u << 27};
    plan.variables[0] = vector(UINT64_C(1) << 40);
    plan.elements = variables_layout(plan.variables, 1, plan.offsets);
    struct partition partition;
    ck_assert_int_eq(make(&partition, &plan, CHUNKS_EVEN, NULL), STATUS_OK);
    check_covers(&partition, &plan);
    ck_assert_double_le(partition_imbalance(&partition), 1.000001);
    partition_free(&partition);
}

TEST_PLAIN(no_chunk_is_larger_than_a_payload_may_be)
{
    struct plan plan = {.variable_count = 1, .server_count = 2, .chunk_bytes = UINT64_MAX};
    struct partition partition;
    struct error error;
    const uint64_t largest = CHUNK_BYTES_MAX / sizeof(float);
    plan.variables[0] = vector(2 * largest);
    ck_assert_int_eq(make(&partition, &plan, CHUNKS_LOCKED, NULL), STATUS_OK);
    ck_assert_uint_eq(partition.chunk_elements, largest);
    partition_free(&partition);

    plan.variables[0] = vector(2 * largest + 1);
    ck_assert_int_eq(make(&partition, &plan, CHUNKS_LOCKED, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "more servers"));
    ck_assert_int_eq(make(&partition, &plan, CHUNKS_EVEN, NULL), STATUS_OK);
    ck_assert_uint_eq(partition.chunk_count, 4);
    partition_free(&partition);
}

int main(void)
{
    return suite_run("partition", NULL);
}
