/* test_checkpointer.c - the checkpointer of two servers: cuts, resumed and damaged runs, disks that
 * fail at any change. */
/* promises: checkpoints disk initial restore */

#include "ps/checkpointer/checkpointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/store/checkpoint.h"
#include "common/store/generation.h"
#include "common/store/initial.h"
#include "common/store/model_file.h"
#include "common/store/run_directory.h"
#include "common/store/run_record.h"
#include "deploy/engine/simulated_disk.h"
#include "ps/checkpointer/checkpointer_state.h"
#include "ps/shard/plan.h"
#include "tests/lib/post.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { RUN = 77 };

/* Server 0 and server 1 of the small job with adagrad: two chunks each, two arrays a chunk. */
struct fixture {
    const struct disk *disk;
    uint64_t generation; /* What messages carry. */
    uint64_t known_run_id;
    bool records;
    uint8_t sets[64]; /* [set_bytes] A list, behind the parts of a manifest. */
    size_t set_bytes;
    struct job job;
    struct plan *plans[2];
    struct checkpointer *checkpointers[2];
    struct post post;
    char out[DISK_PATH_MAX];
};

static struct checkpointer *checkpointer_of(const struct disk *disk, uint32_t server,
                                            const char *out, const char *restore)
{
    struct checkpointer *checkpointer;
    struct checkpointer_options options = {.server = server, .disk = disk};
    snprintf(options.out, sizeof options.out, "%.300s", out);
    snprintf(options.restore, sizeof options.restore, "%s", restore);
    ck_assert(checkpointer_create(&checkpointer, &options) == STATUS_OK);
    return checkpointer;
}

static void open_fixture_on(struct fixture *f, const struct disk *disk, const char *out,
                            const char *restore)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->disk = disk;
    snprintf(f->out, sizeof f->out, "%s", out);
    f->job = small_job(MODE_SYNC, 2, 2);
    f->job.optimizer = optimizer_find("adagrad")->defaults;
    strcpy(f->job.optimizer.name, "adagrad");
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(plan_create(&f->plans[i], &f->job, i, RUN, &error) == STATUS_OK);
        f->checkpointers[i] = checkpointer_of(disk, i, i == 0 ? out : "", restore);
    }
}

static void open_fixture(struct fixture *f, const char *restore)
{
    char out[DISK_PATH_MAX];
    scratch_path(out, "run");
    open_fixture_on(f, &disk_posix, out, restore);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    for (uint32_t i = 0; i < 2; i++) {
        checkpointer_destroy(&f->checkpointers[i]);
        plan_destroy(&f->plans[i]);
    }
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))
#define TEST_DISK(name, ...)                                                                       \
    SUITE_TEST(name, struct simulated_disk, disk, simulated_disk_init(disk, __VA_ARGS__),          \
               simulated_disk_free(disk))

static void give(struct fixture *f, uint32_t server, struct packet packet)
{
    packet.message.run_id = RUN;
    packet.message.generation = f->generation;
    checkpointer_handle(f->checkpointers[server], &packet, &f->post.outbox);
}

static void give_order(struct fixture *f, uint32_t server, struct order order,
                       struct frame *payload)
{
    order.run_id = RUN;
    order.generation = f->generation;
    struct packet packet = order_packet(&order);
    packet.payload = payload;
    checkpointer_handle(f->checkpointers[server], &packet, &f->post.outbox);
}

/* The declaration. */
static struct frame *job_frame(const struct fixture *f)
{
    uint8_t *bytes;
    uint32_t count;
    ck_assert(job_encode(&f->job, &bytes, &count) == STATUS_OK);
    struct frame *frame = frame_create(count);
    memcpy(frame->data, bytes, count);
    free(bytes);
    return frame;
}

/* Give server 0 what is answered RUN_OPENED; later messages carry its generation. */
static struct order_run_opened opened_by(struct fixture *f, struct order order,
                                         struct frame *payload)
{
    give_order(f, 0, order, payload);
    const struct order *opened = post_order(&f->post, TO_COORDINATOR, ORDER_RUN_OPENED);
    ck_assert_ptr_nonnull(opened);
    struct order_run_opened answer = opened->run_opened;
    ck_assert_uint_eq(opened->generation, answer.generation);
    if (answer.status == STATUS_OK)
        f->generation = answer.generation;
    post_clear(&f->post);
    return answer;
}

static struct order open_order(const struct fixture *f)
{
    return (struct order){.kind = ORDER_OPEN_RUN, .open_run = {f->known_run_id, f->records}};
}

static struct order_run_opened open_run(struct fixture *f)
{
    return opened_by(f, open_order(f), job_frame(f));
}

/* A process that would begin this run. */
static void propose(struct fixture *f, uint64_t run_id)
{
    struct order order = open_order(f);
    order.run_id = run_id;
    order.generation = f->generation;
    struct packet packet = order_packet(&order);
    packet.payload = job_frame(f);
    checkpointer_handle(f->checkpointers[0], &packet, &f->post.outbox);
}

static struct order_run_opened go_back(struct fixture *f)
{
    f->generation++;
    return opened_by(f, (struct order){.kind = ORDER_GO_BACK}, NULL);
}

static struct order_loaded load(struct fixture *f, uint32_t server, const char *out, bool restore)
{
    struct order order = {.kind = ORDER_LOAD,
                          .load = {.plan = f->plans[server], .restore = restore}};
    snprintf(order.load.out, sizeof order.load.out, "%.300s", out);
    give_order(f, server, order, NULL);
    const struct order *loaded = post_order(&f->post, TO_ROUTER, ORDER_LOADED);
    ck_assert_ptr_nonnull(loaded);
    ck_assert_uint_eq(loaded->from, ORDER_FROM_CHECKPOINTER);
    ck_assert_uint_eq(loaded->generation, f->generation);
    return loaded->loaded;
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
static struct message_part_written cut(struct fixture *f, uint32_t checkpointer, uint32_t server,
                                       uint64_t step)
{
    for (uint32_t chunk = server; chunk < 4; chunk += 2)
        for (uint32_t array = 0; array < 2; array++) {
            ck_assert_ptr_null(post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN));
            give(f, checkpointer, state_of(step, chunk, array));
            if (chunk < 2)
                give(f, checkpointer, state_of(step, chunk, array)); /* Repeated. */
        }
    struct packet *written = post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN);
    ck_assert_ptr_nonnull(written);
    ck_assert_uint_eq(written->message.generation, f->generation);
    struct message_part_written answer = written->message.part_written;
    post_clear(&f->post);
    return answer;
}

static struct order_written write_manifest(struct fixture *f, uint64_t step,
                                           const struct checkpoint_part parts[2])
{
    struct frame *payload = frame_create(2 * sizeof *parts + f->set_bytes);
    memcpy(payload->data, parts, 2 * sizeof *parts);
    memcpy((char *)payload->data + 2 * sizeof *parts, f->sets, f->set_bytes);
    give_order(f, 0, (struct order){.kind = ORDER_MANIFEST, .manifest.step = step}, payload);
    const struct order *written = post_order(&f->post, TO_COORDINATOR, ORDER_MANIFEST_WRITTEN);
    ck_assert_ptr_nonnull(written);
    ck_assert_uint_eq(written->generation, f->generation);
    struct order_written answer = written->written;
    ck_assert_uint_eq(answer.step, step);
    post_clear(&f->post);
    return answer;
}

static void write_checkpoint(struct fixture *f, uint64_t step)
{
    struct checkpoint_part parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct message_part_written written = cut(f, i, i, step);
        ck_assert_msg(written.written, "%s", written.text);
        ck_assert_uint_eq(written.server, i);
        parts[i] = written.part;
    }
    struct order_written written = write_manifest(f, step, parts);
    ck_assert_msg(written.status == STATUS_OK, "%s", written.text);
}

static struct order_written summarize(struct fixture *f, enum run_state state, uint64_t step,
                                      uint32_t exit_code)
{
    const struct run_summary summary = {.state = state, .step = step, .exit_code = exit_code};
    struct frame *payload = frame_create(sizeof summary);
    memcpy(payload->data, &summary, sizeof summary);
    give_order(f, 0, (struct order){.kind = ORDER_SUMMARY}, payload);
    const struct order *written = post_order(&f->post, TO_COORDINATOR, ORDER_SUMMARY_WRITTEN);
    ck_assert_ptr_nonnull(written);
    struct order_written answer = written->written;
    post_clear(&f->post);
    return answer;
}

static void load_both(struct fixture *f, bool restore)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct order_loaded loaded = load(f, i, f->out, restore);
        ck_assert(loaded.status == STATUS_OK && loaded.shared);
        ck_assert(loaded.needs_chunks == (restore && i > 0));
        post_clear(&f->post);
    }
}

static void start(struct fixture *f)
{
    struct order_run_opened opened = open_run(f);
    ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
    ck_assert(!opened.restore);
    load_both(f, false);
}

static void check_checkpoint(const struct fixture *f, uint64_t step)
{
    struct checkpoint_reader reader;
    struct error error;
    char path[DISK_PATH_MAX];
    checkpoint_path(path, f->out, step);
    ck_assert_msg(checkpoint_open(&reader, f->disk, path, &error) == STATUS_OK, "%s", error.text);
    for (uint32_t array = 0; array < 2; array++)
        for (uint32_t i = 0; i < 64; i++)
            ck_assert(reader.arrays[array][i] == value_of(step, i / 16, array));
    checkpoint_close(&reader);
}

TEST(a_cut_becomes_a_checkpoint_that_reads_back, "auto")
{
    start(f);
    write_checkpoint(f, 4);
    check_checkpoint(f, 4);
}

/* Of step i leaf i. */
static void write_checkpoint_with_sets(struct fixture *f, uint64_t first, uint64_t step)
{
    f->set_bytes = leaf_sets_put_start(f->sets, first, step - first);
    for (uint64_t i = first; i < step; i++)
        f->set_bytes +=
            leaf_set_put(f->sets + f->set_bytes, &(struct leaf_set){.bits = {UINT64_C(1) << i}});
    write_checkpoint(f, step);
}

/* Whether the record has the sets of these steps, and how many cuts. */
static unsigned recorded_sets(const struct fixture *f, uint64_t steps)
{
    struct run_record_reader reader;
    struct error error;
    struct leaf_set set;
    char path[DISK_PATH_MAX];
    void *bytes;
    size_t count;
    uint64_t step = 0;
    unsigned cuts = 0;
    run_record_path(path, f->out, 1);
    ck_assert(disk_posix.read_file(NULL, path, 1 << 20, &bytes, &count, &error) == STATUS_OK);
    ck_assert(run_record_reader_open(&reader, path, bytes, count, &error) == STATUS_OK);
    for (; run_record_reader_next(&reader, &error) == STATUS_OK; cuts++)
        for (; leaf_sets_next(&reader.interval.sets, &set); step++)
            ck_assert(leaf_set_has(&set, (uint32_t)step) && step < reader.interval.to.batches);
    ck_assert_uint_eq(reader.at, count);
    ck_assert_uint_eq(step, steps);
    run_record_reader_close(&reader);
    free(bytes);
    return cuts;
}

TEST(the_record_has_the_sets_of_all_steps_up_to_a_checkpoint_once, "auto")
{
    f->records = true;
    start(f);
    write_checkpoint_with_sets(f, 0, 2);
    /* The coordinator has not heard that it is written. */
    write_checkpoint_with_sets(f, 0, 5);
    ck_assert_uint_eq(recorded_sets(f, 5), 2);
    ck_assert(go_back(f).restore_step == 5);
    load_both(f, true);
    write_checkpoint_with_sets(f, 5, 6);
    ck_assert_uint_eq(recorded_sets(f, 6), 3);
}

TEST_PLAIN(an_unfinished_run_is_resumed_from_its_newest_checkpoint)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 2);
    write_checkpoint(&f, 4);
    close_fixture(&f);

    open_fixture(&f, "auto");
    struct order_run_opened opened = open_run(&f);
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
    struct order ask = {.kind = ORDER_SEND_CHUNKS, .send_chunks.server = 1};
    give_order(&f, 0, ask, NULL);
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_CHUNK_STATE), 4);
    for (size_t i = 0; i < f.post.taken_count; i++) {
        const struct packet *packet = &f.post.taken[i].packet;
        uint32_t chunk = (uint32_t)packet->message.chunk_state.first / 16;
        ck_assert_uint_eq(chunk % 2, 1);
        ck_assert(((float *)packet->payload->data)[5] ==
                  value_of(4, chunk, packet->message.chunk_state.array));
    }
    post_clear(&f.post);
    ask.send_chunks.server = ORDER_EVERYBODY; /* All have theirs: nothing is kept open. */
    give_order(&f, 0, ask, NULL);
    ask.send_chunks.server = 1;
    give_order(&f, 0, ask, NULL);
    ck_assert_uint_eq(post_count_all(&f.post), 0);
    close_fixture(&f);
}

TEST_PLAIN(a_damaged_checkpoint_is_passed_over_with_a_line)
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
    give_order(&f, 0, open_order(&f), job_frame(&f));
    ck_assert_ptr_nonnull(post_log(&f.post, "checkpoint damaged"));
    const struct order *opened = post_order(&f.post, TO_COORDINATOR, ORDER_RUN_OPENED);
    ck_assert(opened->run_opened.status == STATUS_OK);
    ck_assert_uint_eq(opened->run_opened.restore_step, 2);
    close_fixture(&f);
}

TEST_PLAIN(what_does_not_belong_to_a_run_is_refused)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 2);
    ck_assert(summarize(&f, RUN_FAILED, 2, EXIT_CLUSTER_LOST).status == STATUS_OK);
    close_fixture(&f);

    open_fixture(&f, "auto"); /* Another job in its folder. */
    f.job.seed = 8;
    ck_assert(open_run(&f).status == STATUS_MISMATCH);
    close_fixture(&f);
    open_fixture(&f, "never");
    struct order_run_opened opened = open_run(&f);
    ck_assert(opened.status == STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(opened.text, "--restore never"));
    close_fixture(&f);
}

TEST_PLAIN(a_run_that_cannot_begin_leaves_nothing_behind)
{
    struct fixture f;
    char out[DISK_PATH_MAX], path[DISK_PATH_MAX], part[DISK_PATH_MAX + 32];
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 2);
    checkpoint_path(path, f.out, 2);
    snprintf(part, sizeof part, "%s/part-1-of-2.safetensors", path);
    scratch_write(part, "x", 1);
    close_fixture(&f);

    const char *const named[] = {path, "/nowhere/step-000000000002"};
    for (size_t i = 0; i < 2; i++) {
        scratch_path(out, "elsewhere");
        open_fixture_on(&f, &disk_posix, out, named[i]);
        ck_assert(open_run(&f).status == (i == 0 ? STATUS_INVALID : STATUS_IO));
        ck_assert(!scratch_has(out));
        close_fixture(&f);
    }
    open_fixture(&f, "auto"); /* Nothing whole in the folder itself: its record stays as it is. */
    snprintf(path, sizeof path, "%.900s/generation", f.out);
    size_t bytes;
    char *before = scratch_read(path, &bytes);
    ck_assert(open_run(&f).status == STATUS_INVALID);
    char *after = scratch_read(path, &bytes);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    close_fixture(&f);
}

/* --- generations --------------------------------------------------------------------------- */

/* Another process takes server 0's place; the first is killed. */
static struct order_run_opened reopen(struct fixture *f, const char *restore)
{
    close_fixture(f);
    open_fixture(f, restore);
    return open_run(f);
}

TEST_PLAIN(a_killed_server_0_comes_back_to_its_run)
{
    struct fixture f;
    open_fixture(&f, "auto");
    struct order_run_opened opened = open_run(&f);
    ck_assert(opened.run_id == RUN && opened.generation == 0 && !opened.restore);
    const char *const restore[] = {"auto", "never", "auto"}; /* "never" is that of this very run. */
    for (uint64_t i = 0; i < 3; i++) {
        close_fixture(&f);
        open_fixture(&f, restore[i]);
        propose(&f, RUN + 1);
        opened = post_order(&f.post, TO_COORDINATOR, ORDER_RUN_OPENED)->run_opened;
        ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
        ck_assert_uint_eq(opened.run_id, RUN);
        ck_assert_uint_eq(opened.generation, i + 1);
        ck_assert(!opened.ended && !opened.restore); /* Before the first checkpoint. */
        ck_assert_uint_eq(opened.ended_run_id, 0);
    }
    close_fixture(&f);
}

/* --- given initial values --- */

/* Of the small job with given values, in a file beside the run's folder; server 0 is told of it. */
static void open_given(struct fixture *f, float from)
{
    char path[DISK_PATH_MAX];
    float values[64], *declared;
    struct error error;
    open_fixture(f, "auto");
    for (int i = 0; i < 64; i++)
        values[i] = from + (float)i;
    scratch_path(path, "given.safetensors");
    ck_assert(model_file_write(f->disk, path, "any", f->job.variables, f->job.variable_count,
                               values, NULL, &error) == STATUS_OK);
    ck_assert_msg(initial_declare(&f->job, f->disk, path, false, &declared, &error) == STATUS_OK,
                  "%s", error.text);
    free(declared);
    strcpy(f->checkpointers[0]->options.initial, path);
}

/* Server 0 has its own chunks at once; the other's are sent to it. */
static void expect_given(struct fixture *f, const struct order_run_opened *opened, float from)
{
    ck_assert_msg(opened->status == STATUS_OK, "%s", opened->text);
    ck_assert(opened->restore && opened->restore_step == 0);
    ck_assert(!load(f, 0, f->out, true).needs_chunks);
    struct packet *state = post_find(&f->post, TO_ROUTER, MESSAGE_CHUNK_STATE);
    ck_assert(state->message.chunk_state.step == 0 && state->message.chunk_state.first == 0);
    ck_assert(((float *)state->payload->data)[1] == from + 1);
    post_clear(&f->post);
    ck_assert(load(f, 1, "elsewhere", true).needs_chunks);
    post_clear(&f->post);
    give_order(f, 0, (struct order){.kind = ORDER_SEND_CHUNKS, .send_chunks.server = 1}, NULL);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_CHUNK_STATE), 4);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        const struct message_chunk_state *chunk = &packet->message.chunk_state;
        float first = chunk->array == 0 ? from + (float)chunk->first : 0.1f; /* adagrad's. */
        ck_assert(((float *)packet->payload->data)[0] == first);
    }
    post_clear(&f->post);
}

TEST_PLAIN(given_values_are_a_checkpoint_at_step_0)
{
    struct fixture f;
    char path[DISK_PATH_MAX];
    open_given(&f, 10);
    struct order_run_opened opened = open_run(&f);
    expect_given(&f, &opened, 10);
    opened = go_back(&f); /* Before there is another. */
    expect_given(&f, &opened, 10);
    scratch_path(path, "given.safetensors");
    ck_assert_int_eq(unlink(path), 0);
    struct job job;
    ck_assert(job_copy(&job, &f.job) == STATUS_OK);
    close_fixture(&f);

    open_fixture(&f, "auto"); /* Another process, that has only the run's folder. */
    job_free(&f.job);
    f.job = job;
    opened = open_run(&f);
    ck_assert_uint_eq(opened.generation, 2);
    expect_given(&f, &opened, 10);
    close_fixture(&f);
}

TEST_PLAIN(other_values_than_the_declared_ones_leave_no_run)
{
    struct fixture f;
    open_given(&f, 10);
    f.job.initial_digest[0] ^= 1;
    struct order_run_opened opened = open_run(&f);
    ck_assert_int_eq(opened.status, STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(opened.text, "initial values: "));
    ck_assert(!scratch_has(f.out));
    f.job.initial_digest[0] ^= 1;
    f.checkpointers[0]->options.initial[0] = '\0';
    job_free(&f.checkpointers[0]->job); /* Of the first time. */
    opened = open_run(&f);
    ck_assert_int_eq(opened.status, STATUS_IO);
    ck_assert_msg(strstr(opened.text, "initial.safetensors is missing") != NULL, "%s", opened.text);
    close_fixture(&f);
}

TEST_PLAIN(a_run_that_stops_before_its_first_step_leaves_the_given_model)
{
    struct fixture f;
    struct model_file file;
    char path[DISK_PATH_MAX];
    open_given(&f, 10);
    struct order_run_opened opened = open_run(&f);
    expect_given(&f, &opened, 10);
    ck_assert(summarize(&f, RUN_STOPPED, 0, EXIT_INTERRUPTED).status == STATUS_OK);
    scratch_path(path, "run/model.safetensors");
    ck_assert_int_eq(model_file_open(&file, f.disk, path, NULL), STATUS_OK);
    ck_assert(file.parameters[63] == 10 + 63);
    model_file_close(&file);
    close_fixture(&f);
}

TEST_PLAIN(a_run_that_has_ended_tells_those_who_come_from_it)
{
    struct fixture f;
    open_fixture(&f, "auto");
    start(&f);
    write_checkpoint(&f, 4);
    ck_assert(summarize(&f, RUN_STOPPED, 4, EXIT_TERMINATED).status == STATUS_OK);
    close_fixture(&f);
    open_fixture(&f, "auto");
    f.known_run_id = RUN;
    struct order_run_opened opened = open_run(&f);
    ck_assert(opened.status == STATUS_OK && opened.ended);
    ck_assert_uint_eq(opened.exit_code, EXIT_TERMINATED);
    ck_assert_uint_eq(opened.run_id, RUN);
    close_fixture(&f);

    open_fixture(&f, "auto"); /* Anybody else begins another session, of another run id. */
    propose(&f, RUN + 1);
    opened = post_order(&f.post, TO_COORDINATOR, ORDER_RUN_OPENED)->run_opened;
    ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
    ck_assert(!opened.ended && opened.restore && opened.restore_step == 4);
    ck_assert(opened.run_id == RUN + 1 && opened.generation == 1);
    ck_assert(opened.ended_run_id == RUN && opened.exit_code == EXIT_TERMINATED);
    close_fixture(&f);
}

/* A finished run in f.out, and the generation that it left. */
static struct generation finish(struct fixture *f)
{
    struct generation generation;
    open_fixture(f, "auto");
    start(f);
    write_checkpoint(f, 4);
    ck_assert(summarize(f, RUN_DONE, 4, EXIT_DONE).status == STATUS_OK);
    ck_assert(generation_read(&generation, f->disk, f->out, NULL) == STATUS_OK);
    close_fixture(f);
    return generation;
}

/* By server 0 of another session, of a job of so many more steps. */
static struct order_run_opened go_on_with(struct fixture *f, const char *restore, uint64_t more,
                                          uint64_t known_run_id)
{
    open_fixture(f, restore);
    f->job.steps += more;
    f->known_run_id = known_run_id;
    propose(f, RUN + 1);
    return post_order(&f->post, TO_COORDINATOR, ORDER_RUN_OPENED)->run_opened;
}

TEST_PLAIN(a_finished_run_is_trained_further_from_its_last_checkpoint)
{
    struct fixture f;
    struct generation before = finish(&f), after;
    struct order_run_opened opened = go_on_with(&f, "auto", 0, 0);
    ck_assert(opened.status == STATUS_EXISTS && strstr(opened.text, "trains it further") != NULL);
    close_fixture(&f);
    opened = go_on_with(&f, "never", 8, 0);
    ck_assert(opened.status == STATUS_EXISTS && strstr(opened.text, "--restore never") != NULL);
    close_fixture(&f);
    opened = go_on_with(&f, "auto", 8, RUN); /* Who comes from the finished run is told. */
    ck_assert(opened.status == STATUS_OK && opened.ended && opened.run_id == RUN);
    close_fixture(&f);
    ck_assert(generation_read(&after, f.disk, f.out, NULL) == STATUS_OK);
    ck_assert(generation_equal(&before, &after)); /* So far nothing has changed. */

    opened = go_on_with(&f, "auto", 8, 0);
    ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
    ck_assert(!opened.ended && opened.restore && opened.restore_step == 4);
    ck_assert(opened.run_id == RUN + 1 && opened.generation == before.number + 1);
    close_fixture(&f);

    /* Killed between its two claims: run.json is its own, the generation still that of the end. */
    ck_assert(generation_write(&before, f.disk, f.out, NULL) == STATUS_OK);
    opened = go_on_with(&f, "auto", 8, 0);
    ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
    ck_assert(!opened.ended && opened.restore && opened.restore_step == 4);
    close_fixture(&f);
    opened = go_on_with(&f, "auto", 8, 0); /* Killed after them: its successor goes on with it. */
    ck_assert(opened.status == STATUS_OK && opened.restore && opened.run_id == RUN + 1);
    close_fixture(&f);
}

TEST_PLAIN(a_finished_run_without_checkpoints_is_not_begun_anew)
{
    struct fixture f;
    char path[DISK_PATH_MAX];
    finish(&f);
    checkpoint_path(path, f.out, 4);
    ck_assert(disk_posix.remove_tree(NULL, path, NULL) == STATUS_OK);
    struct order_run_opened opened = go_on_with(&f, "auto", 8, 0);
    ck_assert_int_eq(opened.status, STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(opened.text, "without a checkpoint to train it further from"));
    close_fixture(&f);
}

TEST_PLAIN(a_run_killed_after_its_last_words_has_ended)
{
    static const struct {
        enum run_state state;
        uint32_t exit_code;
    } ends[] = {
        {RUN_DONE, EXIT_DONE}, {RUN_STOPPED, EXIT_INTERRUPTED}, {RUN_FAILED, EXIT_CLUSTER_LOST}};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        struct generation generation;
        char out[DISK_PATH_MAX];
        scratch_path(out, i == 0 ? "done" : i == 1 ? "stopped" : "failed");
        open_fixture_on(&f, &disk_posix, out, "auto");
        start(&f);
        write_checkpoint(&f, 6);
        ck_assert(summarize(&f, ends[i].state, 6, 0).status == STATUS_OK);
        ck_assert(generation_read(&generation, f.disk, out, NULL) == STATUS_OK);
        ck_assert(generation.ended && generation.exit_code == ends[i].exit_code);
        generation.ended = false; /* As it was just before. */
        generation.exit_code = 0;
        ck_assert(generation_write(&generation, f.disk, out, NULL) == STATUS_OK);
        close_fixture(&f);
        open_fixture_on(&f, &disk_posix, out, "auto");
        f.known_run_id = RUN;
        struct order_run_opened opened = open_run(&f);
        ck_assert(opened.status == STATUS_OK && opened.ended);
        ck_assert_uint_eq(opened.exit_code, ends[i].exit_code);
        close_fixture(&f);
        open_fixture_on(&f, &disk_posix, out, "auto"); /* Whoever does not come from it. */
        opened = open_run(&f);
        ck_assert(opened.ended_run_id == RUN && opened.exit_code == ends[i].exit_code);
        if (i == 0)
            ck_assert(opened.status == STATUS_EXISTS);
        else
            ck_assert_msg(opened.status == STATUS_OK && !opened.ended && opened.generation == 1,
                          "%s", opened.text);
        close_fixture(&f);
    }
}

TEST(going_back_raises_the_generation_and_finds_the_newest_checkpoint, "auto")
{
    start(f);
    struct order_run_opened opened = go_back(f);
    ck_assert(opened.status == STATUS_OK && !opened.restore);
    ck_assert(opened.run_id == RUN && opened.generation == 1);
    load_both(f, false);
    write_checkpoint(f, 2);
    write_checkpoint(f, 4);
    for (uint64_t i = 2; i < 5; i++) {
        opened = go_back(f);
        ck_assert(opened.status == STATUS_OK && opened.restore && opened.restore_step == 4);
        ck_assert_uint_eq(opened.generation, i);
    }
    load_both(f, true);
    ck_assert(load(f, 0, f->out, true).status == STATUS_OK); /* As often as anyone likes. */
    ck_assert_uint_eq(post_count(&f->post, TO_ROUTER, MESSAGE_CHUNK_STATE), 4);
    ck_assert_uint_eq(post_find(&f->post, TO_ROUTER, MESSAGE_CHUNK_STATE)->message.generation,
                      f->generation);
    post_clear(&f->post);
    struct message_part_written written = cut(f, 0, 0, 4); /* Again the same step. */
    ck_assert_msg(written.written, "%s", written.text);
    ck_assert_str_eq(written.part.name, "part-0-of-2.g4.safetensors");
    check_checkpoint(f, 4);
    write_checkpoint(f, 4);
    check_checkpoint(f, 4);
    opened = reopen(f, "auto");
    ck_assert(opened.generation == 5 && opened.restore_step == 4);
}

/* Written, and then a kill: nothing was removed. */
static void write_checkpoint_only(struct fixture *f, uint64_t step)
{
    struct checkpoint_part parts[2];
    struct error error;
    for (uint32_t i = 0; i < 2; i++)
        parts[i] = cut(f, i, i, step).part;
    const struct manifest manifest = {
        .job = f->job, .run_id = RUN, .step = step, .part_count = 2, .parts = parts};
    ck_assert_msg(checkpoint_write_manifest(f->disk, f->out, &manifest, &error) == STATUS_OK, "%s",
                  error.text);
}

TEST_PLAIN(what_a_killed_server_0_could_not_remove_its_successor_does)
{
    for (int damaged = 0; damaged < 2; damaged++) {
        struct fixture f;
        uint64_t steps[8];
        char out[DISK_PATH_MAX], path[DISK_PATH_MAX], part[DISK_PATH_MAX + 40];
        scratch_path(out, damaged ? "damaged" : "whole");
        open_fixture_on(&f, &disk_posix, out, "auto");
        start(&f);
        for (uint64_t step = 1; step <= 5; step++)
            write_checkpoint_only(&f, step);
        checkpoint_path(path, out, 5);
        snprintf(part, sizeof part, "%s/part-1-of-2.safetensors", path);
        if (damaged)
            scratch_write(part, "x", 1);
        close_fixture(&f);
        open_fixture_on(&f, &disk_posix, out, "auto");
        struct order_run_opened opened = open_run(&f);
        ck_assert(opened.status == STATUS_OK && opened.restore);
        ck_assert_uint_eq(opened.restore_step, damaged ? 4 : 5);
        /* Three whole ones; what is damaged is newer than those. */
        ck_assert_uint_eq(checkpoint_list(f.disk, out, steps, 8), damaged ? 4 : 3);
        for (uint64_t step = opened.restore_step - 2; step <= opened.restore_step; step++)
            check_checkpoint(&f, step);
        load_both(&f, true);
        post_clear(&f.post);
        write_checkpoint(&f, 6);
        ck_assert_uint_eq(checkpoint_list(f.disk, out, steps, 8), damaged ? 4 : 3);
        close_fixture(&f);
    }
}

TEST(what_went_wrong_is_noted_in_run_json, "auto")
{
    char path[DISK_PATH_MAX];
    start(f);
    const struct run_summary so_far = {.state = RUN_RUNNING, .faults = {.workers_lost = 3}};
    for (int successor = 0; successor < 2; successor++) {
        struct frame *payload = frame_create(sizeof so_far);
        memcpy(payload->data, &so_far, sizeof so_far);
        struct generation next = {.run_id = RUN, .number = 9};
        snprintf(path, sizeof path, "%.900s/run.json", f->out);
        if (successor) { /* It has the run now, and its own run.json. */
            ck_assert(generation_write(&next, f->disk, f->out, NULL) == STATUS_OK);
            scratch_write(path, "{}", 2);
        }
        give_order(f, 0, (struct order){.kind = ORDER_SUMMARY}, payload);
        ck_assert_uint_eq(post_count_all(&f->post), 0);
        size_t bytes;
        char *text = scratch_read(path, &bytes);
        ck_assert((strstr(text, "\"workers_lost\": 3") != NULL) == !successor);
        free(text);
    }
}

TEST(what_is_of_an_older_generation_is_dropped, "auto")
{
    char path[DISK_PATH_MAX];
    struct checkpoint_part parts[2];
    start(f);
    for (uint32_t i = 0; i < 2; i++)
        parts[i] = cut(f, i, i, 2).part;
    give(f, 0, state_of(4, 0, 0)); /* Half of a cut. */
    checkpoint_path(path, f->out, 2);
    ck_assert(scratch_has(path));
    ck_assert(go_back(f).status == STATUS_OK);
    ck_assert(!scratch_has(path)); /* Parts that nobody finishes. */
    f->generation--;
    struct frame *payload = frame_create(sizeof parts);
    memcpy(payload->data, parts, sizeof parts);
    give_order(f, 0, (struct order){.kind = ORDER_MANIFEST, .manifest.step = 2}, payload);
    for (uint32_t array = 0; array < 2; array++)
        for (uint32_t chunk = 0; chunk < 4; chunk += 2)
            give(f, 0, state_of(4, chunk, array));
    give_order(f, 0, (struct order){.kind = ORDER_LOAD, .load.plan = f->plans[0]}, NULL);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    f->generation++;
    load_both(f, false);
    write_checkpoint(f, 2);
    check_checkpoint(f, 2);
    f->generation++; /* In async mode a server goes on with what it has, and is not told to load. */
    ck_assert_str_eq(cut(f, 1, 1, 2).part.name, "part-1-of-2.g2.safetensors");
}

TEST_DISK(a_server_0_with_a_successor_writes_nothing_more, 1, 1)
{
    struct fixture f;
    struct checkpoint_part parts[2];
    open_fixture_on(&f, &disk->disk, "run", "auto");
    start(&f);
    write_checkpoint(&f, 2);
    for (uint32_t i = 0; i < 2; i++)
        parts[i] = cut(&f, i, i, 4).part;

    struct checkpointer *zombie = f.checkpointers[0];
    f.checkpointers[0] = checkpointer_of(&disk->disk, 0, "run", "auto");
    struct order_run_opened opened = open_run(&f);
    ck_assert(opened.status == STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(opened.text, "another run is using run"));
    checkpointer_destroy(&f.checkpointers[0]);
    f.checkpointers[0] = checkpointer_of(&disk->disk, 0, "run", "auto");
    simulated_disk_unlock(disk, SIMULATED_ANYBODY); /* As some network disks do, after a while. */
    opened = open_run(&f);
    ck_assert(opened.status == STATUS_OK && opened.run_id == RUN && opened.generation == 1);
    struct checkpointer *successor = f.checkpointers[0];
    f.checkpointers[0] = zombie;
    f.generation = 0;
    struct order_written written = write_manifest(&f, 4, parts);
    ck_assert(written.status == STATUS_EXISTS);
    ck_assert_str_eq(written.text, "another server 0 has taken over this run");
    written = summarize(&f, RUN_STOPPED, 2, EXIT_INTERRUPTED);
    ck_assert(written.status == STATUS_EXISTS);
    ck_assert_ptr_null(simulated_disk_find(disk, "run/model.safetensors"));
    opened = go_back(&f);
    ck_assert(opened.status == STATUS_EXISTS);
    f.checkpointers[0] = successor;
    f.generation = 1;
    opened = go_back(&f);
    ck_assert(opened.status == STATUS_OK && opened.restore_step == 2);
    checkpointer_destroy(&zombie);
    close_fixture(&f);
}

TEST_DISK(a_generation_that_cannot_be_written_is_said, 1, 1)
{
    struct fixture f;
    disk->full = true;
    open_fixture_on(&f, &disk->disk, "run", "auto");
    struct order_run_opened opened = open_run(&f);
    ck_assert(opened.status == STATUS_IO);
    ck_assert_ptr_nonnull(strstr(opened.text, "run/run.json: No space left on device"));
    disk->full = false;
    close_fixture(&f);
    disk->fail_at = 3; /* The lock, run.json, the generation. */
    open_fixture_on(&f, &disk->disk, "run", "auto");
    opened = open_run(&f);
    ck_assert(opened.status == STATUS_IO);
    ck_assert_ptr_nonnull(strstr(opened.text, "run/generation: Input/output error"));
    close_fixture(&f);
    open_fixture_on(&f, &disk->disk, "run", "auto");
    start(&f);
    disk->read_only = true;
    opened = go_back(&f);
    ck_assert(opened.status == STATUS_IO);
    ck_assert_ptr_nonnull(strstr(opened.text, "run/generation: Read-only file system"));
    close_fixture(&f);
}

TEST_PLAIN(a_damaged_generation_is_not_guessed)
{
    struct fixture f;
    char path[DISK_PATH_MAX];
    open_fixture(&f, "auto");
    start(&f);
    snprintf(path, sizeof path, "%.900s/generation", f.out);
    close_fixture(&f);
    scratch_write(path, "syncopate-generation-1\n", 23);
    open_fixture(&f, "auto");
    struct order_run_opened opened = open_run(&f);
    ck_assert(opened.status == STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(opened.text, path));
    close_fixture(&f);
}

/* --- disks that fail ----------------------------------------------------------------------- */

/* Some file of this step's checkpoint, or NULL. */
static const struct simulated_file *part_file(const struct simulated_disk *disk, uint64_t step)
{
    char path[DISK_PATH_MAX];
    checkpoint_path(path, "run", step);
    for (size_t i = 0; i < disk->file_count; i++)
        if (strncmp(disk->files[i].path, path, strlen(path)) == 0)
            return &disk->files[i];
    return NULL;
}

TEST_DISK(training_outlives_a_full_disk, 1, 1)
{
    struct fixture f;
    open_fixture_on(&f, &disk->disk, "run", "auto");
    start(&f);
    write_checkpoint(&f, 1);
    cut(&f, 0, 0, 2); /* Of two servers one still has room. */
    ck_assert_ptr_nonnull(part_file(disk, 2));
    disk->full = true;
    struct message_part_written written = cut(&f, 1, 1, 2);
    ck_assert(!written.written);
    ck_assert_ptr_nonnull(strstr(written.text, "No space left on device"));
    written = cut(&f, 0, 0, 3);
    ck_assert(!written.written);
    ck_assert_ptr_null(part_file(disk, 2)); /* It took room for nothing. */
    check_checkpoint(&f, 1);
    disk->full = false;
    write_checkpoint(&f, 4);
    check_checkpoint(&f, 4);
    close_fixture(&f);
}

/* A part of the cut at 2 is there; what comes next is of a later one. */
TEST_DISK(left_overs_that_cannot_be_removed_are_told_of_and_removed_when_they_can, 1, 1)
{
    struct fixture f;
    open_fixture_on(&f, &disk->disk, "run", "auto");
    start(&f);
    struct checkpoint_part parts[2] = {cut(&f, 0, 0, 2).part, cut(&f, 1, 1, 2).part};
    disk->fail_at = 1; /* Of step 2, of which the manifest comes late, something is to go. */
    for (uint32_t chunk = 0; chunk < 4; chunk += 2)
        for (uint32_t array = 0; array < 2; array++)
            give(&f, 0, state_of(3, chunk, array));
    ck_assert_ptr_nonnull(post_log(&f.post, "left-overs of checkpoints stay: "));
    post_clear(&f.post);
    ck_assert_ptr_nonnull(part_file(disk, 3));
    ck_assert(write_manifest(&f, 2, parts).status == STATUS_OK);
    cut(&f, 0, 0, 4);
    ck_assert_ptr_null(part_file(disk, 3)); /* Of no use, whatever became of step 2. */
    check_checkpoint(&f, 2);
    close_fixture(&f);
}

TEST_DISK(a_model_that_cannot_be_written_is_a_failure_with_its_path, 1, 1)
{
    struct fixture f;
    open_fixture_on(&f, &disk->disk, "run", "auto");
    start(&f);
    write_checkpoint(&f, 6);
    disk->full = true;
    struct order_written written = summarize(&f, RUN_DONE, 6, EXIT_DONE);
    ck_assert(written.status == STATUS_IO);
    ck_assert_ptr_nonnull(strstr(written.text, "run/model.safetensors: No space left"));
    close_fixture(&f);
}

/* The last bit of a server's part of the checkpoint at this step is turned over. */
static void damage(struct simulated_disk *disk, uint32_t server, uint64_t step)
{
    char path[DISK_PATH_MAX];
    checkpoint_path(path, "run", step);
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "/part-%u-of-2.safetensors", server);
    struct simulated_file *part = simulated_disk_find(disk, path);
    ck_assert_ptr_nonnull(part);
    part->data[part->bytes - 1] ^= 1;
}

/* A model is made of the checkpoint at this step, of which a server's part is damaged just before. */
static enum status model_of_damaged(uint64_t step, uint32_t server, bool goes_back)
{
    struct fixture f;
    struct simulated_disk disk;
    simulated_disk_init(&disk, 1, 1);
    open_fixture_on(&f, &disk.disk, "run", "auto");
    start(&f);
    write_checkpoint(&f, step);
    if (goes_back)
        ck_assert(go_back(&f).restore_step == step);
    damage(&disk, server, step);
    bool last = step == f.job.steps;
    enum status status =
        summarize(&f, last ? RUN_DONE : RUN_STOPPED, step, last ? EXIT_DONE : EXIT_INTERRUPTED)
            .status;
    close_fixture(&f);
    simulated_disk_free(&disk);
    return status;
}

/* That a damage passes is how it shows that a part is not read again. */
TEST_PLAIN(of_the_last_checkpoint_a_model_file_is_made_without_reading_ones_own_part_again)
{
    struct job job = small_job(MODE_SYNC, 2, 2);
    uint64_t last = job.steps;
    ck_assert_int_eq(model_of_damaged(last, 0, false), STATUS_OK);
    ck_assert_int_eq(model_of_damaged(last, 1, false), STATUS_INVALID); /* Another process's. */
    ck_assert_int_eq(model_of_damaged(last, 0, true), STATUS_INVALID);  /* Of a cut that is over. */
    ck_assert_int_eq(model_of_damaged(last - 2, 0, false), STATUS_INVALID);
    job_free(&job);
}

/* Which checkpoint whoever comes next goes on from, which must be whole. */
static uint64_t recovered_step(struct simulated_disk *disk)
{
    struct fixture f;
    open_fixture_on(&f, &disk->disk, "run", "auto");
    struct order_run_opened opened = open_run(&f);
    ck_assert_msg(opened.status == STATUS_OK, "%s", opened.text);
    ck_assert_msg(opened.restore, "there is no checkpoint any more");
    check_checkpoint(&f, opened.restore_step);
    load_both(&f, true);
    write_checkpoint(&f, 6); /* And it goes on. */
    check_checkpoint(&f, 6);
    ck_assert(summarize(&f, RUN_DONE, 6, EXIT_DONE).status == STATUS_OK);
    close_fixture(&f);
    return opened.restore_step;
}

/* Four checkpoints are there; then the fifth is written, three are kept, a generation raised and
 * one more written, until the disk does not go along. */
static void work_on(struct fixture *f)
{
    struct checkpoint_part parts[2];
    for (uint64_t step = 4; step <= 5; step++) {
        bool written = true;
        for (uint32_t i = 0; i < 2; i++) {
            struct message_part_written answer = cut(f, i, i, step);
            written = written && answer.written;
            parts[i] = answer.part;
        }
        if (written)
            write_manifest(f, step, parts);
        if (step == 4 && go_back(f).status != STATUS_OK)
            return; /* That is the end of the job. */
        if (step == 4)
            load_both(f, true);
    }
}

static void prepare(struct fixture *f, struct simulated_disk *disk, uint64_t seed)
{
    simulated_disk_init(disk, seed, 1);
    open_fixture_on(f, &disk->disk, "run", "auto");
    start(f);
    for (uint64_t step = 0; step < 4; step++)
        write_checkpoint(f, step);
}

TEST_PLAIN(a_kill_at_any_change_leaves_a_whole_checkpoint)
{
    uint64_t changes = 0, last = 0;
    bool crashed = true;
    while (crashed) {
        changes++;
        for (uint64_t seed = 0; seed < 6; seed++) { /* Old, new and torn. */
            struct fixture f;
            struct simulated_disk disk;
            prepare(&f, &disk, seed);
            disk.crash_at = changes;
            work_on(&f);
            crashed = disk.crashed;
            close_fixture(&f);
            disk.crash_at = 0;
            disk.crashed = false;
            uint64_t step = recovered_step(&disk);
            ck_assert_uint_ge(step, 3);
            last = step > last ? step : last;
            simulated_disk_free(&disk);
        }
    }
    ck_assert_uint_ge(changes, 12); /* Four parts, two manifests, a generation, what is pruned. */
    ck_assert_uint_eq(last, 5);
}

TEST_PLAIN(a_failure_at_any_change_leaves_a_whole_checkpoint)
{
    for (uint64_t change = 1;; change++) {
        struct fixture f;
        struct simulated_disk disk;
        prepare(&f, &disk, 1);
        disk.fail_at = change;
        work_on(&f);
        bool failed = disk.fail_at == 0;
        disk.fail_at = 0;
        close_fixture(&f);
        ck_assert_uint_ge(recovered_step(&disk), 3);
        simulated_disk_free(&disk);
        if (!failed) {
            ck_assert_uint_ge(change, 12);
            break;
        }
    }
}

/* --- chunks on their way ------------------------------------------------------------------- */

TEST(a_server_that_does_not_see_the_run_directory_sends_its_chunks_to_server_0, "auto")
{
    start(f);
    checkpointer_destroy(&f->checkpointers[1]);
    f->checkpointers[1] = checkpointer_of(&disk_posix, 1, "", "auto");
    ck_assert(!load(f, 1, "/nowhere/at/all", false).shared);
    post_clear(&f->post);
    for (uint32_t chunk = 1; chunk < 4; chunk += 2)
        for (uint32_t array = 0; array < 2; array++)
            give(f, 1, state_of(6, chunk, array));
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_CHUNK_STATE), 4);
    ck_assert_ptr_null(post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN));
    post_clear(&f->post);
    struct message_part_written written = cut(f, 0, 1, 6); /* And server 0 writes its part. */
    ck_assert_msg(written.written, "%s", written.text);
    ck_assert_str_eq(written.part.name, "part-1-of-2.safetensors");
}

TEST(states_that_are_no_chunk_are_ignored, "auto")
{
    give(f, 0, state_of(4, 0, 0)); /* Before there is a plan. */
    start(f);
    const struct message_chunk_state bad[] = {
        {4, 8, 16, 0, 0, 4},
        {4, 0, 15, 0, 0, 4},
        {4, 0, 32, 0, 0, 4},
        {4, 0, 16, 2, 0, 4},
        {4, 0, 16, UINT32_MAX, 0, 4},
        {4, 0, 16, 0, 1, 4},
        {4, 0, 16, 0, 2, 4},
        {4, 0, 16, 0, UINT32_MAX, 4},
        {4, 64, 16, 0, 0, 4},
        {4, 0, 0, 0, 0, 4},
        {4, 0, UINT64_MAX / 4 + 17, 0, 0, 4},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct packet packet = state_of(4, 0, 0);
        packet.message.chunk_state = bad[i];
        give(f, 0, packet);
    }
    struct packet empty = state_of(4, 0, 0);
    frame_release(empty.payload);
    empty.payload = NULL;
    give(f, 0, empty);
    for (uint32_t count = 15; count <= 17; count++) { /* Of the wrong size, said or not. */
        for (int said = 0; said < 2; said++) {
            struct packet packet = state_of(4, 0, 0);
            frame_release(packet.payload);
            packet.payload = count == 16 ? frame_create(63) : frame_of(1, count);
            packet.message.chunk_state.count = said ? count : 16;
            give(f, 0, packet);
        }
    }
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    ck_assert(cut(f, 0, 1, 4).written);
    write_checkpoint(f, 4);
    check_checkpoint(f, 4);
}

/* --- scored models ------------------------------------------------------------------------- */

/* A job whose epochs have so many batches that these counts end one. */
static void start_kept(struct fixture *f)
{
    f->job.test_examples = 10;
    f->job.keep_scored = true;
    for (uint32_t i = 0; i < 2; i++) {
        struct error error;
        plan_destroy(&f->plans[i]);
        ck_assert(plan_create(&f->plans[i], &f->job, i, RUN, &error) == STATUS_OK);
    }
    start(f);
}

static void give_scored(struct fixture *f, uint64_t batches, uint32_t chunk)
{
    struct packet packet = state_of(batches, chunk, 0);
    packet.message.chunk_state.array = CHECKPOINT_SCORED;
    give(f, 0, packet);
}

static bool is_kept(const struct fixture *f, uint64_t epoch)
{
    char path[DISK_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/scored/epoch-%d.safetensors", f->out, (int)epoch);
    return f->disk->look(f->disk->context, path) == DISK_FILE;
}

TEST(a_scored_model_is_written_when_all_its_chunks_are_there, "auto")
{
    struct model_file file;
    struct error error;
    char path[DISK_PATH_MAX + 64];
    start_kept(f);
    uint64_t epoch = job_steps_per_epoch(&f->job);
    for (uint32_t chunk = 0; chunk < 4; chunk++) {
        ck_assert(!is_kept(f, 1));
        give_scored(f, epoch, chunk);
        give_scored(f, epoch, chunk); /* Repeated. */
    }
    snprintf(path, sizeof path, "%s/scored/epoch-1.safetensors", f->out);
    ck_assert_msg(model_file_open(&file, f->disk, path, &error) == STATUS_OK, "%s", error.text);
    for (uint32_t chunk = 0; chunk < 4 && chunk * 16 < file.elements; chunk++)
        ck_assert_float_eq(file.parameters[16 * chunk], value_of(epoch, chunk, 0));
    model_file_close(&file);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
}

TEST(a_scored_model_that_is_passed_or_forgotten_is_not_written, "auto")
{
    start_kept(f);
    uint64_t epoch = job_steps_per_epoch(&f->job);
    for (uint32_t chunk = 0; chunk < 3; chunk++)
        give_scored(f, epoch, chunk);
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        give_scored(f, 2 * epoch, chunk);
    give_scored(f, epoch, 3); /* Late. */
    ck_assert(!is_kept(f, 1) && is_kept(f, 2));
    for (uint32_t chunk = 0; chunk < 3; chunk++)
        give_scored(f, 3 * epoch, chunk);
    go_back(f);
    load_both(f, false);
    give_scored(f, 3 * epoch, 3);
    ck_assert(!is_kept(f, 3));
}

TEST(a_scored_model_that_cannot_be_written_costs_a_line, "auto")
{
    char path[DISK_PATH_MAX + 16];
    start_kept(f);
    uint64_t epoch = job_steps_per_epoch(&f->job);
    snprintf(path, sizeof path, "%s/scored", f->out);
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fclose(file) == 0);
    for (uint64_t i = 1; i < 4; i++)
        for (uint32_t chunk = 0; chunk < 4; chunk++)
            give_scored(f, i * epoch, chunk);
    ck_assert_ptr_nonnull(post_log(&f->post, "is not kept: "));
    ck_assert(remove(path) == 0);
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        give_scored(f, 4 * epoch, chunk);
    ck_assert(is_kept(f, 4));
    ck_assert_ptr_nonnull(post_log(&f->post, "scored models are kept again; 3 were not"));
}

TEST(nothing_of_the_kind_is_taken_of_a_job_that_does_not_keep_it, "auto")
{
    start(f);
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        give_scored(f, job_steps_per_epoch(&f->job), chunk);
    ck_assert(!is_kept(f, 1));
}

TEST(a_part_that_cannot_be_written_says_why, "auto")
{
    char checkpoints[DISK_PATH_MAX + 16];
    start(f);
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", f->out);
    disk_posix.remove_tree(disk_posix.context, checkpoints, NULL);
    scratch_write(checkpoints, "in the way", 10);
    struct message_part_written written = cut(f, 0, 0, 2);
    ck_assert(!written.written);
    ck_assert_ptr_nonnull(strstr(written.text, "checkpoints"));
}

TEST(what_is_half_in_when_a_later_cut_begins_is_forgotten, "auto")
{
    start(f);
    give(f, 0, state_of(2, 0, 0));
    give(f, 0, state_of(2, 0, 1));
    ck_assert(cut(f, 0, 0, 4).written);
    for (uint32_t array = 0; array < 2; array++)
        give(f, 0, state_of(2, 2, array));
    ck_assert_ptr_null(post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN));
}

int main(void)
{
    return suite_run("checkpointer", scratch_add);
}
