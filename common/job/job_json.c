/* job_json.c - the fields of a declaration in the order of job.h, written and read back; what is
 * read is checked like what comes over the wire. */

#include "common/job/job_json.h"

#include <stdlib.h>
#include <string.h>

static const char *const initializer_names[INITIALIZER_COUNT] = {
    [INITIALIZER_ZEROS] = "zeros",
    [INITIALIZER_GLOROT_UNIFORM] = "glorot_uniform",
};

/* --- writing ------------------------------------------------------------------------------- */

static void write_variable(struct json_writer *writer, const struct variable *variable)
{
    json_writer_object_line(writer, NULL);
    json_writer_text(writer, "name", variable->name);
    json_writer_array(writer, "shape");
    for (uint32_t i = 0; i < variable->rank; i++)
        json_writer_u64(writer, NULL, variable->shape[i]);
    json_writer_end(writer);
    json_writer_text(writer, "initializer", initializer_names[variable->initializer]);
    json_writer_u64(writer, "fan_in", variable->fan_in);
    json_writer_u64(writer, "fan_out", variable->fan_out);
    json_writer_end(writer);
}

static void write_optimizer(struct json_writer *writer, const struct optimizer_settings *settings)
{
    json_writer_object(writer, "optimizer");
    json_writer_text(writer, "name", settings->name);
    json_writer_float(writer, "momentum", settings->momentum);
    json_writer_float(writer, "beta1", settings->beta1);
    json_writer_float(writer, "beta2", settings->beta2);
    json_writer_float(writer, "rho", settings->rho);
    json_writer_float(writer, "epsilon", settings->epsilon);
    json_writer_float(writer, "initial_accumulator", settings->initial_accumulator);
    json_writer_end(writer);
}

static void write_schedule(struct json_writer *writer, const struct schedule *schedule)
{
    json_writer_object(writer, "schedule");
    json_writer_text(writer, "kind", schedule_kind_name(schedule->kind));
    json_writer_real(writer, "learning_rate", schedule->learning_rate);
    json_writer_u64(writer, "warmup_steps", schedule->warmup_steps);
    json_writer_u64(writer, "decay_steps", schedule->decay_steps);
    json_writer_real(writer, "decay_factor", schedule->decay_factor);
    json_writer_end(writer);
}

void job_write_json(struct json_writer *writer, const char *name, const struct job *job)
{
    json_writer_object(writer, name);
    json_writer_text(writer, "mode", mode_name(job->mode));
    json_writer_bool(writer, "use_locking", job->use_locking);
    json_writer_u64(writer, "seed", job->seed);
    json_writer_text(writer, "model", job->model);
    json_writer_array(writer, "variables");
    for (uint32_t i = 0; i < job->variable_count; i++)
        write_variable(writer, &job->variables[i]);
    json_writer_end(writer);
    write_optimizer(writer, &job->optimizer);
    write_schedule(writer, &job->schedule);
    json_writer_text(writer, "data", job->data);
    json_writer_hex(writer, "data_digest", job->data_digest, DIGEST_BYTES);
    json_writer_u64(writer, "examples", job->examples);
    json_writer_u64(writer, "test_examples", job->test_examples);
    json_writer_u64(writer, "batch", job->batch);
    json_writer_u64(writer, "micro_batch", job->micro_batch);
    json_writer_u64(writer, "steps", job->steps);
    json_writer_u64(writer, "checkpoint_every", job->checkpoint_every);
    json_writer_u64(writer, "chunk_bytes", job->chunk_bytes);
    json_writer_u64(writer, "worker_count", job->worker_count);
    json_writer_array(writer, "servers");
    for (uint32_t i = 0; i < job->server_count; i++)
        json_writer_text(writer, NULL, job->servers[i]);
    json_writer_end(writer);
    json_writer_end(writer);
}

/* --- reading ------------------------------------------------------------------------------- */

static void read_initializer(struct json_fields *fields, enum initializer *initializer)
{
    const char *name = json_fields_text(fields, "initializer");
    for (int i = 0; i < INITIALIZER_COUNT; i++) {
        if (strcmp(name, initializer_names[i]) == 0) {
            *initializer = (enum initializer)i;
            return;
        }
    }
    json_fields_refuse(fields, "initializer", "is unknown");
}

static enum status read_variable(const struct json *object, const char *where,
                                 struct variable *variable, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, where, error);
    json_fields_copy(&fields, "name", variable->name, sizeof variable->name);
    const struct json *shape = json_fields_array(&fields, "shape", VARIABLE_RANK_MAX);
    variable->rank = (uint32_t)json_length(shape, "");
    for (uint32_t i = 0; i < variable->rank; i++) {
        if (!json_whole(json_item(shape, i), &variable->shape[i]))
            json_fields_refuse(&fields, "shape", "is not made of whole numbers");
    }
    read_initializer(&fields, &variable->initializer);
    variable->fan_in = json_fields_u64(&fields, "fan_in", UINT64_MAX);
    variable->fan_out = json_fields_u64(&fields, "fan_out", UINT64_MAX);
    return json_fields_end(&fields);
}

static enum status read_variables(struct job *job, const struct json *list, const char *where,
                                  struct error *error)
{
    size_t count = json_length(list, "");
    job->variables = calloc(count + 1, sizeof *job->variables);
    if (job->variables == NULL)
        return error_set(error, STATUS_MEMORY, "%.300s: no memory for its variables", where);
    job->variable_count = (uint32_t)count;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = read_variable(json_item(list, i), where, &job->variables[i], error);
    return status;
}

static enum status read_servers(struct job *job, const struct json *list, const char *where,
                                struct error *error)
{
    size_t count = json_length(list, "");
    job->servers = calloc(count + 1, sizeof *job->servers);
    if (job->servers == NULL)
        return error_set(error, STATUS_MEMORY, "%.300s: no memory for its servers", where);
    job->server_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const char *server = json_text(json_item(list, i), "");
        if (server == NULL || strlen(server) >= ADDRESS_MAX)
            return error_set(error, STATUS_INVALID, "%.300s: server %zu has no usable address",
                             where, i);
        strcpy(job->servers[i], server);
    }
    return STATUS_OK;
}

static enum status read_optimizer(struct optimizer_settings *settings, const struct json *object,
                                  const char *where, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, where, error);
    json_fields_copy(&fields, "name", settings->name, sizeof settings->name);
    settings->momentum = json_fields_float(&fields, "momentum");
    settings->beta1 = json_fields_float(&fields, "beta1");
    settings->beta2 = json_fields_float(&fields, "beta2");
    settings->rho = json_fields_float(&fields, "rho");
    settings->epsilon = json_fields_float(&fields, "epsilon");
    settings->initial_accumulator = json_fields_float(&fields, "initial_accumulator");
    return json_fields_end(&fields);
}

static enum status read_schedule(struct schedule *schedule, const struct json *object,
                                 const char *where, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, where, error);
    const char *kind = json_fields_text(&fields, "kind");
    if (schedule_kind_parse(kind, &schedule->kind) != STATUS_OK)
        json_fields_refuse(&fields, "kind", "is unknown");
    schedule->learning_rate = json_fields_real(&fields, "learning_rate");
    schedule->warmup_steps = json_fields_u64(&fields, "warmup_steps", UINT64_MAX);
    schedule->decay_steps = json_fields_u64(&fields, "decay_steps", UINT64_MAX);
    schedule->decay_factor = json_fields_real(&fields, "decay_factor");
    return json_fields_end(&fields);
}

/* The members that are objects or lists themselves, still to be read. */
struct nested {
    const struct json *variables, *optimizer, *schedule, *servers;
};

static enum status read_fields(struct job *job, const struct json *object, const char *where,
                               struct nested *nested, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, where, error);
    if (mode_parse(json_fields_text(&fields, "mode"), &job->mode) != STATUS_OK)
        json_fields_refuse(&fields, "mode", "is unknown");
    job->use_locking = json_fields_bool(&fields, "use_locking");
    job->seed = json_fields_u64(&fields, "seed", UINT64_MAX);
    json_fields_copy(&fields, "model", job->model, sizeof job->model);
    nested->variables = json_fields_array(&fields, "variables", VARIABLE_COUNT_MAX);
    nested->optimizer = json_fields_object(&fields, "optimizer");
    nested->schedule = json_fields_object(&fields, "schedule");
    json_fields_copy(&fields, "data", job->data, sizeof job->data);
    json_fields_hex(&fields, "data_digest", job->data_digest, DIGEST_BYTES);
    job->examples = json_fields_u64(&fields, "examples", UINT64_MAX);
    job->test_examples = json_fields_u64(&fields, "test_examples", UINT64_MAX);
    job->batch = (uint32_t)json_fields_u64(&fields, "batch", UINT32_MAX);
    job->micro_batch = (uint32_t)json_fields_u64(&fields, "micro_batch", UINT32_MAX);
    job->steps = json_fields_u64(&fields, "steps", UINT64_MAX);
    job->checkpoint_every = json_fields_u64(&fields, "checkpoint_every", UINT64_MAX);
    job->chunk_bytes = json_fields_u64(&fields, "chunk_bytes", UINT64_MAX);
    job->worker_count = (uint32_t)json_fields_u64(&fields, "worker_count", UINT32_MAX);
    nested->servers = json_fields_array(&fields, "servers", JOB_SERVERS_MAX);
    return json_fields_end(&fields);
}

static enum status check(const struct job *job, const char *where, struct error *error)
{
    struct error reason;
    enum status status = job_check(job, &reason);
    if (status != STATUS_OK)
        error_set(error, status, "%.200s: %.300s", where, reason.text);
    return status;
}

enum status job_read_json(struct job *job, const struct json *object, const char *where,
                          struct error *error)
{
    memset(job, 0, sizeof *job);
    struct nested nested;
    enum status status = read_fields(job, object, where, &nested, error);
    if (status == STATUS_OK)
        status = read_variables(job, nested.variables, where, error);
    if (status == STATUS_OK)
        status = read_optimizer(&job->optimizer, nested.optimizer, where, error);
    if (status == STATUS_OK)
        status = read_schedule(&job->schedule, nested.schedule, where, error);
    if (status == STATUS_OK)
        status = read_servers(job, nested.servers, where, error);
    if (status == STATUS_OK)
        status = check(job, where, error);
    if (status != STATUS_OK)
        job_free(job);
    return status;
}
