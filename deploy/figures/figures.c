/* figures.c - which figures there are, what they are called, and how each is read. */

#include "deploy/figures/figures.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/figures/curves_figure.h"
#include "deploy/figures/shapes_figure.h"
#include "deploy/figures/times_figure.h"

static const struct {
    const char *name;
    char *(*draw)(const struct comparison *comparison);
    const char *caption;
} drawings[FIGURE_COUNT] = {
    {"loss-time", figure_loss_over_time,
     "How fast the loss falls on the clock: what somebody who waits for a model sees. A mode can "
     "make "
     "more updates a second and still be no further, when each of them helps less. The clock "
     "stands while the model is evaluated and saved: it is that of the table's seconds."},
    {"loss-step", figure_loss_over_step,
     "The same losses against the number of batches: how much each helped, however long it "
     "took. Each makes an update, or with --accumulate several make one. Synchronous lines for "
     "different numbers of workers lie on each other, because the "
     "updates are the same to the bit; the dashes let the lower lines show. An asynchronous update "
     "is made from parameters that others have changed meanwhile, and may help less."},
    {"accuracy-epoch", figure_accuracy,
     "The share of right answers on the test set after each epoch. In sync mode the model is "
     "exactly "
     "the epoch's last version; in async mode it is read while others update it, as any worker "
     "would read it."},
    {"staleness", figure_staleness,
     "How many updates others made between a worker's reading of the parameters and the use of the "
     "gradient it computed from them. In sync mode it is 0 by construction. In async mode it is "
     "about the number of workers less one, more for a worker slower than the rest. Ssp limits by "
     "how many batches workers may be apart; whoever has waited for that computes from the newest "
     "parameters, which lowers it. Of the updates that stand: what was undone when all went back "
     "to a "
     "checkpoint is not in it. Below: what has to be the same, added up in every chunk; renewed "
     "are "
     "updates that workers were given when they joined, came back or pulled anew."},
    {"spread", figure_spread,
     "What a gradient was made from need not be of one version: how far the newest chunk was ahead "
     "of the oldest, of all chunks, and within the chunks of one variable on one server, which "
     "--use-locking makes 0. Sync has one version of all, and is not here."},
    {"time", figure_times,
     "What each worker did all the while. Waiting is time at the barrier, for the slowest of the "
     "workers: the price of sync mode. Async and ssp have none; there it is time without a batch, "
     "at the gate of a checkpoint and where ssp's bound is reached. Exchanging is all between "
     "asking for parameters, most often with a gradient, and having them, the waiting left out. "
     "What "
     "was done for updates that were undone is in it. Other is what is left of the time from a "
     "worker's first START to its last word: joining, and being told that there is no more. "
     "Together that is every second of it."},
};

enum status figures_make(struct figures *figures, const struct comparison *comparison,
                         struct error *error)
{
    memset(figures, 0, sizeof(*figures));
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        figures->items[i].name = drawings[i].name;
        figures->items[i].caption = drawings[i].caption;
        figures->items[i].svg = drawings[i].draw(comparison);
        if (figures->items[i].svg == NULL)
            return error_set(error, STATUS_MEMORY, "out of memory");
    }
    return STATUS_OK;
}

void figures_free(struct figures *figures)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        free(figures->items[i].svg);
    memset(figures, 0, sizeof(*figures));
}
