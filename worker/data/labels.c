/* labels.c - looks at all labels once for the rules, and once more to make them. */

#include "worker/data/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TARGET_MOST 256.0 /* Of so large an error the square is counted still (LOSS_MAX). */

static enum status refuse_label(const struct array *array, uint64_t example, const char *rule,
                                struct error *error)
{
    return error_set(error, STATUS_INVALID, "%s: example %llu (from 0) has the label %g; %s",
                     array->packed.path, (unsigned long long)example,
                     array_number(array, example * array_row(array)), rule);
}

/* Its place in the row; -1: the row is not of zeros and a single 1. */
static int64_t hot(const struct array *array, uint64_t example)
{
    uint64_t row = array_row(array);
    int64_t place = -1;
    for (uint64_t i = 0; i < row; i++) {
        double number = array_number(array, example * row + i);
        if (number != 0 && (number != 1 || place >= 0))
            return -1;
        place = number != 0 ? (int64_t)i : place;
    }
    return place;
}

static enum status refuse_rows(const struct array *array, struct error *error)
{
    char shape[120];
    return error_set(error, STATUS_INVALID,
                     "%s: is %s: labels are one whole number an example, or a row of zeros with a "
                     "single 1; real targets need --loss mse",
                     array->packed.path, array_describe(array, shape));
}

static enum status refuse_target(const struct array *array, uint64_t at, struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "%s: example %llu (from 0) has the target %g; targets are from -%g to %g, for "
                     "squared errors are counted up to 65,536: give them in thousands, for example",
                     array->packed.path, (unsigned long long)(at / array_row(array)),
                     array_number(array, at), TARGET_MOST, TARGET_MOST);
}

/* The smallest and the largest class of an array, as it counts them. */
static enum status look_at(const struct array *array, bool one_hot, uint32_t *least, uint32_t *most,
                           struct error *error)
{
    for (uint64_t i = 0; i < array->sizes[0]; i++) {
        double number = one_hot ? (double)hot(array, i) : array_number(array, i);
        if (one_hot && number < 0)
            return refuse_rows(array, error);
        if (!(number >= 0 && number <= DATA_CLASSES_MAX && number == floor(number)))
            return refuse_label(
                array, i, "classes are whole numbers from 0; for real targets give --loss mse",
                error);
        *least = number < *least ? (uint32_t)number : *least;
        *most = number > *most ? (uint32_t)number : *most;
    }
    return STATUS_OK;
}

/* The example of a class that is too large: there is one. */
static enum status refuse_range(const struct label_rules *rules,
                                const struct array *const arrays[2], uint32_t most,
                                struct error *error)
{
    char rule[120];
    snprintf(rule, sizeof rule, "labels are %u to %u, as --classes %u says", rules->first,
             rules->first + rules->classes - 1, rules->classes);
    for (int i = 0;; i++)
        for (uint64_t example = 0; example < arrays[i]->sizes[0]; example++)
            if (array_number(arrays[i], example) == most)
                return refuse_label(arrays[i], example, rule, error);
}

static enum status look_at_classes(struct label_rules *rules, const struct data_text *data,
                                   const struct array *const arrays[2], unsigned count,
                                   struct error *error)
{
    uint32_t least = UINT32_MAX, most = 0;
    rules->each = 1;
    rules->one_hot = array_row(arrays[0]) > 1;
    for (unsigned i = 0; i < count; i++) {
        enum status status = look_at(arrays[i], rules->one_hot, &least, &most, error);
        if (status != STATUS_OK)
            return status;
    }
    if (rules->one_hot) {
        rules->classes = (uint32_t)array_row(arrays[0]);
        return STATUS_OK;
    }
    rules->first = least == 1 && (data->classes == 0 || data->classes == most);
    rules->classes = data->classes > 0 ? data->classes : most - rules->first + 1;
    if (rules->classes > DATA_CLASSES_MAX)
        return error_set(error, STATUS_INVALID, "%s: has labels up to %u; at most %d classes",
                         arrays[0]->packed.path, most, DATA_CLASSES_MAX);
    return most - rules->first < rules->classes ? STATUS_OK
                                                : refuse_range(rules, arrays, most, error);
}

enum status labels_look(struct label_rules *rules, const struct data_text *data,
                        const struct array *const arrays[2], unsigned count, struct error *error)
{
    char one[120], other[120];
    *rules = (struct label_rules){.real = data->real};
    for (unsigned i = 0; i < count; i++)
        if (arrays[i]->rank > 2 || array_row(arrays[i]) != array_row(arrays[0]))
            return error_set(error, STATUS_INVALID,
                             "%.200s: is %s, beside %s: labels have one dimension, or two",
                             arrays[i]->packed.path, array_describe(arrays[i], one),
                             array_describe(arrays[0], other));
    if (!data->real)
        return look_at_classes(rules, data, arrays, count, error);
    rules->each = rules->classes = (uint32_t)array_row(arrays[0]);
    if (data->classes > 0)
        return error_set(error, STATUS_INVALID,
                         "--classes: there are none where targets are real (--loss mse)");
    for (unsigned i = 0; i < count; i++)
        for (uint64_t at = 0; at < arrays[i]->sizes[0] * rules->each; at++)
            if (!(fabs(array_number(arrays[i], at)) <= TARGET_MOST))
                return refuse_target(arrays[i], at, error);
    return STATUS_OK;
}

enum status labels_make(union label **labels, const struct label_rules *rules,
                        const struct array *array, struct error *error)
{
    uint64_t count = array->sizes[0] * rules->each;
    union label *made = *labels = malloc(count * sizeof *made);
    if (made == NULL)
        return error_set(error, STATUS_MEMORY, "%s: out of memory", array->packed.path);
    for (uint64_t i = 0; i < count; i++) {
        if (rules->real)
            made[i].target = (float)array_number(array, i);
        else
            made[i].class = rules->one_hot ? (uint32_t)hot(array, i)
                                           : (uint32_t)array_number(array, i) - rules->first;
    }
    return STATUS_OK;
}
