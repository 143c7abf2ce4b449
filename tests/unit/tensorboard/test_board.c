/* test_board.c - which events become files and records, by looking for what they must hold; what is in them in
 * full an independent reader sees (tests/processes/reference.sh). */

#include "common/tensorboard/board.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store/run_directory.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define FILES_MAX 8

struct scene {
    struct board_place place;
    struct job job;
    struct board board;
    struct error remark;
    char names[FILES_MAX][256]; /* [count] of files, sorted. */
    size_t count;
};

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->job = sample_job();
    s->place =
        (struct board_place){.by = "here.7", .date = 1700000000.0 - disk_posix.seconds(NULL)};
    scratch_path(s->place.folder, "tb/run");
    board_open(&s->board, &disk_posix, &s->place, &s->job);
}

static void close_scene(struct scene *s)
{
    board_close(&s->board);
    job_free(&s->job);
}

static void tell(struct scene *s, const char *name, const char *members)
{
    board_event(&s->board, name, members, NULL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void note_name(void *argument, const char *name)
{
    struct scene *s = argument;
    ck_assert_uint_lt(s->count, FILES_MAX);
    snprintf(s->names[s->count++], sizeof s->names[0], "%s", name);
}

static void list(struct scene *s)
{
    s->count = 0;
    disk_posix.list_directory(NULL, s->place.folder, note_name, s, NULL);
    qsort(s->names, s->count, sizeof s->names[0], by_name);
}

/* Whether the file, by its place among the sorted, has these bytes anywhere. */
static bool has_bytes(struct scene *s, size_t index, const void *bytes, size_t count)
{
    char path[DISK_PATH_MAX + 256];
    size_t size;
    list(s);
    ck_assert_uint_lt(index, s->count);
    snprintf(path, sizeof path, "%s/%s", s->place.folder, s->names[index]);
    char *text = scratch_read(path, &size);
    bool found = memmem(text, size, bytes, count) != NULL;
    free(text);
    return found;
}

static bool has(struct scene *s, size_t index, const char *text)
{
    return has_bytes(s, index, text, strlen(text));
}

/* SessionLog START at this step, below 128. */
static bool has_start(struct scene *s, size_t index, uint8_t step)
{
    const uint8_t at_0[] = {0x3a, 2, 8, 1}, later[] = {0x10, step, 0x3a, 2, 8, 1};
    return step == 0 ? has_bytes(s, index, at_0, sizeof at_0)
                     : has_bytes(s, index, later, sizeof later);
}

TEST(nothing_is_written_before_training_starts)
{
    tell(s, "joined", "\"role\": \"worker\", \"index\": 0");
    tell(s, "progress", "\"step\": 3, \"loss\": 0.5");
    board_end(&s->board, &(struct run_summary){.state = RUN_STOPPED});
    list(s);
    ck_assert_uint_eq(s->count, 0);
}

TEST(a_board_without_a_place_does_nothing)
{
    board_open(&s->board, &disk_posix, &(struct board_place){.folder = ""}, &s->job);
    tell(s, "start", "\"step\": 0");
    list(s);
    ck_assert_uint_eq(s->count, 0);
}

TEST(a_run_is_told_from_its_start_on)
{
    tell(s, "start", "\"step\": 0, \"steps\": 8");
    tell(s, "progress", "\"step\": 3, \"loss\": 0.5, \"accuracy\": null");
    tell(s, "waiting", "\"text\": \"waiting for nobody\"");
    tell(s, "lost", "\"role\": \"worker\", \"index\": 1, \"why\": \"silent\"");
    tell(s, "evaluation", "\"step\": 4, \"test_loss\": 0.25, \"regularisation_loss\": null");
    list(s);
    ck_assert_uint_eq(s->count, 1);
    ck_assert(has_start(s, 0, 0));
    ck_assert(has(s, 0, "| model | "));
    ck_assert(has(s, 0, "loss/train") && has(s, 0, "learning_rate") && has(s, 0, "loss/test"));
    ck_assert(has(s, 0, "- lost: role worker, index 1, why silent\n"));
    ck_assert(!has(s, 0, "accuracy/train") && !has(s, 0, "loss/regularisation")); /* Not known. */
    ck_assert(!has(s, 0, "waiting for nobody"));
    ck_assert(!board_take_remark(&s->board, &s->remark));
}

/* Points at the step that is gone on from stand, and TensorBoard drops those at START's. */
TEST(whoever_goes_on_begins_a_file_behind_what_stands)
{
    tell(s, "start", "\"step\": 0");
    tell(s, "progress", "\"step\": 40, \"loss\": 0.5");
    tell(s, "generation", "\"generation\": 1, \"step\": 20, \"recomputed\": 20");
    tell(s, "progress", "\"step\": 30, \"loss\": 0.5");
    board_close(&s->board);
    board_open(&s->board, &disk_posix, &s->place, &s->job);
    tell(s, "start", "\"step\": 30");
    list(s);
    ck_assert_uint_eq(s->count, 3);
    ck_assert(has_start(s, 0, 0) && has_start(s, 1, 21) && has_start(s, 2, 31));
    ck_assert(has(s, 1, "- generation: generation 1, step 20, recomputed 20\n"));
}

/* Of texts at one step the last is shown. */
TEST(a_text_has_all_that_was_said_at_its_step)
{
    tell(s, "start", "\"step\": 0");
    tell(s, "left", "\"index\": 1");
    tell(s, "left", "\"index\": 2");
    ck_assert(has(s, 0, "- left: index 1\n- left: index 2\n"));
    tell(s, "progress", "\"step\": 1, \"loss\": 1");
    tell(s, "left", "\"index\": 3");
    ck_assert(!has(s, 0, "- left: index 2\n- left: index 3\n"));
    for (int i = 0; i < BOARD_LINES_MAX / 10; i++) /* No more than there is room for. */
        tell(s, "left", "\"index\": 4");
    ck_assert(!board_take_remark(&s->board, &s->remark));
}

TEST(the_end_has_the_staleness_of_all)
{
    struct run_summary summary = {.state = RUN_DONE, .step = 9};
    const uint8_t stop[] = {0x10, 9, 0x3a, 2, 8, 2};
    histogram_add(&summary.staleness.shape, 2);
    tell(s, "start", "\"step\": 0");
    board_end(&s->board, &(struct run_summary){.state = RUN_RUNNING, .step = 9}); /* It goes on. */
    ck_assert(!has_bytes(s, 0, stop, sizeof stop));
    ck_assert(!has(s, 0, "staleness/gradients"));
    board_end(&s->board, &summary);
    ck_assert(has_bytes(s, 0, stop, sizeof stop));
    ck_assert(has(s, 0, "staleness/gradients"));
}

/* As a full disk does. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_full_disk_costs_events_and_one_line)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_files(10);
    tell(s, "start", "\"step\": 0");
    bool said = board_take_remark(&s->board, &s->remark);
    tell(s, "progress", "\"step\": 3, \"loss\": 0.5");
    limit_files(RLIM_INFINITY); /* What check writes has its limit, too. */
    ck_assert(said && !board_take_remark(&s->board, &(struct error){0}));
    ck_assert_int_eq(s->remark.status, STATUS_IO);
    ck_assert_ptr_nonnull(strstr(s->remark.text, "TensorBoard lacks events: cannot write "));
    list(s);
    ck_assert_uint_eq(s->count, 0);

    tell(s, "progress", "\"step\": 6, \"loss\": 0.5");
    ck_assert(has_start(s, 0, 7) && has(s, 0, "loss/train"));
    limit_files((rlim_t)s->board.file.bytes + 10); /* For the same reason. */
    tell(s, "progress", "\"step\": 9, \"loss\": 0.5");
    limit_files(RLIM_INFINITY);
    ck_assert(!board_take_remark(&s->board, &s->remark)); /* It has been said. */
}

int main(void)
{
    return suite_run("board", scratch_add);
}
