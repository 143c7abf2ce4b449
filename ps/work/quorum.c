/* quorum.c - one step is open at a time: nobody can report a step before the one before it is
 * counted, because its values are made of what that report was sent with. */

#include "ps/work/quorum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/frame.h"
#include "common/base/invariant.h"

#define SETS_AT_LEAST 2

/* --- life ---------------------------------------------------------------------------------- */

static void clear_step(struct quorum *c, uint64_t step)
{
    c->step = step;
    c->report_count = 0;
    c->whole_count = 0;
    memset(c->whole, 0, sizeof c->whole);
    leaf_set_clear(&c->done);
}

void quorum_init(struct quorum *quorum, const struct job *job, uint64_t first)
{
    memset(quorum, 0, sizeof *quorum);
    quorum->job = job;
    quorum->required = job->worker_count - job->backup_workers;
    quorum->first = quorum->end = quorum->written = first;
    quorum->start.first = first;
    clear_step(quorum, first);
}

void quorum_free(struct quorum *quorum)
{
    free(quorum->reports);
    free(quorum->bytes);
    free(quorum->places);
    epoch_ends_free(&quorum->ends);
    memset(quorum, 0, sizeof *quorum);
}

/* --- sets ---------------------------------------------------------------------------------- */

static enum status add_set(struct quorum *c, const struct leaf_set *set)
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

static size_t end_of(const struct quorum *c, uint64_t step)
{
    return step < c->end ? c->places[step - c->first] : c->byte_count;
}

bool quorum_set(const struct quorum *quorum, uint64_t step, struct leaf_set *set)
{
    const struct quorum *c = quorum;
    if (step < c->first || step >= c->end)
        return false;
    size_t at = c->places[step - c->first];
    struct leaf_sets list = {
        .bytes = c->bytes + at, .bytes_left = c->byte_count - at, .step = step, .left = 1};
    bool read = leaf_sets_next(&list, set);
    assert(read);
    return read;
}

void quorum_forget(struct quorum *quorum, uint64_t step)
{
    struct quorum *c = quorum;
    if (step <= c->first || step > c->end)
        return;
    c->start = quorum_start_at(c, step);
    uint64_t first = job_requeues(c->job) ? c->start.first : step;
    size_t gone = end_of(c, first), count = (size_t)(c->end - first);
    for (size_t i = 0; i < count; i++)
        c->places[i] = c->places[i + (size_t)(first - c->first)] - gone;
    c->byte_count -= gone;
    memmove(c->bytes, c->bytes + gone, c->byte_count);
    c->first = first;
}

void quorum_wrote(struct quorum *quorum, uint64_t end)
{
    if (end > quorum->written && end <= quorum->end)
        quorum->written = end;
}

uint64_t quorum_within(const struct quorum *quorum, uint64_t first, uint64_t end, size_t bytes)
{
    const struct quorum *c = quorum;
    if (end > c->end)
        end = c->end;
    while (end > first + SETS_AT_LEAST &&
           LEAF_SETS_START_MAX + end_of(c, end) - end_of(c, first) > bytes)
        end--;
    return end;
}

struct frame *quorum_list(const struct quorum *quorum, uint64_t first, uint64_t end)
{
    const struct quorum *c = quorum;
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
static void note(struct quorum *c, uint64_t step, const struct leaf_set *set)
{
    struct timeline *t = &c->timeline;
    if (job_requeues(c->job) && !t->closed && step >= t->first)
        timeline_note(t, c->job, step - t->first, set);
}

/* It is of the open step; so much as is decided is noted. */
static enum status move_timeline(struct quorum *c)
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
        for (uint64_t step = t->first; !t->closed && quorum_set(c, step, &set); step++)
            note(c, step, &set);
    }
    return STATUS_OK;
}

/* Of the step before the open one: some server may lack what that is made of. */
static const struct timeline *told(const struct quorum *c)
{
    return c->timeline.epoch > 0 && c->step == c->timeline.first ? &c->before : &c->timeline;
}

static uint32_t lost_examples(const struct job *job, struct batch_range batch,
                              const struct leaf_set *set)
{
    return batch.examples - leaf_set_examples(set, job, batch, tree_root(batch.leaves));
}

/* Goes through what is kept: the epochs that ended before the step before this one, and what they dropped. */
struct quorum_start quorum_start_at(const struct quorum *quorum, uint64_t step)
{
    const struct quorum *c = quorum;
    const struct job *job = c->job;
    struct quorum_start start = c->start;
    struct leaf_set set;
    struct timeline t = {.epoch = start.epoch, .first = start.first};
    if (!job_requeues(job))
        start.first = step;
    for (uint64_t at = c->first; at < step && quorum_set(c, at, &set); at++) {
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
static uint64_t dropped_since(const struct quorum *c, struct quorum_start start, uint64_t step)
{
    struct timeline t = {.epoch = start.epoch, .first = start.first};
    struct leaf_set set;
    for (uint64_t at = t.first;
         job_requeues(c->job) && !t.closed && at < step && quorum_set(c, at, &set); at++)
        timeline_note(&t, c->job, at - t.first, &set);
    return t.owed_examples;
}

struct timeline quorum_timeline(const struct quorum *quorum)
{
    return *told(quorum);
}

uint64_t quorum_made_up(const struct quorum *quorum)
{
    const struct timeline *t = &quorum->timeline;
    const struct job *job = quorum->job;
    if (!job_requeues(job))
        return 0;
    return t->first - t->epoch * job_steps_per_epoch(job) + timeline_made_up(t, job);
}

double quorum_epochs(const struct quorum *quorum)
{
    assert(job_requeues(quorum->job));
    return (double)quorum->timeline.epoch + (double)quorum->had / (double)quorum->job->examples;
}

uint64_t quorum_job_end(const struct quorum *quorum)
{
    const struct timeline *t = &quorum->timeline;
    if (!job_requeues(quorum->job))
        return quorum->job->steps;
    bool last = t->epoch + 1 == job_epochs(quorum->job);
    return last && t->closed ? timeline_epoch_end(t, quorum->job) : UINT64_MAX;
}

static struct batch_range batch_at(const struct quorum *c, uint64_t step)
{
    bool before = job_requeues(c->job) && step < c->timeline.first;
    return timeline_batch(before ? &c->before : &c->timeline, c->job, step);
}

/* What is made up has nothing that is not waited for. */
static enum status decide_made_up(struct quorum *c)
{
    struct leaf_set all;
    if (c->end != c->step || c->step >= quorum_job_end(c) ||
        !timeline_is_made_up(&c->timeline, c->job, c->step))
        return STATUS_OK;
    leaf_set_clear(&all);
    leaf_set_add(&all, tree_root(batch_at(c, c->step).leaves));
    return add_set(c, &all);
}

static enum status open_step(struct quorum *c, uint64_t step)
{
    clear_step(c, step);
    enum status status = move_timeline(c);
    return status == STATUS_OK ? decide_made_up(c) : status;
}

/* The step before the open one had so many examples: what a schedule counts goes by these. */
static void count_progress(struct quorum *c, uint32_t examples)
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

static uint32_t used_examples(const struct quorum *c, uint64_t step, const struct leaf_set *set)
{
    struct batch_range batch = batch_at(c, step);
    return leaf_set_examples(set, c->job, batch, tree_root(batch.leaves));
}

struct message_close quorum_say(const struct quorum *quorum, uint64_t step)
{
    const struct quorum *c = quorum;
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
static enum status add_earlier(struct quorum *c, uint64_t step, const struct leaf_set *set)
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

static enum status take_sets(struct quorum *c, uint64_t step, const void *sets, size_t count)
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

enum status quorum_go_back(struct quorum *quorum, uint64_t step, uint64_t epoch, const void *sets,
                           size_t count)
{
    struct quorum *c = quorum;
    bool requeues = job_requeues(c->job);
    /* Of an older checkpoint than the newest it is not known what there was before. */
    bool known = step >= c->first && step <= c->end;
    struct quorum_start start = known ? quorum_start_at(c, step) : (struct quorum_start){0};
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
    c->start = (struct quorum_start){.epoch = epoch, .first = first};
    c->start.examples_dropped = dropped - dropped_since(c, c->start, step);
    if (status == STATUS_OK)
        status = open_step(c, step);
    c->written = c->end;
    return status;
}

/* --- the open step ------------------------------------------------------------------------- */

static struct batch_range batch_of(const struct quorum *c)
{
    return batch_at(c, c->step);
}

static struct node run_of(const struct quorum *c, uint32_t place)
{
    return tree_run(batch_of(c).leaves, c->members, place);
}

void quorum_deal(struct quorum *quorum, uint32_t members)
{
    quorum->members = members;
    quorum->whole_count = 0;
    memset(quorum->whole, 0, sizeof quorum->whole);
    leaf_set_clear(&quorum->done);
}

uint32_t quorum_needed(const struct quorum *quorum)
{
    uint32_t leaves = batch_of(quorum).leaves;
    if (leaves < quorum->members)
        return leaves;
    return quorum->required < quorum->members ? quorum->required : quorum->members;
}

/* The report of the node with so many examples: the first that came; or NULL. */
static struct reported_node *find(const struct quorum *c, struct node node, uint64_t examples)
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
static bool gather(const struct quorum *c, const struct leaf_set *set, struct node node, bool mark,
                   struct tally *sum)
{
    struct node left, right;
    uint32_t examples = leaf_set_examples(set, c->job, batch_of(c), node);
    if (examples == 0)
        return true;
    struct reported_node *found = find(c, node, examples);
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

static bool is_whole(const struct quorum *c)
{
    struct leaf_set set;
    struct tally sum = {0};
    return quorum_set(c, c->step, &set) &&
           gather(c, &set, tree_root(batch_of(c).leaves), false, &sum);
}

/* The step is over: its reports that are of the set are marked, the others dropped. */
static void count_step(struct quorum *c)
{
    struct leaf_set set;
    struct tally sum = {0};
    bool decided = quorum_set(c, c->step, &set);
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

struct tally quorum_counted(const struct quorum *quorum)
{
    struct leaf_set set;
    struct tally sum = {.updates = 1};
    bool decided = quorum_set(quorum, quorum->step, &set);
    assert(decided);
    (void)decided;
    gather(quorum, &set, tree_root(batch_of(quorum).leaves), false, &sum);
    return sum;
}

enum status quorum_go_on(struct quorum *quorum)
{
    struct quorum *c = quorum;
    struct leaf_set set;
    bool decided = quorum_set(c, c->step, &set);
    assert(decided);
    (void)decided;
    uint32_t examples = used_examples(c, c->step, &set);
    enum status status = open_step(c, c->step + 1);
    count_progress(c, examples);
    return status;
}

static enum status decide(struct quorum *c)
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
static void note_done(struct quorum *c, struct node node, uint32_t place)
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

static bool fits(const struct quorum *c, const struct message_report *report)
{
    struct batch_range batch = batch_of(c);
    return tree_has(batch.leaves, report->node) && report->examples > 0 &&
           report->examples <= leaf_set_examples(NULL, c->job, batch, report->node);
}

enum quorum_result quorum_report(struct quorum *quorum, const struct message_report *report,
                                 uint32_t worker, uint32_t place, double seconds)
{
    struct quorum *c = quorum;
    if (report->step < c->step) {
        c->dropped.reports++;
        c->dropped.seconds += seconds;
        return QUORUM_LATE;
    }
    if (report->step > c->step || report->step >= quorum_job_end(c) || !fits(c, report))
        return QUORUM_STRANGE;
    bool again = find(c, report->node, report->examples) != NULL;
    struct reported_node *reports =
        array_room(c->reports, c->report_count, &c->report_capacity, sizeof *reports);
    if (reports == NULL)
        return QUORUM_MEMORY;
    c->reports = reports;
    if (!again)
        reports[c->report_count++] = (struct reported_node){*report, worker, seconds, false};
    if (place < c->members &&
        report->examples == leaf_set_examples(NULL, c->job, batch_of(c), report->node))
        note_done(c, report->node, place);
    if (c->end == c->step && c->members > 0 && c->whole_count >= quorum_needed(c) &&
        decide(c) != STATUS_OK)
        return QUORUM_MEMORY;
    if (is_whole(c)) {
        count_step(c);
        return QUORUM_COUNTED;
    }
    return again ? QUORUM_STRANGE : QUORUM_KEPT;
}

/* Whether leaves of the run that are in the set have not been reported. */
static bool lacks(const struct quorum *c, const struct leaf_set *set, struct node node,
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

bool quorum_owes(const struct quorum *quorum, uint32_t place)
{
    const struct quorum *c = quorum;
    struct leaf_set set;
    if (place >= c->members || c->step >= quorum_job_end(c))
        return false;
    struct node run = run_of(c, place);
    if (!quorum_set(c, c->step, &set))
        return run.leaf_count > 0 && !c->whole[place];
    return lacks(c, &set, tree_root(batch_of(c).leaves), run);
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("closings", condition, rule)

void quorum_check(const struct quorum *quorum)
{
    const struct quorum *c = quorum;
    struct leaf_set set;
    uint32_t whole = 0;
    RULE(c->first <= c->step && c->step <= c->end, "sets are decided step after step");
    RULE(c->written <= c->end, "no set is written that is not decided");
    for (uint32_t place = 0; place < JOB_WORKERS_MAX; place++)
        whole += c->whole[place];
    RULE(whole == c->whole_count, "who has reported is counted once");
    RULE(IMPLIES(c->end == c->step && c->members > 0 && c->step < quorum_job_end(c),
                 c->whole_count < quorum_needed(c)),
         "a step is decided when as many have reported as it takes");
    if (c->step < c->end && quorum_set(c, c->step, &set))
        RULE(!is_whole(c), "a step that is whole is counted");
}
