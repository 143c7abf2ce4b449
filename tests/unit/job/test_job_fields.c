/* test_job_fields.c - every row of the declaration does all that a row is for: two jobs that differ
 * in it alone are told apart everywhere, what is beyond its bounds is refused, its option sets it.
 * The rows come from the table, so a new one is tried without a line here. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/job/job_fields.h"
#include "common/job/job_json.h"
#include "common/options/options_table.h"
#include "common/wire/message.h"
#include "proto/syncopate.pb-c.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

static void set_real(const struct job_field *field, struct job *job, double value)
{
    if (field->size == sizeof(float))
        *(float *)job_field_in(field, job) = (float)value;
    else
        *(double *)job_field_in(field, job) = value;
}

/* Ssp, so that locking may be on, which it is not; a step schedule; no number is 0. */
static struct job base_job(void)
{
    struct job job = specimen_job(MODE_SSP);
    job.use_locking = job.colocated = false; /* But there are as many servers as workers. */
    for (size_t i = 0; i < job_field_count; i++) {
        const struct job_field *field = &job_fields[i];
        if (job_field_is_real(field) && field->flags & JOB_LATER)
            set_real(field, &job, 0.25); /* The golden declarations are of before. */
        ck_assert_msg(!job_field_is_real(field) || job_field_real(field, &job) > 0,
                      "%s: give specimen_job a value for it", field->member);
    }
    return job;
}

/* Where another mode's fields are those of nobody. */
static struct job base_for(const struct job_field *field)
{
    struct job job = base_job();
    bool has_backup = strcmp(field->member, "backup_workers") == 0;
    if (!has_backup && strcmp(field->member, "accumulate") != 0)
        return job;
    job.mode = has_backup ? MODE_BACKUP : MODE_ASYNC;
    job.backup_workers = has_backup;
    job.worker_count = has_backup ? 4 : job.worker_count;
    job_forget_unused(&job);
    job.staleness_bound = 0;
    return job;
}

static void halve(const struct job_field *field, struct job *job)
{
    if (field->size == sizeof(float))
        *(float *)job_field_in(field, job) /= 2;
    else
        *(double *)job_field_in(field, job) /= 2;
}

/* Another value, as good as the one that is there. */
static void change(const struct job_field *field, struct job *job)
{
    char *at = job_field_in(field, job);
    uint64_t whole = job_field_is_whole(field) ? job_field_whole(field, job) : 0;
    if (job_field_is_real(field))
        halve(field, job);
    else if (field->kind == JOB_FLAG)
        job_field_set_whole(field, job, !whole);
    else if (field->kind == JOB_WORD)
        job_field_set_whole(field, job, field->word((unsigned)whole + 1) != NULL ? whole + 1 : 0);
    else if (job_field_is_whole(field))
        job_field_set_whole(field, job, whole + 1);
    else if (field->kind == JOB_NAME)
        snprintf(at, field->size, "sgd");
    else if (field->kind == JOB_TEXT)
        snprintf(at, field->size, "another");
    else if (field->kind == JOB_DIGEST)
        at[DIGEST_BYTES - 1] ^= 1;
    else if (field->kind == JOB_VARIABLES)
        snprintf(job->variables[1].name, VARIABLE_NAME_MAX, "another/bias");
    else if (field->kind == JOB_SERVERS)
        snprintf(job->servers[1], ADDRESS_MAX, "another:1");
}

static struct job changed_job(const struct job_field *field)
{
    struct job job = base_for(field);
    struct error error;
    change(field, &job);
    if (!job_mode(&job)->bounds)
        job.staleness_bound = 0;
    if (job_mode(&job)->sets != (job.backup_workers > 0)) /* Each needs the other. */
        job.backup_workers = job_mode(&job)->sets;
    job_forget_unused(&job);
    ck_assert_msg(job_check(&job, &error) == STATUS_OK, "%s: %s", field->member, error.text);
    return job;
}

/* Whether a field has the same value in both, without the table's help for lists. */
static bool same(const struct job_field *field, const struct job *a, const struct job *b)
{
    if (field->kind == JOB_VARIABLES)
        return a->variable_count == b->variable_count &&
               strcmp(a->variables[1].name, b->variables[1].name) == 0;
    if (field->kind == JOB_SERVERS)
        return a->server_count == b->server_count && strcmp(a->servers[1], b->servers[1]) == 0;
    if (field->kind == JOB_TEXT || field->kind == JOB_NAME)
        return strcmp(job_field_at(field, a), job_field_at(field, b)) == 0;
    return memcmp(job_field_at(field, a), job_field_at(field, b), field->size) == 0;
}

static void expect_all_same(const struct job *a, const struct job *b, const char *way)
{
    for (size_t i = 0; i < job_field_count; i++)
        ck_assert_msg(same(&job_fields[i], a, b), "%s is lost %s", job_fields[i].member, way);
}

/* --- what is told apart ----------------------------------------------------------------------- */

static bool is_among(const char *member, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, member) == 0)
            return true;
    return false;
}

/* Written here once more: that a row moves from one list to another has to be meant. */
static const char *const labels[] = {"data",  "compute", "slow",   "straggle",
                                     "pause", "cluster", "policy", NULL};
static const char *const spread[] = {"steps",       "checkpoint_every", "record",
                                     "keep_scored", "verify_every",     "report_every",
                                     "chunk_bytes", "chunks_at_layers", "worker_count",
                                     "servers",     "colocated",        NULL};
static const char *const read_later[] = {"data_digest", "initial_digest", NULL};
static const char *const without_option[] = {"staleness_bound",
                                             "staleness_loses",
                                             "compensation_adapts",
                                             "model",
                                             "variables",
                                             "initial_digest",
                                             "data",
                                             "data_digest",
                                             "examples",
                                             "test_examples",
                                             "score_piece",
                                             "scores",
                                             "batch",
                                             "compute",
                                             "slow",
                                             "straggle",
                                             "pause",
                                             "cluster",
                                             "policy",
                                             "worker_count",
                                             "servers",
                                             "colocated",
                                             NULL};
static const char *const boundless[] = {"staleness_bound",
                                        "staleness_loses",
                                        "compensation_adapts",
                                        "use_locking",
                                        "seed",
                                        "data_digest",
                                        "initial_digest",
                                        "test_examples",
                                        "checkpoint_every",
                                        "keep_scored",
                                        "chunks_at_layers",
                                        "colocated",
                                        NULL};

static void expect_compared(const struct job_field *field, enum job_scope scope, bool told)
{
    struct job ours = base_for(field), theirs = changed_job(field);
    struct error error = {.text = ""};
    enum status status = job_compare(&ours, "a", &theirs, "b", scope, &error);
    ck_assert_msg((status == STATUS_MISMATCH) == told, "%s in scope %d: '%s'", field->member,
                  (int)scope, error.text);
    uint8_t a[DIGEST_BYTES], b[DIGEST_BYTES];
    job_hash(&ours, scope, a);
    job_hash(&theirs, scope, b);
    ck_assert_msg((memcmp(a, b, DIGEST_BYTES) != 0) == told, "digest and %s in scope %d",
                  field->member, (int)scope);
    bool list = field->kind == JOB_VARIABLES || field->kind == JOB_SERVERS;
    ck_assert_msg(!told || list || strncmp(error.text, field->words, strlen(field->words)) == 0,
                  "%s: '%s'", field->member, error.text);
    job_free(&ours);
    job_free(&theirs);
}

TEST_TIMES(a_field_is_compared_and_named, job_field_count)
{
    const struct job_field *field = &job_fields[_i];
    bool label = is_among(field->member, labels), spreads = is_among(field->member, spread);
    expect_compared(field, JOB_SCOPE_ALL, !label);
    expect_compared(field, JOB_SCOPE_RESUME, !label && !spreads);
    expect_compared(field, JOB_SCOPE_UNREAD,
                    !label && !spreads && !is_among(field->member, read_later));
}

TEST_TIMES(a_field_comes_back_from_json, job_field_count)
{
    struct job job = changed_job(&job_fields[_i]), back;
    struct json_writer writer;
    struct json *root;
    struct error error;
    json_writer_init(&writer, false);
    job_write_json(&writer, NULL, &job);
    ck_assert_int_eq(json_parse(writer.text, writer.bytes, "test", &root, &error), STATUS_OK);
    ck_assert_msg(job_read_json(&back, root, "test", &error) == STATUS_OK, "%s", error.text);
    expect_all_same(&job, &back, "in JSON");
    json_release(&root);
    json_writer_free(&writer);
    job_free(&job);
    job_free(&back);
}

TEST_TIMES(a_field_comes_back_from_the_wire, job_field_count)
{
    struct job job = changed_job(&job_fields[_i]), back;
    uint8_t *bytes;
    uint32_t count;
    struct error error;
    ck_assert_int_eq(job_encode(&job, &bytes, &count), STATUS_OK);
    ck_assert_msg(job_decode(bytes, count, &back, &error) == STATUS_OK, "%s", error.text);
    expect_all_same(&job, &back, "on the wire");
    free(bytes);
    job_free(&job);
    job_free(&back);
}

TEST_TIMES(a_field_is_in_the_digest, job_field_count)
{
    struct job job = base_for(&job_fields[_i]), other = changed_job(&job_fields[_i]);
    uint8_t a[DIGEST_BYTES], b[DIGEST_BYTES];
    ck_assert_int_eq(job_digest(&job, a), STATUS_OK);
    ck_assert_int_eq(job_digest(&other, b), STATUS_OK);
    ck_assert_msg((memcmp(a, b, sizeof a) == 0) == is_among(job_fields[_i].member, labels), "%s",
                  job_fields[_i].member);
    job_free(&job);
    job_free(&other);
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void expect_refused(const struct job_field *field, struct job *job, int *refused)
{
    struct error error = {.text = ""};
    enum status status = job_check(job, &error);
    ck_assert_msg(status == STATUS_INVALID, "%s beyond its bounds passes", field->member);
    ck_assert_msg(strstr(error.text, field->words) != NULL || field->kind == JOB_SERVERS,
                  "%s: '%s'", field->member, error.text);
    ++*refused;
    job_free(job);
}

static void refuse_whole(const struct job_field *field, uint64_t value, int *refused)
{
    struct job job = base_job();
    job_field_set_whole(field, &job, value);
    expect_refused(field, &job, refused);
}

static void refuse_real(const struct job_field *field, double value, int *refused)
{
    struct job job = base_job();
    set_real(field, &job, value);
    expect_refused(field, &job, refused);
}

static void refuse_text(const struct job_field *field, const char *text, int *refused)
{
    struct job job = base_job();
    snprintf(job_field_in(field, &job), field->size, "%s", text);
    expect_refused(field, &job, refused);
}

static void refuse_list(const struct job_field *field, int *refused)
{
    struct job job = base_job();
    if (field->kind == JOB_VARIABLES)
        job.variable_count = 0;
    else
        memcpy(job.servers[1], job.servers[0], ADDRESS_MAX);
    expect_refused(field, &job, refused);
}

static void refuse_numbers(const struct job_field *field, int *refused)
{
    bool zero = (field->flags & (JOB_OR_ZERO | JOB_UNSET_ZERO)) != 0;
    if (field->least > (zero ? 1 : 0))
        refuse_whole(field, zero ? 1 : (uint64_t)field->least - 1, refused);
    if (field->most < JOB_ANY_NUMBER)
        refuse_whole(field, (uint64_t)field->most + 1, refused);
}

TEST_TIMES(what_is_beyond_the_bounds_is_refused, job_field_count)
{
    const struct job_field *field = &job_fields[_i];
    int refused = 0;
    if (job_field_is_real(field)) {
        refuse_real(field, (double)NAN, &refused);
        refuse_real(field, (double)INFINITY, &refused);
        refuse_real(field, field->least - 0.001, &refused);
        refuse_real(field, field->most * 1.001, &refused);
        if (field->kind == JOB_FRACTION)
            refuse_real(field, field->most, &refused);
        if (field->kind == JOB_RATE)
            refuse_real(field, 0, &refused);
    } else if (field->kind == JOB_WORD) {
        refuse_whole(field, UINT32_MAX, &refused);
    } else if (field->kind == JOB_TEXT || field->kind == JOB_NAME) {
        refuse_text(field, "\x01", &refused);
    } else if (field->kind == JOB_VARIABLES || field->kind == JOB_SERVERS) {
        refuse_list(field, &refused);
    } else if (field->kind != JOB_FLAG && field->kind != JOB_DIGEST) {
        refuse_numbers(field, &refused);
    }
    ck_assert_msg((refused > 0) != is_among(field->member, boundless), "%s: %d refusals",
                  field->member, refused);
}

/* --- options ---------------------------------------------------------------------------------- */

static const struct option_row *option_of(const struct job_field *field)
{
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].offset == offsetof(struct options, job) + field->offset &&
            option_rows[i].users & OPTION_RUN)
            return &option_rows[i];
    return NULL;
}

/* Read "--NAME=TEXT", with what it is of use with. */
static enum options_result parse(const struct option_row *row, const char *text,
                                 struct options *options)
{
    char given[128], with[64] = "--quiet", words[OPTION_WORDS_MAX];
    struct error error;
    snprintf(given, sizeof given, "--%s=%s", row->name, text);
    if (row->only_with != NULL)
        snprintf(with, sizeof with, "--%.*s%.*s", (int)strcspn(row->only_with, "=") + 1,
                 row->only_with, (int)strcspn(option_wanted(row, words), "|"),
                 option_wanted(row, words));
    if (strcmp(row->name, "warmup-from") == 0)
        snprintf(with, sizeof with, "--warmup-steps=8");
    char program[] = "run", workers[] = "--workers=1024"; /* As many as any option speaks of. */
    char *argv[] = {program, with, given, workers, NULL};
    return options_parse(options, OPTION_RUN, "run", 4, argv, &error);
}

static struct job job_of(const struct option_row *row, const char *text)
{
    struct options options;
    struct job job;
    struct error error;
    ck_assert_msg(parse(row, text, &options) == OPTIONS_RUN, "--%s=%s", row->name, text);
    ck_assert_msg(options_job(&options, 60000, &job, &error) == STATUS_OK, "%s", error.text);
    return job;
}

/* Two values that are right. */
static void texts_of(const struct job_field *field, char one[32], char other[32])
{
    snprintf(one, 32, "%s", job_field_is_real(field) ? "0.25" : "96");
    snprintf(other, 32, "%s", job_field_is_real(field) ? "0.5" : "112");
    if (field->kind == JOB_FLAG) {
        strcpy(one, "false");
        strcpy(other, "true");
    } else if (field->kind == JOB_WORD) {
        snprintf(one, 32, "%s", field->word(0));
        snprintf(other, 32, "%s", field->word(1));
    } else if (field->kind == JOB_NAME) {
        snprintf(one, 32, "sgd");
        snprintf(other, 32, "adagrad");
    } else if (strcmp(field->member, "micro_batch") == 0) { /* A leaf is no larger than 64. */
        strcpy(one, "3");
        strcpy(other, "5");
    }
}

TEST_TIMES(an_option_sets_its_field, job_field_count)
{
    const struct job_field *field = &job_fields[_i];
    const struct option_row *row = option_of(field);
    ck_assert_msg((row == NULL) == is_among(field->member, without_option), "%s", field->member);
    if (row == NULL)
        return;
    char one[32], other[32];
    texts_of(field, one, other);
    struct job first = job_of(row, one), second = job_of(row, other);
    ck_assert_msg(!same(field, &first, &second), "--%s sets nothing", row->name);
    if (job_field_is_real(field))
        ck_assert_msg(job_field_real(field, &first) == 0.25, "--%s", row->name);
    job_free(&first);
    job_free(&second);
}

TEST_TIMES(an_option_has_the_bounds_of_its_field, job_field_count)
{
    const struct job_field *field = &job_fields[_i];
    const struct option_row *row = option_of(field);
    struct options options;
    if (row == NULL || field->kind == JOB_FLAG)
        return;
    ck_assert_int_eq(parse(row, "-1", &options), OPTIONS_BAD);
    ck_assert_int_eq(parse(row, "1e30", &options), OPTIONS_BAD);
    if (field->kind != JOB_WORD && field->kind != JOB_NAME)
        ck_assert(row->max == field->most && (row->min == field->least || row->min == 0));
    ck_assert(row->help[0] != '\0' && row->metavar != NULL);
}

/* --- the table itself ------------------------------------------------------------------------- */

TEST_PLAIN(every_line_of_the_protocols_job_has_one_row)
{
    const ProtobufCMessageDescriptor *wire = &syncopate__job__descriptor;
    ck_assert_uint_eq(wire->n_fields, job_field_count);
    for (unsigned i = 0; i < wire->n_fields; i++) {
        int rows = 0;
        for (size_t k = 0; k < job_field_count; k++)
            rows += strcmp(job_fields[k].wire, wire->fields[i].name) == 0;
        ck_assert_msg(rows == 1, "%s has %d rows", wire->fields[i].name, rows);
    }
}

static void cover(char *covered, size_t offset, size_t size)
{
    for (size_t i = offset; i < offset + size; i++) {
        ck_assert_msg(!covered[i], "two rows have byte %zu", i);
        covered[i] = 1;
    }
}

/* What is between two rows can only be what the compiler leaves for alignment. */
TEST_PLAIN(every_member_of_the_declaration_has_a_row)
{
    char covered[sizeof(struct job)] = {0};
    for (size_t i = 0; i < job_field_count; i++)
        cover(covered, job_fields[i].offset, job_fields[i].size);
    cover(covered, offsetof(struct job, variable_count), sizeof(uint32_t));
    cover(covered, offsetof(struct job, server_count), sizeof(uint32_t));
    size_t gap = 0;
    for (size_t i = 0; i < sizeof covered; i++) {
        bool aligned = (i + 1) % sizeof(uint64_t) == 0;
        gap = covered[i] ? 0 : gap + 1;
        ck_assert_msg(gap <= 4 && (gap == 0 || aligned || !covered[i + 1]), "no row has byte %zu",
                      i);
    }
    size_t settings = offsetof(struct job, optimizer);
    for (size_t i = settings; i < settings + sizeof(struct optimizer_settings); i++)
        ck_assert_msg(covered[i], "no row has byte %zu of the optimizer's settings", i - settings);
}

int main(void)
{
    return suite_run("job_fields", NULL);
}
