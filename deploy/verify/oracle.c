/* oracle.c - its own model of every chunk, moved along by what goes into an owner and compared
 * with what comes out; values that ever were right are kept as checksums in a hash table. */

#include "deploy/verify/oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/engine/simulated_network.h"
#include "deploy/verify/check_run.h"
#include "deploy/verify/mode_invariants.h"
#include "deploy/verify/serial_model.h"
#include "ps/extension/staleness_counters.h"
#include "ps/owner/owner_state.h"

static struct oracle *oracle_of(void *check_run)
{
    return &((struct check_run *)check_run)->oracle;
}

void oracle_fail(struct oracle *oracle, const char *format, ...)
{
    if (oracle->failed)
        return;
    oracle->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(oracle->failure, sizeof oracle->failure, format, arguments);
    va_end(arguments);
}

void oracle_counts_add(struct oracle_counts *to, const struct oracle_counts *from)
{
    to->gradients += from->gradients;
    verdict_counts_add(&to->verdicts, &from->verdicts);
    to->staleness_sum += from->staleness_sum;
    if (from->staleness_max > to->staleness_max)
        to->staleness_max = from->staleness_max;
    to->skewed_pulls += from->skewed_pulls;
    to->moved_on += from->moved_on;
    to->loads += from->loads;
    to->retries += from->retries;
    to->identities += from->identities;
    to->sums += from->sums;
    to->slots += from->slots;
    to->record.computations += from->record.computations;
    to->record.entries += from->record.entries;
    to->record.torn += from->record.torn;
    to->record.required += from->record.required;
    to->shares += from->shares;
    to->handed += from->handed;
}

void oracle_check_updates(struct oracle *oracle, const struct model_state *state)
{
    if (state->differs > SERIAL_MODEL_TOLERANCE)
        oracle_fail(oracle, "an update by %s differs from the serial model by %.2g of its values",
                    oracle->job->optimizer.name, state->differs);
}

/* --- values that ever were ------------------------------------------------------------------- */

/* Where the serial training does not say what a version is, a generation has its own: nothing that
 * was made after the cut that it begins from is ever seen again. */
static uint64_t name_values(const struct oracle *w, uint64_t generation, uint32_t chunk,
                            uint64_t version, uint64_t check)
{
    const uint64_t numbers[] = {w->mode_invariants->serial ? 0 : generation, chunk, version, check};
    return simulated_checksum(numbers, sizeof numbers) | 1; /* 0 is an empty place. */
}

static size_t place_of(const struct oracle *w, uint64_t name)
{
    size_t at = name & (w->known_capacity - 1);
    while (w->known[at] != 0 && w->known[at] != name)
        at = (at + 1) & (w->known_capacity - 1);
    return at;
}

static void grow_known(struct oracle *w)
{
    uint64_t *old = w->known;
    size_t old_capacity = w->known_capacity;
    w->known_capacity = old_capacity == 0 ? 1024 : 2 * old_capacity;
    w->known = calloc(w->known_capacity, sizeof *w->known);
    if (w->known == NULL) {
        w->known = old;
        w->known_capacity = old_capacity;
        oracle_fail(w, "out of memory for a witness");
        return;
    }
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i] != 0)
            w->known[place_of(w, old[i])] = old[i];
    free(old);
}

void oracle_learn(struct oracle *w, uint64_t generation, uint32_t chunk, uint64_t version,
                  uint64_t check)
{
    if (2 * w->known_count >= w->known_capacity)
        grow_known(w);
    uint64_t name = name_values(w, generation, chunk, version, check);
    size_t at = place_of(w, name);
    w->known_count += w->known[at] == 0;
    w->known[at] = name;
}

static bool was_learned(const struct oracle *w, uint64_t generation, uint32_t chunk,
                        uint64_t version, uint64_t check)
{
    return w->known[place_of(w, name_values(w, generation, chunk, version, check))] != 0;
}

/* Where steps are made of sets, those of the newest generation are known. An older one may go on by
 * itself, under a server 0 whose place was taken: nothing of that is ever loaded. */
static bool ever_was(const struct oracle *w, uint64_t generation, uint32_t chunk, uint64_t version,
                     uint64_t check)
{
    return (w->sets.steps != NULL && generation < w->sets.generation) ||
           was_learned(w, generation, chunk, version, check);
}

static uint64_t check_values(const struct oracle *w, uint32_t chunk, const float *values)
{
    return simulated_checksum(values, w->partition->chunks[chunk].count * sizeof(float));
}

uint64_t oracle_check_space(const struct oracle *w, uint32_t chunk, const float *space)
{
    return check_values(w, chunk, space + w->partition->chunks[chunk].first);
}

static void learn_all(struct oracle *w, uint64_t version, const struct model_state *state)
{
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        oracle_learn(w, 0, i, version, oracle_check_space(w, i, state->arrays[0]));
}

/* --- cuts ------------------------------------------------------------------------------------ */

#define CUT(array) (((array) + UINT32_C(1)) << 24) /* Beside a chunk's number: at a cut. */

/* A chunk of this state is as it was at some cut at `step`. */
static bool was_snapshot(const struct oracle *w, uint32_t chunk, uint64_t step,
                         const struct model_state *state)
{
    for (uint32_t array = 0; array < state->array_count; array++)
        if (!was_learned(w, 0, CUT(array) | chunk, step,
                         oracle_check_space(w, chunk, state->arrays[array])))
            return false;
    return true;
}

void oracle_note_snapshot(struct oracle *oracle, uint32_t chunk, uint64_t step,
                          const struct model_state *state)
{
    for (uint32_t array = 0; array < state->array_count; array++)
        oracle_learn(oracle, 0, CUT(array) | chunk, step,
                     oracle_check_space(oracle, chunk, state->arrays[array]));
}

enum status oracle_know(struct oracle *oracle, uint64_t step, const struct model_state *model)
{
    struct oracle *w = oracle;
    if (w->mode_invariants->serial)
        learn_all(w, step, model);
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        oracle_note_snapshot(w, i, step, model);
    return w->sets.states != NULL ? oracle_sets_begin(w, step, model) : STATUS_OK;
}

bool oracle_knows(const struct oracle *oracle, uint64_t step, const struct model_state *model)
{
    for (uint32_t i = 0; i < oracle->partition->chunk_count; i++)
        if (!was_snapshot(oracle, i, step, model))
            return false;
    return true;
}

/* --- life ------------------------------------------------------------------------------------ */

/* Every version of the serial training: to be known, and as a cut. */
static enum status train_serially(struct oracle *w)
{
    struct model_state state;
    float *gradient = malloc(w->work->elements * sizeof *gradient);
    enum status status = model_state_init(&state, w->job);
    if (gradient == NULL)
        status = STATUS_MEMORY;
    for (uint64_t step = 0; step <= w->job->steps && status == STATUS_OK; step++) {
        status = oracle_know(w, step, &state);
        if (step < w->job->steps) {
            const struct step_shape shape = step_shape_of(w->job, step, NULL);
            model_state_step(&state, w->work, &shape, gradient);
        }
    }
    oracle_check_updates(w, &state);
    free(gradient);
    model_state_free(&state);
    return status;
}

enum status oracle_init(struct oracle *oracle, const struct simulated_work *work,
                        const struct partition *partition, uint32_t owners_a_server)
{
    struct oracle *w = oracle;
    memset(w, 0, sizeof *w);
    w->job = work->job;
    w->work = work;
    w->partition = partition;
    w->owners_a_server = owners_a_server;
    w->mode_invariants = mode_invariants_of(w->job);
    w->leases = calloc((size_t)2 * job_leaves_max(w->job), sizeof *w->leases);
    grow_known(w);
    if (w->leases == NULL || w->known == NULL || model_state_init(&w->initial, w->job) != STATUS_OK)
        return STATUS_MEMORY;
    if (job_mode(w->job)->sets)
        return oracle_sets_init(w);
    return w->mode_invariants->serial ? train_serially(w) : STATUS_OK;
}

static void free_server(struct oracle *w, struct oracle_server *server)
{
    for (uint32_t i = 0; server->chunks != NULL && i < w->partition->chunk_count; i++) {
        free(server->chunks[i].leaves);
        free(server->chunks[i].batches);
        free(server->chunks[i].group.sum);
        free(server->chunks[i].group.moved);
    }
    free(server->chunks);
    free(server->owners);
    model_state_free(&server->state);
    free(server);
}

static void free_worker(struct oracle_worker *worker)
{
    free(worker->held);
    free(worker->base);
    free(worker);
}

void oracle_free(struct oracle *oracle)
{
    struct oracle *w = oracle;
    for (uint32_t i = 0; i < w->process_count; i++) {
        if (w->processes[i].server != NULL)
            free_server(w, w->processes[i].server);
        if (w->processes[i].worker != NULL)
            free_worker(w->processes[i].worker);
    }
    oracle_sets_free(w);
    free(w->processes);
    free(w->known);
    free(w->leases);
    model_state_free(&w->initial);
    memset(w, 0, sizeof *w);
}

static struct oracle_process *add_process(struct oracle *w)
{
    struct oracle_process *processes =
        realloc(w->processes, (w->process_count + 1) * sizeof *processes);
    if (processes == NULL)
        return NULL;
    w->processes = processes;
    processes[w->process_count] = (struct oracle_process){NULL, NULL};
    return &processes[w->process_count++];
}

static enum status init_chunk(struct oracle *w, struct oracle_chunk *chunk, uint64_t count)
{
    chunk->leaves = calloc(job_leaves_max(w->job), 1);
    chunk->batches = calloc(w->job->steps, 1);
    chunk->group.sum = calloc(count, sizeof(float));
    chunk->group.moved = calloc(count, sizeof(float));
    bool made = chunk->group.sum != NULL && chunk->group.moved != NULL && chunk->leaves != NULL &&
                chunk->batches != NULL;
    return made ? STATUS_OK : STATUS_MEMORY;
}

enum status oracle_add_server(struct oracle *oracle, uint32_t index)
{
    struct oracle *w = oracle;
    struct oracle_process *process = add_process(w);
    struct oracle_server *server = process != NULL ? calloc(1, sizeof *server) : NULL;
    if (server == NULL)
        return STATUS_MEMORY;
    process->server = server;
    server->index = index;
    server->alive = true;
    server->owners = calloc(w->owners_a_server, sizeof *server->owners);
    server->chunks = calloc(w->partition->chunk_count, sizeof *server->chunks);
    if (server->owners == NULL || server->chunks == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (w->partition->chunks[i].server == index &&
            init_chunk(w, &server->chunks[i], w->partition->chunks[i].count) != STATUS_OK)
            return STATUS_MEMORY;
    return w->mode_invariants->serial ? STATUS_OK : model_state_copy(&server->state, &w->initial);
}

enum status oracle_add_worker(struct oracle *oracle, uint32_t index)
{
    struct oracle *w = oracle;
    struct oracle_process *process = add_process(w);
    struct oracle_worker *worker = process != NULL ? calloc(1, sizeof *worker) : NULL;
    if (worker == NULL)
        return STATUS_MEMORY;
    process->worker = worker;
    worker->index = index;
    worker->held = calloc(w->partition->chunk_count, sizeof *worker->held);
    worker->base = calloc(w->work->elements, sizeof *worker->base);
    return worker->held == NULL || worker->base == NULL ? STATUS_MEMORY : STATUS_OK;
}

void oracle_ends(struct oracle *oracle, uint32_t process)
{
    if (oracle->processes[process].server != NULL)
        oracle->processes[process].server->alive = false;
}

/* What a worker computes from is known as it is now. A server whose place another has taken may be late
 * with gradients of the generation before, and what compensating these gives nobody knows here. */
static bool knows_values(const struct oracle *w, const struct oracle_server *server)
{
    return server->current || w->job->delay_compensation == 0.0f;
}

/* Of several processes for one place the one of the latest generation is it. */
static void note_reached(struct oracle *w, struct oracle_server *server, uint64_t generation)
{
    for (uint32_t i = 0; i < w->process_count; i++) {
        struct oracle_server *other = w->processes[i].server;
        if (other == NULL || other == server || other->index != server->index || !other->current)
            continue;
        if (other->reached_generation > generation)
            return;
        other->current = false;
    }
    server->current = true;
    server->reached_generation = generation;
}

/* --- loading --------------------------------------------------------------------------------- */

uint32_t oracle_owner_of(const struct oracle *w, uint32_t chunk)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < chunk; i++)
        before += w->partition->chunks[i].server == w->partition->chunks[chunk].server;
    return before % w->owners_a_server;
}

static bool is_of(const struct oracle *w, uint32_t chunk, const struct oracle_server *server,
                  uint32_t owner)
{
    return w->partition->chunks[chunk].server == server->index &&
           oracle_owner_of(w, chunk) == owner;
}

#define SCORED (UINT32_C(1) << 31) /* Beside a chunk's number: what it had after so many batches. */

/* The chunk has come to its count of batches: that may be one that is scored. */
static void note_scored(struct oracle *w, const struct oracle_server *server, uint32_t index)
{
    const struct oracle_chunk *chunk = &server->chunks[index];
    if (!w->mode_invariants->serial && job_scores_at(w->job, chunk->had))
        oracle_learn(w, server->owners[oracle_owner_of(w, index)].generation, SCORED | index,
                     chunk->had, chunk->check); /* Its count need not be its version. */
}

/* Whether that is what the chunk had after so many batches, of a generation. */
static bool is_scored(const struct oracle *w, uint64_t generation, uint32_t index, uint64_t batches,
                      uint64_t check)
{
    return ever_was(w, generation, w->mode_invariants->serial ? index : SCORED | index, batches,
                    check);
}

void oracle_know_kept(struct oracle *oracle, uint64_t batches, const float *values)
{
    for (uint32_t i = 0; i < oracle->partition->chunk_count; i++)
        oracle_learn(oracle, 0, oracle->mode_invariants->serial ? i : SCORED | i, batches,
                     oracle_check_space(oracle, i, values));
}

bool oracle_knows_kept(const struct oracle *oracle, uint64_t batches, const float *values)
{
    const struct oracle *w = oracle;
    for (uint64_t generation = w->sets.generation; generation <= w->begun_generation;
         generation++) {
        uint32_t same = 0;
        while (same < w->partition->chunk_count &&
               is_scored(w, generation, same, batches, oracle_check_space(w, same, values)))
            same++;
        if (same == w->partition->chunk_count)
            return true;
    }
    return false;
}

static void open_chunk(struct oracle *w, struct oracle_server *server, uint32_t index,
                       uint64_t batches, uint64_t version)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    chunk->loaded = true;
    chunk->had = batches;
    chunk->version = version;
    chunk->group.members = chunk->group.gradients = chunk->group.examples = 0;
    chunk->group.staleness = 0;
    chunk->leaves_in = 0;
    chunk->is_used = chunk->has_advanced = chunk->to_snapshot = false;
    memset(chunk->leaves, 0, job_leaves_max(w->job));
    memset(chunk->batches, 0, w->job->steps);
    memset(chunk->batches, 1, batches);
    memset(chunk->waiting, 0, sizeof chunk->waiting);
    memset(chunk->given, 0, sizeof chunk->given);
    if (!w->mode_invariants->serial) {
        chunk->check = oracle_check_space(w, index, server->state.arrays[0]);
        oracle_learn(w, server->owners[oracle_owner_of(w, index)].generation, index, version,
                     chunk->check);
    }
    note_scored(w, server, index);
}

static void forget_chunk(struct oracle *w, struct oracle_server *server, uint32_t index,
                         bool restore)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    const struct chunk_range *range = &w->partition->chunks[index];
    chunk->loaded = chunk->to_snapshot = false;
    chunk->arrays = 0;
    if (restore)
        return;
    for (uint32_t i = 0; !w->mode_invariants->serial && i < w->initial.array_count; i++)
        memcpy(server->state.arrays[i] + range->first, w->initial.arrays[i] + range->first,
               range->count * sizeof(float));
    open_chunk(w, server, index, 0, 0);
}

/* F4: all owners of all servers begin a generation from one cut. */
static void take_load(struct oracle *w, struct oracle_server *server, uint32_t owner,
                      const struct order *order)
{
    struct oracle_owner *it = &server->owners[owner];
    if (order->generation < it->generation ||
        (order->generation == w->begun_generation && order->load.step != w->begun_step))
        oracle_fail(w, "ps/%u begins generation %" PRIu64 " from step %" PRIu64, server->index,
                    order->generation, order->load.step);
    *it = (struct oracle_owner){.generation = order->generation, .load_step = order->load.step};
    if (order->generation > w->begun_generation) {
        w->begun_generation = order->generation;
        w->begun_step = order->load.step;
    }
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner))
            forget_chunk(w, server, i, order->load.restore);
}

static uint32_t chunk_at(const struct oracle *w, uint64_t first)
{
    uint32_t chunk = 0;
    while (chunk < w->partition->chunk_count && w->partition->chunks[chunk].first != first)
        chunk++;
    return chunk;
}

static void take_state(struct oracle *w, struct oracle_server *server, uint32_t owner,
                       const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    uint32_t index = chunk_at(w, state->first);
    if (index == w->partition->chunk_count || w->partition->chunks[index].server != server->index)
        return;
    struct oracle_chunk *chunk = &server->chunks[index];
    if (chunk->loaded || state->step != server->owners[owner].load_step ||
        chunk->arrays >> state->array & 1)
        return;
    chunk->arrays |= 1u << state->array;
    if (!w->mode_invariants->serial)
        memcpy(server->state.arrays[state->array] + state->first, packet->payload->data,
               packet->payload->bytes);
    if (state->array == 0 && w->mode_invariants->serial &&
        !was_learned(w, 0, index, state->step, check_values(w, index, packet->payload->data)))
        oracle_fail(w, "chunk %u is loaded with values that it did not have at version %" PRIu64,
                    index, state->step);
    if (chunk->arrays + 1 != 1u << w->initial.array_count)
        return;
    if (!w->mode_invariants->serial && !was_snapshot(w, index, state->step, &server->state))
        oracle_fail(w, "chunk %u is loaded as it never was cut at %" PRIu64, index, state->step);
    w->counts.loads++;
    open_chunk(w, server, index, state->step,
               w->mode_invariants->serial ? state->step
                                          : job_version(w->job, state->step, state->version));
}

/* --- cuts of an owner -------------------------------------------------------------------------- */

/* F3: chunks that are on their way to the step. */
static uint32_t count_cutting(const struct oracle *w, const struct oracle_server *server,
                              uint32_t owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        count += is_of(w, i, server, owner) && server->chunks[i].to_snapshot;
    return count;
}

static void take_snapshot(struct oracle *w, struct oracle_server *server, uint32_t owner,
                          const struct message *message)
{
    struct oracle_owner *it = &server->owners[owner];
    if (message->generation != it->generation)
        return;
    if (message->cut.number < it->snapshot_number)
        oracle_fail(w, "owner %u of ps/%u is told of a cut at step %" PRIu64 " that came late",
                    owner, server->index, message->cut.step);
    it->snapshot_owed = it->snapshot_possible = true;
    it->snapshot_step = message->cut.step;
    it->snapshot_number = message->cut.number;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner) && server->chunks[i].had > it->snapshot_step)
            it->snapshot_possible = false;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner)) { /* In place of one before. */
            server->chunks[i].to_snapshot = it->snapshot_possible;
            server->chunks[i].snapshot_step = it->snapshot_step;
            if (it->snapshot_possible && server->chunks[i].had == it->snapshot_step)
                oracle_close_group(w, server, i);
        }
}

/* After each item: it is cut in the moment it can be, and that is said. */
static void check_snapshot_due(struct oracle *w, const struct oracle_server *server, uint32_t owner)
{
    const struct oracle_owner *it = &server->owners[owner];
    bool due =
        it->snapshot_owed && (!it->snapshot_possible || count_cutting(w, server, owner) == 0);
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        due = due || (is_of(w, i, server, owner) && server->chunks[i].to_snapshot &&
                      server->chunks[i].snapshot_step <= server->chunks[i].had);
    if (due)
        oracle_fail(w,
                    "owner %u of ps/%u was to be cut at step %" PRIu64 ", which is there, "
                    "and does not say what has come of it",
                    owner, server->index, it->snapshot_step);
}

/* --- exchanges into an owner ----------------------------------------------------------------- */

/* Chunks of one generation are at most one version apart where versions are waited for. */
static void check_abreast(struct oracle *w, const struct oracle_server *server, uint32_t index)
{
    uint64_t generation = server->owners[oracle_owner_of(w, index)].generation;
    uint64_t version = server->chunks[index].version;
    for (uint32_t i = 0; i < w->process_count; i++) {
        const struct oracle_server *other = w->processes[i].server;
        for (uint32_t j = 0; other != NULL && j < w->partition->chunk_count; j++)
            if (other->alive && other->current && w->partition->chunks[j].server == other->index &&
                other->chunks[j].loaded && other->chunks[j].version + 1 < version &&
                other->owners[oracle_owner_of(w, j)].generation == generation)
                oracle_fail(w,
                            "chunk %u is at version %" PRIu64 " and chunk %u at %" PRIu64
                            " in one generation",
                            index, version, j, other->chunks[j].version);
    }
}

void oracle_advance(struct oracle *w, struct oracle_server *server, uint32_t index)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    chunk->version++;
    chunk->had++;
    chunk->is_used = false;
    chunk->has_advanced = true;
    if (w->mode_invariants->releases)
        check_abreast(w, server, index);
}

void oracle_close_group(struct oracle *w, struct oracle_server *server, uint32_t index)
{
    struct oracle_chunk *chunk = &server->chunks[index];
    const struct chunk_range *range = &w->partition->chunks[index];
    if (chunk->group.members == 0)
        return;
    if (chunk->group.examples > 0)
        model_state_make(&server->state, w->job,
                         &(struct model_update){.version = chunk->version,
                                                .batches = chunk->had - 1,
                                                .staleness = chunk->group.staleness,
                                                .examples = chunk->group.examples,
                                                .gradients = chunk->group.gradients,
                                                .first = range->first,
                                                .count = range->count,
                                                .gradient = chunk->group.sum});
    chunk->group.members = chunk->group.gradients = chunk->group.examples = 0;
    chunk->group.staleness = 0;
    chunk->version++;
    chunk->check = oracle_check_space(w, index, server->state.arrays[0]);
    oracle_learn(w, server->owners[oracle_owner_of(w, index)].generation, index, chunk->version,
                 chunk->check);
}

/* Where a mode does not say what comes of a gradient, chunks are at the versions that their owner has: of
 * these the serial training has the values. */
static void catch_up(struct oracle *w)
{
    const struct owner *owner = w->expected.core;
    struct oracle_server *server = w->expected.server;
    for (uint32_t i = 0; w->mode_invariants->take == NULL && i < owner->owned_count; i++) {
        const struct chunk *chunk = &owner->owned[i].shard.chunk;
        while (server->chunks[chunk->index].loaded &&
               server->chunks[chunk->index].version < chunk->version) {
            oracle_advance(w, server, chunk->index);
            note_scored(w, server, chunk->index);
        }
    }
}

static void count_gradient(struct oracle *w, struct oracle_owner *owner, enum verdict verdict)
{
    const struct verdict_counts one = {.applied = verdict == VERDICT_APPLIED,
                                       .stale = verdict == VERDICT_STALE,
                                       .duplicate = verdict == VERDICT_DUPLICATE,
                                       .rejected = verdict == VERDICT_REJECTED};
    verdict_counts_add(&owner->verdicts, &one);
    verdict_counts_add(&w->counts.verdicts, &one);
}

/* F1: whoever was heard as a worker is not heard any more once a successor was. */
static void check_sender(struct oracle *w, struct oracle_owner *owner,
                         const struct message *message, uint32_t sender)
{
    uint32_t index = message->index;
    if (index >= ORACLE_WORKERS_MAX || sender >= w->process_count)
        return;
    if (w->processes[sender].worker == NULL || w->processes[sender].worker->index != index)
        oracle_fail(w, "process %u is heard as worker/%u, which it is not", sender, index);
    if (message->ticket < owner->known[index].ticket ||
        (message->ticket == owner->known[index].ticket && owner->known[index].process != sender &&
         message->ticket != 0))
        oracle_fail(w, "process %u is heard as worker/%u, whose place was taken", sender, index);
    owner->known[index].ticket = message->ticket;
    owner->known[index].process = sender;
}

/* S8: what waits is answered when its version is there. A worker has one place a chunk. */
static void park(struct oracle_chunk *chunk, const struct packet *packet)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    bool waits = !exchange->newest && exchange->want_version > chunk->version;
    if (packet->message.index < ORACLE_WORKERS_MAX)
        chunk->waiting[packet->message.index] = (struct oracle_waiting){
            packet->peer, packet->message.request, waits ? exchange->want_version : 0};
}

static void take_gradient(struct oracle *w, struct oracle_server *server, uint32_t owner,
                          const struct packet *packet, uint32_t sender)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    const struct mode_invariants *mode = w->mode_invariants;
    struct oracle_expected *expected = &w->expected;
    struct oracle_chunk *chunk = &server->chunks[exchange->chunk];
    enum verdict verdict = mode->judge(w, chunk, exchange);
    w->counts.gradients += !exchange->retry;
    w->counts.retries += exchange->retry;
    server->owners[owner].gradients += !exchange->retry;
    expected->verdict = verdict;
    expected->knows_verdict = verdict != VERDICT_NONE;
    if (exchange->retry) {
        expected->may_be_silent = verdict == VERDICT_REJECTED && mode->serial;
        expected->missing =
            mode->serial ? verdict == VERDICT_APPLIED : verdict != VERDICT_DUPLICATE;
        return;
    }
    if (verdict == VERDICT_REJECTED && !exchange->skip)
        oracle_fail(w, "a gradient for chunk %u has to be rejected", exchange->chunk);
    expected->counts_staleness = verdict == VERDICT_APPLIED && mode->take != NULL;
    if (expected->counts_staleness && exchange->base_version < chunk->version)
        expected->staleness = chunk->version - exchange->base_version;
    count_gradient(w, &server->owners[owner], verdict);
    w->counts.staleness_sum += expected->staleness;
    if (expected->staleness > w->counts.staleness_max)
        w->counts.staleness_max = expected->staleness;
    chunk->is_used = chunk->is_used || exchange->step == chunk->version;
    if (mode->take != NULL)
        mode->take(w, server, packet, sender);
    note_scored(w, server, exchange->chunk);
}

static void take_exchange(struct oracle *w, struct oracle_server *server, uint32_t owner,
                          const struct packet *packet, uint32_t sender)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    struct oracle_expected *expected = &w->expected;
    struct oracle_chunk *chunk = &server->chunks[exchange->chunk];
    expected->exchange = true;
    expected->chunk = exchange->chunk;
    expected->peer = packet->peer;
    expected->request = packet->message.request;
    expected->weight = packet->weight;
    expected->want = exchange->want;
    expected->slots = exchange->slots;
    expected->knows_verdict = true;
    expected->newest = exchange->newest || !w->mode_invariants->releases;
    expected->want_version = exchange->want_version;
    check_sender(w, &server->owners[owner], &packet->message, sender);
    if (packet->message.generation != server->owners[owner].generation)
        oracle_fail(w, "an exchange of generation %" PRIu64 " gets to an owner of %" PRIu64,
                    packet->message.generation, server->owners[owner].generation);
    if (!server->current || server->reached_generation != packet->message.generation)
        note_reached(w, server, packet->message.generation);
    if (!chunk->loaded) {
        oracle_fail(w, "chunk %u of ps/%u is asked for before it is there", exchange->chunk,
                    server->index);
        return;
    }
    expected->may_be_silent = exchange->scored;
    if (exchange->scored)
        return; /* Its trainer says with what it was answered. */
    if (exchange->gradient || exchange->skip)
        take_gradient(w, server, owner, packet, sender);
    if (w->mode_invariants->releases && exchange->want && !expected->missing &&
        !expected->may_be_silent)
        park(chunk, packet);
}

void oracle_owner_takes(void *check_run, const struct simulated_process *process, uint32_t owner,
                        const struct packet *packet, uint32_t sender)
{
    struct oracle *w = oracle_of(check_run);
    struct oracle_server *server = w->processes[process->number].server;
    const struct order *order = order_of(packet);
    w->expected = (struct oracle_expected){
        .server = server, .owner = owner, .core = process->cores.owners[owner]};
    if (w->failed)
        return;
    if (packet->message.kind == MESSAGE_EXCHANGE)
        take_exchange(w, server, owner, packet, sender);
    else if (order != NULL && order->kind == ORDER_LOAD)
        take_load(w, server, owner, order);
    else if (packet->message.kind == MESSAGE_CHUNK_STATE)
        take_state(w, server, owner, packet);
    else if (packet->message.kind == MESSAGE_CUT)
        take_snapshot(w, server, owner, &packet->message);
}

/* --- out of an owner ------------------------------------------------------------------------- */

static bool is_own(const struct oracle_expected *expected, const struct packet *packet,
                   uint32_t chunk)
{
    return expected->exchange && expected->peer == packet->peer &&
           expected->request == packet->message.request && chunk == expected->chunk;
}

/* The answer to the request that came, or to one that waited. */
static void check_answer(struct oracle *w, struct oracle_chunk *chunk, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    struct oracle_expected *expected = &w->expected;
    struct oracle_waiting *waiting = &chunk->waiting[packet->message.index % ORACLE_WORKERS_MAX];
    if (waiting->peer == packet->peer && waiting->request == packet->message.request)
        waiting->want_version = 0;
    if (!is_own(expected, packet, result->chunk))
        return;
    expected->answered = true;
    if (expected->knows_verdict && result->verdict != expected->verdict)
        oracle_fail(w, "a gradient for chunk %u has the verdict %s and not %s", result->chunk,
                    verdict_name(result->verdict), verdict_name(expected->verdict));
    if (expected->counts_staleness && result->staleness != expected->staleness)
        oracle_fail(w, "chunk %u reports staleness %" PRIu64 " where it is %" PRIu64, result->chunk,
                    result->staleness, expected->staleness);
    if (expected->want && !expected->newest && result->version != expected->want_version)
        oracle_fail(w, "chunk %u is given as version %" PRIu64 " where %" PRIu64 " was wanted",
                    result->chunk, result->version, expected->want_version);
}

static void check_result(struct oracle *w, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    const struct oracle_expected *expected = &w->expected;
    struct oracle_chunk *chunk = &expected->server->chunks[result->chunk];
    w->counts.sums += result->sum;
    w->counts.slots += result->array > 0;
    if (result->scored || result->array > 0) /* Trainers compute from what is made of them. */
        return;
    check_answer(w, chunk, packet);
    if (result->parameters)
        chunk->given[packet->message.index % ORACLE_WORKERS_MAX] = result->version + 1;
    if (!expected->knows_verdict)
        count_gradient(w, &expected->server->owners[expected->owner], result->verdict);
    /* Where versions are waited for, the one before stays readable for a while. */
    bool current = result->version == chunk->version ||
                   (!expected->newest && expected->want && result->version + 1 == chunk->version);
    if (!current)
        oracle_fail(
            w, "chunk %u says it is at version %" PRIu64 ", but it has had %" PRIu64 " updates",
            result->chunk, result->version, chunk->version);
    if (!result->parameters || result->sum || !knows_values(w, expected->server))
        return;
    uint64_t check = check_values(w, result->chunk, packet->payload->data);
    uint64_t generation = expected->server->owners[expected->owner].generation;
    if (!ever_was(w, generation, result->chunk, result->version, check) ||
        (!w->mode_invariants->serial && check != chunk->check))
        oracle_fail(w, "chunk %u gives out values that are not its version %" PRIu64, result->chunk,
                    result->version);
}

/* The version before stays until a gradient made from this one proves that all chunks have it. */
static void check_moved_on(struct oracle *w, const struct message *message)
{
    struct oracle_expected *expected = &w->expected;
    const struct oracle_chunk *chunk = &expected->server->chunks[message->moved_on.chunk];
    bool kept = expected->want_version + 1 == chunk->version && !chunk->is_used &&
                !expected->slots &&
                chunk->version > expected->server->owners[expected->owner].load_step;
    w->counts.moved_on++;
    expected->answered = true;
    if (!message->moved_on.scored &&
        (expected->newest || expected->want_version >= chunk->version || kept))
        oracle_fail(w, "chunk %u gives up version %" PRIu64 " too early", message->moved_on.chunk,
                    expected->want_version);
}

static void check_receipt(struct oracle *w, const struct packet *packet)
{
    const struct message_receipt *receipt = &packet->message.receipt;
    struct oracle_expected *expected = &w->expected;
    if (!is_own(expected, packet, receipt->chunk) ||
        (expected->knows_verdict && receipt->missing != expected->missing))
        oracle_fail(w, "chunk %u says that a gradient is %s, and it is not", receipt->chunk,
                    receipt->missing ? "missing" : "held");
    expected->answered = expected->answered || receipt->missing || !expected->want;
    if (receipt->missing &&
        !w->failed) /* Then it does not wait, whether that was to be known or not. */
        expected->server->chunks[receipt->chunk]
            .waiting[packet->message.index % ORACLE_WORKERS_MAX]
            .want_version = 0;
}

/* Of all batches since the chunks were loaded; the sum is what it has to be by common/job/staleness.h: more,
 * where messages overtake each other, by what workers held and were given older values behind. */
static bool is_counted(const struct oracle *w, const struct histogram *seen,
                       const struct frame *figures)
{
    struct staleness_tally tally = {0};
    if (figures == NULL || staleness_tally_read(&tally, figures) != STATUS_OK)
        return false;
    const struct staleness *said = &tally.all;
    uint64_t sum = said->shape.sum + said->renewed;
    bool right = seen->count == said->shape.count && seen->sum == said->shape.sum &&
                 seen->max == said->shape.max && seen->squares == said->shape.squares &&
                 memcmp(seen->buckets, said->shape.buckets, sizeof seen->buckets) == 0 &&
                 (sum == said->expected || (sum > said->expected && !w->in_order));
    staleness_tally_free(&tally);
    return right;
}

/* What has come of a cut, and S5: what was counted until then. */
static void check_snapshot(struct oracle *w, struct oracle_server *server,
                           const struct order *order, const struct frame *figures)
{
    struct oracle_owner *it = &server->owners[order->from];
    const struct message_cut_taken *said = &order->owner_snapshot;
    const struct verdict_counts *counts = &said->verdicts;
    for (uint32_t i = 0; i < w->partition->chunk_count && w->scarce && !said->taken; i++)
        if (is_of(w, i, server, order->from)) {
            server->chunks[i].to_snapshot = false;
            it->snapshot_possible = false;
        }
    if (!it->snapshot_owed || said->step != it->snapshot_step ||
        said->taken != it->snapshot_possible ||
        (said->taken && count_cutting(w, server, order->from) > 0))
        oracle_fail(w, "owner %u of ps/%u says that it has %s at step %" PRIu64 ", and has not",
                    order->from, server->index, said->taken ? "been cut" : "come too far to be cut",
                    said->step);
    it->snapshot_owed = false;
    uint64_t sum = counts->applied + counts->stale + counts->duplicate + counts->rejected;
    if (w->mode_invariants->take != NULL ? memcmp(counts, &it->verdicts, sizeof *counts) != 0
                                         : sum > it->gradients)
        oracle_fail(w, "owner %u of ps/%u counts %" PRIu64 " gradients otherwise than they were",
                    order->from, server->index, sum);
    w->counts.identities += !w->mode_invariants->serial;
    if (!w->mode_invariants->serial && !w->scarce && !is_counted(w, &it->staleness, figures))
        oracle_fail(w, "owner %u of ps/%u counts staleness otherwise than it was", order->from,
                    server->index);
}

/* An array of a chunk on its way to a checkpoint: entries are held against it when the record is
 * replayed, a model to be kept when it is read. */
static void check_state(struct oracle *w, struct oracle_server *server, const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    uint32_t index = chunk_at(w, state->first);
    w->counts.handed += state->array == CHECKPOINT_SCORED;
    if (index == w->partition->chunk_count || state->array >= w->initial.array_count)
        return;
    struct oracle_chunk *chunk = &server->chunks[index];
    uint64_t version = job_version(w->job, state->step, state->version);
    uint64_t generation = server->owners[oracle_owner_of(w, index)].generation;
    if (state->array == 0 &&
        (!chunk->to_snapshot || chunk->snapshot_step != state->step || chunk->had != state->step ||
         chunk->version != version || chunk->group.members > 0 ||
         (knows_values(w, server) &&
          !ever_was(w, generation, index, version, check_values(w, index, packet->payload->data)))))
        oracle_fail(w, "chunk %u is cut at step %" PRIu64 " unasked, or as it is not", index,
                    state->step);
    chunk->to_snapshot = chunk->to_snapshot && state->array > 0;
    if (w->mode_invariants->snapshot != NULL && knows_values(w, server))
        w->mode_invariants->snapshot(w, server, index, packet);
}

void oracle_owner_gave(void *check_run, const struct simulated_process *process,
                       const struct outgoing *item)
{
    struct oracle *w = oracle_of(check_run);
    struct oracle_server *server = w->processes[process->number].server;
    const struct message *message = &item->packet.message;
    const struct order *order = order_of(&item->packet);
    if (w->failed)
        return;
    catch_up(w);
    w->expected.weight -= item->packet.weight;
    if (order != NULL) {
        if (order->kind == ORDER_OWNER_SNAPSHOT)
            check_snapshot(w, server, order, item->packet.payload);
        return;
    }
    if (message->kind == MESSAGE_RESULT)
        check_result(w, &item->packet);
    else if (message->kind == MESSAGE_MOVED_ON)
        check_moved_on(w, message);
    else if (message->kind == MESSAGE_RECEIPT)
        check_receipt(w, &item->packet);
    else if (message->kind == MESSAGE_CHUNK_STATE)
        check_state(w, server, &item->packet);
    else if (message->kind == MESSAGE_STOP)
        oracle_fail(w, "an owner gives up: %s", message->stop.reason);
}

/* Of a chunk that has made a version. */
static void check_released(struct oracle *w, struct oracle_chunk *chunk, uint32_t index)
{
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX && chunk->has_advanced && !w->scarce; i++)
        if (chunk->waiting[i].want_version > 0 && chunk->waiting[i].want_version <= chunk->version)
            oracle_fail(w,
                        "worker/%u waits for version %" PRIu64
                        " of chunk %u, which is there, and is not answered",
                        i, chunk->waiting[i].want_version, index);
    chunk->has_advanced = false;
}

void oracle_owner_done(void *check_run)
{
    struct oracle *w = oracle_of(check_run);
    const struct oracle_expected *expected = &w->expected;
    if (w->failed)
        return;
    catch_up(w);
    check_snapshot_due(w, expected->server, expected->owner);
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        check_released(w, &expected->server->chunks[i], i);
    if (!expected->exchange)
        return;
    const struct oracle_chunk *chunk = &expected->server->chunks[expected->chunk];
    bool waits = expected->want && !expected->newest && expected->want_version > chunk->version;
    if (expected->weight != 0)
        oracle_fail(w, "what a request for chunk %u weighs is not given back once",
                    expected->chunk);
    /* With compensation an owner gives a request values once, and none that is older. */
    if (!expected->answered && !expected->may_be_silent && !waits &&
        w->job->delay_compensation == 0)
        oracle_fail(w, "a request for chunk %u is not answered", expected->chunk);
}

/* --- workers --------------------------------------------------------------------------------- */

void oracle_start(void *check_run, const struct simulated_process *process,
                  const struct message *message)
{
    struct oracle *w = oracle_of(check_run);
    struct oracle_worker *worker = w->processes[process->number].worker;
    if (message->generation < worker->generation)
        oracle_fail(w, "worker/%u is started in generation %" PRIu64 " after %" PRIu64,
                    worker->index, message->generation, worker->generation);
    worker->generation = message->generation;
}

void oracle_work(void *check_run, const struct simulated_process *process, uint64_t step,
                 bool enough, const float *parameters)
{
    struct oracle *w = oracle_of(check_run);
    struct oracle_worker *worker = w->processes[process->number].worker;
    (void)enough;
    memcpy(worker->base, parameters, w->work->elements * sizeof *worker->base);
    for (uint32_t i = 0; i < w->partition->chunk_count && !w->failed; i++) {
        worker->held[i].check = oracle_check_space(w, i, parameters);
        if (w->mode_invariants->serial &&
            !ever_was(w, worker->generation, i, step, worker->held[i].check))
            oracle_fail(
                w, "worker/%u is given a chunk %u for step %" PRIu64 " that is not of that version",
                worker->index, i, step);
    }
}

void oracle_computed(void *check_run, const struct simulated_process *process,
                     const float *parameters)
{
    struct oracle *w = oracle_of(check_run);
    const struct oracle_worker *worker = w->processes[process->number].worker;
    if (memcmp(worker->base, parameters, w->work->elements * sizeof *worker->base) != 0)
        oracle_fail(w, "the parameters of worker/%u changed while it computed", worker->index);
}

void oracle_scored(void *check_run, const struct simulated_process *process, uint64_t generation,
                   const struct message_work *work, const float *values)
{
    struct oracle *w = oracle_of(check_run);
    w->counts.shares++;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (!is_scored(w, generation, i, work->scored, oracle_check_space(w, i, values)))
            oracle_fail(w, "worker/%u scores a chunk %u that it was not after %" PRIu64 " batches",
                        process->index, i, work->scored);
}

void oracle_leases(void *check_run, const struct simulated_process *process, uint32_t assignment,
                   uint64_t step, struct node node)
{
    struct oracle *w = oracle_of(check_run);
    const struct oracle_lease now = {w->processes[process->number].worker->generation, step,
                                     assignment, process->number + 1};
    struct oracle_lease *lease = &w->leases[(step & 1) * job_leaves_max(w->job) + node.first_leaf];
    for (uint32_t i = 0; i < node.leaf_count; i++, lease++) {
        if (lease->worker != 0 && lease->worker != now.worker && lease->step == step &&
            lease->generation == now.generation && lease->assignment == assignment)
            oracle_fail(w,
                        "processes %u and %u both own leaf %u of step %" PRIu64 " in assignment %u",
                        lease->worker - 1, process->number, node.first_leaf + i, step, assignment);
        *lease = now;
    }
}

/* What the session says it holds is what the trainer was given, and no older than it may be. */
static void check_base(struct oracle *w, struct oracle_worker *worker,
                       const struct message *message)
{
    uint32_t chunk = message->exchange.chunk;
    uint64_t base = message->exchange.base_version;
    struct oracle_held *held = &worker->held[chunk];
    if (!message->exchange.skip && !ever_was(w, message->generation, chunk, base, held->check))
        oracle_fail(w,
                    "worker/%u computed from something else than version %" PRIu64 " of chunk %u",
                    worker->index, base, chunk);
    if (held->generation != message->generation)
        held->version = 0;
    held->generation = message->generation;
    if (base < held->version)
        oracle_fail(w, "worker/%u went back from version %" PRIu64 " of chunk %u to %" PRIu64,
                    worker->index, held->version, chunk, base);
    held->version = base;
    if (w->mode_invariants->sent != NULL)
        w->mode_invariants->sent(w, worker, message);
}

void oracle_session_asks(void *check_run, const struct simulated_process *process,
                         const struct packet *packet)
{
    struct oracle *w = oracle_of(check_run);
    const struct message *message = &packet->message;
    const struct message_exchange *exchange = &message->exchange;
    struct oracle_worker *worker = w->processes[process->number].worker;
    if (message->kind != MESSAGE_EXCHANGE || !exchange->gradient || exchange->retry || w->failed ||
        exchange->chunk >= w->partition->chunk_count)
        return;
    check_base(w, worker, message);
    if (exchange->chunk + 1 < w->partition->chunk_count)
        return;
    bool skewed = false;
    for (uint32_t i = 1; i < w->partition->chunk_count; i++)
        skewed = skewed || worker->held[i].version != worker->held[0].version;
    w->counts.skewed_pulls += skewed;
}

/* --- server 0 -------------------------------------------------------------------------------- */

void oracle_coordinator_hears(struct oracle *w, uint32_t process, const struct message *message)
{
    const struct message_evaluation *share = &message->evaluation;
    struct oracle_scores *scores = &w->processes[process].server->scores;
    if (message->kind != MESSAGE_EVALUATION || message->generation != scores->generation ||
        share->share >= 64 * 16 || share->step < scores->batches)
        return; /* Of a stranger, or late. */
    if (share->step != scores->batches || share->shares != scores->shares)
        *scores = (struct oracle_scores){message->generation, share->step, share->shares, 0, {0}};
    uint64_t bit = (uint64_t)1 << (share->share % 64), *had = &scores->had[share->share / 64];
    scores->come += (*had & bit) == 0;
    *had |= bit;
}

/* A score is said when all its shares are there. */
static void check_score(struct oracle *w, const struct oracle_server *server,
                        const struct order_event *event)
{
    const char *step = strstr(event->members, "\"step\":");
    const struct oracle_scores *it = &server->scores;
    if (strcmp(event->name, "evaluation") == 0 && step != NULL &&
        (strtoull(step + strlen("\"step\":"), NULL, 10) != it->batches || it->come != it->shares))
        oracle_fail(w, "server 0 has %u shares of %u, and says the score", it->come, it->shares);
}

void oracle_coordinator_says(struct oracle *w, uint32_t process, const struct outgoing *item)
{
    struct oracle_server *server = w->processes[process].server;
    const struct message *message = &item->packet.message;
    const struct order *order = order_of(&item->packet);
    if (w->failed)
        return;
    if (order != NULL && order->kind == ORDER_EVENT)
        check_score(w, server, &order->event);
    if (message->kind == MESSAGE_WELCOME && message->generation > server->scores.generation)
        server->scores = (struct oracle_scores){.generation = message->generation};
    if (w->mode_invariants->said != NULL)
        w->mode_invariants->said(w, process, item);
}

/* --- the end --------------------------------------------------------------------------------- */

void oracle_finish(struct oracle *oracle, uint64_t step)
{
    struct oracle *w = oracle;
    for (uint32_t i = 0; i < w->process_count; i++) {
        const struct oracle_server *server = w->processes[i].server;
        if (server == NULL || !server->alive || !server->current)
            continue;
        for (uint32_t j = 0; j < w->partition->chunk_count; j++) {
            const struct oracle_chunk *chunk = &server->chunks[j];
            if (w->partition->chunks[j].server != server->index || !chunk->loaded)
                continue;
            if (chunk->had != step || chunk->group.members > 0 || chunk->leaves_in > 0 ||
                (!w->mode_invariants->serial && memchr(chunk->batches, 0, step) != NULL))
                oracle_fail(w,
                            "chunk %u ends after %" PRIu64 " batches, and the job at step %" PRIu64
                            " with each of them once",
                            j, chunk->had, step);
        }
    }
}
