#include "ps/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checkpoint.h"
#include "ps/plan.h"
#include "tests/lib/post.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { RUN = 77 };

/* Server 0 and server 1 of the small job with adagrad: two chunks each, two arrays a chunk. */
struct fixture {
    struct job job;
    struct plan *plans[2];
    struct keeper *keepers[2];
    struct post post;
    char out[DISK_PATH_MAX];
};

static struct keeper *keeper_of(uint32_t server, const char *out, const char *restore)
{
    struct keeper *keeper;
    struct keeper_options options = {.server = server, .disk = &disk_posix, .journal = true};
    snprintf(options.out, sizeof options.out, "%.300s", out);
    snprintf(options.restore, sizeof options.restore, "%s", restore);
    ck_assert(keeper_create(&keeper, &options) == STATUS_OK);
    return keeper;
}

static void open_fixture(struct fixture *f, const char *restore)
{
    struct error error;
    memset(f, 0, sizeof *f);
    scratch_path(f->out, "run");
    f->job = small_job(MODE_SYNC, 2, 2);
    f->job.optimizer = optimizer_find("adagrad")->defaults;
    strcpy(f->job.optimizer.name, "adagrad");
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(plan_create(&f->plans[i], &f->job, i, RUN, &error) == STATUS_OK);
        f->keepers[i] = keeper_of(i, i == 0 ? f->out : "", restore);
    }
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    for (uint32_t i = 0; i < 2; i++) {
        keeper_destroy(&f->keepers[i]);
        plan_destroy(&f->plans[i]);
    }
    job_free(&f->job);
}

static void give(struct fixture *f, uint32_t server, struct packet packet)
{
    packet.message.run_id = RUN;
    keeper_handle(f->keepers[server], &packet, &f->post.outbox);
}

static struct message_run_opened open_run(struct fixture *f)
{
    uint8_t *bytes;
    uint32_t count;
    ck_assert(job_encode(&f->job, &bytes, &count) == STATUS_OK);
    struct packet packet = {.message.kind = MESSAGE_OPEN_RUN, .payload = frame_create(count)};
    memcpy(packet.payload->data, bytes, count);
    free(bytes);
    give(f, 0, packet);
    struct packet *opened = post_find(&f->post, TO_COORDINATOR, MESSAGE_RUN_OPENED);
    ck_assert_ptr_nonnull(opened);
    struct message_run_opened answer = opened->message.run_opened;
    post_clear(&f->post);
    return answer;
}

static struct message_loaded load(struct fixture *f, uint32_t server, const char *out, bool restore)
{
    struct packet packet = {.message.kind = MESSAGE_LOAD};
    packet.message.load.plan = f->plans[server];
    packet.message.load.restore = restore;
    snprintf(packet.message.load.out, sizeof packet.message.load.out, "%.300s", out);
    give(f, server, packet);
    struct packet *loaded = post_find(&f->post, TO_ROUTER, MESSAGE_LOADED);
    ck_assert_ptr_nonnull(loaded);
    ck_assert_uint_eq(loaded->message.index, UINT32_MAX);
    return loaded->message.loaded;
}

static float value_of(uint64_t step, uint32_t chunk, uint32_t array)
{
    return (float)(100 * step + 10 * chunk + array);
}

static struct packet state_of(uint64_t step, uint32_t chunk, uint32_t array)
{
    struct packet packet = {.message.kind = MESSAGE_CHUNK_STATE};
    packet.payload = frame_of(value_of(step, chunk, array), 16);
    packet.message.chunk_state = (struct message_chunk_state){
        .step = step, .first = 16 * chunk, .count = 16, .array = array, .server = chunk % 2};
    return packet;
}

/* Everything of one server's cut; its PART_WRITTEN is the last thing that comes of it. */
static struct message_part_written cut(struct fixture *f, uint32_t keeper, uint32_t server,
                                       uint64_t step)
{
    for (uint32_t chunk = server; chunk < 4; chunk += 2)
        for (uint32_t array = 0; array < 2; array++) {
            ck_assert_ptr_null(post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN));
            give(f, keeper, state_of(step, chunk, array));
            if (chunk < 2)
                give(f, keeper, state_of(step, chunk, array)); /* Repeated. */
        }
    struct packet *written = post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN);
    ck_assert_ptr_nonnull(written);
    struct message_part_written answer = written->message.part_written;
    post_clear(&f->post);
    return answer;
}

static void write_checkpoint(struct fixture *f, uint64_t step)
{
    struct packet packet = {.message.kind = MESSAGE_MANIFEST};
    packet.payload = frame_create(2 * sizeof(struct checkpoint_part));
    struct checkpoint_part *parts = packet.payload->data;
    for (uint32_t i = 0; i < 2; i++) {
        struct message_part_written written = cut(f, i, i, step);
        ck_assert_msg(written.written, "%s", written.text);
        ck_assert_uint_eq(written.server, i);
        parts[i] = written.part;
    }
    packet.message.cut.step = step;
    give(f, 0, packet);
    struct packet *written = post_find(&f->post, TO_COORDINATOR, MESSAGE_MANIFEST_WRITTEN);
    ck_assert_msg(written->message.run_opened.status == STATUS_OK, "%s",
                  written->message.run_opened.text);
    ck_assert_uint_eq(written->message.run_opened.restore_step, step);
    post_clear(&f->post);
}

static void start(struct fixture *f)
{
    struct message_run_opened opened = open_run(f);
    ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
    ck_assert(!opened.restore);
    for (uint32_t i = 0; i < 2; i++) {
        struct message_loaded loaded = load(f, i, f->out, false);
        ck_assert(loaded.status == STATUS_OK && loaded.shared && !loaded.needs_chunks);
        post_clear(&f->post);
    }
}

static void check_checkpoint(const struct fixture *f, uint64_t step)
{
    struct checkpoint_reader reader;
    struct error error;
    char path[DISK_PATH_MAX];
    checkpoint_path(path, f->out, step);
    ck_assert_msg(checkpoint_open(&reader, &disk_posix, path, &error) == STATUS_OK, "%s",
                  error.text);
    for (uint32_t array = 0; array < 2; array++)
        for (uint32_t i = 0; i < 64; i++)
            ck_assert(reader.arrays[array][i] == value_of(step, i / 16, array));
    checkpoint_close(&reader);
}

START_TEST(a_cut_becomes_a_checkpoint_that_reads_back)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 4);
    check_checkpoint(&f, 4);
    close_fixture(&f);
}
END_TEST

START_TEST(an_unfinished_run_is_resumed_from_its_newest_checkpoint)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 2);
    write_checkpoint(&f, 4);
    close_fixture(&f);

    open_fixture(&f, "auto");
    struct message_run_opened opened = open_run(&f);
    ck_assert_msg(opened.status == STATUS_OK && opened.restore, "%s", opened.text);
    ck_assert_uint_eq(opened.restore_step, 4);
    /* Server 0 gets its own chunks at once, server 1 when it asks. */
    ck_assert(!load(&f, 0, f.out, true).needs_chunks);
    ck_assert_uint_eq(post_count(&f.post, TO_ROUTER, MESSAGE_CHUNK_STATE), 4);
    struct packet *state = post_find(&f.post, TO_ROUTER, MESSAGE_CHUNK_STATE);
    ck_assert(((float *)state->payload->data)[0] == value_of(4, 0, 0));
    post_clear(&f.post);
    ck_assert(load(&f, 1, f.out, true).needs_chunks);
    post_clear(&f.post);
    struct packet ask = {.message.kind = MESSAGE_SEND_CHUNKS};
    ask.message.send_chunks.server = 1;
    give(&f, 0, ask);
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_CHUNK_STATE), 4);
    for (size_t i = 0; i < f.post.taken_count; i++) {
        const struct packet *packet = &f.post.taken[i].packet;
        uint32_t chunk = (uint32_t)packet->message.chunk_state.first / 16;
        ck_assert_uint_eq(chunk % 2, 1);
        ck_assert(((float *)packet->payload->data)[5] ==
                  value_of(4, chunk, packet->message.chunk_state.array));
    }
    post_clear(&f.post);
    ask.message.send_chunks.server = UINT32_MAX; /* All have theirs: nothing is kept open. */
    give(&f, 0, ask);
    ask.message.send_chunks.server = 1;
    give(&f, 0, ask);
    ck_assert_uint_eq(post_count_all(&f.post), 0);
    close_fixture(&f);
}
END_TEST

START_TEST(a_damaged_checkpoint_is_passed_over_with_a_line)
{
    struct fixture f;
    char path[DISK_PATH_MAX], part[DISK_PATH_MAX + 32];
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 2);
    write_checkpoint(&f, 4);
    close_fixture(&f);
    checkpoint_path(path, f.out, 4);
    snprintf(part, sizeof part, "%s/part-1-of-2.safetensors", path);
    size_t bytes;
    char *data = scratch_read(part, &bytes);
    data[bytes - 1] ^= 1;
    scratch_write(part, data, bytes);
    free(data);

    open_fixture(&f, "auto");
    struct packet packet = {.message.kind = MESSAGE_OPEN_RUN};
    uint8_t *job;
    uint32_t count;
    ck_assert(job_encode(&f.job, &job, &count) == STATUS_OK);
    packet.payload = frame_create(count);
    memcpy(packet.payload->data, job, count);
    free(job);
    give(&f, 0, packet);
    ck_assert_ptr_nonnull(post_log(&f.post, "checkpoint damaged"));
    struct packet *opened = post_find(&f.post, TO_COORDINATOR, MESSAGE_RUN_OPENED);
    ck_assert(opened->message.run_opened.status == STATUS_OK);
    ck_assert_uint_eq(opened->message.run_opened.restore_step, 2);
    close_fixture(&f);
}
END_TEST

START_TEST(what_does_not_belong_to_a_run_is_refused)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 2);
    close_fixture(&f);

    open_fixture(&f, "auto"); /* Another job in its folder. */
    f.job.seed = 8;
    ck_assert(open_run(&f).status == STATUS_MISMATCH);
    close_fixture(&f);
    open_fixture(&f, "never");
    struct message_run_opened opened = open_run(&f);
    ck_assert(opened.status == STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(opened.text, "--restore never"));
    close_fixture(&f);
    open_fixture(&f, "/nowhere/step-000000000002"); /* Named by hand, and not there. */
    scratch_path(f.out, "elsewhere");
    keeper_destroy(&f.keepers[0]);
    f.keepers[0] = keeper_of(0, f.out, "/nowhere/step-000000000002");
    ck_assert(open_run(&f).status != STATUS_OK);
    close_fixture(&f);
}
END_TEST

START_TEST(a_server_that_does_not_see_the_run_directory_sends_its_chunks_to_server_0)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    keeper_destroy(&f.keepers[1]);
    f.keepers[1] = keeper_of(1, "", "auto");
    ck_assert(!load(&f, 1, "/nowhere/at/all", false).shared);
    post_clear(&f.post);
    for (uint32_t chunk = 1; chunk < 4; chunk += 2)
        for (uint32_t array = 0; array < 2; array++)
            give(&f, 1, state_of(6, chunk, array));
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_CHUNK_STATE), 4);
    ck_assert_ptr_null(post_find(&f.post, TO_COORDINATOR, MESSAGE_PART_WRITTEN));
    post_clear(&f.post);
    struct message_part_written written = cut(&f, 0, 1, 6); /* And server 0 writes its part. */
    ck_assert_msg(written.written, "%s", written.text);
    ck_assert_str_eq(written.part.name, "part-1-of-2.safetensors");
    close_fixture(&f);
}
END_TEST

START_TEST(states_that_are_no_chunk_are_ignored)
{
    struct fixture f;
    open_fixture(&f, "auto");
    give(&f, 0, state_of(4, 0, 0)); /* Before there is a plan. */
    start(&f);
    const struct message_chunk_state bad[] = {
        {4, 8, 16, 0, 0},
        {4, 0, 15, 0, 0},
        {4, 0, 32, 0, 0},
        {4, 0, 16, 2, 0},
        {4, 0, 16, UINT32_MAX, 0},
        {4, 0, 16, 0, 1},
        {4, 0, 16, 0, 2},
        {4, 0, 16, 0, UINT32_MAX},
        {4, 64, 16, 0, 0},
        {4, 0, 0, 0, 0},
        {4, 0, UINT64_MAX / 4 + 17, 0, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct packet packet = state_of(4, 0, 0);
        packet.message.chunk_state = bad[i];
        give(&f, 0, packet);
    }
    struct packet empty = state_of(4, 0, 0);
    frame_release(empty.payload);
    empty.payload = NULL;
    give(&f, 0, empty);
    for (uint32_t count = 15; count <= 17; count++) { /* Of the wrong size, said or not. */
        for (int said = 0; said < 2; said++) {
            struct packet packet = state_of(4, 0, 0);
            frame_release(packet.payload);
            packet.payload = count == 16 ? frame_create(63) : frame_of(1, count);
            packet.message.chunk_state.count = said ? count : 16;
            give(&f, 0, packet);
        }
    }
    ck_assert_uint_eq(post_count_all(&f.post), 0);
    ck_assert(cut(&f, 0, 1, 4).written);
    write_checkpoint(&f, 4);
    check_checkpoint(&f, 4);
    close_fixture(&f);
}
END_TEST

START_TEST(a_part_that_cannot_be_written_says_why)
{
    struct fixture f;
    char checkpoints[DISK_PATH_MAX + 16];
    open_fixture(&f, "auto");
    start(&f);
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", f.out);
    disk_posix.remove_tree(disk_posix.context, checkpoints, NULL);
    scratch_write(checkpoints, "in the way", 10);
    struct message_part_written written = cut(&f, 0, 0, 2);
    ck_assert(!written.written);
    ck_assert_ptr_nonnull(strstr(written.text, "checkpoints"));
    close_fixture(&f);
}
END_TEST

START_TEST(what_is_half_in_when_a_later_cut_begins_is_forgotten)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    give(&f, 0, state_of(2, 0, 0));
    give(&f, 0, state_of(2, 0, 1));
    ck_assert(cut(&f, 0, 0, 4).written);
    for (uint32_t array = 0; array < 2; array++)
        give(&f, 0, state_of(2, 2, array));
    ck_assert_ptr_null(post_find(&f.post, TO_COORDINATOR, MESSAGE_PART_WRITTEN));
    close_fixture(&f);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, scratch_open, scratch_close);
    tcase_add_test(t, a_cut_becomes_a_checkpoint_that_reads_back);
    tcase_add_test(t, an_unfinished_run_is_resumed_from_its_newest_checkpoint);
    tcase_add_test(t, a_damaged_checkpoint_is_passed_over_with_a_line);
    tcase_add_test(t, what_does_not_belong_to_a_run_is_refused);
    tcase_add_test(t, a_server_that_does_not_see_the_run_directory_sends_its_chunks_to_server_0);
    tcase_add_test(t, states_that_are_no_chunk_are_ignored);
    tcase_add_test(t, a_part_that_cannot_be_written_says_why);
    tcase_add_test(t, what_is_half_in_when_a_later_cut_begins_is_forgotten);
}

int main(void)
{
    return suite_run("keeper", add);
}
