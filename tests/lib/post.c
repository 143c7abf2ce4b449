/* post.c - takes all packets out of an outbox when first asked, and keeps them until cleared. */

#include "tests/lib/post.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

static void take(struct post *post)
{
    struct outgoing item;
    if (post->taken == NULL)
        post->taken = calloc(POST_MAX, sizeof *post->taken);
    ck_assert_ptr_nonnull(post->taken);
    while (outbox_take(&post->outbox, &item)) {
        ck_assert_uint_lt(post->taken_count, POST_MAX);
        post->taken[post->taken_count++] = item;
    }
}

void post_clear(struct post *post)
{
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        frame_release(post->taken[i].packet.payload);
    post->taken_count = 0;
}

void post_free(struct post *post)
{
    post_clear(post);
    free(post->taken);
    outbox_free(&post->outbox);
    memset(post, 0, sizeof *post);
}

struct packet *post_find(struct post *post, enum destination to, enum message_kind kind)
{
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        if (post->taken[i].to == to && post->taken[i].packet.message.kind == kind)
            return &post->taken[i].packet;
    return NULL;
}

struct packet *post_find_to(struct post *post, enum destination to, uint32_t index,
                            enum message_kind kind)
{
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        if (post->taken[i].to == to && post->taken[i].index == index &&
            post->taken[i].packet.message.kind == kind)
            return &post->taken[i].packet;
    return NULL;
}

unsigned post_count(struct post *post, enum destination to, enum message_kind kind)
{
    unsigned count = 0;
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        count += post->taken[i].to == to && post->taken[i].packet.message.kind == kind;
    return count;
}

static bool holds(const struct outgoing *item, enum destination to, enum order_kind kind)
{
    const struct order *order = order_of(&item->packet);
    return item->to == to && order != NULL && order->kind == kind;
}

struct packet *post_order_packet(struct post *post, enum destination to, enum order_kind kind)
{
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        if (holds(&post->taken[i], to, kind))
            return &post->taken[i].packet;
    return NULL;
}

const struct order *post_order(struct post *post, enum destination to, enum order_kind kind)
{
    const struct packet *packet = post_order_packet(post, to, kind);
    return packet != NULL ? order_of(packet) : NULL;
}

unsigned post_count_orders(struct post *post, enum destination to, enum order_kind kind)
{
    unsigned count = 0;
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        count += holds(&post->taken[i], to, kind);
    return count;
}

unsigned post_count_all(struct post *post)
{
    unsigned count = 0;
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        count += post->taken[i].to != TO_LOG;
    return count;
}

const char *post_log(struct post *post, const char *part)
{
    take(post);
    for (size_t i = 0; i < post->taken_count; i++)
        if (post->taken[i].to == TO_LOG &&
            strstr(post->taken[i].packet.message.waiting.text, part) != NULL)
            return post->taken[i].packet.message.waiting.text;
    return NULL;
}

struct job small_job(enum mode mode, uint32_t workers, uint32_t servers)
{
    struct job job = {
        .mode = mode,
        .backup_workers = mode == MODE_BACKUP,
        .seed = 7,
        .model = "dense 4",
        .optimizer = optimizer_find("sgd")->defaults,
        .schedule = {.kind = SCHEDULE_CONSTANT, .learning_rate = 1, .decay_factor = 1},
        .data = "none",
        .examples = 20,
        .batch = 8,
        .micro_batch = 2,
        .steps = 6,
        .chunk_bytes = 64,
        .worker_count = workers,
        .server_count = servers,
    };
    snprintf(job.optimizer.name, sizeof job.optimizer.name, "sgd");
    job.variables = calloc(2, sizeof *job.variables);
    job.servers = calloc(servers + 1, sizeof *job.servers);
    ck_assert_ptr_nonnull(job.variables);
    ck_assert_ptr_nonnull(job.servers);
    job.variable_count = 2;
    job.variables[0] = (struct variable){"dense1/kernel", 2, {3, 16}, INITIALIZER_ZEROS, 3, 16, 0};
    job.variables[1] = (struct variable){"dense1/bias", 1, {16}, INITIALIZER_ZEROS, 0, 0, 0};
    for (uint32_t i = 0; i < servers; i++)
        snprintf(job.servers[i], ADDRESS_MAX, "127.0.0.1:%u", 2000 + i);
    struct error error;
    ck_assert_msg(job_check(&job, &error) == STATUS_OK, "%s", error.text);
    return job;
}

struct frame *frame_of(float value, size_t count)
{
    struct frame *frame = frame_create(count * sizeof(float));
    ck_assert_ptr_nonnull(frame);
    for (size_t i = 0; i < count; i++)
        ((float *)frame->data)[i] = value;
    return frame;
}
