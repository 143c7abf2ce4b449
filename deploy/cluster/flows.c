/* flows.c - progressive filling over the cards that have flows, the card that is full first; and
 * for each card a heap of the flows that it is the bottleneck of, the first to end on top.
 *
 * Filling looks at every flow, each time that one begins or ends. Mostly only one bottleneck
 * changes its level, such as a server's card that many workers share. Its flows change with it;
 * where their other cards have room all is still max-min fair, and no other flow is looked at
 * (`adjust`). When one of these cards is a bottleneck too its level changes in turn. After some
 * such steps, or when a flow's bottleneck changes, all is filled again. */

#include "deploy/cluster/flows.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

#define NOBODY       UINT32_MAX
#define TOUCHED_MOST 64
#define SECOND       1000000000ull

/* Served amounts: units of rate times nanoseconds. */
typedef unsigned __int128 amount;

/* A flow, seen from a card. */
struct edge {
    uint32_t flow;
    uint32_t other; /* The other card; the spare one when there is none. */
};

/* A flow ends when its card has served this much. */
struct finish {
    amount served;
    uint32_t flow;
};

struct nic {
    amount served;       /* To each flow whose bottleneck it is, since the start. */
    uint64_t rate;       /* Units. */
    uint64_t level;      /* Units of rate of each flow whose bottleneck it is. */
    uint64_t end_ns;     /* Of the top of the heap, */
    uint64_t end_level;  /* computed at this level; 0 after another flow came to the top. */
    struct edge *edges;  /* [edge_count] every flow through it. */
    struct finish *heap; /* [heap_count] flows whose bottleneck it is. */
    size_t edge_count, edge_capacity, heap_count, heap_capacity, reserved;
    uint32_t place; /* Among those that have flows. */
};

struct flow {
    amount left;      /* While it has no bottleneck yet. */
    uint64_t tag;     /* The caller's. */
    uint32_t nic[2];  /* The second may be the spare one. */
    uint32_t edge[2]; /* Its index among their edges. */
    uint32_t place;   /* In its bottleneck's heap. */
    uint32_t next_free;
};

/* The sharing's data of a flow: 8 bytes, to keep ten thousand flows in the cache. */
struct standing {
    uint32_t filling;    /* The one that has set its rate. */
    uint32_t bottleneck; /* A card; NOBODY before its first. */
};

/* The sharing's data of a card: the rate that flows of other bottlenecks leave, and, while filling,
 * the number of flows that share it. */
struct room {
    uint64_t units;
    uint32_t flows;
    bool full; /* The card is a bottleneck. */
};

/* A card and the level at which it would be full. */
struct candidate {
    uint64_t level;
    uint32_t nic;
};

struct flows {
    uint64_t now_ns;  /* All cards have served until then. */
    uint64_t next_ns; /* Unless changed; exactly. */
    uint64_t grain_ns;
    bool changed; /* Since then flows have begun or ended, */
    bool unlike;  /* and not only in a way that adjust() can deal with: */
    uint32_t newcomers[TOUCHED_MOST], newcomer_count; /* these have begun, */
    uint32_t touched[TOUCHED_MOST], touched_count;    /* flows on these have ended. */
    uint32_t filling;                                 /* Its number. */
    uint32_t nic_count, used_count, bottleneck_count;
    struct nic *nics;             /* [nic_count + 1] with the spare one. */
    struct room *rooms;           /* [nic_count + 1] */
    uint32_t *used;               /* [used_count] cards that have flows. */
    uint32_t *bottlenecks;        /* [bottleneck_count] of the last filling. */
    struct candidate *candidates; /* [nic_count] a heap, while filling. */
    struct flow *flows;           /* [flow_count] */
    struct standing *standings;   /* [flow_count] */
    uint64_t *ended;              /* [flow_count] room for all. */
    size_t flow_count, flow_capacity, standing_capacity, ended_capacity, reserved;
    uint32_t live_count, first_free;
};

/* --- creation --------------------------------------------------------------------------------- */

static bool flows_allocate(struct flows *flows)
{
    size_t nics = (size_t)flows->nic_count + 1;
    flows->nics = calloc(nics, sizeof *flows->nics);
    flows->rooms = calloc(nics, sizeof *flows->rooms);
    flows->used = calloc(nics, sizeof *flows->used);
    flows->bottlenecks = calloc(nics, sizeof *flows->bottlenecks);
    flows->candidates = calloc(nics, sizeof *flows->candidates);
    return flows->nics != NULL && flows->rooms != NULL && flows->used != NULL &&
           flows->bottlenecks != NULL && flows->candidates != NULL;
}

struct flows *flows_create(const uint64_t *rates, uint32_t nic_count)
{
    struct flows *flows = calloc(1, sizeof *flows);
    if (flows == NULL)
        return NULL;
    flows->nic_count = nic_count;
    if (!flows_allocate(flows)) {
        flows_free(flows);
        return NULL;
    }
    flows->next_ns = FLOWS_NEVER;
    flows->grain_ns = 1;
    flows->first_free = NOBODY;
    for (uint32_t c = 0; c < nic_count; c++) {
        assert(rates[c] >= 1 && rates[c] <= FLOWS_RATE_MOST);
        flows->nics[c].rate = rates[c] * FLOWS_RATE_UNIT;
    }
    return flows;
}

void flows_free(struct flows *flows)
{
    if (flows == NULL)
        return;
    for (uint32_t c = 0; flows->nics != NULL && c <= flows->nic_count; c++) {
        free(flows->nics[c].edges);
        free(flows->nics[c].heap);
    }
    free(flows->nics);
    free(flows->rooms);
    free(flows->used);
    free(flows->bottlenecks);
    free(flows->candidates);
    free(flows->flows);
    free(flows->standings);
    free(flows->ended);
    free(flows);
}

/* --- a card's heap of ends -------------------------------------------------------------------- */

static void heap_put(struct flows *flows, struct nic *nic, size_t place, struct finish finish)
{
    nic->heap[place] = finish;
    if (place == 0)
        nic->end_level = 0;
    flows->flows[finish.flow].place = (uint32_t)place;
}

/* The finish that is to go to `place` or above or below it. */
static void heap_settle(struct flows *flows, struct nic *nic, size_t place, struct finish finish)
{
    for (; place > 0 && finish.served < nic->heap[(place - 1) / 2].served; place = (place - 1) / 2)
        heap_put(flows, nic, place, nic->heap[(place - 1) / 2]);
    for (size_t child; (child = 2 * place + 1) < nic->heap_count; place = child) {
        if (child + 1 < nic->heap_count && nic->heap[child + 1].served < nic->heap[child].served)
            child++;
        if (finish.served <= nic->heap[child].served)
            break;
        heap_put(flows, nic, place, nic->heap[child]);
    }
    heap_put(flows, nic, place, finish);
}

static void heap_add(struct flows *flows, struct nic *nic, struct finish finish)
{
    assert(nic->heap_count < nic->heap_capacity);
    nic->heap_count++;
    heap_settle(flows, nic, nic->heap_count - 1, finish);
}

static void heap_remove(struct flows *flows, struct nic *nic, size_t place)
{
    assert(place < nic->heap_count);
    if (place == 0)
        nic->end_level = 0;
    struct finish last = nic->heap[--nic->heap_count];
    if (place < nic->heap_count)
        heap_settle(flows, nic, place, last);
}

/* --- flows on cards --------------------------------------------------------------------------- */

/* All flows are served until then. */
static void serve(struct flows *flows, uint64_t now_ns)
{
    uint64_t passed = now_ns - flows->now_ns;
    if (passed == 0)
        return;
    /* The change since then counts for the time that has passed. */
    uint64_t next_ns = flows_next(flows);
    assert(now_ns > flows->now_ns && now_ns <= next_ns);
    flows->now_ns = now_ns;
    for (uint32_t i = 0; i < flows->bottleneck_count; i++) {
        struct nic *nic = &flows->nics[flows->bottlenecks[i]];
        nic->served += (amount)nic->level * passed;
    }
}

static bool make_room_on(struct nic *nic)
{
    struct edge *edges = array_room(nic->edges, nic->reserved, &nic->edge_capacity, sizeof *edges);
    if (edges == NULL)
        return false;
    nic->edges = edges;
    struct finish *heap = array_room(nic->heap, nic->reserved, &nic->heap_capacity, sizeof *heap);
    if (heap == NULL)
        return false;
    nic->heap = heap;
    return true;
}

static bool make_room(struct flows *flows)
{
    struct flow *list =
        array_room(flows->flows, flows->reserved, &flows->flow_capacity, sizeof *list);
    if (list == NULL)
        return false;
    flows->flows = list;
    struct standing *standings =
        array_room(flows->standings, flows->reserved, &flows->standing_capacity, sizeof *standings);
    if (standings == NULL)
        return false;
    flows->standings = standings;
    uint64_t *ended =
        array_room(flows->ended, flows->reserved, &flows->ended_capacity, sizeof *ended);
    if (ended == NULL)
        return false;
    flows->ended = ended;
    return true;
}

/* With the spare card in place of a missing second one. */
static struct way both_of(const struct flows *flows, struct way way)
{
    if (way.second == FLOWS_NO_NIC)
        way.second = flows->nic_count;
    assert(way.first < flows->nic_count && way.second <= flows->nic_count);
    assert(way.first != way.second);
    return way;
}

enum status flows_reserve(struct flows *flows, struct way way)
{
    way = both_of(flows, way);
    struct nic *first = &flows->nics[way.first], *second = &flows->nics[way.second];
    if (!make_room(flows) || !make_room_on(first) || !make_room_on(second))
        return STATUS_MEMORY;
    flows->reserved++;
    first->reserved++;
    second->reserved++;
    return STATUS_OK;
}

void flows_unreserve(struct flows *flows, struct way way)
{
    way = both_of(flows, way);
    assert(flows->live_count < flows->reserved);
    flows->reserved--;
    flows->nics[way.first].reserved--;
    flows->nics[way.second].reserved--;
}

static void put_on(struct flows *flows, uint32_t flow, int side)
{
    uint32_t number = flows->flows[flow].nic[side];
    if (number == flows->nic_count)
        return;
    struct nic *nic = &flows->nics[number];
    if (nic->edge_count == 0) {
        nic->place = flows->used_count;
        flows->used[flows->used_count++] = number;
        flows->rooms[number].units = nic->rate;
    }
    assert(nic->edge_count < nic->reserved);
    flows->flows[flow].edge[side] = (uint32_t)nic->edge_count;
    nic->edges[nic->edge_count++] = (struct edge){flow, flows->flows[flow].nic[!side]};
}

static void take_off(struct flows *flows, uint32_t flow, int side)
{
    uint32_t number = flows->flows[flow].nic[side], place = flows->flows[flow].edge[side];
    if (number == flows->nic_count)
        return;
    struct nic *nic = &flows->nics[number];
    struct edge last = nic->edges[--nic->edge_count];
    if (place < nic->edge_count) {
        nic->edges[place] = last;
        struct flow *moved = &flows->flows[last.flow];
        moved->edge[moved->nic[0] != number] = place;
    }
    if (nic->edge_count == 0) {
        uint32_t other = flows->used[--flows->used_count];
        flows->used[nic->place] = other;
        flows->nics[other].place = nic->place;
    }
}

static uint32_t flow_number(struct flows *flows)
{
    uint32_t number = flows->first_free;
    if (number == NOBODY)
        return (uint32_t)flows->flow_count++;
    flows->first_free = flows->flows[number].next_free;
    return number;
}

uint32_t flows_begin(struct flows *flows, struct way way, uint64_t bytes, uint64_t tag,
                     uint64_t now_ns)
{
    assert(bytes >= 1 && bytes <= FLOWS_BYTES_MOST && flows->live_count < flows->reserved);
    way = both_of(flows, way);
    serve(flows, now_ns);
    uint32_t flow = flow_number(flows);
    flows->flows[flow] = (struct flow){.left = (amount)bytes * FLOWS_RATE_UNIT * SECOND,
                                       .tag = tag,
                                       .nic = {way.first, way.second}};
    flows->standings[flow] = (struct standing){.bottleneck = NOBODY};
    put_on(flows, flow, 0);
    put_on(flows, flow, 1);
    flows->live_count++;
    flows->changed = true;
    if (flows->newcomer_count < TOUCHED_MOST)
        flows->newcomers[flows->newcomer_count++] = flow;
    else
        flows->unlike = true;
    return flow;
}

static void touch(struct flows *flows, uint32_t nic)
{
    if (flows->touched_count < TOUCHED_MOST)
        flows->touched[flows->touched_count++] = nic;
    else
        flows->unlike = true;
}

/* Release its share of its cards. */
static void give_back(struct flows *flows, uint32_t flow)
{
    uint32_t bottleneck = flows->standings[flow].bottleneck;
    const uint32_t *nics = flows->flows[flow].nic;
    if (bottleneck == NOBODY) {
        flows->unlike = true; /* A new flow. */
        return;
    }
    uint32_t other = nics[nics[0] == bottleneck];
    flows->rooms[other].units += flows->nics[bottleneck].level;
    touch(flows, bottleneck);
    if (flows->rooms[other].full)
        touch(flows, other);
}

/* Remove it from its card's heap. */
static void forget(struct flows *flows, uint32_t flow)
{
    give_back(flows, flow);
    take_off(flows, flow, 0);
    take_off(flows, flow, 1);
    flows->standings[flow].bottleneck = NOBODY;
    flows->flows[flow].next_free = flows->first_free;
    flows->first_free = flow;
    flows->live_count--;
    flows->changed = true;
}

void flows_stop(struct flows *flows, uint32_t flow, uint64_t now_ns)
{
    serve(flows, now_ns);
    uint32_t bottleneck = flows->standings[flow].bottleneck;
    if (bottleneck != NOBODY)
        heap_remove(flows, &flows->nics[bottleneck], flows->flows[flow].place);
    forget(flows, flow);
}

/* --- sharing ---------------------------------------------------------------------------------- */

static bool fills_before(struct candidate a, struct candidate b)
{
    return a.level < b.level || (a.level == b.level && a.nic < b.nic);
}

/* The candidate at `place` goes down to where it belongs. */
static void candidate_sink(struct candidate *heap, size_t count, size_t place)
{
    struct candidate candidate = heap[place];
    for (size_t child; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && fills_before(heap[child + 1], heap[child]))
            child++;
        if (!fills_before(heap[child], candidate))
            break;
        heap[place] = heap[child];
    }
    heap[place] = candidate;
}

static size_t open_rooms(struct flows *flows)
{
    size_t count = flows->used_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = flows->used[i];
        const struct nic *nic = &flows->nics[number];
        flows->rooms[number] = (struct room){nic->rate, (uint32_t)nic->edge_count, false};
        flows->candidates[i] = (struct candidate){nic->rate / nic->edge_count, number};
    }
    for (size_t i = count / 2; i-- > 0;)
        candidate_sink(flows->candidates, count, i);
    return count;
}

/* A flow's bottleneck is another than before. */
static void move_to(struct flows *flows, uint32_t flow, uint32_t number)
{
    uint32_t before = flows->standings[flow].bottleneck;
    amount left = flows->flows[flow].left;
    if (before != NOBODY) {
        struct nic *old = &flows->nics[before];
        uint32_t place = flows->flows[flow].place;
        /* Less than half a nanosecond's amount is missing: it ends at once. */
        left = old->heap[place].served > old->served ? old->heap[place].served - old->served : 0;
        heap_remove(flows, old, place);
    }
    struct nic *nic = &flows->nics[number];
    heap_add(flows, nic, (struct finish){nic->served + left, flow});
    flows->standings[flow].bottleneck = number;
}

/* A card is full: its flows that are not set yet have this level. */
static uint32_t set_flows_of(struct flows *flows, uint32_t number, uint64_t level)
{
    struct nic *nic = &flows->nics[number];
    uint32_t set = 0;
    for (size_t i = 0; i < nic->edge_count; i++) {
        struct edge edge = nic->edges[i];
        struct standing *standing = &flows->standings[edge.flow];
        if (standing->filling == flows->filling)
            continue;
        standing->filling = flows->filling;
        struct room *room = &flows->rooms[edge.other];
        room->units -= level;
        room->flows--;
        set++;
        if (standing->bottleneck != number)
            move_to(flows, edge.flow, number);
    }
    nic->level = level;
    flows->rooms[number].full = true;
    flows->bottlenecks[flows->bottleneck_count++] = number;
    return set;
}

static void begin_filling(struct flows *flows)
{
    for (uint32_t i = 0; i < flows->bottleneck_count; i++)
        flows->rooms[flows->bottlenecks[i]].full = false;
    flows->bottleneck_count = 0;
    if (++flows->filling == 0) { /* Once in four thousand million: no number of before is left. */
        for (size_t i = 0; i < flows->flow_count; i++)
            flows->standings[i].filling = 0;
        flows->filling = 1;
    }
}

/* The level at which a card would be full only rises while other cards' flows are set: they get
 * less than this card would have given them. Therefore a candidate is checked again when it is the
 * lowest. */
static void fill(struct flows *flows)
{
    begin_filling(flows);
    size_t count = open_rooms(flows);
    for (uint32_t left = flows->live_count; left > 0;) {
        struct candidate *top = &flows->candidates[0];
        struct room room = flows->rooms[top->nic];
        if (room.flows == 0) {
            *top = flows->candidates[--count];
        } else if (room.units / room.flows != top->level) {
            top->level = room.units / room.flows;
        } else {
            assert(top->level > 0);
            left -= set_flows_of(flows, top->nic, top->level);
            *top = flows->candidates[--count];
        }
        candidate_sink(flows->candidates, count, 0);
    }
}

/* --- adjusting -------------------------------------------------------------------------------- */

static uint64_t room_of(const struct flows *flows, uint32_t nic)
{
    return nic == flows->nic_count ? UINT64_MAX : flows->rooms[nic].units;
}

/* A new flow takes all that one of its cards has left. False: other flows there are faster. */
static bool open_bottleneck(struct flows *flows, uint32_t flow)
{
    const uint32_t *nics = flows->flows[flow].nic;
    bool is_second = room_of(flows, nics[1]) < room_of(flows, nics[0]);
    uint32_t number = nics[is_second], other = nics[!is_second];
    struct nic *nic = &flows->nics[number];
    uint64_t level = flows->rooms[number].units;
    for (size_t i = 0; i < nic->edge_count; i++) {
        uint32_t bottleneck = flows->standings[nic->edges[i].flow].bottleneck;
        if (bottleneck != NOBODY && flows->nics[bottleneck].level > level)
            return false;
    }
    if (level == 0)
        return false;
    move_to(flows, flow, number);
    nic->level = level;
    flows->rooms[number].full = true;
    flows->bottlenecks[flows->bottleneck_count++] = number;
    flows->rooms[other].units -= level;
    return true;
}

/* A card that is no longer a bottleneck has room for others. */
static void close_bottleneck(struct flows *flows, uint32_t number)
{
    uint32_t i = 0;
    while (flows->bottlenecks[i] != number)
        i++;
    flows->bottlenecks[i] = flows->bottlenecks[--flows->bottleneck_count];
    flows->rooms[number].full = false;
}

/* A new flow with one bottleneck among its cards takes that one and, for now, its level; with two
 * it takes the lower. */
static bool adopt(struct flows *flows, uint32_t flow)
{
    const uint32_t *nics = flows->flows[flow].nic;
    bool first = flows->rooms[nics[0]].full, second = flows->rooms[nics[1]].full;
    if (!first && !second)
        return open_bottleneck(flows, flow);
    bool is_second =
        first ? second && flows->nics[nics[1]].level < flows->nics[nics[0]].level : second;
    uint32_t bottleneck = nics[is_second], other = nics[!is_second];
    uint64_t level = flows->nics[bottleneck].level;
    if (other != flows->nic_count && flows->rooms[other].units < level)
        return false;
    flows->rooms[other].units -= level;
    move_to(flows, flow, bottleneck);
    touch(flows, bottleneck);
    if (flows->rooms[other].full)
        touch(flows, other);
    return true;
}

/* Set the level of a card for the flows whose bottleneck it is. False: it is no longer their
 * bottleneck, or some other flow has another one now. */
static bool set_level(struct flows *flows, uint32_t number, uint64_t level)
{
    struct nic *nic = &flows->nics[number];
    uint64_t before = nic->level;
    for (size_t i = 0; i < nic->edge_count; i++) {
        struct edge edge = nic->edges[i];
        uint32_t bottleneck = flows->standings[edge.flow].bottleneck;
        struct room *room = &flows->rooms[edge.other];
        if (bottleneck != number) {
            if (flows->nics[bottleneck].level > level)
                return false; /* It would be faster here than the card's own. */
            continue;
        }
        if (edge.other != flows->nic_count && room->units + before < level)
            return false;
        room->units += before - level;
        if (room->full && level != before)
            touch(flows, edge.other);
    }
    nic->level = level;
    return true;
}

/* True: all is max-min fair again. False: the stored levels are invalid. */
static bool adjust(struct flows *flows)
{
    for (uint32_t i = 0; i < flows->newcomer_count && !flows->unlike; i++)
        if (!adopt(flows, flows->newcomers[i]))
            return false;
    for (uint32_t i = 0; i < flows->touched_count && !flows->unlike; i++) {
        uint32_t number = flows->touched[i];
        const struct nic *nic = &flows->nics[number];
        if (nic->heap_count == 0 && flows->rooms[number].full)
            close_bottleneck(flows, number);
        if (nic->heap_count == 0)
            continue;
        uint64_t level = flows->rooms[number].units / nic->heap_count;
        if (level == 0 || !set_level(flows, number, level))
            return false;
    }
    return !flows->unlike;
}

static void share(struct flows *flows)
{
    if (!adjust(flows))
        fill(flows);
    flows->unlike = false;
    flows->newcomer_count = flows->touched_count = 0;
}

/* --- time ------------------------------------------------------------------------------------- */

/* In the nearest whole nanosecond. */
static uint64_t end_of(const struct flows *flows, const struct nic *nic)
{
    amount served = nic->heap[0].served;
    amount left = served > nic->served ? served - nic->served : 0;
    amount ns = (2 * left + nic->level) / (2 * (amount)nic->level);
    return ns < FLOWS_NEVER - flows->now_ns ? flows->now_ns + (uint64_t)ns : FLOWS_NEVER - 1;
}

static void find_next(struct flows *flows)
{
    flows->next_ns = FLOWS_NEVER;
    for (uint32_t i = 0; i < flows->bottleneck_count; i++) {
        struct nic *nic = &flows->nics[flows->bottlenecks[i]];
        if (nic->end_level != nic->level) {
            nic->end_ns = end_of(flows, nic);
            nic->end_level = nic->level;
        }
        if (nic->end_ns < flows->next_ns)
            flows->next_ns = nic->end_ns;
    }
}

void flows_set_grain(struct flows *flows, uint64_t grain_ns)
{
    assert(grain_ns > 0 && (grain_ns & (grain_ns - 1)) == 0);
    flows->grain_ns = grain_ns;
}

uint64_t flows_next(struct flows *flows)
{
    if (flows->changed) {
        share(flows);
        find_next(flows);
        flows->changed = false;
    }
    uint64_t beyond = flows->grain_ns - 1;
    return flows->next_ns < FLOWS_NEVER - beyond ? (flows->next_ns + beyond) & ~beyond
                                                 : flows->next_ns;
}

/* Those of the card that are at their end, to half a nanosecond. */
static size_t end_flows_of(struct flows *flows, struct nic *nic, size_t count)
{
    while (nic->heap_count > 0 && 2 * nic->heap[0].served <= 2 * nic->served + nic->level) {
        uint32_t flow = nic->heap[0].flow;
        flows->ended[count++] = flows->flows[flow].tag;
        heap_remove(flows, nic, 0);
        forget(flows, flow);
    }
    return count;
}

const uint64_t *flows_advance(struct flows *flows, uint64_t now_ns, size_t *count)
{
    uint64_t next_ns = flows_next(flows);
    assert(now_ns <= next_ns);
    serve(flows, now_ns);
    *count = 0;
    if (now_ns < next_ns)
        return flows->ended;
    for (uint32_t i = 0; i < flows->bottleneck_count; i++) {
        struct nic *nic = &flows->nics[flows->bottlenecks[i]];
        if (nic->end_ns <= now_ns)
            *count = end_flows_of(flows, nic, *count);
    }
    return flows->ended;
}

/* --- looking ---------------------------------------------------------------------------------- */

uint32_t flows_count(const struct flows *flows)
{
    return flows->live_count;
}

uint64_t flows_rate(struct flows *flows, uint32_t flow)
{
    flows_next(flows);
    assert(flows->standings[flow].bottleneck != NOBODY);
    return flows->nics[flows->standings[flow].bottleneck].level;
}
