/* program_message.c - checks headers, and reads a declaration from its JSON. */

#include "worker/source/program_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/job/job.h"

#define SCORE_PIECE   500
#define EXAMPLES_MOST UINT32_MAX /* Their numbers are u32. */
#define NAME          "declaration"

enum status program_header_check(const struct program_header *header, uint64_t serial, bool parts,
                                 struct error *error)
{
    static const struct {
        const char *name;
        uint32_t least, most;
    } rows[] = {
        [PROGRAM_DECLARE] = {"DECLARE", 2, PROGRAM_DECLARE_MAX},
        [PROGRAM_PART] = {"PART", 8, 8},
        [PROGRAM_DONE] = {"DONE", sizeof(struct program_done), sizeof(struct program_done)},
        [PROGRAM_FAIL] = {"FAIL", 0, PROGRAM_TEXT_MAX},
    };
    uint16_t kind = header->kind;
    if (kind >= sizeof rows / sizeof *rows || rows[kind].name == NULL)
        return error_set(error, STATUS_INVALID, "sent a message of kind %u", kind);
    const char *name = rows[kind].name;
    bool due = kind == PROGRAM_FAIL || (kind == PROGRAM_DECLARE) == (serial == 0);
    if (!due || (kind == PROGRAM_PART && !parts))
        return error_set(error, STATUS_INVALID, "sent %s when it was not due", name);
    if (header->serial != serial && kind != PROGRAM_FAIL)
        return error_set(error, STATUS_INVALID, "sent %s with serial %llu, not %llu", name,
                         (unsigned long long)header->serial, (unsigned long long)serial);
    if (header->flags != 0)
        return error_set(error, STATUS_INVALID, "sent %s with flags", name);
    if (header->bytes < rows[kind].least || header->bytes > rows[kind].most)
        return error_set(error, STATUS_INVALID, "sent %s of %u bytes", name, header->bytes);
    return STATUS_OK;
}

/* --- the declaration --------------------------------------------------------------------------- */

static bool has(const struct json_fields *fields, const char *name)
{
    return json_at(fields->object, name) != NULL;
}

static void take_shape(struct json_fields *fields, struct variable *variable)
{
    const struct json *shape = json_fields_array(fields, "shape", VARIABLE_RANK_MAX);
    variable->rank = (uint32_t)json_length(shape, "");
    for (uint32_t i = 0; i < variable->rank; i++)
        if (!json_whole(json_item(shape, i), &variable->shape[i]))
            json_fields_refuse(fields, "shape", "it is a list of whole numbers");
}

static void take_initializer(struct json_fields *fields, struct variable *variable)
{
    const char *name =
        has(fields, "initializer") ? json_fields_text(fields, "initializer") : "given";
    unsigned i = 0;
    while (i < INITIALIZER_COUNT && strcmp(name, initializer_name((enum initializer)i)) != 0)
        i++;
    variable->initializer = (enum initializer)i;
    if (i == INITIALIZER_COUNT)
        json_fields_refuse(fields, "initializer", "there are given, zeros and glorot_uniform");
    if (i == INITIALIZER_GLOROT_UNIFORM) {
        variable->fan_in = json_fields_u64(fields, "fan_in", UINT32_MAX);
        variable->fan_out = json_fields_u64(fields, "fan_out", UINT32_MAX);
    }
}

static enum status take_variable(struct variable *variable, const struct json *item,
                                 uint32_t number, struct error *error)
{
    struct json_fields fields;
    char where[64];
    snprintf(where, sizeof where, NAME ": variable %u", number);
    json_fields_init(&fields, item, where, error);
    json_fields_copy(&fields, "name", variable->name, sizeof variable->name);
    take_shape(&fields, variable);
    take_initializer(&fields, variable);
    if (has(&fields, "average"))
        variable->average = json_fields_float(&fields, "average");
    return json_fields_end(&fields);
}

static enum status take_variables(struct program_declaration *d, struct json_fields *fields,
                                  struct error *error)
{
    const struct json *items = json_fields_array(fields, "variables", VARIABLE_COUNT_MAX);
    uint32_t count = (uint32_t)json_length(items, "");
    if (fields->status != STATUS_OK)
        return fields->status;
    d->variables = calloc(count + 1, sizeof *d->variables);
    if (d->variables == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (; d->variable_count < count; d->variable_count++) {
        enum status status =
            take_variable(&d->variables[d->variable_count], json_item(items, d->variable_count),
                          d->variable_count, error);
        if (status != STATUS_OK)
            return status;
    }
    return job_check_variables(d->variables, count, error);
}

/* Data without a digest differ by their numbers and the program's name. */
static void make_digest(struct program_declaration *d)
{
    struct hash hash;
    hash_init(&hash);
    hash_update_u64(&hash, d->examples);
    hash_update_u64(&hash, d->test_examples);
    hash_update(&hash, d->name, strlen(d->name));
    hash_final(&hash, d->data_digest);
}

static void take_rest(struct program_declaration *d, struct json_fields *fields)
{
    const char *fingerprint =
        has(fields, "fingerprint") ? json_fields_text(fields, "fingerprint") : "";
    hash_bytes(fingerprint, strlen(fingerprint), d->fingerprint);
    if (has(fields, "examples"))
        d->examples = json_fields_u64(fields, "examples", EXAMPLES_MOST);
    if (has(fields, "test_examples"))
        d->test_examples = json_fields_u64(fields, "test_examples", EXAMPLES_MOST);
    d->score_piece = SCORE_PIECE;
    if (has(fields, "score_piece"))
        d->score_piece = (uint32_t)json_fields_u64(fields, "score_piece", EXAMPLES_MOST);
    if (d->score_piece == 0)
        json_fields_refuse(fields, "score_piece", "it is 1 or more");
    if (has(fields, "scores")) {
        const char *scores = json_fields_text(fields, "scores");
        d->scores = strcmp(scores, "loss") == 0 ? SCORES_LOSS : SCORES_ACCURACY;
        if (strcmp(scores, scores_numbered(d->scores)) != 0)
            json_fields_refuse(fields, "scores", "there are accuracy and loss");
    }
    memcpy(d->data, d->name, sizeof d->name);
    if (has(fields, "data"))
        json_fields_copy(fields, "data", d->data, sizeof d->data);
    if (has(fields, "data_digest"))
        json_fields_hex(fields, "data_digest", d->data_digest, sizeof d->data_digest);
    else
        make_digest(d);
    if (has(fields, "options"))
        d->options = json_fields_object(fields, "options");
}

enum status program_declaration_read(struct program_declaration *declaration, const char *text,
                                     size_t bytes, struct error *error)
{
    struct program_declaration *d = declaration;
    struct json_fields fields;
    memset(d, 0, sizeof *d);
    enum status status = json_parse(text, bytes, NAME, &d->root, error);
    if (status != STATUS_OK)
        return status;
    json_fields_init(&fields, d->root, NAME, error);
    json_fields_copy(&fields, "name", d->name, sizeof d->name);
    if (d->name[0] == '\0')
        json_fields_refuse(&fields, "name", "it is empty");
    status = take_variables(d, &fields, error);
    if (status == STATUS_OK) {
        take_rest(d, &fields);
        status = json_fields_end(&fields);
    }
    if (status != STATUS_OK)
        program_declaration_free(d);
    return status;
}

void program_declaration_free(struct program_declaration *declaration)
{
    free(declaration->variables);
    json_release(&declaration->root);
    memset(declaration, 0, sizeof *declaration);
}
