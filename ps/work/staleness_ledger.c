/* staleness_ledger.c - three tallies a server, and one of what is over. */

#include "ps/work/staleness_ledger.h"

#include <math.h>
#include <stdlib.h>

enum status staleness_ledger_init(struct staleness_ledger *ledger, uint32_t server_count,
                                  uint64_t step)
{
    *ledger = (struct staleness_ledger){.kept_step = step};
    ledger->servers = calloc(server_count, sizeof *ledger->servers);
    if (ledger->servers == NULL)
        return STATUS_MEMORY;
    ledger->server_count = server_count;
    return STATUS_OK;
}

void staleness_ledger_free(struct staleness_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->server_count; i++) {
        staleness_tally_free(&ledger->servers[i].live);
        staleness_tally_free(&ledger->servers[i].at_cut);
        staleness_tally_free(&ledger->servers[i].kept);
    }
    free(ledger->servers);
    staleness_tally_free(&ledger->earlier);
    ledger->servers = NULL;
    ledger->server_count = 0;
}

/* Its workers move with it. */
static void move(struct staleness_tally *to, struct staleness_tally *from)
{
    staleness_tally_free(to);
    *to = *from;
    from->workers = NULL;
    staleness_tally_free(from);
}

void staleness_ledger_hear(struct staleness_ledger *ledger, uint32_t server,
                           const struct frame *frame)
{
    struct staleness_tally said = {0};
    if (frame == NULL || server >= ledger->server_count)
        return;
    struct staleness_tally *live = &ledger->servers[server].live;
    if (staleness_tally_read(&said, frame) != STATUS_INVALID &&
        said.all.shape.count >= live->all.shape.count)
        move(live, &said);
    staleness_tally_free(&said);
}

void staleness_ledger_cut(struct staleness_ledger *ledger, uint32_t server)
{
    struct ledger_place *place = &ledger->servers[server];
    staleness_tally_free(&place->at_cut);
    staleness_tally_add(&place->at_cut, &place->live);
}

void staleness_ledger_keep(struct staleness_ledger *ledger, uint64_t step)
{
    ledger->kept_step = step;
    for (uint32_t i = 0; i < ledger->server_count; i++)
        move(&ledger->servers[i].kept, &ledger->servers[i].at_cut);
}

void staleness_ledger_go_back(struct staleness_ledger *ledger, uint64_t step)
{
    bool known = step == ledger->kept_step;
    for (uint32_t i = 0; i < ledger->server_count; i++) {
        struct ledger_place *place = &ledger->servers[i];
        if (known)
            staleness_tally_add(&ledger->earlier, &place->kept);
        staleness_tally_free(&place->live);
        staleness_tally_free(&place->at_cut);
        staleness_tally_free(&place->kept);
    }
    if (!known)
        staleness_tally_free(&ledger->earlier);
    ledger->kept_step = step;
}

void staleness_ledger_total(const struct staleness_ledger *ledger, struct staleness_tally *tally)
{
    staleness_tally_add(tally, &ledger->earlier);
    for (uint32_t i = 0; i < ledger->server_count; i++)
        staleness_tally_add(tally, &ledger->servers[i].live);
}

struct frame *staleness_ledger_shape(const struct staleness_ledger *ledger)
{
    uint64_t max;
    struct frame *frame =
        isnan(staleness_ledger_mean(ledger, &max)) ? NULL : frame_create(sizeof(struct histogram));
    if (frame == NULL)
        return NULL;
    struct histogram *shape = frame->data;
    *shape = ledger->earlier.all.shape;
    for (uint32_t i = 0; i < ledger->server_count; i++)
        histogram_merge(shape, &ledger->servers[i].live.all.shape);
    return frame;
}

double staleness_ledger_mean(const struct staleness_ledger *ledger, uint64_t *max)
{
    const struct histogram *shape = &ledger->earlier.all.shape;
    uint64_t count = shape->count, sum = shape->sum;
    *max = shape->max;
    for (uint32_t i = 0; i < ledger->server_count; i++) {
        shape = &ledger->servers[i].live.all.shape;
        count += shape->count;
        sum += shape->sum;
        *max = shape->max > *max ? shape->max : *max;
    }
    return count > 0 ? (double)sum / (double)count : (double)NAN;
}
