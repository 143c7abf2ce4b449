/* syncopate verify --seed S --histories N: whole clusters in virtual time, one history a seed;
 * whether each kept the invariants, and a hash of all its events. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/options/options.h"
#include "deploy/command/command.h"
#include "deploy/verify/history.h"
#include "deploy/verify/history_shrink.h"
#include "deploy/verify/history_totals.h"

#define DESCRIPTION_MAX 2000

/* The history being played, for a failing assertion that ends this process. A signal handler has no
 * argument, which makes this the only global. */
static char last_words[200];

static void say_last_words(int number)
{
    (void)number;
    if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0)
        return; /* There is no reader. */
}

/* The shortest history that fails as well; with --verbose, played again. */
static void tell_shortest(struct history_plan *plan, struct history_result *result)
{
    char description[DESCRIPTION_MAX];
    bool verbose = plan->verbose;
    plan->verbose = false;
    uint32_t runs = history_shrink(plan, result);
    history_describe(plan, description, sizeof description);
    printf("    the shortest that fails, of %" PRIu32 ": %s\n    %s\n", runs, result->failure,
           description);
    plan->verbose = verbose;
    if (verbose)
        history_run(plan, result);
}

/* *played: whether it is a history of the mode that is wanted. */
static enum status play(uint64_t seed, const struct options *options, struct history_totals *modes,
                        bool *played)
{
    struct history_plan plan;
    struct history_result result;
    char description[DESCRIPTION_MAX];
    if (history_draw(&plan, seed) != STATUS_OK) {
        history_free(&plan);
        return STATUS_MEMORY;
    }
    *played =
        options->only_mode == NULL || strcmp(options->only_mode, job_mode(&plan.job)->name) == 0;
    if (!*played) {
        history_free(&plan);
        return STATUS_OK;
    }
    plan.verbose = options->verbose;
    snprintf(last_words, sizeof last_words,
             "seed %" PRIu64 " FAILED: the line above ended it\n"
             "    syncopate verify --seed %" PRIu64 " --verbose\n",
             seed, seed);
    history_describe(&plan, description, sizeof description);
    history_run(&plan, &result);
    history_totals_add(&modes[plan.job.mode], &result);
    if (result.failed) {
        printf("seed %" PRIu64 " FAILED: %s\n    %s\n    syncopate verify --seed %" PRIu64
               " --verbose\n",
               seed, result.failure, description, seed);
        tell_shortest(&plan, &result);
    } else if (options->histories == 1 && !options->quiet)
        printf("seed %" PRIu64 ": %s\n", seed, description);
    history_free(&plan);
    return STATUS_OK;
}

int command_verify(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct history_totals modes[MODE_COUNT] = {0};
    double began = clock_now_seconds();
    setvbuf(stdout, NULL, _IOLBF, 0); /* Output before an abort is complete. */
    signal(SIGABRT, say_last_words);
    bool played;
    for (uint64_t seed = options->job.seed, left = options->histories; left > 0; left -= played)
        if (play(seed++, options, modes, &played) != STATUS_OK) {
            error_set(error, STATUS_MEMORY, "out of memory");
            return EXIT_TRAINING_FAILED;
        }
    signal(SIGABRT, SIG_DFL);
    if (!options->quiet)
        history_totals_print(modes, clock_now_seconds() - began);
    uint64_t failed = 0;
    for (unsigned i = 0; i < MODE_COUNT; i++)
        failed += modes[i].failed;
    return failed > 0 ? EXIT_TRAINING_FAILED : EXIT_DONE;
}
