/* Bugs planted on purpose: the simulator has to find each of them within a thousand histories.
 *
 * Most are planted where one core calls another: this program is linked with --wrap (Makefile), so
 * that calls of these functions come here first. Others are a mode's table with another function in
 * it, or change an item on its way between the parts of a process, or what is said on a wire.
 * Nothing of it is in the programs.
 *
 * An assertion of the programs' own is a way to be found, and the end of the process: each search
 * is made in one of its own. */
/* promises: accumulate allreduce backup histories record replay scores server-lost staleness-rules */
/* test: once */
/* wraps: batch_set_has evaluation_is_whole chunk_apply update_apply replica_apply */
/* wraps: replica_put aggregator_offer sessions_judge work_begin owner_handle */
/* wraps: follow_init simulated_disk_done_us checkpoint_write_part update_log_add */
/* wraps: descriptions_find group_close quorum_report quorum_list */
/* wraps: quorum_counted pruned_take checkpoint_write_manifest group_add */
/* wraps: staleness_counters_add __assert_fail */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/job/update.h"
#include "deploy/engine/simulated_disk.h"
#include "deploy/verify/history_shrink.h"
#include "ps/extension/staleness_counters.h"
#include "ps/mode/sync.h"
#include "ps/mode/work_mode.h"
#include "ps/owner/owner_state.h"
#include "ps/router/sessions.h"
#include "ps/shard/aggregator.h"
#include "ps/shard/batch_set.h"
#include "ps/shard/chunk.h"
#include "ps/shard/descriptions.h"
#include "ps/shard/group.h"
#include "ps/shard/pruned.h"
#include "ps/shard/update_log.h"
#include "ps/work/evaluation.h"
#include "ps/work/quorum.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"
#include "worker/client/replica.h"
#include "worker/mode/follow_mode.h"

#define HISTORIES_MAX 1000
#define CHILDREN_MAX  16

enum bug {
    NO_BUG,
    DOUBLE_APPLY,     /* Nobody looks whether a batch has been applied. */
    LOST_RELEASE,     /* Now and then somebody who waits for a version is forgotten. */
    EARLY_DISCARD,    /* A chunk gives up its version t when it has t + 1. */
    STALE_ASSIGNMENT, /* A worker takes the number of a new assignment, and computes the old one. */
    UNFENCED_ZOMBIE,  /* A worker that has been replaced is still heard. */
    MANIFEST_FIRST,   /* Parts are said to be written before they are durable. */
    MISSED_SNAPSHOT,  /* One at a multiple of 7 is not taken when a chunk gets there. */
    T_FROM_RESTORE,   /* Adam's t counts from where the chunk was loaded. */
    LATE_COUNT,       /* Duplicates are counted only after a restart; ... */
    EARLY_COUNT,      /* ... only before one. */
    CHILDREN_KEPT,    /* Gradients stay when that of a node above them comes. */
    SCORED_EARLY,     /* Server 0 has what is scored let go when the first share has come. */
    CHUNKS_KEPT,      /* Async: a server that was not lost does not go back; ... */
    LEASES_KEPT,      /* ... leases do not. */
    BOUND_OFF_BY_ONE, /* Ssp: a worker may be S + 1 ahead. */
    JOINER_AT_ZERO,   /* Ssp: a worker that joins is told a clock from 0, and not the slowest's. */
    ENTRY_LOST,       /* A chunk does not note one of its batches. */
    WRONG_NUMBER,     /* A gradient is logged with the description before its own. */
    UNDESCRIBED,      /* A gradient is taken though its description is not here. */
    DESCRIBED_ONCE,   /* A description that was lost is not said again. */
    NO_FRESH_PULL,    /* Ssp: a batch given late is computed from the values that are here. */
    RATE_ON_GRADIENT, /* What staleness takes off the rate is taken off the gradient. */
    GROUP_KEPT,       /* What a chunk holds is not applied before a cut. */
    UPDATE_SKIPPED,   /* All-reduce: a replica leaves an update out; ... */
    SLOTS_NOT_TAKEN,  /* ... whoever has come goes on with slots of its own. */
    WORKER_TWICE,     /* Backup: a worker that has reported counts for two; ... */
    TREE_COMPACTED,   /* ... leaves are summed along the tree of those that are left; ... */
    SETS_SWAPPED,    /* ... the record has the last two sets before a cut in the other order; ... */
    DROPPED_COUNTED, /* ... what was dropped is counted in loss and accuracy; ... */
    USED_UNCOUNTED,  /* ... now and then something that was not is counted in neither. */
    CHANGED_VALUE,   /* Simpler ones, to see that the witness looks everywhere: one item of a */
    CHANGED_GRADIENT, /* hundred is not what it was. */
    CHANGED_SNAPSHOT,
    CHANGED_HANDED, /* A chunk of a model to be kept, by its owner, ... */
    CHANGED_KEPT,   /* ... and on its way to the file. */
    CHANGED_VERSION,
    CHANGED_VERDICT,
    CHANGED_NODE,
    CHANGED_BATCH,
    LOST_ANSWER,
    WRONG_RULE,       /* Nesterov's step is momentum's, wherever it is made: the same bits twice. */
    MANIFEST_EARLY,   /* A checkpoint is said to be whole before its manifest is durable. */
    BARRIER_EARLY,    /* Now and then whoever waits for a version is given the one before. */
    LIMIT_OFF_BY_ONE, /* A gradient of --max-staleness + 1 is taken. */
    STALENESS_FORGOTTEN, /* Now and then a gradient is counted as fresh. */
    TWICE_AFTER_RESTART, /* A chunk that was loaded does not know which batches it has had. */
    STALE_ANSWER,    /* Now and then an answer has the values and the version of the one before. */
    LOST_CLOSE,      /* Backup: an owner never hears of which leaves one step in seven is made. */
    GROUP_LAST_LOST, /* The last gradient of a group counts, and is not in the sum. */
    SCORED_NEWEST,   /* What is given for a score are the newest values. */
    /* One answer of ten, of those that can be so, is wrong: */
    RECEIPT_FALSE,      /* A missing gradient is confirmed, or one that is here is not; ... */
    RECEIPT_LOST,       /* ... no receipt is sent. */
    DUPLICATE_APPLIED,  /* A duplicate is said to be applied. */
    STALENESS_SAID,     /* The staleness is one more. */
    WEIGHT_LOST,        /* What its request weighed is not given back; ... */
    WEIGHT_TWICE,       /* ... or twice. */
    CUT_TAKEN_BACK,     /* An owner that has taken its cut says that it has not; ... */
    CUT_SILENT,         /* ... or nothing. */
    APPLIED_MISCOUNTED, /* It counts one more applied. */
    MOVED_ON_FALSE,     /* Values that are there are said to be gone. */
    MISSING_HAD,        /* A chunk takes a gradient that was lost for one that it has had; ... */
    HAD_MISSING,        /* ... asks again for one that it has. */
    BUG_COUNT
};

static const char *const bug_names[BUG_COUNT] = {
    "no bug",
    "double apply",
    "lost release",
    "early discard",
    "stale assignment",
    "unfenced zombie",
    "manifest before its parts",
    "missed cut",
    "t from the restore",
    "duplicates counted late",
    "duplicates counted early",
    "children kept",
    "scored frame let go early",
    "chunks kept",
    "leases kept",
    "bound off by one",
    "joiner at clock 0",
    "a record entry lost",
    "a gradient with another's description",
    "a gradient without its description",
    "a lost description not said again",
    "no fresh pull",
    "rate applied to the gradient",
    "group open at a cut",
    "a replica skips an update",
    "slots not handed to a joiner",
    "a set with a worker twice",
    "a compacted tree",
    "sets in another order in the record",
    "dropped leaves counted in scores",
    "used leaves not counted in scores",
    "changed value",
    "changed gradient",
    "changed cut",
    "changed chunk to be kept",
    "changed chunk in a kept model",
    "changed version",
    "changed verdict",
    "changed node",
    "changed batch",
    "lost answer",
    "a wrong rule of an optimizer",
    "manifest said to be durable early",
    "barrier released one early",
    "max-staleness off by one",
    "staleness counted as none",
    "applied twice after a restart",
    "a stale version answered",
    "lost CLOSE",
    "last gradient of a group lost",
    "newest values for a score",
    "a false receipt",
    "lost receipt",
    "duplicate said to be applied",
    "staleness said one more",
    "weight not given back",
    "weight given back twice",
    "a cut taken back",
    "a cut not reported",
    "applied counted one more",
    "values said to be gone",
    "missing said to be had",
    "had said to be missing",
};

/* What is planted, for the functions below, which nobody can give an argument. */
static enum bug planted;
static uint64_t times;                      /* That it has done something. */
static uint64_t seen;                       /* Items that it could have spoiled. */
static bool part_written, manifest_written; /* Just now. */
static bool by_owner;     /* An update is made by an owner, and not by who checks it, ... */
static uint64_t batch_of; /* ... and this is the batch whose rate it has: its last. */
/* The clock of each worker's ticket when it was first told. */
static struct first_clock {
    uint64_t ticket, clock;
} first_clocks[256];

/* What an owner is doing, and from which step it has loaded its chunks. */
static struct {
    uint32_t process, owner;
    bool exchange;
} at_work;
static uint64_t loaded_at[256][4];

/* What a search has come to: shared with the process that makes it. */
static struct finding {
    uint64_t histories; /* How many it took; 0: it was not found. */
    uint64_t times;
    char failure[512];
} * finding;

/* --- in the place of functions --------------------------------------------------------------- */

bool __real_batch_set_has(const struct batch_set *set, uint64_t batch);
bool __wrap_batch_set_has(const struct batch_set *set, uint64_t batch);
enum status __real_chunk_apply(struct chunk *chunk, const struct chunk_gradient *update);
enum status __wrap_chunk_apply(struct chunk *chunk, const struct chunk_gradient *update);
enum sender __real_sessions_judge(struct sessions *sessions, const struct packet *packet);
enum sender __wrap_sessions_judge(struct sessions *sessions, const struct packet *packet);
void __real_owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                         struct outbox *outbox);
void __wrap_owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                         struct outbox *outbox);
uint64_t __real_simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer);
uint64_t __wrap_simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer);

enum status __real_checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                         uint64_t generation, uint32_t server,
                                         uint32_t server_count, struct slots slots,
                                         const struct checkpoint_chunk *chunks,
                                         uint32_t chunk_count, bool proven,
                                         struct checkpoint_part *part, struct error *error);
enum status __wrap_checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                         uint64_t generation, uint32_t server,
                                         uint32_t server_count, struct slots slots,
                                         const struct checkpoint_chunk *chunks,
                                         uint32_t chunk_count, bool proven,
                                         struct checkpoint_part *part, struct error *error);

void __real_update_apply(const struct job *job, const uint64_t *offsets, uint64_t first,
                         const struct optimizer_update *update);
void __wrap_update_apply(const struct job *job, const uint64_t *offsets, uint64_t first,
                         const struct optimizer_update *update);
void __real_replica_apply(struct replica *replica, uint32_t chunk, uint64_t version,
                          const float *sum);
void __wrap_replica_apply(struct replica *replica, uint32_t chunk, uint64_t version,
                          const float *sum);
bool __real_replica_put(struct replica *replica, uint32_t chunk, uint32_t array, uint64_t version,
                        const float *data);
bool __wrap_replica_put(struct replica *replica, uint32_t chunk, uint32_t array, uint64_t version,
                        const float *data);
enum aggregator_result __real_aggregator_offer(struct aggregator *aggregator, struct node node,
                                               struct frame *gradient);
enum aggregator_result __wrap_aggregator_offer(struct aggregator *aggregator, struct node node,
                                               struct frame *gradient);
enum quorum_result __real_quorum_report(struct quorum *quorum, const struct message_report *report,
                                        uint32_t worker, uint32_t place, double seconds);
enum quorum_result __wrap_quorum_report(struct quorum *quorum, const struct message_report *report,
                                        uint32_t worker, uint32_t place, double seconds);
struct frame *__real_quorum_list(const struct quorum *quorum, size_t room, uint64_t first,
                                 uint64_t end);
struct frame *__wrap_quorum_list(const struct quorum *quorum, size_t room, uint64_t first,
                                 uint64_t end);
struct tally __real_quorum_counted(const struct quorum *quorum);
struct tally __wrap_quorum_counted(const struct quorum *quorum);
struct frame *__real_pruned_take(struct pruned *pruned, const struct pruned_step *step);
struct frame *__wrap_pruned_take(struct pruned *pruned, const struct pruned_step *step);
enum status __real_checkpoint_write_manifest(const struct disk *disk, const char *out,
                                             const struct manifest *manifest, struct error *error);
enum status __wrap_checkpoint_write_manifest(const struct disk *disk, const char *out,
                                             const struct manifest *manifest, struct error *error);
enum status __real_group_add(struct chunk *chunk, const struct chunk_gradient *gradient);
enum status __wrap_group_add(struct chunk *chunk, const struct chunk_gradient *gradient);
enum status __real_staleness_counters_add(struct staleness_counters *counters,
                                          struct histogram *shape, uint32_t worker, uint64_t base,
                                          uint64_t met, bool made);
enum status __wrap_staleness_counters_add(struct staleness_counters *counters,
                                          struct histogram *shape, uint32_t worker, uint64_t base,
                                          uint64_t met, bool made);
bool __real_evaluation_is_whole(const struct evaluation *evaluation);
bool __wrap_evaluation_is_whole(const struct evaluation *evaluation);
enum status __real_work_begin(struct work *work, const struct job *job, uint64_t first,
                              const struct tally_so_far *so_far);
enum status __wrap_work_begin(struct work *work, const struct job *job, uint64_t first,
                              const struct tally_so_far *so_far);
enum status __real_follow_init(struct follow *follow, const struct job *job, uint32_t chunk_count);
enum status __wrap_follow_init(struct follow *follow, const struct job *job, uint32_t chunk_count);
enum status __real_group_close(struct chunk *chunk);
enum status __wrap_group_close(struct chunk *chunk);
void __real_update_log_add(struct update_log *log, uint64_t described, unsigned flags);
void __wrap_update_log_add(struct update_log *log, uint64_t described, unsigned flags);
uint64_t __real_descriptions_find(const struct descriptions *descriptions, uint32_t worker,
                                  uint64_t ticket, uint64_t count);
uint64_t __wrap_descriptions_find(const struct descriptions *descriptions, uint32_t worker,
                                  uint64_t ticket, uint64_t count);
void __wrap___assert_fail(const char *assertion, const char *file, unsigned line,
                          const char *function) __attribute__((noreturn));

bool __wrap_evaluation_is_whole(const struct evaluation *evaluation)
{
    bool whole = __real_evaluation_is_whole(evaluation);
    bool early = planted == SCORED_EARLY && !whole && evaluation->share_count > 0;
    times += early;
    return whole || early;
}

static bool is_chosen(void);

enum quorum_result __wrap_quorum_report(struct quorum *quorum, const struct message_report *report,
                                        uint32_t worker, uint32_t place, double seconds)
{
    bool twice = planted == WORKER_TWICE && quorum->step == quorum->end &&
                 quorum->members >= quorum->required && quorum->required > 1;
    quorum->required -= twice;
    enum quorum_result result = __real_quorum_report(quorum, report, worker, place, seconds);
    quorum->required += twice;
    times += twice && result == QUORUM_COUNTED;
    return result;
}

/* As they come, and not where they stand. */
struct frame *__wrap_pruned_take(struct pruned *pruned, const struct pruned_step *step)
{
    struct frame *sum = NULL;
    if (planted != TREE_COMPACTED)
        return __real_pruned_take(pruned, step);
    for (uint32_t i = 0; i < pruned->part_count; i++) {
        struct pruned_part *part = &pruned->parts[i];
        if (leaf_set_examples(&step->set, step->job, step->batch, part->node) != part->examples)
            continue;
        struct frame *next = frame_create(part->sum->bytes);
        const float *old = sum != NULL ? sum->data : NULL, *more = part->sum->data;
        float *to = next->data;
        for (size_t j = 0; j < next->bytes / sizeof(float); j++)
            to[j] = old != NULL ? old[j] + more[j] : more[j];
        frame_release(sum);
        sum = next;
    }
    times++;
    pruned_reset(pruned);
    return sum;
}

struct frame *__wrap_quorum_list(const struct quorum *quorum, size_t room, uint64_t first,
                                 uint64_t end)
{
    struct frame *list = __real_quorum_list(quorum, room, first, end);
    if (planted != SETS_SWAPPED || room == 0 || end < first + 2 || end != quorum->end)
        return list;
    const size_t *places = &quorum->places[end - 2 - quorum->first];
    size_t size = places[1] - places[0];
    uint8_t *at = (uint8_t *)list->data + list->bytes - 2 * size;
    const uint8_t *set = quorum->bytes + places[0];
    if (quorum->byte_count - places[1] != size || memcmp(set, set + size, size) == 0)
        return list;
    times++;
    memcpy(at, set + size, size);
    memcpy(at + size, set, size);
    return list;
}

struct tally __wrap_quorum_counted(const struct quorum *quorum)
{
    struct tally tally = __real_quorum_counted(quorum);
    for (size_t i = 0; planted == DROPPED_COUNTED && i < quorum->report_count; i++) {
        const struct reported_node *it = &quorum->reports[i];
        times += !it->counts;
        tally.examples += it->counts ? 0 : it->report.examples;
        tally.correct += it->counts ? 0 : it->report.correct;
        tally.loss += it->counts ? 0 : it->report.loss;
    }
    if (planted == USED_UNCOUNTED && quorum->reports[0].counts && is_chosen()) {
        tally.examples -= quorum->reports[0].report.examples;
        tally.correct -= quorum->reports[0].report.correct;
        tally.loss -= quorum->reports[0].report.loss;
    }
    return tally;
}

/* The others move up, so that nothing but what they are of is wrong. */
void __wrap_update_log_add(struct update_log *log, uint64_t described, unsigned flags)
{
    bool lost = planted == ENTRY_LOST && log->count > 0 && is_chosen();
    __real_update_log_add(log, described, flags);
    if (lost)
        log->list[log->count - 1] = log->list[log->count - 2];
}

uint64_t __wrap_descriptions_find(const struct descriptions *descriptions, uint32_t worker,
                                  uint64_t ticket, uint64_t count)
{
    uint64_t number = __real_descriptions_find(descriptions, worker, ticket, count);
    if (planted == WRONG_NUMBER && number > 1 && is_chosen())
        return number - 1;
    if (planted != UNDESCRIBED || number != 0 || count == 0 || descriptions->next == 1)
        return number;
    times++;
    return descriptions->next - 1;
}

bool __wrap_batch_set_has(const struct batch_set *set, uint64_t batch)
{
    bool has = __real_batch_set_has(set, batch);
    bool loaded = loaded_at[at_work.process % 256][at_work.owner % 4] > 0;
    bool forgets = planted == DOUBLE_APPLY || (planted == TWICE_AFTER_RESTART && loaded);
    times += forgets && has;
    return has && !forgets;
}

enum status __wrap_group_add(struct chunk *chunk, const struct chunk_gradient *gradient)
{
    struct chunk_gradient changed = *gradient;
    if (planted == GROUP_LAST_LOST && chunk->pending.members > 0 && gradient->sum != NULL &&
        group_closes(chunk)) {
        changed.sum = NULL;
        times++;
    }
    return __real_group_add(chunk, &changed);
}

enum status __wrap_staleness_counters_add(struct staleness_counters *counters,
                                          struct histogram *shape, uint32_t worker, uint64_t base,
                                          uint64_t met, bool made)
{
    bool fresh = planted == STALENESS_FORGOTTEN && base < met && is_chosen();
    return __real_staleness_counters_add(counters, shape, worker, fresh ? met : base, met, made);
}

enum status __wrap_chunk_apply(struct chunk *chunk, const struct chunk_gradient *update)
{
    struct chunk_gradient changed = *update;
    times += planted == EARLY_DISCARD && update->keep_previous;
    changed.keep_previous = update->keep_previous && planted != EARLY_DISCARD;
    by_owner = true;
    batch_of = chunk->batches;
    enum status status = __real_chunk_apply(chunk, &changed);
    by_owner = false;
    return status;
}

enum status __wrap_group_close(struct chunk *chunk)
{
    if (planted != GROUP_KEPT)
        return __real_group_close(chunk);
    times += chunk->pending.members > 0;
    return STATUS_OK;
}

static void move_rate(const struct job *job, struct optimizer_update *update)
{
    float whole = schedule_learning_rate(&job->schedule, batch_of);
    update->scale *= update->learning_rate / whole;
    times += update->learning_rate != whole;
    update->learning_rate = whole;
}

void __wrap_update_apply(const struct job *job, const uint64_t *offsets, uint64_t first,
                         const struct optimizer_update *update)
{
    struct optimizer_update changed = *update;
    uint64_t loaded = loaded_at[at_work.process % 256][at_work.owner % 4];
    if (planted == T_FROM_RESTORE && by_owner && loaded > 0 && loaded < update->t) {
        changed.t -= loaded;
        times += strncmp(job->optimizer.name, "adam", 4) == 0; /* adamw, too */
    }
    if (planted == RATE_ON_GRADIENT && by_owner)
        move_rate(job, &changed);
    if (planted == WRONG_RULE && strcmp(job->optimizer.name, "nesterov") == 0) {
        struct job other = *job;
        strcpy(other.optimizer.name, "momentum");
        times++;
        __real_update_apply(&other, offsets, first, &changed);
        return;
    }
    __real_update_apply(job, offsets, first, &changed);
}

void __wrap_replica_apply(struct replica *replica, uint32_t chunk, uint64_t version,
                          const float *sum)
{
    if (planted != UPDATE_SKIPPED || version % 5 != 3) {
        __real_replica_apply(replica, chunk, version, sum);
        return;
    }
    replica->chunks[chunk].held++;
    times++;
}

bool __wrap_replica_put(struct replica *replica, uint32_t chunk, uint32_t array, uint64_t version,
                        const float *data)
{
    const struct chunk_range *range = &replica->partition->chunks[chunk];
    if (planted != SLOTS_NOT_TAKEN || array == 0)
        return __real_replica_put(replica, chunk, array, version, data);
    float *own = malloc(range->count * sizeof *own);
    ck_assert_ptr_nonnull(own);
    memcpy(own, replica->slots[array - 1] + range->first, range->count * sizeof *own);
    bool whole = __real_replica_put(replica, chunk, array, version, own);
    free(own);
    times++;
    return whole;
}

/* Take what lies below the node out of sight; how many. */
static uint32_t hide_below(struct aggregator *aggregator, struct node node,
                           struct aggregator_part hidden[CHILDREN_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = aggregator->part_count; i-- > 0;) {
        if (!node_within(aggregator->parts[i].node, node) || count == CHILDREN_MAX)
            continue;
        hidden[count++] = aggregator->parts[i];
        aggregator->parts[i] = aggregator->parts[--aggregator->part_count];
    }
    return count;
}

enum aggregator_result __wrap_aggregator_offer(struct aggregator *aggregator, struct node node,
                                               struct frame *gradient)
{
    struct aggregator_part children[CHILDREN_MAX];
    if (planted != CHILDREN_KEPT || aggregator_holds(aggregator, node))
        return __real_aggregator_offer(aggregator, node, gradient);
    uint32_t count = hide_below(aggregator, node, children);
    enum aggregator_result result = __real_aggregator_offer(aggregator, node, gradient);
    for (uint32_t i = 0; i < count; i++, times++) {
        struct aggregator_part *parts = array_room(aggregator->parts, aggregator->part_count,
                                                   &aggregator->part_capacity, sizeof *parts);
        ck_assert_ptr_nonnull(parts);
        aggregator->parts = parts;
        parts[aggregator->part_count++] = children[i];
    }
    return result;
}

enum sender __wrap_sessions_judge(struct sessions *sessions, const struct packet *packet)
{
    enum sender sender = __real_sessions_judge(sessions, packet);
    bool let_in = planted == UNFENCED_ZOMBIE && sender == SENDER_SUPERSEDED;
    times += let_in;
    return let_in ? SENDER_WORKER : sender;
}

uint64_t __wrap_simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer)
{
    uint64_t done_us = __real_simulated_disk_done_us(disk, writer);
    bool early = (planted == MANIFEST_FIRST && part_written) ||
                 (planted == MANIFEST_EARLY && manifest_written);
    part_written = manifest_written = false;
    if (!early)
        return done_us;
    times += done_us > disk->now_us;
    return disk->now_us;
}

enum status __wrap_checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                         uint64_t generation, uint32_t server,
                                         uint32_t server_count, struct slots slots,
                                         const struct checkpoint_chunk *chunks,
                                         uint32_t chunk_count, bool proven,
                                         struct checkpoint_part *part, struct error *error)
{
    part_written = true;
    return __real_checkpoint_write_part(disk, out, step, generation, server, server_count, slots,
                                        chunks, chunk_count, proven, part, error);
}

enum status __wrap_checkpoint_write_manifest(const struct disk *disk, const char *out,
                                             const struct manifest *manifest, struct error *error)
{
    manifest_written = true;
    return __real_checkpoint_write_manifest(disk, out, manifest, error);
}

void __wrap___assert_fail(const char *assertion, const char *file, unsigned line,
                          const char *function)
{
    (void)function;
    snprintf(finding->failure, sizeof finding->failure, "%s:%u asserts %s", file, line, assertion);
    finding->times = times;
    _exit(EXIT_SUCCESS);
}

static enum release answer_early(const struct shard *shard, const struct read_request *wanted,
                                 struct read_result *read)
{
    enum release release = sync_answer(shard, wanted, read);
    if (release != RELEASE_LATER || wanted->version != shard->chunk.version + 1 || !is_chosen())
        return release;
    *read = (struct read_result){.values = shard->chunk.values, .version = wanted->version};
    return RELEASE_NOW;
}

static enum push_status sent_before_false(const struct shard *shard,
                                          const struct message_exchange *exchange)
{
    enum push_status push = shard_mode_of(&shard->chunk.plan->job)->sent_before(shard, exchange);
    bool missing = planted == MISSING_HAD && push == PUSH_MISSING;
    bool had = planted == HAD_MISSING && (push == PUSH_HELD || push == PUSH_HAD);
    times += missing || had;
    return missing ? PUSH_HAD : had ? PUSH_MISSING : push;
}

static struct plan wider_plan(const struct shard *shard)
{
    struct plan plan = *shard->chunk.plan;
    plan.job.max_staleness++;
    return plan;
}

static enum verdict judge_wider(struct shard *shard, const struct message *message)
{
    const struct plan plan = wider_plan(shard);
    struct shard wider = *shard;
    wider.chunk.plan = &plan;
    enum verdict verdict = shard_async.judge(&wider, message);
    times += verdict != shard_async.judge(shard, message);
    return verdict;
}

static enum status take_wider(struct shard *shard, const struct message *message,
                              struct frame *gradient, enum verdict *verdict)
{
    const struct plan plan = wider_plan(shard), *own = shard->chunk.plan;
    shard->chunk.plan = &plan;
    enum status status = shard_async.take(shard, message, gradient, verdict);
    shard->chunk.plan = own;
    return status;
}

/* An owner and its chunks go by one table. */
static void plant_rules(struct owner *owner)
{
    static struct shard_mode table;
    const struct shard_mode *own = owner->rules;
    if (planted == BARRIER_EARLY && own == &shard_sync) {
        table = shard_sync;
        table.answer = answer_early;
    } else if (planted == MISSING_HAD || planted == HAD_MISSING) {
        table = *shard_mode_of(&owner->plan->job);
        table.sent_before = sent_before_false;
    } else if (planted == LIMIT_OFF_BY_ONE && own == &shard_async &&
               owner->plan->job.max_staleness > 0) {
        table = shard_async;
        table.judge = judge_wider;
        table.take = take_wider;
    } else {
        return;
    }
    owner->rules = &table;
    for (uint32_t i = 0; i < owner->owned_count; i++)
        owner->owned[i].shard.rules = &table;
}

/* An owner that has its chunks says at once that they are there, as they are. */
void __wrap_owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                         struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    plant_rules(owner);
    bool keeps = planted == CHUNKS_KEPT && order != NULL && order->kind == ORDER_LOAD &&
                 owner->filled && owner->to_load == 0 && owner->rules == &shard_async;
    if (!keeps) {
        __real_owner_handle(owner, packet, now_us, outbox);
        return;
    }
    times++;
    owner->generation = order->generation;
    owner->verdicts = (struct verdict_counts){0};
    owner->to_snapshot = 0;
    for (uint32_t i = 0; i < owner->owned_count; i++)
        owner->owned[i].snapshot_step = UINT64_MAX;
    order_add(outbox, TO_ROUTER, 0,
              &(struct order){
                  .kind = ORDER_LOADED, .from = owner->index, .generation = owner->generation});
}

/* --- in a mode's table ----------------------------------------------------------------------- */

static bool ask_off_by_one(struct work *work, uint32_t worker, uint64_t *batch)
{
    const struct job *job = work->job;
    struct job wider = *job;
    if (work_ssp.ask(work, worker, batch))
        return true;
    if (job->staleness_bound == MODE_UNBOUNDED)
        return false;
    wider.staleness_bound++;
    work->job = &wider;
    bool given = work_ssp.ask(work, worker, batch);
    work->job = job;
    times += given;
    return given;
}

/* It tells only what is finished since it was first told. */
static uint64_t clock_from_zero(struct work *work, uint32_t worker)
{
    uint64_t clock = work_ssp.clock(work, worker);
    uint64_t ticket = work->membership.workers[worker].ticket;
    ck_assert_uint_lt(worker, sizeof first_clocks / sizeof *first_clocks);
    struct first_clock *first = &first_clocks[worker];
    if (first->ticket != ticket || clock < first->clock)
        *first = (struct first_clock){ticket, clock};
    times += first->clock > 0;
    return clock - first->clock;
}

static uint64_t go_back_without_leases(struct work *work, uint64_t step,
                                       const struct tally_so_far *so_far)
{
    times++;
    return statistics_go_back(&work->statistics, step, so_far);
}

enum status __wrap_work_begin(struct work *work, const struct job *job, uint64_t first,
                              const struct tally_so_far *so_far)
{
    static struct work_mode table;
    enum status status = __real_work_begin(work, job, first, so_far);
    if (planted == LEASES_KEPT && work->rules->ask != NULL) {
        table = *work->rules;
        table.go_back = go_back_without_leases;
        work->rules = &table;
    }
    if (job->mode != MODE_SSP || (planted != BOUND_OFF_BY_ONE && planted != JOINER_AT_ZERO))
        return status;
    table = work_ssp;
    if (planted == BOUND_OFF_BY_ONE)
        table.ask = ask_off_by_one;
    else
        table.clock = clock_from_zero;
    work->rules = &table;
    return status;
}

static enum next next_without_pull(struct follow *follow, uint64_t *step)
{
    enum next next = follow_ssp.next(follow, step);
    times += next == NEXT_PULL;
    return next == NEXT_PULL ? follow_ssp.next(follow, step) : next;
}

enum status __wrap_follow_init(struct follow *follow, const struct job *job, uint32_t chunk_count)
{
    static struct follow_mode table;
    enum status status = __real_follow_init(follow, job, chunk_count);
    if (job->mode != MODE_SSP || planted != NO_FRESH_PULL)
        return status;
    table = follow_ssp;
    table.next = next_without_pull;
    follow->rules = &table;
    return status;
}

/* --- in items on their way ------------------------------------------------------------------- */

/* The places of workers as they were told first; a process that follows the bug keeps to them. */
static struct message_start first_starts[256];
static uint64_t first_generations[256];

static void forget_assignment(uint32_t process, struct message *message)
{
    struct message_start *first = &first_starts[process % 256];
    if (first->members == 0 || first_generations[process % 256] != message->generation) {
        *first = message->start;
        first_generations[process % 256] = message->generation;
        return;
    }
    times += first->members != message->start.members || first->position != message->start.position;
    message->start.members = first->members;
    message->start.position = first->position;
}

/* Whether a worker says a description to a server for the first time. */
static uint64_t described[256][8];

static bool is_described_anew(uint32_t process, const struct outgoing *item)
{
    const struct message_gradient *gradient = &item->packet.message.gradient;
    uint64_t *last = &described[process % 256][item->index % 8];
    bool anew = gradient->count > *last || gradient->offset > 0;
    times += !anew;
    *last = gradient->count;
    return anew;
}

static void change_a_float(struct outgoing *item)
{
    struct frame *frame = item->packet.payload;
    struct frame *copy = frame_create(frame->bytes);
    memcpy(copy->data, frame->data, frame->bytes);
    ((float *)copy->data)[0] += 1;
    frame_release(frame);
    item->packet.payload = copy;
}

/* One in a hundred of the items that a bug is about, from the tenth on. */
static bool is_chosen(void)
{
    bool chosen = seen++ % 100 == 10;
    times += chosen;
    return chosen;
}

/* Before an owner takes it. */
static void note_work(uint32_t process, const struct outgoing *item)
{
    const struct order *order = order_of(&item->packet);
    at_work.process = process;
    at_work.owner = item->index;
    at_work.exchange = item->packet.message.kind == MESSAGE_EXCHANGE;
    if (order != NULL && order->kind == ORDER_LOAD)
        loaded_at[process % 256][item->index % 4] = order->load.restore ? order->load.step : 0;
}

/* A chunk that is not there yet when a cut is named is cut by the exchange that brings it there. */
static bool is_late_snapshot(const struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    const struct order *order = order_of(&item->packet);
    bool done = order != NULL && order->kind == ORDER_OWNER_SNAPSHOT && order->owner_snapshot.taken;
    uint64_t step = done ? order->owner_snapshot.step : message->chunk_state.step;
    return at_work.exchange && (done || message->kind == MESSAGE_CHUNK_STATE) && step % 7 == 0;
}

static void forget_duplicates(struct outgoing *item)
{
    struct order order = *order_of(&item->packet);
    times += order.owner_snapshot.verdicts.duplicate > 0;
    order.owner_snapshot.verdicts.duplicate = 0;
    memcpy(item->packet.inner.bytes, &order, sizeof order);
}

static bool is_kept(const struct message *message)
{
    return message->kind == MESSAGE_CHUNK_STATE && message->chunk_state.array == CHECKPOINT_SCORED;
}

/* What a chunk has given last. */
static struct {
    struct frame *values;
    uint64_t version;
} given[256][32];

static void forget_given(void)
{
    for (unsigned i = 0; i < 256 * 32; i++) {
        frame_release(given[i / 32][i % 32].values);
        given[i / 32][i % 32].values = NULL;
    }
}

static void give_another(uint32_t process, struct outgoing *item)
{
    struct message_result *result = &item->packet.message.result;
    if (!result->parameters || result->sum || result->array > 0 || result->chunk >= 32)
        return;
    struct frame **last = &given[process % 256][result->chunk].values;
    uint64_t *version = &given[process % 256][result->chunk].version;
    bool other = *last != NULL && *last != item->packet.payload;
    bool stale = planted == STALE_ANSWER && !result->scored && *version < result->version;
    if (other && ((stale && is_chosen()) || (planted == SCORED_NEWEST && result->scored))) {
        times += planted == SCORED_NEWEST;
        if (stale)
            result->version = *version;
        frame_release(item->packet.payload);
        item->packet.payload = frame_retain(*last);
    } else if (!result->scored) {
        frame_release(*last);
        *last = frame_retain(item->packet.payload);
        *version = result->version;
    }
}

/* One in ten of the owner's answers that a bug is about. */
static bool is_answer_chosen(bool is_about)
{
    bool chosen = is_about && seen++ % 10 == 3;
    times += chosen;
    return chosen;
}

static void say_moved_on(struct outgoing *item)
{
    struct message *message = &item->packet.message;
    const struct message_result result = message->result;
    message->kind = MESSAGE_MOVED_ON;
    message->moved_on.chunk = result.chunk;
    message->moved_on.version = result.version;
    message->moved_on.scored = false;
    frame_release(item->packet.payload);
    item->packet.payload = NULL;
}

/* False loses it. */
static bool spoil_answer(struct outgoing *item)
{
    struct message *message = &item->packet.message;
    struct message_result *result = message->kind == MESSAGE_RESULT ? &message->result : NULL;
    bool receipt = message->kind == MESSAGE_RECEIPT;
    if (planted == RECEIPT_LOST)
        return !is_answer_chosen(receipt);
    if (planted == RECEIPT_FALSE && is_answer_chosen(receipt))
        message->receipt.missing = !message->receipt.missing;
    if (planted == DUPLICATE_APPLIED &&
        is_answer_chosen(result != NULL && result->verdict == VERDICT_DUPLICATE))
        result->verdict = VERDICT_APPLIED;
    if (planted == STALENESS_SAID &&
        is_answer_chosen(result != NULL && result->verdict == VERDICT_APPLIED))
        result->staleness++;
    if (planted == MOVED_ON_FALSE &&
        is_answer_chosen(result != NULL && result->parameters && !result->scored))
        say_moved_on(item);
    if ((planted == WEIGHT_LOST || planted == WEIGHT_TWICE) &&
        is_answer_chosen(item->packet.weight > 0))
        item->packet.weight *= planted == WEIGHT_LOST ? 0 : 2;
    return true;
}

/* What an owner says of its cut; false loses it. */
static bool spoil_cut(struct outgoing *item)
{
    struct order order = *order_of(&item->packet);
    if ((planted != CUT_TAKEN_BACK && planted != CUT_SILENT && planted != APPLIED_MISCOUNTED) ||
        !is_answer_chosen(order.owner_snapshot.taken))
        return true;
    order.owner_snapshot.taken = planted != CUT_TAKEN_BACK;
    order.owner_snapshot.verdicts.applied += planted == APPLIED_MISCOUNTED;
    memcpy(item->packet.inner.bytes, &order, sizeof order);
    return planted != CUT_SILENT;
}

static bool tamper(void *context, enum simulated_place place, uint32_t process,
                   struct outgoing *item)
{
    const struct order *order = order_of(&item->packet);
    struct message *message = &item->packet.message;
    enum message_kind kind = message->kind;
    bool result = kind == MESSAGE_RESULT && item->packet.payload != NULL;
    bool gradient = kind == MESSAGE_EXCHANGE && item->packet.payload != NULL;
    (void)context;
    if (place == INSIDE_OWNER)
        note_work(process, item);
    if (planted == STALE_ASSIGNMENT && place == OFF_WIRE && kind == MESSAGE_START)
        forget_assignment(process, message);
    else if (planted == DESCRIBED_ONCE && place == ON_WIRE && kind == MESSAGE_GRADIENT)
        return is_described_anew(process, item);
    else if (planted == LOST_RELEASE && place == BY_OWNER && result && item->packet.weight == 0)
        return !is_chosen();
    else if (planted == MISSED_SNAPSHOT && place == BY_OWNER && is_late_snapshot(item))
        return times++, false;
    else if (place == BY_OWNER && order != NULL && order->kind == ORDER_OWNER_SNAPSHOT &&
             planted == (order->generation < 2 ? LATE_COUNT : EARLY_COUNT))
        forget_duplicates(item);
    else if (planted == CHANGED_VALUE && place == ON_WIRE && result && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_GRADIENT && place == INSIDE_OWNER && gradient && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_SNAPSHOT && place == OUT_OF_OWNER && kind == MESSAGE_CHUNK_STATE &&
             !is_kept(message) && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_HANDED && place == BY_OWNER && is_kept(message) && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_KEPT && place == OUT_OF_OWNER && is_kept(message) && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_VERSION && place == BY_OWNER && result && is_chosen())
        message->result.version++;
    else if (planted == CHANGED_VERDICT && place == BY_OWNER && result && is_chosen())
        message->result.verdict = VERDICT_REJECTED;
    else if (planted == CHANGED_NODE && place == INSIDE_OWNER && gradient &&
             message->exchange.node.leaf_count == 1 && is_chosen())
        message->exchange.node.first_leaf ^= 1;
    else if (planted == CHANGED_BATCH && place == INSIDE_OWNER && gradient && is_chosen())
        message->exchange.step = message->exchange.step > 0 ? message->exchange.step - 1 : 1;
    else if (planted == LOST_ANSWER && place == BY_OWNER && kind == MESSAGE_RESULT)
        return !is_chosen();
    else if (planted == LOST_CLOSE && place == INTO_OWNER && kind == MESSAGE_CLOSE &&
             item->index == 0 && message->close.step % 7 == 3)
        return times++, false;
    else if ((planted == STALE_ANSWER || planted == SCORED_NEWEST) && place == BY_OWNER && result)
        give_another(process, item);
    else if (place == BY_OWNER && order != NULL && order->kind == ORDER_OWNER_SNAPSHOT)
        return spoil_cut(item);
    else if (place == BY_OWNER)
        return spoil_answer(item);
    return true;
}

/* --- the search ------------------------------------------------------------------------------ */

static void search(enum bug bug)
{
    for (uint64_t seed = 1; seed <= HISTORIES_MAX; seed++) {
        struct history_plan plan;
        struct history_result result;
        planted = NO_BUG;
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        memset(first_starts, 0, sizeof first_starts);
        memset(first_clocks, 0, sizeof first_clocks);
        memset(loaded_at, 0, sizeof loaded_at);
        memset(described, 0, sizeof described);
        forget_given();
        plan.tamper.item = tamper;
        planted = bug;
        finding->histories = seed;
        history_run(&plan, &result);
        history_free(&plan);
        finding->times = times;
        snprintf(finding->failure, sizeof finding->failure, "%s", result.failure);
        if (result.failed)
            return;
    }
    finding->histories = 0;
}

static struct finding search_apart(enum bug bug)
{
    int how;
    finding =
        mmap(NULL, sizeof *finding, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(finding, MAP_FAILED);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        search(bug);
        exit(EXIT_SUCCESS);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    struct finding found = *finding;
    munmap(finding, sizeof *finding);
    ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) == EXIT_SUCCESS, "history %" PRIu64 " crashes",
                  found.histories);
    return found;
}

/* Groups of three and a rate that every batch has its own of: what staleness takes off, and nothing
 * else, is what the bug moves. */
TEST_PLAIN(what_a_schedule_does_is_not_taken_for_staleness)
{
    struct plan *plan;
    struct chunk chunk;
    struct error error;
    float sum[16] = {1, 2, 3};
    struct job job = small_job(MODE_ASYNC, 4, 1);
    job.schedule = (struct schedule){SCHEDULE_COSINE, 0.25, 0, 40, 0.5, 0};
    job.staleness_rate = STALENESS_RATE_INVERSE;
    job.accumulate = 3;
    job.examples = 100 * job.batch;
    job.steps = 100;
    ck_assert_msg(plan_create(&plan, &job, 0, 1, &error) == STATUS_OK, "%s", error.text);
    ck_assert(chunk_init(&chunk, plan, 1, NULL) == STATUS_OK);
    chunk_initialize(&chunk);
    planted = RATE_ON_GRADIENT;
    times = 0;
    for (int batch = 0; batch < 12; batch++) /* Of four updates the last has a stale gradient. */
        ck_assert_int_eq(
            group_add(&chunk, &(struct chunk_gradient){.sum = sum,
                                                       .examples = 8,
                                                       .staleness = batch == 10 ? 2 : 0}),
            STATUS_OK);
    planted = NO_BUG;
    ck_assert_uint_eq(chunk.version, 4);
    ck_assert_uint_eq(times, 1);
    chunk_free(&chunk);
    plan_destroy(&plan);
    job_free(&job);
}

/* Of what a shrunk history may still have: EARLY_DISCARD needs no fault, and what
 * comes twice after a restart needs one. */
TEST_PLAIN(a_history_that_fails_is_shrunk_to_what_it_needs)
{
    static const struct {
        enum bug bug;
        uint64_t seed;
        bool restarts;
    } cases[] = {{EARLY_DISCARD, 2, false}, {TWICE_AFTER_RESTART, 21, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct history_plan plan;
        struct history_result result;
        ck_assert_int_eq(history_draw(&plan, cases[i].seed), STATUS_OK);
        plan.tamper.item = tamper;
        planted = cases[i].bug;
        history_run(&plan, &result);
        ck_assert(result.failed);
        ck_assert_uint_gt(history_shrink(&plan, &result), 0);
        ck_assert(result.failed);
        uint32_t faults = plan.phases[0].faulty ? plan.phases[0].faults.count : 0;
        ck_assert_uint_eq(plan.phase_count + faults, cases[i].restarts ? 2 : 1);
        history_free(&plan);
    }
    planted = NO_BUG;
}

START_TEST(a_planted_bug_is_found)
{
    struct finding found = search_apart((enum bug)_i);
    printf("%-26s found after %4" PRIu64 " histories: %s\n", bug_names[_i], found.histories,
           found.failure);
    ck_assert_uint_gt(found.times, 0);
    ck_assert_msg(found.histories > 0, "%s was not found in %u histories", bug_names[_i],
                  HISTORIES_MAX);
}

START_TEST(without_a_bug_none_is_found)
{
    struct finding found = search_apart(NO_BUG);
    ck_assert_msg(found.histories == 0, "%s", found.failure);
}

static void add_time(TCase *tcase)
{
    tcase_set_timeout(tcase, 600);
}

static void add_long(TCase *tcase)
{
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, a_planted_bug_is_found, NO_BUG + 1, BUG_COUNT);
    tcase_add_test(tcase, without_a_bug_none_is_found);
}

int main(void)
{
    return suite_run_both("planted", add_time, add_long);
}
