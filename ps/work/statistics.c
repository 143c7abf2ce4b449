/* statistics.c - sums of the open steps, joined along the tree as gradients are, which go into
 * their epoch when they are complete. */

#include "ps/work/statistics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/invariant.h"

#define NO_STEP UINT64_MAX

static void clear_epochs(struct statistics_epochs *epochs, uint64_t since)
{
    memset(epochs, 0, sizeof *epochs);
    epochs->since = since;
    epochs->numbers[0] = epochs->numbers[1] = UINT64_MAX;
}

static void forget_open_steps(struct statistics *statistics)
{
    for (unsigned i = 0; i < STATISTICS_OPEN_STEPS; i++) {
        statistics->open[i].step = NO_STEP;
        statistics->open[i].node_count = 0;
    }
}

/* The epoch of the step: one that is made, or the next. */
static uint64_t epoch_of(const struct statistics *statistics, uint64_t step)
{
    return step / job_steps_per_epoch(statistics->job);
}

/* The epoch of `step` goes on with the known sums of its first part. */
static void adopt(struct statistics *statistics, uint64_t step, const struct tally_so_far *so_far)
{
    struct statistics_epochs *epochs = &statistics->epochs;
    uint64_t epoch = epoch_of(statistics, step);
    if (so_far->epoch.updates == 0)
        return;
    epochs->since = step - so_far->epoch.updates;
    epochs->numbers[epoch % 2] = epoch;
    epochs->tallies[epoch % 2] = so_far->epoch;
}

static void pass_mark(const struct statistics *statistics, struct statistics_mark *mark)
{
    const struct statistics_epochs *epochs = &statistics->epochs;
    uint64_t epoch = epoch_of(statistics, mark->step);
    mark->passed = true;
    mark->so_far =
        (struct tally_so_far){.window = windows_so_far(&statistics->windows, mark->step)};
    if (epochs->numbers[epoch % 2] == epoch)
        mark->so_far.epoch = epochs->tallies[epoch % 2];
}

/* All counts begin at the step. */
static void begin_at(struct statistics *statistics, uint64_t step,
                     const struct tally_so_far *so_far)
{
    statistics->step = step;
    batch_set_init(&statistics->batches, step);
    forget_open_steps(statistics);
    clear_epochs(&statistics->epochs, step);
    adopt(statistics, step, so_far);
    statistics->mark.step = NO_STEP;
}

enum status statistics_init(struct statistics *statistics, const struct job *job,
                            uint64_t first_step, const struct tally_so_far *so_far)
{
    memset(statistics, 0, sizeof *statistics);
    statistics->job = job;
    statistics->first = first_step;
    begin_at(statistics, first_step, so_far);
    return windows_init(&statistics->windows, job, first_step, &so_far->window);
}

void statistics_free(struct statistics *statistics)
{
    for (unsigned i = 0; i < STATISTICS_OPEN_STEPS; i++)
        free(statistics->open[i].nodes);
    windows_free(&statistics->windows);
    memset(statistics, 0, sizeof *statistics);
}

static bool is_complete(const struct statistics *statistics, unsigned place)
{
    const struct statistics_epochs *epochs = &statistics->epochs;
    struct epoch_range range = job_epoch(statistics->job, epochs->numbers[place]);
    uint64_t first = epochs->since > range.first ? epochs->since : range.first;
    return epochs->tallies[place].updates == range.end - first;
}

static void finish_epoch(struct statistics *statistics, unsigned place)
{
    assert(statistics->finished_count < 2);
    statistics->finished[statistics->finished_count++] = (struct statistics_epoch){
        statistics->epochs.numbers[place], statistics->epochs.tallies[place]};
}

static void count_in_epoch(struct statistics *statistics, uint64_t epoch, const struct tally *tally)
{
    struct statistics_epochs *epochs = &statistics->epochs;
    unsigned place = epoch % 2;
    uint64_t there = epochs->numbers[place];
    /* It has been given up. */
    if (there != UINT64_MAX && there > epoch)
        return;
    if (there != epoch) {
        if (there != UINT64_MAX && !is_complete(statistics, place))
            finish_epoch(statistics, place);
        memset(&epochs->tallies[place], 0, sizeof epochs->tallies[0]);
        epochs->numbers[place] = epoch;
    }
    tally_add(&epochs->tallies[place], tally);
    if (is_complete(statistics, place))
        finish_epoch(statistics, place);
}

bool statistics_take_epoch(struct statistics *statistics, struct statistics_epoch *epoch)
{
    if (statistics->finished_count == 0)
        return false;
    *epoch = statistics->finished[0];
    statistics->finished[0] = statistics->finished[1];
    statistics->finished_count--;
    return true;
}

bool statistics_take_whole(struct statistics *statistics, struct window *window)
{
    bool there = statistics->has_whole;
    *window = statistics->whole;
    statistics->has_whole = false;
    return there;
}

uint64_t statistics_made(const struct statistics *statistics)
{
    return statistics->first + statistics->updates;
}

struct statistics_epoch statistics_epoch_now(const struct statistics *statistics)
{
    uint64_t made = statistics_made(statistics);
    struct statistics_epoch now = {.number = made > 0 ? epoch_of(statistics, made - 1) : 0};
    if (statistics->epochs.numbers[now.number % 2] == now.number)
        now.tally = statistics->epochs.tallies[now.number % 2];
    return now;
}

/* Whether every update before the step is counted, and none from there on. */
static bool is_just_before(const struct statistics *statistics, uint64_t step)
{
    return statistics->step == step && statistics_made(statistics) == step;
}

static void count_update(struct statistics *statistics, uint64_t step, const struct tally *tally)
{
    count_in_epoch(statistics, epoch_of(statistics, step), tally);
    tally_add(&statistics->window, tally);
    statistics->has_whole = windows_count(&statistics->windows, step, tally, &statistics->whole);
    statistics->updates++;
    if (step + 1 > statistics->step)
        statistics->step = step + 1;
    if (!statistics->mark.passed && is_just_before(statistics, statistics->mark.step))
        pass_mark(statistics, &statistics->mark);
}

void statistics_count_step(struct statistics *statistics, uint64_t step, const struct tally *tally)
{
    assert(step == statistics->step && step < statistics->job->steps && tally->updates == 1);
    count_update(statistics, step, tally);
}

static struct tally tally_of(const struct message_report *report, uint64_t updates)
{
    if (report->bad)
        return (struct tally){.updates = updates};
    return (struct tally){report->loss, report->correct, report->examples, updates};
}

static bool report_async(struct statistics *statistics, const struct message_report *report)
{
    if (!batch_set_can_add(&statistics->batches, report->step))
        return false;
    batch_set_add(&statistics->batches, report->step);
    struct tally tally = tally_of(report, 1);
    count_update(statistics, report->step, &tally);
    return true;
}

static bool is_here(const struct open_step *open, struct node node)
{
    for (uint32_t i = 0; i < open->node_count; i++)
        if (node_within(node, open->nodes[i].node))
            return true;
    return false;
}

static void drop_below(struct open_step *open, struct node node)
{
    for (uint32_t i = 0; i < open->node_count;)
        if (node_within(open->nodes[i].node, node))
            open->nodes[i] = open->nodes[--open->node_count];
        else
            i++;
}

static bool reserve(struct open_step *open)
{
    struct statistics_node *nodes =
        array_room(open->nodes, open->node_count, &open->node_capacity, sizeof *nodes);
    if (nodes != NULL)
        open->nodes = nodes;
    return nodes != NULL;
}

static bool add_node(struct open_step *open, uint32_t leaf_count, struct statistics_node added)
{
    while (added.node.leaf_count < leaf_count) {
        struct node sibling = tree_sibling(leaf_count, added.node);
        uint32_t i = 0;
        while (i < open->node_count && !node_equal(open->nodes[i].node, sibling))
            i++;
        if (i == open->node_count)
            break;
        tally_add(&added.tally, &open->nodes[i].tally);
        open->nodes[i] = open->nodes[--open->node_count];
        added.node = node_parent(added.node, sibling);
    }
    open->nodes[open->node_count++] = added;
    return added.node.leaf_count == leaf_count;
}

static bool report_sync(struct statistics *statistics, const struct message_report *report,
                        uint32_t leaf_count)
{
    struct open_step *open = &statistics->open[report->step % STATISTICS_OPEN_STEPS];
    if (report->step + STATISTICS_OPEN_STEPS <= statistics->step ||
        !tree_has(leaf_count, report->node))
        return false;
    if (open->step != report->step) {
        if (open->step != NO_STEP && open->step > report->step)
            return false;
        open->step = report->step;
        open->node_count = 0;
    }
    if (is_here(open, report->node) || !reserve(open))
        return false;
    drop_below(open, report->node);
    if (add_node(open, leaf_count, (struct statistics_node){report->node, tally_of(report, 0)})) {
        struct tally whole = open->nodes[0].tally;
        whole.updates = 1;
        count_update(statistics, report->step, &whole);
    }
    return true;
}

bool statistics_report(struct statistics *statistics, const struct message_report *report)
{
    if (report->step >= statistics->job->steps)
        return false;
    struct batch_range batch = job_batch(statistics->job, report->step);
    if (report->examples > batch.examples)
        return false;
    return job_mode(statistics->job)->steps ? report_sync(statistics, report, batch.leaves)
                                            : report_async(statistics, report);
}

bool statistics_lacks(const struct statistics *statistics, struct node leaves)
{
    const struct open_step *open = &statistics->open[statistics->step % STATISTICS_OPEN_STEPS];
    for (uint32_t i = 0; i < leaves.leaf_count; i++)
        if (open->step != statistics->step ||
            !is_here(open, (struct node){leaves.first_leaf + i, 1}))
            return true;
    return false;
}

/* --- going back ---------------------------------------------------------------------------- */

void statistics_mark(struct statistics *statistics, uint64_t step)
{
    struct statistics_mark *mark = &statistics->mark;
    if (mark->step != step)
        *mark = (struct statistics_mark){.step = step};
    if (!mark->passed && is_just_before(statistics, step))
        pass_mark(statistics, mark);
}

struct tally_so_far statistics_so_far(const struct statistics *statistics, uint64_t step)
{
    const struct statistics_mark *mark = &statistics->mark;
    return mark->step == step && mark->passed ? mark->so_far : (struct tally_so_far){0};
}

uint64_t statistics_go_back(struct statistics *statistics, uint64_t step,
                            const struct tally_so_far *so_far)
{
    uint64_t made = statistics_made(statistics);
    begin_at(statistics, step, so_far);
    statistics->finished_count = 0;
    statistics->has_whole = false;
    windows_go_back(&statistics->windows, step, &so_far->window);
    memset(&statistics->window, 0, sizeof statistics->window);
    if (step < statistics->first) /* An older checkpoint, because the newest is damaged. */
        statistics->first = step;
    statistics->updates = step - statistics->first;
    return made > step ? made - step : 0;
}

/* --- looking ------------------------------------------------------------------------------- */

struct tally statistics_take_window(struct statistics *statistics)
{
    struct tally window = statistics->window;
    memset(&statistics->window, 0, sizeof statistics->window);
    return window;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("statistics", condition, rule)

static void check_open_step(const struct open_step *open, uint32_t leaf_count)
{
    RULE(open->node_count <= open->node_capacity, "there is room for every node");
    for (uint32_t i = 0; i < open->node_count; i++) {
        struct node node = open->nodes[i].node;
        RULE(tree_has(leaf_count, node), "every score is of a node of its step's tree");
        for (uint32_t j = 0; j < i; j++)
            RULE(!node_within(node, open->nodes[j].node) && !node_within(open->nodes[j].node, node),
                 "no leaf is scored twice");
    }
}

void statistics_check(const struct statistics *statistics)
{
    RULE(statistics->first <= statistics->step, "the count begins where the session does");
    RULE(statistics->window.updates <= statistics->updates, "the window is a part of all");
    RULE(statistics->finished_count == 0, "every complete epoch has been reported");
    RULE(!statistics->has_whole, "every whole window has been reported");
    windows_check(&statistics->windows);
    for (unsigned i = 0; i < STATISTICS_OPEN_STEPS; i++) {
        const struct open_step *open = &statistics->open[i];
        if (open->step == NO_STEP) {
            RULE(open->node_count == 0, "no step, no scores");
            continue;
        }
        RULE(open->step < statistics->job->steps && open->step % STATISTICS_OPEN_STEPS == i,
             "an open step has the place of its number");
        check_open_step(open, job_batch(statistics->job, open->step).leaves);
    }
    for (unsigned i = 0; i < 2; i++)
        RULE(statistics->epochs.numbers[i] == UINT64_MAX || statistics->epochs.numbers[i] % 2 == i,
             "an epoch has the place of its number");
}
