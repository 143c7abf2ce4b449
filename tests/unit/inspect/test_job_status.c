/* test_job_status.c - what inspect tells of a running job: in full, in one line, as JSON, and
 * redrawn. */

#include "deploy/inspect/job_status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/process/terminal.h"
#include "tests/lib/suite.h"

static struct message_status_answer running(void)
{
    struct message_status_answer status = {
        .state = JOB_RUNNING,
        .seconds = 3725.4,
        .out = "/runs/x",
        .mode_text = "sync",
        .figures_bytes = sizeof status.job,
        .job = {.step = 1234,
                .steps = 2814,
                .epoch = 1234.0 / 938,
                .epochs = 3,
                .workers = 1,
                .worker_count = 2,
                .servers = 1,
                .server_count = 1,
                .train = {2, 18944, 0.31216, 0.8846},
                .test_step = 938,
                .test = {0.4, 0.862, (double)NAN},
                .seconds = 61,
                .images_per_second = 21300.7,
                .staleness_mean = (double)NAN,
                .staleness_max = FIGURE_UNKNOWN,
                .checkpoint_step = 938,
                .faults.workers_lost = 1},
    };
    return status;
}

/* What is printed, in a buffer of the caller's. */
static const char *printed(const struct message_status_answer *status, char text[4096])
{
    FILE *out = fmemopen(text, 4096, "w");
    ck_assert_ptr_nonnull(out);
    job_status_print(out, status);
    fclose(out);
    return text;
}

TEST_PLAIN(a_running_job_is_told_with_what_each_figure_is_of)
{
    char text[4096];
    struct message_status_answer status = running();
    ck_assert_str_eq(printed(&status, text),
                     "state: running, for 1 h 2 min\n"
                     "mode: sync\n"
                     "step: 1,234 of 2,814 (epoch 1.32 of 3)\n"
                     "train loss: 0.3122, accuracy 88.46 % (mean over 18,944 examples of epoch 2)\n"
                     "test accuracy: 86.20 %, loss 0.4000 (after step 938)\n"
                     "training: 1 min 1 s, 21,300 images/s\n"
                     "checkpoint: step 938\n"
                     "workers: 1 of 2\n"
                     "servers: 1 of 1\n"
                     "workers lost: 1\n"
                     "out: /runs/x\n");
}

static struct message_status_answer with_window(void)
{
    struct message_status_answer status = running();
    status.job.test.regularisation = 0.0256;
    status.job.window =
        (struct run_window){31, 1200, 1240, 40, 40, 0.30123, 0.9, 2000, 2560, 0.5312};
    return status;
}

TEST_PLAIN(the_newest_window_and_the_regularisation_loss_are_told_as_a_runs_progress_tells_them)
{
    char text[4096];
    struct message_status_answer status = with_window();
    ck_assert_ptr_nonnull(strstr(
        printed(&status, text),
        "\nwindow: batches 1,201 to 1,240  loss 0.3012  accuracy 90.00 % over 2,000 of "
        "2,560 examples  0.531 s\n"
        "test accuracy: 86.20 %, loss 0.4000, regularisation loss 0.0256 (after step 938)\n"));
}

TEST_PLAIN(without_a_job_nothing_is_told_of_one)
{
    char text[4096], line[JOB_STATUS_LINE_MAX];
    struct message_status_answer status = {.state = JOB_WAITING, .seconds = 12.3, .out = "/runs/x"};
    ck_assert_str_eq(printed(&status, text), "state: waiting for a job, for 12 s\nout: /runs/x\n");
    job_status_line(&status, line);
    ck_assert_str_eq(line, "waiting for a job, for 12 s");
}

TEST_PLAIN(one_line_says_how_it_goes_or_how_it_ended)
{
    char line[JOB_STATUS_LINE_MAX];
    struct message_status_answer status = running();
    job_status_line(&status, line);
    ck_assert_str_eq(line, "running  epoch 1.32 of 3  step 1,234 of 2,814  loss 0.312  "
                           "accuracy 88.5 %  1 of 2 workers");
    status.job.steps = 1235;
    status.job.epochs = 1235.0 / 938; /* Of epochs it tells no part more finely than another. */
    job_status_line(&status, line);
    ck_assert_ptr_nonnull(strstr(line, "  epoch 1.32 of 1.32  step 1,234 of 1,235  "));
    status.job.steps = 2814;
    status.state = JOB_FINISHING;
    status.exit_code = EXIT_CLUSTER_LOST;
    strcpy(status.text, "lost ps/1");
    job_status_line(&status, line);
    ck_assert_str_eq(line, "the job has ended with exit code 195: lost ps/1; 1,234 of 2,814 "
                           "updates; /runs/x");
}

static struct json *json_of(const struct message_status_answer *status)
{
    struct json_writer writer;
    struct json *root = NULL;
    json_writer_init(&writer, true);
    job_status_json(&writer, "alpha:7000", status);
    ck_assert(!writer.failed);
    ck_assert_ptr_null(strchr(writer.text, '\n'));
    ck_assert_int_eq(json_parse(writer.text, writer.bytes, "status", &root, NULL), STATUS_OK);
    json_writer_free(&writer);
    return root;
}

TEST_PLAIN(the_object_has_the_same_members_with_and_without_a_job)
{
    struct message_status_answer with = with_window(), without = {.state = JOB_WAITING};
    struct json *a = json_of(&with), *b = json_of(&without);
    struct json_member member = {0};
    ck_assert_uint_eq(json_length(a, ""), json_length(b, ""));
    while (json_next_member(a, &member))
        ck_assert_msg(json_at(b, member.name) != NULL, "%s", member.name);
    ck_assert_uint_eq(json_u64(a, "step", 0), 1234);
    ck_assert_str_eq(json_text(a, "mode"), "sync");
    ck_assert_double_eq(json_number(a, "train_loss"), 0.31216);
    ck_assert_double_nan(json_number(a, "exit_code"));
    ck_assert_double_eq(json_number(a, "regularisation_loss"), 0.0256);
    ck_assert_uint_eq(json_u64(a, "window.from", 0), 1200);
    ck_assert_uint_eq(json_u64(a, "window.step", 0), 1240);
    ck_assert_double_eq(json_number(a, "window.loss"), 0.30123);
    ck_assert_uint_eq(json_u64(a, "window.of", 0), 2560);
    ck_assert_double_nan(json_number(b, "step"));
    ck_assert_ptr_null(json_text(b, "mode"));
    json_release(&a);
    json_release(&b);
}

TEST_PLAIN(a_block_is_drawn_over_the_one_before)
{
    char *text = NULL;
    size_t bytes;
    struct terminal_block block = {0};
    FILE *out = open_memstream(&text, &bytes);
    terminal_draw(&block, out, "one\ntwo\n");
    ck_assert_str_eq(text, "\rone\033[K\n\rtwo\033[K\n\033[J");
    size_t before = bytes;
    char wide[201];
    memset(wide, 'x', 200);
    wide[200] = '\0';
    terminal_draw(&block, out, wide);
    ck_assert_uint_eq(block.lines, 1);
    ck_assert_int_eq(strncmp(text + before, "\033[2A\r", 5), 0);
    ck_assert_uint_eq(strspn(text + before + 5, "x"),
                      79); /* A stream in memory has no width: 80. */
    fclose(out);
    free(text);
}

int main(void)
{
    return suite_run("job_status", NULL);
}
