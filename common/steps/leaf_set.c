/* leaf_set.c - a bit a leaf, because there are 4096 of them at most; runs only where sets are sent. */

#include "common/steps/leaf_set.h"

#include <assert.h>
#include <string.h>

#include "common/base/varint.h"

void leaf_set_clear(struct leaf_set *set)
{
    memset(set, 0, sizeof *set);
}

void leaf_set_add(struct leaf_set *set, struct node run)
{
    assert((uint64_t)run.first_leaf + run.leaf_count <= TREE_LEAVES_MAX);
    for (uint32_t i = run.first_leaf; i < run.first_leaf + run.leaf_count; i++)
        set->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

bool leaf_set_has(const struct leaf_set *set, uint32_t leaf)
{
    return leaf < TREE_LEAVES_MAX && (set->bits[leaf / 64] >> (leaf % 64) & 1) != 0;
}

uint32_t leaf_set_count(const struct leaf_set *set, struct node node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node.leaf_count; i++)
        count += leaf_set_has(set, node.first_leaf + i);
    return count;
}

uint32_t leaf_set_examples(const struct leaf_set *set, const struct job *job,
                           struct batch_range batch, struct node node)
{
    if (set == NULL)
        return job_node_examples(job, batch, node.first_leaf, node.leaf_count);
    uint32_t examples = leaf_set_count(set, node) * job->micro_batch;
    uint32_t last = batch.leaves - 1; /* The only leaf that may be smaller. */
    bool holds_last = last >= node.first_leaf && last - node.first_leaf < node.leaf_count;
    if (holds_last && leaf_set_has(set, last))
        examples -= job->micro_batch - job_node_examples(job, batch, last, 1);
    return examples;
}

uint32_t leaf_set_keep(const struct leaf_set *set, struct node *nodes, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (leaf_set_count(set, nodes[i]) > 0)
            nodes[kept++] = nodes[i];
    return kept;
}

/* --- lists --------------------------------------------------------------------------------- */

/* The next run of the set from leaf `from` on; of no leaves when there is none. */
static struct node next_run(const struct leaf_set *set, uint32_t from)
{
    while (from < TREE_LEAVES_MAX && !leaf_set_has(set, from))
        from++;
    uint32_t end = from;
    while (end < TREE_LEAVES_MAX && leaf_set_has(set, end))
        end++;
    return (struct node){from, end - from};
}

size_t leaf_set_put(uint8_t *bytes, const struct leaf_set *set)
{
    uint32_t runs = 0, end = 0;
    for (struct node run = next_run(set, 0); run.leaf_count > 0;
         run = next_run(set, run.first_leaf + run.leaf_count))
        runs++;
    size_t used = varint_put(bytes, runs);
    for (struct node run = next_run(set, 0); run.leaf_count > 0; run = next_run(set, end)) {
        used += varint_put(bytes + used, run.first_leaf - end);
        used += varint_put(bytes + used, run.leaf_count);
        end = run.first_leaf + run.leaf_count;
    }
    return used;
}

size_t leaf_sets_put_start(uint8_t *bytes, uint64_t first, uint64_t count)
{
    size_t used = varint_put(bytes, first);
    return used + varint_put(bytes + used, count);
}

bool leaf_sets_open(struct leaf_sets *list, const void *bytes, size_t count)
{
    struct varint_input input = {.bytes = bytes, .count = count};
    *list = (struct leaf_sets){.bytes = bytes};
    if (!varint_take(&input, &list->step) || !varint_take(&input, &list->left) ||
        list->left > UINT64_MAX - list->step)
        return false;
    list->bytes += input.at;
    list->bytes_left = count - input.at;
    return true;
}

bool leaf_sets_next(struct leaf_sets *list, struct leaf_set *set)
{
    struct varint_input input = {.bytes = list->bytes, .count = list->bytes_left};
    uint64_t runs, gap, length, end = 0;
    leaf_set_clear(set);
    if (list->left == 0 || !varint_take(&input, &runs) || runs == 0)
        return false;
    for (uint64_t i = 0; i < runs; i++) {
        if (!varint_take(&input, &gap) || !varint_take(&input, &length) || length == 0 ||
            gap > TREE_LEAVES_MAX || length > TREE_LEAVES_MAX || (i > 0 && gap == 0) ||
            end + gap + length > TREE_LEAVES_MAX)
            return false;
        leaf_set_add(set, (struct node){(uint32_t)(end + gap), (uint32_t)length});
        end += gap + length;
    }
    list->bytes += input.at;
    list->bytes_left -= input.at;
    list->step++;
    list->left--;
    return true;
}

static bool fits(const struct leaf_set *set, const struct job *job, uint64_t step)
{
    if (step >= job->steps)
        return false;
    uint32_t leaves = job_batch(job, step).leaves;
    return leaf_set_count(set, (struct node){leaves, TREE_LEAVES_MAX - leaves}) == 0;
}

bool leaf_sets_fit(struct leaf_sets list, const struct job *job)
{
    struct leaf_set set;
    while (list.left > 0)
        if (!leaf_sets_next(&list, &set) || !fits(&set, job, list.step - 1))
            return false;
    return list.bytes_left == 0;
}

bool leaf_sets_find(const void *bytes, size_t count, uint64_t step, struct leaf_set *set)
{
    struct leaf_sets list;
    if (!leaf_sets_open(&list, bytes, count) || step < list.step || step - list.step >= list.left)
        return false;
    while (list.step <= step)
        if (!leaf_sets_next(&list, set))
            return false;
    return true;
}
