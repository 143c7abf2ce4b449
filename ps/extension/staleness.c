/* staleness.c - counts each gradient, and adds all up for a report. */

#include "ps/extension/staleness.h"

#include <string.h>

#include "ps/orders/orders.h"

#define FIGURES_US 500000u /* Between two reports while it trains. */

static void staleness_forget(void *state, uint32_t chunk_count, bool ends)
{
    struct owner_staleness *owner = state;
    memset(owner, 0, sizeof *owner);
    for (uint32_t i = 0; i < chunk_count; i++) {
        struct staleness_counters *counters = &owner->chunks[i];
        if (ends)
            staleness_counters_free(counters);
        else if (counters->worker_count > 0)
            memset(counters->entries, 0, counters->worker_count * sizeof *counters->entries);
    }
}

static void staleness_loaded(void *state, const struct chunk_news *news)
{
    struct owner_staleness *owner = state;
    owner->chunks[news->place].first = news->chunk->version;
}

/* The tally of all counters, for a report; NULL where nothing grows stale, or without memory. */
static void staleness_snapshot(void *state, const struct chunk_news *news, struct packet *report)
{
    struct owner_staleness *owner = state;
    struct staleness_tally tally = {.all.shape = owner->shape};
    if (job_mode(&news->plan->job)->steps)
        return;
    for (uint32_t i = 0; i < news->chunk_count; i++)
        staleness_tally_add_counters(&tally, &owner->chunks[i]);
    report->payload = staleness_tally_frame(&tally);
    staleness_tally_free(&tally);
}

/* The gradient has made an update, maybe by nothing, or waits for others. */
static void staleness_applied(void *state, const struct chunk_news *news)
{
    struct owner_staleness *owner = state;
    if (job_mode(&news->plan->job)->steps)
        return;
    const struct message *message = &news->packet->message;
    bool made = news->chunk->pending.members == 0;
    if (staleness_counters_add(&owner->chunks[news->place], &owner->shape, message->index,
                               message->exchange.base_version, news->chunk->version - made,
                               made) != STATUS_OK)
        outbox_warn(news->outbox,
                    "out of memory for figures: a gradient's staleness is not counted");
    if (news->now_us - owner->reported_us < FIGURES_US)
        return;
    owner->reported_us = news->now_us;
    const struct order order = {
        .kind = ORDER_FIGURES, .from = news->owner, .generation = news->generation};
    staleness_snapshot(owner, news, order_add(news->outbox, TO_ROUTER, 0, &order));
}

const struct chunk_listener staleness_listener = {
    .bytes = sizeof(struct owner_staleness),
    .chunk_bytes = sizeof(struct staleness_counters),
    .forget = staleness_forget,
    .loaded = staleness_loaded,
    .applied = staleness_applied,
    .snapshot = staleness_snapshot,
};
