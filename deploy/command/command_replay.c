/* syncopate replay PATH: repeats a recorded run in this process.
 *
 * Without changes it compares the parameters and the test scores with the run's last ones. With a
 * change to the optimizer it keeps the history and compares both. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/json_writer.h"
#include "common/kernels/kernels.h"
#include "common/store/checkpoint.h"
#include "common/store/model_file.h"
#include "deploy/command/command.h"
#include "deploy/replay/rerun.h"
#include "deploy/simulate/policy_child.h"
#include "worker/data/dataset.h"

#define TEXT_MAX     400
#define SCORES_SHOWN 20 /* Equal ones. */

struct replaying {
    const struct options *options;
    struct recorded recorded;
    struct job job; /* The run's, with the changes. Owned. */
    bool changed;
    char changes[256]; /* "learning rate: 0.001 in the run, 0.01 in the replay" */
    struct rerun rerun;
    struct policy_child policy; /* Of --policy. */
    double seconds;             /* Scores left out. */
    bool differs;
    uint64_t scores, scores_shown;
    char digest[65], expected[65]; /* Of the parameters; "": the run has none. */
    const char *expected_in;       /* "run.json", "checkpoint", or NULL. */
    const char *differing[4];      /* [differing_count] other differences from the run. */
    size_t differing_count;
    struct rerun_segment *segments; /* [segment_count], at most one a session. Owned. */
    size_t segment_count;
    struct error broken; /* A violation of ssp's guarantee; "": none. */
};

/* Nothing but the outcome with --quiet, and its object alone with --json. */
static bool is_silent(const struct replaying *r)
{
    return r->options->quiet || r->options->json;
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool is_given(const struct replaying *r, const char *name)
{
    return options_given(r->options, OPTION_REPLAY, name);
}

static enum status change_optimizer(struct replaying *r, struct error *error)
{
    const struct optimizer *optimizer = optimizer_find(r->options->job.optimizer.name);
    if (optimizer == NULL)
        return optimizer_name_check(r->options->job.optimizer.name, error);
    r->job.optimizer = optimizer->defaults;
    snprintf(r->job.optimizer.name, sizeof r->job.optimizer.name, "%s", optimizer->name);
    r->job.schedule.learning_rate = (double)optimizer->default_learning_rate;
    return STATUS_OK;
}

static enum status change(struct replaying *r, struct error *error)
{
    enum status status = job_copy(&r->job, &r->recorded.found.job);
    if (status != STATUS_OK)
        return error_set(error, status, "out of memory");
    if (is_given(r, "optimizer"))
        status = change_optimizer(r, error);
    if (is_given(r, "learning-rate"))
        r->job.schedule.learning_rate = r->options->job.schedule.learning_rate;
    bool asks = is_given(r, "policy");
    if ((asks || is_given(r, "staleness-rate")) && job_mode(&r->job)->steps)
        return error_set(error, STATUS_INVALID, "--%s: the run is %s, in which nothing is stale",
                         asks ? "policy" : "staleness-rate", job_mode_text(&r->job).text);
    if (is_given(r, "staleness-rate"))
        r->job.staleness_rate = r->options->job.staleness_rate;
    if (is_given(r, "l2"))
        r->job.l2 = r->options->job.l2;
    if (is_given(r, "loss-scale"))
        r->job.loss_scale = r->options->job.loss_scale;
    if (status == STATUS_OK)
        status = job_check(&r->job, error);
    struct error difference = {0};
    r->changed =
        status == STATUS_OK && job_compare(&r->recorded.found.job, "the run", &r->job, "the replay",
                                           JOB_SCOPE_ALL, &difference) != STATUS_OK;
    snprintf(r->changes, sizeof r->changes, "%.255s", difference.text);
    if (asks)
        wording_append(r->changes, sizeof r->changes, "%spolicy: %.100s in the replay",
                       r->changed ? "; " : "", r->options->policy);
    r->changed = r->changed || (status == STATUS_OK && asks);
    return status;
}

/* --- on the way ------------------------------------------------------------------------------ */

/* A line of people's, or as many as it takes. */
static void print_text(const char *text)
{
    wording_wrap(stdout, text, 0, 2);
}

static void print_segment(const struct rerun_segment *s)
{
    char text[TEXT_MAX] = "";
    wording_append(text, sizeof text, "session %" PRIu64 ": %s, %s, ", s->session,
                   wording_counted(s->workers, "worker", "workers").text,
                   wording_counted(s->servers, "server", "servers").text);
    wording_append(text, sizeof text, "batches %s to %s", wording_count(s->from.batches).text,
                   wording_count(s->to.batches).text);
    if (s->chunks == 0) {
        wording_append(text, sizeof text, ", as one process makes them");
        print_text(text);
        return;
    }
    if (s->to.version != s->to.batches)
        wording_append(text, sizeof text, " in versions %s to %s",
                       wording_count(s->from.version).text, wording_count(s->to.version).text);
    wording_append(text, sizeof text, ", %s, %s, %s; %s entries of two computations",
                   wording_counted(s->chunks, "chunk", "chunks").text,
                   wording_counted(s->computations, "computation", "computations").text,
                   wording_counted(s->entries, "entry", "entries").text,
                   wording_counted(s->torn, "batch has", "batches have").text);
    print_text(text);
}

static void take_segment(void *context, const struct rerun_segment *segment)
{
    struct replaying *r = context;
    if (r->segment_count < r->recorded.file_count)
        r->segments[r->segment_count++] = *segment;
    if (!is_silent(r))
        print_segment(segment);
}

/* The run's score after so many batches, if it has one. */
static const struct record_evaluation *find_score(const struct replaying *r, uint64_t batches)
{
    const struct record *record = &r->recorded.record;
    for (size_t i = 0; i < record->evaluation_count; i++)
        if (record->evaluations[i].step == (double)batches)
            return &record->evaluations[i];
    return NULL;
}

static bool same_or_none(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static bool is_same(const struct rerun_score *score, const struct record_evaluation *was)
{
    const struct score_figures *a = &score->test, *b = &was->test;
    return a->loss == b->loss && same_or_none(a->accuracy, b->accuracy) &&
           same_or_none(a->regularisation, b->regularisation);
}

static void print_score(const struct rerun_score *score, const struct record_evaluation *was,
                        bool differs)
{
    char text[TEXT_MAX] = "";
    wording_append(text, sizeof text, "after batch %s: test loss %.6f%s",
                   wording_count(score->batches).text, score->test.loss,
                   wording_percent(", test accuracy ", score->test.accuracy, 2).text);
    if (was == NULL)
        wording_append(text, sizeof text, "; the run has no score there");
    else if (is_same(score, was))
        wording_append(text, sizeof text, ": as recorded");
    else
        wording_append(text, sizeof text, "%s %.6f%s",
                       differs ? ": differs from the run's" : "; the run has", was->test.loss,
                       wording_percent(", ", was->test.accuracy, 2).text);
    print_text(text);
}

static void take_score(void *context, const struct rerun_score *score)
{
    struct replaying *r = context;
    const struct record_evaluation *was = find_score(r, score->batches);
    bool differs = !r->changed && was != NULL && !is_same(score, was);
    bool shown = !is_silent(r) && r->scores_shown < SCORES_SHOWN;
    r->differs = r->differs || differs;
    r->scores++;
    if (!shown && !(differs && !r->options->json))
        return;
    r->scores_shown++;
    print_score(score, was, differs);
}

/* Of many, --json has all. */
static void print_more_scores(const struct replaying *r)
{
    if (r->scores > r->scores_shown)
        printf("and %s more, none of which differs from the run's\n",
               wording_counted(r->scores - r->scores_shown, "score", "scores").text);
}

/* --- at the end ------------------------------------------------------------------------------ */

/* The last epoch (from 1) of which something was made; 0: none. */
static uint64_t last_epoch(const struct replaying *r)
{
    uint64_t epoch = job_epochs(&r->job);
    while (epoch > 0 && replay_epoch(r->rerun.replay, epoch - 1) == NULL)
        epoch--;
    return epoch;
}

static void print_loss(const struct replaying *r)
{
    char text[TEXT_MAX] = "";
    uint64_t epoch = last_epoch(r);
    if (epoch == 0)
        return;
    wording_append(text, sizeof text, "loss %.6f", rerun_loss(&r->rerun, epoch - 1));
    bool whole =
        r->recorded.record.summary.train.epoch == epoch && !replay_is_over(r->rerun.replay);
    if (r->changed && whole)
        wording_append(text, sizeof text, "; the run has %.6f",
                       r->recorded.record.summary.train.loss);
    wording_append(text, sizeof text,
                   " (mean over the examples of epoch %" PRIu64
                   ", each batch at the values that its gradient was made from)",
                   epoch);
    print_text(text);
}

static void print_cost(const struct replaying *r)
{
    char text[TEXT_MAX] = "";
    const struct replay_figures *f = replay_figures(r->rerun.replay);
    uint64_t batches = replay_batches(r->rerun.replay);
    wording_append(text, sizeof text, "%s in %s", wording_counted(batches, "batch", "batches").text,
                   wording_duration(r->seconds).text);
    if (r->seconds > 0)
        wording_append(text, sizeof text, ", %.0f a second", (double)batches / r->seconds);
    if (r->recorded.record.summary.seconds > 0)
        wording_append(text, sizeof text, " (the run: %s)",
                       wording_duration(r->recorded.record.summary.seconds).text);
    wording_append(text, sizeof text, "; record %s", wording_bytes(r->recorded.bytes).text);
    wording_append(text, sizeof text, "; kept %s at most: %s of a chunk, %s; staleness up to %s",
                   wording_bytes(f->bytes_max).text,
                   wording_counted(f->versions_max, "version", "versions").text,
                   wording_counted(f->gradients_max, "gradient", "gradients").text,
                   wording_count(f->staleness_max).text);
    print_text(text);
}

static void print_promises(const struct replaying *r)
{
    if (!job_mode(&r->job)->bounds || r->broken.text[0] != '\0')
        return;
    printf(
        "%s: %s the promised values\n", job_mode_text(&r->job).text,
        wording_counted(r->rerun.included.held, "computation began from", "computations began from")
            .text);
}

/* The expected parameters, if the run has their digest. */
static void find_expected(struct replaying *r)
{
    const struct run_summary *summary = &r->recorded.record.summary;
    uint64_t batches = replay_batches(r->rerun.replay);
    if (summary->parameters_sha256[0] != '\0' && summary->step == batches) {
        memcpy(r->expected, summary->parameters_sha256, sizeof r->expected);
        r->expected_in = "run.json";
        return;
    }
    struct checkpoint_reader reader;
    char path[DISK_PATH_MAX];
    checkpoint_path(path, r->options->path, batches);
    if (checkpoint_open(&reader, &disk_posix, path, NULL) != STATUS_OK)
        return;
    parameters_sha256(r->job.variables, r->job.variable_count, reader.arrays[0], r->expected);
    checkpoint_close(&reader);
    r->expected_in = "checkpoint";
}

static void compare_digests(struct replaying *r, const float *parameters)
{
    parameters_sha256(r->job.variables, r->job.variable_count, parameters, r->digest);
    if (!r->changed)
        find_expected(r);
    r->differs = r->differs || (r->expected_in != NULL && strcmp(r->digest, r->expected) != 0);
}

static void compare(struct replaying *r, const char *what, bool same)
{
    if (same)
        return;
    r->differs = true;
    r->differing[r->differing_count++] = what;
}

/* Of the run's own file; also true without one. */
static bool is_model(const struct replaying *r)
{
    char path[DISK_PATH_MAX + 32], digest[65] = "";
    struct model_file file;
    struct error error;
    snprintf(path, sizeof path, "%s/model.safetensors", r->options->path);
    if (disk_posix.look(disk_posix.context, path) == DISK_NOTHING)
        return true;
    if (model_file_open(&file, &disk_posix, path, &error) != STATUS_OK)
        return false;
    if (model_file_arrange(&file, r->job.variables, r->job.variable_count, path, &error) ==
        STATUS_OK)
        parameters_sha256(r->job.variables, r->job.variable_count, file.parameters, digest);
    model_file_close(&file);
    return strcmp(digest, r->digest) == 0;
}

/* Compares with run.json's totals. A session in progress, or a killed one, has not recorded its
 * figures of gradients. */
static void compare_figures(struct replaying *r)
{
    const struct run_summary *was = &r->recorded.record.summary;
    const struct replay_figures *f = replay_figures(r->rerun.replay);
    uint64_t epoch = last_epoch(r);
    if (r->changed || was->step != replay_batches(r->rerun.replay))
        return;
    if (epoch > 0 && epoch == was->train.epoch) {
        double loss = rerun_loss(&r->rerun, epoch - 1);
        compare(r, "train_loss", !(fabs(loss - was->train.loss) > 1e-9 * fabs(loss)));
    }
    if (f->entries > 0 && !job_mode(&r->job)->steps && r->recorded.found.state != RUN_RUNNING) {
        compare(r, "verdicts", was->verdicts.applied == f->counted);
        compare(r, "staleness", was->staleness.shape.max == f->counted_max);
    }
    if (was->model_sha256[0] != '\0')
        compare(r, "model.safetensors", is_model(r));
}

static void print_differing(const struct replaying *r)
{
    for (size_t i = 0; i < r->differing_count; i++)
        printf("%s: differs from the run's\n", r->differing[i]);
}

static void print_digest(const struct replaying *r)
{
    bool by_run = r->expected_in != NULL && strcmp(r->expected_in, "run.json") == 0;
    printf("parameters_sha256 %s", r->digest);
    if (r->changed)
        printf("\n");
    else if (r->expected_in == NULL)
        printf(": neither run.json nor a checkpoint says what it was after %s\n",
               wording_counted(replay_batches(r->rerun.replay), "batch", "batches").text);
    else if (strcmp(r->digest, r->expected) == 0)
        printf(": as %s\n", by_run ? "recorded" : "the checkpoint of this batch");
    else
        printf(": differs from %s: %s\n", by_run ? "run.json" : "the checkpoint of this batch",
               r->expected);
}

/* --- the outcome as JSON --------------------------------------------------------------------- */

static void write_segment(struct json_writer *writer, const struct rerun_segment *s)
{
    json_writer_object(writer, NULL);
    json_writer_u64(writer, "session", s->session);
    json_writer_u64(writer, "workers", s->workers);
    json_writer_u64(writer, "servers", s->servers);
    json_writer_u64(writer, "chunks", s->chunks);
    json_writer_u64(writer, "first_batch", s->from.batches);
    json_writer_u64(writer, "end_batch", s->to.batches);
    json_writer_u64(writer, "first_version", s->from.version);
    json_writer_u64(writer, "end_version", s->to.version);
    json_writer_u64(writer, "computations", s->computations);
    json_writer_u64(writer, "entries", s->entries);
    json_writer_u64(writer, "torn_batches", s->torn);
    json_writer_end(writer);
}

static void write_score(struct json_writer *writer, const struct replaying *r,
                        const struct rerun_score *score)
{
    const struct record_evaluation *was = find_score(r, score->batches);
    json_writer_object(writer, NULL);
    json_writer_u64(writer, "step", score->batches);
    figures_write(writer, score_figures_rows(), &score->test);
    json_writer_real(writer, "run_test_loss", was != NULL ? was->test.loss : (double)NAN);
    json_writer_real(writer, "run_test_accuracy", was != NULL ? was->test.accuracy : (double)NAN);
    if (was == NULL || r->changed)
        json_writer_null(writer, "as_recorded");
    else
        json_writer_bool(writer, "as_recorded", is_same(score, was));
    json_writer_end(writer);
}

static void write_digests(struct json_writer *writer, const struct replaying *r)
{
    bool known = r->expected_in != NULL;
    json_writer_text(writer, "parameters_sha256", r->digest);
    json_writer_text(writer, "expected_sha256", known ? r->expected : NULL);
    json_writer_text(writer, "expected_in", r->expected_in);
    if (known)
        json_writer_bool(writer, "as_recorded", strcmp(r->digest, r->expected) == 0);
    else
        json_writer_null(writer, "as_recorded");
}

static void write_figures(struct json_writer *writer, const struct replaying *r)
{
    const struct replay_figures *f = replay_figures(r->rerun.replay);
    uint64_t epoch = last_epoch(r);
    json_writer_u64(writer, "train_epoch", epoch);
    json_writer_real(writer, "train_loss",
                     epoch > 0 ? rerun_loss(&r->rerun, epoch - 1) : (double)NAN);
    json_writer_real(writer, "seconds", r->seconds);
    json_writer_u64(writer, "record_bytes", r->recorded.bytes);
    json_writer_u64(writer, "computations", f->computations);
    json_writer_u64(writer, "entries", f->entries);
    json_writer_u64(writer, "skipped_entries", f->skipped);
    json_writer_u64(writer, "torn_batches", f->torn);
    json_writer_u64(writer, "staleness_max", f->staleness_max);
    json_writer_u64(writer, "kept_bytes_max", f->bytes_max);
    json_writer_u64(writer, "kept_versions_max", f->versions_max);
}

static enum status print_json(const struct replaying *r, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "path", r->options->path);
    json_writer_text(&writer, "mode", job_mode_text(&r->recorded.found.job).text);
    json_writer_u64(&writer, "seed", r->job.seed);
    json_writer_text(&writer, "changed", r->changed ? r->changes : NULL);
    json_writer_text(&writer, "broken", r->broken.text[0] != '\0' ? r->broken.text : NULL);
    json_writer_u64(&writer, "step", replay_batches(r->rerun.replay));
    write_digests(&writer, r);
    json_writer_array(&writer, "differing");
    for (size_t i = 0; i < r->differing_count; i++)
        json_writer_text(&writer, NULL, r->differing[i]);
    json_writer_end(&writer);
    write_figures(&writer, r);
    json_writer_array(&writer, "segments");
    for (size_t i = 0; i < r->segment_count; i++)
        write_segment(&writer, &r->segments[i]);
    json_writer_end(&writer);
    json_writer_array(&writer, "scores");
    for (size_t i = 0; i < r->rerun.score_count; i++)
        write_score(&writer, r, &r->rerun.scores[i]);
    json_writer_end(&writer);
    json_writer_end(&writer);
    return command_print_json(&writer, error);
}

static enum status finish(struct replaying *r, struct error *error)
{
    const float *parameters = replay_parameters(r->rerun.replay);
    compare_digests(r, parameters);
    compare_figures(r);
    if (!is_silent(r)) {
        print_promises(r);
        print_more_scores(r);
        print_loss(r);
        print_cost(r);
    }
    if (!r->options->json) {
        print_differing(r);
        print_digest(r);
    }
    return r->options->json ? print_json(r, error) : STATUS_OK;
}

/* --- the command ----------------------------------------------------------------------------- */

static void print_source(const struct replaying *r)
{
    const struct job *job = &r->recorded.found.job;
    if (is_silent(r))
        return;
    printf("%s: %s, %s, seed %" PRIu64 ", %s of record\n", r->options->path,
           job_mode_text(job).text, job->optimizer.name, job->seed,
           wording_counted(r->recorded.file_count, "session", "sessions").text);
    if (r->changed)
        printf("paired with %s: %s\n", r->options->path, r->changes);
}

static enum status go(struct replaying *r, struct error *error)
{
    const struct rerun_listener listener = {r, take_segment, take_score};
    uint64_t until = r->options->until > 0 ? r->options->until : UINT64_MAX;
    char data[DATA_TEXT_MAX];
    snprintf(data, sizeof data, "%s", is_given(r, "data") ? r->options->data : r->job.data);
    data_text_join(data, r->job.data);
    struct source_options source;
    enum status status =
        source_options_for(&source, r->options, r->options->path, r->job.model, data, error);
    if (status != STATUS_OK)
        return status;
    source.seed = r->job.seed;
    r->segments = calloc(r->recorded.file_count, sizeof *r->segments);
    if (r->segments == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    status = rerun_open(&r->rerun, &r->recorded, &r->job, &source, until, error);
    if (status != STATUS_OK)
        return status;
    if (is_given(r, "policy")) {
        status = policy_child_start(&r->policy, r->options->policy, NULL, &r->job, error);
        replay_ask(r->rerun.replay, &r->policy.policy);
    }
    if (status != STATUS_OK)
        return status;
    print_source(r);
    double began = clock_now_seconds();
    status = rerun_go(&r->rerun, &listener, &r->broken);
    r->seconds = clock_now_seconds() - began - r->rerun.score_seconds;
    bool broken = status == STATUS_MISMATCH;
    if (status != STATUS_OK && !broken)
        return error_set(error, status, "%s", (r->policy.failed ? r->policy.why : r->broken).text);
    status = finish(r, error);
    if (status == STATUS_OK && broken)
        status = error_set(error, STATUS_DIVERGED, "%.40s: %.400s", job_mode_text(&r->job).text,
                           r->broken.text);
    return status;
}

/* For a damaged run, or one that cannot be replayed. */
static int exit_code(enum status status, const struct replaying *r)
{
    bool recorded = r->recorded.file_count > 0;
    if (status == STATUS_OK)
        return r->differs ? EXIT_TRAINING_FAILED : EXIT_DONE;
    if (status == STATUS_INVALID && recorded)
        return EXIT_MISMATCH;
    return command_exit_code(status);
}

static int perform(struct replaying *r, struct error *error)
{
    enum status status = recorded_open(&r->recorded, &disk_posix, r->options->path, error);
    if (status != STATUS_OK) {
        command_explain_comparison(r->options->path, error);
        return command_exit_code(status);
    }
    if (change(r, error) != STATUS_OK)
        return EXIT_USAGE;
    if (r->options->until > r->recorded.end.batches) {
        error_set(error, STATUS_INVALID, "--until=%" PRIu64 ": the record ends after %s",
                  r->options->until,
                  wording_counted(r->recorded.end.batches, "batch", "batches").text);
        return EXIT_USAGE;
    }
    status = go(r, error);
    if (status == STATUS_OK) /* Differences are printed. */
        error->text[0] = '\0';
    return exit_code(status, r);
}

int command_replay(const struct command_call *call, struct error *error)
{
    struct replaying r = {.options = &call->options};
    kernels_init();
    kernels_limit(options_instructions(r.options));
    if (is_given(&r, "data") && dataset_check_name(r.options->data, error) != STATUS_OK)
        return EXIT_USAGE;
    int code = perform(&r, error);
    rerun_close(&r.rerun);
    policy_child_end(&r.policy);
    recorded_close(&r.recorded);
    job_free(&r.job);
    free(r.segments);
    return code;
}
