/* lone_run.c - the options of a run as a person writes them, and what a worker without servers makes of
 * them. */

#include "tests/lib/runs/lone_run.h"

#include <assert.h>
#include <stdio.h>

#include "worker/solo.h"
#include "worker/workload.h"

enum { WORDS = 9, WORD_BYTES = 100 };

/* Options point into their words. */
static void read_options(struct options *options, char words[WORDS][WORD_BYTES],
                         const struct lone_run *run)
{
    static const char *const first[WORDS - 2] = {
        "run",
        "--ps=0",
        "--data=synthetic:60",
        "--global-batch=20",
        "--micro-batch=5",
        "--optimizer=adam",
        "--checkpoint-every=1",
    };
    char *arguments[WORDS + 1] = {NULL};
    struct error error = {STATUS_OK, ""};
    for (int i = 0; i < WORDS - 2; i++)
        snprintf(words[i], WORD_BYTES, "%s", first[i]);
    snprintf(words[WORDS - 2], WORD_BYTES, "--epochs=%u", run->epochs);
    snprintf(words[WORDS - 1], WORD_BYTES, "--model=%s",
             run->model != NULL ? run->model : "pool 4, flatten, dense 10");
    for (int i = 0; i < WORDS; i++)
        arguments[i] = words[i];
    /* Not an assertion of check's: that would take memory, which there may be none of. */
    assert(options_parse(options, OPTION_RUN, "run", WORDS, arguments, &error) == OPTIONS_RUN);
}

int lone_run(const struct lone_run *run, struct error *error)
{
    char words[WORDS][WORD_BYTES];
    struct options options;
    struct workload workload = {0};
    read_options(&options, words, run);
    int code = workload_read(&workload, &options, error);
    if (code == EXIT_DONE) {
        struct solo solo = {.training = {.job = &workload.job,
                                         .gradient = &workload.gradient,
                                         .throttle = {.time = {.slow = 1}, .job = &workload.job}},
                            .out = run->out,
                            .restore = run->restore != NULL ? run->restore : "auto"};
        if (run->stopped)
            solo_request_stop(&solo, EXIT_INTERRUPTED);
        code = solo_run(&solo, error);
    }
    workload_free(&workload);
    return code;
}
