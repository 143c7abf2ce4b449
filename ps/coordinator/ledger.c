/* ledger.c - sums of the open steps, joined along the tree as gradients are, which go into their
 * epoch when they are complete. */

#include "ps/coordinator/ledger.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_UNIT 0x1p-24
#define NO_STEP   UINT64_MAX

static void clear_epochs(struct ledger_epochs *epochs, uint64_t since)
{
    memset(epochs, 0, sizeof *epochs);
    epochs->since = since;
    epochs->numbers[0] = epochs->numbers[1] = UINT64_MAX;
}

static void forget_open_steps(struct ledger *ledger)
{
    for (unsigned i = 0; i < LEDGER_OPEN_STEPS; i++) {
        ledger->open[i].step = NO_STEP;
        ledger->open[i].node_count = 0;
    }
}

void ledger_init(struct ledger *ledger, const struct job *job, uint64_t first_step)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->job = job;
    ledger->first = ledger->step = first_step;
    batch_set_init(&ledger->batches, first_step);
    forget_open_steps(ledger);
    clear_epochs(&ledger->epochs, first_step);
    for (unsigned i = 0; i < LEDGER_MARKS; i++)
        ledger->marks[i].step = NO_STEP;
}

void ledger_free(struct ledger *ledger)
{
    for (unsigned i = 0; i < LEDGER_OPEN_STEPS; i++)
        free(ledger->open[i].nodes);
    memset(ledger, 0, sizeof *ledger);
}

static void tally_add(struct tally *to, const struct tally *from)
{
    to->loss += from->loss;
    to->correct += from->correct;
    to->examples += from->examples;
    to->updates += from->updates;
}

/* --- epochs -------------------------------------------------------------------------------- */

static bool is_complete(const struct ledger *ledger, unsigned place)
{
    const struct ledger_epochs *epochs = &ledger->epochs;
    struct epoch_range range = job_epoch(ledger->job, epochs->numbers[place]);
    uint64_t first = epochs->since > range.first ? epochs->since : range.first;
    return epochs->tallies[place].updates == range.end - first;
}

static void finish_epoch(struct ledger *ledger, unsigned place)
{
    assert(ledger->finished_count < 2);
    ledger->finished[ledger->finished_count++] =
        (struct ledger_epoch){ledger->epochs.numbers[place], ledger->epochs.tallies[place]};
}

static void count_in_epoch(struct ledger *ledger, uint64_t epoch, const struct tally *tally)
{
    struct ledger_epochs *epochs = &ledger->epochs;
    unsigned place = epoch % 2;
    uint64_t there = epochs->numbers[place];
    if (there != UINT64_MAX && there > epoch)
        return; /* It has been given up. */
    if (there != epoch) {
        if (there != UINT64_MAX && !is_complete(ledger, place))
            finish_epoch(ledger, place);
        memset(&epochs->tallies[place], 0, sizeof epochs->tallies[0]);
        epochs->numbers[place] = epoch;
    }
    tally_add(&epochs->tallies[place], tally);
    if (is_complete(ledger, place))
        finish_epoch(ledger, place);
}

bool ledger_take_epoch(struct ledger *ledger, struct ledger_epoch *epoch)
{
    if (ledger->finished_count == 0)
        return false;
    *epoch = ledger->finished[0];
    ledger->finished[0] = ledger->finished[1];
    ledger->finished_count--;
    return true;
}

uint64_t ledger_made(const struct ledger *ledger)
{
    return ledger->first + ledger->updates;
}

struct ledger_epoch ledger_epoch_now(const struct ledger *ledger)
{
    uint64_t made = ledger_made(ledger);
    struct ledger_epoch now = {.number = made > 0 ? job_batch(ledger->job, made - 1).epoch : 0};
    if (ledger->epochs.numbers[now.number % 2] == now.number)
        now.tally = ledger->epochs.tallies[now.number % 2];
    return now;
}

static void count_update(struct ledger *ledger, uint64_t step, const struct tally *tally)
{
    const struct ledger_epochs *epochs = &ledger->epochs;
    count_in_epoch(ledger, job_batch(ledger->job, step).epoch, tally);
    tally_add(&ledger->window, tally);
    ledger->updates++;
    if (step + 1 > ledger->step)
        ledger->step = step + 1;
    for (unsigned i = 0; i < LEDGER_MARKS; i++) {
        struct ledger_mark *mark = &ledger->marks[i];
        if (mark->step == ledger->step && !mark->passed) {
            mark->passed = true;
            mark->epochs = *epochs;
        }
    }
}

static struct tally tally_of(const struct message_report *report, uint64_t updates)
{
    if (report->bad)
        return (struct tally){.updates = updates};
    return (struct tally){report->loss, report->correct, report->examples, updates};
}

static bool report_async(struct ledger *ledger, const struct message_report *report)
{
    if (!batch_set_can_add(&ledger->batches, report->step))
        return false;
    batch_set_add(&ledger->batches, report->step);
    struct tally tally = tally_of(report, 1);
    count_update(ledger, report->step, &tally);
    return true;
}

/* --- sync: nodes of the open steps --------------------------------------------------------- */

static bool is_here(const struct open_step *open, struct node node)
{
    for (uint32_t i = 0; i < open->node_count; i++)
        if (node_within(node, open->nodes[i].node))
            return true;
    return false;
}

static void drop_below(struct open_step *open, struct node node)
{
    for (uint32_t i = 0; i < open->node_count;) {
        if (node_within(open->nodes[i].node, node))
            open->nodes[i] = open->nodes[--open->node_count];
        else
            i++;
    }
}

static bool reserve(struct open_step *open)
{
    if (open->node_count < open->node_capacity)
        return true;
    uint32_t capacity = open->node_capacity == 0 ? 16 : 2 * open->node_capacity;
    struct ledger_node *nodes = realloc(open->nodes, capacity * sizeof *nodes);
    if (nodes == NULL)
        return false;
    open->nodes = nodes;
    open->node_capacity = capacity;
    return true;
}

/* Add a node and join what can be joined; true when the root is complete. */
static bool add_node(struct open_step *open, uint32_t leaf_count, struct ledger_node added)
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
        added.node = tree_parent(leaf_count, added.node);
    }
    open->nodes[open->node_count++] = added;
    return added.node.leaf_count == leaf_count;
}

static bool report_sync(struct ledger *ledger, const struct message_report *report,
                        uint32_t leaf_count)
{
    struct open_step *open = &ledger->open[report->step % LEDGER_OPEN_STEPS];
    if (report->step + LEDGER_OPEN_STEPS <= ledger->step || !tree_has(leaf_count, report->node))
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
    if (add_node(open, leaf_count, (struct ledger_node){report->node, tally_of(report, 0)})) {
        struct tally whole = open->nodes[0].tally;
        whole.updates = 1;
        count_update(ledger, report->step, &whole);
    }
    return true;
}

bool ledger_report(struct ledger *ledger, const struct message_report *report)
{
    if (report->step >= ledger->job->steps)
        return false;
    struct batch_range batch = job_batch(ledger->job, report->step);
    if (report->examples > batch.examples)
        return false;
    return ledger->job->mode == MODE_SYNC ? report_sync(ledger, report, batch.leaves)
                                          : report_async(ledger, report);
}

bool ledger_lacks(const struct ledger *ledger, struct node leaves)
{
    const struct open_step *open = &ledger->open[ledger->step % LEDGER_OPEN_STEPS];
    for (uint32_t i = 0; i < leaves.leaf_count; i++)
        if (open->step != ledger->step || !is_here(open, (struct node){leaves.first_leaf + i, 1}))
            return true;
    return false;
}

/* --- sync: going back ---------------------------------------------------------------------- */

void ledger_mark(struct ledger *ledger, uint64_t step, uint64_t whole)
{
    unsigned place = ledger->marks[0].step == whole ? 1 : 0;
    for (unsigned i = 0; i < LEDGER_MARKS; i++)
        if (ledger->marks[i].step == step)
            place = i;
    if (ledger->marks[place].step != step)
        ledger->marks[place] = (struct ledger_mark){.step = step};
}

void ledger_go_back(struct ledger *ledger, uint64_t step)
{
    clear_epochs(&ledger->epochs, step);
    ledger->finished_count = 0;
    for (unsigned i = 0; i < LEDGER_MARKS; i++) {
        struct ledger_mark *mark = &ledger->marks[i];
        if (mark->step == step && mark->passed)
            ledger->epochs = mark->epochs;
        else
            mark->step = NO_STEP;
    }
    forget_open_steps(ledger);
    memset(&ledger->window, 0, sizeof ledger->window);
    if (step < ledger->first) /* An older checkpoint, because the newest is damaged. */
        ledger->first = step;
    ledger->step = step;
    ledger->updates = step - ledger->first;
}

/* --- looking ------------------------------------------------------------------------------- */

struct tally ledger_take_window(struct ledger *ledger)
{
    struct tally window = ledger->window;
    memset(&ledger->window, 0, sizeof ledger->window);
    return window;
}

double tally_loss(const struct tally *tally)
{
    return tally->examples == 0 ? (double)NAN
                                : (double)tally->loss * LOSS_UNIT / (double)tally->examples;
}

double tally_accuracy(const struct tally *tally)
{
    return tally->examples == 0 ? (double)NAN : (double)tally->correct / (double)tally->examples;
}
