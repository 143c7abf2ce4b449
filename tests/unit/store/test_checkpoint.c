/* test_checkpoint.c - checkpoints and models: written by any number of servers, read back, damaged
 * in every way, kept and removed. */
/* promises: accumulate checkpoints export model-file restore */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/beside.h"
#include "common/base/hash.h"
#include "common/store/checkpoint.h"
#include "common/store/run_directory.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define ELEMENTS 128 /* Of the sample: 35, 5 and 50, each on a boundary of 16: 48 + 16 + 64. */
#define ARRAYS   3
#define RUN_ID   UINT64_C(0xFEDCBA9876543210)

static const struct disk *const disk = &disk_posix;

/* Value of an element of an array: different everywhere, and some are not numbers. */
static float element_of(uint32_t array, uint64_t element)
{
    return element == 3 ? NAN : (float)(1000 * array + element) / 3;
}

static void fill(float space[ARRAYS][ELEMENTS])
{
    for (uint32_t array = 0; array < ARRAYS; array++)
        for (uint64_t i = 0; i < ELEMENTS; i++)
            space[array][i] = element_of(array, i);
}

/* Write the part of `server` of `servers`: every servers-th chunk of 16 elements. */
static void write_part(const char *out, uint64_t step, uint32_t server, uint32_t servers,
                       struct checkpoint_part *part)
{
    static float space[ARRAYS][ELEMENTS];
    struct checkpoint_chunk chunks[ELEMENTS / 16];
    uint32_t count = 0;
    fill(space);
    for (uint64_t first = 16 * server; first < ELEMENTS; first += 16 * servers) {
        chunks[count] = (struct checkpoint_chunk){.first = first, .count = 16};
        for (uint32_t array = 0; array < ARRAYS; array++)
            chunks[count].arrays[array] = &space[array][first];
        count++;
    }
    struct error error;
    enum status status = checkpoint_write_part(disk, out, step, 0, server, servers,
                                               optimizer_slots(optimizer_find("adam")), chunks,
                                               count, false, part, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
}

static void write_manifest(const char *out, uint64_t step, struct checkpoint_part *parts,
                           uint32_t servers)
{
    struct manifest manifest = {
        .job = sample_job(), .run_id = RUN_ID, .step = step, .part_count = servers, .parts = parts};
    struct error error;
    ck_assert_msg(checkpoint_write_manifest(disk, out, &manifest, &error) == STATUS_OK, "%s",
                  error.text);
    job_free(&manifest.job);
}

static void write_checkpoint(const char *out, uint64_t step, uint32_t servers)
{
    struct checkpoint_part parts[8];
    for (uint32_t i = 0; i < servers; i++)
        write_part(out, step, i, servers, &parts[i]);
    write_manifest(out, step, parts, servers);
}

/* The path of a file of the checkpoint. */
static void file_path(char *path, const char *out, uint64_t step, const char *name)
{
    char directory[DISK_PATH_MAX];
    checkpoint_path(directory, out, step);
    ck_assert_int_lt(snprintf(path, DISK_PATH_MAX, "%s/%s", directory, name), DISK_PATH_MAX);
}

static enum status open_step(struct checkpoint_reader *reader, const char *out, uint64_t step,
                             struct error *error)
{
    char path[DISK_PATH_MAX];
    checkpoint_path(path, out, step);
    return checkpoint_open(reader, disk, path, error);
}

/* A run's folder in the scratch directory, and what is read there. */
struct place {
    char out[DISK_PATH_MAX], path[DISK_PATH_MAX];
    struct checkpoint_reader reader;
    struct error error;
};

static void place_open(struct place *p)
{
    memset(p, 0, sizeof *p);
    scratch_path(p->out, "run");
}

#define TEST(name) SUITE_TEST(name, struct place, p, place_open(p), checkpoint_close(&p->reader))

TEST(values_alone_are_those_of_the_whole_and_the_slots_are_verified_all_the_same)
{
    char part[DISK_PATH_MAX];
    struct checkpoint_reader whole, values;
    write_checkpoint(p->out, 7, 1);
    checkpoint_path(p->path, p->out, 7);
    ck_assert_int_eq(checkpoint_open(&whole, disk, p->path, &p->error), STATUS_OK);
    ck_assert_int_eq(checkpoint_open_values(&values, disk, p->path, &p->error), STATUS_OK);
    ck_assert_uint_eq(values.array_count, 1);
    ck_assert_mem_eq(values.arrays[0], whole.arrays[0], whole.elements * sizeof(float));
    ck_assert_ptr_null(values.arrays[1]);
    checkpoint_close(&values);
    checkpoint_close(&whole);

    file_path(part, p->out, 7, "part-0-of-1.safetensors");
    size_t bytes;
    char *data = scratch_read(part, &bytes);
    data[bytes - 1] = (char)(data[bytes - 1] ^ 1); /* The last slot's last value. */
    scratch_write(part, data, bytes);
    free(data);
    ck_assert_int_eq(checkpoint_open_values(&values, disk, p->path, &p->error), STATUS_INVALID);
}

TEST_PLAIN(what_any_number_of_servers_wrote_reads_back)
{
    for (uint32_t servers = 1; servers <= 8; servers++) {
        char out[DISK_PATH_MAX];
        struct checkpoint_reader reader;
        struct error error;
        float space[ARRAYS][ELEMENTS];
        scratch_path(out, "run");
        write_checkpoint(out, servers, servers);
        enum status status = open_step(&reader, out, servers, &error);
        ck_assert_msg(status == STATUS_OK, "%s", error.text);
        ck_assert_uint_eq(reader.array_count, ARRAYS);
        ck_assert_uint_eq(reader.elements, ELEMENTS);
        ck_assert_uint_eq(reader.manifest.run_id, RUN_ID);
        ck_assert_uint_eq(reader.manifest.step, servers);
        fill(space);
        for (uint32_t i = 0; i < ARRAYS; i++)
            ck_assert_mem_eq(reader.arrays[i], space[i], sizeof space[i]);
        struct job job = sample_job();
        ck_assert_int_eq(job_compare(&job, "a", &reader.manifest.job, "b", JOB_SCOPE_ALL, &error),
                         STATUS_OK);
        job_free(&job);
        checkpoint_close(&reader);
        checkpoint_close(&reader); /* Closing twice is harmless. */
    }
}

/* Change a file by one bit or cut it, expect a refusal that names it, and mend it. */
static void expect_damage(const char *out, const char *name, const char *data, size_t bytes,
                          const char *damaged, size_t damaged_bytes)
{
    char path[DISK_PATH_MAX];
    struct checkpoint_reader reader;
    struct error error;
    file_path(path, out, 5, name);
    scratch_write(path, damaged, damaged_bytes);
    enum status status = open_step(&reader, out, 5, &error);
    ck_assert_msg(status == STATUS_INVALID, "%s: %d", name, status);
    ck_assert_msg(strstr(error.text, name) != NULL, "%s", error.text);
    ck_assert_ptr_null(reader.arrays[0]);
    scratch_write(path, data, bytes);
}

static const char *const file_names[] = {"manifest.json", "part-0-of-2.safetensors",
                                         "part-1-of-2.safetensors"};

TEST(a_flipped_bit_anywhere_is_noticed)
{
    write_checkpoint(p->out, 5, 2);
    for (size_t i = 0; i < 3; i++) {
        size_t bytes;
        file_path(p->path, p->out, 5, file_names[i]);
        char *data = scratch_read(p->path, &bytes);
        char *damaged = malloc(bytes);
        ck_assert_ptr_nonnull(damaged);
        for (size_t bit = 0; bit < 8 * bytes; bit += 11) {
            memcpy(damaged, data, bytes);
            damaged[bit / 8] = (char)(damaged[bit / 8] ^ (1 << bit % 8));
            expect_damage(p->out, file_names[i], data, bytes, damaged, bytes);
        }
        free(damaged);
        free(data);
    }
    ck_assert_int_eq(open_step(&p->reader, p->out, 5, NULL), STATUS_OK);
    checkpoint_close(&p->reader);
}

TEST(a_file_cut_off_or_grown_is_noticed)
{
    write_checkpoint(p->out, 5, 2);
    for (size_t i = 0; i < 3; i++) {
        size_t bytes;
        file_path(p->path, p->out, 5, file_names[i]);
        char *data = scratch_read(p->path, &bytes);
        for (size_t cut = 0; cut < bytes; cut += 1 + bytes / 50)
            expect_damage(p->out, file_names[i], data, bytes, data, cut);
        expect_damage(p->out, file_names[i], data, bytes, data, bytes - 1);
        expect_damage(p->out, file_names[i], data, bytes, data, bytes + 1); /* With the zero. */
        free(data);
    }
}

TEST(a_missing_part_is_damage_and_a_missing_manifest_is_no_checkpoint)
{
    write_checkpoint(p->out, 5, 2);
    file_path(p->path, p->out, 5, file_names[2]);
    ck_assert_int_eq(unlink(p->path), 0);
    ck_assert_int_eq(open_step(&p->reader, p->out, 5, &p->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(p->error.text, file_names[2]));
    file_path(p->path, p->out, 5, file_names[0]);
    ck_assert_int_eq(unlink(p->path), 0);
    ck_assert_int_eq(open_step(&p->reader, p->out, 5, &p->error), STATUS_NOT_FOUND);
    ck_assert_int_eq(open_step(&p->reader, p->out, 6, &p->error), STATUS_NOT_FOUND);
}

/* Write one part of these chunks with a right manifest, and open it. */
static enum status open_chunks(const struct checkpoint_chunk *chunks, uint32_t count,
                               uint64_t part_step, struct error *error)
{
    char out[DISK_PATH_MAX], directory[DISK_PATH_MAX], from[DISK_PATH_MAX], to[DISK_PATH_MAX];
    struct checkpoint_part part;
    struct checkpoint_reader reader;
    scratch_path(out, "run");
    ck_assert_int_eq(checkpoint_write_part(disk, out, part_step, 0, 0, 1,
                                           optimizer_slots(optimizer_find("adam")), chunks, count,
                                           false, &part, NULL),
                     STATUS_OK);
    file_path(from, out, part_step, part.name);
    file_path(to, out, 9, part.name);
    checkpoint_path(directory, out, 9);
    ck_assert_int_eq(disk->make_directory(NULL, directory, NULL), STATUS_OK);
    ck_assert_int_eq(rename(from, to), 0);
    write_manifest(out, 9, &part, 1);
    enum status status = open_step(&reader, out, 9, error);
    checkpoint_close(&reader);
    return status;
}

TEST_PLAIN(chunks_must_cover_the_space_exactly_once)
{
    static float zeros[ELEMENTS];
#define CHUNK(first, count)                                                                        \
    {                                                                                              \
        first, count, {zeros, zeros, zeros}, 0, NULL, NULL                                         \
    }
    static const struct {
        struct checkpoint_chunk chunks[3];
        uint32_t count;
        bool whole;
    } cases[] = {
        {{CHUNK(0, 128)}, 1, true},
        {{CHUNK(64, 64), CHUNK(0, 64)}, 2, true},
        {{CHUNK(0, 112)}, 1, false},               /* Short. */
        {{CHUNK(0, 64)}, 1, false},                /* Half. */
        {{CHUNK(16, 112)}, 1, false},              /* Late. */
        {{CHUNK(0, 64), CHUNK(80, 48)}, 2, false}, /* A hole. */
        {{CHUNK(0, 64), CHUNK(48, 80)}, 2, false}, /* Overlap. */
        {{CHUNK(0, 64), CHUNK(48, 64)}, 2, false}, /* Overlap of the right size in all. */
        {{CHUNK(0, 64), CHUNK(80, 64)}, 2, false}, /* A hole, and beyond. */
        {{CHUNK(0, 128), CHUNK(128, 16)}, 2, false} /* Beyond. */,
        {{CHUNK(0, 128), CHUNK(UINT64_MAX, 16)}, 2, false},
        {{CHUNK(0, 64), CHUNK(64, 0), CHUNK(64, 64)}, 3, false}, /* Empty. */
        {{CHUNK(0, 0)}, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error;
        enum status status = open_chunks(cases[i].chunks, cases[i].count, 9, &error);
        ck_assert_msg(status == (cases[i].whole ? STATUS_OK : STATUS_INVALID), "case %zu: %d", i,
                      status);
    }
}

/* Two parts of a job that accumulates. */
static enum status open_versions(uint64_t one, uint64_t other, struct checkpoint_reader *reader,
                                 struct error *error)
{
    static float zeros[ELEMENTS];
    struct checkpoint_chunk chunks[] = {CHUNK(0, 64), CHUNK(64, 64)};
    struct checkpoint_part parts[2];
    char out[DISK_PATH_MAX];
    scratch_path(out, "run");
    chunks[0].version = one;
    chunks[1].version = other;
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_int_eq(checkpoint_write_part(disk, out, 9, 0, i, 2,
                                               optimizer_slots(optimizer_find("adam")), &chunks[i],
                                               1, false, &parts[i], NULL),
                         STATUS_OK);
    struct manifest manifest = {
        .job = sample_job(), .run_id = RUN_ID, .step = 9, .part_count = 2, .parts = parts};
    manifest.job.mode = MODE_ASYNC;
    manifest.job.accumulate = 3;
    ck_assert_int_eq(checkpoint_write_manifest(disk, out, &manifest, error), STATUS_OK);
    job_free(&manifest.job);
    return open_step(reader, out, 9, error);
}

TEST_PLAIN(the_version_is_kept_beside_the_step_and_parts_agree_on_it)
{
    struct checkpoint_reader reader;
    struct error error;
    static const uint64_t whole[] = {0, 4, 9};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        ck_assert_msg(open_versions(whole[i], whole[i], &reader, &error) == STATUS_OK, "%s",
                      error.text);
        ck_assert_uint_eq(reader.version, whole[i]);
        checkpoint_close(&reader);
    }
    ck_assert_int_eq(open_versions(4, 3, &reader, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "another part of 4"));
    ck_assert_int_eq(open_versions(9, 4, &reader, &error), STATUS_INVALID);
    ck_assert_int_eq(open_versions(10, 10, &reader, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "cannot be at step 9"));
}

TEST_PLAIN(a_part_of_another_step_is_refused)
{
    static float zeros[ELEMENTS];
    static const struct checkpoint_chunk chunk = CHUNK(0, 128);
    struct error error;
    ck_assert_int_eq(open_chunks(&chunk, 1, 8, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "step 8"));
}

TEST(a_manifest_beyond_its_job_is_refused)
{
    write_checkpoint(p->out, 2001, 1); /* The sample job has 2000 steps. */
    ck_assert_int_eq(open_step(&p->reader, p->out, 2001, &p->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(p->error.text, "beyond"));
}

/* A manifest around the checks of checkpoint_write_manifest. */
static void force_manifest(const char *out, uint64_t step, struct checkpoint_part *parts,
                           uint32_t servers)
{
    char path[DISK_PATH_MAX];
    struct manifest manifest = {
        .job = sample_job(), .run_id = RUN_ID, .step = step, .part_count = servers, .parts = parts};
    file_path(path, out, step, "manifest.json");
    ck_assert_int_eq(manifest_write(disk, path, &manifest, NULL), STATUS_OK);
    job_free(&manifest.job);
}

static enum status try_manifest(const char *out, uint64_t step, struct checkpoint_part *parts,
                                uint32_t servers, struct error *error)
{
    struct manifest manifest = {
        .job = sample_job(), .run_id = RUN_ID, .step = step, .part_count = servers, .parts = parts};
    enum status status = checkpoint_write_manifest(disk, out, &manifest, error);
    job_free(&manifest.job);
    return status;
}

TEST_PLAIN(a_part_cannot_lead_out_of_its_directory)
{
    static const char *const names[] = {
        "../step-000000000005/part-0-of-1.safetensors",
        "part-0-of-1.g1/../x.safetensors",
        "part-0-of-1.g01.safetensors",
        "part-0-of-1.g0.safetensors",
        "part-0-of-1.g-1.safetensors",
        "part-0-of-1.g18446744073709551616.safetensors",
        "part-0-of-2.safetensors",
        "part-1-of-1.safetensors",
        "part-0-of-1.safetensors.tmp",
        "part-0-of-1.g1x.safetensors",
        "manifest.json",
        "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char out[DISK_PATH_MAX];
        struct checkpoint_part part;
        struct checkpoint_reader reader;
        struct error error;
        scratch_path(out, "run");
        write_part(out, 5, 0, 1, &part);
        snprintf(part.name, sizeof part.name, "%s", names[i]);
        ck_assert_int_eq(try_manifest(out, 5, &part, 1, &error), STATUS_INVALID);
        force_manifest(out, 5, &part, 1);
        ck_assert_int_eq(open_step(&reader, out, 5, &error), STATUS_INVALID);
        ck_assert_msg(strstr(error.text, "file") != NULL, "%s", error.text);
    }
}

TEST(a_manifest_is_not_written_before_its_parts)
{
    struct checkpoint_part parts[2];
    uint64_t steps[1];
    for (uint32_t i = 0; i < 2; i++)
        write_part(p->out, 5, i, 2, &parts[i]);
    file_path(p->path, p->out, 5, parts[1].name);
    size_t bytes;
    char *data = scratch_read(p->path, &bytes);
    scratch_write(p->path, data, bytes - 1);
    ck_assert_int_eq(try_manifest(p->out, 5, parts, 2, &p->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(p->error.text, parts[1].name));
    ck_assert_int_eq(unlink(p->path), 0);
    ck_assert_int_eq(try_manifest(p->out, 5, parts, 2, &p->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(p->error.text, "No such file"));
    ck_assert_uint_eq(checkpoint_list(disk, p->out, steps, 1), 0);
    scratch_write(p->path, data, bytes);
    ck_assert_int_eq(try_manifest(p->out, 5, parts, 2, &p->error), STATUS_OK);
    ck_assert_uint_eq(checkpoint_list(disk, p->out, steps, 1), 1);
    free(data);
}

/* The first part of the sample's only server, in the name of a generation. */
static void write_part_of(const char *out, uint64_t step, uint64_t generation,
                          struct checkpoint_part *part)
{
    static float space[ARRAYS][ELEMENTS];
    struct checkpoint_chunk chunk = {.first = 0, .count = ELEMENTS};
    fill(space);
    for (uint32_t array = 0; array < ARRAYS; array++)
        chunk.arrays[array] = space[array];
    ck_assert_int_eq(checkpoint_write_part(disk, out, step, generation, 0, 1,
                                           optimizer_slots(optimizer_find("adam")), &chunk, 1,
                                           false, part, NULL),
                     STATUS_OK);
}

TEST(a_later_generation_writes_beside_an_earlier_one)
{
    struct checkpoint_part old, new;
    write_part_of(p->out, 5, 0, &old);
    ck_assert_str_eq(old.name, "part-0-of-1.safetensors");
    write_part_of(p->out, 5, 12, &new);
    ck_assert_str_eq(new.name, "part-0-of-1.g12.safetensors");
    write_manifest(p->out, 5, &new, 1);
    file_path(p->path, p->out, 5, old.name);
    ck_assert(!scratch_has(p->path));  /* Of no use any more. */
    write_part_of(p->out, 5, 0, &old); /* Whoever was left behind goes on. */
    ck_assert_msg(open_step(&p->reader, p->out, 5, &p->error) == STATUS_OK, "%s", p->error.text);
    ck_assert_str_eq(p->reader.manifest.parts[0].name, new.name);
    checkpoint_close(&p->reader);
}

TEST(left_overs_beside_a_manifest_go_but_not_what_is_being_written_again)
{
    static const char *const names[] = {
        "part-0-of-1.g1.safetensors", "manifest.json.tmp", "part-0-of-1.g1.safetensors.tmp",
        "part-0-of-1.g2.safetensors.tmp", "part-1-of-2.safetensors"};
    struct checkpoint_part part;
    write_part_of(p->out, 5, 2, &part);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        file_path(p->path, p->out, 5, names[i]);
        scratch_write(p->path, "x", 1);
    }
    write_manifest(p->out, 5, &part, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        file_path(p->path, p->out, 5, names[i]);
        ck_assert_msg(scratch_has(p->path) == (i == 3), "%s", names[i]);
    }
    ck_assert_int_eq(open_step(&p->reader, p->out, 5, NULL), STATUS_OK);
    checkpoint_close(&p->reader);
}

/* In little memory. */
static enum status verify(const char *out, struct error *error)
{
    char directory[DISK_PATH_MAX];
    struct checkpoint_reader values;
    checkpoint_path(directory, out, 5);
    enum status status = checkpoint_open_headers(&values, disk, directory, error);
    if (status != STATUS_OK)
        return status;
    status = checkpoint_verify(&values, error);
    ck_assert_uint_eq(values.manifest.part_count, 2);
    checkpoint_close(&values);
    return status;
}

TEST(verifying_finds_what_opening_finds)
{
    ck_assert_int_eq(verify(p->out, &p->error), STATUS_NOT_FOUND);
    write_checkpoint(p->out, 5, 2);
    ck_assert_int_eq(verify(p->out, &p->error), STATUS_OK);
    for (size_t i = 0; i < 3; i++) {
        size_t bytes;
        file_path(p->path, p->out, 5, file_names[i]);
        char *data = scratch_read(p->path, &bytes);
        data[bytes / 2] ^= 1;
        scratch_write(p->path, data, bytes);
        ck_assert_int_eq(verify(p->out, &p->error), STATUS_INVALID);
        ck_assert_ptr_nonnull(strstr(p->error.text, file_names[i]));
        data[bytes / 2] ^= 1;
        scratch_write(p->path, data, bytes);
        free(data);
    }
    ck_assert_int_eq(verify(p->out, &p->error), STATUS_OK);
}

/* --- several ------------------------------------------------------------------------------- */

TEST(checkpoints_are_listed_from_the_newest)
{
    uint64_t steps[8];
    struct checkpoint_part part;
    ck_assert_uint_eq(checkpoint_list(disk, p->out, steps, 8), 0);
    write_checkpoint(p->out, 9, 1);
    write_checkpoint(p->out, 1000, 1);
    write_checkpoint(p->out, 100, 1);
    write_part(p->out, 1500, 0, 1, &part);
    scratch_path(p->path, "run/checkpoints/step-5");
    ck_assert_int_eq(disk->make_directory(NULL, p->path, NULL), STATUS_OK);
    scratch_path(p->path, "run/checkpoints/step-5/manifest.json");
    scratch_write(p->path, "{}", 2);
    ck_assert_uint_eq(checkpoint_list(disk, p->out, steps, 2), 3);
    ck_assert_uint_eq(steps[0], 1000);
    ck_assert_uint_eq(steps[1], 100);
}

struct reports {
    int count;
    char last[512];
};

static void report(void *argument, const char *line)
{
    struct reports *reports = argument;
    reports->count++;
    snprintf(reports->last, sizeof reports->last, "%s", line);
}

static enum status prune(const char *out, struct checkpoint_shelf *shelf)
{
    struct error error;
    enum status status = checkpoint_prune(disk, out, shelf, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return status;
}

static void expect_steps(const char *out, const uint64_t *expected, size_t count)
{
    uint64_t steps[8];
    ck_assert_uint_eq(checkpoint_list(disk, out, steps, 8), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(steps[i], expected[i]);
}

static void damage(const char *out, uint64_t step, const char *name)
{
    char path[DISK_PATH_MAX];
    file_path(path, out, step, name);
    scratch_write(path, "x", 1);
}

TEST_PLAIN(pruning_keeps_three)
{
    char out[DISK_PATH_MAX];
    struct checkpoint_shelf shelf = {0};
    scratch_path(out, "run");
    prune(out, &shelf);
    for (uint64_t step = 10; step <= 50; step += 10) {
        write_checkpoint(out, step, 2);
        checkpoint_shelf_add(&shelf, step);
        prune(out, &shelf);
    }
    expect_steps(out, (uint64_t[]){50, 40, 30}, 3);
}

TEST_PLAIN(as_many_are_kept_as_somebody_wants)
{
    static const uint32_t wanted[] = {1, 2, 5, CHECKPOINTS_KEPT_MAX, CHECKPOINTS_ALL};
    static const size_t left[] = {1, 2, 5, 9, 9};
    for (size_t i = 0; i < 5; i++) {
        char out[DISK_PATH_MAX], name[32];
        uint64_t steps[9];
        struct checkpoint_shelf shelf = {.keep = wanted[i]};
        snprintf(name, sizeof name, "run%zu", i);
        scratch_path(out, name);
        for (uint64_t step = 1; step <= 9; step++) {
            write_checkpoint(out, step, 1);
            checkpoint_shelf_add(&shelf, step);
            ck_assert_int_eq(prune(out, &shelf), STATUS_OK);
        }
        ck_assert_uint_eq(checkpoint_list(disk, out, steps, 9), left[i]);
        for (size_t k = 0; k < left[i]; k++)
            ck_assert_uint_eq(steps[k], 9 - k);
    }
}

/* Another process has written them: a few are read each time, and none is removed before enough
 * newer ones are known to be whole. */
TEST_PLAIN(many_that_nobody_knows_are_found_out_bit_by_bit)
{
    enum { KEEP = 20, WRITTEN = 30 };
    char out[DISK_PATH_MAX];
    uint64_t steps[WRITTEN + 3];
    static struct checkpoint_shelf shelf = {.keep = KEEP};
    scratch_path(out, "run");
    for (uint64_t step = 1; step <= WRITTEN; step++)
        write_checkpoint(out, step, 1);
    damage(out, 12, "part-0-of-1.safetensors");
    ck_assert_int_eq(prune(out, &shelf), STATUS_OK);
    ck_assert_uint_eq(checkpoint_list(disk, out, steps, WRITTEN), WRITTEN);
    ck_assert_uint_lt(shelf.count, KEEP);
    for (uint64_t step = WRITTEN + 1; step <= WRITTEN + 3; step++) {
        write_checkpoint(out, step, 1);
        checkpoint_shelf_add(&shelf, step);
        ck_assert_int_eq(prune(out, &shelf), STATUS_OK);
    }
    /* The newest twenty whole ones, and the damaged one when it is among them. */
    ck_assert_uint_eq(shelf.count, KEEP);
    size_t count = checkpoint_list(disk, out, steps, WRITTEN + 3);
    ck_assert_uint_eq(count, KEEP);
    ck_assert_uint_eq(steps[count - 1], WRITTEN + 3 - KEEP + 1);
}

TEST_PLAIN(damaged_checkpoints_do_not_count_when_pruning)
{
    char out[DISK_PATH_MAX];
    struct checkpoint_shelf shelf = {0};
    scratch_path(out, "run");
    for (uint64_t step = 10; step <= 60; step += 10)
        write_checkpoint(out, step, 2);
    damage(out, 60, "part-1-of-2.safetensors");
    damage(out, 40, "manifest.json");
    damage(out, 30, "part-0-of-2.safetensors");
    prune(out, &shelf); /* 50, 20 and 10 are whole. */
    expect_steps(out, (uint64_t[]){60, 50, 40, 30, 20, 10}, 6);
    for (uint64_t step = 70; step <= 80; step += 10) {
        write_checkpoint(out, step, 2);
        checkpoint_shelf_add(&shelf, step);
        prune(out, &shelf);
    }
    expect_steps(out, (uint64_t[]){80, 70, 60, 50}, 4);
}

TEST_PLAIN(what_was_just_written_is_never_pruned)
{
    char out[DISK_PATH_MAX];
    struct checkpoint_shelf shelf = {0};
    scratch_path(out, "run");
    for (uint64_t step = 10; step <= 50; step += 10)
        write_checkpoint(out, step, 1);
    write_checkpoint(out, 5, 1); /* Gone back further than three. */
    checkpoint_shelf_add(&shelf, 5);
    prune(out, &shelf);
    expect_steps(out, (uint64_t[]){50, 40, 30, 5}, 4);
    prune(out, &shelf);
    expect_steps(out, (uint64_t[]){50, 40, 30, 5}, 4);
}

/* What was moved to another place and linked is read there, but never written or removed. */
TEST(what_lies_behind_a_link_is_only_read)
{
    char outside[DISK_PATH_MAX], manifest[DISK_PATH_MAX];
    struct checkpoint_shelf shelf = {0};
    struct checkpoint_chunk chunk = {.count = 16};
    struct checkpoint_part part;
    float values[16] = {0};
    scratch_path(outside, "outside");
    snprintf(manifest, sizeof manifest, "%.900s/manifest.json", outside);
    write_checkpoint(p->out, 1, 1);
    checkpoint_path(p->path, p->out, 1);
    ck_assert_int_eq(rename(p->path, outside), 0);
    ck_assert_int_eq(symlink(outside, p->path), 0);
    ck_assert_int_eq(open_step(&p->reader, p->out, 1, &p->error), STATUS_OK);
    checkpoint_close(&p->reader);

    for (uint32_t i = 0; i < ARRAYS; i++)
        chunk.arrays[i] = values;
    ck_assert_int_eq(checkpoint_write_part(disk, p->out, 1, 0, 0, 1,
                                           optimizer_slots(optimizer_find("adam")), &chunk, 1,
                                           false, &part, &p->error),
                     STATUS_IO);
    ck_assert_ptr_nonnull(strstr(p->error.text, "it is a symbolic link"));
    for (uint64_t step = 2; step <= 4; step++) {
        write_checkpoint(p->out, step, 1);
        checkpoint_shelf_add(&shelf, step);
    }
    ck_assert_msg(checkpoint_prune(disk, p->out, &shelf, &p->error) == STATUS_OK, "%s",
                  p->error.text);
    ck_assert(!scratch_has(p->path));
    ck_assert(scratch_has(manifest));

    scratch_path(p->path, "run/checkpoints");
    scratch_path(outside, "more");
    ck_assert_int_eq(rename(p->path, outside), 0);
    ck_assert_int_eq(symlink(outside, p->path), 0);
    ck_assert_int_eq(checkpoint_write_part(disk, p->out, 9, 0, 0, 1,
                                           optimizer_slots(optimizer_find("adam")), &chunk, 1,
                                           false, &part, &p->error),
                     STATUS_IO);
    ck_assert_ptr_nonnull(strstr(p->error.text, p->path));
    scratch_path(p->path, "more/step-000000000009");
    ck_assert(!scratch_has(p->path));
}

TEST(only_what_nobody_finishes_is_swept)
{
    struct checkpoint_part part;
    static const uint64_t unfinished[] = {5, 45, 60};
    ck_assert_int_eq(checkpoint_sweep(disk, p->out, UINT64_MAX, NULL), STATUS_OK);
    write_checkpoint(p->out, 40, 2);
    damage(p->out, 40, "manifest.json");
    write_checkpoint(p->out, 50, 2);
    for (size_t i = 0; i < 3; i++)
        write_part(p->out, unfinished[i], 0, 2, &part);
    ck_assert_int_eq(checkpoint_sweep(disk, p->out, 60, NULL), STATUS_OK);
    for (size_t i = 0; i < 3; i++) {
        checkpoint_path(p->path, p->out, unfinished[i]);
        ck_assert(scratch_has(p->path) == (i == 2));
    }
    expect_steps(p->out, (uint64_t[]){50, 40}, 2);
}

/* Of run/, or what restore names: the step, or with UINT64_MAX the status is *status. */
static uint64_t resumed_step(const char *restore, bool *passed_over, enum status *status)
{
    char out[DISK_PATH_MAX];
    struct checkpoint_reader reader;
    struct error error;
    scratch_path(out, "run");
    *status = checkpoint_resume(&reader, disk, out, restore, passed_over, NULL, NULL, &error);
    uint64_t step = *status == STATUS_OK ? reader.manifest.step : UINT64_MAX;
    checkpoint_close(&reader);
    return step;
}

TEST(a_run_that_has_begun_goes_on_from_its_own_checkpoints)
{
    char elsewhere[DISK_PATH_MAX];
    enum status status;
    bool passed_over;
    scratch_path(elsewhere, "elsewhere");
    write_checkpoint(elsewhere, 7, 1);
    checkpoint_path(p->path, elsewhere, 7);
    ck_assert(resumed_step("auto", &passed_over, &status) == UINT64_MAX && !passed_over);
    ck_assert_int_eq(status, STATUS_NOT_FOUND);
    ck_assert(resumed_step("never", &passed_over, &status) == UINT64_MAX && !passed_over);
    ck_assert_int_eq(status, STATUS_NOT_FOUND);
    ck_assert(resumed_step(p->path, &passed_over, &status) == 7 && !passed_over);
    write_checkpoint(p->out, 20, 1);
    ck_assert(resumed_step(p->path, &passed_over, &status) == 20 && passed_over);
    ck_assert(resumed_step("auto", &passed_over, &status) == 20 && !passed_over);
    damage(p->out, 20, "part-0-of-1.safetensors"); /* With nothing whole it begins again. */
    ck_assert(resumed_step("auto", &passed_over, &status) == UINT64_MAX);
    ck_assert_int_eq(status, STATUS_INVALID);
    ck_assert(resumed_step(p->path, &passed_over, &status) == 7 && !passed_over);
    ck_assert(resumed_step(elsewhere, &passed_over, &status) == 7 && !passed_over); /* Its run. */
    write_checkpoint(elsewhere, 8, 1);
    ck_assert(resumed_step(elsewhere, &passed_over, &status) == 8 && !passed_over);
    damage(elsewhere, 8, "part-0-of-1.safetensors");
    ck_assert(resumed_step(elsewhere, &passed_over, &status) == 7 && !passed_over);
    ck_assert(resumed_step("/nowhere", &passed_over, &status) == UINT64_MAX);
    ck_assert_int_eq(status, STATUS_IO);
    ck_assert(resumed_step("/dev/null", &passed_over, &status) == UINT64_MAX);
    ck_assert_int_eq(status, STATUS_IO);
}

TEST(the_newest_whole_checkpoint_is_opened)
{
    struct reports reports = {0};
    ck_assert_int_eq(checkpoint_open_newest(&p->reader, disk, p->out, report, &reports, &p->error),
                     STATUS_NOT_FOUND);
    write_checkpoint(p->out, 10, 2);
    write_checkpoint(p->out, 20, 2);
    file_path(p->path, p->out, 20, "part-1-of-2.safetensors");
    scratch_write(p->path, "x", 1);
    ck_assert_int_eq(checkpoint_open_newest(&p->reader, disk, p->out, report, &reports, &p->error),
                     STATUS_OK);
    ck_assert_uint_eq(p->reader.manifest.step, 10);
    ck_assert_int_eq(reports.count, 1);
    ck_assert_ptr_nonnull(strstr(reports.last, p->path));
    checkpoint_close(&p->reader);
    file_path(p->path, p->out, 10, "manifest.json");
    scratch_write(p->path, "{}", 2);
    ck_assert_int_eq(checkpoint_open_newest(&p->reader, disk, p->out, NULL, NULL, &p->error),
                     STATUS_INVALID);
}

/* --- a model out of a checkpoint ----------------------------------------------------------- */

static enum status export_step(const char *out, uint64_t step, const char *path, char model[65],
                               char parameters[65], struct error *error)
{
    char directory[DISK_PATH_MAX];
    struct checkpoint_reader values;
    struct job job = sample_job();
    checkpoint_path(directory, out, step);
    enum status status = checkpoint_open_headers(&values, disk, directory, error);
    if (status == STATUS_OK) {
        status = model_file_export(disk, path, job.model, job.variables, job.variable_count,
                                   &values, model, parameters, error);
        checkpoint_close(&values);
    }
    job_free(&job);
    return status;
}

TEST_PLAIN(a_model_out_of_a_checkpoint_has_the_bytes_of_one_that_was_whole_in_memory)
{
    char path[DISK_PATH_MAX], other[DISK_PATH_MAX];
    static float space[ARRAYS][ELEMENTS];
    struct job job = sample_job();
    struct error error;
    fill(space);
    scratch_path(path, "model.safetensors");
    scratch_path(other, "other.safetensors");
    for (uint32_t servers = 1; servers <= 8; servers++) {
        char out[DISK_PATH_MAX], model[65], parameters[65], expected[65];
        size_t bytes, other_bytes;
        scratch_path(out, "run");
        write_checkpoint(out, servers, servers);
        ck_assert_msg(export_step(out, servers, path, model, parameters, &error) == STATUS_OK, "%s",
                      error.text);
        ck_assert_int_eq(model_file_write(disk, other, job.model, job.variables, job.variable_count,
                                          space[0], expected, &error),
                         STATUS_OK);
        char *data = scratch_read(path, &bytes), *same = scratch_read(other, &other_bytes);
        ck_assert_uint_eq(bytes, other_bytes);
        ck_assert_mem_eq(data, same, bytes);
        ck_assert_str_eq(model, expected);
        parameters_sha256(job.variables, job.variable_count, space[0], expected);
        ck_assert_str_eq(parameters, expected);
        free(data);
        free(same);
    }
    job_free(&job);
}

TEST(no_model_comes_out_of_a_damaged_checkpoint)
{
    char part[DISK_PATH_MAX], aside[DISK_PATH_MAX];
    char model[65], parameters[65];
    size_t bytes;
    scratch_path(p->path, "model.safetensors");
    scratch_path(aside, "model.safetensors" DISK_ASIDE);
    write_checkpoint(p->out, 5, 2);
    file_path(part, p->out, 5, "part-1-of-2.safetensors");
    char *data = scratch_read(part, &bytes);
    for (size_t bit = 0; bit < 8 * bytes; bit += 101) {
        data[bit / 8] = (char)(data[bit / 8] ^ (1 << bit % 8));
        scratch_write(part, data, bytes);
        ck_assert_int_eq(export_step(p->out, 5, p->path, model, parameters, &p->error),
                         STATUS_INVALID);
        ck_assert_msg(strstr(p->error.text, p->out) != NULL, "%s", p->error.text);
        ck_assert(!scratch_has(p->path) && !scratch_has(aside));
        data[bit / 8] = (char)(data[bit / 8] ^ (1 << bit % 8));
    }
    scratch_write(part, data, bytes - 1);
    ck_assert_int_eq(export_step(p->out, 5, p->path, model, parameters, &p->error), STATUS_INVALID);
    ck_assert_int_eq(remove(part), 0);
    ck_assert_int_eq(export_step(p->out, 5, p->path, model, parameters, &p->error), STATUS_INVALID);
    ck_assert_int_eq(export_step(p->out, 6, p->path, model, parameters, &p->error),
                     STATUS_NOT_FOUND);
    free(data);
}

/* Large enough for a thread of its own to measure it. */
TEST(the_digest_of_a_large_part_is_that_of_its_file)
{
    enum { COUNT = BESIDE_BYTES_MIN / sizeof(float) + 5 };
    struct checkpoint_part part;
    size_t bytes;
    uint8_t digest[HASH_BYTES];
    float *space = malloc(COUNT * sizeof *space);
    ck_assert_ptr_nonnull(space);
    for (uint64_t i = 0; i < COUNT; i++)
        space[i] = element_of(0, i);
    struct checkpoint_chunk chunk = {.first = 0, .count = COUNT, .arrays = {space}};
    for (uint64_t step = 1; step <= 5; step++) {
        space[step] = 0;
        ck_assert_int_eq(checkpoint_write_part(disk, p->out, step, 0, 0, 1,
                                               (struct slots){.count = 0}, &chunk, 1, false, &part,
                                               &p->error),
                         STATUS_OK);
        file_path(p->path, p->out, step, part.name);
        char *data = scratch_read(p->path, &bytes);
        hash_bytes(data, bytes, digest);
        ck_assert_uint_eq(part.bytes, bytes);
        ck_assert_mem_eq(part.digest, digest, sizeof digest);
        free(data);
    }
    free(space);
}

/* A disk on which one bit of what is read is another. */
struct liar {
    struct disk disk;
    uint64_t at; /* Bytes behind the start of a file; UINT64_MAX: none. */
    uint64_t read;
};

static enum status read_lies(void *context, const char *path, uint64_t offset, void *to,
                             size_t count, struct error *error)
{
    struct liar *liar = context;
    enum status status = disk->read_range(disk->context, path, offset, to, count, error);
    liar->read += count;
    if (status == STATUS_OK && liar->at >= offset && liar->at - offset < count)
        ((uint8_t *)to)[liar->at - offset] ^= 4;
    return status;
}

TEST(a_part_is_proven_when_every_byte_of_it_is_there_again)
{
    static float space[ARRAYS][ELEMENTS];
    struct checkpoint_part plain, part;
    struct liar liar = {.disk = disk_posix, .at = UINT64_MAX};
    liar.disk.context = &liar;
    liar.disk.read_range = read_lies;
    fill(space);
    struct checkpoint_chunk chunk = {0, ELEMENTS, {space[0], space[1], space[2]}, 0, NULL, NULL};
    struct slots slots = optimizer_slots(optimizer_find("adam"));
    ck_assert_int_eq(checkpoint_write_part(&liar.disk, p->out, 1, 0, 0, 1, slots, &chunk, 1, false,
                                           &plain, &p->error),
                     STATUS_OK);
    ck_assert_uint_eq(liar.read, 0);
    ck_assert_int_eq(checkpoint_write_part(&liar.disk, p->out, 1, 0, 0, 1, slots, &chunk, 1, true,
                                           &part, &p->error),
                     STATUS_OK);
    ck_assert_uint_eq(liar.read, plain.bytes);
    ck_assert_uint_eq(part.bytes, plain.bytes);
    ck_assert_mem_eq(part.digest, plain.digest, sizeof part.digest);
    for (liar.at = 0; liar.at < plain.bytes; liar.at += 7) {
        ck_assert_int_eq(checkpoint_write_part(&liar.disk, p->out, 1, 0, 0, 1, slots, &chunk, 1,
                                               true, &part, &p->error),
                         STATUS_IO);
        ck_assert_ptr_nonnull(strstr(p->error.text, "part-0-of-1"));
    }
}

TEST(a_part_is_read_once_more_unless_it_is_the_one_that_was_proven)
{
    char directory[DISK_PATH_MAX];
    struct checkpoint_part parts[2], other;
    struct checkpoint_reader values;
    struct liar liar = {.disk = disk_posix, .at = UINT64_MAX};
    liar.disk.context = &liar;
    liar.disk.read_range = read_lies;
    for (uint32_t i = 0; i < 2; i++)
        write_part(p->out, 5, i, 2, &parts[i]);
    write_manifest(p->out, 5, parts, 2);
    checkpoint_path(directory, p->out, 5);
    ck_assert_int_eq(checkpoint_open_headers(&values, &liar.disk, directory, &p->error), STATUS_OK);
    other = parts[0];
    other.digest[3] ^= 1;
    checkpoint_trust(&values, 0, &other);
    ck_assert_uint_eq(checkpoint_unproven(&values), parts[0].bytes + parts[1].bytes);
    checkpoint_trust(&values, 0, &parts[1]);
    ck_assert_uint_eq(checkpoint_unproven(&values), parts[0].bytes + parts[1].bytes);
    checkpoint_trust(&values, 0, &parts[0]);
    ck_assert_uint_eq(checkpoint_unproven(&values), parts[1].bytes);
    liar.read = 0;
    ck_assert_int_eq(checkpoint_verify(&values, &p->error), STATUS_OK);
    ck_assert_uint_eq(liar.read, parts[1].bytes);
    liar.at = parts[1].bytes - 1;
    ck_assert_int_eq(checkpoint_verify(&values, &p->error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(p->error.text, "part-1-of-2"));
    checkpoint_close(&values);
}

/* --- one model in one file ----------------------------------------------------------------- */

TEST_PLAIN(a_model_file_reads_back_with_zeros_in_the_gaps)
{
    char path[DISK_PATH_MAX], hex[65];
    float space[ARRAYS][ELEMENTS];
    struct job job = sample_job();
    struct model_file file;
    struct error error;
    fill(space);
    scratch_path(path, "model.safetensors");
    ck_assert_int_eq(model_file_write(disk, path, job.model, job.variables, job.variable_count,
                                      space[0], hex, &error),
                     STATUS_OK);
    size_t bytes;
    uint8_t digest[HASH_BYTES];
    char expected[65];
    struct sha256 sha256;
    char *data = scratch_read(path, &bytes);
    sha256_init(&sha256);
    sha256_update(&sha256, data, bytes);
    sha256_final(&sha256, digest);
    hash_hex(digest, sizeof digest, expected);
    ck_assert_str_eq(hex, expected);
    free(data);

    ck_assert_msg(model_file_open(&file, disk, path, &error) == STATUS_OK, "%s", error.text);
    ck_assert_str_eq(file.model, job.model);
    ck_assert_uint_eq(file.variable_count, 3);
    ck_assert_str_eq(file.variables[2].name, "dense2/kernel");
    ck_assert_uint_eq(file.elements, ELEMENTS);
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        bool gap = (i >= 35 && i < 48) || (i >= 53 && i < 64) || i >= 114;
        float wanted = gap ? 0 : space[0][i];
        ck_assert_mem_eq(&file.parameters[i], &wanted, sizeof wanted);
    }
    model_file_close(&file);
    job_free(&job);
}

/* As another program saves it again, sorted by name or by size. */
TEST_PLAIN(variables_of_a_model_file_are_known_by_name)
{
    char path[DISK_PATH_MAX];
    static float space[ARRAYS][ELEMENTS];
    struct job job = sample_job();
    struct model_file file;
    struct error error;
    const uint64_t starts[] = {0, 48, 64};
    struct variable saved[3] = {job.variables[2], job.variables[0], job.variables[1]};
    scratch_path(path, "model.safetensors");
    fill(space);
    ck_assert_int_eq(model_file_write(disk, path, "", saved, 3, space[0], NULL, &error), STATUS_OK);
    ck_assert_int_eq(model_file_open(&file, disk, path, &error), STATUS_OK);
    ck_assert_msg(model_file_arrange(&file, job.variables, 3, path, &error) == STATUS_OK, "%s",
                  error.text);
    const uint64_t theirs[] = {64, 112, 0}; /* 50 elements, 35 and 5. */
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_str_eq(file.variables[i].name, job.variables[i].name);
        ck_assert_mem_eq(file.parameters + starts[i], space[0] + theirs[i],
                         variable_elements(&job.variables[i]) * sizeof(float));
    }

    ck_assert_int_eq(model_file_arrange(&file, job.variables, 2, path, &error), STATUS_MISMATCH);
    ck_assert_msg(strstr(error.text, "has dense2/kernel [") != NULL, "%s", error.text);
    job.variables[1].shape[0]++;
    ck_assert_int_eq(model_file_arrange(&file, job.variables, 3, path, &error), STATUS_MISMATCH);
    ck_assert_msg(strstr(error.text, "dense1/bias [5] where its layer list makes [6]") != NULL,
                  "%s", error.text);
    strcpy(job.variables[1].name, "dense1/offset");
    ck_assert_int_eq(model_file_arrange(&file, job.variables, 3, path, &error), STATUS_MISMATCH);
    ck_assert_msg(strstr(error.text, "has no dense1/offset") != NULL, "%s", error.text);
    model_file_close(&file);
    job_free(&job);
}

TEST(a_checkpoint_and_a_run_open_as_a_model)
{
    struct job job = sample_job();
    struct model_file file;
    ck_assert_int_eq(model_file_open(&file, disk, p->out, &p->error), STATUS_NOT_FOUND);
    ck_assert_int_eq(disk->make_directory(NULL, p->out, NULL), STATUS_OK);
    ck_assert_int_eq(model_file_open(&file, disk, p->out, &p->error), STATUS_NOT_FOUND);
    write_checkpoint(p->out, 10, 2);
    checkpoint_path(p->path, p->out, 10);
    const char *const paths[] = {p->path, p->out};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(model_file_open(&file, disk, paths[i], &p->error), STATUS_OK);
        ck_assert_float_eq(file.parameters[1], element_of(0, 1));
        ck_assert_str_eq(file.model, job.model);
        model_file_close(&file);
    }
    job_free(&job);
}

/* A run in this state with checkpoints at steps 10 and 20 of which the newest is damaged, and a
 * model of zeros that was written after step 7. */
static void leave_run(const char *out, enum run_state state)
{
    char path[DISK_PATH_MAX];
    static float zeros[ELEMENTS];
    struct job job = sample_job();
    struct run_directory directory;
    struct run_summary summary = {.state = state, .step = 7};
    struct error error;
    enum run_opening opening;
    ck_assert_msg(run_directory_open(&directory, &disk_posix, out, &job, RUN_ID, 0, NULL, &opening,
                                     &error) == STATUS_OK,
                  "%s", error.text);
    write_checkpoint(out, 10, 2);
    write_checkpoint(out, 20, 2);
    file_path(path, out, 20, "part-1-of-2.safetensors");
    scratch_write(path, "x", 1);
    snprintf(path, sizeof path, "%.900s/model.safetensors", out);
    ck_assert_int_eq(model_file_write(disk, path, "", job.variables, 3, zeros, NULL, NULL),
                     STATUS_OK);
    ck_assert_int_eq(run_directory_summary(&directory, &job, RUN_ID, &summary, NULL), STATUS_OK);
    run_directory_close(&directory);
    job_free(&job);
}

TEST_PLAIN(of_a_run_that_goes_on_the_newest_checkpoint_is_taken_and_else_its_model)
{
    static const enum run_state states[] = {RUN_DONE, RUN_STOPPED, RUN_RUNNING, RUN_FAILED};
    for (size_t i = 0; i < 4; i++) {
        char out[DISK_PATH_MAX], name[32], expected[DISK_PATH_MAX];
        struct model_file file;
        struct error error;
        bool ended = i < 2;
        snprintf(name, sizeof name, "run%zu", i);
        scratch_path(out, name);
        leave_run(out, states[i]);
        ck_assert_int_eq(model_file_open(&file, disk, out, &error), STATUS_OK);
        ck_assert_float_eq(file.parameters[1], ended ? 0 : element_of(0, 1));
        ck_assert_uint_eq(file.step, ended ? 7 : 10);
        if (ended)
            snprintf(expected, sizeof expected, "%.900s/model.safetensors", out);
        else
            checkpoint_path(expected, out, 10);
        ck_assert_str_eq(file.path, expected);
        ck_assert(file.declared);
        ck_assert_uint_eq(file.job.seed, UINT64_MAX - 5);
        model_file_close(&file);
        ck_assert_int_eq(model_file_open(&file, disk, expected, &error), STATUS_OK);
        ck_assert(file.declared == !ended); /* A file alone says nothing. */
        model_file_close(&file);
    }
}

TEST(a_run_whose_record_is_damaged_is_known_by_its_checkpoints)
{
    struct model_file file;
    scratch_path(p->path, "run/run.json");
    leave_run(p->out, RUN_DONE);
    scratch_write(p->path, "{", 1);
    ck_assert_int_eq(model_file_open(&file, disk, p->out, &p->error), STATUS_OK);
    ck_assert(file.declared && file.step == 10);
    model_file_close(&file);
    scratch_path(p->path, "run/checkpoints");
    scratch_path(p->out, "elsewhere");
    ck_assert_int_eq(rename(p->path, p->out), 0);
    scratch_path(p->out, "run");
    ck_assert_int_eq(model_file_open(&file, disk, p->out, &p->error), STATUS_OK);
    ck_assert(!file.declared); /* There is the model, at least. */
    model_file_close(&file);
}

TEST_PLAIN(gaps_do_not_count_in_the_digest_of_parameters)
{
    static float space[ARRAYS][ELEMENTS];
    struct job job = sample_job();
    char before[65], after[65];
    fill(space);
    parameters_sha256(job.variables, 3, space[0], before);
    space[0][40] = 77; /* In a gap. */
    parameters_sha256(job.variables, 3, space[0], after);
    ck_assert_str_eq(before, after);
    space[0][113] = 77; /* The last value. */
    parameters_sha256(job.variables, 3, space[0], after);
    ck_assert_str_ne(before, after);
    job_free(&job);
}

TEST_PLAIN(files_that_are_no_model_are_refused)
{
    char path[DISK_PATH_MAX];
    struct model_file file;
    struct error error;
    scratch_path(path, "file");
    ck_assert_int_eq(model_file_open(&file, disk, path, &error), STATUS_NOT_FOUND);
    scratch_write(path, "hello", 5);
    ck_assert_int_eq(model_file_open(&file, disk, path, &error), STATUS_INVALID);
    static const char integers[] =
        "\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
        "          \0\0\0\0";
    scratch_write(path, integers, sizeof integers - 1);
    ck_assert_int_eq(model_file_open(&file, disk, path, &error), STATUS_INVALID);
    ck_assert_msg(strstr(error.text, "\"w\" is I32") != NULL, "%s", error.text);
}

int main(void)
{
    return suite_run("checkpoint", scratch_add);
}
