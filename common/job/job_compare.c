/* job_compare.c - two declarations, field by field by their rows. */

#include <stdio.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/wording.h"
#include "common/job/job_fields.h"

#define VALUE_TEXT_MAX 192 /* One side's value in a message, so that both fit. */

struct sides {
    const char *ours, *theirs;
    struct error *error;
};

static enum status differ(const struct sides *sides, const char *what, const char *a, const char *b)
{
    return error_set(sides->error, STATUS_MISMATCH, "%s: %s in %s, %s in %s", what, a, sides->ours,
                     b, sides->theirs);
}

/* No bound is the greatest number. */
static void show_count(char out[24], uint64_t count)
{
    if (count == UINT64_MAX)
        snprintf(out, 24, "inf");
    else
        snprintf(out, 24, "%llu", (unsigned long long)count);
}

static enum status compare_counts(const struct sides *sides, const char *what, uint64_t a,
                                  uint64_t b)
{
    if (a == b)
        return STATUS_OK;
    char a_text[24], b_text[24];
    show_count(a_text, a);
    show_count(b_text, b);
    return differ(sides, what, a_text, b_text);
}

/* The first layer (or word) that differs, so that long lists still show the difference. */
static size_t difference_start(const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] != '\0' && a[at] == b[at])
        at++;
    while (at > 0 && a[at - 1] != ',')
        at--;
    return at;
}

static void excerpt(char out[VALUE_TEXT_MAX], const char *text, size_t start)
{
    const char *dots = start > 0 ? "..." : "";
    snprintf(out, VALUE_TEXT_MAX, "'%s%.*s%s'", dots, VALUE_TEXT_MAX / 2, text + start,
             strlen(text + start) > VALUE_TEXT_MAX / 2 ? "..." : "");
}

static enum status compare_texts(const struct sides *sides, const char *what, const char *a,
                                 const char *b)
{
    if (strcmp(a, b) == 0)
        return STATUS_OK;
    char a_text[VALUE_TEXT_MAX], b_text[VALUE_TEXT_MAX];
    size_t start = difference_start(a, b);
    excerpt(a_text, a, start);
    excerpt(b_text, b, start);
    return differ(sides, what, a_text, b_text);
}

/* The shortest decimal that tells a from b: 0.1f is shown as 0.1, but never two equal texts. */
static void show_numbers(double a, double b, char a_text[32], char b_text[32])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(a_text, 32, "%.*g", digits, a);
        snprintf(b_text, 32, "%.*g", digits, b);
        if (strcmp(a_text, b_text) != 0)
            return;
    }
}

static enum status compare_numbers(const struct sides *sides, const char *what, double a, double b)
{
    if (a == b)
        return STATUS_OK;
    char a_text[32], b_text[32];
    show_numbers(a, b, a_text, b_text);
    return differ(sides, what, a_text, b_text);
}

static enum status compare_names(const struct sides *sides, const char *what, const char *a,
                                 const char *b)
{
    return strcmp(a, b) == 0 ? STATUS_OK : differ(sides, what, a, b);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* "conv1/kernel [3,3,1,32]" */
static void show_variable(char out[VALUE_TEXT_MAX], const struct variable *variable)
{
    snprintf(out, VALUE_TEXT_MAX, "%s [", variable->name);
    for (uint32_t axis = 0; axis < variable->rank; axis++)
        wording_append(out, VALUE_TEXT_MAX, "%s%llu", axis > 0 ? "," : "",
                       (unsigned long long)variable->shape[axis]);
    wording_append(out, VALUE_TEXT_MAX, "]");
}

static enum status compare_variable(const struct sides *sides, uint32_t index,
                                    const struct variable *a, const struct variable *b)
{
    char what[VALUE_TEXT_MAX];
    if (strcmp(a->name, b->name) != 0 || a->rank != b->rank ||
        memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0) {
        char a_text[VALUE_TEXT_MAX], b_text[VALUE_TEXT_MAX];
        show_variable(a_text, a);
        show_variable(b_text, b);
        snprintf(what, sizeof what, "variable number %u", index);
        return differ(sides, what, a_text, b_text);
    }
    snprintf(what, sizeof what, "initializer of %s", a->name);
    enum status status = compare_names(sides, what, initializer_name(a->initializer),
                                       initializer_name(b->initializer));
    snprintf(what, sizeof what, "fan-in or fan-out of %s", a->name);
    if (status == STATUS_OK)
        status = compare_counts(sides, what, a->fan_in, b->fan_in);
    if (status == STATUS_OK)
        status = compare_counts(sides, what, a->fan_out, b->fan_out);
    snprintf(what, sizeof what, "average of %s", a->name);
    char rates[2][32];
    snprintf(rates[0], sizeof rates[0], "%.9g", (double)a->average);
    snprintf(rates[1], sizeof rates[1], "%.9g", (double)b->average);
    return status != STATUS_OK ? status : compare_names(sides, what, rates[0], rates[1]);
}

static enum status compare_variables(const struct sides *sides, const char *what,
                                     const struct job *a, const struct job *b)
{
    enum status status = compare_counts(sides, what, a->variable_count, b->variable_count);
    for (uint32_t i = 0; i < a->variable_count && status == STATUS_OK; i++)
        status = compare_variable(sides, i, &a->variables[i], &b->variables[i]);
    return status;
}

static enum status compare_servers(const struct sides *sides, const char *what, const struct job *a,
                                   const struct job *b)
{
    enum status status = compare_counts(sides, what, a->server_count, b->server_count);
    for (uint32_t i = 0; i < a->server_count && status == STATUS_OK; i++) {
        char address[32];
        snprintf(address, sizeof address, "address of ps/%u", i);
        status = compare_texts(sides, address, a->servers[i], b->servers[i]);
    }
    return status;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* "3f9a01c2... (fashion-mnist)"; digests of other than the data have no name. */
static void show_digest(char out[VALUE_TEXT_MAX], const struct job *job, const uint8_t *d)
{
    snprintf(out, VALUE_TEXT_MAX, "%02x%02x%02x%02x...", d[0], d[1], d[2], d[3]);
    if (d == job->data_digest)
        wording_append(out, VALUE_TEXT_MAX, " (%.*s)", VALUE_TEXT_MAX / 2, job->data);
}

static enum status compare_digests(const struct sides *sides, const struct job_field *field,
                                   const struct job *a, const struct job *b)
{
    const uint8_t *at_a = job_field_at(field, a), *at_b = job_field_at(field, b);
    char a_text[VALUE_TEXT_MAX], b_text[VALUE_TEXT_MAX];
    if (memcmp(at_a, at_b, DIGEST_BYTES) == 0)
        return STATUS_OK;
    show_digest(a_text, a, at_a);
    show_digest(b_text, b, at_b);
    return differ(sides, field->words, a_text, b_text);
}

static enum status compare_field(const struct sides *sides, const struct job_field *field,
                                 const struct job *a, const struct job *b)
{
    const char *what = field->words, *at_a = job_field_at(field, a), *at_b = job_field_at(field, b);
    switch (field->kind) {
    case JOB_FLAG:
        return compare_names(sides, what, *(const bool *)at_a ? "on" : "off",
                             *(const bool *)at_b ? "on" : "off");
    case JOB_U32:
    case JOB_U64:
    case JOB_BYTES:
        return compare_counts(sides, what, job_field_whole(field, a), job_field_whole(field, b));
    case JOB_FLOAT:
    case JOB_FRACTION:
    case JOB_REAL:
    case JOB_RATE:
        return compare_numbers(sides, what, job_field_real(field, a), job_field_real(field, b));
    case JOB_WORD:
        return compare_names(sides, what, field->word((unsigned)job_field_whole(field, a)),
                             field->word((unsigned)job_field_whole(field, b)));
    case JOB_NAME:
        return compare_names(sides, what, at_a, at_b);
    case JOB_TEXT:
        return compare_texts(sides, what, at_a, at_b);
    case JOB_DIGEST:
        return compare_digests(sides, field, a, b);
    case JOB_VARIABLES:
        return compare_variables(sides, what, a, b);
    case JOB_SERVERS:
        return compare_servers(sides, what, a, b);
    }
    return STATUS_OK;
}

static bool is_in_scope(const struct job_field *field, enum job_scope scope)
{
    if (field->flags & JOB_LABEL || (field->flags & JOB_WHEN_READ && scope == JOB_SCOPE_UNREAD))
        return false;
    return scope == JOB_SCOPE_ALL || field->flags & JOB_DECIDES;
}

enum status job_compare(const struct job *a, const char *ours, const struct job *b,
                        const char *theirs, enum job_scope scope, struct error *error)
{
    const struct sides sides = {ours, theirs, error};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < job_field_count && status == STATUS_OK; i++)
        if (is_in_scope(&job_fields[i], scope))
            status = compare_field(&sides, &job_fields[i], a, b);
    return status;
}

/* --- digests ---------------------------------------------------------------------------------- */

/* With its end, so that texts do not run into each other. */
static void hash_text(struct hash *hash, const char *text)
{
    hash_update(hash, text, strlen(text) + 1);
}

static void hash_variable(struct hash *hash, const struct variable *variable)
{
    hash_text(hash, variable->name);
    hash_update_u64(hash, variable->rank);
    for (uint32_t axis = 0; axis < variable->rank; axis++)
        hash_update_u64(hash, variable->shape[axis]);
    hash_text(hash, initializer_name(variable->initializer));
    hash_update_u64(hash, variable->fan_in);
    hash_update_u64(hash, variable->fan_out);
    if (variable->average > 0.0f)
        hash_update(hash, &variable->average, sizeof variable->average);
}

/* The bits of a number; both zeros have the same. */
static uint64_t bits_of(double number)
{
    uint64_t bits;
    number += 0.0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void hash_value(struct hash *hash, const struct job_field *field, const struct job *job)
{
    switch (field->kind) {
    case JOB_FLAG:
    case JOB_U32:
    case JOB_U64:
    case JOB_BYTES:
    case JOB_WORD:
        hash_update_u64(hash, job_field_whole(field, job));
        return;
    case JOB_FLOAT:
    case JOB_FRACTION:
    case JOB_REAL:
    case JOB_RATE:
        hash_update_u64(hash, bits_of(job_field_real(field, job)));
        return;
    case JOB_NAME:
    case JOB_TEXT:
        hash_text(hash, job_field_at(field, job));
        return;
    case JOB_DIGEST:
        hash_update(hash, job_field_at(field, job), DIGEST_BYTES);
        return;
    case JOB_VARIABLES:
        hash_update_u64(hash, job->variable_count);
        for (uint32_t i = 0; i < job->variable_count; i++)
            hash_variable(hash, &job->variables[i]);
        return;
    case JOB_SERVERS:
        hash_update_u64(hash, job->server_count);
        for (uint32_t i = 0; i < job->server_count; i++)
            hash_text(hash, job->servers[i]);
        return;
    }
}

void job_hash(const struct job *job, enum job_scope scope, uint8_t digest[DIGEST_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    for (size_t i = 0; i < job_field_count; i++) {
        const struct job_field *field = &job_fields[i];
        if (!is_in_scope(field, scope))
            continue;
        if (field->flags & JOB_LATER && job_field_is_zero(field, job))
            continue; /* Older programs had 0 for it. */
        hash_text(&hash, field->member);
        hash_value(&hash, field, job);
    }
    hash_final(&hash, digest);
}
