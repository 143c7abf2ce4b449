/* history_shrink.c - what can be taken out of a history, largest first: phases, faults, misbehaviour of wires,
 * workers and servers, steps. */

#include "deploy/verify/history_shrink.h"

#include <string.h>

static bool drop_phase(struct history_plan *plan, uint32_t number)
{
    if (plan->phase_count < 2 || number >= plan->phase_count)
        return false;
    plan->phase_count--;
    memmove(&plan->phases[number], &plan->phases[number + 1],
            (plan->phase_count - number) * sizeof *plan->phases);
    plan->phases[plan->phase_count - 1].stop_after_us = 0;
    return true;
}

/* Faults of all phases have numbers from 0. */
static bool drop_fault(struct history_plan *plan, uint32_t number)
{
    for (uint32_t i = 0; i < plan->phase_count; i++) {
        struct fault_plan *faults = &plan->phases[i].faults;
        uint32_t count = plan->phases[i].faulty ? faults->count : 0;
        if (number >= count) {
            number -= count;
            continue;
        }
        faults->count--;
        memmove(&faults->faults[number], &faults->faults[number + 1],
                (faults->count - number) * sizeof *faults->faults);
        plan->phases[i].faulty = faults->count > 0;
        return true;
    }
    return false;
}

static bool drop_other(struct history_plan *plan, uint32_t number)
{
    double *wires[] = {&plan->faults.straggle, &plan->faults.overtake, &plan->faults.repeat};
    if (number < 3) {
        bool any = *wires[number] > 0;
        *wires[number] = 0;
        return any;
    }
    bool any = number == 3 && plan->job.steps > 1;
    plan->job.steps -= any ? (plan->job.steps + 1) / 4 + (plan->job.steps < 3) : 0;
    return any;
}

uint32_t history_shrink(struct history_plan *plan, struct history_result *result)
{
    static bool (*const drops[])(struct history_plan *, uint32_t) = {drop_phase, drop_fault,
                                                                     drop_other};
    static const uint32_t most[] = {HISTORY_PHASES_MAX, HISTORY_PHASES_MAX * FAULTS_MAX, 4};
    uint32_t runs = 0;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t kind = 0; kind < 3; kind++)
            for (uint32_t number = 0; number < most[kind];) {
                struct history_plan less = *plan;
                struct history_result found = {.failed = false};
                if (drops[kind](&less, number)) {
                    history_run(&less, &found);
                    runs++;
                }
                if (found.failed) { /* What is next has this number now. */
                    *plan = less;
                    *result = found;
                    again = true;
                } else {
                    number++;
                }
            }
    }
    return runs;
}
