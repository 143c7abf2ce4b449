/* scripted_server.c - a transport with a server inside: what is sent is answered by the script,
 * under one lock, so that a test may look and tell at any time. */

#include "tests/lib/scripted_server.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

struct endpoint {
    struct scripted_server *server;
};

/* --- answering: the lock is held ------------------------------------------------------------- */

static struct message *say(struct scripted_server *s, enum message_kind kind, uint64_t request)
{
    struct message *message = &outbox_add(&s->answers, TO_PEER, kind)->message;
    message->role = ROLE_PS;
    message->incarnation = s->incarnation;
    message->run_id = 1;
    message->generation = s->generation;
    message->request = request;
    return message;
}

void scripted_server_start(struct scripted_server *server)
{
    server->start.assignment++;
    say(server, MESSAGE_START, 0)->start = server->start;
}

static void give_values(struct scripted_server *s, uint32_t chunk)
{
    uint64_t count = s->partition.chunks[chunk].count;
    struct frame *values = frame_create(count * sizeof(float));
    ck_assert_ptr_nonnull(values);
    for (uint64_t i = 0; i < count; i++)
        ((float *)values->data)[i] = s->value;
    s->answers.items[(s->answers.first + s->answers.count - 1) % s->answers.capacity]
        .packet.payload = values;
}

static void answer_scored(struct scripted_server *s, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    say(s, MESSAGE_RESULT, message->request)->result =
        (struct message_result){.chunk = exchange->chunk,
                                .version = exchange->want_version,
                                .parameters = true,
                                .scored = true};
    give_values(s, exchange->chunk);
}

/* A batch has come for its last chunk: the model may be scored then, all of it by this worker. */
static void deal_score(struct scripted_server *s, const struct message_exchange *exchange)
{
    uint64_t batches = exchange->step + 1;
    if (!s->scores || exchange->chunk + 1 < s->partition.chunk_count ||
        !job_scores_at(s->job, batches))
        return;
    say(s, MESSAGE_WORK, 0)->work = (struct message_work){.scored = batches, .shares = 1};
    s->scores_owed++;
}

static void answer_exchange(struct scripted_server *s, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    bool pushes = exchange->gradient || exchange->skip;
    if (message->generation != s->generation) /* Of before a START: no server takes it. */
        return;
    bool kept = s->keeps_from > 0 && exchange->chunk >= s->keeps_from;
    if (!exchange->want || (s->mute && pushes) || kept)
        return;
    uint64_t version = s->version;
    if (s->job->mode == MODE_SYNC && !exchange->newest)
        version = exchange->want_version;
    if (version > s->version)
        s->version = version;
    if (pushes)
        deal_score(s, exchange);
    say(s, MESSAGE_RESULT, message->request)->result =
        (struct message_result){.chunk = exchange->chunk,
                                .verdict = exchange->skip ? VERDICT_REJECTED : VERDICT_APPLIED,
                                .version = version,
                                .stop_step = s->job->steps,
                                .parameters = true};
    give_values(s, exchange->chunk);
}

static void answer_lease(struct scripted_server *s, const struct message *message)
{
    bool enough = s->batches >= s->job->steps;
    struct message *work = say(s, MESSAGE_WORK, message->request);
    work->work.enough = enough;
    work->work.batch = enough ? s->job->steps : s->batches++;
}

static void answer(struct scripted_server *s, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_JOIN:
        say(s, MESSAGE_WELCOME, message->request)->welcome.ticket = s->ticket;
        if (s->start.assignment == 0)
            scripted_server_start(s);
        break;
    case MESSAGE_PING:
        if (message->ping.assignment < s->start.assignment)
            say(s, MESSAGE_START, 0)->start = s->start;
        say(s, MESSAGE_PONG, message->request);
        break;
    case MESSAGE_EVALUATION:
        say(s, MESSAGE_PONG, message->request);
        s->scores_owed -= s->scores_owed > 0;
        break;
    case MESSAGE_EXCHANGE:
        if (message->exchange.scored)
            answer_scored(s, message);
        else
            answer_exchange(s, message);
        break;
    case MESSAGE_LEASE:
        answer_lease(s, message);
        break;
    case MESSAGE_LEAVE:
        if (s->finishes)
            say(s, MESSAGE_FINISHED, 0)->stop.left = true;
        break;
    case MESSAGE_DONE:
    case MESSAGE_STOP:
        if (s->finishes && s->scores_owed == 0)
            say(s, MESSAGE_FINISHED, 0)->stop.exit_code =
                message->kind == MESSAGE_STOP ? message->stop.exit_code : EXIT_DONE;
        break;
    default:
        break;
    }
}

/* --- the transport --------------------------------------------------------------------------- */

static enum status scripted_connect(struct transport *transport, const char *address,
                                    size_t max_payload, struct endpoint **endpoint,
                                    struct error *error)
{
    (void)address;
    (void)max_payload;
    (void)error;
    *endpoint = calloc(1, sizeof **endpoint);
    ck_assert_ptr_nonnull(*endpoint);
    (*endpoint)->server = (struct scripted_server *)transport;
    return STATUS_OK;
}

static enum status scripted_send(struct endpoint *endpoint, uint64_t peer, const void *header,
                                 size_t header_bytes, struct frame *payload, uint64_t place)
{
    struct scripted_server *s = endpoint->server;
    enum status status = STATUS_AGAIN;
    struct error error;
    (void)peer;
    pthread_mutex_lock(&s->lock);
    if (!s->deaf && s->heard_count < SCRIPTED_HEARD_MAX) {
        struct scripted_heard *heard = &s->heard[s->heard_count++];
        ck_assert(message_decode(header, header_bytes, &heard->message, &error) == STATUS_OK);
        heard->payload = payload != NULL ? payload->data : NULL;
        bool lent =
            heard->payload >= s->memory && heard->payload < s->memory + 2 * s->partition.elements;
        heard->by_memory = s->attached != 0 && (lent || place != UINT64_MAX);
        answer(s, &heard->message);
        status = STATUS_OK;
    }
    pthread_mutex_unlock(&s->lock);
    frame_release(payload);
    return status;
}

static enum status scripted_receive(struct endpoint *endpoint, struct received *received)
{
    struct scripted_server *s = endpoint->server;
    struct outgoing item;
    pthread_mutex_lock(&s->lock);
    bool some = outbox_take(&s->answers, &item);
    pthread_mutex_unlock(&s->lock);
    if (!some)
        return STATUS_AGAIN;
    received->peer = 0;
    received->header_bytes = message_encode(&item.packet.message, received->header);
    received->payload = item.packet.payload;
    return STATUS_OK;
}

static void scripted_wait(struct transport *transport, struct endpoint *const *endpoints,
                          size_t count, const int *doorbells, size_t doorbell_count, int timeout_ms)
{
    struct scripted_server *s = (struct scripted_server *)transport;
    struct pollfd bell = {doorbell_count > 0 ? doorbells[0] : -1, POLLIN, 0};
    (void)endpoints;
    (void)count;
    pthread_mutex_lock(&s->lock);
    s->waits++;
    if (s->asked != 0 && --s->late == 0) {
        s->attached = s->asked;
        s->asked = 0;
    }
    pthread_mutex_unlock(&s->lock);
    poll(&bell, 1, timeout_ms < 1 ? timeout_ms : 1);
}

static void scripted_close(struct endpoint **endpoint, int linger_ms)
{
    (void)linger_ms;
    free(*endpoint);
    *endpoint = NULL;
}

static enum status scripted_attach(struct endpoint *endpoint, uint64_t name)
{
    struct scripted_server *s = endpoint->server;
    enum status status = STATUS_OK;
    pthread_mutex_lock(&s->lock);
    s->attach_calls++;
    if (!s->shares)
        status = STATUS_NOT_FOUND;
    else if (s->attached != 0 || s->asked != 0)
        status = STATUS_EXISTS;
    else if (s->refusals > 0) {
        s->refusals--;
        status = STATUS_AGAIN;
    } else if (s->late > 0) {
        s->asked = name;
    } else if (s->breaks > 0) {
        s->breaks--;
        s->shares = !s->dies;
    } else
        s->attached = name;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static bool scripted_attached(const struct endpoint *endpoint)
{
    struct scripted_server *s = endpoint->server;
    pthread_mutex_lock(&s->lock);
    bool attached = s->attached != 0;
    pthread_mutex_unlock(&s->lock);
    return attached;
}

static struct frame *scripted_lend(struct endpoint *endpoint, uint64_t place, uint64_t bytes)
{
    struct scripted_server *s = endpoint->server;
    if (place + bytes > 2 * s->partition.elements * sizeof(float))
        return NULL;
    return frame_wrap(s->memory + place / sizeof(float), bytes, false, NULL, NULL);
}

static const struct transport_operations operations = {
    .connect = scripted_connect,
    .send = scripted_send,
    .receive = scripted_receive,
    .wait = scripted_wait,
    .close = scripted_close,
    .attach = scripted_attach,
    .attached = scripted_attached,
    .lend = scripted_lend,
};

/* --- life ------------------------------------------------------------------------------------ */

void scripted_server_open(struct scripted_server *server, const struct job *job)
{
    struct error error;
    memset(server, 0, sizeof *server);
    server->transport.operations = &operations;
    pthread_mutex_init(&server->lock, NULL);
    server->job = job;
    ck_assert(partition_make(&server->partition, job->variables, job->variable_count, 1,
                             job->chunk_bytes, job_borders(job), &error) == STATUS_OK);
    server->memory = calloc(2 * server->partition.elements, sizeof *server->memory);
    ck_assert_ptr_nonnull(server->memory);
    server->incarnation = 100;
    server->generation = 1;
    server->ticket = 1;
    server->finishes = true;
    server->start = (struct message_start){.members = 1, .stop_step = job->steps};
}

void scripted_server_close(struct scripted_server *server)
{
    outbox_free(&server->answers);
    partition_free(&server->partition);
    pthread_mutex_destroy(&server->lock);
    free(server->memory);
}

void scripted_server_lock(struct scripted_server *server)
{
    pthread_mutex_lock(&server->lock);
}

void scripted_server_unlock(struct scripted_server *server)
{
    pthread_mutex_unlock(&server->lock);
}

unsigned scripted_server_count(struct scripted_server *server, enum message_kind kind)
{
    unsigned count = 0;
    pthread_mutex_lock(&server->lock);
    for (unsigned i = 0; i < server->heard_count; i++)
        count += server->heard[i].message.kind == kind;
    pthread_mutex_unlock(&server->lock);
    return count;
}
