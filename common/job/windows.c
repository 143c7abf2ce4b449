/* windows.c - a ring of tallies from the first window that is not complete. */

#include "common/job/windows.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"

static uint64_t end_of(const struct job *job, uint64_t number)
{
    uint64_t first = number * job->report_every;
    return job->steps - first > job->report_every ? first + job->report_every : job->steps;
}

/* Batches of a window that are counted here, with its first part if that is known. */
static uint64_t wanted(const struct windows *windows, uint64_t number)
{
    uint64_t first = number * windows->job->report_every;
    return end_of(windows->job, number) - (first > windows->since ? first : windows->since);
}

static struct tally *tally_of(const struct windows *windows, uint64_t number)
{
    return &windows->tallies[number % windows->room];
}

bool windows_begin_at(const struct job *job, uint64_t step)
{
    return job->report_every > 0 && step % job->report_every == 0;
}

/* A known first part counts only if it begins where this window begins, and is complete: another
 * session may have had other windows. */
static void begin(struct windows *windows, uint64_t step, const struct window_so_far *so_far)
{
    uint64_t every = windows->job->report_every;
    uint64_t first = step - step % every;
    memset(windows->tallies, 0, windows->room * sizeof *windows->tallies);
    windows->low = step / every;
    windows->from = windows->since = step;
    if (first == step || so_far->first != first || so_far->tally.updates != step - first)
        return;
    windows->since = first;
    *tally_of(windows, windows->low) = so_far->tally;
}

enum status windows_init(struct windows *windows, const struct job *job, uint64_t first,
                         const struct window_so_far *so_far)
{
    *windows = (struct windows){.job = job};
    if (job->report_every == 0)
        return STATUS_OK;
    windows->room = (uint32_t)(WINDOWS_REACH / job->report_every) + 2;
    windows->tallies = calloc(windows->room, sizeof *windows->tallies);
    if (windows->tallies == NULL)
        return STATUS_MEMORY;
    begin(windows, first, so_far);
    return STATUS_OK;
}

void windows_free(struct windows *windows)
{
    free(windows->tallies);
    memset(windows, 0, sizeof *windows);
}

void windows_go_back(struct windows *windows, uint64_t step, const struct window_so_far *so_far)
{
    if (windows->job->report_every > 0)
        begin(windows, step, so_far);
}

static bool is_complete(const struct windows *windows, uint64_t number)
{
    return tally_of(windows, number)->updates == wanted(windows, number);
}

/* Past complete windows, whose places are reused; not past a shorter last one, because the job
 * may be made longer. */
static void advance(struct windows *windows)
{
    while ((windows->low + 1) * windows->job->report_every <= windows->job->steps &&
           is_complete(windows, windows->low)) {
        memset(tally_of(windows, windows->low), 0, sizeof *windows->tallies);
        windows->low++;
    }
}

static struct window window_of(const struct job *job, uint64_t number, const struct tally *tally)
{
    struct window window = {.number = number,
                            .first = number * job->report_every,
                            .end = end_of(job, number),
                            .tally = *tally};
    window.examples = job_examples_before(job, window.end) - job_examples_before(job, window.first);
    window.ragged = window.end - window.first < job->report_every;
    return window;
}

bool windows_count(struct windows *windows, uint64_t batch, const struct tally *tally,
                   struct window *complete)
{
    if (windows->job->report_every == 0 || batch >= windows->job->steps)
        return false;
    uint64_t number = batch / windows->job->report_every;
    /* No honest run says so, but peers may. */
    if (batch < windows->from || number < windows->low || number - windows->low >= windows->room)
        return false;
    tally_add(tally_of(windows, number), tally);
    if (!is_complete(windows, number))
        return false;
    *complete = window_of(windows->job, number, tally_of(windows, number));
    advance(windows);
    return true;
}

struct window_so_far windows_so_far(const struct windows *windows, uint64_t step)
{
    struct window_so_far so_far = {0};
    if (windows->job->report_every == 0 || windows_begin_at(windows->job, step))
        return so_far;
    uint64_t number = step / windows->job->report_every;
    so_far.first = number * windows->job->report_every;
    if (number == windows->low)
        so_far.tally = *tally_of(windows, number);
    /* An incomplete part is of no use. */
    return so_far.tally.updates == step - so_far.first ? so_far : (struct window_so_far){0};
}

#define RULE(condition, rule) INVARIANT("windows", condition, rule)

void windows_check(const struct windows *windows)
{
    if (windows->job == NULL || windows->job->report_every == 0)
        return;
    RULE(windows->tallies != NULL, "there is room for them");
    uint64_t place = windows->low % windows->room;
    for (uint64_t i = 0; i < windows->room;
         i++, place = place + 1 < windows->room ? place + 1 : 0) {
        uint64_t number = windows->low + i, had = windows->tallies[place].updates;
        if (had == 0 && i > 0)
            continue;
        bool there = number * windows->job->report_every < windows->job->steps;
        RULE(had <= (there ? wanted(windows, number) : 0), "none has more batches than it holds");
        bool ragged = there && end_of(windows->job, number) % windows->job->report_every != 0;
        RULE(i > 0 || !there || ragged || had < wanted(windows, number),
             "the first is not complete");
    }
}
