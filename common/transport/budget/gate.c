/* gate.c - credit that strangers have, refilled with time and shared among them, and the chance of
 * getting in, halved and doubled as they come. */

#include "common/transport/budget/gate.h"

#define AHEAD_ALL   (96u << 10)
#define AHEAD_LEAST 256u       /* A JOIN. */
#define AHEAD_MOST  (5u << 10) /* More than any header. */

#define FRAME_COST 128 /* Hearing any message takes as long as so many bytes of a long one. */

#define ENTRIES_STORE  2048
#define ENTRIES_SECOND 300u
#define CHANCE_LEAST   (1u << 26)

struct terms {
    int64_t first, most;          /* Credit. */
    uint64_t all, least, highest; /* A second: of all of them; of one. */
};

static const struct terms busy = {1024, 16384, 128 << 10, 64, 32 << 10};
static const struct terms idle = {32768, 1 << 20, 16 << 20, 8192, 16 << 20};

static const struct terms *terms_of(const struct gate *gate)
{
    return gate->busy ? &busy : &idle;
}

/* Of something that all of them share, within what one may have. */
static uint64_t share(const struct gate *gate, uint64_t all, uint64_t least, uint64_t most)
{
    uint64_t each = gate->strangers > 0 ? all / gate->strangers : all;
    return each < least ? least : each > most ? most : each;
}

void gate_init(struct gate *gate)
{
    *gate = (struct gate){.entries = ENTRIES_STORE, .chance = GATE_OPEN};
}

uint64_t gate_ahead(const struct gate *gate)
{
    return share(gate, AHEAD_ALL, AHEAD_LEAST, AHEAD_MOST);
}

int64_t gate_first(const struct gate *gate)
{
    return terms_of(gate)->first;
}

int64_t gate_refill(const struct gate *gate, int64_t credit, uint64_t elapsed_us)
{
    const struct terms *terms = terms_of(gate);
    uint64_t second = share(gate, terms->all, terms->least, terms->highest);
    credit += (int64_t)(second * elapsed_us / 1000000);
    return credit < terms->most ? credit : terms->most;
}

int64_t gate_charge(int64_t credit, uint64_t frames, uint64_t bytes)
{
    return credit - (int64_t)(frames * FRAME_COST + bytes);
}

/* Nobody knows how many knock: when the store is overdrawn the chance is halved until no more than
 * so many a second come in. They come in waves, all who were turned away at once a second later, so
 * between waves it is doubled although the store is empty: or the few who knock then, and need not
 * be strangers for ever, would be turned away for nothing. */
void gate_count(struct gate *gate, uint64_t came, uint64_t elapsed_us)
{
    uint64_t usual = ENTRIES_SECOND * elapsed_us / 1000000;
    gate->entries += (int64_t)usual - (int64_t)came;
    if (gate->entries > ENTRIES_STORE)
        gate->entries = ENTRIES_STORE;
    if (gate->entries < -ENTRIES_STORE)
        gate->entries = -ENTRIES_STORE;
    if (gate->entries < 0 && came > usual)
        gate->chance = gate->chance / 2 > CHANCE_LEAST ? gate->chance / 2 : CHANCE_LEAST;
    else if (gate->entries >= 0 || came < usual / 2)
        gate->chance = gate->chance < GATE_OPEN / 2 ? 2 * gate->chance : GATE_OPEN;
}
