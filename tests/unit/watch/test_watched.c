/* test_watched.c - what a server that is watched says in each state: its metrics, whether it is ready,
 * and the line for a service manager. */
/* promises: metrics */

#include "ps/watch/watched.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "ps/watch/watch_pages.h"
#include "tests/lib/suite.h"

struct fixture {
    struct watched *w;
    char *text;
    size_t bytes;
};

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.w = calloc(1, sizeof *f->w)};
    f->w->state = WATCHED_SERVING;
    f->w->coordinates = true;
    f->w->job.state = JOB_RUNNING;
    f->w->job.figures_bytes = sizeof f->w->job.job;
    f->w->job.job = (struct job_figures){.step = 938,
                                         .steps = 2814,
                                         .workers = 2,
                                         .worker_count = 3,
                                         .train.loss = 0.5,
                                         .test.loss = (double)NAN,
                                         .staleness_mean = (double)NAN,
                                         .faults.workers_lost = 1};
    f->w->worker_count = 3;
    f->w->workers[0] = (struct watched_worker){.ever = true, .present = true, .examples = 64};
    f->w->workers[2] = (struct watched_worker){.ever = true, .wait_seconds = 1.5};
}

static void close_fixture(struct fixture *f)
{
    free(f->w);
    free(f->text);
}

#define TEST(name, ...) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static const char *metrics(struct fixture *f)
{
    free(f->text);
    FILE *out = open_memstream(&f->text, &f->bytes);
    watched_write(out, f->w, "1.2.3");
    fclose(out);
    return f->text;
}

static bool says(struct fixture *f, const char *line)
{
    return strstr(metrics(f), line) != NULL;
}

TEST(figures_are_told_under_their_names)
{
    ck_assert(says(f, "\nsyncopate_build_info{version=\"1.2.3\",role=\"ps\",index=\"0\"} 1\n"));
    ck_assert(says(f, "\nsyncopate_server_state{state=\"serving\"} 1\n"));
    ck_assert(says(f, "\nsyncopate_server_state{state=\"joining\"} 0\n"));
    ck_assert(says(f, "\nsyncopate_job_state{state=\"running\"} 1\n"));
    ck_assert(says(f, "\nsyncopate_global_step 938\n"));
    ck_assert(says(f, "\nsyncopate_job_train_loss 0.5\n"));
    ck_assert(!says(f, "staleness"));    /* Of sync. */
    ck_assert(!says(f, "last_success")); /* No checkpoint was seen. */
    f->w->unix_seconds = 1700000000;
    f->w->workers[2].heard_unix_seconds = 1699999995;
    f->w->workers[0].awaited = true;
    f->w->checkpoint_unix_seconds = 1699999999.5;
    ck_assert(says(f, "\nsyncopate_worker_last_seen_timestamp_seconds{worker=\"2\"} 1699999995\n"));
    ck_assert(says(f, "\nsyncopate_checkpoint_last_success_timestamp_seconds 1699999999.5\n"));
    ck_assert(says(f, "\nsyncopate_job_lost_total{role=\"worker\"} 1\n"));
    ck_assert(says(f, "\nsyncopate_worker_up{worker=\"0\"} 1\n"));
    ck_assert(says(f, "\nsyncopate_worker_up{worker=\"2\"} 0\n"));
    ck_assert(says(f, "\nsyncopate_worker_awaited{worker=\"0\"} 1\n"));
    ck_assert(says(f, "\nsyncopate_worker_awaited{worker=\"2\"} 0\n"));
    ck_assert(!says(f, "{worker=\"1\"")); /* It never came. */
    ck_assert(says(f, "\nsyncopate_worker_seconds_total{worker=\"2\",doing=\"waiting\"} 1.5\n"));
    ck_assert(!says(f, "syncopate_job_test_loss")); /* There is no score yet. */
    f->w->job.job.test_step = 938;
    ck_assert(says(f, "\nsyncopate_job_test_step 938\n"));
}

TEST(every_metric_has_its_help_once_and_a_type)
{
    const char *name_end;
    unsigned count = 0;
    metrics(f);
    for (const char *line = f->text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "# HELP ", 7) != 0)
            continue;
        name_end = strchr(line + 7, ' ');
        char help[120], type[120];
        snprintf(help, sizeof help, "# HELP %.*s ", (int)(name_end - line - 7), line + 7);
        snprintf(type, sizeof type, "\n# TYPE %.*s ", (int)(name_end - line - 7), line + 7);
        ck_assert_ptr_eq(strstr(f->text, help), line);
        ck_assert_ptr_null(strstr(line + 1, help));
        ck_assert_ptr_eq(strstr(f->text, type), strchr(line, '\n'));
        ck_assert_msg(strncmp(line + 7, "syncopate_", 10) == 0, "%.60s", line);
        count++;
    }
    ck_assert_uint_gt(count, 25);
    ck_assert(f->text[f->bytes - 1] == '\n');
}

TEST(staleness_is_a_histogram_that_adds_up)
{
    static const uint64_t values[] = {0, 0, 1, 2, 3, 4, 5, 1024, 1025, 5000};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        histogram_add(&f->w->staleness, values[i]);
    ck_assert(says(f, "\n# TYPE syncopate_push_staleness_steps histogram\n"
                      "syncopate_push_staleness_steps_bucket{le=\"0\"} 2\n"
                      "syncopate_push_staleness_steps_bucket{le=\"1\"} 3\n"
                      "syncopate_push_staleness_steps_bucket{le=\"2\"} 4\n"
                      "syncopate_push_staleness_steps_bucket{le=\"4\"} 6\n"
                      "syncopate_push_staleness_steps_bucket{le=\"8\"} 7\n"));
    ck_assert(says(f, "_bucket{le=\"512\"} 7\n"));
    ck_assert(says(f, "_bucket{le=\"+Inf\"} 10\nsyncopate_push_staleness_steps_sum 7064\n"
                      "syncopate_push_staleness_steps_count 10\n"));
}

TEST(other_servers_know_of_no_job)
{
    f->w->coordinates = false;
    ck_assert(!says(f, "syncopate_job_"));
    ck_assert(!says(f, "syncopate_worker_"));
    f->w->coordinates = true;
    f->w->job.figures_bytes = 0;
    f->w->job.state = JOB_WAITING;
    ck_assert(says(f, "syncopate_job_state{state=\"waiting\"} 1"));
    ck_assert(!says(f, "syncopate_global_step"));
}

TEST(ready_is_who_serves_and_whose_job_runs)
{
    char why[600];
    ck_assert(watched_is_ready(f->w, why, sizeof why));
    f->w->job.state = JOB_GATHERING;
    snprintf(f->w->waiting, sizeof f->w->waiting, "waiting 5 s for worker/1");
    ck_assert(!watched_is_ready(f->w, why, sizeof why));
    ck_assert_str_eq(why, "ps/0 is gathering: waiting 5 s for worker/1");
    f->w->own.waits = true;
    ck_assert(says(f, "\nsyncopate_server_waiting 1\n"));
    f->w->job.state = JOB_RUNNING;
    f->w->job.job.workers = 0; /* No worker is left. */
    ck_assert(!watched_is_ready(f->w, why, sizeof why));
    f->w->server = 1;
    f->w->coordinates = false;
    ck_assert(watched_is_ready(f->w, why, sizeof why));
    f->w->state = WATCHED_LOADING;
    f->w->waiting[0] = '\0';
    ck_assert(!watched_is_ready(f->w, why, sizeof why));
    ck_assert_str_eq(why, "ps/1 is loading its chunks");
}

TEST(a_line_says_what_it_does_or_waits_for)
{
    char text[200];
    watched_describe(f->w, text, sizeof text);
    ck_assert_str_eq(text, "running: update 938 of 2,814, 2 workers");
    snprintf(f->w->waiting, sizeof f->w->waiting, "waiting 5 s for any worker");
    watched_describe(f->w, text, sizeof text);
    ck_assert_str_eq(text, "waiting 5 s for any worker");
}

static struct http_answer ask(struct watch_pages *pages, const char *path)
{
    const struct http_request request = {.path = path};
    return watch_pages_answer(pages, &request);
}

TEST(pages_say_alive_until_the_router_is_stuck)
{
    struct watch_pages *pages = calloc(1, sizeof *pages);
    ck_assert_int_eq(watched_board_init(&pages->board), STATUS_OK);
    pages->version = "1";
    struct http_answer answer = ask(pages, "/healthz");
    ck_assert_uint_eq(answer.code, 503);
    ck_assert_str_eq(answer.body, "starting\n");
    free(answer.body);
    answer = ask(pages, "/state");
    ck_assert_uint_eq(answer.code, 503);
    free(answer.body);
    static const struct {
        const char *path;
        uint64_t ago_us;
        unsigned code;
    } rows[] = {{"/healthz", 0, 200},       {"/readyz", 0, 200},
                {"/metrics", 0, 200},       {"/healthz", 11000000, 503},
                {"/readyz", 11000000, 503}, {"/metrics", 11000000, 200}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        watched_post(&pages->board, f->w, clock_now_us() - rows[i].ago_us);
        answer = ask(pages, rows[i].path);
        ck_assert_uint_eq(answer.code, rows[i].code);
        ck_assert_uint_eq(answer.bytes, strlen(answer.body));
        free(answer.body);
    }
    ck_assert_uint_eq(ask(pages, "/x").code, 0);
    ck_assert_uint_eq(ask(pages, "/metrics/").code, 0);
    watched_board_free(&pages->board);
    free(pages);
}

/* "NAME": VALUE of a member in /state. */
static const char *member(struct watch_pages *pages, const char *name, char text[400])
{
    char begin[40];
    struct http_answer answer = ask(pages, "/state");
    ck_assert_uint_eq(answer.code, 200);
    snprintf(begin, sizeof begin, "{\"name\":\"%s\"", name);
    const char *from = strstr(answer.body, begin);
    ck_assert_msg(from != NULL, "no %s in %s", name, answer.body);
    snprintf(text, 400, "%.*s", (int)(strchr(from, '}') + 1 - from), from);
    free(answer.body);
    return text;
}

TEST(state_says_what_each_member_does_and_for_whom_it_waits)
{
    char text[400];
    struct watch_pages *pages = calloc(1, sizeof *pages);
    ck_assert_int_eq(watched_board_init(&pages->board), STATUS_OK);
    f->w->server_count = 1;
    f->w->members[0] = (struct watched_member){.doing = WATCHED_WAITS,
                                               .wait = WAIT_BARRIER,
                                               .waits_for = 3,
                                               .step = 17,
                                               .doing_seconds = 2};
    f->w->members[1].doing = WATCHED_LEFT;
    f->w->members[2] = (struct watched_member){.doing = WATCHED_SILENT, .heard_seconds = 5};
    f->w->members[3].doing = WATCHED_SERVES;
    f->w->monotonic_seconds = 10;
    watched_post(&pages->board, f->w, 1);
    ck_assert_ptr_nonnull(strstr(member(pages, "worker/0", text),
                                 "\"state\":\"waits\",\"for\":\"worker/2\",\"seconds\":2.0"));
    ck_assert_ptr_nonnull(strstr(text, "\"second\":null")); /* There was no second before. */
    ck_assert_ptr_nonnull(strstr(member(pages, "ps/0", text), "\"state\":\"serves\",\"for\":null"));
    for (unsigned i = 0; i < 2; i++) {
        f->w->monotonic_seconds += 0.5;
        f->w->workers[0].examples += 32;
        f->w->workers[0].compute_seconds += 0.25;
        f->w->members[0].waits[WAIT_BARRIER] += 0.125;
        watched_post(&pages->board, f->w, 2 + i);
    }
    ck_assert_ptr_nonnull(strstr(member(pages, "worker/0", text), "\"examples_per_second\":64.0"));
    ck_assert_ptr_nonnull(strstr(text, "\"computing\":0.500"));
    ck_assert_ptr_nonnull(strstr(text, "\"barrier\":0.250,\"other\":0.250"));
    ck_assert_ptr_nonnull(
        strstr(member(pages, "worker/2", text), "\"second\":null")); /* Not heard. */
    watched_board_free(&pages->board);
    free(pages);
}

int main(void)
{
    return suite_run("watched", NULL);
}
