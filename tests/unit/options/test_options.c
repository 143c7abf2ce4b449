/* test_options.c - the table of options: defaults, ways of writing them, the line for each mistake,
 * and --help. */
/* promises: environment install mistakes */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options/options.h"
#include "common/options/options_table.h"
#include "common/options/options_text.h"
#include "common/store/checkpoint.h"
#include "tests/lib/suite.h"

#define WORDS_MAX 16

/* Parse a command line written as one text with single spaces. Strings of options point into a
 * buffer that lives until the next call. */
static enum options_result parse(struct options *options, enum option_user user, const char *line,
                                 struct error *error)
{
    static char buffer[512];
    char *argv[WORDS_MAX + 1];
    int argc = 0;
    snprintf(buffer, sizeof buffer, "program %s", line);
    for (char *word = strtok(buffer, " "); word != NULL && argc < WORDS_MAX;
         word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    if (error != NULL)
        error->text[0] = '\0';
    return options_parse(options, user, option_user_program(user), argc, argv, error);
}

static void expect_run(struct options *options, enum option_user user, const char *line)
{
    struct error error;
    enum options_result result = parse(options, user, line, &error);
    ck_assert_msg(result == OPTIONS_RUN, "%s: %s", line, error.text);
}

static void expect_bad(enum option_user user, const char *line, const char *message)
{
    struct options options;
    struct error error;
    ck_assert_msg(parse(&options, user, line, &error) == OPTIONS_BAD, "%s", line);
    ck_assert_str_eq(error.text, message);
}

TEST_PLAIN(what_was_given_is_told_from_a_default)
{
    struct options options;
    expect_run(&options, OPTION_EVALUATE, "run");
    ck_assert_str_eq(options.data, "fashion-mnist");
    ck_assert_uint_eq(options.job.seed, 1);
    ck_assert(!options_given(&options, OPTION_EVALUATE, "data"));
    ck_assert(!options_given(&options, OPTION_EVALUATE, "seed"));
    expect_run(&options, OPTION_EVALUATE, "run --seed 1");
    ck_assert(!options_given(&options, OPTION_EVALUATE, "data"));
    ck_assert(options_given(&options, OPTION_EVALUATE, "seed"));
    setenv("SYNCOPATE_DATA", "synthetic", 1);
    expect_run(&options, OPTION_EVALUATE, "run");
    ck_assert_str_eq(options.data, "synthetic");
    ck_assert(options_given(&options, OPTION_EVALUATE, "data"));
    unsetenv("SYNCOPATE_DATA");
    expect_run(&options, OPTION_RUN, "--workers 2");
    ck_assert(options_given(&options, OPTION_RUN, "workers"));
    ck_assert(!options_given(&options, OPTION_RUN, "ps"));
}

TEST_PLAIN(checkpoints_to_keep_are_a_number_or_all)
{
    struct options options;
    expect_run(&options, OPTION_RUN, "");
    ck_assert_uint_eq(options_keep(&options), 0);
    expect_run(&options, OPTION_RUN, "--keep 1");
    ck_assert_uint_eq(options_keep(&options), 1);
    expect_run(&options, OPTION_PS, "--bind a:1 --keep 1000");
    ck_assert_uint_eq(options_keep(&options), CHECKPOINTS_KEPT_MAX);
    expect_run(&options, OPTION_COMPARE, "--keep All");
    ck_assert_uint_eq(options_keep(&options), CHECKPOINTS_ALL);
    static const char *const wrong[] = {"0", "-1", "1001", "4294967295", "none", "3x", "1.5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[64], message[128];
        snprintf(line, sizeof line, "--keep %s", wrong[i]);
        snprintf(message, sizeof message,
                 "syncopate run: --keep=%s: needs all, or a whole number from 1 to 1000", wrong[i]);
        expect_bad(OPTION_RUN, line, message);
    }
}

TEST_PLAIN(defaults_are_the_reference_job)
{
    struct options options;
    expect_run(&options, OPTION_RUN, "");
    ck_assert_int_eq(options.job.mode, MODE_SYNC);
    ck_assert_str_eq(options.model, "cnn");
    ck_assert_str_eq(options.data, "fashion-mnist");
    ck_assert_uint_eq(options.global_batch, 64);
    ck_assert_uint_eq(options.job.micro_batch, 16);
    ck_assert_uint_eq(options.worker_batch, 0);
    ck_assert_str_eq(options.job.optimizer.name, "adam");
    ck_assert(isnan(options.job.schedule.learning_rate) && isnan(options.job.optimizer.momentum) &&
              isnan(options.job.optimizer.epsilon));
    ck_assert_uint_eq(options.epochs, 10);
    ck_assert_uint_eq(options.job.steps, 0);
    ck_assert_uint_eq(options.job.seed, 1);
    ck_assert_uint_eq(options.job.checkpoint_every, JOB_CHECKPOINTS_UNSAID);
    ck_assert_uint_eq(options.ps, 1);
    ck_assert_uint_eq(options.workers, 2);
    ck_assert_uint_eq(options.job.chunk_bytes, 0);
    ck_assert_int_eq(options.owner_threads, -1);
    ck_assert_double_eq(options.deadlines.start, 60);
    ck_assert_double_eq(options.deadlines.silence, 5);
    ck_assert_double_eq(options.deadlines.recovery, 60);
    ck_assert_double_eq(options.deadlines.progress, 300);
    ck_assert_double_eq(options.deadlines.stop, 30);
    ck_assert_str_eq(options.on_worker_loss, "continue");
    ck_assert_uint_eq(options.max_bad_gradients, 10);
    ck_assert_uint_eq(options.max_restarts, 5);
    ck_assert_str_eq(options.restore, "auto");
    ck_assert_ptr_null(options.out);

    expect_run(&options, OPTION_COMPARE, "");
    ck_assert_str_eq(options.modes, "sync,async");
    ck_assert_str_eq(options.worker_counts, "2");
    ck_assert_uint_eq(options.seeds, 1);
}

TEST_PLAIN(all_ways_of_writing_an_option_mean_the_same)
{
    static const char *const lines[] = {"--global-batch 32", "--global-batch=32",
                                        "--global_batch 32", "--global_batch=32"};
    for (size_t i = 0; i < 4; i++) {
        struct options options;
        expect_run(&options, OPTION_RUN, lines[i]);
        ck_assert_uint_eq(options.global_batch, 32);
    }
}

TEST_PLAIN(flags_stand_alone_or_have_a_value)
{
    static const struct {
        const char *line;
        bool value;
    } cases[] = {{"--quiet", true},         {"--quiet=true", true},   {"--quiet=1", true},
                 {"--quiet=on", true},      {"--quiet=false", false}, {"--quiet=no", false},
                 {"--quiet --seed 2", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        expect_run(&options, OPTION_RUN, cases[i].line);
        ck_assert_int_eq(options.quiet, cases[i].value);
    }
    expect_bad(OPTION_RUN, "--warmup-steps 3 --warmup-epochs 1",
               "syncopate run: --warmup-steps=3 and --warmup-epochs=1: one of them is too much");
    expect_bad(OPTION_RUN, "--warmup-from 0.5",
               "syncopate run: --warmup-from=0.5: only used with --warmup-steps or "
               "--warmup-epochs");
    expect_bad(OPTION_RUN, "--quiet=maybe", "syncopate run: --quiet=maybe: needs true or false");
}

TEST_PLAIN(numbers_are_read_strictly)
{
    static const char *const bad[] = {"--global-batch=0",
                                      "--global-batch=65537",
                                      "--global-batch=-1",
                                      "--global-batch=+1",
                                      "--global-batch=1.0",
                                      "--global-batch=1x",
                                      "--global-batch=0x10",
                                      "--global-batch=1e3",
                                      "--seed=18446744073709551616",
                                      "--seed=-1",
                                      "--learning-rate=nan",
                                      "--learning-rate=inf",
                                      "--learning-rate=0x1p-3",
                                      "--learning-rate=1f",
                                      "--learning-rate=-1",
                                      "--learning-rate=1e999",
                                      "--start-timeout=0",
                                      "--owner-threads=-2",
                                      "--owner-threads=17",
                                      "--chunk-bytes=1T",
                                      "--chunk-bytes=-1K",
                                      "--chunk-bytes=2G",
                                      "--chunk-bytes=K",
                                      "--chunk-bytes=99999999999999999999G",
                                      "--chunk-bytes=17179869184G"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct options options;
        ck_assert_msg(parse(&options, OPTION_RUN, bad[i], NULL) == OPTIONS_BAD, "%s", bad[i]);
    }
    struct options options;
    expect_run(&options, OPTION_RUN,
               "--seed=18446744073709551615 --learning-rate=1e-3 --owner-threads=-1 "
               "--chunk-bytes=1MiB");
    ck_assert_uint_eq(options.job.seed, UINT64_MAX);
    ck_assert_double_eq(options.job.schedule.learning_rate, 1e-3);
    ck_assert_uint_eq(options.job.chunk_bytes, 1048576);
}

TEST_PLAIN(errors_name_bounds_and_choices)
{
    expect_bad(OPTION_RUN, "--workers 0",
               "syncopate run: --workers=0: needs a whole number from 1 to 1024");
    expect_bad(OPTION_RUN, "--mode parallel",
               "syncopate run: --mode=parallel: needs one of sync, async, ssp:S, "
               "allreduce " MODE_BOUND_WORDS);
    expect_bad(
        OPTION_RUN, "--mode ssync",
        "syncopate run: --mode=ssync: needs one of sync, async, ssp:S, allreduce " MODE_BOUND_WORDS
        " (did you mean sync?)");
    expect_bad(OPTION_RUN, "--transport udp",
               "syncopate run: --transport=udp: needs one of auto, tcp, shm");
    expect_bad(OPTION_RUN, "--schedule line",
               "syncopate run: --schedule=line: needs one of constant, step, cosine");
    expect_bad(OPTION_RUN, "--steps 0",
               "syncopate run: --steps=0: needs a whole number, at least 1");
    expect_bad(OPTION_RUN, "--steps 99999999999999999999",
               "syncopate run: --steps=99999999999999999999: needs a whole number from 1 to "
               "1000000000000000");
    expect_bad(OPTION_WORKER, "--ps 2",
               "syncopate-worker: --ps=2: needs 0, for a worker that trains alone, or colocated; "
               "servers are named by --ps-hosts, and 'syncopate run --ps N' starts servers and "
               "workers");
    expect_bad(
        OPTION_RUN, "--ps colocate",
        "syncopate run: --ps=colocate: needs a whole number from 0 to 256, or colocated (did "
        "you mean colocated?)");
    expect_bad(OPTION_COMPARE, "--ps 257",
               "syncopate compare: --ps=257: needs a whole number from 0 to 256, or colocated");
    expect_bad(OPTION_SIMULATE, "--ps 0",
               "syncopate simulate: --ps=0: needs a whole number from 1 to 256, or colocated");
    expect_bad(OPTION_RUN, "--start-timeout 1m",
               "syncopate run: --start-timeout=1m: needs a number of seconds, at least 0.001");
}

TEST_PLAIN(a_number_written_in_another_way_is_offered_in_ours)
{
    static const char *const numbers[][2] = {
        {"--epochs=1e3", "--epochs=1e3: needs a whole number from 1 to 1000000 (did you mean "
                         "1000?)"},
        {"--epochs=64,000", "64000?"},
        {"--steps=1_000", "1000?"},
        {"--steps=5.0", "5?"},
        {"--learning-rate=0,001", "0.001?"},
        {"--start-timeout=10s", "10?"},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct options options;
        struct error error;
        ck_assert_int_eq(parse(&options, OPTION_RUN, numbers[i][0], &error), OPTIONS_BAD);
        ck_assert_msg(strstr(error.text, numbers[i][1]) != NULL, "%s", error.text);
    }
    char *spaced[] = {(char[]){"run"}, (char[]){"--steps"}, (char[]){"10 "}, NULL};
    struct options options;
    struct error error;
    ck_assert_int_eq(options_parse(&options, OPTION_RUN, "run", 3, spaced, &error), OPTIONS_BAD);
    ck_assert_str_eq(error.text,
                     "run: --steps='10 ': needs a whole number, at least 1 (did you mean 10?)");
}

TEST_PLAIN(words_may_be_written_in_any_case)
{
    struct options options;
    expect_run(&options, OPTION_RUN,
               "--optimizer Adam --mode ASYNC --transport TCP --schedule Step "
               "--on-worker-loss Wait --quiet=TRUE --chunk-bytes 1mib");
    ck_assert_str_eq(options.job.optimizer.name, "adam"); /* So the same job is the same. */
    ck_assert_int_eq(options.job.mode, MODE_ASYNC);
    ck_assert_str_eq(options.transport, "tcp");
    ck_assert_int_eq(options.job.schedule.kind, SCHEDULE_STEP);
    ck_assert_str_eq(options.on_worker_loss, "wait");
    ck_assert(options.quiet);
    ck_assert_uint_eq(options.job.chunk_bytes, 1048576);
    expect_run(&options, OPTION_RUN, "--optimizer SGD --learning-rate 0.1");
    expect_run(&options, OPTION_COMPARE, "--modes Async --use-locking");
    expect_bad(
        OPTION_COMPARE, "--modes SYNC --use-locking",
        "syncopate compare: --use-locking=true: only used with --mode=async|ssp, but the mode "
        "is sync");
}

TEST_PLAIN(compensation_is_a_number_or_adaptive_with_one)
{
    static const char *const wrong[] = {"adaptive", "adaptive:",    "adaptive:0", "-1",  "1e7",
                                        "nan",      "adaptive:1:2", "often:1",    "0x10"};
    struct options options;
    expect_run(&options, OPTION_RUN, "--mode async --delay-compensation 0.04");
    ck_assert(options.job.delay_compensation == 0.04f && !options.job.compensation_adapts);
    expect_run(&options, OPTION_RUN, "--mode ssp:2 --delay-compensation Adaptive:2");
    ck_assert(options.job.delay_compensation == 2 && options.job.compensation_adapts);
    expect_run(&options, OPTION_RUN, "--mode async");
    ck_assert(options.job.delay_compensation == 0 && !options.job.compensation_adapts);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char given[80];
        struct error error;
        snprintf(given, sizeof given, "--mode async --delay-compensation %s", wrong[i]);
        ck_assert_int_eq(parse(&options, OPTION_RUN, given, &error), OPTIONS_BAD);
        ck_assert_msg(strstr(error.text, "needs a number from 0 to 1000000, or adaptive:L0") !=
                          NULL,
                      "%s", error.text);
    }
    expect_bad(OPTION_RUN, "--mode sync --delay-compensation 1",
               "syncopate run: --delay-compensation=1: only used with --mode=async|ssp, but the "
               "mode is sync");
}

TEST_PLAIN(the_most_staleness_says_what_becomes_of_more)
{
    static const char *const wrong[] = {
        "0", "-1", "1.5", "5:", "5:loose", ":lost", "1000000001", "x"};
    struct options options;
    expect_run(&options, OPTION_RUN, "--mode async --max-staleness 7");
    ck_assert(options.job.max_staleness == 7 && !options.job.staleness_loses);
    expect_run(&options, OPTION_RUN, "--mode async --max-staleness 7:LOST");
    ck_assert(options.job.max_staleness == 7 && options.job.staleness_loses);
    expect_run(&options, OPTION_RUN,
               "--mode ssp:3 --max-staleness 7:lost --max-staleness 9:requeue");
    ck_assert(options.job.max_staleness == 9 && !options.job.staleness_loses);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char given[80];
        struct error error;
        snprintf(given, sizeof given, "--mode async --max-staleness %s", wrong[i]);
        ck_assert_int_eq(parse(&options, OPTION_RUN, given, &error), OPTIONS_BAD);
        ck_assert_msg(strstr(error.text, "needs N from 1 to 1000000000") != NULL, "%s", error.text);
        ck_assert_msg(strstr(error.text, "did you mean") == NULL, "%s", error.text);
    }
}

TEST_PLAIN(help_and_error_agree_on_what_a_number_may_be)
{
    char text[OPTION_TEXT_MAX];
    option_describe(option_find(OPTION_RUN, "max-staleness", 13), text);
    ck_assert_msg(strstr(text, "(" MAX_STALENESS_WORDS ")") != NULL, "%s", text);
}

TEST_PLAIN(a_list_given_twice_is_one_list)
{
    struct options options;
    expect_run(&options, OPTION_SIMULATE,
               "--kill worker/0@1s --seed 1 --kill worker/1@2s --kill=ps/0@3s");
    ck_assert_str_eq(options.failures[FAILURE_TEXT_KILL], "worker/0@1s,worker/1@2s,ps/0@3s");
    ck_assert_str_eq(options.remarks, "");
    expect_run(&options, OPTION_COMPARE, "--modes sync --modes async --workers 1 --workers 2,4");
    ck_assert_str_eq(options.modes, "sync,async");
}

TEST_PLAIN(of_an_option_given_twice_the_last_counts_and_it_is_said)
{
    struct options options;
    expect_run(&options, OPTION_RUN, "--seed 1 --out a --seed=2");
    ck_assert_uint_eq(options.job.seed, 2);
    ck_assert_str_eq(options.remarks, "--seed=2 counts, not 1, which was given before");
    expect_run(&options, OPTION_RUN, "--seed 1 --seed=1 --global-batch 32 --global_batch 32");
    ck_assert_str_eq(options.remarks, "");
    setenv("SYNCOPATE_SEED", "3", 1); /* To be overridden is what it is for. */
    expect_run(&options, OPTION_RUN, "--seed 2");
    ck_assert_str_eq(options.remarks, "");
    char line[900] = "";
    for (int i = 0; i < 60; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "--seed=%d ", i);
    char *words[61] = {(char[]){"run"}};
    int count = 1;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    ck_assert_int_eq(options_parse(&options, OPTION_RUN, "run", count, words, NULL), OPTIONS_RUN);
    ck_assert_uint_eq(options.job.seed, 59);
}

TEST_PLAIN(a_variable_of_another_program_is_named_where_a_person_starts_a_job)
{
    struct options options;
    setenv("SYNCOPATE_PORT_FILE", "p", 1);
    expect_run(&options, OPTION_RUN, "");
    ck_assert_str_eq(
        options.remarks,
        "SYNCOPATE_PORT_FILE does nothing here: it is for syncopate-ps, syncopate task");
    expect_run(&options, OPTION_PS, "--bind a:1");
    ck_assert_str_eq(options.remarks, "");
    expect_run(&options, OPTION_WORKER,
               "--ps-hosts a:1 --workers 1"); /* Of a container with both. */
    ck_assert_str_eq(options.remarks, "");
    setenv("SYNCOPATE_PORT_FILE", "", 1);
    expect_run(&options, OPTION_RUN, "");
    ck_assert_str_eq(options.remarks, "");
    setenv("SYNCOPATE_TRACE", "true", 1); /* A flag here, a file elsewhere. */
    expect_run(&options, OPTION_RUN, "");
    ck_assert_str_eq(options.remarks, "");
}

TEST_PLAIN(a_job_has_one_length)
{
    struct options options;
    expect_run(&options, OPTION_RUN, "--steps 5 --epochs 3");
    ck_assert_uint_eq(options.job.steps, 5);
    ck_assert_str_eq(options.remarks, "--steps=5 counts, not --epochs=3");
    setenv("SYNCOPATE_EPOCHS", "3", 1);
    expect_run(&options, OPTION_RUN, "--steps 5");
    ck_assert_uint_eq(options.job.steps, 5);
    ck_assert_str_eq(options.remarks, "");
    setenv("SYNCOPATE_STEPS", "5", 1);
    expect_run(&options, OPTION_RUN, "");
    ck_assert_str_eq(options.remarks, "SYNCOPATE_STEPS=5 counts, not SYNCOPATE_EPOCHS=3");
    expect_run(&options, OPTION_RUN, "--epochs 4"); /* A flag wins over the environment. */
    ck_assert_uint_eq(options.job.steps, 0);
    ck_assert_uint_eq(options.epochs, 4);
    ck_assert_str_eq(options.remarks, "");
}

TEST_PLAIN(what_other_programs_call_an_option_is_answered_with_its_name)
{
    static const char *const words[][2] = {
        {"--lr 1", "unknown option --lr: here it is --learning-rate"},
        {"--LR=1", "unknown option --LR: here it is --learning-rate"},
        {"--batch_size 1", "unknown option --batch_size: here it is --global-batch, examples in an "
                           "update, of all workers together"},
        {"-np 1", "unknown option -np: here it is --workers, and servers are --ps"},
        {"--hosts a", "--hosts is not an option of this program (of syncopate launch)"},
        {"--nodes 2",
         "it is --hosts, which is not an option of this program (of syncopate launch)"},
        {"--port 1", "servers listen where --ps-hosts says"},
        {"--num-epochs 1", "--epochs"},
        {"--iterations 1", "--steps"},
        {"--dataset a", "--data"},
        {"--resume a", "with the same --out goes on by itself"},
        {"--optimiser a", "--optimizer"},
        {"--threads 1", "--workers"},
        {"--gpu", "there is no GPU support"},
        {"--clip 1", "there is no gradient clipping"},
        {"--latency 1ms", "it is --network, which is not an option of this program (of syncopate "
                          "compare, syncopate simulate)"},
        {"--rank 1", "it is --task-index, which is not an option of this program (of "
                     "syncopate-ps, syncopate-worker, syncopate task)"},
        {"--sync_replicas", "unknown option --sync_replicas: write --mode sync or --mode async"},
        {"--issync=0", "write --mode sync or --mode async"},
        {"--replicas_to_aggregate 2", "here it is --backup-workers"},
        {"--seed 1,2,3", "at least 0 (several: 'syncopate compare' with --vary or --seeds)"},
        {"--learning-rate 0.1,0.01", "(several: 'syncopate compare' with --vary or --seeds)"},
        {"--global-batch 1,024", "(did you mean 1024?)"},
        {"--learning-rate 0,001", "(did you mean 0.001?)"},
        {"--compute 30ms", "'30ms' has no kind before it: constant:30ms"},
        {"train.py", "'train.py' is a program: --program \"python3 train.py\""},
        {"--program a --data synthetic",
         "--program: is model and data; --data=synthetic cannot be given as well"},
        {"--sead 3", "unknown option --sead (--help lists them)"},
    };
    struct options options;
    struct error error;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        ck_assert_int_eq(parse(&options, OPTION_RUN, words[i][0], &error), OPTIONS_BAD);
        ck_assert_msg(strstr(error.text, words[i][1]) != NULL, "%s", error.text);
    }
    expect_bad(OPTION_EVALUATE, "x --lr 1",
               "syncopate evaluate: unknown option --lr: it is --learning-rate, which is not an "
               "option of this program (of syncopate-worker, syncopate run, syncopate compare and "
               "others)");
    expect_bad(OPTION_SIMULATE, "--bandwidth 1G",
               "syncopate simulate: unknown option --bandwidth: here it is --network, as in "
               "--network 10Gbit,50us");
    setenv("SYNCOPATE_LR", "1", 1);
    expect_bad(OPTION_RUN, "",
               "syncopate run: the variable SYNCOPATE_LR is no option's (did you mean "
               "SYNCOPATE_LEARNING_RATE?)");
}

/* Or it would be answered with what is not there. */
TEST_PLAIN(every_synonym_is_sound)
{
    static const char *const words[] = {"lr", "batch-size", "iterations", "replicas-to-aggregate",
                                        "np", "rank",       "nodes",      "latency"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *name, *remark;
        ck_assert(option_synonym(words[i], &name, &remark));
        ck_assert_msg(option_find(~0u, name, strlen(name)) != NULL, "%s is no option", name);
    }
}

TEST_PLAIN(an_unknown_option_names_the_nearest)
{
    expect_bad(OPTION_RUN, "--wrokers 3",
               "syncopate run: unknown option --wrokers (did you mean --workers?)");
    expect_bad(OPTION_RUN, "--leraning_rate=3",
               "syncopate run: unknown option --leraning_rate (did you mean --learning-rate?)");
    expect_bad(OPTION_RUN, "--wrokesr 3",
               "syncopate run: unknown option --wrokesr (did you mean --workers?)");
    expect_bad(OPTION_RUN, "--versoin",
               "syncopate run: unknown option --versoin (did you mean --version?)");
    expect_bad(OPTION_RUN, "--xyzzyxyzzy=3",
               "syncopate run: unknown option --xyzzyxyzzy (--help lists them)");
    expect_bad(OPTION_RUN, "-x", "syncopate run: unknown option -x (--help lists them)");
    expect_bad(OPTION_RUN, "-seed 3", "syncopate run: unknown option -seed (did you mean --seed?)");
}

TEST_PLAIN(an_option_of_another_program_is_named_so)
{
    expect_bad(OPTION_PS, "--bind a:1 --modes sync",
               "syncopate-ps: --modes is not an option of this program (of syncopate compare)");
}

TEST_PLAIN(what_a_terminal_would_obey_is_not_printed)
{
    expect_bad(OPTION_RUN, "--out x\033[31m\a",
               "syncopate run: --out=x?[31m?: has a control character (27)");
    expect_bad(OPTION_RUN, "--n\033[1mo",
               "syncopate run: unknown option --n?[1mo (--help lists them)");
}

TEST_PLAIN(surplus_and_missing_words_are_errors)
{
    expect_bad(OPTION_RUN, "fast",
               "syncopate run: unexpected argument 'fast'; options begin with -- (--help lists "
               "them)");
    expect_bad(OPTION_RUN, "mode=sync",
               "syncopate run: unexpected argument 'mode=sync' (did you mean --mode=sync?)");
    expect_bad(OPTION_RUN, "--model conv 32x3",
               "syncopate run: unexpected argument '32x3' (a value with blanks, such as that of "
               "--model, goes between quotes)");
    expect_bad(OPTION_RUN, "--quiet true",
               "syncopate run: unexpected argument 'true' (--quiet stands alone, or with = as in "
               "--quiet=false)");
    expect_bad(OPTION_RUN, "--out", "syncopate run: --out needs a value");
    expect_bad(OPTION_RUN, "--out --quiet", "syncopate run: --out needs a value");
    expect_bad(OPTION_RUN, "--out=", "syncopate run: --out needs a value");
    expect_bad(OPTION_EVALUATE, "",
               "syncopate evaluate: needs the path of a run's folder, a checkpoint or a "
               "model.safetensors (--help tells more)");
    expect_bad(OPTION_EVALUATE, "a b",
               "syncopate evaluate: takes one path, but 'a' and 'b' were given");
    struct options options;
    expect_run(&options, OPTION_EVALUATE, "--quiet -- --odd");
    ck_assert_str_eq(options.path, "--odd");
}

TEST_PLAIN(a_flag_wins_over_the_environment_and_it_over_the_default)
{
    struct options options;
    setenv("SYNCOPATE_GLOBAL_BATCH", "128", 1);
    setenv("SYNCOPATE_QUIET", "true", 1);
    setenv("SYNCOPATE_DATA", "", 1); /* As if it were not there. */
    expect_run(&options, OPTION_RUN, "");
    ck_assert_uint_eq(options.global_batch, 128);
    ck_assert(options.quiet);
    ck_assert_str_eq(options.data, "fashion-mnist");
    expect_run(&options, OPTION_RUN, "--global-batch 32 --quiet=false");
    ck_assert_uint_eq(options.global_batch, 32);
    ck_assert(!options.quiet);
    setenv("SYNCOPATE_SEED", "abc", 1);
    expect_bad(OPTION_RUN, "",
               "syncopate run: SYNCOPATE_SEED=abc: needs a whole number, at least 0");
    expect_run(&options, OPTION_PS, "--bind a:1"); /* Which has no seed. */
}

TEST_PLAIN(an_option_without_use_is_an_error)
{
    expect_bad(
        OPTION_RUN, "--use-locking",
        "syncopate run: --use-locking=true: only used with --mode=async|ssp, but the mode is "
        "sync");
    expect_bad(OPTION_RUN, "--momentum 0.9",
               "syncopate run: --momentum=0.9: only used with "
               "--optimizer=momentum|nesterov|rmsprop, but the optimizer is adam");
    expect_bad(OPTION_RUN, "--decay-steps 3",
               "syncopate run: --decay-steps=3: only used with --schedule=step|cosine, but the "
               "schedule is constant");
    expect_bad(
        OPTION_COMPARE, "--modes sync --worker-batch 3",
        "syncopate compare: --worker-batch=3: only used with --mode=async|ssp, but the mode is "
        "sync");
    struct options options;
    expect_run(&options, OPTION_RUN, "--use-locking=false");
    expect_run(&options, OPTION_RUN, "--use-locking --mode async");
    expect_run(&options, OPTION_RUN, "--momentum 0.9 --optimizer rmsprop");
    expect_run(&options, OPTION_COMPARE, "--use-locking");
}

TEST_PLAIN(what_to_do_about_losses_is_told_to_who_must_do_it)
{
    struct options options;
    expect_run(&options, OPTION_PS, "--bind a:1 --on-worker-loss wait --max-bad-gradients 0");
    ck_assert_str_eq(options.on_worker_loss, "wait");
    ck_assert_uint_eq(options.max_bad_gradients, 0);
    expect_run(&options, OPTION_RUN, "--on-worker-loss fail --max-restarts=0");
    ck_assert_uint_eq(options.max_restarts, 0);
    expect_run(&options, OPTION_COMPARE, "--max-bad-gradients 3");
    expect_run(&options, OPTION_WORKER, "--ps-hosts a:1 --workers 1 --recovery-timeout 2.5");
    ck_assert_double_eq(options.deadlines.recovery, 2.5);
    expect_bad(OPTION_RUN, "--on-worker-loss stop",
               "syncopate run: --on-worker-loss=stop: needs one of continue, wait, fail");
    expect_bad(
        OPTION_RUN, "--max-bad-gradients 3",
        "syncopate run: --max-bad-gradients=3: only used with --mode=async|ssp, but the mode "
        "is sync");
    expect_bad(OPTION_KEYGEN, "keys --workers 1 --out a",
               "syncopate keygen: --out is not an option of this program (of syncopate-ps, "
               "syncopate-worker, syncopate run and others)");
    expect_bad(OPTION_PS, "--bind a:1 --explain",
               "syncopate-ps: --explain is not an option of this program (of syncopate run, "
               "syncopate simulate)");
}

TEST_PLAIN(roles_check_their_hosts)
{
    expect_bad(OPTION_PS, "",
               "syncopate-ps: needs --ps-hosts with --task-index, or --bind "
               "('syncopate task' asks Slurm, MPI, torchrun or TF_CONFIG)");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --task-index 1",
               "syncopate-ps: --task-index=1: --ps-hosts names only 1");
    expect_bad(OPTION_PS, "--bind a:1 --job-name worker",
               "syncopate-ps: --job-name=worker, but this is syncopate-ps");
    expect_bad(OPTION_WORKER, "--workers 2",
               "syncopate-worker: needs --ps-hosts, the servers' host:port in order "
               "('syncopate task' asks Slurm, MPI, torchrun or TF_CONFIG)");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1",
               "syncopate-worker: needs --worker-hosts or --workers, to know how many workers "
               "join");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1,b --workers 2",
               "syncopate-worker: --ps-hosts: 'b' is not host:port");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --worker-hosts c:1,d:1 --task-index 2",
               "syncopate-worker: --task-index=2: --worker-hosts names only 2");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --workers 3 --worker-hosts c:1,d:1",
               "syncopate-worker: --workers=3, but --worker-hosts names 2");
    struct options options;
    expect_run(&options, OPTION_WORKER,
               "--ps-hosts a:1,b:2 --worker-hosts c:1,d:1 --task-index 1 --job-name worker");
    expect_run(&options, OPTION_WORKER, "--ps-hosts a:1 --workers 2 --task-index 2");
    expect_run(&options, OPTION_PS,
               "--ps-hosts a:1,b:2 --worker-hosts c:1,d:1 --task-index 1 --job-name ps");
}

TEST_PLAIN(host_lists_are_cut_at_commas)
{
    char items[3][ADDRESS_MAX], line[ADDRESS_MAX + 16];
    uint32_t count;
    ck_assert_int_eq(options_hosts("a:1,[::1]:22", items, 3, &count, NULL), STATUS_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(items[0], "a:1");
    ck_assert_str_eq(items[1], "[::1]:22");
    ck_assert_int_eq(options_hosts(NULL, items, 3, &count, NULL), STATUS_OK);
    ck_assert_uint_eq(count, 0);
    static const char *const bad[] = {"",   ",",  "a:1,", ",a:1",    "a:1,,b:1",       "a",
                                      "a:", ":1", "a:x",  "a:65536", "a:1,b:1,c:1,d:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(options_hosts(bad[i], items, 3, &count, NULL) == STATUS_INVALID, "%s",
                      bad[i]);
    memset(line, 'a', sizeof line);
    strcpy(line + ADDRESS_MAX, ":1");
    ck_assert_int_eq(options_hosts(line, items, 3, &count, NULL), STATUS_INVALID);
    strcpy(line + ADDRESS_MAX - 3, ":1");
    ck_assert_int_eq(options_hosts(line, items, 3, &count, NULL), STATUS_OK);
}

TEST_PLAIN(lists_of_compare_are_read)
{
    struct mode_setting modes[3];
    uint32_t counts[2], count;
    ck_assert_int_eq(options_modes("async,sync", modes, 3, &count, NULL), STATUS_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(modes[0].mode, MODE_ASYNC);
    ck_assert_int_eq(options_modes("Sync ; ASYNC SSP:inf", modes, 3, &count, NULL), STATUS_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(modes[0].mode, MODE_SYNC);
    ck_assert_int_eq(modes[2].mode, MODE_SSP);
    ck_assert_uint_eq(modes[2].bound, MODE_UNBOUNDED);
    ck_assert_int_eq(options_modes("ssp:1,ssp:2,ssp:3", modes, 3, &count, NULL), STATUS_OK);
    ck_assert_uint_eq(modes[2].bound, 3);
    ck_assert_int_eq(options_modes("ssp:1,ssp:01", modes, 3, &count, NULL), STATUS_INVALID);
    ck_assert_int_eq(options_modes("sync,async,ssp:1,ssp:2", modes, 3, &count, NULL),
                     STATUS_INVALID);
    ck_assert_int_eq(options_modes("", modes, 3, &count, NULL), STATUS_INVALID);
    ck_assert_int_eq(options_counts("1,16", counts, 2, &count, NULL), STATUS_OK);
    ck_assert_uint_eq(counts[1], 16);
    ck_assert_int_eq(options_counts("1,0", counts, 2, &count, NULL), STATUS_INVALID);
    ck_assert_int_eq(options_counts("1,2,3", counts, 2, &count, NULL), STATUS_INVALID);
}

TEST_PLAIN(the_item_of_a_list_that_is_wrong_is_named)
{
    static const char *const modes[][2] = {
        {"sync,asnyc",
         "'asnyc' is no mode; there are sync, async, ssp:S, allreduce " MODE_BOUND_WORDS
         " (did you mean async?)"},
        {"sync,parallel",
         "'parallel' is no mode; there are sync, async, ssp:S, allreduce " MODE_BOUND_WORDS},
        {"sync,SYNC", "sync is there twice"},
        {"ssp:2,async,ssp:2", "ssp:2 is there twice"},
        {"ssp", "'ssp' is no mode; there are sync, async, ssp:S, allreduce " MODE_BOUND_WORDS
                " (did you mean ssp:S?)"},
        {"ssp:-1", "'ssp:-1' is no mode; there are sync, async, ssp:S, allreduce " MODE_BOUND_WORDS
                   " (did you mean ssp:S?)"},
        {"sync,", "item 2 of the list is empty"},
        {"sync,,async", "item 2 of the list is empty"},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char line[64], expected[200];
        snprintf(line, sizeof line, "--modes %s", modes[i][0]);
        snprintf(expected, sizeof expected, "syncopate compare: --modes=%s: %s", modes[i][0],
                 modes[i][1]);
        expect_bad(OPTION_COMPARE, line, expected);
    }
    expect_bad(OPTION_COMPARE, "--workers 1,x,4",
               "syncopate compare: --workers=1,x,4: 'x' is not a whole number from 1 to 1024");
    expect_bad(OPTION_COMPARE, "--workers 1,2,1",
               "syncopate compare: --workers=1,2,1: 1 is there twice");
    expect_bad(OPTION_RUN, "--slow 1:2.0,3",
               "syncopate run: --slow=1:2.0,3: '3' is not WORKER:FACTOR such as 1:2.0, with a "
               "factor from 1 to 1000");
    expect_bad(OPTION_RUN, "--slow 1:2,1:3",
               "syncopate run: --slow=1:2,1:3: worker 1 is there twice");
    struct options options;
    expect_run(&options, OPTION_WORKER, "--ps-hosts a:1;b:2 --workers 1");
    struct job job;
    ck_assert_int_eq(options_job(&options, 60000, &job, NULL), STATUS_OK);
    ck_assert_uint_eq(job.server_count, 2);
    job_free(&job);
}

TEST_PLAIN(slow_workers_are_found_by_number)
{
    ck_assert_double_eq(options_slow_factor("1:2.5,3:4", 1), 2.5);
    ck_assert_double_eq(options_slow_factor("1:2.5,3:4", 3), 4);
    ck_assert_double_eq(options_slow_factor("1:2.5,3:4", 0), 1);
    ck_assert_double_eq(options_slow_factor(NULL, 0), 1);
    struct error error;
    ck_assert_int_eq(options_slow_check(NULL, 1, NULL), STATUS_OK);
    ck_assert_int_eq(options_slow_check("1:2.5,3:4", 4, NULL), STATUS_OK);
    ck_assert_int_eq(options_slow_check("3:4,1:2.5", 3, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "--slow=3:4,1:2.5: there is no worker 3; there are 3, from 0 on");
    ck_assert_int_eq(option_slow_check("1:2; 3:4", NULL), STATUS_OK);
    static const char *const bad[] = {"1", "1:", ":2", "1:0.5", "1:2,", "a:2", "1:nan", "1024:2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(option_slow_check(bad[i], NULL) == STATUS_INVALID, "%s", bad[i]);
}

/* --- the job ------------------------------------------------------------------------------- */

static struct job job_of(enum option_user user, const char *line)
{
    struct options options;
    struct job job;
    struct error error;
    expect_run(&options, user, line);
    enum status status = options_job(&options, 60000, &job, &error);
    ck_assert_msg(status == STATUS_OK, "%s: %s", line, error.text);
    return job;
}

TEST_PLAIN(the_reference_job_is_declared)
{
    struct job job = job_of(OPTION_RUN, "");
    ck_assert_uint_eq(job.batch, 64);
    ck_assert_uint_eq(job.micro_batch, 16);
    ck_assert_uint_eq(job.steps, 9380);
    ck_assert_uint_eq(job.checkpoint_every, JOB_CHECKPOINTS_UNSAID);
    ck_assert_uint_eq(job_checkpoint_every(&job), 938);
    ck_assert_str_eq(job.optimizer.name, "adam");
    ck_assert_float_eq(job.optimizer.beta2, 0.999f);
    ck_assert_float_eq(job.optimizer.epsilon, 1e-7f);
    ck_assert_double_eq(job.schedule.learning_rate, 0.001);
    ck_assert_uint_eq(job.server_count, 0);
    ck_assert_uint_eq(job.worker_count, 2);
    job_free(&job);
    job = job_of(OPTION_RUN, "--learning-rate 0.001");
    ck_assert_double_eq(job.schedule.learning_rate, 0.001);
    job_free(&job);
}

TEST_PLAIN(batches_depend_on_the_mode)
{
    struct job job = job_of(OPTION_RUN, "--mode async --worker-batch 20 --global-batch 60");
    ck_assert_uint_eq(job.batch, 20);
    ck_assert_uint_eq(job.steps, 30000);
    job_free(&job);
    job = job_of(OPTION_RUN, "--mode async --global-batch 60");
    ck_assert_uint_eq(job.batch, 60);
    job_free(&job);
    job = job_of(OPTION_RUN, "--global-batch 8"); /* A leaf is never larger than its batch. */
    ck_assert_uint_eq(job.micro_batch, 8);
    job_free(&job);
    /* For compare, what async uses is left out of the sync run. */
    job = job_of(OPTION_COMPARE, "--use-locking --worker-batch 20");
    ck_assert_uint_eq(job.batch, 64);
    ck_assert(!job.use_locking);
    job_free(&job);
}

TEST_PLAIN(a_batch_has_no_more_examples_than_there_are)
{
    struct options options;
    struct job job;
    struct error error;
    expect_run(&options, OPTION_RUN, "--global-batch 200");
    ck_assert_int_eq(options_job(&options, 200, &job, NULL), STATUS_OK);
    job_free(&job);
    ck_assert_int_eq(options_job(&options, 199, &job, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "--global-batch=200: an update cannot have more examples than "
                                 "there are to train on, 199");
    job_free(&job);
    /* What the mode does not use may be as it likes. */
    expect_run(&options, OPTION_RUN, "--mode async --global-batch 200 --worker-batch 20");
    ck_assert_int_eq(options_job(&options, 199, &job, NULL), STATUS_OK);
    job_free(&job);
    expect_run(&options, OPTION_RUN, "--mode async --worker-batch 100");
    ck_assert_int_eq(options_job(&options, 99, &job, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "--worker-batch=100: "));
    job_free(&job);
    /* A micro-batch larger than its batch is one leaf. */
    expect_run(&options, OPTION_RUN, "--global-batch 32 --micro-batch 500");
    ck_assert_int_eq(options_job(&options, 199, &job, NULL), STATUS_OK);
    ck_assert_uint_eq(job_leaves_max(&job), 1);
    job_free(&job);
}

TEST_PLAIN(a_declaration_says_of_controlled_time_what_was_given_and_where_it_was_cut)
{
    struct job job =
        job_of(OPTION_RUN, "--compute lognormal:30ms,0.5 --slow 1:4 --straggle 0.1:constant:3 "
                           "--pause 0.1:constant:1s");
    ck_assert_str_eq(job.pause, "0.1:constant:1s");
    ck_assert_str_eq(job.compute, "lognormal:30ms,0.5");
    ck_assert_str_eq(job.slow, "1:4");
    ck_assert_str_eq(job.straggle, "0.1:constant:3");
    job_free(&job);
    job = job_of(OPTION_RUN, "--steps 5");
    ck_assert(job.compute[0] == '\0' && job.slow[0] == '\0' && job.straggle[0] == '\0');
    ck_assert(job.pause[0] == '\0');
    job_free(&job);

    struct options options;
    char list[1200] = "1:2";
    for (size_t at = 3; at + 5 < sizeof list; at += 4)
        memcpy(list + at, ",1:2", 5);
    expect_run(&options, OPTION_RUN, "--steps 5");
    options.slow = list;
    ck_assert_int_eq(options_job(&options, 60000, &job, NULL), STATUS_OK);
    ck_assert_uint_eq(strlen(job.slow), sizeof job.slow - 1);
    ck_assert(memcmp(job.slow, list, sizeof job.slow - 4) == 0);
    ck_assert_str_eq(job.slow + sizeof job.slow - 4, "...");
    job_free(&job);
}

TEST_PLAIN(steps_and_checkpoints_can_be_given)
{
    struct job job = job_of(OPTION_RUN, "--steps 5 --checkpoint-every 0");
    ck_assert_uint_eq(job.steps, 5);
    ck_assert_uint_eq(job.checkpoint_every, 0);
    job_free(&job);
}

TEST_PLAIN(schedules_have_sensible_defaults)
{
    struct job job = job_of(OPTION_RUN, "--schedule step --warmup-steps 9");
    ck_assert_int_eq(job.schedule.kind, SCHEDULE_STEP);
    ck_assert_uint_eq(job.schedule.decay_steps, 938);
    ck_assert_double_eq(job.schedule.decay_factor, 0.5);
    ck_assert_uint_eq(job.schedule.warmup_steps, 9);
    job_free(&job);
    job = job_of(OPTION_RUN, "--warmup-epochs 0.5 --warmup-from 0.25");
    ck_assert_uint_eq(job.schedule.warmup_steps, 469);
    ck_assert_double_eq(job.schedule.warmup_from, 0.25);
    job_free(&job);
    job = job_of(OPTION_RUN, "--schedule cosine");
    ck_assert_uint_eq(job.schedule.decay_steps, 9380);
    ck_assert_double_eq(job.schedule.decay_factor, 0);
    job_free(&job);
    job = job_of(OPTION_RUN, "--schedule cosine --decay-steps 7 --decay-factor 0.1");
    ck_assert_uint_eq(job.schedule.decay_steps, 7);
    ck_assert_double_eq(job.schedule.decay_factor, 0.1);
    job_free(&job);
}

TEST_PLAIN(given_settings_overlay_the_optimizers)
{
    struct job job = job_of(OPTION_RUN, "--optimizer momentum --momentum 0.5 --learning-rate 0.25");
    ck_assert_str_eq(job.optimizer.name, "momentum");
    ck_assert_float_eq(job.optimizer.momentum, 0.5f);
    ck_assert_double_eq(job.schedule.learning_rate, 0.25);
    job_free(&job);
    struct options options;
    struct error error;
    expect_run(&options, OPTION_RUN, "--beta1 1");
    ck_assert_int_eq(options_job(&options, 60000, &job, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "beta1"));
    job_free(&job);
}

TEST_PLAIN(a_worker_declares_servers_and_counts_workers)
{
    struct job job = job_of(OPTION_WORKER, "--ps-hosts a:1,b:2 --worker-hosts c:0,d:0,e:0");
    ck_assert_uint_eq(job.server_count, 2);
    ck_assert_str_eq(job.servers[1], "b:2");
    ck_assert_uint_eq(job.worker_count, 3);
    job_free(&job);
}

TEST_PLAIN(a_job_without_examples_or_of_too_many_steps_is_refused)
{
    struct options options;
    struct job job;
    expect_run(&options, OPTION_RUN, "--global-batch 1 --epochs 1000000");
    ck_assert_int_eq(options_job(&options, 0, &job, NULL), STATUS_INVALID);
    job_free(&job);
    ck_assert_int_eq(options_job(&options, UINT64_MAX / 1000, &job, NULL), STATUS_INVALID);
    job_free(&job);
}

TEST_PLAIN(a_stream_needs_steps_and_many_of_them_are_an_epoch)
{
    struct options options;
    struct job job;
    struct error error;
    expect_run(&options, OPTION_RUN, "--global-batch 7 --epochs 2");
    ck_assert_int_eq(options_job(&options, 0, &job, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text,
                     "--steps: examples are a stream, which has no epochs: give a number of steps");
    job_free(&job);
    expect_run(&options, OPTION_RUN, "--global-batch 7 --steps 1001");
    ck_assert_int_eq(options_job(&options, 0, &job, NULL), STATUS_OK);
    ck_assert_uint_eq(job.steps, 1001);
    ck_assert_uint_eq(job_steps_per_epoch(&job), STREAM_STEPS);
    ck_assert_uint_eq(job_batch(&job, 1000).examples, 7); /* No batch is short. */
    job_free(&job);
}

/* --- help ---------------------------------------------------------------------------------- */

TEST_PLAIN(help_names_every_option_and_fits_a_terminal)
{
    for (unsigned user = OPTION_PS; user <= OPTION_USER_LAST; user <<= 1) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        ck_assert_ptr_nonnull(out);
        options_help(out, (enum option_user)user, option_user_program((enum option_user)user));
        fclose(out);
        for (size_t i = 0; i < option_row_count; i++) {
            char flag[80];
            snprintf(flag, sizeof flag, "\n  --%s%s", option_rows[i].name,
                     option_rows[i].metavar != NULL ? " " : "");
            if (option_rows[i].users & user)
                ck_assert_msg(strstr(text, flag) != NULL, "%u: %s", user, flag);
        }
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            ck_assert_msg(strlen(line) <= 80, "%s", line);
        free(text);
    }
}

TEST_PLAIN(help_and_version_win_over_mistakes)
{
    struct options options;
    ck_assert_int_eq(parse(&options, OPTION_RUN, "--wrong --version", NULL), OPTIONS_HELP);
    ck_assert_int_eq(parse(&options, OPTION_RUN, "-V", NULL), OPTIONS_HELP);
    ck_assert_int_eq(parse(&options, OPTION_RUN, "-- --version", NULL), OPTIONS_BAD);
}

TEST_PLAIN(every_row_is_sound)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        ck_assert_msg(row->help != NULL && row->help[0], "%s", row->name);
        ck_assert_msg((row->metavar == NULL) == (row->kind == OPTION_KIND_FLAG), "%s", row->name);
        ck_assert_msg(strspn(row->name, "abcdefghijklmnopqrstuvwxyz-0123456789") ==
                          strlen(row->name),
                      "%s", row->name);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(strcmp(row->name, option_rows[j].name) != 0 ||
                              (row->users & option_rows[j].users) == 0,
                          "%s is there twice", row->name);
    }
}

int main(void)
{
    return suite_run("options", NULL);
}
