/* test_initial.c - which variables a file gives, where their values lie, and what is not accepted. */
/* promises: initial */

#include "common/store/initial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define ELEMENTS 128 /* Of the sample's space: 35 and 5 and 50, each up to a multiple of 16. */

struct fixture {
    struct job job;
    char out[DISK_PATH_MAX], file[DISK_PATH_MAX], kept[DISK_PATH_MAX];
    struct error error;
    float *values;
};

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.job = sample_job()};
    scratch_path(f->out, "out");
    scratch_path(f->file, "file.safetensors");
    scratch_path(f->kept, "out/" INITIAL_FILE);
    ck_assert_int_eq(disk_posix.make_directory(disk_posix.context, f->out, NULL), STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    free(f->values);
    job_free(&f->job);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static float value_of(uint32_t variable, uint64_t element)
{
    return (float)variable + 0.001f * (float)element;
}

/* A file of the job's variables from the last to the first, but for those of `without` (bits), and of a
 * counter that is no variable. */
static void write_file(const struct fixture *f, unsigned without)
{
    static const char counter[] =
        "\"steps\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}";
    char header[1000] = "{";
    float data[ELEMENTS] = {0};
    uint64_t at = 2; /* Elements; the counter has two. */
    for (uint32_t i = f->job.variable_count; i-- > 0;) {
        const struct variable *variable = &f->job.variables[i];
        uint64_t elements = variable_elements(variable);
        char shape[VARIABLE_SHAPE_MAX];
        if (without >> i & 1)
            continue;
        sprintf(header + strlen(header),
                "\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%u,%u]},", variable->name,
                variable_shape(variable, shape), (unsigned)at * 4, (unsigned)(at + elements) * 4);
        for (uint64_t e = 0; e < elements; e++)
            data[at++] = value_of(i, e);
    }
    strcat(strcat(header, counter), "}");
    while (strlen(header) % 8 != 0)
        strcat(header, " ");
    uint64_t bytes = strlen(header);
    char *all = malloc(8 + bytes + at * 4);
    memcpy(all, &bytes, 8);
    memcpy(all + 8, header, bytes);
    memcpy(all + 8 + bytes, data, at * 4);
    scratch_write(f->file, all, 8 + bytes + at * 4);
    free(all);
}

static enum status declare(struct fixture *f, bool missing_new)
{
    return initial_declare(&f->job, &disk_posix, f->file, missing_new, &f->values, &f->error);
}

TEST(given_values_are_laid_out_by_name_and_gaps_are_zeros)
{
    uint64_t offsets[3];
    variables_layout(f->job.variables, 3, offsets);
    write_file(f, 0);
    ck_assert(!job_has_given(&f->job));
    ck_assert_msg(declare(f, false) == STATUS_OK, "%s", f->error.text);
    ck_assert(job_has_given(&f->job));
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t elements = variable_elements(&f->job.variables[i]), e = 0;
        ck_assert_int_eq(f->job.variables[i].initializer, INITIALIZER_GIVEN);
        for (; e < elements; e++)
            ck_assert(f->values[offsets[i] + e] == value_of(i, e));
        for (; e < variable_room(elements); e++)
            ck_assert(f->values[offsets[i] + e] == 0);
    }
    uint8_t digest[DIGEST_BYTES];
    hash_bytes(f->values, ELEMENTS * sizeof(float), digest);
    ck_assert_mem_eq(digest, f->job.initial_digest, DIGEST_BYTES);
    ck_assert_msg(job_check(&f->job, &f->error) == STATUS_OK, "%s", f->error.text);
}

TEST(what_is_missing_is_refused_or_begins_by_the_seed)
{
    float by_seed[ELEMENTS];
    variables_initialize(f->job.variables, 3, f->job.seed, NULL, 0, ELEMENTS, by_seed);
    write_file(f, 4);
    ck_assert_int_eq(declare(f, false), STATUS_MISMATCH);
    ck_assert_msg(strstr(f->error.text, "has no dense2/kernel [5,10] (--initial-missing new") !=
                      NULL,
                  "%s", f->error.text);
    ck_assert_msg(declare(f, true) == STATUS_OK, "%s", f->error.text);
    ck_assert_int_eq(f->job.variables[2].initializer, INITIALIZER_GLOROT_UNIFORM);
    ck_assert_mem_eq(f->values + 64, by_seed + 64, 64 * sizeof(float));
    ck_assert(f->values[1] == value_of(0, 1));
}

TEST(another_shape_is_refused_in_any_case)
{
    write_file(f, 0);
    f->job.variables[0].shape[0] = 8;
    f->job.variables[1].shape[0] = 6;
    f->job.variables[2].shape[0] = 4;
    ck_assert_int_eq(declare(f, true), STATUS_MISMATCH);
    ck_assert_msg(strstr(f->error.text, "has dense1/kernel [7,5], and the model's is [8,5]; it has "
                                        "dense1/bias [5], and the model's is [6]; and 1 more "
                                        "differ") != NULL,
                  "%s", f->error.text);
}

TEST(a_variable_that_only_a_file_can_give_is_never_new)
{
    write_file(f, 4);
    f->job.variables[2].initializer = INITIALIZER_GIVEN;
    ck_assert_int_eq(declare(f, true), STATUS_MISMATCH);
}

TEST(a_run_keeps_its_values_and_prefers_them)
{
    float *again;
    write_file(f, 0);
    ck_assert_int_eq(declare(f, false), STATUS_OK);
    ck_assert_int_eq(initial_read(&f->job, &disk_posix, f->out, NULL, &again, &f->error),
                     STATUS_NOT_FOUND);
    ck_assert_int_eq(initial_keep(&f->job, &disk_posix, f->out, f->values, &f->error), STATUS_OK);
    ck_assert_int_eq(initial_keep(&f->job, &disk_posix, f->out, NULL, &f->error), STATUS_OK);
    scratch_write(f->file, "", 0); /* It is not looked at any more. */
    ck_assert_msg(initial_read(&f->job, &disk_posix, f->out, f->file, &again, &f->error) ==
                      STATUS_OK,
                  "%s", f->error.text);
    ck_assert_mem_eq(again, f->values, ELEMENTS * sizeof(float));
    free(again);
}

TEST(values_of_a_run_that_has_not_begun_are_dropped)
{
    char run[DISK_PATH_MAX];
    write_file(f, 0);
    ck_assert_int_eq(declare(f, false), STATUS_OK);
    ck_assert_int_eq(initial_keep(&f->job, &disk_posix, f->out, f->values, &f->error), STATUS_OK);
    scratch_path(run, "out/run.json");
    scratch_write(run, "{}", 2);
    initial_drop(&disk_posix, f->out);
    ck_assert_int_eq(disk_posix.look(NULL, f->kept), DISK_FILE);
    ck_assert_int_eq(disk_posix.remove_tree(NULL, run, NULL), STATUS_OK);
    initial_drop(&disk_posix, f->out);
    ck_assert_int_eq(disk_posix.look(NULL, f->kept), DISK_NOTHING);
}

TEST(other_values_than_declared_are_refused_with_both_digests)
{
    float *again = NULL;
    char both[100];
    write_file(f, 0);
    ck_assert_int_eq(declare(f, false), STATUS_OK);
    snprintf(both, sizeof both, ", %02x%02x%02x%02x... in the job", f->job.initial_digest[0] ^ 1,
             f->job.initial_digest[1], f->job.initial_digest[2], f->job.initial_digest[3]);
    f->job.initial_digest[0] ^= 1;
    ck_assert_int_eq(initial_read(&f->job, &disk_posix, f->out, f->file, &again, &f->error),
                     STATUS_MISMATCH);
    ck_assert_ptr_null(again);
    ck_assert_msg(strstr(f->error.text, both) != NULL, "%s", f->error.text);
}

TEST(as_a_checkpoint_they_are_at_step_0_with_slots_at_their_first_values)
{
    struct checkpoint_reader reader;
    strcpy(f->job.optimizer.name, "adagrad");
    f->job.optimizer.initial_accumulator = 0.25f;
    write_file(f, 0);
    ck_assert_int_eq(declare(f, false), STATUS_OK);
    ck_assert_msg(initial_open(&reader, &f->job, &disk_posix, f->out, f->file, &f->error) ==
                      STATUS_OK,
                  "%s", f->error.text);
    ck_assert_uint_eq(reader.manifest.step, 0);
    ck_assert_uint_eq(reader.version, 0);
    ck_assert_uint_eq(reader.array_count, 2);
    ck_assert_uint_eq(reader.elements, ELEMENTS);
    ck_assert_mem_eq(reader.arrays[0], f->values, ELEMENTS * sizeof(float));
    for (uint64_t i = 0; i < ELEMENTS; i++)
        ck_assert(reader.arrays[1][i] == 0.25f);
    checkpoint_close(&reader);
}

int main(void)
{
    return suite_run("initial", scratch_add);
}
