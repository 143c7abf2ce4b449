/* exchange.c - one node's gradient for one chunk, as this side knows it:
 *
 *     NOT_SENT --fits the window--> SENT -------RECEIPT or a verdict-----> CONFIRMED
 *                                   |  ^                                      ^
 *              no answer: a header  |  | RECEIPT(missing): it is sent again   |
 *              asks whether it is   v  |                                      |
 *              there              ASKED_FOR -----RECEIPT or a verdict---------'
 *
 * Beside it, for each chunk: the number of the last request for its values, 0 when they are
 * here. The exchange is complete when all are 0, and no node is pushed as it comes any more. */

#include "worker/client/exchange_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/address/address.h"
#include "common/trace/times.h"

/* --- life ---------------------------------------------------------------------------------- */

static uint32_t next_of_server(const struct partition *partition, uint32_t server, uint32_t chunk)
{
    while (chunk < partition->chunk_count && partition->chunks[chunk].server != server)
        chunk++;
    return chunk;
}

static bool is_on_this_host(const char *server)
{
    char host[ADDRESS_MAX];
    uint16_t port;
    return address_split(address_plain(server), host, &port) && address_is_loopback(host);
}

enum status exchange_init(struct exchange *exchange, const struct job *job,
                          const struct partition *partition, float *parameters)
{
    struct exchange *x = exchange;
    memset(x, 0, sizeof *x);
    x->job = job;
    x->partition = partition;
    x->parameters = parameters;
    x->view = parameters;
    x->chunks = calloc(partition->chunk_count, sizeof *x->chunks);
    x->links = calloc(job->server_count, sizeof *x->links);
    x->pushed[0].sent = calloc(partition->chunk_count, sizeof *x->pushed[0].sent);
    if (x->chunks == NULL || x->links == NULL || x->pushed[0].sent == NULL ||
        version_skew_init(&x->skew, job, partition) != STATUS_OK) {
        exchange_free(x);
        return STATUS_MEMORY;
    }
    uint64_t largest = partition->chunk_elements * sizeof(float);
    for (uint32_t i = 0; i < job->server_count; i++) {
        struct link *link = &x->links[i];
        link->shard_elements = partition_server_bytes(partition, i) / sizeof(float);
        link->first_chunk = next_of_server(partition, i, 0);
        bandwidth_share_init(&link->share, job->worker_count, largest,
                             2 * largest > WINDOW_BYTES ? 2 * largest : WINDOW_BYTES);
        link->near = is_on_this_host(job->servers[i]);
    }
    return STATUS_OK;
}

static void forget_gradients(struct exchange *x)
{
    for (uint32_t i = 0; i < x->pushed_count; i++) {
        frame_release(x->pushed[i].gradient);
        x->pushed[i].gradient = NULL;
    }
    x->pushed_count = 0;
    x->open = false;
    for (uint32_t i = 0; i < x->job->server_count; i++) {
        x->links[i].waiting = false;
        x->links[i].unconfirmed_bytes = x->links[i].ahead_bytes = 0;
    }
}

static void forget_values(struct asked *chunk)
{
    frame_release(chunk->stays);
    chunk->stays = NULL;
}

void exchange_free(struct exchange *exchange)
{
    struct exchange *x = exchange;
    for (uint32_t i = 0; i < x->pushed_count; i++)
        frame_release(x->pushed[i].gradient);
    for (uint32_t i = 0; i < TREE_COVER_MAX; i++)
        free(x->pushed[i].sent);
    for (uint32_t i = 0; x->chunks != NULL && i < x->partition->chunk_count; i++)
        forget_values(&x->chunks[i]);
    free(x->chunks);
    free(x->links);
    version_skew_free(&x->skew);
    memset(x, 0, sizeof *x);
}

void exchange_forget(struct exchange *exchange)
{
    struct exchange *x = exchange;
    forget_gradients(x);
    x->serial++;
    for (uint32_t i = 0; i < x->partition->chunk_count; i++)
        x->chunks[i].first_request = x->chunks[i].request = 0;
    for (uint32_t i = 0; i < x->job->server_count; i++)
        x->links[i].unanswered = 0;
    x->under_way = 0;
}

/* --- sending ------------------------------------------------------------------------------- */

static uint64_t chunk_bytes(const struct exchange *x, uint32_t chunk)
{
    return x->partition->chunks[chunk].count * sizeof(float);
}

static struct link *link_of(const struct exchange *x, uint32_t chunk)
{
    return &x->links[x->partition->chunks[chunk].server];
}

/* An answer takes its request's way. Slots and sums would lie in shared memory where the values
 * do. */
static bool goes_apart(const struct message_exchange *exchange)
{
    return exchange->scored || exchange->slots;
}

/* Gradients of one step lie beside each other until all are used. */
static uint64_t place_of(const struct exchange *x, uint32_t node, uint32_t chunk)
{
    const struct chunk_range *range = &x->partition->chunks[chunk];
    if (x->apart)
        return TRANSPORT_PLACE_NOWHERE;
    return (node * x->links[range->server].shard_elements + range->place) * sizeof(float);
}

/* Whether this worker keeps together with the others of its step. Without that each would fill
 * the line to a server, and a worker ahead of the others takes it from the slowest, for which
 * all chunks wait. Not within a host: there is no line, and a server can work on one push while
 * the others compute. Not for gradients that leave early, in an order of their own: their window
 * might wait for chunks that another worker has further back. Not for nodes before the last,
 * which leave while the next is computed. */
static bool is_paced(const struct exchange *x, const struct link *link)
{
    return job_mode(x->job)->steps && x->job->worker_count > 1 && x->under_way > 0 && !link->near &&
           !x->early;
}

static uint64_t window_of(const struct exchange *x, const struct link *link)
{
    if (x->open)
        return 2 * x->partition->chunk_elements * sizeof(float);
    return is_paced(x, link) ? link->share.bytes : link->share.most;
}

/* Whether the gradient of the step's last node may wait long at a server with more to come: then
 * its receipt must be asked for. Once other workers have come as far, answers confirm it. */
static bool needs_receipt(const struct exchange *x, uint32_t server)
{
    const struct link *link = &x->links[server];
    return job_mode(x->job)->steps && !(is_paced(x, link) && link->answered) &&
           x->pushed_count * link->shard_elements * sizeof(float) > window_of(x, link);
}

/* Whether the answer is for the replica, and not values to be read. */
static bool feeds_replica(const struct exchange *x)
{
    return x->replica != NULL && !x->pulls;
}

/* Replicas that differ must be found before the last step, and as often as there are
 * checkpoints, unless the job says how often. */
static bool is_compared(const struct job *job, uint64_t version)
{
    uint64_t every = job->verify_every > 0 ? job->verify_every : job_checkpoint_every(job);
    return version + 1 == job->steps || (every > 0 && version % every == 0);
}

/* What makes the next version of the replica's chunk: its sum, or all of that version. */
static void ask_replica(const struct exchange *x, struct message_exchange *exchange)
{
    uint64_t version = x->version - 1;
    exchange->sum = replica_has(x->replica, exchange->chunk, version);
    exchange->slots = !exchange->sum;
    if (exchange->sum && is_compared(x->job, version))
        exchange->replica = replica_hash_of(x->replica, exchange->chunk);
}

/* What is pushed with a count is described once, and again before it is asked for again. */
static void describe(const struct exchange *x, const struct envelope *envelope,
                     const struct message_exchange *what, uint32_t server, struct outbox *outbox)
{
    struct link *link = &x->links[server];
    if (what->count == 0 || link->described)
        return;
    assert(what->count == x->computation->count);
    computation_describe(x->computation, envelope, server, outbox);
    link->described = true;
}

static struct message_exchange *add_header(const struct exchange *x,
                                           const struct envelope *envelope, uint32_t node,
                                           uint32_t chunk, uint64_t request, struct packet **packet,
                                           struct outbox *outbox)
{
    describe(x, envelope, &x->pushed[node].what, x->partition->chunks[chunk].server, outbox);
    *packet = envelope_to_server_as(envelope, x->partition->chunks[chunk].server, MESSAGE_EXCHANGE,
                                    request, outbox);
    struct message_exchange *exchange = &(*packet)->message.exchange;
    *exchange = x->pushed[node].what;
    exchange->chunk = chunk;
    if (chunk != x->links[0].first_chunk)
        exchange->has_report = false;
    if (!job_mode(x->job)->steps)
        exchange->base_version = x->skew.versions[chunk];
    if (exchange->want && feeds_replica(x))
        ask_replica(x, exchange);
    if (goes_apart(exchange))
        (*packet)->place = TRANSPORT_PLACE_NOWHERE;
    if (exchange->want && x->pushed[node].gradient != NULL)
        exchange->receipt = needs_receipt(x, x->partition->chunks[chunk].server);
    return exchange;
}

/* The number of a node's request for a chunk; a request for values may have been repeated. */
static uint64_t request_of(const struct exchange *x, uint32_t node, uint32_t chunk)
{
    const struct pushed *pushed = &x->pushed[node];
    return pushed->what.want && x->chunks[chunk].request != 0 ? x->chunks[chunk].request
                                                              : pushed->first_request + chunk;
}

/* A node's gradient for a chunk, or what there is in its place. */
static enum status send_chunk(struct exchange *x, const struct envelope *envelope, uint32_t node,
                              uint32_t chunk, struct outbox *outbox)
{
    struct pushed *pushed = &x->pushed[node];
    struct frame *slice = NULL;
    struct packet *packet;
    if (pushed->gradient != NULL) {
        slice = frame_slice(pushed->gradient, x->partition->chunks[chunk].first * sizeof(float),
                            chunk_bytes(x, chunk));
        if (slice == NULL)
            return STATUS_MEMORY;
        struct link *link = link_of(x, chunk);
        if (pushed->sent[chunk] == NOT_SENT || pushed->sent[chunk] == CONFIRMED)
            link->unconfirmed_bytes += slice->bytes;
        if (pushed->sent[chunk] == NOT_SENT && pushed->what.want && x->chunks[chunk].request != 0)
            link->ahead_bytes += slice->bytes;
    }
    pushed->sent[chunk] = SENT;
    const struct message_exchange *exchange =
        add_header(x, envelope, node, chunk, request_of(x, node, chunk), &packet, outbox);
    packet->payload = slice;
    if (!goes_apart(exchange))
        packet->place = place_of(x, node, chunk);
    return STATUS_OK;
}

/* Until the first answer it is not known whether other workers push as well: what has arrived
 * leaves the window. From then on it stays until they have come as far. */
static bool fits_window(const struct exchange *x, const struct link *link, uint32_t chunk)
{
    uint64_t bytes = link->unconfirmed_bytes;
    if (is_paced(x, link) && link->answered && link->ahead_bytes > bytes)
        bytes = link->ahead_bytes;
    return bytes == 0 || bytes + chunk_bytes(x, chunk) <= window_of(x, link);
}

/* Nodes whose gradient is whole. */
static uint32_t whole_nodes(const struct exchange *x)
{
    return x->pushed_count - x->open;
}

/* On to the next unsent chunk: of a node that was pushed as it came some have left. */
static void next_waiting(const struct exchange *x, struct link *link, uint32_t server)
{
    do {
        link->next_chunk = next_of_server(x->partition, server, link->next_chunk + 1);
        if (link->next_chunk == x->partition->chunk_count) {
            link->next_chunk = link->first_chunk;
            link->next_node++;
        }
        link->waiting = link->next_node < whole_nodes(x);
    } while (link->waiting && x->pushed[link->next_node].sent[link->next_chunk] != NOT_SENT);
}

/* Send what has waited for the window, as far as it goes. */
static enum status send_waiting(struct exchange *x, const struct envelope *envelope,
                                struct link *link, struct outbox *outbox)
{
    enum status status = STATUS_OK;
    uint32_t server = (uint32_t)(link - x->links);
    while (status == STATUS_OK && link->waiting && fits_window(x, link, link->next_chunk)) {
        uint32_t node = link->next_node, chunk = link->next_chunk;
        next_waiting(x, link, server);
        status = send_chunk(x, envelope, node, chunk, outbox);
    }
    return status;
}

/* Ask for a chunk's values under this number. */
static void ask(struct exchange *x, uint32_t chunk, uint64_t request, uint64_t want)
{
    struct asked *asked = &x->chunks[chunk];
    asked->first_request = asked->request = request;
    asked->want = want;
    forget_values(asked);
    link_of(x, chunk)->unanswered++;
    x->under_way++;
}

static void begin_waiting(struct exchange *x, uint64_t now_us)
{
    for (uint32_t i = 0; i < x->job->server_count; i++) {
        struct link *link = &x->links[i];
        link->asked_us = link->heard_us = now_us;
        link->retry_us = EXCHANGE_RETRY_US;
    }
}

/* A node's place, with nothing of it sent. */
static enum status add_node(struct exchange *x, struct envelope *envelope,
                            const struct message_exchange *what, struct frame *gradient)
{
    uint32_t chunk_count = x->partition->chunk_count;
    assert(x->under_way == 0 && x->pushed_count < TREE_COVER_MAX);
    struct pushed *pushed = &x->pushed[x->pushed_count];
    if (pushed->sent == NULL)
        pushed->sent = calloc(chunk_count, sizeof *pushed->sent);
    if (pushed->sent == NULL)
        return STATUS_MEMORY;
    memset(pushed->sent, NOT_SENT, chunk_count * sizeof *pushed->sent);
    pushed->what = *what;
    pushed->gradient = gradient != NULL ? frame_retain(gradient) : NULL;
    for (uint32_t i = 0; i < x->job->server_count; i++)
        x->links[i].described = false;
    pushed->first_request = envelope->last_request + 1;
    envelope->last_request += chunk_count;
    x->pushed_count++;
    return STATUS_OK;
}

/* Reset what an exchange collects. */
static void begin_exchange(struct exchange *x, const struct message_exchange *what, uint64_t now_us)
{
    x->pulls = what->newest;
    x->serial++;
    x->front = 0;
    if (x->replica != NULL)
        replica_begin(x->replica);
    x->version = what->want_version;
    x->refused = x->early = false;
    for (uint32_t i = 0; i < x->job->server_count; i++) {
        struct link *link = &x->links[i];
        link->answered = false;
        bandwidth_share_begin(&link->share, link->unconfirmed_bytes == 0, now_us);
    }
}

/* The values of a chunk, under the last node's number. */
static void ask_with_node(struct exchange *x, uint32_t chunk)
{
    const struct pushed *pushed = &x->pushed[x->pushed_count - 1];
    bool any = pushed->what.newest || (!job_mode(x->job)->steps && !pushed->what.scored);
    ask(x, chunk, pushed->first_request + chunk,
        any ? EXCHANGE_WHATEVER : pushed->what.want_version);
}

/* --- as it comes --------------------------------------------------------------------------- */

static bool may_leave_early(const struct exchange *x, uint32_t chunk)
{
    return chunk != x->links[0].first_chunk && x->partition->chunks[chunk].first >= x->ready &&
           x->pushed[x->pushed_count - 1].sent[chunk] == NOT_SENT;
}

/* Behind what waits for the window, as far as the window goes: the chunk that is needed first
 * leaves first. */
static enum status send_ready(struct exchange *x, const struct envelope *envelope,
                              struct link *link, uint64_t now_us, struct outbox *outbox)
{
    enum status status = STATUS_OK;
    uint32_t server = (uint32_t)(link - x->links);
    for (uint32_t i = 0; i < x->partition->chunk_count && status == STATUS_OK; i++) {
        if (link->waiting)
            return STATUS_OK;
        if (x->partition->chunks[i].server != server || !may_leave_early(x, i))
            continue;
        if (!fits_window(x, link, i))
            return STATUS_OK;
        if (link->unanswered == 0) {
            link->asked_us = link->heard_us = now_us;
            link->retry_us = EXCHANGE_RETRY_US;
        }
        ask_with_node(x, i);
        status = send_chunk(x, envelope, x->pushed_count - 1, i, outbox);
    }
    return status;
}

enum status exchange_push_ready(struct exchange *exchange, struct envelope *envelope,
                                const struct message_exchange *what, struct frame *gradient,
                                uint64_t first, uint64_t now_us, struct outbox *outbox)
{
    struct exchange *x = exchange;
    assert(what->want && gradient != NULL && (!x->open || first <= x->ready));
    enum status status = x->open ? STATUS_OK : add_node(x, envelope, what, gradient);
    if (status != STATUS_OK)
        return status;
    if (!x->open)
        begin_exchange(x, what, now_us);
    x->open = x->early = true;
    x->ready = first;
    for (uint32_t i = 0; i < x->job->server_count && status == STATUS_OK; i++)
        status = send_ready(x, envelope, &x->links[i], now_us, outbox);
    return status;
}

/* --- pushing ------------------------------------------------------------------------------- */

static enum status push_chunk(struct exchange *x, struct envelope *envelope, uint32_t node,
                              uint32_t chunk, struct outbox *outbox)
{
    struct link *link = link_of(x, chunk);
    if (x->pushed[node].gradient == NULL || (!link->waiting && fits_window(x, link, chunk)))
        return send_chunk(x, envelope, node, chunk, outbox);
    if (!link->waiting) {
        x->paced += is_paced(x, link);
        link->waiting = true;
        link->next_node = node;
        link->next_chunk = chunk;
    }
    return STATUS_OK;
}

enum status exchange_push(struct exchange *exchange, struct envelope *envelope,
                          const struct message_exchange *what, struct frame *gradient,
                          uint64_t now_us, struct outbox *outbox)
{
    struct exchange *x = exchange;
    const struct partition *partition = x->partition;
    enum status status = x->open ? STATUS_OK : add_node(x, envelope, what, gradient);
    if (status != STATUS_OK)
        return status;
    uint32_t node = x->pushed_count - 1;
    const uint8_t *sent = x->pushed[node].sent;
    if (what->want && !x->open)
        begin_exchange(x, what, now_us);
    x->open = false;
    x->pushed[node].what = *what;
    for (uint32_t i = 0; i < partition->chunk_count && what->want; i++)
        if (sent[i] == NOT_SENT)
            ask_with_node(x, i);
    if (what->want) { /* Time before the last node's push was no wait. */
        begin_waiting(x, now_us);
        x->began_us = now_us;
        x->held_us = x->held_reported_us = x->held_for = 0;
        x->let_go_us = 0;
    }
    for (uint32_t i = 0; i < partition->chunk_count && status == STATUS_OK; i++)
        if (sent[i] == NOT_SENT)
            status = push_chunk(x, envelope, node, i, outbox);
    return status;
}

void exchange_ask(struct exchange *exchange, struct envelope *envelope,
                  const struct message_exchange *what, uint64_t now_us, struct outbox *outbox)
{
    exchange_forget(exchange);
    enum status status = exchange_push(exchange, envelope, what, NULL, now_us, outbox);
    assert(status == STATUS_OK); /* Without a gradient nothing is allocated. */
    (void)status;
}

/* --- reading before all is here ------------------------------------------------------------- */

uint64_t exchange_front(struct exchange *exchange)
{
    struct exchange *x = exchange;
    const struct partition *partition = x->partition;
    if (x->under_way == 0 || x->open || x->pulls)
        return 0;
    while (x->chunks[x->front].request == 0 && x->chunks[x->front].stays == NULL)
        x->front++; /* One is under way. */
    return partition->chunks[x->front].first;
}

void exchange_read(struct exchange *exchange, uint64_t end)
{
    exchange->read_to = end;
}

/* --- taking answers ------------------------------------------------------------------------ */

/* All values are here. Those of one server with shared memory lie there as the parameter space
 * does, and are used in place; else the ones left in place are copied together. */
static void settle_values(struct exchange *x)
{
    const struct partition *partition = x->partition;
    const float *base = x->chunks[0].stays != NULL ? x->chunks[0].stays->data : NULL;
    bool whole = base != NULL;
    for (uint32_t i = 0; i < partition->chunk_count && whole; i++)
        whole = x->chunks[i].stays != NULL &&
                (const float *)x->chunks[i].stays->data == base + partition->chunks[i].first;
    x->view = whole ? base : x->parameters;
    for (uint32_t i = 0; i < partition->chunk_count && !whole; i++)
        if (x->chunks[i].stays != NULL)
            memcpy(x->parameters + partition->chunks[i].first, x->chunks[i].stays->data,
                   x->chunks[i].stays->bytes);
}

/* Newest values have come. Chunks are at most one version apart, and those ahead still have the
 * version before: ask them for that. */
static void align(struct exchange *x, struct envelope *envelope, uint64_t now_us,
                  struct outbox *outbox)
{
    struct packet *packet;
    x->version = UINT64_MAX;
    for (uint32_t i = 0; i < x->partition->chunk_count; i++)
        if (x->skew.versions[i] < x->version)
            x->version = x->skew.versions[i];
    x->pushed[0].what.newest = false;
    x->pushed[0].what.want_version = x->version;
    for (uint32_t i = 0; i < x->partition->chunk_count; i++) {
        if (x->skew.versions[i] == x->version)
            continue;
        ask(x, i, ++envelope->last_request, x->version);
        add_header(x, envelope, 0, i, envelope->last_request, &packet, outbox);
    }
    begin_waiting(x, now_us);
}

static enum exchange_outcome all_answered(struct exchange *x, struct envelope *envelope,
                                          uint64_t now_us, struct outbox *outbox)
{
    if (x->pushed[0].what.newest && job_mode(x->job)->steps) {
        align(x, envelope, now_us, outbox);
        if (x->under_way > 0)
            return EXCHANGE_PROGRESS;
    }
    settle_values(x);
    forget_gradients(x);
    return EXCHANGE_COMPLETE;
}

static bool is_asked(const struct exchange *x, uint32_t chunk, uint64_t request)
{
    const struct asked *asked = &x->chunks[chunk];
    return asked->request != 0 && request >= asked->first_request && request <= asked->request;
}

/* There is room in the window again. */
static enum status send_on(struct exchange *x, const struct envelope *envelope, struct link *link,
                           uint64_t now_us, struct outbox *outbox)
{
    enum status status = link->waiting ? send_waiting(x, envelope, link, outbox) : STATUS_OK;
    return status == STATUS_OK && x->open ? send_ready(x, envelope, link, now_us, outbox) : status;
}

/* False: it was confirmed, or was never sent. */
static bool mark_confirmed(struct exchange *x, uint32_t node, uint32_t chunk, uint64_t now_us)
{
    struct pushed *pushed = &x->pushed[node];
    struct link *link = link_of(x, chunk);
    if (pushed->sent[chunk] == NOT_SENT || pushed->sent[chunk] == CONFIRMED)
        return false;
    pushed->sent[chunk] = CONFIRMED;
    if (pushed->gradient != NULL)
        link->unconfirmed_bytes -= chunk_bytes(x, chunk);
    if (pushed->what.want)
        bandwidth_share_arrived(&link->share, chunk_bytes(x, chunk), now_us);
    return true;
}

static enum exchange_outcome confirm(struct exchange *x, struct envelope *envelope, uint32_t node,
                                     uint32_t chunk, uint64_t now_us, struct outbox *outbox)
{
    struct link *link = link_of(x, chunk);
    if (!mark_confirmed(x, node, chunk, now_us))
        return EXCHANGE_IGNORED;
    return send_on(x, envelope, link, now_us, outbox) == STATUS_OK ? EXCHANGE_PROGRESS
                                                                   : EXCHANGE_MEMORY;
}

/* A batch that is rejected counts without its gradient; a step needs all of them. */
static bool is_refused(const struct exchange *x, enum verdict verdict)
{
    return verdict == VERDICT_REJECTED && job_mode(x->job)->steps;
}

/* The verdict on a node that asked for no values: the server has it, or needs it no more. */
static enum exchange_outcome take_verdict(struct exchange *x, struct envelope *envelope,
                                          const struct message *message, uint64_t now_us,
                                          struct outbox *outbox)
{
    uint32_t chunk = message->result.chunk;
    for (uint32_t node = 0; node < x->pushed_count; node++) {
        if (x->pushed[node].what.want || message->request != x->pushed[node].first_request + chunk)
            continue;
        if (is_refused(x, message->result.verdict))
            return EXCHANGE_REJECTED;
        link_of(x, chunk)->heard_us = now_us;
        return confirm(x, envelope, node, chunk, now_us, outbox);
    }
    return EXCHANGE_IGNORED;
}

/* The server's memory is written again for a later answer. And a server that compensates
 * gradients keeps its answer to the latest request as the base. */
static bool must_be_latest(const struct exchange *x, const struct packet *packet)
{
    return packet->payload->stays || x->job->delay_compensation > 0.0f;
}

/* Whether the answer is of the kind that the chunk needs now. */
static bool is_fit(const struct exchange *x, const struct message_result *result)
{
    if (!feeds_replica(x))
        return !result->sum && result->array == 0;
    if (replica_has(x->replica, result->chunk, x->version - 1))
        return result->sum;
    return !result->sum && result->array <= x->replica->slot_count;
}

/* Values, or a sum that makes them: whether all of the chunk's are here now. */
static bool take_values(struct exchange *x, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    struct asked *asked = &x->chunks[result->chunk];
    const float *data = packet->payload->data;
    if (result->sum)
        replica_apply(x->replica, result->chunk, x->version - 1, data);
    else if (feeds_replica(x)) {
        if (!replica_put(x->replica, result->chunk, result->array, result->version, data))
            return false;
    } else if (packet->payload->stays && x->replica == NULL) {
        asked->stays = frame_retain(packet->payload);
    } else {
        memcpy(x->parameters + x->partition->chunks[result->chunk].first, data,
               packet->payload->bytes);
    }
    x->skew.versions[result->chunk] = result->version;
    asked->first_request = asked->request = 0;
    return true;
}

static void take_numbers(struct exchange *x, const struct message_result *result, uint64_t now_us)
{
    x->refused = x->refused || result->verdict == VERDICT_STALE;
    if (result->held_us > 0 && x->let_go_us == 0)
        x->let_go_us = now_us;
    if (result->held_us <= x->held_us)
        return;
    x->held_us = result->held_us;
    x->held_for = result->held_for;
}

/* Values have come: the other workers of this server have come as far. */
static void mark_answered(struct exchange *x, struct link *link, uint32_t chunk, bool near,
                          uint64_t now_us)
{
    const struct pushed *pushed = &x->pushed[x->pushed_count - 1];
    link->answered = true;
    link->near = link->near || near;
    if (pushed->gradient != NULL && pushed->sent[chunk] != NOT_SENT)
        link->ahead_bytes -= chunk_bytes(x, chunk);
    mark_confirmed(x, x->pushed_count - 1, chunk, now_us);
}

static enum exchange_outcome take_result(struct exchange *x, struct envelope *envelope,
                                         const struct packet *packet, uint64_t now_us,
                                         struct outbox *outbox)
{
    const struct message_result *result = &packet->message.result;
    uint32_t chunk = result->chunk;
    if (!is_asked(x, chunk, packet->message.request))
        return take_verdict(x, envelope, &packet->message, now_us, outbox);
    if (is_refused(x, result->verdict))
        return EXCHANGE_REJECTED;
    struct asked *asked = &x->chunks[chunk];
    if (!result->parameters || packet->payload == NULL ||
        packet->payload->bytes != chunk_bytes(x, chunk) ||
        x->partition->chunks[chunk].first < x->read_to ||
        (must_be_latest(x, packet) && packet->message.request != asked->request) ||
        (asked->want != EXCHANGE_WHATEVER && result->version != asked->want) || !is_fit(x, result))
        return EXCHANGE_IGNORED;
    struct link *link = link_of(x, chunk);
    link->asked_us = link->heard_us = now_us;
    link->retry_us = EXCHANGE_RETRY_US;
    take_numbers(x, result, now_us);
    if (!take_values(x, packet))
        return EXCHANGE_PROGRESS;
    link->unanswered--;
    x->under_way--;
    mark_answered(x, link, chunk, packet->payload->stays, now_us);
    if (send_on(x, envelope, link, now_us, outbox) != STATUS_OK)
        return EXCHANGE_MEMORY;
    return x->under_way > 0 || x->open ? EXCHANGE_PROGRESS
                                       : all_answered(x, envelope, now_us, outbox);
}

static enum exchange_outcome take_receipt(struct exchange *x, struct envelope *envelope,
                                          const struct message *message, uint64_t now_us,
                                          struct outbox *outbox)
{
    const struct message_receipt *receipt = &message->receipt;
    uint32_t chunk = receipt->chunk;
    if (is_asked(x, chunk, message->request))
        link_of(x, chunk)->heard_us = now_us;
    for (uint32_t node = 0; node < x->pushed_count; node++) {
        const struct pushed *pushed = &x->pushed[node];
        if (pushed->what.step != receipt->step || !node_equal(pushed->what.node, receipt->node) ||
            pushed->sent[chunk] == NOT_SENT)
            continue;
        /* The step is complete here: it needs nothing that was missing. */
        if (pushed->what.want && x->chunks[chunk].request == 0)
            return EXCHANGE_IGNORED;
        link_of(x, chunk)->heard_us = now_us;
        if (!receipt->missing)
            return confirm(x, envelope, node, chunk, now_us, outbox);
        /* Without a question it had no room, and would not have now. */
        if (pushed->sent[chunk] == SENT)
            return EXCHANGE_PROGRESS;
        return send_chunk(x, envelope, node, chunk, outbox) == STATUS_OK ? EXCHANGE_PROGRESS
                                                                         : EXCHANGE_MEMORY;
    }
    return EXCHANGE_IGNORED;
}

static enum exchange_outcome take_moved_on(struct exchange *x, const struct message *message,
                                           uint64_t now_us)
{
    if (!is_asked(x, message->moved_on.chunk, message->request))
        return EXCHANGE_IGNORED;
    link_of(x, message->moved_on.chunk)->heard_us = now_us;
    x->missed_at = message->moved_on.version;
    return EXCHANGE_MISSED;
}

enum exchange_outcome exchange_take(struct exchange *exchange, struct envelope *envelope,
                                    uint32_t server, const struct packet *packet, uint64_t now_us,
                                    struct outbox *outbox)
{
    const struct message *message = &packet->message;
    const struct partition *partition = exchange->partition;
    uint32_t chunk = message->kind == MESSAGE_RESULT    ? message->result.chunk
                     : message->kind == MESSAGE_RECEIPT ? message->receipt.chunk
                                                        : message->moved_on.chunk;
    if (chunk >= partition->chunk_count || partition->chunks[chunk].server != server)
        return EXCHANGE_IGNORED;
    if (message->kind == MESSAGE_RESULT)
        return take_result(exchange, envelope, packet, now_us, outbox);
    if (message->kind == MESSAGE_RECEIPT)
        return take_receipt(exchange, envelope, message, now_us, outbox);
    return take_moved_on(exchange, message, now_us);
}

/* --- time ---------------------------------------------------------------------------------- */

/* Ask for one chunk again, with the headers of what was pushed and is not confirmed. */
static void retry_chunk(struct exchange *x, struct envelope *envelope, uint32_t chunk,
                        struct outbox *outbox)
{
    struct packet *packet;
    for (uint32_t node = 0; node < x->pushed_count; node++) {
        const struct pushed *pushed = &x->pushed[node];
        bool last = node + 1 == x->pushed_count;
        if (pushed->sent[chunk] == NOT_SENT || (!last && pushed->sent[chunk] == CONFIRMED))
            continue;
        uint64_t request = pushed->first_request + chunk;
        if (last)
            request = x->chunks[chunk].request = ++envelope->last_request;
        if (pushed->sent[chunk] == SENT)
            pushed->sent[chunk] = ASKED_FOR;
        struct message_exchange *exchange =
            add_header(x, envelope, node, chunk, request, &packet, outbox);
        exchange->retry = !exchange->skip; /* A skipped batch is no more than its header. */
        exchange->receipt = false;
    }
}

void exchange_tick(struct exchange *exchange, struct envelope *envelope, uint64_t now_us,
                   struct outbox *outbox)
{
    struct exchange *x = exchange;
    if (x->under_way == 0)
        return;
    for (uint32_t server = 0; server < x->job->server_count; server++) {
        struct link *link = &x->links[server];
        if (link->unanswered == 0 || now_us - link->asked_us < link->retry_us)
            continue;
        link->asked_us = now_us;
        link->described = false;
        link->retry_us = 2 * link->retry_us < EXCHANGE_RETRY_MOST_US ? 2 * link->retry_us
                                                                     : EXCHANGE_RETRY_MOST_US;
        for (uint32_t i = link->first_chunk; i < x->partition->chunk_count;
             i = next_of_server(x->partition, server, i + 1))
            if (x->chunks[i].request != 0)
                retry_chunk(x, envelope, i, outbox);
    }
}

uint64_t exchange_silence_us(const struct exchange *exchange, uint64_t now_us, uint32_t *server)
{
    uint64_t longest_us = 0;
    for (uint32_t i = 0; i < exchange->job->server_count; i++) {
        const struct link *link = &exchange->links[i];
        if (link->unanswered == 0 || now_us - link->heard_us < longest_us)
            continue;
        longest_us = now_us - link->heard_us;
        *server = i;
    }
    return longest_us;
}

void exchange_resume(struct exchange *exchange, uint64_t gap_us, uint64_t now_us)
{
    exchange->began_us = times_later(exchange->began_us, gap_us, now_us);
    for (uint32_t i = 0; i < exchange->job->server_count; i++)
        exchange->links[i].asked_us = exchange->links[i].heard_us = now_us;
}

uint64_t exchange_pushed_end(const struct exchange *exchange)
{
    const struct pushed *first = &exchange->pushed[0];
    return exchange->pushed_count > 0 && first->gradient != NULL ? first->what.step + 1 : 0;
}
