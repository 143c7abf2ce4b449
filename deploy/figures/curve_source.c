/* curve_source.c - places a run's points on each of the four scales. */

#include "deploy/figures/curve_source.h"

#include <math.h>
#include <stdio.h>

#include "deploy/conclusion/target.h"

struct place {
    double step, seconds, bytes;
};

const char *curve_y_name(enum curve_y y)
{
    static const char *const names[CURVE_Y_COUNT] = {
        [CURVE_LOSS] = "loss", [CURVE_ACCURACY] = "accuracy", [CURVE_TEST_LOSS] = "test-loss"};
    return names[y];
}

const char *curve_x_name(enum curve_x x)
{
    static const char *const names[CURVE_X_COUNT] = {[CURVE_SECONDS] = "seconds",
                                                     [CURVE_UPDATES] = "updates",
                                                     [CURVE_EXAMPLES] = "examples",
                                                     [CURVE_BYTES] = "bytes"};
    return names[x];
}

/* --- x ------------------------------------------------------------------------------------- */

/* After so many batches, interpolated between recorded points. */
static double bytes_at(const struct record *record, double step)
{
    double before_step = 0, before = 0;
    for (size_t i = 0; i < record->point_count; i++) {
        const struct record_point *point = &record->points[i];
        if (point->step >= step) {
            double part =
                point->step > before_step ? (step - before_step) / (point->step - before_step) : 1;
            return before + part * (point->exchanged_bytes - before);
        }
        before_step = point->step;
        before = point->exchanged_bytes;
    }
    return before_step > 0 ? before : NAN;
}

static double measure(const struct record *record, enum curve_x x, const struct place *place)
{
    switch (x) {
    case CURVE_SECONDS:
        return place->seconds;
    case CURVE_UPDATES:
        return place->step / (double)(record->accumulate > 1 ? record->accumulate : 1);
    case CURVE_EXAMPLES:
        return target_examples(record, place->step);
    case CURVE_BYTES:
        return place->bytes;
    case CURVE_X_COUNT:
        break;
    }
    return NAN;
}

/* How far any run comes. */
static double farthest(const struct comparison *comparison, enum curve_x x)
{
    double most = 0;
    for (size_t i = 0; i < comparison->record_count; i++) {
        const struct record *record = comparison->records[i];
        struct place end = {(double)record->summary.step, 0, record->exchanged_bytes};
        most = fmax(most, measure(record, x, &end)); /* NaN is less. */
    }
    return most;
}

struct unit {
    double size;
    const char *name;
};

static const struct unit units_of_bytes[] = {{1099511627776.0, "TiB moved by all workers"},
                                             {1073741824.0, "GiB moved by all workers"},
                                             {1048576.0, "MiB moved by all workers"},
                                             {1024.0, "KiB moved by all workers"},
                                             {1, "bytes moved by all workers"}};
static const struct unit units_of_examples[] = {{1e6, "million examples"}, {1, "examples"}};
static const struct unit units_of_updates[] = {{1e6, "million updates"}, {1, "updates"}};

/* The largest in which there are two; the last has the size 1. */
static const struct unit *unit_for(const struct unit *units, double most)
{
    while (units->size > 1 && most < 2 * units->size)
        units++;
    return units;
}

void curve_source_set(struct curve_source *source, const struct comparison *comparison,
                      enum curve_x x, enum curve_y y)
{
    bool modelled =
        comparison->record_count > 0 && comparison->records[0]->config.cluster[0] != '\0';
    struct unit unit = {1, modelled ? "virtual seconds of training" : "seconds of training"};
    double most = x == CURVE_SECONDS ? 0 : farthest(comparison, x);
    if (x == CURVE_UPDATES)
        unit = *unit_for(units_of_updates, most);
    if (x == CURVE_EXAMPLES)
        unit = *unit_for(units_of_examples, most);
    if (x == CURVE_BYTES)
        unit = *unit_for(units_of_bytes, most);
    *source = (struct curve_source){.x = x, .y = y, .unit = unit.size};
    snprintf(source->unit_name, sizeof(source->unit_name), "%s", unit.name);
}

/* --- y ------------------------------------------------------------------------------------- */

static int window_at(const struct record *record, size_t index, struct place *place, double *y)
{
    if (index >= record->window_count)
        return 0;
    const struct record_window *sample = &record->windows[index];
    double step = (double)sample->window.end;
    *place = (struct place){step, sample->training_seconds, bytes_at(record, step)};
    *y = sample->window.loss;
    return 1;
}

/* The means of --report-every windows, if there are any; else those of progress. */
static int loss_at(const struct record *record, size_t index, struct place *place, double *y)
{
    if (record->window_count > 0)
        return window_at(record, index, place, y);
    if (index >= record->point_count)
        return 0;
    const struct record_point *point = &record->points[index];
    *place = (struct place){point->step, point->training_seconds, point->exchanged_bytes};
    *y = point->loss;
    return 1;
}

static int score_at(const struct record *record, size_t index, struct place *place, double *y,
                    bool accuracy)
{
    if (index >= record->evaluation_count)
        return 0;
    const struct record_evaluation *score = &record->evaluations[index];
    *place = (struct place){score->step, score->training_seconds, score->exchanged_bytes};
    *y = accuracy ? score->test.accuracy * 100 : score->test.loss;
    return 1;
}

int curve_source_pair(const struct record *record, const void *context, size_t index, double *x,
                      double *y)
{
    const struct curve_source *source = context;
    struct place place = {0, 0, 0};
    int there = source->y == CURVE_LOSS
                    ? loss_at(record, index, &place, y)
                    : score_at(record, index, &place, y, source->y == CURVE_ACCURACY);
    *x = measure(record, source->x, &place) / source->unit;
    return there;
}

const char *curve_source_of_losses(const struct comparison *comparison)
{
    size_t windowed = 0;
    for (size_t i = 0; i < comparison->record_count; i++)
        windowed += comparison->records[i]->window_count > 0;
    return windowed == 0 ? "means over a fortieth of an epoch, or of a shorter run, each"
           : windowed == comparison->record_count
               ? "means over --report-every batches each"
               : "means over --report-every batches each or, without, a fortieth of an epoch or of "
                 "a shorter run";
}
