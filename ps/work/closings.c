/* closings.c - one step is open at a time: nobody can report a step before the one before it is
 * counted, because its values are made of what that report was sent with. */

#include "ps/work/closings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/frame.h"
#include "common/base/invariant.h"

#define SETS_AT_LEAST 2

/* --- life ---------------------------------------------------------------------------------- */

static void clear_step(struct closings *c, uint64_t step)
{
    c->step = step;
    c->report_count = 0;
    c->whole_count = 0;
    memset(c->whole, 0, sizeof c->whole);
    leaf_set_clear(&c->done);
}

void closings_init(struct closings *closings, const struct job *job, uint64_t first)
{
    memset(closings, 0, sizeof *closings);
    closings->job = job;
    closings->required = job->worker_count - job->backup_workers;
    closings->first = closings->end = closings->written = first;
    closings->start.first = first;
    clear_step(closings, first);
}

void closings_free(struct closings *closings)
{
    free(closings->reports);
    free(closings->bytes);
    free(closings->places);
    epoch_ends_free(&closings->ends);
    memset(closings, 0, sizeof *closings);
}

/* --- sets ---------------------------------------------------------------------------------- */

static enum status add_set(struct closings *c, const struct leaf_set *set)
{
    size_t *places =
        array_room(c->places, (size_t)(c->end - c->first), &c->place_capacity, sizeof *places);
    if (places == NULL)
        return STATUS_MEMORY;
    c->places = places;
    if (c->byte_capacity - c->byte_count < LEAF_SET_BYTES_MAX) {
        size_t capacity = 2 * c->byte_capacity + LEAF_SET_BYTES_MAX;
        uint8_t *bytes = realloc(c->bytes, capacity);
        if (bytes == NULL)
            return STATUS_MEMORY;
        c->bytes = bytes;
        c->byte_capacity = capacity;
    }
    c->places[c->end - c->first] = c->byte_count;
    c->byte_count += leaf_set_put(c->bytes + c->byte_count, set);
    c->end++;
    return STATUS_OK;
}

static size_t end_of(const struct closings *c, uint64_t step)
{
    return step < c->end ? c->places[step - c->first] : c->byte_count;
}

bool closings_set(const struct closings *closings, uint64_t step, struct leaf_set *set)
{
    const struct closings *c = closings;
    if (step < c->first || step >= c->end)
        return false;
    size_t at = c->places[step - c->first];
    struct leaf_sets list = {
        .bytes = c->bytes + at, .bytes_left = c->byte_count - at, .step = step, .left = 1};
    bool read = leaf_sets_next(&list, set);
    assert(read);
    return read;
}

void closings_forget(struct closings *closings, uint64_t step)
{
    struct closings *c = closings;
    if (step <= c->first || step > c->end)
        return;
    c->start = closings_start_at(c, step);
    uint64_t first = job_requeues(c->job) ? c->start.first : step;
    size_t gone = end_of(c, first), count = (size_t)(c->end - first);
    for (size_t i = 0; i < count; i++)
        c->places[i] = c->places[i + (size_t)(first - c->first)] - gone;
    c->byte_count -= gone;
    memmove(c->bytes, c->bytes + gone, c->byte_count);
    c->first = first;
}

void closings_wrote(struct closings *closings, uint64_t end)
{
    if (end > closings->written && end <= closings->end)
        closings->written = end;
}

uint64_t closings_within(const struct closings *closings, uint64_t first, uint64_t end,
                         size_t bytes)
{
    const struct closings *c = closings;
    if (end > c->end)
        end = c->end;
    while (end > first + SETS_AT_LEAST &&
           LEAF_SETS_START_MAX + end_of(c, end) - end_of(c, first) > bytes)
        end--;
    return end;
}

struct frame *closings_list(const struct closings *closings, uint64_t first, uint64_t end)
{
    const struct closings *c = closings;
    uint8_t start[LEAF_SETS_START_MAX];
    assert(first >= c->first && first <= end && end <= c->end);
    size_t used = leaf_sets_put_start(start, first, end - first);
    size_t from = end_of(c, first), to = end_of(c, end);
    struct frame *frame = frame_create(used + to - from);
    if (frame == NULL)
        return NULL;
    memcpy(frame->data, start, used);
    if (to > from)
        memcpy((char *)frame->data + used, c->bytes + from, to - from);
    return frame;
}

/* --- what an epoch owes -------------------------------------------------------------------- */

/* The next set of the epoch's batches is decided. */
static void note(struct closings *c, uint64_t step, const struct leaf_set *set)
{
    struct timeline *t = &c->timeline;
    if (job_requeues(c->job) && !t->closed && step >= t->first)
        timeline_note(t, c->job, step - t->first, set);
}

/* It is of the open step; so much as is decided is noted. */
static enum status move_timeline(struct closings *c)
{
    struct timeline *t = &c->timeline;
    struct leaf_set set;
    while (job_requeues(c->job) && t->closed) {
        if (epoch_ends_count(&c->ends) <= t->epoch &&
            epoch_ends_add(&c->ends, timeline_epoch_end(t, c->job)) != STATUS_OK)
            return STATUS_MEMORY;
        if (c->step < timeline_epoch_end(t, c->job) || t->epoch + 1 >= job_epochs(c->job))
            break;
        c->before = *t;
        timeline_go_on(t, c->job);
        for (uint64_t step = t->first; !t->closed && closings_set(c, step, &set); step++)
            note(c, step, &set);
    }
    return STATUS_OK;
}

/* Of the step before the open one: some server may lack what that is made of. */
static const struct timeline *told(const struct closings *c)
{
    return c->timeline.epoch > 0 && c->step == c->timeline.first ? &c->before : &c->timeline;
}

static uint32_t lost_examples(const struct job *job, struct batch_range batch,
                              const struct leaf_set *set)
{
    return batch.examples - leaf_set_examples(set, job, batch, tree_root(batch.leaves));
}

/* Goes through what is kept: the epochs that ended before the step before this one, and what they dropped. */
struct closings_start closings_start_at(const struct closings *closings, uint64_t step)
{
    const struct closings *c = closings;
    const struct job *job = c->job;
    struct closings_start start = c->start;
    struct leaf_set set;
    struct timeline t = {.epoch = start.epoch, .first = start.first};
    if (!job_requeues(job))
        start.first = step;
    for (uint64_t at = c->first; at < step && closings_set(c, at, &set); at++) {
        if (!job_requeues(job)) {
            start.examples_dropped += lost_examples(job, job_batch(job, at), &set);
            continue;
        }
        if (t.closed && at == timeline_epoch_end(&t, job)) {
            start.examples_dropped += t.owed_examples;
            timeline_go_on(&t, job);
        }
        if (!t.closed)
            timeline_note(&t, job, at - t.first, &set);
    }
    if (job_requeues(job)) {
        start.epoch = t.epoch;
        start.first = t.first;
    }
    return start;
}

/* In the steps [start.first, step), which are of one epoch. */
static uint64_t dropped_since(const struct closings *c, struct closings_start start, uint64_t step)
{
    struct timeline t = {.epoch = start.epoch, .first = start.first};
    struct leaf_set set;
    for (uint64_t at = t.first;
         job_requeues(c->job) && !t.closed && at < step && closings_set(c, at, &set); at++)
        timeline_note(&t, c->job, at - t.first, &set);
    return t.owed_examples;
}

struct timeline closings_timeline(const struct closings *closings)
{
    return *told(closings);
}

uint64_t closings_made_up(const struct closings *closings)
{
    const struct timeline *t = &closings->timeline;
    const struct job *job = closings->job;
    if (!job_requeues(job))
        return 0;
    return t->first - t->epoch * job_steps_per_epoch(job) + timeline_made_up(t, job);
}

double closings_epochs(const struct closings *closings)
{
    assert(job_requeues(closings->job));
    return (double)closings->timeline.epoch +
           (double)closings->had / (double)closings->job->examples;
}

uint64_t closings_job_end(const struct closings *closings)
{
    const struct timeline *t = &closings->timeline;
    if (!job_requeues(closings->job))
        return closings->job->steps;
    bool last = t->epoch + 1 == job_epochs(closings->job);
    return last && t->closed ? timeline_epoch_end(t, closings->job) : UINT64_MAX;
}

static struct batch_range batch_at(const struct closings *c, uint64_t step)
{
    bool before = job_requeues(c->job) && step < c->timeline.first;
    return timeline_batch(before ? &c->before : &c->timeline, c->job, step);
}

/* What is made up has nothing that is not waited for. */
static enum status decide_made_up(struct closings *c)
{
    struct leaf_set all;
    if (c->end != c->step || c->step >= closings_job_end(c) ||
        !timeline_is_made_up(&c->timeline, c->job, c->step))
        return STATUS_OK;
    leaf_set_clear(&all);
    leaf_set_add(&all, tree_root(batch_at(c, c->step).leaves));
    return add_set(c, &all);
}

static enum status open_step(struct closings *c, uint64_t step)
{
    clear_step(c, step);
    enum status status = move_timeline(c);
    return status == STATUS_OK ? decide_made_up(c) : status;
}

/* The step before the open one had so many examples: what a schedule counts goes by these. */
static void count_progress(struct closings *c, uint32_t examples)
{
    const struct job *job = c->job;
    const struct timeline *t = &c->timeline;
    if (!job_requeues(job))
        return;
    c->lag_before = c->lag;
    bool begins = c->step == t->first;
    c->had = begins ? 0 : c->had + examples;
    c->lag = c->step - timeline_progress(t, job, c->had);
}

static uint32_t used_examples(const struct closings *c, uint64_t step, const struct leaf_set *set)
{
    struct batch_range batch = batch_at(c, step);
    return leaf_set_examples(set, c->job, batch, tree_root(batch.leaves));
}

struct message_close closings_say(const struct closings *closings, uint64_t step)
{
    const struct closings *c = closings;
    struct batch_range batch = batch_at(c, step);
    return (struct message_close){
        .step = step,
        .epoch = batch.epoch,
        .leaves = batch.leaves,
        .examples = batch.examples,
        .lag = step == c->step ? c->lag : c->lag_before,
        .ends = timeline_ends(step < c->timeline.first ? &c->before : &c->timeline, c->job, step),
    };
}

/* --- going back ---------------------------------------------------------------------------- */

/* Those of an epoch that is under way, before the step to go on from. */
static enum status add_earlier(struct closings *c, uint64_t step, const struct leaf_set *set)
{
    uint32_t examples = used_examples(c, step, set);
    if (add_set(c, set) != STATUS_OK)
        return STATUS_MEMORY;
    note(c, step, set);
    c->step = step + 1;
    if (move_timeline(c) != STATUS_OK)
        return STATUS_MEMORY;
    count_progress(c, examples);
    return STATUS_OK;
}

static enum status take_sets(struct closings *c, uint64_t step, const void *sets, size_t count)
{
    struct leaf_sets list;
    struct leaf_set set;
    enum status status = STATUS_OK;
    if (count == 0 || !leaf_sets_fit(sets, count, c->job) || !leaf_sets_open(&list, sets, count))
        return STATUS_OK;
    while (status == STATUS_OK && leaf_sets_next(&list, &set)) {
        if (list.step - 1 != c->end)
            continue;
        if (c->end < step)
            status = add_earlier(c, list.step - 1, &set);
        else if ((status = add_set(c, &set)) == STATUS_OK)
            note(c, list.step - 1, &set);
    }
    return status;
}

enum status closings_go_back(struct closings *closings, uint64_t step, uint64_t epoch,
                             const void *sets, size_t count)
{
    struct closings *c = closings;
    bool requeues = job_requeues(c->job);
    /* Of an older checkpoint than the newest it is not known what there was before. */
    bool known = step >= c->first && step <= c->end;
    struct closings_start start = known ? closings_start_at(c, step) : (struct closings_start){0};
    uint64_t dropped = known ? start.examples_dropped + dropped_since(c, start, step) : 0;
    struct leaf_sets list;
    uint64_t first = requeues && leaf_sets_open(&list, sets, count) ? list.step : step;
    c->dropped.examples = dropped;
    c->first = c->end = first;
    c->timeline = c->before = (struct timeline){.epoch = epoch, .first = first};
    epoch_ends_clear(&c->ends, epoch);
    c->had = 0;
    c->lag = c->lag_before = requeues ? first - timeline_progress(&c->timeline, c->job, 0) : 0;
    c->byte_count = 0;
    c->members = 0;
    c->step = first;
    enum status status = take_sets(c, step, sets, count);
    assert(status != STATUS_OK || c->end >= step);
    c->start = (struct closings_start){.epoch = epoch, .first = first};
    c->start.examples_dropped = dropped - dropped_since(c, c->start, step);
    if (status == STATUS_OK)
        status = open_step(c, step);
    c->written = c->end;
    return status;
}

/* --- the open step ------------------------------------------------------------------------- */

static struct batch_range batch_of(const struct closings *c)
{
    return batch_at(c, c->step);
}

static struct node run_of(const struct closings *c, uint32_t place)
{
    return tree_run(batch_of(c).leaves, c->members, place);
}

void closings_deal(struct closings *closings, uint32_t members)
{
    closings->members = members;
    closings->whole_count = 0;
    memset(closings->whole, 0, sizeof closings->whole);
    leaf_set_clear(&closings->done);
}

uint32_t closings_needed(const struct closings *closings)
{
    uint32_t leaves = batch_of(closings).leaves;
    if (leaves < closings->members)
        return leaves;
    return closings->required < closings->members ? closings->required : closings->members;
}

/* The report of the node with so many examples: the first that came; or NULL. */
static struct closing_report *find(const struct closings *c, struct node node, uint64_t examples)
{
    for (size_t i = 0; i < c->report_count; i++)
        if (node_equal(c->reports[i].report.node, node) &&
            c->reports[i].report.examples == examples)
            return &c->reports[i];
    return NULL;
}

static void add_score(struct tally *sum, const struct message_report *report)
{
    sum->loss += report->loss;
    sum->correct += report->correct;
    sum->examples += report->examples;
}

/* Goes down the tree to what was reported, as the gradients' owners do. Whether all of it was. */
static bool gather(const struct closings *c, const struct leaf_set *set, struct node node,
                   bool mark, struct tally *sum)
{
    struct node left, right;
    uint32_t examples = leaf_set_examples(set, c->job, batch_of(c), node);
    if (examples == 0)
        return true;
    struct closing_report *found = find(c, node, examples);
    if (found != NULL) {
        found->counts = found->counts || mark;
        add_score(sum, &found->report);
        return true;
    }
    if (node.leaf_count == 1)
        return false;
    tree_children(node, &left, &right);
    return gather(c, set, left, mark, sum) && gather(c, set, right, mark, sum);
}

static bool is_whole(const struct closings *c)
{
    struct leaf_set set;
    struct tally sum = {0};
    return closings_set(c, c->step, &set) &&
           gather(c, &set, tree_root(batch_of(c).leaves), false, &sum);
}

/* The step is over: its reports that are of the set are marked, the others dropped. */
static void count_step(struct closings *c)
{
    struct leaf_set set;
    struct tally sum = {0};
    bool decided = closings_set(c, c->step, &set);
    assert(decided);
    (void)decided;
    gather(c, &set, tree_root(batch_of(c).leaves), true, &sum);
    for (size_t i = 0; i < c->report_count; i++)
        if (!c->reports[i].counts) {
            c->dropped.reports++;
            c->dropped.seconds += c->reports[i].seconds;
        }
    c->dropped.examples += lost_examples(c->job, batch_of(c), &set);
}

struct tally closings_counted(const struct closings *closings)
{
    struct leaf_set set;
    struct tally sum = {.updates = 1};
    bool decided = closings_set(closings, closings->step, &set);
    assert(decided);
    (void)decided;
    gather(closings, &set, tree_root(batch_of(closings).leaves), false, &sum);
    return sum;
}

enum status closings_go_on(struct closings *closings)
{
    struct closings *c = closings;
    struct leaf_set set;
    bool decided = closings_set(c, c->step, &set);
    assert(decided);
    (void)decided;
    uint32_t examples = used_examples(c, c->step, &set);
    enum status status = open_step(c, c->step + 1);
    count_progress(c, examples);
    return status;
}

static enum status decide(struct closings *c)
{
    struct leaf_set set;
    leaf_set_clear(&set);
    for (uint32_t place = 0; place < c->members; place++)
        if (c->whole[place])
            leaf_set_add(&set, run_of(c, place));
    enum status status = add_set(c, &set);
    if (status == STATUS_OK) {
        note(c, c->step, &set);
        status = move_timeline(c);
    }
    return status;
}

/* The leaves of the node that are dealt to this place have been reported by it. */
static void note_done(struct closings *c, struct node node, uint32_t place)
{
    struct node run = run_of(c, place);
    for (uint32_t i = 0; i < node.leaf_count; i++) {
        struct node leaf = {node.first_leaf + i, 1};
        if (node_within(leaf, run))
            leaf_set_add(&c->done, leaf);
    }
    if (!c->whole[place] && run.leaf_count > 0 && leaf_set_count(&c->done, run) == run.leaf_count) {
        c->whole[place] = true;
        c->whole_count++;
    }
}

static bool fits(const struct closings *c, const struct message_report *report)
{
    struct batch_range batch = batch_of(c);
    return tree_has(batch.leaves, report->node) && report->examples > 0 &&
           report->examples <= leaf_set_examples(NULL, c->job, batch, report->node);
}

enum closings_result closings_report(struct closings *closings, const struct message_report *report,
                                     uint32_t worker, uint32_t place, double seconds)
{
    struct closings *c = closings;
    if (report->step < c->step) {
        c->dropped.reports++;
        c->dropped.seconds += seconds;
        return CLOSINGS_LATE;
    }
    if (report->step > c->step || report->step >= closings_job_end(c) || !fits(c, report))
        return CLOSINGS_STRANGE;
    bool again = find(c, report->node, report->examples) != NULL;
    struct closing_report *reports =
        array_room(c->reports, c->report_count, &c->report_capacity, sizeof *reports);
    if (reports == NULL)
        return CLOSINGS_MEMORY;
    c->reports = reports;
    if (!again)
        reports[c->report_count++] = (struct closing_report){*report, worker, seconds, false};
    if (place < c->members &&
        report->examples == leaf_set_examples(NULL, c->job, batch_of(c), report->node))
        note_done(c, report->node, place);
    if (c->end == c->step && c->members > 0 && c->whole_count >= closings_needed(c) &&
        decide(c) != STATUS_OK)
        return CLOSINGS_MEMORY;
    if (is_whole(c)) {
        count_step(c);
        return CLOSINGS_COUNTED;
    }
    return again ? CLOSINGS_STRANGE : CLOSINGS_KEPT;
}

/* Whether leaves of the run that are in the set have not been reported. */
static bool lacks(const struct closings *c, const struct leaf_set *set, struct node node,
                  struct node run)
{
    struct node left, right;
    uint32_t examples = leaf_set_examples(set, c->job, batch_of(c), node);
    bool apart = node.first_leaf >= run.first_leaf + run.leaf_count ||
                 run.first_leaf >= node.first_leaf + node.leaf_count;
    if (apart || examples == 0 || find(c, node, examples) != NULL)
        return false;
    if (node.leaf_count == 1)
        return true;
    tree_children(node, &left, &right);
    return lacks(c, set, left, run) || lacks(c, set, right, run);
}

bool closings_owes(const struct closings *closings, uint32_t place)
{
    const struct closings *c = closings;
    struct leaf_set set;
    if (place >= c->members || c->step >= closings_job_end(c))
        return false;
    struct node run = run_of(c, place);
    if (!closings_set(c, c->step, &set))
        return run.leaf_count > 0 && !c->whole[place];
    return lacks(c, &set, tree_root(batch_of(c).leaves), run);
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("closings", condition, rule)

void closings_check(const struct closings *closings)
{
    const struct closings *c = closings;
    struct leaf_set set;
    uint32_t whole = 0;
    RULE(c->first <= c->step && c->step <= c->end, "sets are decided step after step");
    RULE(c->written <= c->end, "no set is written that is not decided");
    for (uint32_t place = 0; place < JOB_WORKERS_MAX; place++)
        whole += c->whole[place];
    RULE(whole == c->whole_count, "who has reported is counted once");
    RULE(IMPLIES(c->end == c->step && c->members > 0 && c->step < closings_job_end(c),
                 c->whole_count < closings_needed(c)),
         "a step is decided when as many have reported as it takes");
    if (c->step < c->end && closings_set(c, c->step, &set))
        RULE(!is_whole(c), "a step that is whole is counted");
}
