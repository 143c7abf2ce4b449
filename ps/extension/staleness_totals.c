/* staleness_totals.c - three tallies a server, and one of earlier processes. */

#include "ps/extension/staleness_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status staleness_totals_init(struct staleness_totals *totals, uint32_t server_count,
                                  uint64_t step)
{
    *totals = (struct staleness_totals){.kept_step = step};
    totals->servers = calloc(server_count, sizeof *totals->servers);
    if (totals->servers == NULL)
        return STATUS_MEMORY;
    totals->server_count = server_count;
    return STATUS_OK;
}

void staleness_totals_free(struct staleness_totals *totals)
{
    for (uint32_t i = 0; i < totals->server_count; i++) {
        staleness_tally_free(&totals->servers[i].live);
        staleness_tally_free(&totals->servers[i].at_snapshot);
        staleness_tally_free(&totals->servers[i].kept);
    }
    free(totals->servers);
    staleness_tally_free(&totals->earlier);
    totals->servers = NULL;
    totals->server_count = 0;
}

/* Its workers move with it. */
static void move(struct staleness_tally *to, struct staleness_tally *from)
{
    staleness_tally_free(to);
    *to = *from;
    from->workers = NULL;
    staleness_tally_free(from);
}

void staleness_totals_hear(struct staleness_totals *totals, uint32_t server,
                           const struct frame *frame)
{
    if (frame == NULL || server >= totals->server_count)
        return;
    struct staleness_tally said = {0};
    struct staleness_tally *live = &totals->servers[server].live;
    if (staleness_tally_read(&said, frame) != STATUS_INVALID &&
        said.all.shape.count >= live->all.shape.count)
        move(live, &said);
    staleness_tally_free(&said);
}

void staleness_totals_snapshot(struct staleness_totals *totals, uint32_t server)
{
    struct totals_place *place = &totals->servers[server];
    staleness_tally_free(&place->at_snapshot);
    staleness_tally_add(&place->at_snapshot, &place->live);
}

void staleness_totals_keep(struct staleness_totals *totals, uint64_t step)
{
    totals->kept_step = step;
    for (uint32_t i = 0; i < totals->server_count; i++)
        move(&totals->servers[i].kept, &totals->servers[i].at_snapshot);
}

void staleness_totals_go_back(struct staleness_totals *totals, uint64_t step)
{
    bool known = step == totals->kept_step;
    for (uint32_t i = 0; i < totals->server_count; i++) {
        struct totals_place *place = &totals->servers[i];
        if (known)
            staleness_tally_add(&totals->earlier, &place->kept);
        staleness_tally_free(&place->live);
        staleness_tally_free(&place->at_snapshot);
        staleness_tally_free(&place->kept);
    }
    if (!known)
        staleness_tally_free(&totals->earlier);
    totals->kept_step = step;
}

void staleness_totals_sum(const struct staleness_totals *totals, struct staleness_tally *tally)
{
    staleness_tally_add(tally, &totals->earlier);
    for (uint32_t i = 0; i < totals->server_count; i++)
        staleness_tally_add(tally, &totals->servers[i].live);
}

static struct histogram all_shapes(const struct staleness_totals *totals)
{
    struct histogram all = totals->earlier.all.shape;
    for (uint32_t i = 0; i < totals->server_count; i++)
        histogram_merge(&all, &totals->servers[i].live.all.shape);
    return all;
}

struct frame *staleness_totals_shape(const struct staleness_totals *totals)
{
    const struct histogram all = all_shapes(totals);
    struct frame *frame = all.count > 0 ? frame_create(sizeof all) : NULL;
    if (frame != NULL)
        memcpy(frame->data, &all, sizeof all);
    return frame;
}

double staleness_totals_mean(const struct staleness_totals *totals, uint64_t *max)
{
    const struct histogram all = all_shapes(totals);
    *max = all.max;
    return all.count > 0 ? (double)all.sum / (double)all.count : (double)NAN;
}
