/* test_run_chronicle.c - the files of a record over sessions: what a manifest names stays, what lies
 * behind goes, and a disk that fails costs nothing but the try. */
/* promises: record */

#include "common/store/run_chronicle.h"

#include <string.h>

#include "deploy/engine/simulated_disk.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

struct fixture {
    struct simulated_disk disk;
    struct job job;
    struct run_chronicle chronicle;
    struct manifest_record record; /* Of the newest manifest. */
    struct error error;
};

static void open_session(struct fixture *f, uint64_t step)
{
    run_chronicle_close(&f->chronicle);
    ck_assert_int_eq(run_chronicle_open(&f->chronicle, &f->disk.disk, "run", true, &f->record, step,
                                        step, 0, &f->error),
                     STATUS_OK);
}

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    simulated_disk_init(&f->disk, 1, 1);
    f->job = sample_job();
    open_session(f, 0);
}

static void close_fixture(struct fixture *f)
{
    run_chronicle_close(&f->chronicle);
    simulated_disk_free(&f->disk);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static enum status cut(struct fixture *f, uint64_t step)
{
    const struct run_record_snapshot cut = {step, step, 1};
    ck_assert_ptr_nonnull(run_chronicle_begin(&f->chronicle, &f->job, 7, NULL, &f->error));
    return run_chronicle_write(&f->chronicle, &cut, &f->error);
}

static void checkpoint(struct fixture *f, uint64_t step)
{
    ck_assert_int_eq(cut(f, step), STATUS_OK);
    f->record = run_chronicle_record(&f->chronicle);
    run_chronicle_commit(&f->chronicle, step);
}

/* How many cuts a session's file has up to so many bytes, and where the last one is. */
static unsigned read_back(struct fixture *f, uint64_t session, uint64_t bytes, uint64_t *end)
{
    char path[DISK_PATH_MAX];
    struct run_record_reader reader;
    unsigned cuts = 0;
    run_record_path(path, "run", session);
    const struct simulated_file *file = simulated_disk_find(&f->disk, path);
    ck_assert_ptr_nonnull(file);
    bytes = bytes == 0 ? file->bytes : bytes;
    ck_assert_int_eq(run_record_reader_open(&reader, path, file->data, bytes, &f->error),
                     STATUS_OK);
    enum status status;
    while ((status = run_record_reader_next(&reader, &f->error)) == STATUS_OK) {
        *end = reader.interval.to.batches;
        cuts++;
    }
    ck_assert_msg(status == STATUS_NOT_FOUND, "%s", f->error.text);
    run_record_reader_close(&reader);
    return cuts;
}

TEST(a_session_grows_with_every_checkpoint)
{
    uint64_t end = 0;
    checkpoint(f, 5);
    checkpoint(f, 9);
    ck_assert_uint_eq(f->record.session, 1);
    ck_assert_uint_eq(read_back(f, 1, f->record.bytes, &end), 2);
    ck_assert_uint_eq(end, 9);
}

TEST(what_no_manifest_names_is_written_over)
{
    uint64_t end = 0;
    checkpoint(f, 5);
    ck_assert_int_eq(cut(f, 9), STATUS_OK); /* And its manifest fails. */
    checkpoint(f, 12);
    ck_assert_uint_eq(read_back(f, 1, 0, &end), 2);
    ck_assert_uint_eq(end, 12);
}

TEST(a_disk_that_fails_costs_only_the_try)
{
    uint64_t end = 0;
    checkpoint(f, 5);
    f->disk.full = true;
    ck_assert_int_eq(cut(f, 9), STATUS_IO);
    f->disk.full = false;
    checkpoint(f, 12);
    ck_assert_uint_eq(read_back(f, 1, 0, &end), 2);
}

TEST(who_goes_back_goes_on_writing_from_there)
{
    uint64_t end = 0;
    checkpoint(f, 5);
    struct manifest_record back = f->record;
    checkpoint(f, 9);
    run_chronicle_go_back(&f->chronicle, &back, 5, 5, 1);
    checkpoint(f, 8);
    ck_assert_uint_eq(read_back(f, 1, 0, &end), 2);
    ck_assert_uint_eq(end, 8);
    run_chronicle_go_back(&f->chronicle, &(struct manifest_record){0}, 0, 0,
                          2); /* To the beginning. */
    checkpoint(f, 3);
    ck_assert_uint_eq(read_back(f, 1, 0, &end), 1);
    ck_assert_uint_eq(end, 3);
}

TEST(a_session_more_has_a_file_more_and_cuts_off_what_lies_behind)
{
    uint64_t end = 0;
    checkpoint(f, 5);
    struct manifest_record first = f->record;
    ck_assert_int_eq(cut(f, 9), STATUS_OK); /* Killed before the manifest. */
    open_session(f, 5);
    checkpoint(f, 7);
    ck_assert_uint_eq(f->record.session, 2);
    ck_assert_uint_eq(read_back(f, 1, 0, &end), 1);
    ck_assert_uint_eq(end, 5);
    ck_assert_uint_eq(read_back(f, 2, 0, &end), 1);
    f->record = first; /* The checkpoint at 7 turns out damaged. */
    open_session(f, 5);
    char path[DISK_PATH_MAX];
    run_record_path(path, "run", 2);
    ck_assert_ptr_null(simulated_disk_find(&f->disk, path));
    checkpoint(f, 6);
    ck_assert_uint_eq(read_back(f, 2, 0, &end), 1);
    ck_assert_uint_eq(end, 6);
}

TEST(without_a_record_what_there_is_stays)
{
    checkpoint(f, 5);
    struct manifest_record before = f->record;
    run_chronicle_close(&f->chronicle);
    ck_assert_int_eq(run_chronicle_open(&f->chronicle, &f->disk.disk, "run", false, &f->record, 5,
                                        5, 0, &f->error),
                     STATUS_OK);
    struct manifest_record after = run_chronicle_record(&f->chronicle);
    ck_assert_uint_eq(after.session, before.session);
    ck_assert_uint_eq(after.bytes, before.bytes);
}

/* Where a record ends is known by whoever goes on from any later checkpoint, and nothing is added. */
TEST(a_record_that_has_ended_is_not_gone_on_with)
{
    uint64_t end = 0, batches;
    checkpoint(f, 5);
    struct manifest_record whole = f->record;
    ck_assert_uint_eq(whole.batches, 5);
    ck_assert(!run_chronicle_has_ended(&f->chronicle, &batches));
    run_chronicle_end(&f->chronicle);
    f->record = run_chronicle_record(&f->chronicle); /* Of a cut at 9. */
    run_chronicle_commit(&f->chronicle, 9);
    ck_assert(run_chronicle_has_ended(&f->chronicle, &batches));
    ck_assert_uint_eq(batches, 5);
    ck_assert(f->record.session == 1 && f->record.bytes == whole.bytes && f->record.batches == 5);
    open_session(f, 9);
    ck_assert(run_chronicle_has_ended(&f->chronicle, &batches));
    ck_assert_uint_eq(batches, 5);
    ck_assert_ptr_nonnull(strstr(f->chronicle.remark.text, "ends at batch 5"));
    f->record = run_chronicle_record(&f->chronicle); /* Of a cut at 11. */
    ck_assert(f->record.session == 1 && f->record.bytes == whole.bytes && f->record.batches == 5);
    ck_assert_uint_eq(read_back(f, 1, f->record.bytes, &end), 1);
    f->record = whole; /* All later checkpoints are damaged. */
    open_session(f, 5);
    ck_assert(!run_chronicle_has_ended(&f->chronicle, &batches));
    checkpoint(f, 7);
    ck_assert(f->record.session == 2 && f->record.batches == 7);
}

TEST(who_goes_back_to_where_the_record_ends_goes_on_with_it)
{
    uint64_t end = 0, batches;
    checkpoint(f, 5);
    struct manifest_record back = f->record;
    run_chronicle_end(&f->chronicle);
    run_chronicle_go_back(&f->chronicle, &back, 5, 5, 1);
    ck_assert(!run_chronicle_has_ended(&f->chronicle, &batches));
    checkpoint(f, 8);
    ck_assert_uint_eq(f->record.batches, 8);
    ck_assert_uint_eq(read_back(f, 1, f->record.bytes, &end), 2);
    run_chronicle_end(&f->chronicle);
    f->record = run_chronicle_record(&f->chronicle); /* Of a cut at 12. */
    run_chronicle_go_back(&f->chronicle, &f->record, 12, 12, 2);
    ck_assert(run_chronicle_has_ended(&f->chronicle, &batches));
    ck_assert_uint_eq(batches, 8);
}

int main(void)
{
    return suite_run("run_chronicle", NULL);
}
