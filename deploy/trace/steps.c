/* steps.c - sorts, groups and selects. */

#include "deploy/trace/steps.h"

#include <stdlib.h>

#include "common/base/array.h"
#include "common/trace/keeper.h"

const char *step_reason_name(enum step_reason reason)
{
    static const char *const names[STEP_REASON_COUNT] = {[STEP_TYPICAL] = "typical",
                                                         [STEP_SLOWEST] = "slowest",
                                                         [STEP_FIRST] = "first",
                                                         [STEP_LAST] = "last"};
    const char *name = reason < STEP_REASON_COUNT ? names[reason] : NULL;
    return name != NULL ? name : "";
}

/* --- finding --------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_step(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    int order = compare_numbers(a->step, b->step);
    return order != 0 ? order : compare_numbers(a->from_ns, b->from_ns);
}

static int by_beginning(const void *left, const void *right)
{
    const struct trace_step *a = left, *b = right;
    int order = compare_numbers(a->from_ns, b->from_ns);
    return order != 0 ? order : compare_numbers(a->step, b->step);
}

static struct trace_step step_of(const struct span *span)
{
    unsigned reason = SPAN_STEP_REASON(span->what);
    return (struct trace_step){.step = span->step,
                               .from_ns = span->from_ns,
                               .to_ns = span->to_ns,
                               .workers = 1,
                               .worker = span->index,
                               .scored = (span->what & SPAN_STEP_SCORED) != 0,
                               .whole = true,
                               .reason = reason < STEP_REASON_COUNT ? (enum step_reason)reason
                                                                    : STEP_NOT_SHOWN};
}

/* The same step, and not its number once more after all went back. */
static bool join(struct trace_step *step, const struct span *span)
{
    if (step->step != span->step || span->from_ns >= step->to_ns)
        return false;
    step->workers++;
    step->scored |= (span->what & SPAN_STEP_SCORED) != 0;
    if (span->to_ns > step->to_ns) {
        step->to_ns = span->to_ns;
        step->worker = span->index;
    }
    return true;
}

/* Takes over the list of spans, which it sorts. */
static enum status group(struct span *list, size_t count, struct trace_step **steps,
                         size_t *step_count)
{
    size_t capacity = 0;
    enum status status = STATUS_OK;
    if (count > 0)
        qsort(list, count, sizeof *list, by_step);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (*step_count > 0 && join(&(*steps)[*step_count - 1], &list[i]))
            continue;
        struct trace_step *grown = array_room(*steps, *step_count, &capacity, sizeof *grown);
        if (grown != NULL) {
            *steps = grown;
            grown[(*step_count)++] = step_of(&list[i]);
        } else {
            status = STATUS_MEMORY;
        }
    }
    free(list);
    if (*step_count > 0)
        qsort(*steps, *step_count, sizeof **steps, by_beginning);
    return status;
}

enum status steps_find(const struct span *spans, size_t count, struct trace_step **steps,
                       size_t *step_count)
{
    size_t found = 0;
    *steps = NULL;
    *step_count = 0;
    for (size_t i = 0; i < count; i++)
        found += spans[i].kind == SPAN_STEP;
    struct span *list = calloc(found + 1, sizeof *list);
    if (list == NULL)
        return STATUS_MEMORY;
    found = 0;
    for (size_t i = 0; i < count; i++)
        if (spans[i].kind == SPAN_STEP)
            list[found++] = spans[i];
    enum status status = group(list, found, steps, step_count);
    if (status != STATUS_OK)
        free(*steps);
    if (status != STATUS_OK)
        *steps = NULL;
    return status;
}

/* --- choosing -------------------------------------------------------------------------------- */

static uint64_t length_of(const struct trace_step *step)
{
    return step->to_ns - step->from_ns;
}

static int by_length(const void *left, const void *right)
{
    const struct trace_step *const *a = left, *const *b = right;
    int order = compare_numbers(length_of(*b), length_of(*a));
    return order != 0 ? order : compare_numbers((*a)->from_ns, (*b)->from_ns);
}

/* From sorted ones without a reason. */
static void take(struct trace_step **list, size_t count, uint32_t most, bool from_end,
                 enum step_reason reason)
{
    for (size_t i = 0; i < count && most > 0; i++) {
        struct trace_step *step = list[from_end ? count - 1 - i : i];
        if (step->reason != STEP_NOT_SHOWN)
            continue;
        step->reason = reason;
        most--;
    }
}

/* Of sorted ones, longest first, those that may be slow. */
static size_t leave_out_scored(struct trace_step **list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!list[i]->scored)
            list[kept++] = list[i];
    return kept > 0 ? kept : count;
}

/* lengths is sorted, longest first; list in order of time. All of them are to be chosen from. */
static void choose(struct trace_step **list, struct trace_step **lengths, size_t count,
                   uint32_t wanted)
{
    size_t candidates = leave_out_scored(lengths, count);
    lengths[candidates / 2]->reason = STEP_TYPICAL;
    if (count <= wanted) {
        take(list, count, (uint32_t)count, false, STEP_ALL);
        return;
    }
    struct shares shares = shares_of(wanted - 1);
    take(lengths, candidates, shares.slowest, false, STEP_SLOWEST);
    take(list, count, shares.first, false, STEP_FIRST);
    take(list, count, shares.last, true, STEP_LAST);
}

enum status steps_choose(struct trace_step *steps, size_t count, uint32_t wanted)
{
    struct trace_step **list = calloc(2 * count + 1, sizeof(struct trace_step *));
    size_t chosen = 0, whole = 0;
    if (list == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < count; i++) {
        steps[i].reason = STEP_NOT_SHOWN;
        whole += steps[i].whole;
    }
    for (size_t i = 0; i < count; i++)
        if (steps[i].whole || whole == 0)
            list[chosen++] = &steps[i];
    if (chosen > 0 && wanted > 0) {
        struct trace_step **lengths = list + chosen;
        for (size_t i = 0; i < chosen; i++)
            lengths[i] = list[i];
        qsort(lengths, chosen, sizeof(struct trace_step *), by_length);
        choose(list, lengths, chosen, wanted);
    }
    free(list);
    return STATUS_OK;
}

/* The one of a reason that is to stay longest: the slowest of the slow, the first, the last. */
static struct trace_step *best_of(struct trace_step *steps, size_t count, enum step_reason reason,
                                  const bool *stays)
{
    struct trace_step *best = NULL;
    for (size_t i = 0; i < count; i++) {
        struct trace_step *step = &steps[i];
        if (step->reason != reason || stays[i])
            continue;
        bool slower = best != NULL && length_of(step) > length_of(best);
        if (best == NULL || reason == STEP_LAST || (reason == STEP_SLOWEST && slower))
            best = step;
    }
    return best;
}

enum status steps_keep(struct trace_step *steps, size_t count, uint32_t wanted)
{
    static const enum step_reason turns[] = {STEP_SLOWEST, STEP_FIRST, STEP_LAST, STEP_ALL};
    const size_t turn_count = sizeof turns / sizeof *turns;
    bool *stays = calloc(count + 1, sizeof *stays);
    if (stays == NULL)
        return STATUS_MEMORY;
    const struct trace_step *typical = best_of(steps, count, STEP_TYPICAL, stays);
    uint32_t kept = typical != NULL && wanted > 0;
    if (kept > 0)
        stays[typical - steps] = true;
    size_t missed = 0;
    for (size_t turn = 0; kept < wanted && missed < turn_count; turn++) {
        const struct trace_step *step = best_of(steps, count, turns[turn % turn_count], stays);
        missed = step == NULL ? missed + 1 : 0;
        kept += step != NULL;
        if (step != NULL)
            stays[step - steps] = true;
    }
    for (size_t i = 0; i < count; i++)
        steps[i].reason = stays[i] ? steps[i].reason : STEP_NOT_SHOWN;
    free(stays);
    return STATUS_OK;
}
