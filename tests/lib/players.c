/* players.c - stamps messages as their senders would, beats for the living, and follows what all
 * are told. */

#include "tests/lib/players.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/wire/pages.h"

#define BEAT_US (PLAYERS_SECOND / 2)

void players_prepare(struct players *p, enum mode mode)
{
    memset(p, 0, sizeof *p);
    p->options = (struct coordinator_options){
        .run_id = PLAYERS_RUN,
        .out = "/tmp/out",
        .deadlines = {.start = 60, .silence = 5, .recovery = 20, .progress = 100, .stop = 30},
        .max_bad_gradients = 2,
    };
    p->job = small_job(mode, 2, 2);
    p->now_us = PLAYERS_SECOND;
}

void players_create(struct players *p)
{
    ck_assert(coordinator_create(&p->coordinator, &p->options, p->now_us) == STATUS_OK);
}

void players_open(struct players *p, enum mode mode)
{
    players_prepare(p, mode);
    players_create(p);
}

void players_close(struct players *p)
{
    post_free(&p->post);
    coordinator_destroy(&p->coordinator);
    job_free(&p->job);
}

struct player *players_of(struct players *p, enum role role, uint32_t index)
{
    static struct player nobody;
    if (index >= PLAYERS_MAX || (role != ROLE_WORKER && role != ROLE_PS))
        return memset(&nobody, 0, sizeof nobody);
    return role == ROLE_WORKER ? &p->workers[index] : &p->servers[index];
}

uint64_t players_peer(enum role role, uint32_t index)
{
    return role == ROLE_WORKER ? 10 + index : index == 0 ? PEER_LOCAL : 20 + index;
}

struct packet players_packet(struct players *p, enum role role, uint32_t index,
                             enum message_kind kind)
{
    const struct player *player = players_of(p, role, index);
    struct packet packet = {.peer = players_peer(role, index)};
    packet.message.kind = kind;
    packet.message.role = role;
    packet.message.index = index;
    packet.message.incarnation = 1000 * player->phases + 100 * role + index + 1;
    packet.message.run_id = PLAYERS_RUN;
    packet.message.generation = player->generation;
    packet.message.ticket = player->ticket;
    packet.message.proof = player->proof;
    packet.message.request = ++p->request;
    return packet;
}

void players_give(struct players *p, struct packet packet)
{
    coordinator_handle(p->coordinator, &packet, p->now_us, &p->post.outbox);
}

void players_say(struct players *p, enum role role, uint32_t index, enum message_kind kind)
{
    players_give(p, players_packet(p, role, index, kind));
}

void players_checkpointer(struct players *p, struct message message)
{
    struct packet packet = {.message = message};
    coordinator_handle_inside(p->coordinator, &packet, p->now_us, &p->post.outbox);
}

void players_order(struct players *p, struct order order)
{
    struct packet packet = order_packet(&order);
    coordinator_handle_inside(p->coordinator, &packet, p->now_us, &p->post.outbox);
}

struct message *players_told(struct players *p, uint64_t peer, enum message_kind kind)
{
    struct message *latest = NULL;
    post_find(&p->post, TO_PEER, kind);
    for (size_t i = 0; i < p->post.taken_count; i++)
        if (p->post.taken[i].to == TO_PEER && p->post.taken[i].packet.peer == peer &&
            p->post.taken[i].packet.message.kind == kind)
            latest = &p->post.taken[i].packet.message;
    return latest;
}

const char *players_event(struct players *p, const char *name)
{
    const char *latest = NULL;
    post_order(&p->post, TO_CHECKPOINTER, ORDER_EVENT);
    for (size_t i = 0; i < p->post.taken_count; i++) {
        const struct order *order = order_of(&p->post.taken[i].packet);
        if (order != NULL && order->kind == ORDER_EVENT && strcmp(order->event.name, name) == 0)
            latest = order->event.members;
    }
    return latest;
}

/* --- joining ------------------------------------------------------------------------------- */

struct packet players_join_packet(struct players *p, enum role role, uint32_t index)
{
    struct packet packet = players_packet(p, role, index, MESSAGE_JOIN);
    struct message_join *join = &packet.message.join;
    packet.message.run_id = packet.message.ticket = packet.message.proof = 0;
    join->version_min = PROTOCOL_VERSION_MIN;
    join->version_max = PROTOCOL_VERSION_MAX;
    snprintf(join->host, sizeof join->host, "host%u", index);
    memset(join->probe_digest, (int)role, sizeof join->probe_digest);
    if (role == ROLE_WORKER)
        ck_assert(job_digest(&p->job, join->job_digest) == STATUS_OK);
    return packet;
}

static void follow(struct players *p, enum role role, uint32_t index)
{
    struct player *player = players_of(p, role, index);
    const struct message *welcome = players_told(p, players_peer(role, index), MESSAGE_WELCOME);
    const struct message *start = players_told(p, players_peer(role, index), MESSAGE_START);
    if (welcome != NULL) {
        ck_assert_uint_eq(welcome->run_id, PLAYERS_RUN);
        player->ticket = welcome->welcome.ticket;
        player->proof = welcome->welcome.proof;
        player->generation = welcome->generation;
    }
    if (start != NULL && start->generation >= player->generation) {
        player->generation = start->generation;
        player->assignment = start->start.assignment;
        player->step = start->start.step;
    }
}

void players_follow(struct players *p)
{
    for (uint32_t i = 0; i < PLAYERS_MAX; i++) {
        if (p->workers[i].alive)
            follow(p, ROLE_WORKER, i);
        if (p->servers[i].alive)
            follow(p, ROLE_PS, i);
    }
}

void players_join(struct players *p, enum role role, uint32_t index)
{
    players_give(p, players_join_packet(p, role, index));
    if (players_told(p, players_peer(role, index), MESSAGE_WELCOME) == NULL)
        return;
    players_of(p, role, index)->alive = true;
    follow(p, role, index);
}

void players_declare(struct players *p, uint32_t worker, const struct job *job)
{
    uint8_t *bytes;
    uint32_t count;
    ck_assert(job_encode(job, &bytes, &count) == STATUS_OK);
    struct packet packet = players_packet(p, ROLE_WORKER, worker, MESSAGE_JOB_PAGE);
    for (uint32_t i = 0; pages_cut(bytes, count, i, &packet.message.job_page); i++)
        players_give(p, packet);
    free(bytes);
}

void players_opened(struct players *p, uint64_t generation, bool restore, uint64_t step)
{
    players_order(p, (struct order){.kind = ORDER_RUN_OPENED,
                                    .generation = generation,
                                    .run_opened = {.run_id = PLAYERS_RUN,
                                                   .generation = generation,
                                                   .restore = restore,
                                                   .restore_step = step}});
}

void players_gather(struct players *p)
{
    players_join(p, ROLE_WORKER, 0);
    players_declare(p, 0, &p->job);
    players_opened(p, 0, false, 0);
    post_clear(&p->post);
}

void players_start(struct players *p)
{
    players_gather(p);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(p, ROLE_PS, i);
        players_join(p, ROLE_WORKER, i);
        p->servers[i].ready = true;
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
    ck_assert_ptr_nonnull(players_told(p, 10, MESSAGE_START));
    players_follow(p);
    post_clear(&p->post);
}

void players_kill(struct players *p, enum role role, uint32_t index)
{
    players_of(p, role, index)->alive = false;
}

void players_restart(struct players *p, enum role role, uint32_t index)
{
    struct player *player = players_of(p, role, index);
    *player = (struct player){.phases = player->phases + 1};
}

/* --- time ---------------------------------------------------------------------------------- */

static void beat(struct players *p, enum role role, uint32_t index)
{
    const struct player *player = players_of(p, role, index);
    bool ready = role == ROLE_PS && player->ready;
    if (!player->alive)
        return;
    struct packet packet = players_packet(p, role, index, ready ? MESSAGE_READY : MESSAGE_PING);
    if (ready)
        packet.message.ready.leash = player->leash;
    if (!ready) {
        packet.message.ping.leash = player->leash;
        packet.message.ping.step = player->step;
        packet.message.ping.assignment = player->assignment;
        packet.message.ping.computing = player->computing;
    }
    players_give(p, packet);
}

static void advance(struct players *p, double seconds, bool heard)
{
    uint64_t end_us = p->now_us + (uint64_t)(seconds * PLAYERS_SECOND + 0.5);
    do {
        uint64_t step_us = end_us - p->now_us < BEAT_US ? end_us - p->now_us : BEAT_US;
        p->now_us += step_us;
        if (heard)
            players_follow(p);
        for (uint32_t i = 0; i < PLAYERS_MAX && heard; i++) {
            beat(p, ROLE_WORKER, i);
            beat(p, ROLE_PS, i);
        }
        coordinator_tick(p->coordinator, p->now_us, &p->post.outbox);
    } while (p->now_us < end_us);
    if (heard)
        players_follow(p);
}

void players_wait(struct players *p, double seconds)
{
    advance(p, seconds, false);
}

void players_pass(struct players *p, double seconds)
{
    players_follow(p);
    post_clear(&p->post);
    advance(p, seconds, true);
}

/* --- what workers say ---------------------------------------------------------------------- */

void players_report(struct players *p, uint32_t worker, uint64_t step, struct node node)
{
    struct packet packet = players_packet(p, ROLE_WORKER, worker, MESSAGE_REPORT);
    packet.message.report.step = step;
    packet.message.report.node = node;
    packet.message.report.examples = 2 * node.leaf_count;
    packet.message.report.loss = 1 << 20;
    players_give(p, packet);
}

void players_lease(struct players *p, uint32_t worker, bool finished, uint64_t batch)
{
    struct packet packet = players_packet(p, ROLE_WORKER, worker, MESSAGE_LEASE);
    packet.message.lease.finished = finished;
    packet.message.lease.batch = batch;
    players_give(p, packet);
}

void players_stop(struct players *p, enum role role, uint32_t index, uint32_t code,
                  const char *reason)
{
    struct packet packet = players_packet(p, role, index, MESSAGE_STOP);
    packet.message.stop.exit_code = code;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    players_give(p, packet);
}

void players_done(struct players *p, uint32_t worker, uint64_t step)
{
    struct packet packet = players_packet(p, ROLE_WORKER, worker, MESSAGE_DONE);
    packet.message.done.step = step;
    players_give(p, packet);
}
