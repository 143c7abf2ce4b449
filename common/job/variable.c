/* variable.c - lays variables out, and gives each element its initial value from its own place
 * in a counter-based sequence. */

#include "common/job/variable.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/random.h"
#include "common/base/wording.h"

uint64_t variable_elements(const struct variable *variable)
{
    uint64_t elements = 1;
    for (uint32_t axis = 0; axis < variable->rank; axis++)
        elements *= variable->shape[axis];
    return elements;
}

uint64_t variables_elements(const struct variable *variables, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += variable_elements(&variables[i]);
    return total;
}

char *variable_shape(const struct variable *variable, char text[VARIABLE_SHAPE_MAX])
{
    snprintf(text, VARIABLE_SHAPE_MAX, "[");
    for (uint32_t i = 0; i < variable->rank && i < VARIABLE_RANK_MAX; i++)
        wording_append(text, VARIABLE_SHAPE_MAX, "%s%" PRIu64, i > 0 ? "," : "",
                       variable->shape[i]);
    wording_append(text, VARIABLE_SHAPE_MAX, "]");
    return text;
}

bool variable_is_bias(const struct variable *variable)
{
    return variable->rank == 1;
}

uint64_t variable_room(uint64_t elements)
{
    return (elements + PARAMETER_ALIGNMENT - 1) / PARAMETER_ALIGNMENT * PARAMETER_ALIGNMENT;
}

uint64_t variables_room(const struct variable *variables, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++)
        end += variable_room(variable_elements(&variables[i]));
    return end;
}

uint64_t variables_layout(const struct variable *variables, uint32_t count, uint64_t *offsets)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = end;
        end += variable_room(variable_elements(&variables[i]));
    }
    return end;
}

const char *initializer_name(enum initializer initializer)
{
    static const char *const names[INITIALIZER_COUNT] = {
        [INITIALIZER_ZEROS] = "zeros",
        [INITIALIZER_GLOROT_UNIFORM] = "glorot_uniform",
        [INITIALIZER_GIVEN] = "given",
    };
    return (unsigned)initializer < INITIALIZER_COUNT ? names[initializer] : "unknown";
}

/* Element e takes number e % 4 of block e / 4 of the variable's own sub-stream, so a server that
 * owns any part of a variable can write that part alone. */
static void initialize_glorot_uniform(const struct variable *variable, uint32_t index,
                                      uint64_t seed, uint64_t first, uint64_t count, float *out)
{
    double fans = (double)variable->fan_in + (double)variable->fan_out;
    float limit = (float)sqrt(6.0 / fans);
    uint32_t block[4];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t element = first + i;
        if (i == 0 || element % 4 == 0)
            random_block(seed, RANDOM_STREAM_INITIALIZER, index, element / 4, block);
        /* 2u - 1 is exact, so the value is rounded once, in the product. */
        out[i] = (2.0f * random_unit_float(block[element % 4]) - 1.0f) * limit;
    }
}

void variable_initialize(const struct variable *variable, uint32_t index, uint64_t seed,
                         uint64_t first, uint64_t count, float *out)
{
    switch (variable->initializer) {
    case INITIALIZER_ZEROS:
        memset(out, 0, count * sizeof *out);
        return;
    case INITIALIZER_GLOROT_UNIFORM:
        initialize_glorot_uniform(variable, index, seed, first, count, out);
        return;
    case INITIALIZER_GIVEN:
    case INITIALIZER_COUNT:
        break;
    }
    assert(!"an initializer that makes no values");
}

void variables_initialize(const struct variable *variables, uint32_t variable_count, uint64_t seed,
                          const float *given, uint64_t first, uint64_t count, float *out)
{
    uint64_t start = 0, last = first + count;
    for (uint32_t i = 0; i < variable_count && start < last; i++) {
        uint64_t elements = variable_elements(&variables[i]);
        uint64_t from = start > first ? start : first;
        uint64_t end = start + elements < last ? start + elements : last;
        uint64_t next = start + variable_room(elements);
        uint64_t gap_end = next < last ? next : last;
        bool is_given = variables[i].initializer == INITIALIZER_GIVEN;
        if (from < end && is_given && given == NULL)
            memset(out + (from - first), 0, (end - from) * sizeof *out);
        else if (from < end && is_given)
            memmove(out + (from - first), given + from, (end - from) * sizeof *out);
        else if (from < end)
            variable_initialize(&variables[i], i, seed, from - start, end - from,
                                out + (from - first));
        from = end > from ? end : from;
        if (from < gap_end)
            memset(out + (from - first), 0, (gap_end - from) * sizeof *out);
        start = next;
    }
}
