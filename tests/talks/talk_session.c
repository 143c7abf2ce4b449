/* talk_session.c - a worker's session under test: worker/1 of 2, with two servers and a trainer. Chunks 0 and 2 are
 * server 0's, 1 and 3 server 1's.
 *
 *     answer 2 version=1 values=7    the RESULT to the latest request for that chunk, from its server; its
 *     answer all version=1              values are 16 of 0, and stop_step=6, unless said otherwise
 *     answer_scored 3 values=9       the same of the values to be scored after 3 batches, of all chunks
 *     ready 32 step=0                the trainer has its gradient from there on; the EXCHANGE that follows has it
 *     reads 16                       it reads parameters before that; 0: none
 *     heard 10                       seconds in which server 0 is heard each second
 *     be generation=2 ticket=1 assignment=0    what servers say from here on; START is the next assignment
 */

#include "tests/talks/talk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/post.h"
#include "worker/client/session.h"

enum { RUN = 0x77, CHUNKS = 4, ELEMENTS = 64 };

/* What servers say of. */
struct servers {
    uint64_t generation, ticket;
    uint32_t assignment;
};

static struct session *session;
static struct session_options options;
static struct partition partition;
static float parameters[ELEMENTS];
static struct servers servers;
static uint64_t requests[CHUNKS], scored_requests[CHUNKS]; /* The latest for each. */
static struct frame *begun; /* The gradient that was said to be ready, in part. */

#define ROW(name, member, kind) TALK_ROW(struct session_options, name, member, kind)
static const struct message_field option_rows[] = {ROW("began_us", self.began_us, U64),
                                                   {.kind = FIELD_END}};

static const struct message_field servers_rows[] = {
    TALK_ROW(struct servers, "generation", generation, U64),
    TALK_ROW(struct servers, "ticket", ticket, U64),
    TALK_ROW(struct servers, "assignment", assignment, U32),
    {.kind = FIELD_END}};

static void prepare(enum mode mode)
{
    options = (struct session_options){
        .self.index = 1,
        .self.incarnation = 9,
        .job = &talk_job,
        .partition = &partition,
        .parameters = parameters,
        .self.host = "here",
        .self.deadlines = {.start = 60, .silence = 5, .recovery = 60, .progress = 300, .stop = 30},
    };
    talk_job = small_job(mode, 2, 2);
    servers = (struct servers){.generation = 1, .ticket = 3};
    memset(parameters, 0, sizeof parameters);
}

static void open_session(void)
{
    struct error error;
    if (partition_make(&partition, talk_job.variables, 2, 2, 64, CHUNKS_EVEN, &error) !=
            STATUS_OK ||
        session_create(&session, &options, talk_now_us) != STATUS_OK)
        talk_fail("no memory");
}

static void close_session(void)
{
    session_destroy(&session);
    partition_free(&partition);
    if (begun != NULL)
        frame_release(begun);
    begun = NULL;
}

static void hear(const struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    if (item->to == TO_SERVER && message->kind == MESSAGE_EXCHANGE &&
        message->exchange.chunk < CHUNKS)
        (message->exchange.scored ? scored_requests : requests)[message->exchange.chunk] =
            message->request;
}

/* A gradient of this worker's half of a step, or of a batch. */
static void fill_push(struct packet *packet, const struct words *said)
{
    struct message_exchange *exchange = &packet->message.exchange;
    if (!talk_says(said, "leaf_count"))
        exchange->node = job_mode(&talk_job)->steps ? (struct node){2, 2} : (struct node){0, 4};
    exchange->examples = 2 * exchange->node.leaf_count;
    if (begun != NULL && packet->payload != NULL) {
        frame_release(packet->payload);
        packet->payload = begun;
        begun = NULL;
    }
    exchange->gradient = packet->payload != NULL;
    exchange->has_report |= exchange->gradient || exchange->skip;
    exchange->report.step = exchange->step;
    exchange->report.node = exchange->node;
    exchange->report.examples = exchange->examples;
    exchange->report.times.compute_us = exchange->gradient ? 99 : 0;
}

static void give_server(uint32_t server, struct packet *packet, const struct words *said)
{
    struct message *message = &packet->message;
    if (!talk_says(said, "run"))
        message->run_id = RUN;
    if (!talk_says(said, "g"))
        message->generation = servers.generation;
    if (message->kind == MESSAGE_WELCOME && !talk_says(said, "welcome.ticket"))
        message->welcome.ticket = servers.ticket;
    if (message->kind == MESSAGE_REFUSED && !talk_says(said, "r"))
        message->request = UINT64_MAX;
    if (message->kind == MESSAGE_START) {
        struct message_start *start = &message->start;
        *start = (struct message_start){.step = start->step,
                                        .assignment = start->assignment,
                                        .members = 2,
                                        .position = 1,
                                        .stop_step = 6,
                                        .records = start->records};
        if (!talk_says(said, "assignment"))
            start->assignment = ++servers.assignment;
    }
    if (message->kind == MESSAGE_RESULT) {
        message->result.parameters = packet->payload != NULL;
        if (!talk_says(said, "stop_step"))
            message->result.stop_step = 6;
    }
    session_handle_server(session, server, packet, talk_now_us, &talk_outbox);
}

static void give(struct party from, struct packet *packet, const struct words *said)
{
    if (strcmp(from.name, "ps") == 0) {
        give_server(from.index, packet, said);
    } else if (strcmp(from.name, "trainer") == 0) {
        if (packet->message.kind == MESSAGE_EXCHANGE)
            fill_push(packet, said);
        session_handle_trainer(session, packet, talk_now_us, &talk_outbox);
    } else
        talk_fail("nobody is called %s", from.name);
}

static void tick(void)
{
    session_tick(session, talk_now_us, &talk_outbox);
}

/* --- the words of a talk ------------------------------------------------------------------------ */

static void answer(uint32_t chunk, uint64_t request, struct message_result result,
                   const struct words *words)
{
    struct packet packet = {.message = {.kind = MESSAGE_RESULT, .result = result}};
    struct talk_kind kind = talk_kind_of("RESULT");
    float value = 0;
    for (unsigned i = 2; i < words->count; i++)
        if (strncmp(words->word[i], "values=", 7) == 0)
            value = (float)talk_number(words->word[i] + 7);
        else if (!talk_field_set(&kind, &packet.message, words->word[i]))
            talk_fail("RESULT has no %s", words->word[i]);
    packet.message.request = request;
    packet.message.result.chunk = chunk;
    packet.payload = frame_of(value, ELEMENTS / CHUNKS);
    give_server(chunk % 2, &packet, words);
}

static void answer_all(const struct words *words)
{
    uint64_t to[CHUNKS];
    bool all = strcmp(words->word[1], "all") == 0;
    memcpy(to, requests, sizeof to);
    for (uint32_t i = 0; i < CHUNKS; i++)
        if (all || i == (uint32_t)talk_number(words->word[1]))
            answer(i, to[i], (struct message_result){0}, words);
}

static void answer_scored(const struct words *words)
{
    uint64_t batches = (uint64_t)talk_number(words->word[1]);
    for (uint32_t i = 0; i < CHUNKS; i++)
        answer(i, scored_requests[i], (struct message_result){.version = batches, .scored = true},
               words);
}

static void ready(const struct words *words)
{
    static const struct words nothing;
    struct packet packet = {.message = {.kind = MESSAGE_EXCHANGE, .exchange.want = true}};
    struct talk_kind kind = talk_kind_of("EXCHANGE");
    for (unsigned i = 2; i < words->count; i++)
        if (!talk_field_set(&kind, &packet.message, words->word[i]))
            talk_fail("EXCHANGE has no %s", words->word[i]);
    struct frame *gradient = begun != NULL ? begun : frame_of(1, ELEMENTS);
    begun = NULL;
    packet.payload = gradient;
    fill_push(&packet, &nothing);
    packet.message.exchange.has_report = false;
    begun = gradient;
    session_take_ready(session, &packet.message.exchange, gradient,
                       (uint64_t)talk_number(words->word[1]), talk_now_us, &talk_outbox);
}

static void be_heard(double seconds)
{
    static const struct words nothing;
    for (; seconds > 0; seconds -= 1) {
        struct packet pong = {.message.kind = MESSAGE_PONG};
        give_server(0, &pong, &nothing);
        talk_take();
        talk_pass(seconds < 1 ? seconds : 1, NULL);
    }
}

static bool say(const struct words *words)
{
    const char *word = words->word[0];
    if (strcmp(word, "options") != 0)
        talk_open();
    if (strcmp(word, "options") == 0)
        talk_set(option_rows, &options, words, 1);
    else if (strcmp(word, "be") == 0)
        talk_set(servers_rows, &servers, words, 1);
    else if (strcmp(word, "answer") == 0)
        answer_all(words);
    else if (strcmp(word, "answer_scored") == 0)
        answer_scored(words);
    else if (strcmp(word, "ready") == 0)
        ready(words);
    else if (strcmp(word, "reads") == 0)
        session_read(session, (uint64_t)talk_number(words->word[1]), talk_now_us);
    else if (strcmp(word, "heard") == 0)
        be_heard(talk_number(words->word[1]));
    else
        return false;
    return true;
}

/* "5", or "0 7" where the chunks are of different values. */
static bool write_values(const float *values, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%g", (double)values[0]);
    for (unsigned i = 1; i < ELEMENTS && used < size; i++)
        if (values[i] != values[i - 1])
            used += (size_t)snprintf(text + used, size - used, " %g", (double)values[i]);
    return true;
}

/* over, exit_code, reason; parameters, scored: values of the chunks; patience: milliseconds; front: elements of the
 * likely next step, front_step; begun: whether what was begun with is still of the values of now; apart. */
static bool figure(const char *name, char *text, size_t size)
{
    static uint64_t begun_serial;
    uint64_t step = 0, serial = 0;
    const struct joining *joining = session_joining(session);
    if (strcmp(name, "reason") == 0)
        return snprintf(text, size, "%s", joining->reason) >= 0;
    if (strcmp(name, "parameters") == 0)
        return write_values(session_parameters(session), text, size);
    if (strcmp(name, "scored") == 0)
        return write_values(session_scored(session), text, size);
    if (strcmp(name, "front") == 0) {
        uint64_t front = session_front(session, &step, &serial);
        begun_serial = front > 0 ? serial : begun_serial;
        return snprintf(text, size, "%" PRIu64, front) >= 0;
    }
    if (strcmp(name, "front_step") == 0) {
        session_front(session, &step, &serial);
        return snprintf(text, size, "%" PRIu64, step) >= 0;
    }
    if (strcmp(name, "exit_code") == 0)
        return snprintf(text, size, "%d", joining->exit_code) >= 0;
    if (strcmp(name, "patience") == 0)
        return snprintf(text, size, "%d", session_patience_ms(session)) >= 0;
    bool yes = strcmp(name, "over") == 0    ? joining->over
               : strcmp(name, "begun") == 0 ? begun_serial == session_serial(session)
                                            : session_apart(session);
    return snprintf(text, size, "%s", yes ? "yes" : "no") >= 0 &&
           (strcmp(name, "over") == 0 || strcmp(name, "begun") == 0 || strcmp(name, "apart") == 0);
}

const struct talk_core talk_session = {
    .name = "session",
    .quiet = " PING ",
    .prepare = prepare,
    .open = open_session,
    .close = close_session,
    .give = give,
    .tick = tick,
    .say = say,
    .figure = figure,
    .hear = hear,
};
