/* What servers, workers and the environment say about one job: lists of hosts, options of the other
 * role, and variables. */
/* promises: colocated */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options/options.h"
#include "common/options/options_table.h"
#include "tests/lib/suite.h"

#define WORDS_MAX 32

/* Parse a command line written as one text with single spaces. Strings of options point into a
 * buffer that lives until the next call. */
static enum options_result parse(struct options *options, enum option_user user, const char *line,
                                 struct error *error)
{
    static const char *const programs[] = {"", "syncopate-ps", "syncopate-worker"};
    static char buffer[1024];
    char *argv[WORDS_MAX + 1];
    int argc = 0;
    snprintf(buffer, sizeof buffer, "program %s", line);
    for (char *word = strtok(buffer, " "); word != NULL && argc < WORDS_MAX;
         word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    error->text[0] = '\0';
    return options_parse(options, user, user <= 2 ? programs[user] : "syncopate", argc, argv,
                         error);
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

/* --- lists of hosts ------------------------------------------------------------------------ */

static void expect_hosts(const char *list, const char *expected)
{
    char items[16][ADDRESS_MAX], text[512] = "";
    uint32_t count, counted;
    struct error error;
    ck_assert_msg(options_hosts(list, items, 16, &count, &error) == STATUS_OK, "%s", error.text);
    for (uint32_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "", items[i]);
    }
    ck_assert_str_eq(text, expected);
    ck_assert_int_eq(options_hosts(list, NULL, 16, &counted, NULL), STATUS_OK);
    ck_assert_uint_eq(counted, count);
}

TEST_PLAIN(a_range_of_hosts_is_written_out)
{
    expect_hosts("node[1-3]:7000", "node1:7000 node2:7000 node3:7000");
    expect_hosts("a:1,node[1-2,8]:7,[::1]:2", "a:1 node1:7 node2:7 node8:7 [::1]:2");
    expect_hosts("n[08-11]x:1", "n08x:1 n09x:1 n10x:1 n11x:1");
    expect_hosts("tcp://n[0-1]:1,TCP://b:2,tcp://[fd00::5]:3", "n0:1 n1:1 b:2 [fd00::5]:3");
    expect_hosts("a:1, b:1", "a:1 b:1");
    expect_hosts("10.0.0.[5-6]:1", "10.0.0.5:1 10.0.0.6:1");
    expect_hosts("r[1-2]n[3]:1", "r1n3:1 r2n3:1");
}

TEST_PLAIN(a_range_that_makes_no_sense_is_refused)
{
    static const char *const bad[] = {
        "n[]:1",     "n[1-]:1",  "n[-3]:1", "n[3-1]:1", "n[1-3:1",           "n[1;3]:1",
        "n[1,]:1",   "n[a-b]:1", "n[1-3]",  "n[1-3]x",  "n[1-9999999999]:1", "n[1-17]:1",
        "n[1]m[:1",  "a:1,n[1",  "tcp://",  "tcp://:1", "n[1-2],b:1",        "a:1,b :1",
        "http://a:1"};
    char items[16][ADDRESS_MAX];
    uint32_t count;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(options_hosts(bad[i], items, 16, &count, NULL) == STATUS_INVALID, "%s",
                      bad[i]);
    expect_bad(OPTION_PS, "--ps-hosts node[1-]:7000",
               "syncopate-ps: --ps-hosts: 'node[1-]:7000' is not host:port, nor a range such as "
               "node[1-3,8]:7000");
    expect_bad(OPTION_PS, "--ps-hosts node[1-257]:7000",
               "syncopate-ps: --ps-hosts: more than 256 hosts");
}

TEST_PLAIN(an_address_of_every_hosts_own_stands_among_no_others)
{
    struct options options;
    expect_bad(OPTION_PS, "--ps-hosts beta:7000,localhost:7000",
               "syncopate-ps: --ps-hosts: localhost:7000 is a different host for everyone who "
               "reads it, and beta:7000 is not: give the name or address that the other hosts "
               "know it by");
    expect_bad(OPTION_WORKER, "--workers 2 --ps-hosts 127.0.0.1:7000,10.0.0.5:7000",
               "syncopate-worker: --ps-hosts: 127.0.0.1:7000 is a different host for everyone who "
               "reads it, and 10.0.0.5:7000 is not: give the name or address that the other hosts "
               "know it by");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --worker-hosts a:0,[::1]:0",
               "syncopate-ps: --worker-hosts: [::1]:0 is a different host for everyone who reads "
               "it, and a:0 is not: give the name or address that the other hosts know it by");
    expect_run(&options, OPTION_PS, "--ps-hosts 127.0.0.1:7000,localhost:7001,[::1]:7002");
}

TEST_PLAIN(every_server_has_an_address_of_its_own)
{
    struct options options;
    expect_bad(OPTION_PS, "--ps-hosts a:1,b:1,tcp://A:1",
               "syncopate-ps: --ps-hosts: a:1 is named twice, as number 0 and number 2; every "
               "server has an address of its own");
    expect_bad(OPTION_WORKER, "--workers 1 --ps-hosts n[1-3]:1,n2:1",
               "syncopate-worker: --ps-hosts: n2:1 is named twice, as number 1 and number 3; every "
               "server has an address of its own");
    expect_run(&options, OPTION_PS, "--ps-hosts a:1,a:2,b:1");
    expect_run(&options, OPTION_PS, "--ps-hosts a:0,a:0"); /* Any free port. */
    expect_run(&options, OPTION_PS, "--ps-hosts a:1 --worker-hosts c:0,c:0");
}

TEST_PLAIN(hosts_of_a_range_are_counted_one_by_one)
{
    struct options options;
    struct job job;
    struct error error;
    expect_run(&options, OPTION_WORKER,
               "--ps-hosts tcp://n[1-2]:7000 --worker-hosts w[1-5]:0 --workers 5 --task-index 4");
    ck_assert_int_eq(options_job(&options, 1000, &job, &error), STATUS_OK);
    ck_assert_uint_eq(job.worker_count, 5);
    ck_assert_uint_eq(job.server_count, 2);
    ck_assert_str_eq(job.servers[0], "n1:7000");
    ck_assert_str_eq(job.servers[1], "n2:7000");
    job_free(&job);
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --worker-hosts w[1-5]:0 --workers 4",
               "syncopate-worker: --workers=4, but --worker-hosts names 5");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --worker-hosts w[1-5]:0 --task-index 5",
               "syncopate-worker: --task-index=5: --worker-hosts names only 5");
    expect_bad(OPTION_PS, "--ps-hosts n[1-2]:7000 --task-index 2",
               "syncopate-ps: --task-index=2: --ps-hosts names only 2");
}

TEST_PLAIN(servers_may_stand_beside_the_workers)
{
    struct options options;
    struct job job;
    struct error error;
    expect_run(&options, OPTION_RUN, "--ps colocated --workers 4");
    ck_assert(options.job.colocated);
    ck_assert_uint_eq(options.ps, 4);
    expect_run(&options, OPTION_RUN, "--workers 3 --ps Colocated --ps 2"); /* The last counts. */
    ck_assert(!options.job.colocated);
    ck_assert_uint_eq(options.ps, 2);
    expect_run(&options, OPTION_SIMULATE, "--ps colocated");
    ck_assert_uint_eq(options.ps, 2); /* As many as there are workers when nothing is said. */
    expect_run(&options, OPTION_COMPARE, "--ps colocated --workers 1,2,4");
    ck_assert(options.job.colocated && options.ps > 0);
    expect_bad(OPTION_RUN, "--ps colocated --workers 257",
               "syncopate: --ps=colocated: 257 workers would be as many servers, and the most "
               "is 256");
    expect_bad(OPTION_RUN, "--ps colocated --on-term leave",
               "syncopate: --on-term=leave: with --ps=colocated each worker's place owns "
               "chunks, and cannot leave");

    expect_run(&options, OPTION_WORKER, "--ps colocated --ps-hosts n[1-3]:7000 --task-index 3");
    ck_assert_int_eq(options_job(&options, 1000, &job, &error), STATUS_OK);
    ck_assert(job.colocated);
    ck_assert_uint_eq(job.worker_count, 3);
    ck_assert_uint_eq(job.server_count, 3);
    job_free(&job);
    expect_run(&options, OPTION_WORKER, "--ps colocated --ps-hosts a:1,b:1 --workers 2");
    expect_run(&options, OPTION_WORKER, "--ps colocated --ps-hosts a:1 --worker-hosts a:0");
    expect_bad(OPTION_WORKER, "--ps colocated --workers 2",
               "syncopate-worker: needs --ps-hosts, the servers' host:port in order "
               "('syncopate task' asks Slurm, MPI, torchrun or TF_CONFIG)");
    expect_bad(OPTION_WORKER, "--ps colocated --ps-hosts a:1,b:1 --workers 3",
               "syncopate-worker: --ps=colocated: every worker's place has a server, but "
               "--ps-hosts names 2 servers and --workers 3 workers");
    expect_bad(OPTION_WORKER, "--ps colocated --ps-hosts a:1,b:1 --worker-hosts a:0",
               "syncopate-worker: --ps=colocated: every worker's place has a server, but "
               "--ps-hosts names 2 servers and --worker-hosts 1 worker");
    expect_run(&options, OPTION_PS, "--ps-hosts a:1,b:1 --ps colocated");
    ck_assert_str_eq(options.ignored, "--ps");
}

TEST_PLAIN(an_address_to_listen_on_is_checked)
{
    struct options options;
    expect_bad(OPTION_PS, "--bind alpha",
               "syncopate-ps: --bind=alpha: needs host:port, or :port "
               "for all addresses");
    expect_bad(OPTION_PS, "--bind 7000",
               "syncopate-ps: --bind=7000: needs host:port, or :port for "
               "all addresses");
    expect_run(&options, OPTION_PS, "--bind :7000");
    expect_run(&options, OPTION_PS, "--bind tcp://*:7000");
}

/* --- options of the other role -------------------------------------------------------------- */

TEST_PLAIN(one_list_of_options_serves_servers_and_workers)
{
    static const char *const list =
        "--ps-hosts a:1 --workers 2 --mode async --use-locking --global-batch 32 --seed 7 "
        "--insecure --bind :1 --out runs/x --restore never --worker-timeout 3 --slow 1:2";
    struct options options;
    expect_run(&options, OPTION_PS, list);
    ck_assert_str_eq(options.ignored, "--global-batch, --mode, --use-locking, --seed, --workers, "
                                      "--slow");
    ck_assert(options.insecure);
    ck_assert_double_eq(options.deadlines.silence, 3);
    ck_assert_str_eq(options.out, "runs/x");
    ck_assert_uint_eq(options.global_batch, 64); /* Nobody is misled by what does nothing. */

    expect_run(&options, OPTION_WORKER, list);
    ck_assert_str_eq(options.ignored, "--bind, --insecure, --out, --restore");
    ck_assert_int_eq(options.job.mode, MODE_ASYNC);
    ck_assert_uint_eq(options.global_batch, 32);
    ck_assert_double_eq(options.deadlines.silence, 3);
    ck_assert(!options.insecure);

    expect_run(&options, OPTION_PS, "--ps-hosts a:1 --insecure");
    ck_assert_str_eq(options.ignored, "");
    expect_run(&options, OPTION_WORKER, "--ps 0 --out runs/x"); /* Alone it writes there itself. */
    ck_assert_str_eq(options.ignored, "");
}

TEST_PLAIN(what_is_ignored_is_checked_all_the_same)
{
    expect_bad(OPTION_PS, "--ps-hosts a:1 --global-batch 0",
               "syncopate-ps: --global-batch=0: needs a whole number from 1 to 65536");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --optimizer adm",
               "syncopate-ps: --optimizer=adm: needs one of sgd, momentum, nesterov, adagrad, "
               "rmsprop, adam, adamw (did you mean adam?)");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --mode", "syncopate-ps: --mode needs a value");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --global-bach 64",
               "syncopate-ps: unknown option --global-bach (did you mean --global-batch?)");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --workers 1 --insecur",
               "syncopate-worker: unknown option --insecur (did you mean --insecure?)");
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --workers 1 --on-worker-loss stop",
               "syncopate-worker: --on-worker-loss=stop: needs one of continue, wait, fail");
}

TEST_PLAIN(an_option_of_the_launcher_alone_is_refused_by_both_roles)
{
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --workers 1 --explain",
               "syncopate-worker: --explain is not an option of this program (of syncopate run, "
               "syncopate simulate)");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --modes sync",
               "syncopate-ps: --modes is not an option of this program (of syncopate compare)");
    expect_bad(OPTION_PS, "--ps-hosts a:1 --role ps",
               "syncopate-ps: --role is not an option of this program (of syncopate keygen)");
    expect_bad(OPTION_RUN, "--insecure",
               "syncopate: --insecure is not an option of this program (of syncopate-ps, syncopate "
               "task, syncopate launch)");
}

/* --- variables ------------------------------------------------------------------------------ */

TEST_PLAIN(a_misspelt_variable_is_refused)
{
    struct options options;
    setenv("SYNCOPATE_WORKER", "3", 1);
    expect_bad(OPTION_RUN, "",
               "syncopate: the variable SYNCOPATE_WORKER is no option's (did you mean "
               "SYNCOPATE_WORKERS?)");
    expect_bad(OPTION_PS, "--bind a:1",
               "syncopate-ps: the variable SYNCOPATE_WORKER is no option's (did you mean "
               "SYNCOPATE_WORKERS?)");
    setenv("SYNCOPATE_WORKER", "", 1); /* As if it were not there. */
    expect_run(&options, OPTION_RUN, "");
    setenv("SYNCOPATE_workers", "3", 1);
    expect_bad(OPTION_RUN, "",
               "syncopate: the variable SYNCOPATE_workers is no option's (did you mean "
               "SYNCOPATE_WORKERS?)");
    unsetenv("SYNCOPATE_workers");
    setenv("SYNCOPATE_QQQQQQQQ", "3", 1);
    expect_bad(OPTION_RUN, "",
               "syncopate: the variable SYNCOPATE_QQQQQQQQ is no option's (--help lists the "
               "options)");
}

TEST_PLAIN(a_variable_that_is_somebodys_is_none_of_ours)
{
    struct options options;
    setenv("SYNCOPATE_MODES", "sync", 1); /* Of compare. */
    setenv("SYNCOPATE_INSECURE", "true", 1);
    setenv("SYNCOPATE_BIN_DIR", "/usr/bin", 1);
    /* What Kubernetes puts there for services called syncopate and syncopate-ps. */
    setenv("SYNCOPATE_SERVICE_HOST", "10.0.0.11", 1);
    setenv("SYNCOPATE_SERVICE_PORT", "7000", 1);
    setenv("SYNCOPATE_SERVICE_PORT_API", "7000", 1);
    setenv("SYNCOPATE_PORT", "tcp://10.0.0.11:7000", 1);
    setenv("SYNCOPATE_PS_PORT_7000_TCP", "tcp://10.0.0.11:7000", 1);
    setenv("SYNCOPATE_PS_PORT_7000_TCP_ADDR", "10.0.0.11", 1);
    expect_run(&options, OPTION_RUN, "");
    expect_run(&options, OPTION_WORKER, "--ps-hosts a:1 --workers 1");
    ck_assert_str_eq(options.ignored, ""); /* Nobody typed it. */
    setenv("SYNCOPATE_PORT", "7000", 1);
    expect_bad(OPTION_WORKER, "--ps-hosts a:1 --workers 1",
               "syncopate-worker: the variable SYNCOPATE_PORT is no option's (--help lists "
               "the options)");
}

/* --- task ------------------------------------------------------------------------------------ */

TEST_PLAIN(task_takes_its_words_in_whatever_case)
{
    struct options options;
    expect_run(&options, OPTION_TASK, "--ps colocated --job-name chief --cluster-from TF-Config");
    ck_assert(options.job.colocated);
    ck_assert_str_eq(options.cluster_from, "tf-config");
}

/* Or it could not be given to the command that becomes a role. */
TEST_PLAIN(whatever_a_role_takes_task_takes)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const char *name = option_rows[i].name;
        ck_assert_msg((option_rows[i].users & (OPTION_PS | OPTION_WORKER)) == 0 ||
                          option_find(OPTION_TASK, name, strlen(name)) != NULL,
                      "task has no --%s", name);
    }
}

int main(void)
{
    return suite_run("options_roles", NULL);
}
