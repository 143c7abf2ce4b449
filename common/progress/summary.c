/* summary.c - the table, section by section; what a run does not have is left out. */

#include "common/progress/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/elementary.h"
#include "common/base/wording.h"

/* More lines than this tell less than their ends do. */
#define WORKERS_SHOWN 16

#define NOT_LEARNED 0.99 /* Of the loss of guessing: from there on. */

#define NOTICED_SECONDS 0.01 /* Less is not worth a word. */

/* A line goes on below, where the first began after its name. */
#define FAULTS_TEXT_MAX 500
#define LINE            "\n                 "

/* "  name           text", with what does not fit below it. */
static void print_wrapped(FILE *out, const char *name, const char *text)
{
    int column = fprintf(out, "  %-15s", name);
    wording_wrap(out, text, column, column);
}

static uint64_t whole(double count)
{
    return count >= 0 && count < 0x1p63 ? (uint64_t)count : 0;
}

static void print_work(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    uint64_t worked = 0;
    for (uint32_t i = 0; i < summary->worker_count; i++)
        worked += summary->workers[i].examples;
    bool several = record->accumulate > 1;
    char text[200] = "";
    wording_append(text, sizeof text, "%s of %s", wording_count(summary->step).text,
                   wording_count(record->steps).text);
    if (several)
        wording_append(text, sizeof text, ", %s to an update",
                       wording_count(record->accumulate).text);
    if (several && summary->versions > 0)
        wording_append(text, sizeof text, ", %s made",
                       wording_counted(summary->versions, "update", "updates").text);
    if (worked > 0)
        wording_append(text, sizeof text, ", %s computed",
                       wording_counted(worked, "example", "examples").text);
    print_wrapped(out, several ? "batches" : "updates", text);
    if (!isnan(summary->seconds))
        fprintf(out, "  training       %s, %s images/s\n", wording_duration(summary->seconds).text,
                wording_count(whole(summary->images_per_second)).text);
}

/* The loss of a model that says the same of all examples: every class is as likely. NaN: the classes are
 * not known. */
static double guessing_loss(const struct record *record)
{
    unsigned classes = record_classes(record);
    return classes > 1 ? elementary_logarithm(classes) : NAN;
}

static void print_training_score(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    if (isnan(summary->train.loss))
        return;
    fprintf(out, "  train loss     %.4f%s", summary->train.loss,
            wording_percent(", accuracy ", summary->train.accuracy, 2).text);
    if (summary->train.examples < record->examples)
        fprintf(out, " (mean over %s of epoch %" PRIu64 ")\n",
                wording_counted(summary->train.examples, "example", "examples").text,
                summary->train.epoch);
    else
        fprintf(out, " (mean over epoch %" PRIu64 " as trained)\n", summary->train.epoch);
    double guessing = guessing_loss(record);
    if (summary->train.loss >= NOT_LEARNED * guessing)
        fprintf(out, "                 the loss is no better than guessing (%.3f)\n", guessing);
}

void summary_print_score(FILE *out, const struct score_figures *score)
{
    const char *between = isnan(score->accuracy) ? "" : ", loss ";
    fprintf(out, "%s%s%.4f", wording_percent("", score->accuracy, 2).text, between, score->loss);
    if (!isnan(score->regularisation))
        fprintf(out, ", regularisation loss %.4f", score->regularisation);
}

static void print_test_score(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    if (summary->test_step == 0)
        return;
    fprintf(out, isnan(summary->test.accuracy) ? "  test loss      " : "  test accuracy  ");
    summary_print_score(out, &summary->test);
    if (summary->test_step == summary->step)
        fprintf(out, " (of this model)\n");
    else
        fprintf(out, " (of the model at step %s)\n", wording_count(summary->test_step).text);
}

/* What a resumed run did before is not in the figures that follow. */
static void print_session(FILE *out, const struct record *record)
{
    if (record->summary.counted_from > record->summary.session_step)
        fprintf(out,
                "  counted        from step %s on: a damaged checkpoint had what was" LINE
                "counted before, of batches, gradients, staleness, images/s\n",
                wording_count(record->summary.counted_from).text);
    if (record->summary.session_step > 0)
        fprintf(out, "  this session   from step %s on; figures of time and work are its own\n",
                wording_count(record->summary.session_step).text);
}

/* Of every (gradient, chunk). What its mean has to be, the page says, and not here: lab 2 asks for it. */
static void print_staleness(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    const struct histogram *shape = &summary->staleness.shape;
    if (isnan(record->staleness_mean))
        return;
    char text[200] = "";
    wording_append(text, sizeof text,
                   "mean %.2f, deviation %.2f, half up to %s, 99 %% up to %s, max %s",
                   record->staleness_mean, histogram_deviation(shape),
                   wording_count(histogram_quantile(shape, 0.5)).text,
                   wording_count(histogram_quantile(shape, 0.99)).text,
                   wording_counted(shape->max, "update", "updates").text);
    print_wrapped(out, "staleness", text);
    bool own_times = run_summary_longer(summary) <= PROCESSOR_BOUND; /* Not where there are none. */
    if (summary->processors > 0 && summary->workers_beside > summary->processors && !own_times)
        fprintf(out, "                 %s on %s: this is the scheduler's shape\n",
                wording_counted(summary->workers_beside, "worker", "workers").text,
                wording_counted(summary->processors, "processor", "processors").text);
}

/* Of what gradients were made from; and what locking does. */
static void print_spread(FILE *out, const struct run_spread *spread)
{
    const struct histogram *pulls = &spread->pulls, *parts = &spread->parts;
    if (pulls->count == 0)
        return;
    fprintf(out, "  spread         of a pull's chunks mean %.2f, 99 %% up to %s, max %s\n",
            histogram_mean(pulls), wording_count(histogram_quantile(pulls, 0.99)).text,
            wording_counted(pulls->max, "update", "updates").text);
    if (parts->max == 0)
        fprintf(out, "                 within a variable's part on a server 0 in all\n");
    else
        fprintf(out, "                 within a variable's part on a server mean %.2f, max %s\n",
                histogram_mean(parts), wording_count(parts->max).text);
}

static void print_gradients(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    print_staleness(out, record);
    print_spread(out, &summary->spread);
    if (summary->verdicts.applied == 0)
        return;
    char text[200] = "";
    wording_append(text, sizeof text, "%s applied, %s %s, %s duplicate, %s rejected (by chunk)",
                   wording_count(summary->verdicts.applied).text,
                   wording_count(summary->verdicts.stale).text,
                   summary->staleness.shape.count == 0 ? "too late"
                   : record->config.staleness_loses    ? "lost as too old"
                                                       : "sent back as too old",
                   wording_count(summary->verdicts.duplicate).text,
                   wording_count(summary->verdicts.rejected).text);
    print_wrapped(out, "gradients", text);
}

/* "batches apart max 2, waits 31". */
static void print_mode_figures(FILE *out, const struct mode_figures *figures)
{
    char text[MODE_FIGURES_MAX * (sizeof figures->figures[0].name + 32)] = "";
    for (uint32_t i = 0; i < figures->count; i++) {
        char name[sizeof figures->figures[0].name];
        snprintf(name, sizeof name, "%s", figures->figures[i].name);
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '_' ? ' ' : *c;
        wording_append(text, sizeof text, "%s%s %s", i == 0 ? "" : ", ", name,
                       wording_count(figures->figures[i].value).text);
    }
    if (figures->count > 0)
        print_wrapped(out, "mode", text);
}

static void print_faults(FILE *out, const struct run_faults *faults)
{
    char text[FAULTS_TEXT_MAX] = "";
    for (const struct figure_row *row = run_faults_rows(); row->size > 0; row++) {
        double count = figure_value(row, faults);
        if (row->counted != NULL && count > 0)
            wording_append(text, sizeof text, "%s%s", text[0] != '\0' ? ", " : "",
                           wording_counted((uint64_t)count, row->counted_one, row->counted).text);
    }
    if (text[0] != '\0')
        print_wrapped(out, "made good", text);
}

/* "--compute constant:30ms --slow 1:3", and whether times were as they were to be. */
static void print_controlled(FILE *out, const struct record *record)
{
    double longer = run_summary_longer(&record->summary);
    const char *const options[][2] = {{"--compute", record->config.compute},
                                      {"--slow", record->config.slow},
                                      {"--straggle", record->config.straggle},
                                      {"--pause", record->config.pause}};
    char text[sizeof record->config.compute + sizeof record->config.slow +
              sizeof record->config.straggle + sizeof record->config.pause + 50] = "";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i][1][0] != '\0')
            wording_append(text, sizeof text, "%s%s %s", text[0] != '\0' ? " " : "", options[i][0],
                           options[i][1]);
    if (text[0] != '\0')
        print_wrapped(out, "times", text);
    if (!isnan(longer))
        fprintf(out,
                "  leaf times     %.1f %% of leaves took longer to compute than they should%s\n",
                100 * longer, longer > PROCESSOR_BOUND ? ": processor-bound" : "");
}

/* "(1.2 s at the gate, 90 ms for a batch)", on a line of its own: what a person would notice. */
static void print_waits(FILE *out, const struct worker_summary *worker)
{
    static const char *const words[WAIT_COUNT] = {"for a batch", "for the slowest", "at the gate",
                                                  "at the barrier"};
    const char *before = LINE "(";
    for (enum wait i = 0; i < WAIT_COUNT; i++) {
        if (worker->waits[i] < NOTICED_SECONDS)
            continue;
        fprintf(out, "%s%s %s", before, wording_duration(worker->waits[i]).text, words[i]);
        before = ", ";
    }
    fprintf(out, "%s", before[0] == ',' ? ")" : "");
}

/* What else its time went into; how long others waited for it. */
static void print_rest(FILE *out, const struct worker_summary *worker)
{
    const struct {
        double seconds;
        const char *before, *after;
    } rest[] = {{worker->evaluate_seconds, "", " scoring"},
                {worker_summary_other(worker), "", " other"},
                {worker->awaited_seconds, "awaited for ", ""}};
    const char *between = LINE;
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        if (rest[i].seconds < NOTICED_SECONDS)
            continue;
        fprintf(out, "%s%s%s%s", between, rest[i].before, wording_duration(rest[i].seconds).text,
                rest[i].after);
        between = ", ";
    }
    fputc('\n', out);
}

static void print_workers(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    for (uint32_t i = 0; i < summary->worker_count; i++) {
        const struct worker_summary *worker = &summary->workers[i];
        if (i == WORKERS_SHOWN) {
            fprintf(out, "  ...            run.json has all %u workers\n", summary->worker_count);
            return;
        }
        char name[32];
        snprintf(name, sizeof name, "worker %u", i);
        fprintf(out, "  %-14s %s computing, %s exchanging, %s waiting", name,
                wording_duration(worker->compute_seconds).text,
                wording_duration(worker->exchange_seconds).text,
                wording_duration(worker_summary_wait(worker)).text);
        print_waits(out, worker);
        print_rest(out, worker);
    }
}

static void print_apart(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    double evaluation = isnan(summary->evaluation_seconds) ? 0 : summary->evaluation_seconds;
    double checkpoint = isnan(summary->checkpoint_seconds) ? 0 : summary->checkpoint_seconds;
    char text[160] = "";
    wording_append(text, sizeof text, "%s evaluating, %s writing checkpoints",
                   wording_duration(evaluation).text, wording_duration(checkpoint).text);
    if (summary->beside_seconds >= NOTICED_SECONDS)
        wording_append(text, sizeof text, ", %s more of that beside training",
                       wording_duration(summary->beside_seconds).text);
    print_wrapped(out, "apart", text);
}

/* "9.5 s: 1.2 s opening, 3.1 s first step", of the parts that a person would notice. */
static void print_phases(FILE *out, const struct run_phases *phases)
{
    char text[RUN_PHASE_COUNT * 40] = "";
    if (!phases->begun)
        return;
    wording_append(text, sizeof text, "%s", wording_duration(run_phases_total(phases)).text);
    const char *before = ":";
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++) {
        char name[32];
        if (run_phases_seconds(phases, i) < NOTICED_SECONDS)
            continue;
        snprintf(name, sizeof name, "%s", run_phase_name(i));
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '_' ? ' ' : *c;
        wording_append(text, sizeof text, "%s %s %s", before,
                       wording_duration(run_phases_seconds(phases, i)).text, name);
        before = ",";
    }
    print_wrapped(out, "in all", text);
}

static void print_files(FILE *out, const struct record *record)
{
    const struct run_summary *summary = &record->summary;
    static const char *const names[] = {"run.json", "events.jsonl",      "checkpoints",
                                        "record",   "model.safetensors", "logs"};
    char path[DISK_PATH_MAX + 32];
    struct stat there;
    const char *before = LINE;
    fprintf(out, "  files          %s:", record->path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", record->path, names[i]);
        if (i == 4)
            before = LINE;
        if (stat(path, &there) != 0)
            continue;
        fprintf(out, "%s%s%s", before, names[i], S_ISDIR(there.st_mode) ? "/" : "");
        before = " ";
    }
    fprintf(out, "\n");
    if (summary->record.files > 0)
        fprintf(out, "  record         %s in %s", wording_bytes(summary->record.bytes).text,
                wording_counted(summary->record.files, "file", "files").text);
    if (summary->record.files > 0 && summary->record.computations > 0)
        fprintf(out, ", %s described",
                wording_counted(summary->record.computations, "gradient", "gradients").text);
    if (summary->record.files > 0)
        fprintf(out, "\n");
    if (summary->record.ended)
        fprintf(out, "%s it ends at batch %s: this run cannot be made again\n",
                summary->record.files > 0 ? "                " : "  record        ",
                wording_count(summary->record.ends_at).text);
    if (summary->scored.missing > 0)
        fprintf(out, "  scored         %s missing in scored/: not written, or not in time\n",
                wording_counted(summary->scored.missing, "model is", "models are").text);
    if (summary->parameters_sha256[0] != '\0')
        fprintf(out, "  parameters     sha256 %s\n", summary->parameters_sha256);
    if (summary->model_sha256[0] != '\0')
        fprintf(out, "  model file     sha256 %s\n", summary->model_sha256);
}

static void print_events(FILE *out, const struct record *record)
{
    if (record->no_events.text[0] != '\0')
        fprintf(out, "  events         %s\n", record->no_events.text);
    else if (record->damaged_lines > 0)
        fprintf(
            out, "  events         without %s\n",
            wording_counted(record->damaged_lines, "line that is damaged", "lines that are damaged")
                .text);
}

void summary_print(FILE *out, const struct record *record, uint32_t restarts)
{
    fprintf(out, "%s, ", record->mode_text);
    if (!record->config.colocated)
        fprintf(out, "%s, ", wording_counted(record->servers, "server", "servers").text);
    fprintf(out, "%s", wording_counted(record->workers, "worker", "workers").text);
    if (record->config.colocated)
        fprintf(out, ", %swith a server beside it", record->workers > 1 ? "each " : "");
    fprintf(out, ": %s%s%s", record->state, record->summary.reason[0] != '\0' ? ", " : "",
            record->summary.reason);
    if (record->config.cluster[0] != '\0')
        fprintf(out, " (all seconds are virtual)");
    if (restarts > 0)
        fprintf(out, ", %s", wording_counted(restarts, "restart", "restarts").text);
    fprintf(out, "\n");
    print_session(out, record);
    print_work(out, record);
    print_training_score(out, record);
    print_test_score(out, record);
    print_gradients(out, record);
    print_mode_figures(out, &record->summary.mode_figures);
    print_faults(out, &record->summary.faults);
    print_controlled(out, record);
    print_workers(out, record);
    print_apart(out, record);
    print_phases(out, &record->summary.phases);
    print_events(out, record);
    print_files(out, record);
}
