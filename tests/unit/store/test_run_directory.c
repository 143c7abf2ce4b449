/* test_run_directory.c - run directories: who may begin, resume or extend a run in one, and what is
 * written there. */
/* promises: disk restore run-json */

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/file/json.h"
#include "common/job/job_json.h"
#include "common/store/run_directory.h"
#include "deploy/engine/simulated_disk.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

static enum status open_run(struct run_directory *directory, const char *path,
                            const struct job *job, enum run_opening *opening, struct error *error)
{
    return run_directory_open(directory, &disk_posix, path, job, 7, 0, NULL, opening, error);
}

/* A job, and the place in the scratch directory where its run is to be. */
struct place {
    char path[DISK_PATH_MAX];
    struct job job;
    struct run_directory directory;
    enum run_opening opening;
    struct error error;
};

static void place_open(struct place *p)
{
    memset(p, 0, sizeof *p);
    p->job = sample_job();
    scratch_path(p->path, "run");
}

#define TEST(name) SUITE_TEST(name, struct place, p, place_open(p), job_free(&p->job))

static enum status check_run(struct place *p)
{
    return run_directory_check(&disk_posix, p->path, &p->job, NULL, &p->error);
}

static enum status begin_run(struct place *p)
{
    return open_run(&p->directory, p->path, &p->job, &p->opening, &p->error);
}

/* A run that ended in this state after 100 steps and 12.5 seconds. */
static void leave_run(const char *path, enum run_state state)
{
    struct job job = sample_job();
    struct run_directory directory;
    enum run_opening opening;
    const struct run_summary summary = {.state = state, .step = 100, .seconds = 12.5};
    struct error error;
    ck_assert_msg(open_run(&directory, path, &job, &opening, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_int_eq(opening, RUN_BEGINS);
    run_directory_event(&directory, "start", "\"step\": 0");
    ck_assert_int_eq(run_directory_summary(&directory, &job, 7, &summary, NULL), STATUS_OK);
    run_directory_close(&directory);
    job_free(&job);
}

static struct json *read_run(const char *path)
{
    char file[DISK_PATH_MAX + 16];
    struct json *root;
    struct error error;
    snprintf(file, sizeof file, "%s/run.json", path);
    ck_assert_msg(json_read_file(&disk_posix, file, 1 << 20, &root, &error) == STATUS_OK, "%s",
                  error.text);
    return root;
}

TEST(a_new_directory_is_made_and_claimed)
{
    struct job back;
    p->opening = RUN_RESUMES;
    scratch_path(p->path, "runs/deep/first");
    ck_assert_int_eq(check_run(p), STATUS_OK);
    ck_assert(!scratch_has(p->path));
    ck_assert_int_eq(begin_run(p), STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_BEGINS);
    ck_assert_double_eq(p->directory.earlier.seconds, 0);
    struct json *root = read_run(p->path);
    ck_assert_str_eq(json_text(root, "state"), "running");
    ck_assert_str_eq(json_text(root, "run_id"), "0000000000000007");
    ck_assert(isnan(json_number(root, "test_accuracy")));
    ck_assert_ptr_null(json_text(root, "model_sha256"));
    ck_assert_int_eq(job_read_json(&back, json_at(root, "job"), "job", &p->error), STATUS_OK);
    ck_assert_int_eq(job_compare(&p->job, "a", &back, "b", JOB_SCOPE_ALL, &p->error), STATUS_OK);
    json_release(&root);
    run_directory_close(&p->directory);
    job_free(&back);
}

TEST_PLAIN(an_unfinished_run_of_the_same_job_is_resumed)
{
    static const enum run_state states[] = {RUN_RUNNING, RUN_STOPPED, RUN_FAILED};
    for (size_t i = 0; i < 3; i++) {
        char path[DISK_PATH_MAX], name[32];
        struct job job = sample_job();
        struct run_directory directory;
        enum run_opening opening = RUN_BEGINS;
        struct error error;
        snprintf(name, sizeof name, "run%zu", i);
        scratch_path(path, name);
        leave_run(path, states[i]);
        job.worker_count++; /* How the work is spread may differ. */
        ck_assert_int_eq(run_directory_check(&disk_posix, path, &job, NULL, &error), STATUS_OK);
        ck_assert_int_eq(run_directory_check(&disk_posix, path, NULL, NULL, &error), STATUS_OK);
        ck_assert_int_eq(open_run(&directory, path, &job, &opening, &error), STATUS_OK);
        ck_assert_int_eq(opening, RUN_RESUMES);
        ck_assert_double_eq(directory.earlier.seconds, 12.5);
        struct json *root = read_run(path);
        ck_assert_str_eq(json_text(root, "state"), "running");
        ck_assert_double_eq(json_number(root, "step"), 100);
        json_release(&root);
        run_directory_close(&directory);
        job_free(&job);
    }
}

TEST(an_unfinished_run_of_another_job_is_refused)
{
    leave_run(p->path, RUN_STOPPED);
    p->job.seed = 3;
    ck_assert_int_eq(check_run(p), STATUS_MISMATCH);
    ck_assert_int_eq(begin_run(p), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(p->error.text, "seed"));
    ck_assert_ptr_nonnull(strstr(p->error.text, p->path));
    struct json *root = read_run(p->path);
    ck_assert_str_eq(json_text(root, "state"), "stopped"); /* As it was. */
    json_release(&root);
}

/* run.json of a run says so. */
static void expect_run(const char *path, const char *state, double steps)
{
    struct json *root = read_run(path);
    ck_assert_str_eq(json_text(root, "state"), state);
    ck_assert_double_eq(json_number(root, "steps"), steps);
    json_release(&root);
}

/* What is said of a job in a folder, and that both ways of asking agree; nothing is changed. */
static void expect_refusal(const char *path, const struct job *job, enum status expected,
                           const char *text)
{
    struct run_directory directory;
    enum run_opening opening;
    struct error error;
    ck_assert_int_eq(run_directory_check(&disk_posix, path, job, &opening, &error), expected);
    ck_assert_msg(strstr(error.text, text) != NULL, "%s", error.text);
    error.text[0] = '\0';
    ck_assert_int_eq(open_run(&directory, path, job, &opening, &error), expected);
    ck_assert_msg(strstr(error.text, text) != NULL, "%s", error.text);
    ck_assert_int_eq(directory.events.file, -1);
}

TEST(a_finished_run_that_would_not_be_longer_is_never_touched)
{
    /* 2,000 updates, which is more than two epochs of 938. */
    leave_run(p->path, RUN_DONE);
    expect_refusal(p->path, &p->job, STATUS_EXISTS,
                   "run holds a finished run of 2,000 updates; --steps 2001 or more trains it "
                   "further, or choose another --out");
    p->job.steps = 2 * job_steps_per_epoch(&p->job);
    expect_refusal(p->path, &p->job, STATUS_EXISTS,
                   "a finished run of 2,000 updates, and this job has 2 epochs; --steps 2001");
    expect_run(p->path, "done", 2000);
}

TEST(a_finished_run_is_extended_by_a_longer_job)
{
    p->opening = RUN_BEGINS;
    leave_run(p->path, RUN_DONE);
    ck_assert_int_eq(run_directory_check(&disk_posix, p->path, NULL, NULL, &p->error), STATUS_OK);
    p->job.steps++;
    p->job.worker_count++; /* How the work is spread may differ, as ever. */
    p->job.checkpoint_every++;
    ck_assert_int_eq(run_directory_check(&disk_posix, p->path, &p->job, &p->opening, &p->error),
                     STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_EXTENDS);
    expect_run(p->path, "done", 2000);
    ck_assert_int_eq(begin_run(p), STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_EXTENDS);
    run_directory_close(&p->directory); /* Killed: from now on it is unfinished. */
    expect_run(p->path, "running", 2001);
    ck_assert_int_eq(run_directory_check(&disk_posix, p->path, &p->job, &p->opening, &p->error),
                     STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_RESUMES);
}

TEST(a_finished_run_of_another_job_is_refused)
{
    leave_run(p->path, RUN_DONE);
    p->job.steps++;
    p->job.seed = 3;
    expect_refusal(p->path, &p->job, STATUS_MISMATCH,
                   "holds a finished run of another job: seed: 3 in");
}

/* Its end is the job's, unless somebody has said where: then the declarations differ in it. */
TEST_PLAIN(a_cosine_that_would_end_later_is_refused_naming_the_option)
{
    static const enum run_state states[] = {RUN_DONE, RUN_STOPPED};
    for (int i = 0; i < 2; i++) {
        char path[DISK_PATH_MAX], name[32], text[128];
        struct job job = sample_job(), longer = sample_job();
        struct run_directory directory;
        enum run_opening opening;
        const struct run_summary summary = {.state = states[i], .step = 100};
        job.schedule = (struct schedule){SCHEDULE_COSINE, 0.1, 0, 2000, 0, 0};
        longer.schedule = (struct schedule){SCHEDULE_COSINE, 0.1, 0, 3000, 0, 0};
        longer.steps = 3000;
        snprintf(name, sizeof name, "run%d", i);
        scratch_path(path, name);
        ck_assert_int_eq(open_run(&directory, path, &job, &opening, NULL), STATUS_OK);
        ck_assert_int_eq(run_directory_summary(&directory, &job, 7, &summary, NULL), STATUS_OK);
        run_directory_close(&directory);
        snprintf(text, sizeof text,
                 "holds %s run whose --schedule cosine ends after 2,000 updates, and this job's "
                 "after 3,000",
                 i == 0 ? "a finished" : "an unfinished");
        expect_refusal(path, &longer, STATUS_MISMATCH, text);
        expect_refusal(path, &longer, STATUS_MISMATCH, "--decay-steps 2000 goes on with it");
        longer.schedule.decay_factor = 0.5; /* That would not help. */
        expect_refusal(path, &longer, STATUS_MISMATCH, "decay factor: 0.5 in this job");
        longer.schedule = job.schedule;
        ck_assert_int_eq(run_directory_check(&disk_posix, path, &longer, &opening, NULL),
                         STATUS_OK);
        job_free(&job);
        job_free(&longer);
    }
}

TEST(a_folder_with_other_things_stays_as_it_is)
{
    char file[DISK_PATH_MAX], events[DISK_PATH_MAX];
    scratch_path(p->path, "home");
    scratch_path(file, "home/thesis.txt");
    scratch_path(events, "home/events.jsonl");
    ck_assert_int_eq(mkdir(p->path, 0700), 0);
    scratch_write(file, "x", 1);
    ck_assert_int_eq(check_run(p), STATUS_EXISTS);
    ck_assert_int_eq(begin_run(p), STATUS_EXISTS);
    ck_assert(!scratch_has(events));
    ck_assert_int_eq(open_run(&p->directory, file, &p->job, &p->opening, &p->error), STATUS_IO);
}

TEST_PLAIN(a_run_json_that_is_not_ours_is_refused)
{
    static const char *const texts[] = {
        "", "{}", "[]", "{\"state\": \"running\"}",
        "{\"format\": \"syncopate-run-3\", \"state\": \"running\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[DISK_PATH_MAX], file[DISK_PATH_MAX];
        struct job job = sample_job();
        struct run_directory directory;
        enum run_opening opening;
        struct error error;
        scratch_path(path, "run");
        scratch_path(file, "run/run.json");
        mkdir(path, 0700);
        scratch_write(file, texts[i], strlen(texts[i]));
        ck_assert_int_ne(open_run(&directory, path, &job, &opening, &error), STATUS_OK);
        ck_assert_ptr_nonnull(strstr(error.text, file));
        job_free(&job);
    }
}

TEST(a_run_json_of_another_format_is_refused_by_its_number)
{
    char file[DISK_PATH_MAX];
    struct run_found found;
    const char *text = "{\"format\": \"syncopate-run-2\", \"state\": \"running\"}";
    scratch_path(file, "run/run.json");
    mkdir(p->path, 0700);
    scratch_write(file, text, strlen(text));
    ck_assert_int_eq(check_run(p), STATUS_EXISTS);
    ck_assert_msg(strstr(p->error.text, "is of format 2, and this program knows 3") != NULL, "%s",
                  p->error.text);
    ck_assert_int_eq(run_directory_find(&found, &disk_posix, p->path, &p->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(p->error.text, "is of format 2"));
}

TEST(an_interrupted_claim_and_an_empty_folder_are_free)
{
    char file[DISK_PATH_MAX];
    ck_assert_int_eq(mkdir(p->path, 0700), 0);
    ck_assert_int_eq(check_run(p), STATUS_OK);
    scratch_path(file, "run/events.jsonl");
    scratch_write(file, "", 0);
    scratch_path(file, "run/run.json.tmp");
    scratch_write(file, "{", 1);
    ck_assert_int_eq(begin_run(p), STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_BEGINS);
    run_directory_close(&p->directory);
}

TEST(two_live_runs_cannot_share_a_folder)
{
    struct run_directory first, second;
    ck_assert_int_eq(open_run(&first, p->path, &p->job, &p->opening, &p->error), STATUS_OK);
    ck_assert_int_eq(check_run(p), STATUS_EXISTS);
    ck_assert_int_eq(open_run(&second, p->path, &p->job, &p->opening, &p->error), STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(p->error.text, "another run is using"));
    run_directory_close(&first);
    ck_assert_int_eq(open_run(&second, p->path, &p->job, &p->opening, &p->error), STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_RESUMES);
    run_directory_close(&second);
}

TEST_PLAIN(a_place_that_cannot_be_written_is_refused)
{
    struct error error;
    char path[DISK_PATH_MAX], long_path[2 * DISK_PATH_MAX];
    ck_assert_int_eq(run_directory_check(&disk_posix, "", NULL, NULL, &error), STATUS_INVALID);
    memset(long_path, 'x', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    ck_assert_int_eq(run_directory_check(&disk_posix, long_path, NULL, NULL, &error),
                     STATUS_INVALID);
    scratch_path(path, "file");
    scratch_write(path, "x", 1);
    scratch_path(path, "file/run");
    ck_assert_int_eq(run_directory_check(&disk_posix, path, NULL, NULL, &error), STATUS_IO);
}

TEST(events_are_lines_of_json_and_a_torn_one_is_dropped)
{
    char file[DISK_PATH_MAX];
    scratch_path(file, "run/events.jsonl");
    leave_run(p->path, RUN_STOPPED);
    FILE *events = fopen(file, "a");
    ck_assert_ptr_nonnull(events);
    fputs("{\"time\": 3, \"eve", events);
    fclose(events);
    ck_assert_int_eq(begin_run(p), STATUS_OK);
    run_directory_event(&p->directory, "stop", NULL);
    run_directory_event(&p->directory, "end", "");

    size_t bytes;
    char *text = scratch_read(file, &bytes); /* Flushed already. */
    static const char *const names[] = {"start", "stop", "end"};
    char *line = text;
    for (size_t i = 0; i < 3; i++) {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        struct json *event;
        ck_assert_int_eq(json_parse(line, (size_t)(end - line), "event", &event, &p->error),
                         STATUS_OK);
        ck_assert_str_eq(json_text(event, "event"), names[i]);
        ck_assert(json_number(event, "time") >= 0);
        json_release(&event);
        line = end + 1;
    }
    ck_assert_int_eq(*line, '\0');
    free(text);
    run_directory_close(&p->directory);
}

/* Two seconds passed, and three have a name. */
TEST_PLAIN(seconds_that_are_named_twice_are_not_hidden)
{
    const struct worker_summary worker = {
        .wall_seconds = 2, .compute_seconds = 1.5, .evaluate_seconds = 1.5};
    ck_assert_double_eq(worker_summary_other(&worker), -1);
}

/* A number of its own into every row; or (expect) whether it is there. */
static void walk(const struct figure_row *rows, void *of, double *number, bool expect)
{
    for (const struct figure_row *row = rows; row->size > 0; row++) {
        char *at = (char *)of + row->offset;
        const double own = ++*number;
        const uint64_t whole = (uint64_t)own;
        if (row->kind == FIGURE_SET)
            walk(row->set(), at, number, expect);
        else if (row->kind == FIGURE_TEXT && !expect)
            snprintf(at, row->size, "%.0f", own);
        else if (row->kind == FIGURE_TEXT)
            ck_assert_double_eq(atof(at), own);
        else if (row->kind == FIGURE_HISTOGRAM && !expect)
            histogram_add((struct histogram *)(void *)at, 1024 * whole);
        else if (row->kind == FIGURE_HISTOGRAM)
            ck_assert_uint_eq(((struct histogram *)(void *)at)->max, 1024 * whole);
        else if (expect)
            ck_assert_msg(figure_value(row, of) == own, "%s is %g", row->name, own);
        else if (row->kind == FIGURE_REAL || row->kind == FIGURE_WHOLE)
            *(double *)(void *)at = own;
        else
            memcpy(at, &whole, row->size);
    }
}

TEST_PLAIN(every_figure_of_a_summary_is_written_and_read)
{
    char path[DISK_PATH_MAX];
    struct job job = sample_job();
    struct run_directory directory;
    enum run_opening opening;
    struct run_summary *summary = calloc(2, sizeof *summary), *again = &summary[1];
    struct worker_summary *workers = calloc(2, sizeof *workers), *worker = &workers[1];
    double number = 0;
    walk(run_summary_rows(), summary, &number, false);
    summary->state = RUN_FAILED;
    strcpy(summary->reason, "lost \"it\"");
    summary->record.ended = true;
    summary->phases.begun = true;
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        summary->phases.since_us += summary->phases.us[i] = 125000 * (i + 1);
    static const char *const names[] = {"waits", "second", "third", "fourth", "one too many"};
    for (size_t i = 0; i <= MODE_FIGURES_MAX; i++)
        mode_figures_add(&summary->mode_figures, names[i], 31 + i);
    walk(worker_summary_rows(), workers, &number, false);
    workers[0].waits[WAIT_GATE] = 0.125;
    workers[0].staleness.max = 2;
    summary->worker_count = 1;
    summary->workers = workers;
    scratch_path(path, "run");
    ck_assert_int_eq(open_run(&directory, path, &job, &opening, NULL), STATUS_OK);
    ck_assert_int_eq(run_directory_summary(&directory, &job, 7, summary, NULL), STATUS_OK);
    struct json *root = read_run(path);
    run_summary_read(again, root);
    ck_assert_uint_eq(again->versions, summary->step);                /* Of each batch one. */
    ck_assert(!again->scored.kept && again->faults.events_lost == 0); /* The directory's own. */
    again->versions = summary->versions;
    again->scored = summary->scored;
    again->faults.events_lost = summary->faults.events_lost;
    number = 0;
    walk(run_summary_rows(), again, &number, true);
    ck_assert_mem_eq(again->phases.us, summary->phases.us, sizeof again->phases.us);
    ck_assert_uint_eq(again->phases.since_us, summary->phases.since_us);
    ck_assert_str_eq(again->reason, summary->reason);
    ck_assert_mem_eq(&again->mode_figures, &summary->mode_figures, sizeof again->mode_figures);
    const struct json *item = json_item(json_at(root, "worker_details"), 0);
    figures_read(worker_summary_rows(), item, worker);
    ck_assert_uint_eq(worker->updates, workers[0].batches);
    ck_assert_double_eq(worker->wait_seconds, 0.125);
    ck_assert_double_eq(worker->other_seconds, worker_summary_other(&workers[0]));
    worker->updates = workers[0].updates;
    worker->wait_seconds = workers[0].wait_seconds;
    worker->other_seconds = workers[0].other_seconds;
    walk(worker_summary_rows(), worker, &number, true);
    ck_assert_double_eq(json_number(item, "waits.gate"), 0.125);
    ck_assert_double_eq(json_number(item, "staleness.max"), 2);
    ck_assert_str_eq(json_text(root, "state"), "failed");
    ck_assert_uint_eq(json_u64(root, "seed", 0), UINT64_MAX - 5);
    json_release(&root);
    run_directory_close(&directory);
    job_free(&job);
    free(summary);
    free(workers);
}

/* The file's lines, which must be JSON; in names the events, separated by spaces. */
static void read_events(const char *file, char *names, size_t size)
{
    size_t bytes, used = 0;
    char *text = scratch_read(file, &bytes);
    struct error error;
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        struct json *event;
        ck_assert_ptr_nonnull(end);
        ck_assert_msg(json_parse(line, (size_t)(end - line), "event", &event, &error) == STATUS_OK,
                      "%s", error.text);
        used += (size_t)snprintf(names + used, size - used, "%s%s", used ? " " : "",
                                 json_text(event, "event"));
        if (strcmp(json_text(event, "event"), "events_lost") == 0)
            used += (size_t)snprintf(names + used, size - used, "=%g", json_number(event, "count"));
        json_release(&event);
        line = end + 1;
    }
    free(text);
}

TEST(events_that_cannot_be_written_are_counted_and_the_others_are_whole)
{
    char file[DISK_PATH_MAX], names[200];
    struct run_summary summary = {0};
    scratch_path(file, "run/events.jsonl");
    ck_assert_int_eq(begin_run(p), STATUS_OK);
    run_directory_event(&p->directory, "before", NULL);

    /* A limit on the size of files cuts the line off, as a full disk does. */
    struct rlimit limit = {(rlim_t)p->directory.events.bytes + 10, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    run_directory_event(&p->directory, "lost", NULL);
    run_directory_event(&p->directory, "lost", NULL);
    ck_assert_uint_eq(p->directory.events.missing, 2);
    ck_assert_ptr_nonnull(strstr(p->directory.events.error.text, file));
    read_events(file, names, sizeof names);
    ck_assert_str_eq(names, "before");

    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    run_directory_event(&p->directory, "after", NULL);
    ck_assert_uint_eq(p->directory.events.missing, 0);
    read_events(file, names, sizeof names);
    ck_assert_str_eq(names, "before events_lost=2 after");
    ck_assert_int_eq(run_directory_summary(&p->directory, &p->job, 7, &summary, &p->error),
                     STATUS_OK);
    struct json *root = read_run(p->path);
    ck_assert_double_eq(json_number(root, "faults.events_lost"), 2);
    json_release(&root);
    run_directory_close(&p->directory);
}

/* Before hours of training, and before anything is changed. */
TEST_PLAIN(what_could_not_be_written_at_the_end_is_refused_at_the_start)
{
    static const struct {
        const char *name;
        bool pipe; /* Else a folder. */
    } cases[] = {{"generation", false},
                 {"model.safetensors", false},
                 {"run.json.tmp", false},
                 {"model.safetensors.tmp", false},
                 {"generation.tmp", false},
                 {"checkpoints", true},
                 {"checkpoints/step-000000000100", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[DISK_PATH_MAX], place[DISK_PATH_MAX], name[64];
        struct job job = sample_job();
        struct run_directory directory;
        enum run_opening opening;
        struct error error;
        snprintf(name, sizeof name, "run%zu", i);
        scratch_path(path, name);
        leave_run(path, RUN_STOPPED);
        if (strchr(cases[i].name, '/') != NULL) {
            snprintf(place, sizeof place, "%.900s/checkpoints", path);
            ck_assert_int_eq(mkdir(place, 0777), 0);
        }
        snprintf(place, sizeof place, "%.900s/%s", path, cases[i].name);
        ck_assert_int_eq(cases[i].pipe ? mkfifo(place, 0666) : mkdir(place, 0777), 0);
        ck_assert_int_eq(run_directory_check(&disk_posix, path, &job, NULL, &error), STATUS_IO);
        ck_assert_msg(strstr(error.text, place) != NULL, "%s", error.text);
        ck_assert_int_eq(open_run(&directory, path, &job, &opening, &error), STATUS_IO);
        struct json *root = read_run(path);
        ck_assert_str_eq(json_text(root, "state"), "stopped");
        json_release(&root);
        job_free(&job);
    }
}

/* A log is not a run's, and a link to one may lead anywhere. */
TEST_PLAIN(a_folder_with_an_odd_log_and_no_run_is_not_free)
{
    char path[DISK_PATH_MAX], events[DISK_PATH_MAX];
    struct error error;
    scratch_path(path, "home");
    scratch_path(events, "home/events.jsonl");
    ck_assert_int_eq(mkdir(path, 0777), 0);
    ck_assert_int_eq(mkfifo(events, 0666), 0);
    ck_assert_int_eq(run_directory_check(&disk_posix, path, NULL, NULL, &error), STATUS_EXISTS);
}

TEST(how_many_checkpoints_are_kept_is_remembered)
{
    static const struct {
        uint32_t asked, kept;
        const char *text; /* In run.json. */
    } sessions[] = {{0, CHECKPOINTS_KEPT, "\"keep\": 3,"},
                    {CHECKPOINTS_ALL, CHECKPOINTS_ALL, "\"keep\": \"all\","},
                    {0, CHECKPOINTS_ALL, "\"keep\": \"all\","},
                    {7, 7, "\"keep\": 7,"},
                    {0, 7, "\"keep\": 7,"}};
    char file[DISK_PATH_MAX];
    const struct run_summary summary = {.state = RUN_STOPPED};
    scratch_path(file, "run/run.json");
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++) {
        ck_assert_int_eq(run_directory_open(&p->directory, &disk_posix, p->path, &p->job, 7,
                                            sessions[i].asked, NULL, &p->opening, NULL),
                         STATUS_OK);
        ck_assert_uint_eq(p->directory.keep, sessions[i].kept);
        ck_assert_int_eq(run_directory_summary(&p->directory, &p->job, 7, &summary, NULL),
                         STATUS_OK);
        run_directory_close(&p->directory);
        size_t bytes;
        char *text = scratch_read(file, &bytes);
        ck_assert_ptr_nonnull(strstr(text, sessions[i].text));
        free(text);
    }
}

TEST(left_overs_of_killed_writers_are_removed)
{
    static const char *const names[] = {"run.json.tmp", "generation.tmp", "model.safetensors.tmp"};
    char file[DISK_PATH_MAX], name[64];
    leave_run(p->path, RUN_RUNNING);
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "run/%s", names[i]);
        scratch_path(file, name);
        scratch_write(file, "x", 1);
    }
    ck_assert_int_eq(begin_run(p), STATUS_OK);
    ck_assert_int_eq(p->opening, RUN_RESUMES);
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "run/%s", names[i]);
        scratch_path(file, name);
        ck_assert(!scratch_has(file));
    }
    run_directory_close(&p->directory);
}

TEST(faults_are_counted_through_the_lives_of_server_0_and_over_sessions)
{
    const struct run_faults faults = {.generation = 3,
                                      .workers_lost = 1,
                                      .servers_lost = 2,
                                      .recomputed = 40,
                                      .fenced = 5,
                                      .bad_gradients = 6,
                                      .checkpoints_skipped = 7,
                                      .checkpoints_failed = 8};
    const struct run_summary summary = {.state = RUN_STOPPED, .faults = faults};
    static const struct {
        const char *path;
        uint64_t each;
    } numbers[] = {{"workers_lost", 1},       {"servers_lost", 2},
                   {"recomputed", 40},        {"fenced", 5},
                   {"bad_gradients", 6},      {"checkpoints_skipped", 7},
                   {"checkpoints_failed", 8}, {"events_lost", 9}};
    /* Two are killed and three end; a session may have the id of the one before. */
    for (uint64_t phases = 1; phases <= 5; phases++) {
        uint64_t run_id = phases < 5 ? 7 : 8, killed = phases < 3 ? phases - 1 : 2;
        ck_assert_int_eq(run_directory_open(&p->directory, &disk_posix, p->path, &p->job, run_id, 0,
                                            NULL, &p->opening, NULL),
                         STATUS_OK);
        run_directory_begin_at(&p->directory, 20);
        run_directory_event(&p->directory, "start", "\"step\": 20");
        run_directory_event(&p->directory, "progress", "\"step\": 41");
        run_directory_event(&p->directory, "progress", "\"step\": 50, \"epoch\": 1");
        p->directory.events.lost = 9;
        if (phases < 3) /* Killed. */
            ck_assert_int_eq(run_directory_note(&p->directory, &p->job, run_id, &faults, NULL),
                             STATUS_OK);
        else
            ck_assert_int_eq(run_directory_summary(&p->directory, &p->job, run_id, &summary, NULL),
                             STATUS_OK);
        run_directory_close(&p->directory);
        struct json *root = read_run(p->path);
        ck_assert_str_eq(json_text(root, "state"), phases < 3 ? "running" : "stopped");
        ck_assert_uint_eq(json_u64(root, "faults.generation", 0), 3);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            char name[64];
            snprintf(name, sizeof name, "faults.%s", numbers[i].path);
            /* Who comes after a kill lost the server 0 before it, and what that had told of. */
            uint64_t each = strcmp(numbers[i].path, "servers_lost") == 0 ? 1
                            : strcmp(numbers[i].path, "recomputed") == 0 ? 30
                                                                         : 0;
            ck_assert_uint_eq(json_u64(root, name, 0), phases * numbers[i].each + killed * each);
        }
        json_release(&root);
    }
}

TEST_PLAIN(run_json_says_whether_a_run_has_ended)
{
    static const enum run_state states[] = {RUN_RUNNING, RUN_STOPPED, RUN_DONE, RUN_FAILED};
    enum run_state state;
    char path[DISK_PATH_MAX], name[32], file[DISK_PATH_MAX];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "run%zu", i);
        scratch_path(path, name);
        ck_assert(!run_directory_has_ended(&disk_posix, path, 7, &state));
        leave_run(path, states[i]);
        ck_assert(run_directory_has_ended(&disk_posix, path, 7, &state) ==
                  (states[i] != RUN_RUNNING));
        ck_assert(states[i] == RUN_RUNNING || state == states[i]);
        ck_assert(!run_directory_has_ended(&disk_posix, path, 8, &state));
    }
    snprintf(file, sizeof file, "%.1000s/run.json", path);
    scratch_write(file, "{}", 2);
    ck_assert(!run_directory_has_ended(&disk_posix, path, 7, &state));
}

/* --- disks that fail ----------------------------------------------------------------------- */

/* From the claim to the last summary; the first failure. */
static enum status whole_session(const struct disk *disk, enum run_state state, uint64_t step)
{
    struct job job = sample_job();
    struct run_directory directory;
    enum run_opening opening;
    const struct run_summary summary = {.state = state, .step = step};
    enum status status =
        run_directory_open(&directory, disk, "run", &job, 7, 0, NULL, &opening, NULL);
    if (status == STATUS_OK)
        status = run_directory_note(&directory, &job, 7, &(struct run_faults){0}, NULL);
    if (status == STATUS_OK)
        status = run_directory_summary(&directory, &job, 7, &summary, NULL);
    run_directory_close(&directory);
    job_free(&job);
    return status;
}

/* A run that was stopped after 100 updates, with what a killed writer left beside its run.json. */
static void leave_stopped(struct simulated_disk *disk, uint64_t seed)
{
    const struct disk_piece torn = {"{\"form", 6};
    simulated_disk_init(disk, seed, 0);
    ck_assert_int_eq(whole_session(&disk->disk, RUN_STOPPED, 100), STATUS_OK);
    ck_assert_int_eq(disk->disk.write_file(disk, "run/run.json.tmp", &torn, 1, NULL), STATUS_OK);
}

/* run.json is whole, one of those that were written, and can be gone on with unless it is done. */
static enum run_state expect_whole(struct simulated_disk *disk)
{
    struct run_found found;
    struct error error;
    struct job job = sample_job();
    ck_assert_msg(run_directory_find(&found, &disk->disk, "run", &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_uint_eq(found.step, found.state == RUN_DONE ? 200 : 100);
    ck_assert(found.state != RUN_FAILED);
    enum status status = run_directory_check(&disk->disk, "run", &job, NULL, &error);
    ck_assert_msg(status == (found.state == RUN_DONE ? STATUS_EXISTS : STATUS_OK), "%s",
                  error.text);
    if (found.state != RUN_DONE) {
        ck_assert_int_eq(whole_session(&disk->disk, RUN_DONE, 200), STATUS_OK);
        ck_assert_ptr_null(simulated_disk_find(disk, "run/run.json.tmp"));
    }
    job_free(&job);
    job_free(&found.job);
    return found.state;
}

TEST_PLAIN(a_disk_that_fails_at_any_call_leaves_a_run_to_go_on_with)
{
    unsigned states[RUN_FAILED + 1] = {0};
    bool struck = true;
    for (uint64_t call = 1; struck; call++) {
        struct simulated_disk disk;
        leave_stopped(&disk, call);
        disk.fail_at = call;
        enum status status = whole_session(&disk.disk, RUN_DONE, 200);
        struck = disk.fail_at == 0;
        disk.fail_at = 0;
        enum run_state state = expect_whole(&disk);
        states[state]++;
        /* What is left beside run.json is no reason to fail: it is written over. */
        ck_assert(status == (state == RUN_DONE ? STATUS_OK : STATUS_IO));
        simulated_disk_free(&disk);
    }
    ck_assert_uint_eq(states[RUN_STOPPED], 2); /* The lock and the claim. */
    ck_assert_uint_eq(states[RUN_RUNNING], 2); /* The note and the summary. */
    ck_assert_uint_eq(states[RUN_DONE], 2);    /* What is removed, and nothing. */
}

TEST_PLAIN(a_kill_in_any_write_of_run_json_leaves_a_run_to_go_on_with)
{
    unsigned states[RUN_FAILED + 1] = {0}, torn = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct simulated_disk disk;
        leave_stopped(&disk, seed);
        disk.crash_at = 1 + seed % 4;
        ck_assert_int_eq(whole_session(&disk.disk, RUN_DONE, 200), STATUS_IO);
        ck_assert(disk.crashed);
        disk.crashed = false;
        torn += disk.crash_at == 0 && simulated_disk_find(&disk, "run/run.json.tmp") != NULL;
        states[expect_whole(&disk)]++;
        simulated_disk_free(&disk);
    }
    ck_assert_uint_ge(states[RUN_STOPPED], 20);
    ck_assert_uint_ge(states[RUN_RUNNING], 20);
    ck_assert_uint_ge(states[RUN_DONE], 5);
    ck_assert_uint_ge(torn, 20);
}

TEST_PLAIN(a_full_disk_refuses_a_run_and_leaves_the_place_free)
{
    struct job job = sample_job();
    struct simulated_disk disk;
    struct run_directory directory;
    enum run_opening opening;
    struct error error;
    simulated_disk_init(&disk, 1, 0);
    disk.full = true;
    ck_assert_int_eq(
        run_directory_open(&directory, &disk.disk, "run", &job, 7, 0, NULL, &opening, &error),
        STATUS_IO);
    ck_assert_str_eq(error.text, "cannot write run/run.json: No space left on device");
    ck_assert_ptr_null(simulated_disk_find(&disk, "run/run.json"));
    disk.full = false;
    disk.read_only = true;
    ck_assert_int_eq(run_directory_check(&disk.disk, "run", &job, &opening, &error), STATUS_IO);
    disk.read_only = false;
    ck_assert_int_eq(run_directory_check(&disk.disk, "run", &job, &opening, &error), STATUS_OK);
    ck_assert_int_eq(opening, RUN_BEGINS);
    ck_assert_int_eq(whole_session(&disk.disk, RUN_DONE, 200), STATUS_OK);
    simulated_disk_free(&disk);
    job_free(&job);
}

TEST_PLAIN(on_a_simulated_disk_too_one_process_has_a_run_until_it_ends)
{
    struct job job = sample_job();
    struct simulated_disk disk;
    struct run_directory first, second;
    enum run_opening opening;
    struct error error;
    simulated_disk_init(&disk, 1, 0);
    simulated_disk_turn(&disk, 1, 0);
    ck_assert_int_eq(
        run_directory_open(&first, &disk.disk, "run", &job, 7, 0, NULL, &opening, NULL), STATUS_OK);
    run_directory_event(&first, "start", NULL); /* Kept nowhere, and not lost either. */
    ck_assert_uint_eq(first.events.lost, 0);
    simulated_disk_turn(&disk, 2, 0);
    ck_assert_int_eq(
        run_directory_open(&second, &disk.disk, "run", &job, 7, 0, NULL, &opening, &error),
        STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(error.text, "another run is using run"));
    ck_assert_int_eq(run_directory_check(&disk.disk, "run", &job, NULL, NULL), STATUS_EXISTS);
    simulated_disk_crash(&disk, 1, 0);
    simulated_disk_turn(&disk, 2, 0);
    ck_assert_int_eq(
        run_directory_open(&second, &disk.disk, "run", &job, 7, 0, NULL, &opening, &error),
        STATUS_OK);
    run_directory_close(&second);
    ck_assert_int_eq(run_directory_check(&disk.disk, "run", &job, NULL, NULL), STATUS_OK);
    simulated_disk_free(&disk);
    job_free(&job);
}

int main(void)
{
    return suite_run("run_directory", scratch_add);
}
