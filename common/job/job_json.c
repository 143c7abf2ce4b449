/* job_json.c - the fields of a declaration in the order of job.h, written and read back, with
 * the same checks as on the wire. */

#include "common/job/job_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/job_fields.h"

#define OBJECT_NAME_MAX 32

/* --- writing ------------------------------------------------------------------------------- */

static void write_variable(struct json_writer *writer, const struct variable *variable)
{
    json_writer_object_line(writer, NULL);
    json_writer_text(writer, "name", variable->name);
    json_writer_array(writer, "shape");
    for (uint32_t i = 0; i < variable->rank; i++)
        json_writer_u64(writer, NULL, variable->shape[i]);
    json_writer_end(writer);
    json_writer_text(writer, "initializer", initializer_name(variable->initializer));
    json_writer_u64(writer, "fan_in", variable->fan_in);
    json_writer_u64(writer, "fan_out", variable->fan_out);
    if (variable->average > 0.0f)
        json_writer_real(writer, "average", (double)variable->average);
    json_writer_end(writer);
}

static void write_variables(struct json_writer *writer, const char *name, const struct job *job)
{
    json_writer_array(writer, name);
    for (uint32_t i = 0; i < job->variable_count; i++)
        write_variable(writer, &job->variables[i]);
    json_writer_end(writer);
}

static void write_servers(struct json_writer *writer, const char *name, const struct job *job)
{
    json_writer_array(writer, name);
    for (uint32_t i = 0; i < job->server_count; i++)
        json_writer_text(writer, NULL, job->servers[i]);
    json_writer_end(writer);
}

static void write_field(struct json_writer *writer, const char *name, const struct job_field *field,
                        const struct job *job)
{
    const void *at = job_field_at(field, job);
    switch (field->kind) {
    case JOB_FLAG:
        json_writer_bool(writer, name, *(const bool *)at);
        return;
    case JOB_U32:
    case JOB_U64:
    case JOB_BYTES:
        json_writer_u64(writer, name, job_field_whole(field, job));
        return;
    case JOB_FLOAT:
    case JOB_FRACTION:
        json_writer_float(writer, name, *(const float *)at);
        return;
    case JOB_REAL:
    case JOB_RATE:
        json_writer_real(writer, name, *(const double *)at);
        return;
    case JOB_WORD:
        json_writer_text(writer, name, field->word((unsigned)job_field_whole(field, job)));
        return;
    case JOB_NAME:
    case JOB_TEXT:
        json_writer_text(writer, name, at);
        return;
    case JOB_DIGEST:
        json_writer_hex(writer, name, at, DIGEST_BYTES);
        return;
    case JOB_VARIABLES:
        write_variables(writer, name, job);
        return;
    case JOB_SERVERS:
        write_servers(writer, name, job);
        return;
    }
}

/* The rows of one object stand together: object and length are of the open one. */
struct nesting {
    const char *object;
    size_t length;
};

static void enter(struct json_writer *writer, struct nesting *open, const char *object,
                  size_t length)
{
    if (length == open->length && (length == 0 || memcmp(object, open->object, length) == 0))
        return;
    if (open->length > 0)
        json_writer_end(writer);
    *open = (struct nesting){object, length};
    if (length > 0) {
        char name[OBJECT_NAME_MAX];
        snprintf(name, sizeof name, "%.*s", (int)length, object);
        json_writer_object(writer, name);
    }
}

void job_write_json(struct json_writer *writer, const char *name, const struct job *job)
{
    struct nesting open = {NULL, 0};
    json_writer_object(writer, name);
    for (size_t i = 0; i < job_field_count; i++) {
        const struct job_field *field = &job_fields[i];
        size_t length;
        const char *own = job_field_name(field, &length);
        if (field->flags & JOB_LATER && job_field_is_zero(field, job))
            continue;
        enter(writer, &open, field->member, length);
        write_field(writer, own, field, job);
    }
    enter(writer, &open, NULL, 0);
    json_writer_end(writer);
}

/* --- reading ------------------------------------------------------------------------------- */

static void read_initializer(struct json_fields *fields, enum initializer *initializer)
{
    const char *name = json_fields_text(fields, "initializer");
    for (int i = 0; i < INITIALIZER_COUNT; i++) {
        if (strcmp(name, initializer_name((enum initializer)i)) == 0) {
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
    for (uint32_t i = 0; i < variable->rank; i++)
        if (!json_whole(json_item(shape, i), &variable->shape[i]))
            json_fields_refuse(&fields, "shape", "is not made of whole numbers");
    read_initializer(&fields, &variable->initializer);
    variable->fan_in = json_fields_u64(&fields, "fan_in", UINT64_MAX);
    variable->fan_out = json_fields_u64(&fields, "fan_out", UINT64_MAX);
    if (json_at(object, "average") != NULL)
        variable->average = json_fields_float(&fields, "average");
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

static void read_word(struct json_fields *fields, const char *name, const struct job_field *field,
                      struct job *job)
{
    uint64_t number;
    if (job_field_number(field, json_fields_text(fields, name), &number) == STATUS_OK)
        job_field_set_whole(field, job, number);
    else
        json_fields_refuse(fields, name, "is unknown");
}

/* A list is read on the spot; its fault is the object's first failure. */
static void read_list(struct json_fields *fields, const char *name, const struct job_field *field,
                      struct job *job)
{
    const struct json *list = json_fields_array(fields, name, (size_t)field->most);
    if (fields->status != STATUS_OK)
        return;
    fields->status = field->kind == JOB_VARIABLES
                         ? read_variables(job, list, fields->where, fields->error)
                         : read_servers(job, list, fields->where, fields->error);
}

static void read_field(struct json_fields *fields, const char *name, const struct job_field *field,
                       struct job *job)
{
    void *at = job_field_in(field, job);
    switch (field->kind) {
    case JOB_FLAG:
        *(bool *)at = json_fields_bool(fields, name);
        return;
    case JOB_U32:
        *(uint32_t *)at = (uint32_t)json_fields_u64(fields, name, UINT32_MAX);
        return;
    case JOB_U64:
    case JOB_BYTES:
        *(uint64_t *)at = json_fields_u64(fields, name, UINT64_MAX);
        return;
    case JOB_FLOAT:
    case JOB_FRACTION:
        *(float *)at = json_fields_float(fields, name);
        return;
    case JOB_REAL:
    case JOB_RATE:
        *(double *)at = json_fields_real(fields, name);
        return;
    case JOB_WORD:
        read_word(fields, name, field, job);
        return;
    case JOB_NAME:
    case JOB_TEXT:
        json_fields_copy(fields, name, at, field->size);
        return;
    case JOB_DIGEST:
        json_fields_hex(fields, name, at, DIGEST_BYTES);
        return;
    case JOB_VARIABLES:
    case JOB_SERVERS:
        read_list(fields, name, field, job);
        return;
    }
}

/* The rows from *index on that lie in one object, whose name their members begin with. */
static enum status read_object(struct job *job, const struct json *object, size_t length,
                               size_t *index, const char *where, struct error *error);

/* The object of the row at *index, and all rows of it. */
static void read_nested(struct json_fields *fields, struct job *job, size_t length, size_t *index)
{
    char name[OBJECT_NAME_MAX];
    snprintf(name, sizeof name, "%.*s", (int)length, job_fields[*index].member);
    const struct json *object = json_fields_object(fields, name);
    if (fields->status == STATUS_OK)
        fields->status = read_object(job, object, length, index, fields->where, fields->error);
}

static enum status read_object(struct job *job, const struct json *object, size_t length,
                               size_t *index, const char *where, struct error *error)
{
    const char *of = job_fields[*index].member;
    struct json_fields fields;
    json_fields_init(&fields, object, where, error);
    while (*index < job_field_count && fields.status == STATUS_OK) {
        const struct job_field *field = &job_fields[*index];
        size_t inner;
        const char *name = job_field_name(field, &inner);
        if (length > 0 && (inner != length || memcmp(field->member, of, length) != 0))
            break;
        if (inner != length) {
            read_nested(&fields, job, inner, index);
            continue;
        }
        ++*index;
        if (!(field->flags & JOB_LATER) || json_at(object, name) != NULL)
            read_field(&fields, name, field, job);
    }
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

/* Of an older program: read without this member it would be another job. */
static enum status refuse_requeue(const struct json *object, const char *where, struct error *error)
{
    const char *dropped = json_text(object, "dropped");
    if (dropped == NULL || strcmp(dropped, "requeue") != 0)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%.200s: declared with --dropped requeue, which is no more: what a step does "
                     "not wait for is lost for the epoch; train it anew without that option",
                     where);
}

enum status job_read_json(struct job *job, const struct json *object, const char *where,
                          struct error *error)
{
    memset(job, 0, sizeof *job);
    size_t index = 0;
    if (refuse_requeue(object, where, error) != STATUS_OK)
        return STATUS_INVALID;
    enum status status = read_object(job, object, 0, &index, where, error);
    if (status == STATUS_OK)
        status = check(job, where, error);
    if (status != STATUS_OK)
        job_free(job);
    return status;
}
