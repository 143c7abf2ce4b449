/* talk_router.c - a server's router under test: of server 1 of 2, with two owners; chunks 1 and 3 are its own, the
 * first of owner 0, the other of owner 1. Workers, server 0's coordinator, the owners and the checkpointer are played.
 *
 *     < worker/0 EXCHANGE        a good push for chunk 1: step=1 base_version=1, leaves 0 and 1 (async: all four),
 *                                4 examples (8), want_version=2, values=1x16; with the proof that it was admitted
 *     < coordinator WELCOME      as it is: ticket, proof, the key of proofs; restore: of step 3
 *     server 0                   before anything else: it is server 0's
 *     pages, pages 0             the declaration, and without that page
 *     serve                      the declaration, WELCOME, and all is loaded
 *     be generation=2            of what is said from here on
 *     fail 1 why                 this server cannot go on
 */

#include "tests/talks/talk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/pages.h"
#include "ps/router/router.h"
#include "ps/work/proof.h"
#include "tests/lib/post.h"

enum { RUN = 0x77 };

static const uint8_t secret[HASH_BYTES] = {4, 2};
static struct router *router;
static uint32_t server;
static struct {
    uint64_t generation;
} now;
static uint64_t request;
static bool member; /* Of the latest that was given. */

static const struct message_field now_rows[] = {
    {"generation", NULL, "generation", FIELD_U64, 0, sizeof now.generation, 0, 0, UINT64_MAX, NULL},
    {.kind = FIELD_END}};

static void prepare(enum mode mode)
{
    talk_job = small_job(mode, 2, 2);
    server = 1;
    now.generation = request = 0;
}

static void open_router(void)
{
    struct router_options options = {
        .self = {.index = server,
                 .incarnation = 9,
                 .deadlines = {.start = 20, .silence = 5, .recovery = 60, .stop = 60},
                 .host = "here"},
        .owner_count = 2,
    };
    if (router_create(&router, &options, talk_now_us) != STATUS_OK)
        talk_fail("no memory");
}

static void close_router(void)
{
    router_destroy(&router);
}

/* What a good push has, where the talk does not say otherwise. */
static void fill_exchange(struct packet *packet, const struct words *said)
{
    struct message_exchange *exchange = &packet->message.exchange;
    bool async = !job_mode(&talk_job)->steps;
    const struct message_exchange good = {.chunk = 1,
                                          .step = 1,
                                          .base_version = 1,
                                          .gradient = true,
                                          .node = {0, async ? 4 : 2},
                                          .examples = async ? 8 : 4,
                                          .want = true,
                                          .want_version = 2};
    exchange->chunk = talk_says(said, "chunk") ? exchange->chunk : good.chunk;
    exchange->step = talk_says(said, "step") ? exchange->step : good.step;
    if (!talk_says(said, "base_version"))
        exchange->base_version = talk_says(said, "step") ? exchange->step : good.base_version;
    exchange->gradient = talk_says(said, "gradient") ? exchange->gradient : good.gradient;
    if (!talk_says(said, "leaf_count"))
        exchange->node.leaf_count = good.node.leaf_count;
    exchange->examples = talk_says(said, "examples") ? exchange->examples : good.examples;
    exchange->want = talk_says(said, "want") ? exchange->want : good.want;
    exchange->want_version =
        talk_says(said, "want_version") ? exchange->want_version : good.want_version;
    if (packet->payload == NULL && !talk_says(said, "values") && !talk_says(said, "raw"))
        packet->payload = frame_of(1, 16);
}

static void give_peer(uint32_t index, struct packet *packet, const struct words *said)
{
    struct message *message = &packet->message;
    packet->peer = TALK_WORKERS + index;
    message->role = talk_says(said, "role") ? message->role : ROLE_WORKER;
    message->index = talk_says(said, "index") ? message->index : index;
    if (!talk_says(said, "run"))
        message->run_id = RUN;
    if (!talk_says(said, "g"))
        message->generation = now.generation;
    if (!talk_says(said, "t"))
        message->ticket = 7;
    if (!talk_says(said, "incarnation"))
        message->incarnation = 0x1234;
    if (!talk_says(said, "r"))
        message->request = ++request;
    if (message->kind == MESSAGE_EXCHANGE)
        fill_exchange(packet, said);
    if (!talk_says(said, "proof"))
        message->proof = proof_make(secret, message, message->ticket);
    router_handle_peer(router, packet, &talk_outbox);
    member = packet->member;
}

static void give_coordinator(struct packet *packet, const struct words *said)
{
    struct message *message = &packet->message;
    if (!talk_says(said, "g"))
        message->generation = now.generation;
    if (message->kind == MESSAGE_WELCOME) {
        message->run_id = talk_says(said, "run") ? message->run_id : RUN;
        message->welcome.ticket = 3 + message->generation;
        message->welcome.proof = 1000 + message->generation;
        memcpy(message->welcome.secret, secret, sizeof secret);
        message->welcome.restore_step = message->welcome.restore ? 3 : 0;
        strcpy(message->welcome.out, "/tmp/run");
    }
    router_handle_coordinator(router, packet, talk_now_us, &talk_outbox);
}

static void give_inside(struct party from, struct packet *packet, const struct words *said)
{
    struct order *order = (struct order *)(uintptr_t)order_of(packet);
    if (order != NULL) {
        order->from = strcmp(from.name, "checkpointer") == 0 ? ORDER_FROM_CHECKPOINTER : from.index;
        order->generation = talk_says(said, "g") ? order->generation : now.generation;
    } else {
        packet->message.generation =
            talk_says(said, "g") ? packet->message.generation : now.generation;
        packet->peer = TALK_WORKERS + packet->message.index;
    }
    if (packet->message.kind == MESSAGE_PART_WRITTEN)
        router_note_part(router, &packet->message);
    else
        router_handle_inside(router, packet, talk_now_us, &talk_outbox);
}

static void give(struct party from, struct packet *packet, const struct words *said)
{
    if (strcmp(from.name, "worker") == 0)
        give_peer(from.index, packet, said);
    else if (strcmp(from.name, "coordinator") == 0)
        give_coordinator(packet, said);
    else if (strcmp(from.name, "owner") == 0 || strcmp(from.name, "checkpointer") == 0)
        give_inside(from, packet, said);
    else
        talk_fail("nobody is called %s", from.name);
}

static void tick(void)
{
    router_tick(router, talk_now_us, &talk_outbox);
}

/* --- the words of a talk ------------------------------------------------------------------------ */

static void send_pages(uint32_t leave_out)
{
    uint8_t *bytes;
    uint32_t count;
    struct message_job_page page;
    if (job_encode(&talk_job, &bytes, &count) != STATUS_OK)
        talk_fail("no such job");
    for (uint32_t i = 0; pages_cut(bytes, count, i, &page); i++) {
        struct packet packet = {.message = {.kind = MESSAGE_JOB_PAGE, .job_page = page}};
        if (i != leave_out)
            router_handle_coordinator(router, &packet, talk_now_us, &talk_outbox);
    }
    free(bytes);
}

static void say_loaded(uint32_t from)
{
    struct packet packet = order_packet(
        &(struct order){.kind = ORDER_LOADED, .from = from, .generation = now.generation});
    router_handle_inside(router, &packet, talk_now_us, &talk_outbox);
}

static void serve(void)
{
    static const struct words nothing;
    struct packet welcome = {.message.kind = MESSAGE_WELCOME};
    send_pages(UINT32_MAX);
    give_coordinator(&welcome, &nothing);
    for (uint32_t i = 0; i < 3; i++)
        say_loaded(i - 1); /* The checkpointer first. */
    talk_take();
    talk_forget();
    if (router_state(router) != ROUTER_SERVING)
        talk_fail("it does not serve");
}

static bool say(const struct words *words)
{
    const char *word = words->word[0];
    if (strcmp(word, "server") == 0)
        server = (uint32_t)talk_number(words->word[1]);
    else if (strcmp(word, "be") == 0)
        talk_set(now_rows, &now, words, 1);
    else {
        talk_open();
        if (strcmp(word, "pages") == 0)
            send_pages(words->count > 1 ? (uint32_t)talk_number(words->word[1]) : UINT32_MAX);
        else if (strcmp(word, "serve") == 0)
            serve();
        else if (strcmp(word, "fail") == 0)
            router_fail(router, (int)talk_number(words->word[1]), words->rest[2], &talk_outbox);
        else
            return false;
    }
    return true;
}

/* state; received, fenced, dropped, refused: exchanges; exit_code, reason; patience: milliseconds; plan: it has one;
 * waiting, waited: for what it waits, and seconds; member: the latest that was heard is one. */
static bool figure(const char *name, char *text, size_t size)
{
    static const char *const states[] = {"joining", "loading", "serving", "over"};
    struct router_counts counts = router_counts(router);
    struct joining *joining = router_joining(router);
    double seconds = -1;
    const char *waiting = router_waiting(router, &seconds, talk_now_us);
    const struct {
        const char *name, *text;
    } texts[] = {{"state", states[router_state(router)]},
                 {"reason", joining->reason},
                 {"waiting", waiting != NULL ? waiting : "no"},
                 {"plan", router_plan(router) != NULL ? "yes" : "no"},
                 {"member", member ? "yes" : "no"}};
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"received", (double)counts.received},
                   {"fenced", (double)counts.fenced},
                   {"dropped", (double)counts.dropped},
                   {"refused", (double)counts.refused},
                   {"exit_code", joining->exit_code},
                   {"patience", joining_patience_ms(joining)},
                   {"waited", seconds}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0)
            return snprintf(text, size, "%s", texts[i].text) >= 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return snprintf(text, size, "%g", numbers[i].value) >= 0;
    return false;
}

const struct talk_core talk_router = {
    .name = "router",
    .quiet = "",
    .quiet_in_time = " READY PING JOIN ",
    .prepare = prepare,
    .open = open_router,
    .close = close_router,
    .give = give,
    .tick = tick,
    .say = say,
    .figure = figure,
};
