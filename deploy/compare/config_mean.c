/* config_mean.c - walks along the runs' series side by side. */

#include "deploy/compare/config_mean.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A series of a record (points, evaluations or windows) and the offset of the number in an item. */
static const struct quantity {
    const char *tag;
    enum { OF_POINTS, OF_EVALUATIONS, OF_WINDOWS } of;
    size_t offset;
} quantities[CONFIG_MEAN_TAGS] = {
    {"loss/train", OF_POINTS, offsetof(struct record_point, loss)},
    {"accuracy/train", OF_POINTS, offsetof(struct record_point, accuracy)},
    {"speed/images_per_second", OF_POINTS, offsetof(struct record_point, images_per_second)},
    {"loss/test", OF_EVALUATIONS, offsetof(struct record_evaluation, test.loss)},
    {"accuracy/test", OF_EVALUATIONS, offsetof(struct record_evaluation, test.accuracy)},
    {"loss/regularisation", OF_EVALUATIONS,
     offsetof(struct record_evaluation, test.regularisation)},
    {"loss/window", OF_WINDOWS, offsetof(struct record_window, window.loss)},
    {"accuracy/window", OF_WINDOWS, offsetof(struct record_window, window.accuracy)},
};

const char *config_mean_tag(size_t quantity)
{
    assert(quantity < CONFIG_MEAN_TAGS);
    return quantities[quantity].tag;
}

/* --- one run ------------------------------------------------------------------------------- */

static size_t item_count(const struct record *record, const struct quantity *quantity)
{
    return quantity->of == OF_POINTS        ? record->point_count
           : quantity->of == OF_EVALUATIONS ? record->evaluation_count
                                            : record->window_count;
}

static struct sample sample_of(const struct record *record, const struct quantity *quantity,
                               size_t index)
{
    struct sample sample;
    const char *item;
    if (quantity->of == OF_POINTS) {
        const struct record_point *point = &record->points[index];
        item = (const char *)point;
        sample = (struct sample){.step = point->step, .seconds = point->training_seconds};
    } else if (quantity->of == OF_EVALUATIONS) {
        const struct record_evaluation *evaluation = &record->evaluations[index];
        item = (const char *)evaluation;
        sample = (struct sample){.step = evaluation->step, .seconds = evaluation->training_seconds};
    } else {
        const struct record_window *window = &record->windows[index];
        item = (const char *)window;
        sample = (struct sample){.step = (double)window->window.end,
                                 .seconds = window->training_seconds};
    }
    memcpy(&sample.value, item + quantity->offset, sizeof sample.value);
    return sample;
}

static int by_step(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* A run's samples by step. Of several at one step the last counts: batches overtake each other, and
 * repeated steps are recorded again. (A run never ends before a step that it undid.) */
static size_t read_series(struct sample *series, const struct record *record,
                          const struct quantity *quantity)
{
    size_t items = item_count(record, quantity), count = 0;
    for (size_t i = 0; i < items; i++) {
        struct sample sample = sample_of(record, quantity, i);
        size_t place = count;
        while (place > 0 && series[place - 1].step > sample.step)
            place--;
        bool again = place > 0 && series[place - 1].step == sample.step;
        if (!again) {
            memmove(&series[place + 1], &series[place], (count - place) * sizeof *series);
            count++;
        }
        series[again ? place - 1 : place] = sample;
    }
    return count;
}

/* --- all ----------------------------------------------------------------------------------- */

/* Add a run's samples to those so far, and drop the steps that it lacks. */
static void join(struct config_mean *mean, const struct sample *series, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < mean->count; i++) {
        const struct sample *own =
            count == 0 ? NULL : bsearch(&mean->samples[i], series, count, sizeof *series, by_step);
        if (own == NULL || !isfinite(own->value))
            continue;
        mean->samples[kept] = mean->samples[i];
        mean->samples[kept].value += own->value;
        mean->samples[kept++].seconds += own->seconds;
    }
    mean->count = kept;
}

static void divide(struct config_mean *mean, size_t runs)
{
    for (size_t i = 0; i < mean->count; i++) {
        mean->samples[i].value /= (double)runs;
        mean->samples[i].seconds /= (double)runs;
    }
}

enum status config_mean_make(struct config_mean *mean, const struct group *group, size_t quantity)
{
    const struct quantity *what = &quantities[quantity];
    struct sample *series = NULL;
    size_t most = 1;
    assert(quantity < CONFIG_MEAN_TAGS);
    *mean = (struct config_mean){.samples = NULL};
    for (size_t i = 0; i < group->record_count; i++) {
        size_t items = item_count(group->records[i], what);
        most = items > most ? items : most;
    }
    mean->samples = calloc(most, sizeof *mean->samples);
    series = calloc(most, sizeof *series);
    if (mean->samples == NULL || series == NULL) {
        free(series);
        return STATUS_MEMORY;
    }
    for (size_t i = 0; i < group->record_count; i++) {
        size_t count = read_series(i == 0 ? mean->samples : series, group->records[i], what);
        if (i == 0)
            mean->count = count;
        else
            join(mean, series, count);
    }
    divide(mean, group->record_count);
    free(series);
    return STATUS_OK;
}

void config_mean_free(struct config_mean *mean)
{
    free(mean->samples);
    *mean = (struct config_mean){.samples = NULL};
}
