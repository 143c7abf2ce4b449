#include "ps/ledger.h"

#include <math.h>
#include <string.h>

#define LOSS_UNIT 0x1p-24

void ledger_init(struct ledger *ledger, const struct job *job, uint64_t first_step)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->job = job;
    ledger->step = first_step;
    batch_set_init(&ledger->batches, first_step);
    for (unsigned i = 0; i < LEDGER_OPEN_STEPS; i++)
        ledger->open[i].step = UINT64_MAX;
    for (unsigned i = 0; i < 2; i++)
        ledger->epoch_numbers[i] = UINT64_MAX;
}

static void tally_add(struct tally *to, const struct tally *from)
{
    to->loss += from->loss;
    to->correct += from->correct;
    to->examples += from->examples;
    to->updates += from->updates;
}

static void count_update(struct ledger *ledger, uint64_t step, const struct tally *tally)
{
    uint64_t epoch = job_batch(ledger->job, step).epoch;
    if (ledger->epoch_numbers[epoch % 2] != epoch) {
        memset(&ledger->epochs[epoch % 2], 0, sizeof ledger->epochs[0]);
        ledger->epoch_numbers[epoch % 2] = epoch;
    }
    tally_add(&ledger->epochs[epoch % 2], tally);
    tally_add(&ledger->window, tally);
    ledger->updates++;
    if (step + 1 > ledger->step)
        ledger->step = step + 1;
}

static bool report_async(struct ledger *ledger, const struct message_report *report)
{
    struct tally tally = {report->loss, report->correct, report->examples, 1};
    if (!batch_set_can_add(&ledger->batches, report->step))
        return false;
    batch_set_add(&ledger->batches, report->step);
    count_update(ledger, report->step, &tally);
    return true;
}

static bool any_counted(const struct open_step *open, struct node node)
{
    for (uint32_t i = node.first_leaf; i < node.first_leaf + node.leaf_count; i++)
        if (open->leaves[i / 64] >> (i % 64) & 1)
            return true;
    return false;
}

static bool report_sync(struct ledger *ledger, const struct message_report *report,
                        uint32_t leaf_count)
{
    struct open_step *open = &ledger->open[report->step % LEDGER_OPEN_STEPS];
    if (report->step + LEDGER_OPEN_STEPS <= ledger->step || !tree_has(leaf_count, report->node))
        return false;
    if (open->step != report->step) {
        if (open->step != UINT64_MAX && open->step > report->step)
            return false;
        memset(open, 0, sizeof *open);
        open->step = report->step;
    }
    if (any_counted(open, report->node))
        return false;
    for (uint32_t i = 0; i < report->node.leaf_count; i++) {
        uint32_t leaf = report->node.first_leaf + i;
        open->leaves[leaf / 64] |= (uint64_t)1 << (leaf % 64);
    }
    open->leaves_in += report->node.leaf_count;
    struct tally tally = {report->loss, report->correct, report->examples, 0};
    tally_add(&open->tally, &tally);
    if (open->leaves_in == leaf_count) {
        open->tally.updates = 1;
        count_update(ledger, report->step, &open->tally);
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

struct tally ledger_take_window(struct ledger *ledger)
{
    struct tally window = ledger->window;
    memset(&ledger->window, 0, sizeof ledger->window);
    return window;
}

struct tally ledger_last_epoch(const struct ledger *ledger)
{
    unsigned newest = ledger->epoch_numbers[1] != UINT64_MAX &&
                      (ledger->epoch_numbers[0] == UINT64_MAX ||
                       ledger->epoch_numbers[1] > ledger->epoch_numbers[0]);
    return ledger->epochs[newest];
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
