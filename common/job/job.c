/* job.c - checks a declaration field by field, names the first difference of two, and counts the
 * steps, batches and epochs that follow from one. */

#include "common/job/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/partition.h"
#include "common/job/tree.h"

#define ELEMENTS_MAX (UINT64_C(1) << 40) /* Of one variable, and of all together. */

static const char *const mode_names[MODE_COUNT] = {
    [MODE_ASYNC] = "async",
    [MODE_SYNC] = "sync",
};

static const char *const initializer_names[INITIALIZER_COUNT] = {
    [INITIALIZER_ZEROS] = "zeros",
    [INITIALIZER_GLOROT_UNIFORM] = "glorot uniform",
};

const char *mode_name(enum mode mode)
{
    return (unsigned)mode < MODE_COUNT ? mode_names[mode] : "unknown";
}

enum status mode_parse(const char *name, enum mode *mode)
{
    for (unsigned i = 0; name != NULL && i < MODE_COUNT; i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            *mode = (enum mode)i;
            return STATUS_OK;
        }
    }
    return STATUS_NOT_FOUND;
}

/* --- life cycle ---------------------------------------------------------------------------- */

void job_free(struct job *job)
{
    free(job->variables);
    free(job->servers);
    memset(job, 0, sizeof *job);
}

/* A copy of count > 0 entries, or NULL. */
static void *copy_of(const void *from, size_t count, size_t size)
{
    void *to = calloc(count, size);
    if (to != NULL)
        memcpy(to, from, count * size);
    return to;
}

enum status job_copy(struct job *to, const struct job *from)
{
    *to = *from;
    to->variables = NULL;
    to->servers = NULL;
    if (from->variable_count > 0)
        to->variables = copy_of(from->variables, from->variable_count, sizeof *from->variables);
    if (from->server_count > 0)
        to->servers = copy_of(from->servers, from->server_count, sizeof *from->servers);
    if ((from->variable_count > 0 && to->variables == NULL) ||
        (from->server_count > 0 && to->servers == NULL)) {
        job_free(to);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

/* --- check --------------------------------------------------------------------------------- */

static bool is_terminated(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* Names go into logs, files and tables, so they are plain: ASCII without spaces. */
static bool is_name(const char *text, size_t size)
{
    if (!is_terminated(text, size) || text[0] == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return true;
}

/* Bytes of the UTF-8 character at s; 0 when it is malformed or a control character. */
static size_t character_bytes(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0x20, 0xa0, 0x800, 0x10000}; /* By bytes; no longer form. */
    size_t bytes = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (bytes <= 1)
        return s[0] >= 0x20 && s[0] < 0x7f;
    uint32_t code = s[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((s[i] & 0xc0) != 0x80) /* Also the end of the text. */
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code >= least[bytes] && code <= 0x10ffff && !surrogate && s[0] < 0xf8 ? bytes : 0;
}

/* Text for people: UTF-8, because the name of a folder may be in any language. */
static bool is_printable(const char *text, size_t size)
{
    if (!is_terminated(text, size))
        return false;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = character_bytes(at);
        if (bytes == 0)
            return false;
        at += bytes;
    }
    return true;
}

static enum status check_range(const char *what, uint64_t value, uint64_t least, uint64_t most,
                               struct error *error)
{
    if (value >= least && value <= most)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "%s must be from %llu to %llu, not %llu", what,
                     (unsigned long long)least, (unsigned long long)most,
                     (unsigned long long)value);
}

static enum status check_initializer(const struct variable *variable, struct error *error)
{
    if ((unsigned)variable->initializer >= INITIALIZER_COUNT)
        return error_set(error, STATUS_INVALID, "variable %s: there is no initializer number %u",
                         variable->name, (unsigned)variable->initializer);
    if (variable->initializer == INITIALIZER_GLOROT_UNIFORM &&
        (variable->fan_in == 0 || variable->fan_out == 0))
        return error_set(error, STATUS_INVALID,
                         "variable %s: the glorot uniform initializer needs fan-in and fan-out "
                         "above 0",
                         variable->name);
    return STATUS_OK;
}

static enum status check_variable(const struct variable *variable, uint32_t index,
                                  struct error *error)
{
    if (!is_name(variable->name, sizeof variable->name))
        return error_set(error, STATUS_INVALID,
                         "variable number %u has no printable name of at most %d characters", index,
                         VARIABLE_NAME_MAX - 1);
    if (variable->rank < 1 || variable->rank > VARIABLE_RANK_MAX)
        return error_set(error, STATUS_INVALID, "variable %s has rank %u, not 1 to %d",
                         variable->name, variable->rank, VARIABLE_RANK_MAX);
    uint64_t elements = 1;
    for (uint32_t axis = 0; axis < variable->rank; axis++) {
        uint64_t size = variable->shape[axis];
        if (size == 0)
            return error_set(error, STATUS_INVALID, "variable %s has no elements: axis %u is 0",
                             variable->name, axis);
        if (size > ELEMENTS_MAX / elements)
            return error_set(error, STATUS_INVALID, "variable %s has more than 2^40 elements",
                             variable->name);
        elements *= size;
    }
    return check_initializer(variable, error);
}

static int by_name(const void *left, const void *right)
{
    const struct variable *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static enum status check_unique(const struct variable *variables, uint32_t count,
                                struct error *error)
{
    const struct variable **sorted = calloc(count, sizeof *sorted);
    if (sorted == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for %u variables", count);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &variables[i];
    qsort(sorted, count, sizeof *sorted, by_name);

    enum status status = STATUS_OK;
    for (uint32_t i = 1; i < count && status == STATUS_OK; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status =
                error_set(error, STATUS_INVALID, "two variables are called %s", sorted[i]->name);
    }
    free(sorted);
    return status;
}

static enum status check_variables(const struct job *job, struct error *error)
{
    enum status status =
        check_range("the number of variables", job->variable_count, 1, VARIABLE_COUNT_MAX, error);
    if (status != STATUS_OK)
        return status;
    uint64_t total = 0;
    for (uint32_t i = 0; i < job->variable_count; i++) {
        status = check_variable(&job->variables[i], i, error);
        if (status != STATUS_OK)
            return status;
        total += variable_elements(&job->variables[i]);
        if (total > ELEMENTS_MAX)
            return error_set(error, STATUS_INVALID, "the model has more than 2^40 parameters");
    }
    return check_unique(job->variables, job->variable_count, error);
}

static enum status check_work(const struct job *job, struct error *error)
{
    enum status status;
    if ((unsigned)job->mode >= MODE_COUNT)
        return error_set(error, STATUS_INVALID, "there is no mode number %u", (unsigned)job->mode);
    if (job->use_locking && job->mode != MODE_ASYNC)
        return error_set(error, STATUS_INVALID, "locking is for async mode; %s mode needs none",
                         mode_name(job->mode));
    if (!is_printable(job->model, sizeof job->model))
        return error_set(error, STATUS_INVALID, "the model's layer list is not printable text");
    if (!is_printable(job->data, sizeof job->data))
        return error_set(error, STATUS_INVALID, "the data set's name is not printable text");
    if ((status = check_range("the number of training examples", job->examples, 1, UINT64_MAX,
                              error)) != STATUS_OK ||
        (status = check_range("the batch", job->batch, 1, BATCH_MAX, error)) != STATUS_OK ||
        (status = check_range("the micro-batch", job->micro_batch, 1, BATCH_MAX, error)) !=
            STATUS_OK ||
        (status = check_range("the number of steps", job->steps, 1, UINT64_MAX, error)) !=
            STATUS_OK)
        return status;
    if (job_leaves_max(job) > TREE_LEAVES_MAX)
        return error_set(error, STATUS_INVALID,
                         "a batch of %u in micro-batches of %u has %u leaves, the most is %d: use "
                         "larger micro-batches",
                         job->batch, job->micro_batch, job_leaves_max(job), TREE_LEAVES_MAX);
    return STATUS_OK;
}

static enum status check_server(const struct job *job, uint32_t index, struct error *error)
{
    if (!is_name(job->servers[index], sizeof job->servers[index]))
        return error_set(error, STATUS_INVALID,
                         "the address of ps/%u is not a printable host:port of at most %d "
                         "characters",
                         index, ADDRESS_MAX - 1);
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(job->servers[i], job->servers[index]) == 0)
            return error_set(error, STATUS_INVALID, "ps/%u and ps/%u have the same address %s", i,
                             index, job->servers[index]);
    }
    return STATUS_OK;
}

static enum status check_spread(const struct job *job, struct error *error)
{
    enum status status;
    if ((status = check_range("the number of workers", job->worker_count, 1, JOB_WORKERS_MAX,
                              error)) != STATUS_OK ||
        (status = check_range("the number of servers", job->server_count, 0, JOB_SERVERS_MAX,
                              error)) != STATUS_OK)
        return status;
    if (job->chunk_bytes != 0) /* 0: chosen by partition_make. */
        status = check_range("the chunk size in bytes", job->chunk_bytes,
                             PARAMETER_ALIGNMENT * sizeof(float), CHUNK_BYTES_MAX, error);
    for (uint32_t i = 0; i < job->server_count && status == STATUS_OK; i++)
        status = check_server(job, i, error);
    return status;
}

enum status job_check(const struct job *job, struct error *error)
{
    enum status status;
    if ((status = check_work(job, error)) != STATUS_OK ||
        (status = check_variables(job, error)) != STATUS_OK ||
        (status = optimizer_settings_check(&job->optimizer, error)) != STATUS_OK ||
        (status = schedule_check(&job->schedule, error)) != STATUS_OK)
        return status;
    return check_spread(job, error);
}

/* --- compare ------------------------------------------------------------------------------- */

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

struct count_field {
    const char *what;
    uint64_t a, b;
};

static enum status compare_counts(const struct sides *sides, const struct count_field *fields,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].a == fields[i].b)
            continue;
        char a[24], b[24];
        snprintf(a, sizeof a, "%llu", (unsigned long long)fields[i].a);
        snprintf(b, sizeof b, "%llu", (unsigned long long)fields[i].b);
        return differ(sides, fields[i].what, a, b);
    }
    return STATUS_OK;
}

struct text_field {
    const char *what, *a, *b;
};

/* Where the layers (or words) that differ begin, so that long lists still show the difference. */
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

static enum status compare_texts(const struct sides *sides, const struct text_field *fields,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].a, fields[i].b) == 0)
            continue;
        char a[VALUE_TEXT_MAX], b[VALUE_TEXT_MAX];
        size_t start = difference_start(fields[i].a, fields[i].b);
        excerpt(a, fields[i].a, start);
        excerpt(b, fields[i].b, start);
        return differ(sides, fields[i].what, a, b);
    }
    return STATUS_OK;
}

struct number_field {
    const char *what;
    double a, b;
};

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

static enum status compare_numbers(const struct sides *sides, const struct number_field *fields,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].a == fields[i].b)
            continue;
        char a[32], b[32];
        show_numbers(fields[i].a, fields[i].b, a, b);
        return differ(sides, fields[i].what, a, b);
    }
    return STATUS_OK;
}

#define COMPARE(kind, sides, fields)                                                               \
    compare_##kind(sides, fields, sizeof(fields) / sizeof *(fields))

static enum status compare_optimizers(const struct sides *sides, const struct optimizer_settings *a,
                                      const struct optimizer_settings *b)
{
    if (strcmp(a->name, b->name) != 0)
        return differ(sides, "optimizer", a->name, b->name);
    const struct number_field numbers[] = {
        {"momentum", a->momentum, b->momentum},
        {"beta1", a->beta1, b->beta1},
        {"beta2", a->beta2, b->beta2},
        {"rho", a->rho, b->rho},
        {"epsilon", a->epsilon, b->epsilon},
        {"initial accumulator", a->initial_accumulator, b->initial_accumulator},
    };
    return COMPARE(numbers, sides, numbers);
}

static enum status compare_schedules(const struct sides *sides, const struct schedule *a,
                                     const struct schedule *b)
{
    if (a->kind != b->kind)
        return differ(sides, "schedule", schedule_kind_name(a->kind), schedule_kind_name(b->kind));
    const struct number_field numbers[] = {
        {"learning rate", a->learning_rate, b->learning_rate},
        {"decay factor", a->decay_factor, b->decay_factor},
    };
    const struct count_field counts[] = {
        {"warm-up steps", a->warmup_steps, b->warmup_steps},
        {"decay steps", a->decay_steps, b->decay_steps},
    };
    enum status status = COMPARE(numbers, sides, numbers);
    return status != STATUS_OK ? status : COMPARE(counts, sides, counts);
}

/* "conv1/kernel [3,3,1,32]" */
static void show_variable(char out[VALUE_TEXT_MAX], const struct variable *variable)
{
    size_t used = (size_t)snprintf(out, VALUE_TEXT_MAX, "%s [", variable->name);
    for (uint32_t axis = 0; axis < variable->rank && used < VALUE_TEXT_MAX; axis++)
        used += (size_t)snprintf(out + used, VALUE_TEXT_MAX - used, "%s%llu", axis > 0 ? "," : "",
                                 (unsigned long long)variable->shape[axis]);
    if (used < VALUE_TEXT_MAX)
        snprintf(out + used, VALUE_TEXT_MAX - used, "]");
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
    if (a->initializer != b->initializer) {
        snprintf(what, sizeof what, "initializer of %s", a->name);
        return differ(sides, what, initializer_names[a->initializer],
                      initializer_names[b->initializer]);
    }
    snprintf(what, sizeof what, "fan-in or fan-out of %s", a->name);
    const struct count_field fans[] = {
        {what, a->fan_in, b->fan_in},
        {what, a->fan_out, b->fan_out},
    };
    return COMPARE(counts, sides, fans);
}

static enum status compare_models(const struct sides *sides, const struct job *a,
                                  const struct job *b)
{
    const struct text_field texts[] = {{"model", a->model, b->model}};
    const struct count_field counts[] = {
        {"number of variables", a->variable_count, b->variable_count}};
    enum status status;
    if ((status = COMPARE(texts, sides, texts)) != STATUS_OK ||
        (status = COMPARE(counts, sides, counts)) != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < a->variable_count && status == STATUS_OK; i++)
        status = compare_variable(sides, i, &a->variables[i], &b->variables[i]);
    return status;
}

/* "3f9a01c2... (fashion-mnist)" */
static void show_data(char out[VALUE_TEXT_MAX], const struct job *job)
{
    const uint8_t *d = job->data_digest;
    snprintf(out, VALUE_TEXT_MAX, "%02x%02x%02x%02x... (%.*s)", d[0], d[1], d[2], d[3],
             VALUE_TEXT_MAX / 2, job->data);
}

bool job_has_read_data(const struct job *job)
{
    static const uint8_t none[DIGEST_BYTES];
    return memcmp(job->data_digest, none, sizeof none) != 0;
}

static enum status compare_data(const struct sides *sides, const struct job *a, const struct job *b,
                                enum job_scope scope)
{
    const struct count_field counts[] = {
        {"training examples", a->examples, b->examples},
        {"test examples", a->test_examples, b->test_examples},
    };
    enum status status = COMPARE(counts, sides, counts);
    if (status != STATUS_OK)
        return status;
    if (scope == JOB_SCOPE_UNREAD || memcmp(a->data_digest, b->data_digest, DIGEST_BYTES) == 0)
        return STATUS_OK;
    char a_text[VALUE_TEXT_MAX], b_text[VALUE_TEXT_MAX];
    show_data(a_text, a);
    show_data(b_text, b);
    return differ(sides, "data digest", a_text, b_text);
}

/* What decides the bits of every update. */
static enum status compare_work(const struct sides *sides, const struct job *a, const struct job *b,
                                enum job_scope scope)
{
    if (a->mode != b->mode)
        return differ(sides, "mode", mode_name(a->mode), mode_name(b->mode));
    if (a->use_locking != b->use_locking)
        return differ(sides, "locking", a->use_locking ? "on" : "off",
                      b->use_locking ? "on" : "off");
    enum status status;
    if ((status = compare_models(sides, a, b)) != STATUS_OK ||
        (status = compare_data(sides, a, b, scope)) != STATUS_OK ||
        (status = compare_optimizers(sides, &a->optimizer, &b->optimizer)) != STATUS_OK ||
        (status = compare_schedules(sides, &a->schedule, &b->schedule)) != STATUS_OK)
        return status;
    const struct count_field counts[] = {
        {"batch", a->batch, b->batch},
        {"micro-batch", a->micro_batch, b->micro_batch},
        {"seed", a->seed, b->seed},
    };
    return COMPARE(counts, sides, counts);
}

/* How long it goes on and how it is spread. */
static enum status compare_spread(const struct sides *sides, const struct job *a,
                                  const struct job *b)
{
    const struct count_field counts[] = {
        {"steps", a->steps, b->steps},
        {"checkpoint every", a->checkpoint_every, b->checkpoint_every},
        {"chunk bytes", a->chunk_bytes, b->chunk_bytes},
        {"number of workers", a->worker_count, b->worker_count},
        {"number of servers", a->server_count, b->server_count},
    };
    enum status status = COMPARE(counts, sides, counts);
    for (uint32_t i = 0; i < a->server_count && status == STATUS_OK; i++) {
        char what[32];
        snprintf(what, sizeof what, "address of ps/%u", i);
        const struct text_field texts[] = {{what, a->servers[i], b->servers[i]}};
        status = COMPARE(texts, sides, texts);
    }
    return status;
}

enum status job_compare(const struct job *a, const char *ours, const struct job *b,
                        const char *theirs, enum job_scope scope, struct error *error)
{
    const struct sides sides = {ours, theirs, error};
    enum status status = compare_work(&sides, a, b, scope);
    if (status != STATUS_OK || scope != JOB_SCOPE_ALL)
        return status;
    return compare_spread(&sides, a, b);
}

/* --- derived ------------------------------------------------------------------------------- */

static uint32_t leaves_of(const struct job *job, uint32_t examples)
{
    return examples / job->micro_batch + (examples % job->micro_batch != 0);
}

uint64_t job_steps_per_epoch(const struct job *job)
{
    return job->examples / job->batch + (job->examples % job->batch != 0);
}

struct batch_range job_batch(const struct job *job, uint64_t step)
{
    uint64_t steps_per_epoch = job_steps_per_epoch(job);
    assert(steps_per_epoch > 0);
    uint64_t first = step % steps_per_epoch * job->batch;
    uint64_t rest = job->examples - first;
    uint32_t examples = rest < job->batch ? (uint32_t)rest : job->batch;
    return (struct batch_range){step / steps_per_epoch, first, examples, leaves_of(job, examples)};
}

uint64_t job_epochs(const struct job *job)
{
    uint64_t updates = job_steps_per_epoch(job);
    return job->steps / updates + (job->steps % updates != 0);
}

struct epoch_range job_epoch(const struct job *job, uint64_t epoch)
{
    uint64_t updates = job_steps_per_epoch(job);
    uint64_t first = epoch * updates, end = first + updates;
    if (end <= job->steps)
        return (struct epoch_range){first, end, job->examples};
    end = job->steps > first ? job->steps : first;
    return (struct epoch_range){first, end, (end - first) * job->batch};
}

uint32_t job_leaves_max(const struct job *job)
{
    return job_batch(job, 0).leaves; /* Only the last batch of an epoch is smaller. */
}

uint32_t job_node_examples(const struct job *job, struct batch_range batch, uint32_t first_leaf,
                           uint32_t leaf_count)
{
    uint64_t first = (uint64_t)first_leaf * job->micro_batch;
    uint64_t end = ((uint64_t)first_leaf + leaf_count) * job->micro_batch;
    assert(first <= batch.examples);
    return (uint32_t)((end < batch.examples ? end : batch.examples) - first);
}
