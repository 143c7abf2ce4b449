/* fuzz_options.c - command lines and environments.
 *
 *     input: program (1 byte) | arguments, each ended by a newline; those that begin with
 *     SYNCOPATE_ go into the environment */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options/options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/regular.h"

#define TEXT_MAX  8192
#define WORDS_MAX 64
#define USERS     17 /* Bits of enum option_user. */

/* Lists of hosts are tried out: as many as a job may have workers. */
const struct fuzz_bounds fuzz_bounds = {JOB_WORKERS_MAX * ADDRESS_MAX + (64u << 10), 1};

extern char **environ;

void fuzz_start(void)
{
    /* --help is an answer, too, but not one to read a million times. */
    if (freopen("/dev/null", "w", stdout) == NULL)
        fuzz_must(false, "there is a place to print to");
}

/* A command line and an environment, cut out of text. */
struct words {
    char text[TEXT_MAX];
    char *arguments[WORDS_MAX + 2], *environment[WORDS_MAX + 1];
    int argument_count, environment_count;
};

static void cut(struct words *words, const uint8_t *data, size_t size)
{
    static char program[] = "program";
    size_t length = size < TEXT_MAX - 1 ? size : TEXT_MAX - 1;
    memset(words, 0, sizeof *words);
    if (length > 0)
        memcpy(words->text, data, length);
    words->arguments[words->argument_count++] = program;
    char *rest = words->text;
    for (char *word; (word = strsep(&rest, "\n")) != NULL;) {
        if (rest == NULL && word[0] == '\0')
            break; /* Behind the last newline. */
        if (strncmp(word, "SYNCOPATE_", 10) != 0 && words->argument_count < WORDS_MAX)
            words->arguments[words->argument_count++] = word;
        else if (strchr(word, '=') != NULL && words->environment_count < WORDS_MAX)
            words->environment[words->environment_count++] = word;
    }
}

/* Whatever was typed: a leaf takes no longer than a day. */
static void check_times(const struct options *options)
{
    const struct job job = {
        .seed = options->job.seed, .examples = 100, .batch = 10, .micro_batch = 4, .steps = 100};
    struct compute_time time = options_compute_time(options, 1);
    for (uint32_t i = 0; i < 30 && time.controlled && time.traced == NULL; i++)
        fuzz_must(leaf_ns(&time, &job, 1, i, i % 3) <= COMPUTE_TIME_MOST_NS,
                  "a leaf takes a day at most");
}

static void check_lists(const struct options *options)
{
    uint32_t counts[OPTIONS_COUNTS_MAX], count;
    struct mode_setting modes[OPTIONS_MODES_MAX];
    struct error error;
    if (options->worker_counts != NULL)
        options_counts(options->worker_counts, counts, OPTIONS_COUNTS_MAX, &count, &error);
    if (options->modes != NULL)
        options_modes(options->modes, modes, OPTIONS_MODES_MAX, &count, &error);
    double factor = options_slow_factor(options->slow, 1);
    fuzz_must(factor >= 1 && factor <= 1000, "workers are at most a thousand times slower");
    check_times(options);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    enum option_user user = (enum option_user)(1u << fuzz_take(&input, 1) % USERS);
    struct words words;
    struct options options;
    struct error error = {0};
    cut(&words, input.data, input.left);

    char **whole = environ;
    environ = words.environment;
    enum options_result result =
        options_parse(&options, user, "program", words.argument_count, words.arguments, &error);
    environ = whole;
    fuzz_must(result != OPTIONS_BAD || error.text[0] != '\0', "a refusal says why");
    if (result != OPTIONS_RUN)
        return;
    check_lists(&options);
    struct job job;
    options_job(&options, 60000, &job, &error);
    job_free(&job);
}
