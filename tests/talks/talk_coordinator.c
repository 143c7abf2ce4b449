/* talk_coordinator.c - the coordinator under test, and the processes that it speaks with: each stamps what
 * it says, and follows what it is told, until a talk kills it.
 *
 *     start              all have joined, training is on; gather: as far as the declaration
 *     join ps/1          JOIN, and the WELCOME
 *     declare worker/0   its declaration, as JOB_PAGEs
 *     pass 6             seconds in which the living are heard twice a second; tick 6: none is
 *     kill ps/1          it is not heard any more, and hears nothing
 *     wake ps/1          it is heard again
 *     restart ps/1       a new process in its place, which has not joined
 *     deaf ps/1          it hears nothing, and speaks on
 *     be worker/1 computing leash=lost   what it says of itself while time passes
 *     abandon            this server's launcher is gone
 */

#include "tests/talks/talk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/pages.h"
#include "ps/coordinator/coordinator.h"
#include "tests/lib/post.h"

enum { RUN = 0x77, PLAYERS = 8, WORKERS_KEPT = 8 };

struct player {
    bool alive, hears, ready;
    uint64_t phases; /* Another process each time. */
    uint64_t ticket, proof, generation;
    uint32_t assignment;
    uint64_t step;
    bool computing;
    unsigned leash;
};

static struct coordinator *coordinator;
static struct coordinator_options options;
static struct player workers[PLAYERS], servers[PLAYERS];
static uint64_t request, beaten_us;
static unsigned log_lines;
static bool member;                /* Of the latest that was given. */
static struct run_summary summary; /* The latest. */
static struct worker_summary summary_workers[WORKERS_KEPT];

static const char *leash_word(unsigned leash)
{
    return leash == LEASH_LOST ? "lost" : leash == LEASH_HELD ? "held" : "none";
}

static const char *loss_word(unsigned loss)
{
    return loss == LOSS_CONTINUE ? "continue" : loss == LOSS_WAIT ? "wait" : "fail";
}

#define ROW(name, member, kind) TALK_ROW(struct coordinator_options, name, member, kind)
static const struct message_field option_rows[] = {
    ROW("run_id", run_id, ID),
    ROW("job_id", job_id, TEXT),
    ROW("address", address, TEXT),
    ROW("secret", secret, DIGEST),
    ROW("start", deadlines.start, REAL),
    ROW("silence", deadlines.silence, REAL),
    ROW("recovery", deadlines.recovery, REAL),
    ROW("progress", deadlines.progress, REAL),
    ROW("stop", deadlines.stop, REAL),
    ROW("began_us", began_us, U64),
    ROW("max_bad_gradients", max_bad_gradients, U32),
    TALK_WORD(struct coordinator_options, "on_worker_loss", on_worker_loss, LOSS_FAIL, loss_word),
    {.kind = FIELD_END}};

static const struct message_field player_rows[] = {
    TALK_ROW(struct player, "computing", computing, FLAG),
    TALK_ROW(struct player, "step", step, U64),
    TALK_ROW(struct player, "assignment", assignment, U32),
    TALK_WORD(struct player, "leash", leash, LEASH_COUNT - 1, leash_word),
    {.kind = FIELD_END}};

static void prepare(enum mode mode)
{
    options = (struct coordinator_options){
        .run_id = RUN,
        .out = "/tmp/out",
        .deadlines = {.start = 60, .silence = 5, .recovery = 20, .progress = 100, .stop = 30},
        .max_bad_gradients = 2,
    };
    talk_job = small_job(mode, 2, 2);
    memset(workers, 0, sizeof workers);
    memset(servers, 0, sizeof servers);
    for (int i = 0; i < PLAYERS; i++)
        workers[i].hears = servers[i].hears = true;
    request = log_lines = 0;
    beaten_us = TALK_SECOND;
    summary = (struct run_summary){.exit_code = UINT32_MAX};
}

static void open_coordinator(void)
{
    if (coordinator_create(&coordinator, &options, talk_now_us) != STATUS_OK)
        talk_fail("no memory");
}

static void close_coordinator(void)
{
    coordinator_destroy(&coordinator);
}

/* --- those who speak with it ----------------------------------------------------------------- */

static struct player *player(bool server, uint32_t index)
{
    static struct player nobody;
    nobody = (struct player){0};
    return index >= PLAYERS ? &nobody : server ? &servers[index] : &workers[index];
}

static uint64_t peer_of(bool server, uint32_t index)
{
    return server && index == 0 ? PEER_LOCAL : (server ? TALK_SERVERS : TALK_WORKERS) + index;
}

static bool is_server(struct party party)
{
    if (strcmp(party.name, "ps") != 0 && strcmp(party.name, "worker") != 0)
        talk_fail("there is no such process: %s", party.name);
    return strcmp(party.name, "ps") == 0;
}

/* What a JOIN has that the talk does not give. */
static void fill_join(struct message *message, const struct words *said)
{
    struct message_join *join = &message->join;
    if (!talk_says(said, "version_min"))
        join->version_min = PROTOCOL_VERSION_MIN;
    if (!talk_says(said, "version_max"))
        join->version_max = PROTOCOL_VERSION_MAX;
    snprintf(join->host, sizeof join->host, "host%u", message->index);
    if (!talk_says(said, "probe_digest"))
        memset(join->probe_digest, (int)message->role, sizeof join->probe_digest);
    if (message->role == ROLE_WORKER && !talk_says(said, "job_digest") &&
        job_digest(&talk_job, join->job_digest) != STATUS_OK)
        talk_fail("no memory");
}

static void fill_report(struct message_report *report, const struct words *said)
{
    struct batch_range batch = job_batch(&talk_job, report->step);
    if (!talk_says(said, "leaf_count"))
        report->node = tree_root(batch.leaves);
    if (!talk_says(said, "examples"))
        report->examples =
            talk_says(said, "leaf_count") ? 2 * report->node.leaf_count : batch.examples;
    if (!talk_says(said, "loss"))
        report->loss = 1 << 20;
}

/* As its sender would stamp it. */
static void stamp(struct packet *packet, bool server, uint32_t index, const struct words *said)
{
    const struct player *from = player(server, index);
    struct message *message = &packet->message;
    bool joins = message->kind == MESSAGE_JOIN;
    message->role = server ? ROLE_PS : ROLE_WORKER;
    message->index = index;
    if (!talk_says(said, "r"))
        message->request = ++request;
    if (!talk_says(said, "peer"))
        packet->peer = peer_of(server, index);
    if (!talk_says(said, "incarnation"))
        message->incarnation = 1000 * from->phases + 100 * message->role + index + 1;
    if (!talk_says(said, "run"))
        message->run_id = joins ? 0 : RUN;
    if (!talk_says(said, "g"))
        message->generation = from->generation;
    if (!talk_says(said, "t"))
        message->ticket = joins ? 0 : from->ticket;
    if (!talk_says(said, "proof"))
        message->proof = joins ? 0 : from->proof;
    if (joins)
        fill_join(message, said);
    if (message->kind == MESSAGE_REPORT)
        fill_report(&message->report, said);
}

static void handle(struct packet *packet)
{
    coordinator_handle(coordinator, packet, talk_now_us, &talk_outbox);
    member = packet->member;
}

static void give(struct party from, struct packet *packet, const struct words *said)
{
    bool observer = strcmp(from.name, "peer") == 0;
    if (strcmp(from.name, "checkpointer") == 0 || strcmp(from.name, "router") == 0) {
        const struct order *order = order_of(packet);
        if (order == NULL && !talk_says(said, "g"))
            packet->message.generation = servers[0].generation;
        if (order != NULL && !talk_says(said, "g"))
            ((struct order *)(uintptr_t)order)->generation = servers[0].generation;
        coordinator_handle_inside(coordinator, packet, talk_now_us, &talk_outbox);
        return;
    }
    if (observer) {
        packet->peer = from.index;
        packet->message.role = ROLE_OBSERVER;
        packet->message.request = ++request;
    } else
        stamp(packet, is_server(from), from.index, said);
    if (packet->message.kind == MESSAGE_READY && packet->message.role == ROLE_PS &&
        !packet->message.ready.needs_chunks)
        player(true, from.index)->ready = true;
    handle(packet);
}

/* Those who are told follow it. */
static void follow(const struct message *message, struct player *player)
{
    if (message->kind == MESSAGE_WELCOME) {
        player->ready &=
            message->generation == player->generation && message->welcome.ticket == player->ticket;
        player->alive = true;
        player->ticket = message->welcome.ticket;
        player->proof = message->welcome.proof;
        player->generation = message->generation;
    } else if (message->kind == MESSAGE_START && message->generation >= player->generation) {
        player->generation = message->generation;
        player->assignment = message->start.assignment;
        player->step = message->start.step;
    }
}

static void hear(const struct outgoing *item)
{
    const struct order *order = order_of(&item->packet);
    uint64_t peer = item->packet.peer;
    if (order != NULL && order->kind == ORDER_SUMMARY) {
        memcpy(&summary, item->packet.payload->data, sizeof summary);
        uint32_t count = summary.worker_count < WORKERS_KEPT ? summary.worker_count : WORKERS_KEPT;
        memcpy(summary_workers, (const char *)item->packet.payload->data + sizeof summary,
               count * sizeof *summary_workers);
    }
    log_lines += item->to == TO_LOG;
    if (item->to != TO_PEER)
        return;
    bool server = peer == PEER_LOCAL || peer >= TALK_SERVERS;
    if (!server && peer < TALK_WORKERS)
        return;
    struct player *to = player(server, peer == PEER_LOCAL ? 0 : (uint32_t)peer);
    if (to->hears)
        follow(&item->packet.message, to);
}

/* --- time ------------------------------------------------------------------------------------- */

static void tick(void)
{
    coordinator_tick(coordinator, talk_now_us, &talk_outbox);
}

static void say_alive(bool server, uint32_t index)
{
    static const struct words nothing;
    const struct player *from = player(server, index);
    if (!from->alive)
        return;
    struct packet packet = {.message.kind = server && from->ready ? MESSAGE_READY : MESSAGE_PING};
    if (packet.message.kind == MESSAGE_READY)
        packet.message.ready.leash = from->leash;
    else
        packet.message.ping = (struct message_ping){.step = from->step,
                                                    .assignment = from->assignment,
                                                    .computing = from->computing,
                                                    .leash = from->leash};
    stamp(&packet, server, index, &nothing);
    coordinator_handle(coordinator, &packet, talk_now_us, &talk_outbox);
}

static void beat(void)
{
    if (talk_now_us < beaten_us + TALK_SECOND / 2)
        return;
    beaten_us = talk_now_us;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        say_alive(false, i);
        say_alive(true, i);
    }
}

/* --- the words of a talk ------------------------------------------------------------------------ */

static void declare(uint32_t worker)
{
    static const struct words nothing;
    uint8_t *bytes;
    uint32_t count;
    struct message_job_page page;
    if (job_encode(&talk_job, &bytes, &count) != STATUS_OK)
        talk_fail("no such job");
    for (uint32_t i = 0; pages_cut(bytes, count, i, &page); i++) {
        struct packet packet = {.message = {.kind = MESSAGE_JOB_PAGE, .job_page = page}};
        stamp(&packet, false, worker, &nothing);
        handle(&packet);
    }
    free(bytes);
}

static void join(bool server, uint32_t index)
{
    static const struct words nothing;
    struct packet packet = {.message.kind = MESSAGE_JOIN};
    player(server, index)->hears = true;
    stamp(&packet, server, index, &nothing);
    handle(&packet);
    talk_take();
}

static void say_ready(uint32_t server)
{
    static const struct words nothing;
    struct packet packet = {.message.kind = MESSAGE_READY};
    servers[server].ready = true;
    stamp(&packet, true, server, &nothing);
    handle(&packet);
    talk_take();
}

static void gather(void)
{
    struct packet opened =
        order_packet(&(struct order){.kind = ORDER_RUN_OPENED, .run_opened.run_id = RUN});
    join(false, 0);
    declare(0);
    coordinator_handle_inside(coordinator, &opened, talk_now_us, &talk_outbox);
    talk_take();
    talk_forget();
}

static void start(void)
{
    gather();
    for (uint32_t i = 0; i < 2; i++) {
        join(true, i);
        join(false, i);
        say_ready(i);
    }
    talk_forget();
    if (!coordinator_has_started(coordinator))
        talk_fail("training has not started");
}

/* Of the rows' struct; NaN: there is none of this name. */
static double figure_at(const struct figure_row *row, const void *of, const char *name)
{
    double found = NAN;
    for (; row->size > 0 && isnan(found); row++) {
        const char *at = (const char *)of + row->offset;
        size_t length = row->name != NULL ? strlen(row->name) : 0;
        bool ours = length > 0 && strncmp(name, row->name, length) == 0;
        if (row->kind == FIGURE_SET && row->name == NULL)
            found = figure_at(row->set(), at, name);
        else if (ours && row->kind == FIGURE_SET && name[length] == '.')
            found = figure_at(row->set(), at, name + length + 1);
        else if (row->kind == FIGURE_HISTOGRAM && ours && strcmp(name + length, "count") == 0)
            found = (double)((const struct histogram *)at)->count;
        else if (ours && name[length] == '\0')
            found = figure_value(row, of);
    }
    return found;
}

static double figure_of_worker(const struct worker_summary *worker, const char *name)
{
    if (strcmp(name, "staleness.sum") == 0)
        return (double)worker->staleness.sum;
    if (strcmp(name, "waits") != 0)
        return figure_at(worker_summary_rows(), worker, name);
    for (unsigned wait = 1; wait < WAIT_COUNT; wait++)
        if (fabs(worker->waits[wait] - worker->waits[0]) > 1e-9)
            return NAN;
    return worker->waits[0];
}

static bool text_of(const char *value, char *text, size_t size)
{
    return snprintf(text, size, "%s", value) < (int)size;
}

static bool figure_of_summary(const char *name, char *text, size_t size)
{
    static const char *const states[] = {"running", "stopped", "done", "failed"};
    uint32_t worker;
    int at;
    if (summary.exit_code == UINT32_MAX)
        talk_fail("there is no summary");
    if (strcmp(name, "state") == 0)
        return text_of(states[summary.state], text, size);
    if (strcmp(name, "reason") == 0)
        return text_of(summary.reason, text, size);
    if (strcmp(name, "phase") == 0)
        return text_of(run_phase_name(summary.phases.part), text, size);
    double value = strcmp(name, "exit_code") == 0   ? summary.exit_code
                   : strcmp(name, "workers") == 0   ? summary.worker_count
                   : strcmp(name, "staleness") == 0 ? (double)summary.staleness.shape.count
                   : strcmp(name, "last_checkpoint") == 0
                       ? run_phases_seconds(&summary.phases, RUN_PHASE_LAST_CHECKPOINT)
                       : figure_at(run_summary_rows(), &summary, name);
    if (sscanf(name, "worker.%u.%n", &worker, &at) == 1 && worker < WORKERS_KEPT)
        value = figure_of_worker(&summary_workers[worker], name + at);
    snprintf(text, size, "%.6g", value);
    return !isnan(value);
}

/* over, started, holds_run; waits: what an observer is told; member: the latest that spoke is one;
 * worker.1.batches: of a member; summary.step: of the latest SUMMARY. */
static bool figure(const char *name, char *text, size_t size)
{
    struct message_status_answer answer = {0};
    uint32_t worker;
    int at;
    if (strncmp(name, "summary.", 8) == 0)
        return figure_of_summary(name + 8, text, size);
    coordinator_describe(coordinator, &answer, talk_now_us);
    if (strncmp(name, "status.", 7) == 0)
        return snprintf(text, size, "%.6g", figure_at(job_figures_rows(), &answer.job, name + 7)) >
               0;
    if (sscanf(name, "worker.%u.%n", &worker, &at) == 1) {
        const struct membership *members = coordinator_members(coordinator);
        double value = worker < members->worker_count
                           ? figure_of_worker(&members->workers[worker].counts.summary, name + at)
                           : NAN;
        snprintf(text, size, "%.6g", value);
        return !isnan(value);
    }
    if (strcmp(name, "log_lines") == 0)
        return snprintf(text, size, "%u", log_lines) > 0;
    if (strcmp(name, "waits") == 0)
        return text_of(answer.text, text, size);
    const struct {
        const char *name;
        bool is;
    } flags[] = {{"over", coordinator_is_over(coordinator)},
                 {"started", coordinator_has_started(coordinator)},
                 {"holds_run", coordinator_holds_run(coordinator)},
                 {"member", member}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(name, flags[i].name) == 0)
            return text_of(flags[i].is ? "yes" : "no", text, size);
    return false;
}

/* Words about one process. */
static bool say_of(const char *word, const struct words *words)
{
    struct party who = talk_party(words->word[1]);
    bool server = is_server(who);
    struct player *it = player(server, who.index);
    if (strcmp(word, "join") == 0)
        join(server, who.index);
    else if (strcmp(word, "declare") == 0)
        declare(who.index);
    else if (strcmp(word, "kill") == 0)
        it->alive = it->hears = false;
    else if (strcmp(word, "wake") == 0)
        it->alive = it->hears = true;
    else if (strcmp(word, "deaf") == 0)
        it->hears = false;
    else if (strcmp(word, "restart") == 0)
        *it = (struct player){.hears = true, .phases = it->phases + 1};
    else if (strcmp(words->word[2], "loading") == 0)
        it->ready = false;
    else if (strcmp(word, "be") == 0)
        talk_set(player_rows, it, words, 2);
    else
        return false;
    return true;
}

static bool say(const struct words *words)
{
    const char *word = words->word[0];
    if (strcmp(word, "options") == 0) {
        talk_set(option_rows, &options, words, 1);
        return true;
    }
    talk_open();
    if (strcmp(word, "start") == 0)
        start();
    else if (strcmp(word, "gather") == 0)
        gather();
    else if (strcmp(word, "pass") == 0)
        talk_pass(talk_number(words->word[1]), beat);
    else if (strcmp(word, "abandon") == 0)
        coordinator_abandon(coordinator);
    else
        return words->count > 1 && say_of(word, words);
    return true;
}

const struct talk_core talk_coordinator = {
    .name = "coordinator",
    .quiet = " PONG JOB_PAGE EVENT SUMMARY SEND_CHUNKS ",
    .quiet_in_time = " WELCOME WAITING ",
    .prepare = prepare,
    .open = open_coordinator,
    .close = close_coordinator,
    .give = give,
    .tick = tick,
    .say = say,
    .figure = figure,
    .hear = hear,
};
