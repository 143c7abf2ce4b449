/* Bugs planted on purpose: the simulator has to find each of them within a thousand histories.
 *
 * Most are planted where one core calls another: this program is linked with --wrap (Makefile), so
 * that calls of these functions come here first. Others change an item on its way between the parts
 * of a process, or what is said on a wire. Nothing of it is in the programs. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/simulator/history.h"
#include "deploy/simulator/simulated_disk.h"
#include "ps/router/sessions.h"
#include "ps/shard/batch_set.h"
#include "ps/shard/chunk.h"
#include "tests/lib/suite.h"

#define HISTORIES_MAX 1000

enum bug {
    NO_BUG,
    DOUBLE_APPLY,     /* Nobody looks whether a batch has been applied. */
    LOST_RELEASE,     /* Now and then somebody who waits for a version is forgotten. */
    EARLY_DISCARD,    /* A chunk gives up its version t when it has t + 1. */
    STALE_ASSIGNMENT, /* A worker takes the number of a new assignment, and computes the old one. */
    UNFENCED_ZOMBIE,  /* A worker that has been replaced is still heard. */
    MANIFEST_FIRST,   /* Parts are said to be written before they are durable. */
    CHANGED_VALUE,    /* Simpler ones, to see that the witness looks everywhere: one item of a */
    CHANGED_GRADIENT, /* hundred is not what it was. */
    CHANGED_CUT,
    CHANGED_VERSION,
    CHANGED_VERDICT,
    CHANGED_NODE,
    CHANGED_BATCH,
    LOST_ANSWER,
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
    "changed value",
    "changed gradient",
    "changed cut",
    "changed version",
    "changed verdict",
    "changed node",
    "changed batch",
    "lost answer",
};

/* What is planted, for the functions below, which nobody can give an argument. */
static enum bug planted;
static uint64_t times;    /* That it has done something. */
static uint64_t seen;     /* Items that it could have spoiled. */
static bool part_written; /* Just now. */

/* --- in the place of functions --------------------------------------------------------------- */

bool __real_batch_set_has(const struct batch_set *set, uint64_t batch);
bool __wrap_batch_set_has(const struct batch_set *set, uint64_t batch);
enum status __real_chunk_apply(struct chunk *chunk, const float *gradient, uint32_t examples,
                               bool keep_previous);
enum status __wrap_chunk_apply(struct chunk *chunk, const float *gradient, uint32_t examples,
                               bool keep_previous);
enum sender __real_sessions_judge(struct sessions *sessions, const struct packet *packet);
enum sender __wrap_sessions_judge(struct sessions *sessions, const struct packet *packet);
uint64_t __real_simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer);
uint64_t __wrap_simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer);

enum status __real_checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                         uint64_t generation, uint32_t server,
                                         uint32_t server_count, const struct optimizer *optimizer,
                                         const struct checkpoint_chunk *chunks,
                                         uint32_t chunk_count, struct checkpoint_part *part,
                                         struct error *error);
enum status __wrap_checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                         uint64_t generation, uint32_t server,
                                         uint32_t server_count, const struct optimizer *optimizer,
                                         const struct checkpoint_chunk *chunks,
                                         uint32_t chunk_count, struct checkpoint_part *part,
                                         struct error *error);

bool __wrap_batch_set_has(const struct batch_set *set, uint64_t batch)
{
    bool has = __real_batch_set_has(set, batch);
    times += planted == DOUBLE_APPLY && has;
    return has && planted != DOUBLE_APPLY;
}

enum status __wrap_chunk_apply(struct chunk *chunk, const float *gradient, uint32_t examples,
                               bool keep_previous)
{
    times += planted == EARLY_DISCARD && keep_previous;
    return __real_chunk_apply(chunk, gradient, examples, keep_previous && planted != EARLY_DISCARD);
}

enum sender __wrap_sessions_judge(struct sessions *sessions, const struct packet *packet)
{
    enum sender sender = __real_sessions_judge(sessions, packet);
    bool let_in = planted == UNFENCED_ZOMBIE && sender == SENDER_REPLACED;
    times += let_in;
    return let_in ? SENDER_WORKER : sender;
}

uint64_t __wrap_simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer)
{
    uint64_t done_us = __real_simulated_disk_done_us(disk, writer);
    if (planted != MANIFEST_FIRST || !part_written)
        return done_us;
    part_written = false;
    times += done_us > disk->now_us;
    return disk->now_us;
}

enum status __wrap_checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                         uint64_t generation, uint32_t server,
                                         uint32_t server_count, const struct optimizer *optimizer,
                                         const struct checkpoint_chunk *chunks,
                                         uint32_t chunk_count, struct checkpoint_part *part,
                                         struct error *error)
{
    part_written = true;
    return __real_checkpoint_write_part(disk, out, step, generation, server, server_count,
                                        optimizer, chunks, chunk_count, part, error);
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

static bool tamper(void *context, enum simulated_place place, uint32_t process,
                   struct outgoing *item)
{
    struct message *message = &item->packet.message;
    enum message_kind kind = message->kind;
    bool result = kind == MESSAGE_RESULT && item->packet.payload != NULL;
    bool gradient = kind == MESSAGE_EXCHANGE && item->packet.payload != NULL;
    (void)context;
    if (planted == STALE_ASSIGNMENT && place == OFF_WIRE && kind == MESSAGE_START)
        forget_assignment(process, message);
    else if (planted == LOST_RELEASE && place == BY_OWNER && result && item->packet.weight == 0)
        return !is_chosen();
    else if (planted == CHANGED_VALUE && place == ON_WIRE && result && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_GRADIENT && place == INSIDE_OWNER && gradient && is_chosen())
        change_a_float(item);
    else if (planted == CHANGED_CUT && place == OUT_OF_OWNER && kind == MESSAGE_CHUNK_STATE &&
             is_chosen())
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
    return true;
}

/* --- the search ------------------------------------------------------------------------------ */

/* How many histories it took to find it; 0: it was not found. */
static uint64_t search(enum bug bug, char failure[512])
{
    times = seen = 0;
    for (uint64_t seed = 1; seed <= HISTORIES_MAX; seed++) {
        struct history_plan plan;
        struct history_result result;
        planted = NO_BUG;
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        memset(first_starts, 0, sizeof first_starts);
        plan.tamper.item = tamper;
        planted = bug;
        history_run(&plan, &result);
        history_free(&plan);
        snprintf(failure, 512, "%s", result.failure);
        if (result.failed)
            return seed;
    }
    return 0;
}

START_TEST(a_planted_bug_is_found)
{
    char failure[512];
    uint64_t histories = search((enum bug)_i, failure);
    printf("%-26s found after %4" PRIu64 " histories: %s\n", bug_names[_i], histories, failure);
    ck_assert_uint_gt(times, 0);
    ck_assert_msg(histories > 0, "%s was not found in %u histories", bug_names[_i], HISTORIES_MAX);
}
END_TEST

TEST_PLAIN(without_a_bug_none_is_found)
{
    char failure[512];
    ck_assert_msg(search(NO_BUG, failure) == 0, "%s", failure);
}

static void add_tests(TCase *tcase)
{
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, a_planted_bug_is_found, NO_BUG + 1, BUG_COUNT);
}

int main(void)
{
    return suite_run("planted", add_tests);
}
