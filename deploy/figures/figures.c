/* figures.c - which figures there are, what they are called, and how each is read. */

#include "deploy/figures/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/curves_figure.h"
#include "deploy/figures/shapes_figure.h"
#include "deploy/figures/times_figure.h"

static const char *const against[CURVE_X_COUNT] = {
    [CURVE_SECONDS] =
        "On the clock: what somebody who waits for a model sees. A mode can make more updates a "
        "second and still be no further, when each of them helps less. The clock stands while the "
        "model is scored and saved: it is that of the table's seconds.",
    [CURVE_UPDATES] =
        "By updates: how much each helped, however long it took. Synchronous lines for different "
        "numbers of workers lie on each other, because the updates are the same to the bit; the "
        "dashes let the lower lines show. An asynchronous update is made from parameters that "
        "others have changed meanwhile, and may help less.",
    [CURVE_EXAMPLES] =
        "By examples: how much was learned from each, whatever the size of a batch and the "
        "hardware. What backup workers drop counts as seen.",
    [CURVE_BYTES] =
        "By bytes: the payload that all workers have sent and received, over the network or "
        "through shared memory. As far as workers had told by then, which is with every gradient.",
};

const char *figures_about(enum curve_y y)
{
    static const char *const about[CURVE_Y_COUNT] = {
        [CURVE_LOSS] =
            "The mean loss of the examples trained on since the point before, each taken "
            "before its update. The target of the answer above is reached by a mean over "
            "the last 20th of all examples, a little after the line crosses it.",
        [CURVE_ACCURACY] = "The share of right answers on the test set after each epoch, by the "
                           "model as it was when every part of it had had that epoch's batches.",
        [CURVE_TEST_LOSS] =
            "The mean loss on the test set, of the same models. It is the quieter of "
            "the two: an answer that is a little less sure counts a little.",
    };
    return about[y];
}

static const struct {
    const char *name;
    char *(*draw)(const struct comparison *comparison, const struct canvas *canvas);
    const char *caption;
} others[FIGURE_COUNT - FIGURE_CURVES] = {
    {"staleness", staleness_figure,
     "How many updates others made between a worker's reading of the parameters and the use of the "
     "gradient it computed from them. In sync mode it is 0 by construction, and has no frame here. "
     "In async mode it is about the number of workers less one, more for a worker slower than the "
     "rest. Ssp limits by how many batches workers may be apart; whoever has waited for that "
     "computes from the newest parameters, which lowers it. Of the updates that stand: what was "
     "undone when all went back to a checkpoint is not in it."},
    {"spread", spread_figure,
     "What a gradient was made from need not be of one version: how far the newest chunk was ahead "
     "of the oldest, of all chunks, and within the chunks of one variable on one server, which "
     "--use-locking makes 0. Sync has one version of all, and is not here."},
    {"time", times_figure,
     "What a worker did all the while, on average. Waiting at the barrier is for the slowest of "
     "the "
     "workers: the price of sync mode. Async and ssp have none; there it is time without a batch "
     "(lease), where ssp's bound is reached (bound), and before a checkpoint (gate). Exchanging is "
     "all between asking for parameters, most often with a gradient, and having them, the waiting "
     "left out. What was done for updates that were undone is in it. Other is what is left of the "
     "time from a worker's first START to its last word: joining, and being told that there is no "
     "more. Together that is every second of it."},
    {"workers", workers_figure, "The same for each worker: who is slow, and who waits for whom."},
};

static enum status draw_curve(struct figure *figure, const struct conclusion *conclusion,
                              enum curve_y y, enum curve_x x)
{
    struct canvas wide = canvas_wide(), narrow = canvas_narrow();
    snprintf(figure->name, sizeof(figure->name), "%s-%s", curve_y_name(y), curve_x_name(x));
    figure->caption = against[x];
    figure->wide = curves_figure(conclusion, y, x, &wide);
    figure->narrow = curves_figure(conclusion, y, x, &narrow);
    return figure->wide != NULL && figure->narrow != NULL ? STATUS_OK : STATUS_MEMORY;
}

static enum status draw_other(struct figure *figure, const struct comparison *comparison,
                              size_t index)
{
    struct canvas wide = canvas_wide(), narrow = canvas_narrow();
    snprintf(figure->name, sizeof(figure->name), "%s", others[index].name);
    figure->caption = others[index].caption;
    figure->wide = others[index].draw(comparison, &wide);
    figure->narrow = others[index].draw(comparison, &narrow);
    return figure->wide != NULL && figure->narrow != NULL ? STATUS_OK : STATUS_MEMORY;
}

enum status figures_make(struct figures *figures, const struct conclusion *conclusion,
                         struct error *error)
{
    enum status status = STATUS_OK;
    memset(figures, 0, sizeof(*figures));
    for (size_t i = 0; i < FIGURE_COUNT && status == STATUS_OK; i++)
        status = i < FIGURE_CURVES
                     ? draw_curve(&figures->items[i], conclusion, (enum curve_y)(i / CURVE_X_COUNT),
                                  (enum curve_x)(i % CURVE_X_COUNT))
                     : draw_other(&figures->items[i], conclusion->comparison, i - FIGURE_CURVES);
    return status == STATUS_OK ? STATUS_OK : error_set(error, status, "out of memory");
}

void figures_free(struct figures *figures)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        free(figures->items[i].wide);
        free(figures->items[i].narrow);
    }
    memset(figures, 0, sizeof(*figures));
}

const struct figure *figures_curve(const struct figures *figures, enum curve_y y, enum curve_x x)
{
    return &figures->items[(size_t)y * CURVE_X_COUNT + (size_t)x];
}

const struct figure *figures_find(const struct figures *figures, const char *name)
{
    for (size_t i = FIGURE_CURVES; i < FIGURE_COUNT; i++)
        if (strcmp(figures->items[i].name, name) == 0)
            return &figures->items[i];
    return NULL;
}
