/* talk_owner.c - an owner under test: of all four chunks of one server; two workers. Values begin at 0, the rule is
 * sgd with a learning rate of 1, and steps have 8, 8 and 4 examples.
 *
 *     < worker/0 EXCHANGE chunk=1 step=0 values=8 want    a push: of the whole step unless leaf_count says otherwise,
 *                                made from the version of its step (async: base_version); want: of the next
 *     < worker/1 EXCHANGE want want_version=2             a pull
 *     load, load restore         a generation begins: with initial values, or from a checkpoint at step 2 with 100
 *                                everywhere; and is there
 *     be generation=2            of what is said from here on
 *
 * Every EXCHANGE has one first answer, which carries its weight: that is looked at here.
 */

#include "tests/talks/talk.h"

#include <string.h>

#include "ps/extension/extensions.h"
#include "ps/owner/owner.h"
#include "tests/lib/post.h"

static struct owner *owner;
static struct plan *plan;
static struct {
    uint64_t generation;
} now;
static uint64_t request, weight;
static unsigned first_answers;

static const struct message_field now_rows[] = {
    {"generation", NULL, "generation", FIELD_U64, 0, sizeof now.generation, 0, 0, UINT64_MAX, NULL},
    {.kind = FIELD_END}};

static void prepare(enum mode mode)
{
    talk_job = small_job(mode, 2, 1);
    now.generation = request = 0;
}

static void open_owner(void)
{
    struct error error;
    if (plan_create(&plan, &talk_job, 0, 99, &error) != STATUS_OK)
        talk_fail("%s", error.text);
    const struct owner_options options = {.plan = plan, .count = 1, .listeners = extensions};
    if (owner_create(&owner, &options) != STATUS_OK)
        talk_fail("no memory");
}

static void close_owner(void)
{
    owner_destroy(&owner);
    plan_destroy(&plan);
}

static void hear(const struct outgoing *item)
{
    if (item->packet.weight == 0)
        return;
    if (item->packet.weight != weight || item->to != TO_ROUTER)
        talk_fail("a first answer has the weight of another exchange");
    first_answers++;
}

static void handle(struct packet *packet)
{
    owner_handle(owner, packet, talk_now_us, &talk_outbox);
    talk_take();
}

static void give_exchange(uint32_t worker, struct packet *packet, const struct words *said)
{
    struct message_exchange *exchange = &packet->message.exchange;
    struct batch_range batch = job_batch(&talk_job, exchange->step);
    packet->peer = TALK_WORKERS + worker;
    packet->message.role = ROLE_WORKER;
    packet->message.index = worker;
    packet->message.request = ++request;
    packet->weight = weight = 1000 + request;
    exchange->gradient |= packet->payload != NULL;
    if (exchange->gradient || exchange->skip) {
        if (!talk_says(said, "leaf_count"))
            exchange->node = tree_root(batch.leaves);
        if (!talk_says(said, "base_version") && job_mode(&talk_job)->steps)
            exchange->base_version = exchange->step;
        exchange->examples = job_node_examples(&talk_job, batch, exchange->node.first_leaf,
                                               exchange->node.leaf_count);
        if (!talk_says(said, "want_version"))
            exchange->want_version = exchange->step + 1;
    }
    first_answers = 0;
    handle(packet);
    if (first_answers != 1)
        talk_fail("it has %u first answers", first_answers);
}

static void give(struct party from, struct packet *packet, const struct words *said)
{
    struct order *order = (struct order *)(uintptr_t)order_of(packet);
    if (order != NULL)
        order->generation = talk_says(said, "g") ? order->generation : now.generation;
    else if (!talk_says(said, "g"))
        packet->message.generation = now.generation;
    bool of_now = order != NULL || packet->message.generation == now.generation;
    if (strcmp(from.name, "worker") == 0 && of_now)
        give_exchange(from.index, packet, said);
    else
        handle(packet);
}

static void tick(void)
{
}

static void load(bool restore)
{
    struct order order = {.kind = ORDER_LOAD,
                          .generation = now.generation,
                          .load = {.plan = plan, .restore = restore, .step = 2}};
    struct packet packet = order_packet(&order);
    handle(&packet);
    for (uint64_t i = 0; restore && i < 4; i++) {
        packet =
            (struct packet){.message = {.kind = MESSAGE_CHUNK_STATE,
                                        .generation = now.generation,
                                        .chunk_state = {.step = 2, .first = 16 * i, .count = 16}},
                            .payload = frame_of(100, 16)};
        handle(&packet);
    }
}

static bool say(const struct words *words)
{
    if (strcmp(words->word[0], "be") == 0) {
        talk_set(now_rows, &now, words, 1);
        return true;
    }
    talk_open();
    if (strcmp(words->word[0], "load") != 0)
        return false;
    load(strcmp(words->word[1], "restore") == 0);
    return true;
}

static bool figure(const char *name, char *text, size_t size)
{
    (void)name, (void)text, (void)size;
    return false;
}

const struct talk_core talk_owner = {
    .name = "owner",
    .quiet = " TAKEN FIGURES ",
    .prepare = prepare,
    .open = open_owner,
    .close = close_owner,
    .give = give,
    .tick = tick,
    .say = say,
    .figure = figure,
    .hear = hear,
};
