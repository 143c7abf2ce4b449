/* quorum.c - one step is open at a time: a report of a step comes after the one before it is
 * counted, because its values are made of that step. */

#include "ps/work/quorum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/frame.h"
#include "common/base/invariant.h"

/* --- life ---------------------------------------------------------------------------------- */

static void clear_step(struct quorum *c, uint64_t step)
{
    c->step = step;
    c->report_count = 0;
    c->whole_count = 0;
    memset(c->whole, 0, sizeof c->whole);
    leaf_set_clear(&c->done);
    leaf_set_clear(&c->kept);
}

void quorum_init(struct quorum *quorum, const struct job *job, const struct policy *policy,
                 uint64_t first)
{
    memset(quorum, 0, sizeof *quorum);
    quorum->job = job;
    quorum->policy = policy;
    quorum->required = job->worker_count - job->backup_workers;
    quorum->first = quorum->end = first;
    clear_step(quorum, first);
}

void quorum_free(struct quorum *quorum)
{
    free(quorum->reports);
    free(quorum->bytes);
    free(quorum->places);
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

static uint32_t lost_examples(const struct job *job, uint64_t step, const struct leaf_set *set)
{
    struct batch_range batch = job_batch(job, step);
    return batch.examples - leaf_set_examples(set, job, batch, tree_root(batch.leaves));
}

/* In the kept steps before this one. */
static uint64_t lost_before(const struct quorum *c, uint64_t step)
{
    struct leaf_set set;
    uint64_t lost = 0;
    for (uint64_t at = c->first; at < step && quorum_set(c, at, &set); at++)
        lost += lost_examples(c->job, at, &set);
    return lost;
}

void quorum_forget(struct quorum *quorum, uint64_t step)
{
    struct quorum *c = quorum;
    if (step <= c->first || step > c->end)
        return;
    c->examples_before += lost_before(c, step);
    size_t gone = end_of(c, step), count = (size_t)(c->end - step);
    for (size_t i = 0; i < count; i++)
        c->places[i] = c->places[i + (size_t)(step - c->first)] - gone;
    c->byte_count -= gone;
    memmove(c->bytes, c->bytes + gone, c->byte_count);
    c->first = step;
}

struct frame *quorum_list(const struct quorum *quorum, size_t room, uint64_t first, uint64_t end)
{
    const struct quorum *c = quorum;
    uint8_t start[LEAF_SETS_START_MAX];
    assert(first >= c->first && first <= end && end <= c->end);
    size_t used = leaf_sets_put_start(start, first, end - first);
    size_t from = end_of(c, first), to = end_of(c, end);
    struct frame *frame = frame_create(room + used + to - from);
    if (frame == NULL)
        return NULL;
    memcpy((char *)frame->data + room, start, used);
    if (to > from)
        memcpy((char *)frame->data + room + used, c->bytes + from, to - from);
    return frame;
}

void quorum_go_back(struct quorum *quorum, uint64_t step)
{
    struct quorum *c = quorum;
    /* Of an older checkpoint than the newest the earlier counts are not known. */
    bool known = step >= c->first && step <= c->end;
    c->examples_before = known ? c->examples_before + lost_before(c, step) : 0;
    c->dropped.examples = c->examples_before;
    c->first = c->end = step;
    c->byte_count = 0;
    c->members = 0;
    clear_step(c, step);
}

/* --- the open step ------------------------------------------------------------------------- */

static struct batch_range batch_of(const struct quorum *c)
{
    return job_batch(c->job, c->step);
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

/* The first report of the node with so many examples, or NULL. */
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

/* Goes down the tree to the reported nodes, as the gradients' owners do. Whether all were
 * reported. */
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

/* The step is over: its reports of the set are marked, the others dropped. */
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
    c->dropped.examples += lost_examples(c->job, c->step, &set);
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

void quorum_go_on(struct quorum *quorum)
{
    assert(quorum->step < quorum->end); /* Its set is decided. */
    clear_step(quorum, quorum->step + 1);
}

static enum status decide(struct quorum *c)
{
    struct leaf_set set;
    if (c->policy != NULL)
        return add_set(c, &c->kept);
    leaf_set_clear(&set);
    for (uint32_t place = 0; place < c->members; place++)
        if (c->whole[place])
            leaf_set_add(&set, run_of(c, place));
    return add_set(c, &set);
}

/* Whether the policy closes the step with this node, of which it hears once. */
static bool policy_closes(struct quorum *c, const struct message_report *report, uint32_t worker)
{
    const struct policy_gradient gradient = {
        .worker = worker,
        .base = c->step,
        .now = c->step,
        .step = c->step,
        .node = report->node,
        .leaves = batch_of(c).leaves,
        .held = leaf_set_count(&c->kept, tree_root(batch_of(c).leaves)) -
                leaf_set_count(&c->kept, report->node),
    };
    enum policy_verdict verdict = c->policy->judge(c->policy->context, &gradient).verdict;
    if (verdict != POLICY_IGNORE)
        leaf_set_add(&c->kept, report->node);
    return verdict == POLICY_APPLY;
}

/* Whether this report decides the set of the open step. */
static bool decides(struct quorum *c, const struct message_report *report, uint32_t worker,
                    bool again)
{
    if (c->end != c->step)
        return false;
    if (c->policy != NULL)
        return !again && policy_closes(c, report, worker);
    return c->members > 0 && c->whole_count >= quorum_needed(c);
}

/* The place has reported those leaves of the node that are dealt to it. */
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
    if (report->step > c->step || report->step >= c->job->steps || !fits(c, report))
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
    if (decides(c, report, worker, again) && decide(c) != STATUS_OK)
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
    if (place >= c->members || c->step >= c->job->steps)
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
    RULE(c->first <= c->step && c->step <= c->end && c->end <= c->step + 1,
         "sets are decided step after step");
    for (uint32_t place = 0; place < JOB_WORKERS_MAX; place++)
        whole += c->whole[place];
    RULE(whole == c->whole_count, "who has reported is counted once");
    RULE(
        IMPLIES(c->policy == NULL && c->end == c->step && c->members > 0 && c->step < c->job->steps,
                c->whole_count < quorum_needed(c)),
        "a step is decided when as many have reported as it takes");
    if (c->step < c->end && quorum_set(c, c->step, &set))
        RULE(!is_whole(c), "a step that is whole is counted");
}
