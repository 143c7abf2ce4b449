/* keeper.c - three small arrays, looked through from end to end. */

#include "common/trace/keeper.h"

#include <stdlib.h>

struct shares shares_of(uint32_t steps)
{
    struct shares shares = {.first = (steps + 2) / 3, .last = (steps + 1) / 3};
    shares.slowest = steps - shares.first - shares.last;
    return shares;
}

enum status keeper_init(struct keeper *keeper, uint32_t steps)
{
    struct keeper *k = keeper;
    *k = (struct keeper){.most = shares_of(steps)};
    k->most.slowest = 2 * k->most.slowest + 2;
    k->first = calloc((size_t)k->most.first + 1, sizeof *k->first);
    k->last = calloc((size_t)k->most.last + 1, sizeof *k->last);
    k->slowest = calloc(k->most.slowest, sizeof *k->slowest);
    if (k->first != NULL && k->last != NULL && k->slowest != NULL)
        return STATUS_OK;
    keeper_free(k);
    return STATUS_MEMORY;
}

void keeper_free(struct keeper *keeper)
{
    free(keeper->first);
    free(keeper->last);
    free(keeper->slowest);
    *keeper = (struct keeper){.first = NULL};
}

static uint64_t length_of(const struct turn *turn)
{
    return turn->to_ns - turn->from_ns;
}

/* The same step, and not the same number once more after all went back. */
static bool is_same(const struct turn *a, const struct turn *b)
{
    return a->step == b->step && a->from_ns < b->to_ns && b->from_ns < a->to_ns;
}

/* Another worker's word on one that is here. */
static bool join(struct turn *turns, uint32_t count, const struct turn *turn)
{
    for (uint32_t i = 0; i < count; i++) {
        struct turn *here = &turns[i];
        if (!is_same(here, turn))
            continue;
        here->from_ns = turn->from_ns < here->from_ns ? turn->from_ns : here->from_ns;
        here->to_ns = turn->to_ns > here->to_ns ? turn->to_ns : here->to_ns;
        here->scored |= turn->scored;
        return true;
    }
    return false;
}

static uint32_t find_shortest(const struct keeper *k)
{
    uint32_t shortest = 0;
    for (uint32_t i = 1; i < k->slowest_count; i++)
        if (length_of(&k->slowest[i]) < length_of(&k->slowest[shortest]))
            shortest = i;
    return shortest;
}

/* One that is not among the last any more. */
static void compete(struct keeper *k, const struct turn *turn)
{
    if (turn->scored)
        return;
    if (k->slowest_count < k->most.slowest) {
        k->slowest[k->slowest_count++] = *turn;
        return;
    }
    struct turn *shortest = &k->slowest[find_shortest(k)];
    if (length_of(turn) > length_of(shortest))
        *shortest = *turn;
}

void keeper_add(struct keeper *keeper, const struct turn *turn)
{
    struct keeper *k = keeper;
    if (join(k->first, k->first_count, turn) || join(k->last, k->last_count, turn) ||
        join(k->slowest, k->slowest_count, turn))
        return;
    if (k->first_count < k->most.first) {
        k->first[k->first_count++] = *turn;
        return;
    }
    if (k->most.last == 0) {
        compete(k, turn);
        return;
    }
    struct turn *place = &k->last[k->last_next];
    if (k->last_count == k->most.last)
        compete(k, place);
    else
        k->last_count++;
    *place = *turn;
    k->last_next = (k->last_next + 1) % k->most.last;
}

static bool overlaps(const struct turn *turns, uint32_t count, uint64_t from_ns, uint64_t to_ns)
{
    for (uint32_t i = 0; i < count; i++)
        if (turns[i].from_ns <= to_ns && from_ns <= turns[i].to_ns)
            return true;
    return false;
}

bool keeper_wants(const struct keeper *keeper, uint64_t from_ns, uint64_t to_ns)
{
    const struct keeper *k = keeper;
    return overlaps(k->first, k->first_count, from_ns, to_ns) ||
           overlaps(k->last, k->last_count, from_ns, to_ns) ||
           overlaps(k->slowest, k->slowest_count, from_ns, to_ns);
}

bool keeper_give_up(struct keeper *keeper)
{
    struct keeper *k = keeper;
    if (k->slowest_count == 0)
        return false;
    k->slowest[find_shortest(k)] = k->slowest[k->slowest_count - 1];
    k->slowest_count--;
    return true;
}
