/* job_fields.c - the table of the declaration, and one field by its row. */

#include "common/job/job_fields.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#include "common/job/compensation.h"
#include "common/job/partition.h"

/* clang-format off */
#define JOB_FIELD(member, wire, words, kind, flags, least, most, word)                             \
    {#member, wire, words, JOB_##kind, flags, least, most, word,                                   \
     offsetof(struct job, member), sizeof ((struct job *)0)->member},
#define JOB_OPTION(member, wire, words, kind, flags, least, most, word, ...)                       \
    JOB_FIELD(member, wire, words, kind, flags, least, most, word)

const struct job_field job_fields[] = {
#include "common/job/job_rows.inc"
};
/* clang-format on */

const size_t job_field_count = sizeof job_fields / sizeof *job_fields;

_Static_assert(sizeof(enum mode) == sizeof(uint32_t) &&
                   sizeof(enum schedule_kind) == sizeof(uint32_t) &&
                   sizeof(enum staleness_rate) == sizeof(uint32_t),
               "words are kept as numbers of 32 bits");

/* --- words ---------------------------------------------------------------------------------- */

const char *loss_scale_numbered(unsigned number)
{
    static const char *const names[LOSS_SCALE_COUNT] = {"examples", "global-batch"};
    return number < LOSS_SCALE_COUNT ? names[number] : NULL;
}

const char *recording_numbered(unsigned number)
{
    static const char *const words[RECORDING_COUNT] = {"off", "on"};
    return number < RECORDING_COUNT ? words[number] : NULL;
}

const char *scores_numbered(unsigned number)
{
    static const char *const names[SCORES_COUNT] = {"accuracy", "loss"};
    return number < SCORES_COUNT ? names[number] : NULL;
}

/* --- one field -------------------------------------------------------------------------------- */

const struct job_field *job_field_find(const char *member)
{
    for (size_t i = 0; i < job_field_count; i++)
        if (strcmp(job_fields[i].member, member) == 0)
            return &job_fields[i];
    assert(!"a member without a row");
    return NULL;
}

const void *job_field_at(const struct job_field *field, const struct job *job)
{
    return (const char *)job + field->offset;
}

void *job_field_in(const struct job_field *field, struct job *job)
{
    return (char *)job + field->offset;
}

const char *job_field_name(const struct job_field *field, size_t *object_length)
{
    const char *dot = strchr(field->member, '.');
    *object_length = dot == NULL ? 0 : (size_t)(dot - field->member);
    return dot == NULL ? field->member : dot + 1;
}

bool job_field_is_real(const struct job_field *field)
{
    return field->kind == JOB_FLOAT || field->kind == JOB_FRACTION || field->kind == JOB_REAL ||
           field->kind == JOB_RATE;
}

bool job_field_is_whole(const struct job_field *field)
{
    return field->kind == JOB_FLAG || field->kind == JOB_U32 || field->kind == JOB_U64 ||
           field->kind == JOB_BYTES || field->kind == JOB_WORD;
}

uint64_t job_field_whole(const struct job_field *field, const struct job *job)
{
    const void *at = job_field_at(field, job);
    assert(job_field_is_whole(field));
    switch (field->size) {
    case sizeof(bool):
        return *(const bool *)at;
    case sizeof(uint32_t):
        return *(const uint32_t *)at;
    default:
        return *(const uint64_t *)at;
    }
}

void job_field_set_whole(const struct job_field *field, struct job *job, uint64_t value)
{
    void *at = job_field_in(field, job);
    assert(job_field_is_whole(field));
    switch (field->size) {
    case sizeof(bool):
        *(bool *)at = value != 0;
        return;
    case sizeof(uint32_t):
        *(uint32_t *)at = (uint32_t)value;
        return;
    default:
        *(uint64_t *)at = value;
    }
}

double job_field_real(const struct job_field *field, const struct job *job)
{
    const void *at = job_field_at(field, job);
    if (!job_field_is_real(field))
        return (double)job_field_whole(field, job);
    return field->size == sizeof(float) ? (double)*(const float *)at : *(const double *)at;
}

bool job_field_is_zero(const struct job_field *field, const struct job *job)
{
    static const uint8_t zeros[DIGEST_BYTES];
    if (field->kind == JOB_TEXT)
        return *(const char *)job_field_at(field, job) == '\0';
    assert(job_field_is_real(field) || job_field_is_whole(field) || field->kind == JOB_DIGEST);
    return memcmp(job_field_at(field, job), zeros, field->size) == 0;
}

enum status job_field_number(const struct job_field *field, const char *word, uint64_t *number)
{
    const char *known;
    for (unsigned i = 0; (known = field->word(i)) != NULL; i++) {
        *number = i;
        if (strcmp(known, word) == 0)
            return STATUS_OK;
    }
    return STATUS_NOT_FOUND;
}

/* --- check ------------------------------------------------------------------------------------ */

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

/* Text for people: UTF-8, because a folder's name may be in any language. */
static bool is_printable(const char *text, size_t size)
{
    if (memchr(text, '\0', size) == NULL)
        return false;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = character_bytes(at);
        if (bytes == 0)
            return false;
        at += bytes;
    }
    return true;
}

static enum status check_whole(const struct job_field *field, const struct job *job,
                               struct error *error)
{
    uint64_t value = job_field_whole(field, job);
    bool zero = (field->flags & (JOB_OR_ZERO | JOB_UNSET_ZERO)) != 0;
    if (((double)value >= field->least && (double)value <= field->most) || (zero && value == 0))
        return STATUS_OK;
    if (field->most >= JOB_ANY_NUMBER)
        return error_set(error, STATUS_INVALID, "%s must be at least %.0f, not %llu", field->words,
                         field->least, (unsigned long long)value);
    return error_set(error, STATUS_INVALID, "%s must be %sfrom %.0f to %.0f, not %llu",
                     field->words, zero ? "0, or " : "", field->least, field->most,
                     (unsigned long long)value);
}

/* Written so that NaN fails. */
static enum status check_real(const struct job_field *field, const struct job *job,
                              struct error *error)
{
    double value = job_field_real(field, job);
    bool below = field->kind == JOB_FRACTION, above = field->kind == JOB_RATE;
    /* FLT_MIN: a rate that a float cannot hold would train with 0 silently. */
    double least = above ? (double)FLT_MIN : field->least;
    if (value >= least && value <= field->most && !(below && value == field->most))
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "%s must be %s %g and %s %g, not %g", field->words,
                     above ? "above" : "at least", field->least, below ? "below" : "at most",
                     field->most, value);
}

static enum status check_word(const struct job_field *field, const struct job *job,
                              struct error *error)
{
    uint64_t number = job_field_whole(field, job);
    for (unsigned i = 0; field->word(i) != NULL; i++)
        if (i == number)
            return STATUS_OK;
    return error_set(error, STATUS_INVALID, "there is no %s number %llu", field->words,
                     (unsigned long long)number);
}

/* One field of any kind but the lists: within its bounds, or a known word, or printable. */
static enum status check_field(const struct job_field *field, const struct job *job,
                               struct error *error)
{
    const char *text = job_field_at(field, job);
    switch (field->kind) {
    case JOB_FLAG: /* Any. */
    case JOB_DIGEST:
    case JOB_VARIABLES: /* Checked as a whole. */
    case JOB_SERVERS:
        return STATUS_OK;
    case JOB_U32:
    case JOB_U64:
    case JOB_BYTES:
        return check_whole(field, job, error);
    case JOB_FLOAT:
    case JOB_FRACTION:
    case JOB_REAL:
    case JOB_RATE:
        return check_real(field, job, error);
    case JOB_WORD:
        return check_word(field, job, error);
    case JOB_NAME: /* The optimizer's. */
        return optimizer_name_check(text, error);
    case JOB_TEXT:
        return is_printable(text, field->size)
                   ? STATUS_OK
                   : error_set(error, STATUS_INVALID, "%s: not a printable text of %zu bytes",
                               field->words, field->size - 1);
    }
    return STATUS_OK;
}

enum status job_fields_check(const struct job *job, const char *prefix, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < job_field_count && status == STATUS_OK; i++)
        if (strncmp(job_fields[i].member, prefix, strlen(prefix)) == 0)
            status = check_field(&job_fields[i], job, error);
    return status;
}
