/* figures.c - the list of figures with names and captions. */

#include "deploy/figures/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/curves_figure.h"
#include "deploy/figures/shapes_figure.h"
#include "deploy/figures/times_figure.h"

static const char *const against[CURVE_X_COUNT] = {
    [CURVE_SECONDS] =
        "Against the clock: the time until a model is ready. A mode can make more updates a "
        "second and still be no further, when each of them helps less. The clock stands while the "
        "model is scored and saved: it is that of the table's seconds.",
    [CURVE_UPDATES] =
        "Against updates: the gain of each, whatever its time. Synchronous lines for different "
        "numbers of workers coincide, because the updates are the same to the bit; the "
        "dashes keep the lower lines visible. An asynchronous update uses parameters that "
        "others have changed meanwhile, and may help less.",
    [CURVE_EXAMPLES] = "Against examples: the gain of each, whatever the size of a batch and the "
                       "hardware. Gradients that backup workers drop count as well.",
    [CURVE_BYTES] =
        "Against bytes: the payload that all workers have sent and received, over the network or "
        "through shared memory. Workers report it with every gradient.",
};

const char *figures_about(enum curve_y y)
{
    static const char *const about[CURVE_Y_COUNT] = {
        [CURVE_LOSS] =
            "The mean loss of the examples trained on since the point before, each taken "
            "before its update. The target of the answer above is reached by a mean over "
            "the last 20th of all examples, a little after the line crosses it.",
        [CURVE_ACCURACY] =
            "The accuracy on the test set after each epoch. The model is the one whose parts "
            "all had applied that epoch's batches.",
        [CURVE_TEST_LOSS] =
            "The mean loss on the test set after each epoch, of the model whose parts all had "
            "applied that epoch's batches.",
    };
    return about[y];
}

static const struct {
    const char *name;
    char *(*draw)(const struct comparison *comparison, const struct canvas *canvas);
    const char *caption;
} others[FIGURE_COUNT - FIGURE_CURVES] = {
    {"staleness", staleness_figure,
     "The number of updates by others between a worker's reading of the parameters and the use of "
     "its gradient. In sync mode it is 0 by construction, without a frame here. In async mode it "
     "is about the number of workers less one, and more for a slow worker. Ssp limits the distance "
     "of workers in batches; a worker that has waited for others computes from the newest "
     "parameters, which lowers it. Updates that a return to a checkpoint undid are left out."},
    {"spread", spread_figure,
     "The version skew of the parameters behind a gradient: the newest chunk against the oldest, "
     "over all chunks, and within one variable on one server, where --use-locking makes it 0. Sync "
     "has one version of all, and is left out."},
    {"time", times_figure,
     "The parts of a worker's time, on average. Waiting at the barrier is for the slowest worker: "
     "the price of sync mode. Async and ssp have none; they wait without a batch (lease), at ssp's "
     "bound (bound), and before a checkpoint (gate). Exchanging is the time from asking for "
     "parameters, mostly with a gradient, until they arrive, without waiting. Work on undone "
     "updates is included. Other is the rest of the time from a worker's first START to its last "
     "message: joining, and the end of the job. Together they are the whole time."},
    {"workers", workers_figure,
     "The same for each worker: the slow ones, and the waiting of the others."},
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
