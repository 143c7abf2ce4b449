/* owner_figures.c - the newest frame of each owner, added up on request. */

#include "ps/extension/owner_figures.h"

#include <stdlib.h>

enum status owner_figures_init(struct owner_figures *figures, uint32_t owner_count)
{
    *figures = (struct owner_figures){.owner_count = owner_count};
    figures->owners = calloc(owner_count, sizeof(struct frame *));
    return figures->owners != NULL ? STATUS_OK : STATUS_MEMORY;
}

void owner_figures_forget(struct owner_figures *figures)
{
    for (uint32_t i = 0; figures->owners != NULL && i < figures->owner_count; i++) {
        frame_release(figures->owners[i]);
        figures->owners[i] = NULL;
    }
    frame_release(figures->at_snapshot);
    figures->at_snapshot = NULL;
    figures->news = false;
}

void owner_figures_free(struct owner_figures *figures)
{
    owner_figures_forget(figures);
    free(figures->owners);
    figures->owners = NULL;
}

void owner_figures_put(struct owner_figures *figures, uint32_t owner, struct frame *frame)
{
    if (frame == NULL)
        return;
    frame_release(figures->owners[owner]);
    figures->owners[owner] = frame;
    figures->news = true;
}

/* NULL: no owner has reported, or there is no memory. */
static struct frame *add_up(const struct owner_figures *figures)
{
    struct staleness_tally tally = {0};
    bool any = false;
    for (uint32_t i = 0; i < figures->owner_count; i++) {
        if (figures->owners[i] == NULL)
            continue;
        any = true;
        staleness_tally_read(&tally, figures->owners[i]);
    }
    struct frame *frame = any ? staleness_tally_frame(&tally) : NULL;
    staleness_tally_free(&tally);
    return frame;
}

void owner_figures_snapshot(struct owner_figures *figures)
{
    frame_release(figures->at_snapshot);
    figures->at_snapshot = add_up(figures);
}

struct frame *owner_figures_at_snapshot(const struct owner_figures *figures)
{
    return figures->at_snapshot != NULL ? frame_retain(figures->at_snapshot) : NULL;
}

struct frame *owner_figures_news(struct owner_figures *figures)
{
    bool news = figures->news;
    figures->news = false;
    return news ? add_up(figures) : NULL;
}
