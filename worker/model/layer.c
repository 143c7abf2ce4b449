/* layer.c - what layers of several kinds do alike: the numbers and words that they are written with,
 * their variables, what they keep of a max-pool. */

#include "worker/model/layer.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/spelling.h"

uint32_t layer_parse_sizes(const char *text, uint32_t *parts, uint32_t parts_max)
{
    uint32_t count = 0;
    for (;;) {
        if (*text < '0' || *text > '9' || count == parts_max)
            return 0;
        char *end;
        unsigned long long number = strtoull(text, &end, 10);
        if (number == 0 || number > LAYER_SIDE_MAX)
            return 0;
        parts[count++] = (uint32_t)number;
        if (*end == '\0')
            return count;
        if (*end != 'x' && *end != 'X')
            return 0;
        text = end + 1;
    }
}

enum status layer_parse_activation(const struct layer_words *words, uint32_t first, bool *relu,
                                   struct error *error)
{
    *relu = false;
    if (words->count <= first)
        return STATUS_OK;
    bool known = spelling_same(words->word[first], "relu");
    if (!known || words->count > first + 1)
        return error_set(error, STATUS_INVALID, "'%s' is not understood; only 'relu' may follow",
                         words->word[known ? first + 1 : first]);
    *relu = true;
    return STATUS_OK;
}

uint32_t layer_kernel_and_bias(const struct layer *layer, uint32_t number,
                               const struct variable *kernel,
                               struct variable variables[LAYER_VARIABLES_MAX])
{
    const char *kind = layer->kind->name;
    variables[LAYER_KERNEL] = *kernel;
    variables[LAYER_KERNEL].initializer = INITIALIZER_GLOROT_UNIFORM;
    variables[LAYER_BIAS] = (struct variable){
        .rank = 1,
        .shape = {kernel->shape[kernel->rank - 1]},
        .initializer = INITIALIZER_ZEROS,
        .fan_in = kernel->fan_in,
        .fan_out = kernel->fan_out,
    };
    snprintf(variables[LAYER_KERNEL].name, VARIABLE_NAME_MAX, "%s%u/kernel", kind, number);
    snprintf(variables[LAYER_BIAS].name, VARIABLE_NAME_MAX, "%s%u/bias", kind, number);
    return LAYER_VARIABLES_MAX;
}

enum status layer_take_which(struct layer *layer, uint32_t count_max)
{
    layer->which = malloc(count_max * shape_elements(layer->out));
    return layer->which != NULL ? STATUS_OK : STATUS_MEMORY;
}
