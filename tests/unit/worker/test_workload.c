/* Workloads: what is told by looking is what reading comes to, and comes before it. */

#include "worker/workload.h"

#include <string.h>

#include "common/kernels/kernels.h"
#include "tests/lib/suite.h"

/* Options of `syncopate run` as words up to NULL. */
static struct options options_of(char **words)
{
    struct options options;
    struct error error = {0};
    int count = 0;
    while (words[count] != NULL)
        count++;
    ck_assert_msg(options_parse(&options, OPTION_RUN, "run", count, words, &error) == OPTIONS_RUN,
                  "%s", error.text);
    return options;
}

#define OPTIONS(...) options_of((char *[]){(char[]){"run"}, __VA_ARGS__, NULL})
#define WORD(text)   ((char[]){text})

static void expect(struct options options, int code, const char *text)
{
    struct workload workload;
    struct error seen = {0}, read = {0};
    ck_assert_int_eq(workload_look(&workload, &options, &seen), code);
    workload_free(&workload);
    ck_assert_msg(strstr(seen.text, text) != NULL, "%s", seen.text);
    ck_assert_int_eq(workload_read(&workload, &options, &read), code);
    workload_free(&workload);
    ck_assert_str_eq(seen.text, read.text);
}

TEST_PLAIN(a_look_declares_the_job_that_reading_declares)
{
    static const uint8_t none[DIGEST_BYTES];
    struct workload seen, read = {0};
    struct error error = {0};
    struct options options = OPTIONS(WORD("--data=synthetic:200"), WORD("--ps=3"));
    ck_assert_int_eq(workload_look(&seen, &options, &error), EXIT_DONE);
    ck_assert_int_eq(workload_read(&read, &options, &error), EXIT_DONE);
    ck_assert(read.gradient_made && !seen.gradient_made);
    ck_assert_mem_eq(seen.job.data_digest, none, sizeof none);
    ck_assert_mem_ne(read.job.data_digest, none, sizeof none);
    memcpy(seen.job.data_digest, read.job.data_digest, sizeof none);
    ck_assert_msg(job_compare(&seen.job, "look", &read.job, "read", JOB_SCOPE_ALL, &error) ==
                      STATUS_OK,
                  "%s", error.text);
    ck_assert_uint_eq(seen.partition.server_count, 3);
    workload_free(&seen);
    workload_free(&read);
    workload_free(&seen); /* Does no harm. */
}

TEST_PLAIN(without_servers_nothing_is_dealt)
{
    struct workload seen;
    struct options options = OPTIONS(WORD("--data=synthetic:200"), WORD("--ps=0"));
    ck_assert_int_eq(workload_look(&seen, &options, NULL), EXIT_DONE);
    ck_assert_uint_eq(seen.partition.chunk_count, 0);
    ck_assert_uint_eq(seen.job.worker_count, 1);
    workload_free(&seen);
}

TEST_PLAIN(what_is_mistyped_is_a_matter_of_usage)
{
    expect(OPTIONS(WORD("--data=synthetic:0")), EXIT_USAGE, "write synthetic:N");
    expect(OPTIONS(WORD("--data=nowhere")), EXIT_USAGE, "--data=nowhere: there is no data set");
    expect(OPTIONS(WORD("--data=synthetic:100"), WORD("--global-batch=101")), EXIT_USAGE,
           "--global-batch=101: an update cannot have more examples");
    expect(OPTIONS(WORD("--data=synthetic:100"), WORD("--model=pool 29, flatten, dense 10")),
           EXIT_USAGE, "--model: layer 1");
    expect(OPTIONS(WORD("--data=synthetic:100"), WORD("--chunk-bytes=1")), EXIT_USAGE,
           "chunk bytes");
    expect(OPTIONS(WORD("--data=synthetic:100"), WORD("--ps=256"),
                   WORD("--model=pool 14, flatten, dense 10")),
           EXIT_USAGE, "servers");
}

TEST_PLAIN(data_that_cannot_be_read_are_another)
{
    expect(OPTIONS(WORD("--data=/nowhere/data")), EXIT_CANNOT_OPEN,
           "--data: no data in /nowhere/data: No such file or directory; "
           "give fashion-mnist, synthetic, synthetic:N, a folder of IDX files, FILE.npz");
    expect(OPTIONS(WORD("--data=/etc")), EXIT_CANNOT_OPEN, "train-images-idx3-ubyte.gz in /etc");
}

int main(void)
{
    kernels_init();
    return suite_run("workload", NULL);
}
