/* inspect_json.c - writes members in the order in which deploy/RUNS.md lists them. */

#include "deploy/inspect/inspect_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file/json.h"
#include "common/job/compensation.h"
#include "common/progress/record.h"
#include "common/store/checkpoint.h"
#include "deploy/inspect/inspect_facts.h"
#include "deploy/simulate/account.h"

#define RUN_JSON_BYTES_MAX (16u << 20)

/* --- variables ------------------------------------------------------------------------------- */

static void write_statistics(struct json_writer *writer, const float *values, uint64_t count)
{
    struct statistics statistics = statistics_of(values, count);
    json_writer_real(writer, "norm", statistics.norm);
    /* Without values it is infinite, and written as null. */
    json_writer_real(writer, "min", statistics.min);
    json_writer_real(writer, "max", statistics.max);
    json_writer_u64(writer, "not_finite", statistics.not_finite);
}

static void write_variable(struct json_writer *writer, const struct variable *variable,
                           const float *values)
{
    json_writer_object(writer, NULL);
    json_writer_text(writer, "name", variable->name);
    json_writer_array_line(writer, "shape");
    for (uint32_t i = 0; i < variable->rank; i++)
        json_writer_u64(writer, NULL, variable->shape[i]);
    json_writer_end(writer);
    json_writer_u64(writer, "values", variable_elements(variable));
    write_statistics(writer, values, variable_elements(variable));
    json_writer_end(writer);
}

static enum status write_variables(struct json_writer *writer, const struct variable *variables,
                                   uint32_t count, const float *values, struct error *error)
{
    char sha256[65];
    uint64_t *offsets = calloc((size_t)count + 1, sizeof *offsets);
    if (offsets == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    variables_layout(variables, count, offsets);
    parameters_sha256(variables, count, values, sha256);
    json_writer_u64(writer, "parameters", variables_elements(variables, count));
    json_writer_text(writer, "parameters_sha256", sha256);
    json_writer_array(writer, "variables");
    for (uint32_t i = 0; i < count; i++)
        write_variable(writer, &variables[i], values + offsets[i]);
    json_writer_end(writer);
    free(offsets);
    return STATUS_OK;
}

enum status inspect_json_model(struct json_writer *writer, const char *path, struct error *error)
{
    struct model_file file = {0};
    enum status status = model_file_open(&file, &disk_posix, path, error);
    if (status != STATUS_OK)
        return status;
    json_writer_object(writer, NULL);
    json_writer_text(writer, "kind", "model");
    json_writer_text(writer, "path", path);
    json_writer_text(writer, "model", file.model);
    status = write_variables(writer, file.variables, file.variable_count, file.parameters, error);
    json_writer_end(writer);
    model_file_close(&file);
    return status;
}

/* --- a checkpoint ---------------------------------------------------------------------------- */

static void write_job(struct json_writer *writer, const struct job *job)
{
    json_writer_text(writer, "mode", job_mode_text(job).text);
    json_writer_bool(writer, "use_locking", job->use_locking);
    if (job->staleness_rate != STALENESS_RATE_NONE)
        json_writer_text(writer, "staleness_rate", staleness_rate_numbered(job->staleness_rate));
    if (job->delay_compensation > 0)
        json_writer_text(writer, "delay_compensation", compensation_text(job).text);
    if (job->max_staleness > 0)
        json_writer_text(writer, "max_staleness", job_max_staleness_text(job).text);
    if (job_accumulates(job))
        json_writer_u64(writer, "accumulate", job->accumulate);
    if (job->loss_scale != LOSS_SCALE_EXAMPLES)
        json_writer_text(writer, "loss_scale", loss_scale_numbered(job->loss_scale));
    if (job->l2 > 0.0f)
        json_writer_real(writer, "l2", (double)job->l2);
    json_writer_u64(writer, "seed", job->seed);
    json_writer_u64(writer, "global_batch", job->batch);
    json_writer_u64(writer, "micro_batch", job->micro_batch);
    json_writer_text(writer, "model", job->model);
    json_writer_text(writer, "data", job->data);
    json_writer_text(writer, "optimizer", job->optimizer.name);
    json_writer_real(writer, "learning_rate", job->schedule.learning_rate);
    json_writer_text(writer, "schedule", schedule_kind_name(job->schedule.kind));
}

static void write_parts(struct json_writer *writer, const char *path,
                        const struct manifest *manifest)
{
    json_writer_array(writer, "parts");
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        const struct checkpoint_part *part = &manifest->parts[i];
        json_writer_object(writer, NULL);
        json_writer_text(writer, "name", part->name);
        json_writer_u64(writer, "bytes", part->bytes);
        json_writer_text(writer, "fault", inspect_part_fault(path, part));
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

static void write_slots(struct json_writer *writer, const struct checkpoint_reader *reader)
{
    struct slots slots = job_slots(&reader->manifest.job);
    json_writer_array(writer, "slots");
    for (uint32_t i = 1; i < reader->array_count; i++) {
        json_writer_object(writer, NULL);
        json_writer_text(writer, "name", slots.names[i - 1]);
        write_statistics(writer, reader->arrays[i], reader->elements);
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

/* A damaged checkpoint is an error here, too: its values are meaningless. */
enum status inspect_json_checkpoint(struct json_writer *writer, const char *path,
                                    struct error *error)
{
    struct checkpoint_reader reader = {0};
    enum status status = checkpoint_open(&reader, &disk_posix, path, error);
    if (status != STATUS_OK)
        return status;
    const struct manifest *manifest = &reader.manifest;
    json_writer_object(writer, NULL);
    json_writer_text(writer, "kind", "checkpoint");
    json_writer_text(writer, "path", path);
    json_writer_u64(writer, "step", manifest->step);
    json_writer_u64(writer, "steps", manifest->job.steps);
    json_writer_id(writer, "run_id", manifest->run_id);
    write_job(writer, &manifest->job);
    write_parts(writer, path, manifest);
    status = write_variables(writer, manifest->job.variables, manifest->job.variable_count,
                             reader.arrays[0], error);
    write_slots(writer, &reader);
    json_writer_end(writer);
    checkpoint_close(&reader);
    return status;
}

/* --- a run directory ------------------------------------------------------------------------- */

static void write_latest(struct json_writer *writer, const struct record *record)
{
    size_t count = record->point_count;
    figures_object(writer, "latest", record_point_rows(),
                   count > 0 ? &record->points[count - 1] : NULL);
}

static void write_evaluations(struct json_writer *writer, const struct record *record)
{
    json_writer_array(writer, "evaluations");
    for (size_t i = 0; i < record->evaluation_count; i++)
        figures_object(writer, NULL, record_evaluation_rows(), &record->evaluations[i]);
    json_writer_end(writer);
}

static void write_windows(struct json_writer *writer, const struct record *record)
{
    json_writer_array(writer, "windows");
    for (size_t i = 0; i < record->window_count; i++)
        figures_object(writer, NULL, run_window_rows(), &record->windows[i].window);
    json_writer_end(writer);
}

/* The content of virtual.json, if there is one. */
static void write_account(struct json_writer *writer, const char *path)
{
    struct json *account = account_read(path);
    if (account != NULL)
        json_write(account, writer, "virtual_account");
    else
        json_writer_null(writer, "virtual_account");
    json_release(&account);
}

static void write_checkpoints(struct json_writer *writer, const char *path)
{
    uint64_t *steps;
    size_t count = inspect_list(path, &steps);
    json_writer_array(writer, "checkpoints");
    for (size_t i = 0; i < count; i++) {
        struct checkpoint_facts facts;
        inspect_glance(&facts, path, steps[i]);
        json_writer_object(writer, NULL);
        json_writer_u64(writer, "step", steps[i]);
        json_writer_text(writer, "path", facts.path);
        json_writer_u64(writer, "parts", facts.parts);
        json_writer_u64(writer, "bytes", facts.bytes);
        json_writer_text(writer, "fault", facts.fault.text[0] != '\0' ? facts.fault.text : NULL);
        json_writer_end(writer);
    }
    json_writer_end(writer);
    free(steps);
}

/* run.json with the later records of the run. */
enum status inspect_json_run(struct json_writer *writer, const char *path, struct error *error)
{
    char file[DISK_PATH_MAX + 16];
    struct record record;
    struct json *root = NULL;
    struct json_member member = {0};
    enum status status = record_read(&record, path, error);
    snprintf(file, sizeof file, "%s/run.json", path);
    if (status == STATUS_OK)
        status = json_read_file(&disk_posix, file, RUN_JSON_BYTES_MAX, &root, error);
    if (status == STATUS_OK) {
        json_writer_object(writer, NULL);
        json_writer_text(writer, "kind", "run");
        json_writer_text(writer, "path", path);
        write_latest(writer, &record);
        write_evaluations(writer, &record);
        write_windows(writer, &record);
        write_checkpoints(writer, path);
        write_account(writer, path);
        while (json_next_member(root, &member))
            json_write(member.value, writer, member.name);
        json_writer_end(writer);
    }
    json_release(&root);
    record_free(&record);
    return status;
}
