/* What --restore may name, and of which job it may be. */

#include "common/store/restore.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/store/checkpoint.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define ELEMENTS 128 /* Of the sample, in one chunk. */

static void write_checkpoint(const char *out, uint64_t step)
{
    static const float values[ELEMENTS];
    struct checkpoint_chunk chunk = {.count = ELEMENTS, .arrays = {values, values, values}};
    struct checkpoint_part part;
    struct manifest manifest = {
        .job = sample_job(), .run_id = 7, .step = step, .part_count = 1, .parts = &part};
    struct error error = {0};
    ck_assert_msg(checkpoint_write_part(&disk_posix, out, step, 0, 0, 1,
                                        optimizer_slots(optimizer_find("adam")), &chunk, 1, false,
                                        &part, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_msg(checkpoint_write_manifest(&disk_posix, out, &manifest, &error) == STATUS_OK, "%s",
                  error.text);
    job_free(&manifest.job);
}

static void expect(const char *out, const char *restore, const struct job *job,
                   enum status expected, const char *text)
{
    struct error error = {0};
    enum status status = restore_check(out, restore, job, &error);
    ck_assert_msg(status == expected, "%s: %d: %s", restore, (int)status, error.text);
    ck_assert_msg(strstr(error.text, text) != NULL, "%s", error.text);
}

TEST_PLAIN(a_checkpoint_and_a_run_with_one_may_be_named)
{
    char run[DISK_PATH_MAX], checkpoint[DISK_PATH_MAX];
    struct job job = sample_job();
    scratch_path(run, "run");
    write_checkpoint(run, 3);
    write_checkpoint(run, 5);
    checkpoint_path(checkpoint, run, 3);
    expect(NULL, run, &job, STATUS_OK, "");
    expect(NULL, checkpoint, &job, STATUS_OK, "");
    expect(NULL, checkpoint, NULL, STATUS_OK, "");
    expect(NULL, "auto", &job, STATUS_OK, "");
    expect(NULL, "never", &job, STATUS_OK, "");
    job_free(&job);
}

TEST_PLAIN(what_is_no_checkpoint_is_refused_unless_it_is_not_needed)
{
    char run[DISK_PATH_MAX], empty[DISK_PATH_MAX], none[DISK_PATH_MAX];
    struct job job = sample_job();
    scratch_path(run, "run");
    scratch_path(empty, "empty");
    scratch_path(none, "none");
    write_checkpoint(run, 3);
    mkdir(empty, 0700);
    expect(empty, none, &job, STATUS_NOT_FOUND, "No such file or directory");
    expect(NULL, empty, &job, STATUS_NOT_FOUND, "is neither a checkpoint");
    expect(run, none, &job, STATUS_OK, ""); /* It goes on from its own. */
    job_free(&job);
}

TEST_PLAIN(of_another_job_is_told_before_the_data_are_read)
{
    char run[DISK_PATH_MAX];
    struct job job = sample_job();
    scratch_path(run, "run");
    write_checkpoint(run, 5);
    job.data_digest[0] ^= 1;
    expect(NULL, run, &job, STATUS_MISMATCH, "data digest");
    memset(job.data_digest, 0, sizeof job.data_digest);
    expect(NULL, run, &job, STATUS_OK, "");
    job.seed++;
    expect(NULL, run, &job, STATUS_MISMATCH, "seed: ");
    job.seed--;
    job.steps = 4;
    expect(NULL, run, &job, STATUS_MISMATCH, "is at step 5, beyond the 4 steps of this job");
    job_free(&job);
}

TEST_PLAIN(an_older_manifest_serves_where_the_newest_is_damaged)
{
    char run[DISK_PATH_MAX], newest[DISK_PATH_MAX], file[DISK_PATH_MAX + 16];
    struct job job = sample_job();
    scratch_path(run, "run");
    write_checkpoint(run, 3);
    write_checkpoint(run, 5);
    checkpoint_path(newest, run, 5);
    snprintf(file, sizeof file, "%s/manifest.json", newest);
    scratch_write(file, "?", 1);
    expect(NULL, run, &job, STATUS_OK, "");
    expect(NULL, newest, &job, STATUS_INVALID, "manifest.json");
    job_free(&job);
}

int main(void)
{
    return suite_run("restore", scratch_add);
}
