/* syncopate inspect PATH: prints the content of a checkpoint, a model file, a run directory or a
 * comparison, and the status of a running job at host:port. It changes nothing. */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/base/wording.h"
#include "common/keys/keys.h"
#include "common/options/options.h"
#include "common/process/terminal.h"
#include "common/progress/record.h"
#include "common/progress/summary.h"
#include "common/store/checkpoint.h"
#include "common/wire/message.h"
#include "deploy/command/command.h"
#include "deploy/inspect/inspect_address.h"
#include "deploy/inspect/inspect_comparison.h"
#include "deploy/inspect/inspect_facts.h"
#include "deploy/inspect/inspect_json.h"
#include "deploy/inspect/probe.h"
#include "deploy/simulate/account.h"

#define REDRAW_SECONDS 1.0  /* Between looks, on a terminal ... */
#define LINE_SECONDS   10.0 /* ... and elsewhere. */

/* --- variables ------------------------------------------------------------------------------- */

static enum status print_variables(const struct variable *variables, uint32_t count,
                                   const float *values, struct error *error)
{
    uint64_t *offsets = calloc((size_t)count + 1, sizeof *offsets), parameters = 0;
    if (offsets == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    variables_layout(variables, count, offsets);
    printf("  %-16s %-14s %10s %11s %11s %11s\n", "variable", "shape", "values", "norm", "min",
           "max");
    for (uint32_t i = 0; i < count; i++) {
        char shape[VARIABLE_SHAPE_MAX];
        uint64_t elements = variable_elements(&variables[i]);
        struct statistics statistics = statistics_of(values + offsets[i], elements);
        parameters += elements;
        printf("  %-16s %-14s %10s %11.6g %11.6g %11.6g\n", variables[i].name,
               variable_shape(&variables[i], shape), wording_count(elements).text, statistics.norm,
               statistics.min, statistics.max);
        if (statistics.not_finite > 0)
            printf("  %-16s %s not finite\n", "",
                   wording_counted(statistics.not_finite, "value is", "values are").text);
    }
    char sha256[65];
    parameters_sha256(variables, count, values, sha256);
    printf("  parameters   %s\n  sha256       %s\n", wording_count(parameters).text, sha256);
    free(offsets);
    return STATUS_OK;
}

/* --- a checkpoint ---------------------------------------------------------------------------- */

static void print_job(const struct job *job)
{
    printf("  job          %s%s, seed %" PRIu64 ", %s an update in leaves of %u\n",
           job_mode_text(job).text, job->use_locking ? " with locking" : "", job->seed,
           wording_counted(job->batch, "example", "examples").text, job->micro_batch);
    wording_wrap(stdout, job->model, printf("  model        "), 15);
    printf("  data         %s\n", job->data);
    printf("  optimizer    %s, learning rate %g, schedule %s\n", job->optimizer.name,
           job->schedule.learning_rate, schedule_kind_name(job->schedule.kind));
    if (job->loss_scale != LOSS_SCALE_EXAMPLES)
        printf("  loss scale   %s\n", loss_scale_numbered(job->loss_scale));
    if (job->l2 > 0.0f)
        printf("  l2           %g, on kernels\n", (double)job->l2);
}

static void print_parts(const char *path, const struct manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        const struct checkpoint_part *part = &manifest->parts[i];
        const char *fault = inspect_part_fault(path, part);
        printf("  part         %s  %s  %s\n", part->name, wording_bytes(part->bytes).text,
               fault != NULL ? fault : "whole");
    }
}

static void print_slots(const struct checkpoint_reader *reader)
{
    struct slots slots = job_slots(&reader->manifest.job);
    for (uint32_t i = 1; i < reader->array_count; i++) {
        struct statistics statistics = statistics_of(reader->arrays[i], reader->elements);
        printf("  %-37s %12s %12.6g %12.6g %12.6g\n", slots.names[i - 1], "slot", statistics.norm,
               statistics.min, statistics.max);
    }
}

static enum status inspect_values(const char *path, struct error *error)
{
    struct checkpoint_reader reader = {0};
    enum status status = checkpoint_open(&reader, &disk_posix, path, error);
    if (status != STATUS_OK)
        return status;
    const struct job *job = &reader.manifest.job;
    status = print_variables(job->variables, job->variable_count, reader.arrays[0], error);
    print_slots(&reader);
    checkpoint_close(&reader);
    return status;
}

static enum status inspect_checkpoint(const char *path, struct error *error)
{
    char file[DISK_PATH_MAX + 32];
    struct manifest manifest = {0};
    snprintf(file, sizeof file, "%s/manifest.json", path);
    enum status status = manifest_read(&manifest, &disk_posix, file, error);
    if (status != STATUS_OK)
        return status;
    printf("checkpoint %s\n", path);
    printf("  step         %s of %s, run %016" PRIx64 "\n", wording_count(manifest.step).text,
           wording_count(manifest.job.steps).text, manifest.run_id);
    print_job(&manifest.job);
    print_parts(path, &manifest);
    manifest_free(&manifest);
    return inspect_values(path, error);
}

/* --- a model file ---------------------------------------------------------------------------- */

static enum status inspect_model(const char *path, struct error *error)
{
    struct model_file file = {0};
    enum status status = model_file_open(&file, &disk_posix, path, error);
    if (status != STATUS_OK)
        return status;
    printf("model %s\n", path);
    wording_wrap(stdout, file.model, printf("  model        "), 15);
    status = print_variables(file.variables, file.variable_count, file.parameters, error);
    model_file_close(&file);
    return status;
}

/* --- a run directory ------------------------------------------------------------------------- */

static void print_latest(const struct record *record)
{
    if (record->point_count > 0) {
        const struct record_point *point = &record->points[record->point_count - 1];
        double speed = point->images_per_second;
        char text[256];
        int length = snprintf(
            text, sizeof text, "epoch %.2f, step %s, loss %.4f%s of the epoch so far", point->epoch,
            wording_count(point->step > 0 ? (uint64_t)point->step : 0).text, point->epoch_loss,
            wording_percent(", accuracy ", point->epoch_accuracy, 1).text);
        if (speed > 0) /* A window without duration has none. */
            snprintf(text + length, sizeof text - (size_t)length, ", %s images/s",
                     wording_count((uint64_t)speed).text);
        wording_wrap(stdout, text, printf("  latest         "), 17);
    }
    if (record->window_count > 0) {
        char text[RUN_WINDOW_TEXT_MAX];
        size_t emphasis;
        run_window_describe(&record->windows[record->window_count - 1].window, text, &emphasis);
        wording_wrap(stdout, text, printf("  window         "), 17);
    }
    for (size_t i = 0; i < record->evaluation_count; i++)
        printf("  evaluation     epoch %.4g, test loss %.4f%s\n", record->evaluations[i].epoch,
               record->evaluations[i].test.loss,
               wording_percent(", test accuracy ", record->evaluations[i].test.accuracy, 2).text);
}

static void print_checkpoints(const char *path, const struct record *record)
{
    uint64_t *steps;
    size_t count = inspect_list(path, &steps);
    bool all = strcmp(record->keep, "all") == 0;
    printf("  checkpoints    %s", count == 0 ? "none yet" : wording_count(count).text);
    if (record->keep[0] != '\0')
        printf(", %s%s to be kept", all ? "" : "the newest ", record->keep);
    printf("\n");
    for (size_t i = 0; i < count; i++) {
        struct checkpoint_facts facts;
        inspect_glance(&facts, path, steps[i]);
        if (facts.fault.text[0] != '\0')
            printf("  checkpoint     %s: %s\n", facts.path, facts.fault.text);
        else
            printf("  checkpoint     %s, %s, %s\n", facts.path,
                   wording_counted(facts.parts, "part", "parts").text,
                   wording_bytes(facts.bytes).text);
    }
    free(steps);
}

/* Of a virtual run: the planned failures, and the bottleneck. */
static void print_account(const char *path)
{
    struct json *account = account_read(path);
    if (account != NULL)
        account_print(stdout, account);
    json_release(&account);
}

static enum status inspect_run(const char *path, struct error *error)
{
    struct record record;
    enum status status = record_read(&record, path, error);
    if (status == STATUS_OK) {
        printf("run %s\n", path);
        wording_wrap(stdout, record.model, printf("  model          "), 17);
        printf("  data           %s, seed %" PRIu64 "\n", record.data, record.seed);
        printf("  optimizer      %s, learning rate %g\n", record.optimizer, record.learning_rate);
        summary_print(stdout, &record, 0);
        print_account(path);
        print_latest(&record);
        print_checkpoints(path, &record);
    }
    record_free(&record);
    return status;
}

/* --- which of them --------------------------------------------------------------------------- */

static bool holds(const char *directory, const char *name)
{
    char path[DISK_PATH_MAX + 32];
    struct stat there;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return lstat(path, &there) == 0; /* For a dangling link, reading it reports the error. */
}

static bool is_address(const char *text)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    return address_split(text, host, &port) && host[0] != '\0' && strchr(host, '/') == NULL;
}

/* There is no such path here, and it is no host:port either. */
static bool is_meant_as_address(const char *text)
{
    return strchr(text, ':') != NULL && strchr(text, '/') == NULL;
}

static int refuse_address(const char *text, struct error *error)
{
    error_set(error, STATUS_INVALID,
              "'%.300s' is neither a path here nor host:port, with a port up to 65535", text);
    return EXIT_USAGE;
}

enum inspected { NOTHING, MODEL, CHECKPOINT, RUN, COMPARISON };

static enum inspected what_is(const char *path, struct error *error)
{
    struct stat there;
    if (stat(path, &there) != 0) {
        error_set(error, STATUS_NOT_FOUND, "%.300s: %s%s", path, strerror(errno),
                  strchr(path, '/') == NULL ? " (a running job is its server 0's host:port)" : "");
        return NOTHING;
    }
    if (!S_ISDIR(there.st_mode))
        return MODEL;
    if (holds(path, "manifest.json"))
        return CHECKPOINT;
    if (holds(path, "run.json"))
        return RUN;
    if (inspect_is_comparison(path))
        return COMPARISON;
    error_set(error, STATUS_INVALID,
              "%.300s: is no run (no run.json), no comparison with a run that is done (no "
              "compare.json), and no complete checkpoint (no manifest.json)",
              path);
    return NOTHING;
}

static enum status print_text(enum inspected what, const char *path, struct error *error)
{
    return what == MODEL        ? inspect_model(path, error)
           : what == CHECKPOINT ? inspect_checkpoint(path, error)
           : what == COMPARISON ? inspect_comparison(stdout, path, error)
                                : inspect_run(path, error);
}

static enum status print_json(enum inspected what, const char *path, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    enum status status = what == MODEL        ? inspect_json_model(&writer, path, error)
                         : what == CHECKPOINT ? inspect_json_checkpoint(&writer, path, error)
                         : what == COMPARISON ? inspect_json_comparison(&writer, path, error)
                                              : inspect_json_run(&writer, path, error);
    if (status == STATUS_OK)
        return command_print_json(&writer, error);
    json_writer_free(&writer);
    return status;
}

static int inspect_path(const char *path, const struct inspect_style *style, struct error *error)
{
    enum inspected what = what_is(path, error);
    if (what == NOTHING)
        return command_exit_code(error->status);
    if (style->watch) {
        error_set(
            error, STATUS_INVALID,
            "--watch is for host:port of server 0; 'syncopate serve' shows a folder as it grows");
        return EXIT_USAGE;
    }
    return command_exit_code(style->json ? print_json(what, path, error)
                                         : print_text(what, path, error));
}

static int probe_server(const struct options *options, const char *address, const struct keys *keys,
                        struct error *error)
{
    char text[80];
    int code = probe_ask(address, keys, options->ready, text, sizeof text, error);
    if (code == EXIT_DONE && !options->quiet)
        printf("%s\n", text);
    return code;
}

static int ask(const struct options *options, const char *address, const struct keys *keys,
               const struct inspect_style *style, struct error *error)
{
    return options->alive || options->ready ? probe_server(options, address, keys, error)
                                            : inspect_address(address, keys, style, error);
}

/* The certificate to use. A probe runs beside a server, where the observer's may be missing: then
 * it is the servers', in path. */
static const char *find_certificate(const struct options *options, char path[DISK_PATH_MAX])
{
    if (options->certificate != NULL || (!options->alive && !options->ready))
        return options->certificate;
    snprintf(path, DISK_PATH_MAX, "%s/observer.key_secret", options->keys);
    if (access(path, F_OK) == 0)
        return NULL;
    snprintf(path, DISK_PATH_MAX, "%s/servers.key_secret", options->keys);
    return access(path, F_OK) == 0 ? path : NULL;
}

static int inspect_job(const struct options *options, const struct inspect_style *style,
                       struct error *error)
{
    struct keys keys;
    char path[DISK_PATH_MAX];
    const char *address = address_plain(options->path);
    if (options->keys == NULL)
        return ask(options, address, NULL, style, error);
    enum status status =
        keys_open(&keys, options->keys, find_certificate(options, path), ROLE_OBSERVER, 0, error);
    if (status != STATUS_OK)
        return keys_exit_code(status);
    int code = ask(options, address, &keys, style, error);
    keys_close(&keys);
    return code;
}

/* Looks on a terminal are cheap; a line each second fills a file. */
static struct inspect_style style_of(const struct options *options)
{
    bool redraw = terminal_can_redraw(stdout) && !options->json;
    return (struct inspect_style){
        .json = options->json,
        .watch = options->watch,
        .redraw = redraw,
        .every = isnan(options->log_every) ? (redraw ? REDRAW_SECONDS : LINE_SECONDS)
                                           : options->log_every,
    };
}

int command_inspect(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct stat there;
    struct inspect_style style = style_of(options);
    bool here = stat(options->path, &there) == 0;
    if (!here && is_address(options->path))
        return inspect_job(options, &style, error);
    if (!here && is_meant_as_address(options->path))
        return refuse_address(options->path, error);
    if (options->alive || options->ready) {
        error_set(error, STATUS_INVALID, "--alive and --ready are for a server's host:port");
        return EXIT_USAGE;
    }
    return inspect_path(options->path, &style, error);
}
