/* specimens.c - walks over the rows of message_fields.h and fills each field with a value of its
 * own, the least or the most. */

#include "tests/lib/specimens.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/message_fields.h"

#define DIGEST_OF(first)                                                                           \
    {                                                                                              \
        first, 0xff, 0, 0x80, [DIGEST_BYTES - 1] = first + 1                                       \
    }

/* --- messages -------------------------------------------------------------------------------- */

struct filling {
    enum specimen how;
    unsigned fields; /* So far: what makes a value a field's own. */
};

static void fill_fields(struct filling *filling, const struct message_field *field, void *message);

static void fill_number(const struct filling *filling, const struct message_field *field, void *at)
{
    uint64_t own = field->least + filling->fields;
    uint64_t number = filling->how == SPECIMEN_SMALLEST  ? field->least
                      : filling->how == SPECIMEN_LARGEST ? field->most
                      : own < field->most                ? own
                                                         : field->most;
    memcpy(at, &number, field->size); /* Of the largest what fits. */
}

static void fill_signed(const struct filling *filling, int64_t *at)
{
    *at = filling->how == SPECIMEN_LARGEST ? INT64_MIN : -(int64_t)filling->fields;
}

static void fill_real(const struct filling *filling, double *at)
{
    *at = (filling->how == SPECIMEN_LARGEST ? -1e300 : 1) / (filling->fields + 1);
}

static void fill_text(const struct filling *filling, const struct message_field *field, char *at)
{
    if (filling->how == SPECIMEN_LARGEST)
        memset(at, 'x', field->size - 1);
    else
        snprintf(at, field->size, "%s %u", field->name, filling->fields);
}

static void fill_digest(const struct filling *filling, uint8_t *at)
{
    memset(at, filling->how == SPECIMEN_LARGEST ? 0xff : (int)filling->fields, DIGEST_BYTES);
}

static void fill_page(const struct filling *filling, const struct message_field *field,
                      struct message *message)
{
    char *bytes = (char *)message + field[-1].offset;
    fill_number(
        filling,
        &(struct message_field){.least = field->least, .most = field->most, .size = field[-1].size},
        bytes);
    memset((char *)message + field->offset, 0xa5, *(uint32_t *)(void *)bytes);
}

static void fill_report(struct filling *filling, const struct message_field *field, char *message)
{
    if (filling->how == SPECIMEN_SMALLEST)
        return;
    message[field[-1].offset] = true;
    fill_fields(filling, message_fields(MESSAGE_REPORT),
                (void *)(uintptr_t)message_field_report(field, message));
}

static void fill_field(struct filling *filling, const struct message_field *field, void *message)
{
    void *at = (char *)message + field->offset;
    bool smallest = filling->how == SPECIMEN_SMALLEST;
    if (field->kind == FIELD_PAGE)
        fill_page(filling, field, message);
    else if (field->kind == FIELD_U32 || field->kind == FIELD_U64 || field->kind == FIELD_ID ||
             field->kind == FIELD_WORD)
        fill_number(filling, field, at);
    else if (smallest)
        return;
    else if (field->kind == FIELD_FLAG)
        *(bool *)at = true;
    else if (field->kind == FIELD_I64)
        fill_signed(filling, at);
    else if (field->kind == FIELD_REAL)
        fill_real(filling, at);
    else if (field->kind == FIELD_TEXT || field->kind == FIELD_NAME)
        fill_text(filling, field, at);
    else if (field->kind == FIELD_DIGEST || field->kind == FIELD_SECRET)
        fill_digest(filling, at);
}

/* What is not zero stays. */
static void fill_fields(struct filling *filling, const struct message_field *field, void *message)
{
    static const char zeros[MESSAGE_TEXT_MAX + JOB_PAGE_BYTES];
    for (; field->kind != FIELD_END; field++) {
        filling->fields++;
        if (field->kind == FIELD_REPORT)
            fill_report(filling, field, message);
        else if (field->wire != NULL &&
                 memcmp((char *)message + field->offset, zeros, field->size) == 0)
            fill_field(filling, field, message);
    }
}

void specimen_fill(struct message *message, enum specimen how)
{
    struct filling filling = {.how = how};
    bool page = message->kind == MESSAGE_JOB_PAGE;
    if (page && how == SPECIMEN_EXAMPLE && message->job_page.offset == 0) /* A multiple. */
        message->job_page = (struct message_job_page){JOB_PAGE_BYTES, 2 * JOB_PAGE_BYTES, 0, {0}};
    if (message->kind == MESSAGE_EXCHANGE && how == SPECIMEN_SMALLEST) /* It is for something. */
        message->exchange.want = true;
    fill_fields(&filling, message_fields(MESSAGE_NONE), message);
    fill_fields(&filling, message_fields(message->kind), message);
}

struct message specimen(enum message_kind kind, enum specimen how)
{
    static const enum role roles[] = {ROLE_NONE, ROLE_WORKER, ROLE_COUNT - 1};
    static const uint32_t indexes[] = {0, 258, UINT32_MAX};
    struct message message;
    memset(&message, 0, sizeof message); /* Whole messages are compared. */
    message.kind = kind;
    message.role = roles[how];
    message.index = indexes[how];
    specimen_fill(&message, how);
    return message;
}

/* --- declarations ---------------------------------------------------------------------------- */

struct job specimen_job(enum mode mode)
{
    static const char *const servers[] = {"alpha:7000", "[::1]:7001"};
    struct job job = {
        .mode = mode,
        .use_locking = mode == MODE_ASYNC,
        .staleness_bound = mode == MODE_SSP ? 3 : 0,
        .backup_workers = mode == MODE_BACKUP ? 1 : 0,
        .staleness_rate = mode == MODE_SSP ? STALENESS_RATE_INVERSE : STALENESS_RATE_NONE,
        .delay_compensation = mode == MODE_SSP ? 0.25f : 0,
        .compensation_adapts = mode == MODE_SSP,
        .max_staleness = mode == MODE_SSP ? 20 : 0,
        .staleness_loses = mode == MODE_SSP,
        .accumulate = mode == MODE_ASYNC ? 4 : 0,
        .seed = 0x0102030405060708,
        .model = "flatten, dense 5 relu, dense 10",
        .optimizer = {.name = "rmsprop",
                      .momentum = 0.25f,
                      .beta1 = 0.9f,
                      .beta2 = 0.999f,
                      .rho = 0.8f,
                      .epsilon = 1e-7f,
                      .initial_accumulator = 0.1f,
                      .weight_decay = mode == MODE_SYNC ? 0.004f : 0}, /* The younger field. */
        .schedule = {SCHEDULE_STEP, 0.05, 7, 40, 1.0 / 3, mode == MODE_SSP ? 0.25 : 0},
        .data = "fashion-mnist",
        .data_digest = DIGEST_OF(9),
        .initial_digest = {mode == MODE_SSP ? 7 : 0},
        .examples = 60001,
        .test_examples = 10002,
        .score_piece = mode == MODE_SSP ? 500 : 0,
        .scores = mode == MODE_SSP ? SCORES_LOSS : SCORES_ACCURACY,
        .loss_unit = mode == MODE_SSP ? 0x1p-20 : 0,
        .batch = 64,
        .micro_batch = 16,
        .steps = mode == MODE_BACKUP ? 2 * 938 : 2003, /* Whole epochs. */
        .checkpoint_every = 938,
        .record = RECORDING_ON,
        .keep_scored = mode == MODE_SSP,
        .verify_every = mode == MODE_ALLREDUCE ? 100 : 0,
        .report_every = mode == MODE_SSP ? 10 : 0,
        .l2 = mode == MODE_SSP ? 0.25f : 0,
        .loss_scale = mode == MODE_SSP ? LOSS_SCALE_GLOBAL_BATCH : LOSS_SCALE_EXAMPLES,
        .compute = {mode == MODE_SSP ? 'a' : '\0', 'b'},
        .slow = {mode == MODE_SSP ? 'c' : '\0', 'd'},
        .straggle = {mode == MODE_SSP ? 'e' : '\0', 'f'},
        .pause = {mode == MODE_SSP ? 'i' : '\0', 'j'},
        .cluster = {mode == MODE_SSP ? 'g' : '\0', 'h'},
        .policy = {mode == MODE_SSP ? 'k' : '\0'},
        .chunk_bytes = 4096,
        .chunks_at_layers = mode == MODE_SSP,
        .worker_count = mode == MODE_SSP ? 2 : 3,
        .colocated = mode == MODE_SSP,
        .server_count = 2,
    };
    static const struct variable variables[] = {
        {.name = "dense1/kernel",
         .rank = 2,
         .shape = {7, 5},
         .initializer = INITIALIZER_GLOROT_UNIFORM,
         .average = 0.125f,
         .fan_in = 7,
         .fan_out = 5},
        {.name = "dense1/bias", .rank = 1, .shape = {5}},
    };
    struct error error;
    job.variable_count = 2;
    job.variables = calloc(1, sizeof variables);
    job.servers = calloc(job.server_count, sizeof *job.servers);
    assert(job.variables != NULL && job.servers != NULL);
    memcpy(job.variables, variables, sizeof variables);
    for (uint32_t i = 0; i < job.server_count; i++)
        snprintf(job.servers[i], ADDRESS_MAX, "%s", servers[i]);
    assert(job_check(&job, &error) == STATUS_OK);
    return job;
}
