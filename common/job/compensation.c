/* compensation.c - the setting as text, and its kernel. */

#include "common/job/compensation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char adaptive[] = "adaptive:";

struct compensation_text compensation_text(const struct job *job)
{
    struct compensation_text text;
    char number[COMPENSATION_TEXT_MAX] = "0";
    /* As few digits as read back equal: 0.04, not 0.0399999991. */
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, (double)job->delay_compensation);
        if (strtof(number, NULL) == job->delay_compensation)
            break;
    }
    snprintf(text.text, sizeof text.text, "%s%.16s", job->compensation_adapts ? adaptive : "",
             number);
    return text;
}

enum status compensation_read(const char *text, struct job *job)
{
    bool adapts = strncasecmp(text, adaptive, strlen(adaptive)) == 0;
    const char *digits = adapts ? text + strlen(adaptive) : text;
    char *end;
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789.eE+-")] != '\0')
        return STATUS_INVALID;
    float strength = strtof(digits, &end);
    if (*end != '\0' || !(strength >= 0.0f && strength <= (float)COMPENSATION_MAX) ||
        (adapts && strength == 0.0f))
        return STATUS_INVALID;
    job->delay_compensation = fabsf(strength); /* -0 is 0. */
    job->compensation_adapts = adapts;
    return STATUS_OK;
}

bool compensation_meets_momentum(const struct job *job)
{
    const char *name = job->optimizer.name;
    bool rule = strcmp(name, "momentum") == 0 || strcmp(name, "nesterov") == 0 ||
                strcmp(name, "adam") == 0 || strcmp(name, "adamw") == 0;
    return job->delay_compensation > 0.0f && rule;
}

void compensation_apply(const struct job *job, const struct kernels_compensation *what)
{
    if (job->compensation_adapts)
        kernels_mean_square(what);
    if (what->base != NULL && job->compensation_adapts)
        kernels_compensate_adaptively(what, job->delay_compensation);
    else if (what->base != NULL)
        kernels_compensate(what, job->delay_compensation);
}
