/* oracle.c - its own model of every chunk, moved along by what goes into an owner and compared
 * with what comes out; values that ever were right are kept as checksums in a hash table. */

#include "deploy/verify/oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "deploy/engine/simulated_network.h"
#include "deploy/verify/mode_invariants.h"
#include "deploy/verify/serial_model.h"

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
    to->applied += from->applied;
    to->stale += from->stale;
    to->duplicate += from->duplicate;
    to->rejected += from->rejected;
    to->updates += from->updates;
    to->staleness_sum += from->staleness_sum;
    if (from->staleness_max > to->staleness_max)
        to->staleness_max = from->staleness_max;
    to->pulls += from->pulls;
    to->skewed_pulls += from->skewed_pulls;
    to->refused += from->refused;
    to->moved_on += from->moved_on;
    to->cuts += from->cuts;
    to->loads += from->loads;
    to->retries += from->retries;
    to->receipts += from->receipts;
    to->newest += from->newest;
    to->closes += from->closes;
    to->resent += from->resent;
    to->left_out += from->left_out;
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

static bool ever_was(const struct oracle *w, uint64_t generation, uint32_t chunk, uint64_t version,
                     uint64_t check)
{
    return w->known[place_of(w, name_values(w, generation, chunk, version, check))] != 0;
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
        if (!ever_was(w, 0, CUT(array) | chunk, step,
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
        free(server->chunks[i].waiting_read);
        free(server->chunks[i].staleness);
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
    free(worker->given);
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
    chunk->waiting_read = calloc(ORACLE_WORKERS_MAX, sizeof *chunk->waiting_read);
    chunk->staleness = calloc(w->job->steps, sizeof *chunk->staleness);
    chunk->group.sum = calloc(count, sizeof(float));
    chunk->group.moved = calloc(count, sizeof(float));
    bool made = chunk->group.sum != NULL && chunk->group.moved != NULL && chunk->leaves != NULL &&
                chunk->batches != NULL && chunk->waiting_read != NULL && chunk->staleness != NULL;
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
    worker->given = calloc(w->job->steps, sizeof *worker->given);
    worker->base = calloc(w->work->elements, sizeof *worker->base);
    return worker->held == NULL || worker->given == NULL || worker->base == NULL ? STATUS_MEMORY
                                                                                 : STATUS_OK;
}

void oracle_ends(struct oracle *oracle, uint32_t process)
{
    if (oracle->processes[process].server != NULL)
        oracle->processes[process].server->alive = false;
}

/* What a worker computes from is known as it is now. A server whose place another has taken may be late
 * with gradients of the generation before. What compensating these gives is not known here, nor is the
 * set of a step that its coordinator decides on its own. */
static bool knows_values(const struct oracle *w, const struct oracle_server *server)
{
    return server->current || (w->job->delay_compensation == 0.0f && w->sets.steps == NULL);
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
    struct oracle_chunk *chunk = &server->chunks[index];
    if (!job_scores_at(w->job, chunk->had) || chunk->scored == chunk->had)
        return;
    chunk->scored = chunk->had;
    chunk->scored_check = chunk->check;
    if (!w->mode_invariants->serial) /* By its count of batches, which need not be its version. */
        oracle_learn(w, server->owners[oracle_owner_of(w, index)].generation, SCORED | index,
                     chunk->had, chunk->check);
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
    for (uint64_t generation = 0; generation <= w->begun_generation; generation++) {
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
    chunk->had = chunk->first = batches;
    chunk->version = version;
    chunk->group.members = chunk->group.gradients = chunk->group.examples = 0;
    chunk->group.staleness = 0;
    chunk->leaves_in = chunk->part_count = 0;
    memset(chunk->closed, 0, sizeof chunk->closed);
    memset(chunk->leaves, 0, job_leaves_max(w->job));
    memset(chunk->batches, 0, w->job->steps);
    memset(chunk->batches, 1, batches);
    memset(chunk->waiting_read, 0, ORACLE_WORKERS_MAX * sizeof *chunk->waiting_read);
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
    chunk->loaded = false;
    chunk->arrays = 0;
    chunk->scored = chunk->settled = 0;
    if (restore)
        return;
    for (uint32_t i = 0; !w->mode_invariants->serial && i < w->initial.array_count; i++)
        memcpy(server->state.arrays[i] + range->first, w->initial.arrays[i] + range->first,
               range->count * sizeof(float));
    open_chunk(w, server, index, 0, 0);
}

/* F4: all owners of all servers begin a generation from one cut. */
static void check_load(struct oracle *w, const struct oracle_server *server,
                       const struct order *order)
{
    if (order->generation == w->begun_generation && order->load.step != w->begun_step)
        oracle_fail(
            w, "ps/%u begins generation %" PRIu64 " from step %" PRIu64 " and others from %" PRIu64,
            server->index, order->generation, order->load.step, w->begun_step);
    if (order->generation <= w->begun_generation && w->begun)
        return;
    w->begun = true;
    w->begun_generation = order->generation;
    w->begun_step = order->load.step;
}

static void take_load(struct oracle *w, struct oracle_server *server, uint32_t owner,
                      const struct order *order)
{
    struct oracle_owner *it = &server->owners[owner];
    if (order->generation < it->generation)
        oracle_fail(w, "an owner of ps/%u goes back to generation %" PRIu64, server->index,
                    order->generation);
    it->generation = order->generation;
    memset(it->known, 0, sizeof it->known); /* Server 0 may count tickets anew. */
    it->cut_taken = 0;
    it->snapshot_owed = false;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner)) {
            server->chunks[i].to_snapshot = false;
            memset(server->chunks[i].answered, 0, sizeof server->chunks[i].answered);
        }
    it->verdicts = (struct verdict_counts){0};
    check_load(w, server, order);
    it->load_step = order->load.step;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner))
            forget_chunk(w, server, i, order->load.restore);
}

static void take_let_go(struct oracle *w, struct oracle_server *server, uint32_t owner,
                        const struct order *order)
{
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner) && order->generation == server->owners[owner].generation &&
            order->let_go.batches > server->chunks[i].settled)
            server->chunks[i].settled = order->let_go.batches;
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
        !ever_was(w, 0, index, state->step, check_values(w, index, packet->payload->data)))
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

/* Some of its chunks are still on their way to the step. */
static bool is_cutting(const struct oracle *w, const struct oracle_server *server, uint32_t owner)
{
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner) && server->chunks[i].to_snapshot)
            return true;
    return false;
}

static void take_snapshot(struct oracle *w, struct oracle_server *server, uint32_t owner,
                          const struct message *message)
{
    struct oracle_owner *it = &server->owners[owner];
    if (message->generation != it->generation)
        return;
    it->snapshot_owed = it->snapshot_possible = true;
    it->snapshot_step = message->cut.step;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner) && server->chunks[i].had > it->snapshot_step)
            it->snapshot_possible = false;
    for (uint32_t i = 0; i < w->partition->chunk_count && it->snapshot_possible; i++)
        if (is_of(w, i, server, owner)) {
            server->chunks[i].to_snapshot = true;
            server->chunks[i].snapshot_step = it->snapshot_step;
            if (server->chunks[i].had == it->snapshot_step)
                oracle_close_group(w, server, i);
        }
}

/* What has come of a cut. */
static void check_snapshot_said(struct oracle *w, const struct oracle_server *server,
                                uint32_t owner, uint64_t step, bool taken)
{
    struct oracle_owner *it = &server->owners[owner];
    for (uint32_t i = 0; i < w->partition->chunk_count && w->scarce && !taken; i++)
        if (is_of(w, i, server, owner)) {
            server->chunks[i].to_snapshot = false;
            it->snapshot_possible = false;
        }
    if (!it->snapshot_owed || step != it->snapshot_step || taken != it->snapshot_possible ||
        (taken && is_cutting(w, server, owner)))
        oracle_fail(w, "owner %u of ps/%u says that it has %s at step %" PRIu64 ", and has not",
                    owner, server->index, taken ? "been cut" : "come too far to be cut", step);
    it->snapshot_owed = false;
}

static void check_snapshot_done(struct oracle *w, const struct oracle_server *server,
                                uint32_t owner)
{
    for (uint32_t i = 0; i < w->partition->chunk_count; i++) {
        const struct oracle_chunk *chunk = &server->chunks[i];
        if (is_of(w, i, server, owner) && chunk->to_snapshot && chunk->snapshot_step <= chunk->had)
            oracle_fail(w,
                        "chunk %u has had %" PRIu64 " batches, where it was to be cut, and is not",
                        i, chunk->had);
    }
    const struct oracle_owner *it = &server->owners[owner];
    if (it->snapshot_owed && (!it->snapshot_possible || !is_cutting(w, server, owner)))
        oracle_fail(w, "owner %u of ps/%u does not say what has come of its cut at step %" PRIu64,
                    owner, server->index, it->snapshot_step);
}

/* --- exchanges into an owner ----------------------------------------------------------------- */

void oracle_advance(struct oracle *w, struct oracle_server *server, uint32_t chunk)
{
    server->chunks[chunk].version++;
    server->chunks[chunk].had++;
    w->counts.updates++;
    if (w->mode_invariants->advanced != NULL)
        w->mode_invariants->advanced(w, server, chunk);
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
    w->counts.updates++;
    chunk->check = oracle_check_space(w, index, server->state.arrays[0]);
    oracle_learn(w, server->owners[oracle_owner_of(w, index)].generation, index, chunk->version,
                 chunk->check);
}

static void count_gradient(struct oracle *w, struct oracle_server *server, uint32_t owner,
                           const struct oracle_expected *expected, bool skip)
{
    struct verdict_counts *counts = &server->owners[owner].verdicts;
    bool later = w->mode_invariants->judges_late;
    struct verdict_counts one = {.applied = !later && expected->verdict == VERDICT_APPLIED,
                                 .stale = expected->verdict == VERDICT_STALE,
                                 .duplicate = expected->verdict == VERDICT_DUPLICATE,
                                 .rejected = expected->verdict == VERDICT_REJECTED};
    verdict_counts_add(counts, &one);
    w->counts.gradients++;
    w->counts.applied += one.applied;
    w->counts.stale += one.stale;
    w->counts.duplicate += one.duplicate;
    w->counts.rejected += one.rejected;
    if (one.rejected && !skip)
        oracle_fail(w, "a gradient for chunk %u has to be rejected", expected->chunk);
    if (!one.applied)
        return;
    w->counts.staleness_sum += expected->staleness;
    if (expected->staleness > w->counts.staleness_max)
        w->counts.staleness_max = expected->staleness;
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

/* Values that are kept for a score: they must be there from when the chunk has passed that count,
 * until it passes the next one or its owner is told that it can let them go. */
static void take_scored(const struct oracle *w, const struct oracle_chunk *chunk,
                        struct oracle_expected *expected)
{
    expected->scored = true;
    expected->kept =
        !w->scarce && chunk->scored == expected->want_version && chunk->scored > chunk->settled;
}

/* Whether it will wait, in the place of what waited before. */
static bool park(struct oracle_chunk *chunk, const struct packet *packet,
                 const struct oracle_expected *expected)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    uint32_t index = packet->message.index;
    if (!exchange->want || index >= ORACLE_WORKERS_MAX || expected->missing ||
        expected->may_be_silent)
        return false;
    bool waits = !expected->newest && exchange->want_version > chunk->version;
    chunk->waiting_read[index] =
        (struct oracle_waiting_read){.waiting = waits,
                                     .peer = packet->peer,
                                     .request = packet->message.request,
                                     .want_version = exchange->want_version};
    return waits;
}

/* Where an owner remembers what it has given, a request is given values once, and none that is older.
 */
static void note_answered(struct oracle *w, struct oracle_chunk *chunk,
                          const struct message *message)
{
    uint32_t index = message->index;
    if (w->job->delay_compensation == 0 || !message->exchange.want || w->expected.missing ||
        index >= ORACLE_WORKERS_MAX)
        return;
    bool known = chunk->answered[index].request > 0 &&
                 chunk->answered[index].ticket == message->ticket &&
                 chunk->answered[index].request >= message->request;
    w->expected.may_be_silent = w->expected.may_be_silent || known;
    if (known)
        return;
    chunk->answered[index].ticket = message->ticket;
    chunk->answered[index].request = message->request;
}

static void take_exchange(struct oracle *w, struct oracle_server *server, uint32_t owner,
                          const struct packet *packet, uint32_t sender)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    struct oracle_expected *expected = &w->expected;
    struct oracle_chunk *chunk = &server->chunks[exchange->chunk];
    expected->gradient = exchange->gradient && !exchange->retry;
    expected->retry = exchange->retry;
    expected->chunk = exchange->chunk;
    expected->peer = packet->peer;
    expected->request = packet->message.request;
    expected->weight = packet->weight;
    expected->want = exchange->want;
    expected->newest = exchange->newest;
    expected->slots = exchange->slots;
    expected->want_version = exchange->want_version;
    w->counts.newest += exchange->newest;
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
    if (exchange->scored) {
        take_scored(w, chunk, expected);
        return;
    }
    if (exchange->retry && (exchange->gradient || exchange->skip)) {
        w->counts.retries++;
        w->mode_invariants->retry(w, chunk, exchange);
    } else if (exchange->gradient || exchange->skip) {
        expected->gradient = true;
        expected->verdict = w->mode_invariants->take(w, server, exchange->chunk, packet, sender);
        count_gradient(w, server, owner, expected, exchange->skip);
        note_scored(w, server, exchange->chunk);
    }
    note_answered(w, chunk, &packet->message);
    if (w->mode_invariants->releases && park(chunk, packet, expected) &&
        (exchange->receipt || exchange->retry))
        expected->receipt = true;
}

static void take_close(struct oracle *w, struct oracle_server *server, uint32_t owner,
                       const struct packet *packet)
{
    struct leaf_set set;
    uint64_t step = packet->message.close.step;
    if (packet->message.generation != server->owners[owner].generation ||
        w->mode_invariants->closed == NULL ||
        !leaf_sets_find(packet->payload->data, packet->payload->bytes, step, &set))
        return;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (is_of(w, i, server, owner) && server->chunks[i].loaded) {
            w->mode_invariants->closed(w, server, i, step, &set);
            note_scored(w, server, i);
        }
}

void oracle_owner_takes(struct oracle *oracle, uint32_t process, uint32_t owner,
                        const struct packet *packet, uint32_t sender)
{
    struct oracle *w = oracle;
    struct oracle_server *server = w->processes[process].server;
    const struct order *order = order_of(packet);
    w->expected = (struct oracle_expected){
        .server = server, .owner = owner, .exchange = packet->message.kind == MESSAGE_EXCHANGE};
    if (w->failed)
        return;
    if (packet->message.kind == MESSAGE_EXCHANGE)
        take_exchange(w, server, owner, packet, sender);
    else if (order != NULL && order->kind == ORDER_LET_GO)
        take_let_go(w, server, owner, order);
    else if (order != NULL)
        take_load(w, server, owner, order);
    else if (packet->message.kind == MESSAGE_CHUNK_STATE)
        take_state(w, server, owner, packet);
    else if (packet->message.kind == MESSAGE_CLOSE)
        take_close(w, server, owner, packet);
    else if (packet->message.kind == MESSAGE_CUT)
        take_snapshot(w, server, owner, &packet->message);
}

/* --- out of an owner ------------------------------------------------------------------------- */

static void check_answer(struct oracle *w, const struct message_result *result)
{
    struct oracle_expected *expected = &w->expected;
    expected->answered = true;
    if (result->verdict != expected->verdict)
        oracle_fail(w, "a gradient for chunk %u has the verdict %s and not %s", result->chunk,
                    verdict_name(result->verdict), verdict_name(expected->verdict));
    if (expected->gradient && result->staleness != expected->staleness)
        oracle_fail(w, "chunk %u reports staleness %" PRIu64 " where it is %" PRIu64, result->chunk,
                    result->staleness, expected->staleness);
    if (expected->want && !expected->newest && w->mode_invariants->releases &&
        result->version != expected->want_version)
        oracle_fail(w, "chunk %u is given as version %" PRIu64 " where %" PRIu64 " was wanted",
                    result->chunk, result->version, expected->want_version);
}

/* The answer to a request that waited. */
static void check_release(struct oracle *w, struct oracle_chunk *chunk, const struct packet *packet)
{
    for (uint32_t i = 0; i < ORACLE_WORKERS_MAX; i++) {
        struct oracle_waiting_read *waiting_read = &chunk->waiting_read[i];
        if (waiting_read->waiting && waiting_read->peer == packet->peer &&
            waiting_read->request == packet->message.request) {
            waiting_read->waiting = false;
            return;
        }
    }
    oracle_fail(w, "chunk %u answers somebody who does not wait", packet->message.result.chunk);
}

static bool is_own(const struct oracle_expected *expected, const struct packet *packet,
                   uint32_t chunk)
{
    return expected->exchange && expected->peer == packet->peer &&
           expected->request == packet->message.request && chunk == expected->chunk;
}

static void check_scored(struct oracle *w, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    struct oracle_expected *expected = &w->expected;
    const struct oracle_chunk *chunk = &expected->server->chunks[result->chunk];
    uint64_t check = check_values(w, result->chunk, packet->payload->data);
    if (!is_own(expected, packet, result->chunk) || !expected->scored ||
        result->version != expected->want_version)
        oracle_fail(w, "chunk %u gives values for a score that were not asked for", result->chunk);
    uint64_t generation = expected->server->owners[oracle_owner_of(w, result->chunk)].generation;
    bool known = w->mode_invariants->serial
                     ? ever_was(w, generation, result->chunk, result->version, check)
                     : chunk->scored == result->version && chunk->scored_check == check;
    if (!known)
        oracle_fail(
            w, "chunk %u gives values for a score that it did not have after %" PRIu64 " batches",
            result->chunk, result->version);
    expected->answered = true;
}

/* What a replica is fed with: whether the message is all said with that. What comes of it trainers are held
 * against, who compute from it. */
static bool check_fed(struct oracle *w, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    const struct oracle_chunk *chunk = &w->expected.server->chunks[result->chunk];
    if ((result->sum || result->array > 0) && !w->mode_invariants->replicates)
        oracle_fail(w, "chunk %u gives a sum or slots in a mode without replicas", result->chunk);
    if (result->array > 0 &&
        (result->array >= w->initial.array_count || result->version != chunk->version))
        oracle_fail(w, "chunk %u gives slots that it has not", result->chunk);
    w->counts.sums += result->sum;
    w->counts.slots += result->array > 0;
    return result->array > 0; /* Behind the values, which are the answer. */
}

static void check_result(struct oracle *w, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    const struct oracle_expected *expected = &w->expected;
    struct oracle_chunk *chunk = &expected->server->chunks[result->chunk];
    bool own = is_own(expected, packet, result->chunk);
    if (result->scored) {
        check_scored(w, packet);
        return;
    }
    if (check_fed(w, packet))
        return;
    if (own)
        check_answer(w, result);
    else
        check_release(w, chunk, packet);
    /* Where versions are waited for, the one before stays readable for a while. */
    bool current = result->version == chunk->version ||
                   (w->mode_invariants->releases && own && result->version + 1 == chunk->version);
    if (!current)
        oracle_fail(
            w, "chunk %u says it is at version %" PRIu64 ", but it has had %" PRIu64 " updates",
            result->chunk, result->version, chunk->version);
    if (!result->parameters || result->sum || !knows_values(w, expected->server))
        return;
    uint64_t check = check_values(w, result->chunk, packet->payload->data);
    uint64_t generation = expected->server->owners[oracle_owner_of(w, result->chunk)].generation;
    if (!ever_was(w, generation, result->chunk, result->version, check) ||
        (!w->mode_invariants->serial && check != chunk->check))
        oracle_fail(w, "chunk %u gives out values that are not its version %" PRIu64, result->chunk,
                    result->version);
}

static void check_snapshot(struct oracle *w, struct oracle_server *server,
                           const struct order *order, const struct frame *figures)
{
    struct oracle_owner *owner = &server->owners[order->from];
    const struct verdict_counts *seen = &owner->verdicts;
    const struct verdict_counts *said = &order->owner_snapshot.verdicts;
    if (order->owner_snapshot.taken)
        owner->cut_taken = order->owner_snapshot.step + 1;
    else if (order->owner_snapshot.step < owner->cut_taken && !w->scarce)
        oracle_fail(w, "owner %u of ps/%u takes back its cut at step %" PRIu64, order->from,
                    server->index, order->owner_snapshot.step);
    w->counts.cuts++;
    check_snapshot_said(w, server, order->from, order->owner_snapshot.step,
                        order->owner_snapshot.taken);
    if (seen->applied != said->applied || seen->stale != said->stale ||
        seen->duplicate != said->duplicate || seen->rejected != said->rejected)
        oracle_fail(w,
                    "owner %u of ps/%u counts %" PRIu64 " applied, %" PRIu64 " stale, %" PRIu64
                    " duplicate, %" PRIu64 " rejected where %" PRIu64 ", %" PRIu64 ", %" PRIu64
                    ", %" PRIu64 " are right",
                    order->from, server->index, said->applied, said->stale, said->duplicate,
                    said->rejected, seen->applied, seen->stale, seen->duplicate, seen->rejected);
    if (w->mode_invariants->stale && !w->scarce)
        oracle_check_staleness(w, server, order->from, figures);
}

/* A chunk of a model to be kept: it is what its score will be of. */
static void check_kept(struct oracle *w, const struct oracle_server *server, uint32_t index,
                       const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    const struct oracle_chunk *chunk = &server->chunks[index];
    w->counts.handed++;
    if (!w->job->keep_scored)
        oracle_fail(w, "chunk %u is handed over after %" PRIu64 " batches, and none is to be kept",
                    index, state->step);
    else if (chunk->scored != state->step || chunk->had != state->step)
        oracle_fail(w, "chunk %u is handed over after %" PRIu64 " batches as scored after %" PRIu64,
                    index, chunk->had, state->step);
    else if (knows_values(w, server) &&
             !is_scored(w, server->owners[oracle_owner_of(w, index)].generation, index, state->step,
                        check_values(w, index, packet->payload->data)))
        oracle_fail(w,
                    "chunk %u is handed over with values that it had not after %" PRIu64 " batches",
                    index, state->step);
}

/* An array of a chunk on its way to a checkpoint. */
static void check_state(struct oracle *w, struct oracle_server *server, const struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    uint32_t index = chunk_at(w, state->first);
    if (index < w->partition->chunk_count && state->array == CHECKPOINT_ENTRIES)
        return; /* Held against it when the record is replayed. */
    if (index < w->partition->chunk_count && state->array == CHECKPOINT_SCORED) {
        check_kept(w, server, index, packet);
        return;
    }
    if (index == w->partition->chunk_count || state->array >= w->initial.array_count) {
        oracle_fail(w, "what is cut is no chunk");
        return;
    }
    struct oracle_chunk *chunk = &server->chunks[index];
    if (state->array == 0 && (!chunk->to_snapshot || chunk->snapshot_step != state->step))
        oracle_fail(w, "chunk %u is cut at step %" PRIu64 ", and nobody asked for it", index,
                    state->step);
    if (state->array == 0)
        chunk->to_snapshot = false;
    if (state->array == 0 && (chunk->had != state->step ||
                              chunk->version != job_version(w->job, state->step, state->version) ||
                              (knows_values(w, server) &&
                               !ever_was(w, server->owners[oracle_owner_of(w, index)].generation,
                                         index, job_version(w->job, state->step, state->version),
                                         check_values(w, index, packet->payload->data)))))
        oracle_fail(w,
                    "chunk %u is cut at %" PRIu64 " with values that are not its version %" PRIu64,
                    index, state->step, chunk->version);
    if (chunk->group.members > 0)
        oracle_fail(w, "chunk %u is cut, and holds gradients", index);
    if (w->mode_invariants->snapshot != NULL && knows_values(w, server))
        w->mode_invariants->snapshot(w, server, index, packet);
}

static void check_moved_on(struct oracle *w, const struct packet *packet)
{
    const struct message *message = &packet->message;
    struct oracle_expected *expected = &w->expected;
    const struct oracle_chunk *chunk = &expected->server->chunks[message->moved_on.chunk];
    uint64_t loaded =
        expected->server->owners[oracle_owner_of(w, message->moved_on.chunk)].load_step;
    w->counts.moved_on++;
    expected->answered = true;
    if (expected->kept)
        oracle_fail(w,
                    "chunk %u has let go of its values after %" PRIu64
                    " batches before they were scored",
                    message->moved_on.chunk, expected->want_version);
    if (expected->scored)
        return;
    /* The version before stays until a gradient made from this one proves that all chunks have it.
     */
    if (expected->want_version + 1 == chunk->version && chunk->leaves_in == 0 &&
        chunk->version > loaded && !expected->slots)
        oracle_fail(w, "chunk %u has given up version %" PRIu64 " too early",
                    message->moved_on.chunk, expected->want_version);
    if (message->moved_on.version != chunk->version ||
        expected->want_version >= message->moved_on.version)
        oracle_fail(w, "chunk %u has not moved on from version %" PRIu64, message->moved_on.chunk,
                    expected->want_version);
}

static void check_receipt(struct oracle *w, const struct packet *packet)
{
    const struct message_receipt *receipt = &packet->message.receipt;
    struct oracle_expected *expected = &w->expected;
    w->counts.receipts++;
    if (!is_own(expected, packet, receipt->chunk))
        oracle_fail(w, "chunk %u confirms what was not sent", receipt->chunk);
    else if (receipt->missing != expected->missing)
        oracle_fail(w, "chunk %u says that a gradient is %s, and it is not", receipt->chunk,
                    receipt->missing ? "missing" : "held");
    expected->receipt = false;
    if (expected->missing || !expected->want)
        expected->answered = true;
}

/* The chunks of an owner have all come to a count that is scored, and left those before it. */
static void note_passed(struct oracle *w, const struct order *order)
{
    uint64_t passed = order->scored.batches + order->scored.lost;
    if (order->generation == w->scores.generation && passed > w->scores.passed)
        w->scores.passed = passed;
}

void oracle_owner_gave(struct oracle *oracle, uint32_t process, const struct outgoing *item)
{
    struct oracle_server *server = oracle->processes[process].server;
    const struct order *order = order_of(&item->packet);
    if (oracle->failed)
        return;
    oracle->expected.weight -= item->packet.weight;
    if (order != NULL) {
        if (order->kind == ORDER_OWNER_SNAPSHOT)
            check_snapshot(oracle, server, order, item->packet.payload);
        else if (order->kind == ORDER_SCORED)
            note_passed(oracle, order);
        return;
    }
    switch (item->packet.message.kind) {
    case MESSAGE_RESULT:
        check_result(oracle, &item->packet);
        break;
    case MESSAGE_MOVED_ON:
        check_moved_on(oracle, &item->packet);
        break;
    case MESSAGE_RECEIPT:
        check_receipt(oracle, &item->packet);
        break;
    case MESSAGE_CHUNK_STATE:
        check_state(oracle, server, &item->packet);
        break;
    case MESSAGE_STOP:
        oracle_fail(oracle, "an owner gives up: %s", item->packet.message.stop.reason);
        break;
    default:
        break;
    }
}

void oracle_owner_done(struct oracle *oracle)
{
    const struct oracle_expected *expected = &oracle->expected;
    if (!oracle->failed)
        check_snapshot_done(oracle, expected->server, expected->owner);
    if (!expected->exchange || oracle->failed)
        return;
    if (expected->weight != 0)
        oracle_fail(oracle, "what a request for chunk %u weighs is not given back once",
                    expected->chunk);
    const struct oracle_chunk *chunk = &expected->server->chunks[expected->chunk];
    for (uint32_t i = 0;
         oracle->mode_invariants->releases && !oracle->scarce && i < ORACLE_WORKERS_MAX; i++)
        if (chunk->waiting_read[i].waiting && chunk->waiting_read[i].want_version <= chunk->version)
            oracle_fail(oracle,
                        "worker/%u waits for version %" PRIu64
                        " of chunk %u, which is there, and is not answered",
                        i, chunk->waiting_read[i].want_version, expected->chunk);
    if (expected->receipt)
        oracle_fail(oracle, "a gradient for chunk %u is not confirmed", expected->chunk);
    if (expected->answered || expected->may_be_silent)
        return;
    bool may_wait = oracle->mode_invariants->releases && !expected->newest && !expected->scored &&
                    expected->want && expected->want_version > chunk->version;
    if (!may_wait)
        oracle_fail(oracle, "a request for chunk %u is not answered", expected->chunk);
}

/* --- workers --------------------------------------------------------------------------------- */

/* All elements of a chunk that belong to variables are the same. */
static bool is_uniform(const struct oracle *w, const struct chunk_range *range,
                       const float *parameters)
{
    const float *first = NULL;
    for (uint64_t i = range->first; i < range->first + range->count; i++) {
        if (!w->work->used[i])
            continue;
        if (first != NULL && *first != parameters[i])
            return false;
        first = &parameters[i];
    }
    return true;
}

void oracle_start(struct oracle *oracle, uint32_t process, const struct message *message)
{
    struct oracle_worker *worker = oracle->processes[process].worker;
    if (message->generation < worker->generation)
        oracle_fail(oracle, "worker/%u is started in generation %" PRIu64 " after %" PRIu64,
                    worker->index, message->generation, worker->generation);
    worker->generation = message->generation;
    worker->leases++;
}

static void check_given(struct oracle *w, struct oracle_worker *worker, uint64_t step)
{
    if (step + 1 > w->most_started)
        w->most_started = step + 1;
    if (w->mode_invariants->given != NULL)
        w->mode_invariants->given(w, worker, step);
}

void oracle_work(struct oracle *oracle, uint32_t process, uint64_t step, bool enough,
                 const float *parameters)
{
    struct oracle *w = oracle;
    struct oracle_worker *worker = w->processes[process].worker;
    w->counts.pulls++;
    if (!enough)
        check_given(w, worker, step);
    memcpy(worker->base, parameters, w->work->elements * sizeof *worker->base);
    for (uint32_t i = 0; i < w->partition->chunk_count && !w->failed; i++) {
        const struct chunk_range *range = &w->partition->chunks[i];
        uint64_t check = oracle_check_space(w, i, parameters);
        worker->held[i].check = check;
        if (w->work->kind == WORK_UNIFORM && !is_uniform(w, range, parameters))
            oracle_fail(w, "worker/%u is given a torn chunk %u", worker->index, i);
        if (w->mode_invariants->serial && !ever_was(w, 0, i, step, check))
            oracle_fail(
                w, "worker/%u is given a chunk %u for step %" PRIu64 " that is not of that version",
                worker->index, i, step);
    }
}

void oracle_computed(struct oracle *oracle, uint32_t process, const float *parameters)
{
    const struct oracle_worker *worker = oracle->processes[process].worker;
    for (uint32_t i = 0; i < oracle->partition->chunk_count; i++)
        if (worker->held[i].check != oracle_check_space(oracle, i, parameters))
            oracle_fail(oracle, "the parameters of worker/%u changed while it computed",
                        worker->index);
}

void oracle_scored(struct oracle *oracle, uint32_t process, uint64_t generation,
                   const struct message_work *work, const float *values)
{
    struct oracle *w = oracle;
    w->counts.shares++;
    for (uint32_t i = 0; i < w->partition->chunk_count; i++)
        if (!is_scored(w, generation, i, work->scored, oracle_check_space(w, i, values)))
            oracle_fail(w, "worker/%u scores a chunk %u that it was not after %" PRIu64 " batches",
                        w->processes[process].worker->index, i, work->scored);
}

void oracle_leases(struct oracle *oracle, uint32_t process, uint32_t assignment, uint64_t step,
                   struct node node)
{
    struct oracle *w = oracle;
    const struct oracle_worker *worker = w->processes[process].worker;
    for (uint32_t i = 0; i < node.leaf_count; i++) {
        struct oracle_lease *lease =
            &w->leases[(step & 1) * job_leaves_max(w->job) + node.first_leaf + i];
        struct oracle_lease now = {worker->generation, step, assignment, process + 1};
        if (lease->worker != 0 && lease->worker != now.worker && lease->step == step &&
            lease->generation == now.generation && lease->assignment == assignment)
            oracle_fail(w,
                        "processes %u and %u both own leaf %u of step %" PRIu64 " in assignment %u",
                        lease->worker - 1, process, node.first_leaf + i, step, assignment);
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

void oracle_session_asks(struct oracle *oracle, uint32_t process, const struct packet *packet)
{
    struct oracle *w = oracle;
    const struct message *message = &packet->message;
    const struct message_exchange *exchange = &message->exchange;
    struct oracle_worker *worker = w->processes[process].worker;
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

static void begin_scores(struct oracle_scores *scores, const struct message *welcome)
{
    *scores =
        (struct oracle_scores){.generation = welcome->generation,
                               .base = welcome->welcome.restore ? welcome->welcome.restore_step : 0,
                               .ends_whole = scores->ends_whole};
}

static void count_share(struct oracle *w, const struct message_evaluation *share)
{
    struct oracle_scores *scores = &w->scores;
    if (share->share >= 16 * 64 || share->step < scores->batches)
        return; /* Late. */
    if (share->step != scores->batches || share->shares != scores->shares) {
        memset(scores->had, 0, sizeof scores->had);
        scores->batches = share->step;
        scores->shares = share->shares;
        scores->come = 0;
    }
    uint64_t bit = (uint64_t)1 << (share->share % 64);
    scores->come += (scores->had[share->share / 64] & bit) == 0;
    scores->had[share->share / 64] |= bit;
    if (scores->come == scores->shares)
        scores->whole = scores->batches;
    scores->ends_whole = scores->ends_whole || scores->whole == w->job->steps;
}

static void hear_scores(struct oracle *w, const struct message *message)
{
    struct oracle_scores *scores = &w->scores;
    if (message->generation != scores->generation)
        return;
    if (message->kind == MESSAGE_EVALUATION)
        count_share(w, &message->evaluation);
}

/* What server 0 says is settled is: before the generation, whole, or given up by some server. */
static void check_settled(struct oracle *w, const struct message *message)
{
    const struct oracle_scores *scores = &w->scores;
    uint64_t settled = message->waiting.scored;
    if (message->generation == scores->generation && settled > scores->base &&
        settled >= scores->passed && settled != scores->whole)
        oracle_fail(w,
                    "server 0 has values let go that after %" PRIu64
                    " batches are to be scored, and are not",
                    settled);
}

void oracle_coordinator_hears(struct oracle *oracle, const struct packet *packet)
{
    if (!oracle->failed)
        hear_scores(oracle, &packet->message);
}

void oracle_coordinator_says(struct oracle *oracle, uint32_t process, const struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    if (message->kind == MESSAGE_WELCOME && message->generation > oracle->scores.generation)
        begin_scores(&oracle->scores, message);
    else if (message->kind == MESSAGE_WELCOME && oracle->scores.base == 0 &&
             message->welcome.restore)
        oracle->scores.base = message->welcome.restore_step;
    if (message->kind == MESSAGE_PONG && !oracle->failed)
        check_settled(oracle, message);
    if (oracle->mode_invariants->said != NULL && !oracle->failed)
        oracle->mode_invariants->said(oracle, process, item);
}

/* --- the end --------------------------------------------------------------------------------- */

static void finish_chunk(struct oracle *w, const struct oracle_chunk *chunk, uint32_t index,
                         uint64_t step)
{
    if (chunk->had != step)
        oracle_fail(w, "chunk %u ends after %" PRIu64 " batches and the job at step %" PRIu64,
                    index, chunk->had, step);
    if (chunk->group.members > 0)
        oracle_fail(w, "chunk %u ends with gradients that are not applied", index);
    if (chunk->leaves_in > 0)
        oracle_fail(w, "chunk %u ends within a step", index);
    if (w->mode_invariants->finish != NULL)
        w->mode_invariants->finish(w, chunk, index, step);
}

void oracle_finish(struct oracle *oracle, uint64_t step)
{
    struct oracle *w = oracle;
    for (uint32_t i = 0; i < w->process_count; i++) {
        const struct oracle_server *server = w->processes[i].server;
        if (server == NULL || !server->alive || !server->current)
            continue;
        for (uint32_t j = 0; j < w->partition->chunk_count; j++)
            if (w->partition->chunks[j].server == server->index && server->chunks[j].loaded)
                finish_chunk(w, &server->chunks[j], j, step);
    }
}
