/* l2.c - one sum, variable by variable. */

#include "common/job/l2.h"

#include <math.h>

double l2_loss(const struct job *job, const float *parameters)
{
    double sum = 0;
    if (!(job->l2 > 0.0f))
        return (double)NAN;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        const struct variable *variable = &job->variables[i];
        uint64_t elements = variable_elements(variable);
        bool counts = !variable_is_bias(variable) && variable->average == 0.0f;
        for (uint64_t j = 0; counts && j < elements; j++)
            sum += (double)parameters[j] * (double)parameters[j];
        parameters += variable_room(elements);
    }
    return (double)job->l2 * sum;
}
