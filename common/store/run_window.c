/* run_window.c - the members of a window, and a line for people. */

#include "common/store/run_window.h"

#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json_writer.h"

struct run_window run_window_of(const struct job *job, const struct window *window, double seconds)
{
    return (struct run_window){
        .number = window->number + 1,
        .first = window->first,
        .end = window->end,
        .every = job->report_every,
        .batches = window->tally.updates,
        .loss = tally_loss(&window->tally, job),
        .accuracy = tally_accuracy(&window->tally, job),
        .examples = window->tally.examples,
        .of = window->examples,
        .seconds = seconds,
    };
}

struct event run_window_event(const struct run_window *window, double training_seconds)
{
    return (struct event){.kind = EVENT_WINDOW,
                          .window = window->number,
                          .from = window->first,
                          .step = window->end,
                          .every = window->every,
                          .batches = window->batches,
                          .loss = window->loss,
                          .accuracy = window->accuracy,
                          .examples = window->examples,
                          .of = window->of,
                          .seconds = window->seconds,
                          .training_seconds = training_seconds};
}

void run_window_describe(const struct run_window *window, char text[RUN_WINDOW_TEXT_MAX],
                         size_t *emphasis)
{
    uint64_t size = window->end > window->first ? window->end - window->first : 0;
    text[0] = '\0';
    if (size == 1)
        wording_append(text, RUN_WINDOW_TEXT_MAX, "batch %s", wording_count(window->end).text);
    else
        wording_append(text, RUN_WINDOW_TEXT_MAX, "batches %s to %s",
                       wording_count(window->first + 1).text, wording_count(window->end).text);
    *emphasis = strlen(text);
    if (size < window->every)
        wording_append(text, RUN_WINDOW_TEXT_MAX, ", the last %s", wording_count(size).text);
    if (!isnan(window->loss))
        wording_append(text, RUN_WINDOW_TEXT_MAX, "  loss %.4f%s", window->loss,
                       wording_percent("  accuracy ", window->accuracy, 2).text);
    if (window->examples < window->of)
        wording_append(text, RUN_WINDOW_TEXT_MAX, " over %s of %s",
                       wording_count(window->examples).text,
                       wording_counted(window->of, "example", "examples").text);
    else
        wording_append(text, RUN_WINDOW_TEXT_MAX, "  %s",
                       wording_counted(window->of, "example", "examples").text);
    if (!isnan(window->seconds))
        wording_append(text, RUN_WINDOW_TEXT_MAX, "  %.3g s", window->seconds);
}
