/* job.c - checks a declaration field by field, names the first difference of two, and counts
 * steps, batches and epochs. */

#include "common/job/job.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/wording.h"
#include "common/job/job_fields.h"
#include "common/job/tree.h"

#define PROGRESS_POINTS    40
#define CHECKPOINT_SECONDS 60
#define ELEMENTS_MAX       (UINT64_C(1) << 40) /* Of one variable, and of all together. */

const struct mode_facts *job_mode(const struct job *job)
{
    return mode_facts(job->mode);
}

struct mode_text job_mode_text(const struct job *job)
{
    bool has_backup = job_mode(job)->sets;
    struct mode_text text;
    char file[sizeof job->policy];
    /* The second word is it, of "python3 labs/mine.py". */
    if (sscanf(job->policy, "%*s %255[!-~]", file) == 1 ||
        sscanf(job->policy, "%255[!-~]", file) == 1) {
        const char *slash = strrchr(file, '/');
        snprintf(text.text, sizeof text.text, "policy:%s", slash != NULL ? slash + 1 : file);
        return text;
    }
    return mode_text(
        (struct mode_setting){job->mode, has_backup ? job->backup_workers : job->staleness_bound});
}

void job_set_mode(struct job *job, struct mode_setting setting)
{
    bool has_backup = mode_facts(setting.mode)->sets;
    job->mode = setting.mode;
    job->staleness_bound = has_backup ? 0 : setting.bound;
    if (has_backup) /* Else they may have been set beside it. */
        job->backup_workers = (uint32_t)setting.bound;
}

struct staleness_text job_max_staleness_text(const struct job *job)
{
    struct staleness_text text = {""};
    if (job->max_staleness > 0)
        snprintf(text.text, sizeof text.text, "%" PRIu64 "%s", job->max_staleness,
                 job->staleness_loses ? ":lost" : "");
    return text;
}

enum status job_read_max_staleness(const char *text, struct job *job)
{
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    bool loses = strcasecmp(rest, ":lost") == 0;
    uint64_t most = digits > 0 && digits <= 10 ? strtoull(text, NULL, 10) : 0;
    if (most == 0 || most > MAX_STALENESS_MOST ||
        !(rest[0] == '\0' || loses || strcasecmp(rest, ":requeue") == 0))
        return STATUS_INVALID;
    job->max_staleness = most;
    job->staleness_loses = loses;
    return STATUS_OK;
}

void job_forget_unused(struct job *job)
{
    const struct mode_facts *facts = job_mode(job);
    if (!facts->accumulates)
        job->accumulate = 0;
    if (!facts->sets)
        job->backup_workers = 0;
    if (facts->bounds == NULL)
        job->staleness_bound = 0;
    if (!facts->steps)
        return;
    job->use_locking = false;
    job->staleness_rate = STALENESS_RATE_NONE;
    job->delay_compensation = 0;
    job->compensation_adapts = false;
    job->max_staleness = 0;
    job->staleness_loses = false;
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
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
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
    if (!(variable->average >= 0.0f && variable->average <= 1.0f))
        return error_set(error, STATUS_INVALID,
                         "variable %s: its rate of averaging is not in [0, 1]", variable->name);
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

/* Whether a list has as many entries as its row allows. */
static enum status check_entries(const char *member, uint32_t count, struct error *error)
{
    const struct job_field *field = job_field_find(member);
    if ((double)count >= field->least && (double)count <= field->most)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "%s must be from %.0f to %.0f, not %u", field->words,
                     field->least, field->most, count);
}

enum status job_check_variables(const struct variable *variables, uint32_t count,
                                struct error *error)
{
    enum status status = check_entries("variables", count, error);
    if (status != STATUS_OK)
        return status;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        status = check_variable(&variables[i], i, error);
        if (status == STATUS_OK && i > 0 && variables[i].average > 0.0f &&
            variables[i - 1].average == 0.0f)
            status = error_set(error, STATUS_INVALID,
                               "variable %s is an average: they come before all that is trained",
                               variables[i].name);
        if (status != STATUS_OK)
            return status;
        total += variable_elements(&variables[i]);
        if (total > ELEMENTS_MAX)
            return error_set(error, STATUS_INVALID, "the model has more than 2^40 parameters");
    }
    return check_unique(variables, count, error);
}

/* Nothing is set that the mode has no use for. */
static enum status check_used(const struct job *job, struct error *error)
{
    struct job used = *job;
    struct error difference;
    char mode[MODE_TEXT_MAX + 5];
    snprintf(mode, sizeof mode, "%s mode", mode_name(job->mode));
    job_forget_unused(&used);
    return job_compare(job, "the job", &used, mode, JOB_SCOPE_ALL, &difference) == STATUS_OK
               ? STATUS_OK
               : error_set(error, STATUS_INVALID, "%s", difference.text);
}

static enum status check_staleness(const struct job *job, struct error *error)
{
    if (job->staleness_loses && job->max_staleness == 0)
        return error_set(error, STATUS_INVALID,
                         "no gradient is lost for its staleness without a most of it");
    if (job->compensation_adapts && !(job->delay_compensation > 0))
        return error_set(error, STATUS_INVALID, "adaptive compensation needs a strength above 0");
    return STATUS_OK;
}

/* A step has to wait for at least one worker. */
static enum status check_backup(const struct job *job, struct error *error)
{
    if (!job_mode(job)->sets)
        return STATUS_OK;
    if (job->backup_workers == 0)
        return error_set(error, STATUS_INVALID, "%s mode needs a backup worker at least",
                         mode_name(job->mode));
    if (job->backup_workers < job->worker_count)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "of %u workers %u cannot be backup workers: a step needs one at least that it "
                     "waits for",
                     job->worker_count, job->backup_workers);
}

/* Conditions on several fields. */
static enum status check_work(const struct job *job, struct error *error)
{
    int exponent;
    if (job->loss_unit != 0 && frexp(job->loss_unit, &exponent) != 0.5)
        return error_set(error, STATUS_INVALID, "unit of loss must be a power of two, not %g",
                         job->loss_unit);
    if (job_leaves_max(job) > TREE_LEAVES_MAX)
        return error_set(error, STATUS_INVALID,
                         "a batch of %u in micro-batches of %u has %u leaves, the most is %d: use "
                         "larger micro-batches",
                         job->batch, job->micro_batch, job_leaves_max(job), TREE_LEAVES_MAX);
    enum status status = check_staleness(job, error);
    if (status == STATUS_OK)
        status = check_backup(job, error);
    if (status == STATUS_OK)
        status = optimizer_settings_check(&job->optimizer, error);
    return status != STATUS_OK ? status : schedule_check(&job->schedule, error);
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

static enum status check_servers(const struct job *job, struct error *error)
{
    enum status status = check_entries("servers", job->server_count, error);
    for (uint32_t i = 0; i < job->server_count && status == STATUS_OK; i++)
        status = check_server(job, i, error);
    /* A plan has no addresses yet. */
    if (status == STATUS_OK && job->colocated && job->server_count != 0 &&
        job->server_count != job->worker_count)
        return error_set(error, STATUS_INVALID,
                         "with a server at each worker's place there are as many of both, not %s "
                         "and %s",
                         wording_counted(job->server_count, "server", "servers").text,
                         wording_counted(job->worker_count, "worker", "workers").text);
    return status;
}

enum status job_check(const struct job *job, struct error *error)
{
    enum status status;
    if ((status = job_fields_check(job, "", error)) != STATUS_OK ||
        (status = check_work(job, error)) != STATUS_OK ||
        (status = job_check_variables(job->variables, job->variable_count, error)) != STATUS_OK ||
        (status = check_servers(job, error)) != STATUS_OK)
        return status;
    return check_used(job, error); /* The last: it looks at all fields. */
}

bool job_asks_program(const struct job *job)
{
    return strncmp(job->model, JOB_MODEL_PROGRAM, sizeof JOB_MODEL_PROGRAM - 1) == 0;
}

bool job_has_given(const struct job *job)
{
    for (uint32_t i = 0; i < job->variable_count; i++)
        if (job->variables[i].initializer == INITIALIZER_GIVEN)
            return true;
    return false;
}

bool job_has_read_data(const struct job *job)
{
    static const uint8_t none[DIGEST_BYTES];
    return memcmp(job->data_digest, none, sizeof none) != 0 &&
           (!job_has_given(job) || memcmp(job->initial_digest, none, sizeof none) != 0);
}

enum chunk_borders job_borders(const struct job *job)
{
    return job->use_locking        ? CHUNKS_LOCKED
           : job->chunks_at_layers ? CHUNKS_AT_LAYERS
                                   : CHUNKS_EVEN;
}

bool job_place_owns(const struct job *job, uint32_t worker)
{
    return job->colocated && worker < job->worker_count;
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

uint64_t job_checkpoint_every(const struct job *job)
{
    bool unsaid = job->checkpoint_every == JOB_CHECKPOINTS_UNSAID;
    return unsaid ? job_steps_per_epoch(job) : job->checkpoint_every;
}

bool job_checkpoint_is_old(const struct job *job, double seconds)
{
    return job->checkpoint_every == JOB_CHECKPOINTS_UNSAID && seconds >= CHECKPOINT_SECONDS;
}

uint64_t job_progress_steps(const struct job *job)
{
    uint64_t epoch = job_steps_per_epoch(job);
    uint64_t steps = (epoch < job->steps ? epoch : job->steps) / PROGRESS_POINTS;
    return steps > 0 ? steps : 1;
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

uint64_t job_examples_before(const struct job *job, uint64_t step)
{
    uint64_t updates = job_steps_per_epoch(job);
    return step / updates * job->examples + step % updates * job->batch;
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

struct slots job_slots(const struct job *job)
{
    struct slots slots = optimizer_slots(optimizer_find(job->optimizer.name));
    if (job->compensation_adapts)
        slots.names[slots.count++] = "compensation";
    return slots;
}

float job_slot_initial(const struct job *job, uint32_t slot)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer.name);
    return slot < optimizer->slot_count ? optimizer->slot_initial(&job->optimizer, slot) : 0.0f;
}

bool job_accumulates(const struct job *job)
{
    return job->accumulate > 1;
}

uint64_t job_version(const struct job *job, uint64_t batches, uint64_t said)
{
    return job_accumulates(job) ? said : batches;
}

bool job_closes_at(const struct job *job, uint64_t batches)
{
    return batches % job_steps_per_epoch(job) == 0 || batches == job->steps;
}

bool job_scores_at(const struct job *job, uint64_t batches)
{
    return job->test_examples > 0 && batches > 0 &&
           (batches % job_steps_per_epoch(job) == 0 || batches == job->steps);
}

uint64_t job_scores_between(const struct job *job, uint64_t after, uint64_t before)
{
    uint64_t updates = job_steps_per_epoch(job);
    if (job->test_examples == 0 || before <= after + 1)
        return 0;
    bool end = after < job->steps && job->steps < before && job->steps % updates != 0;
    return (before - 1) / updates - after / updates + end;
}

uint64_t job_epoch_ended(const struct job *job, uint64_t batches)
{
    uint64_t updates = job_steps_per_epoch(job);
    return batches / updates + (batches % updates != 0);
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
