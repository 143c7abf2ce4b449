/* test_nics.c - the engine's wires over a cluster's cards: what a message costs, closed forms of whole
 * jobs, order, and where everything goes when connections break and come back. */
/* promises: cards */

#include "deploy/simulate/nics.h"

#include <stdlib.h>
#include <string.h>

#include "common/wire/message.h"
#include "deploy/engine/simulated_network.h"
#include "tests/lib/clusters/virtual_job.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

#define US         1000ull
#define MS         1000000ull
#define SECOND     1000000000ull
#define RATE       1250000000ull /* 10 Gbit/s, */
#define LATENCY_NS (50 * US)     /* and 50 us, as of cluster_init. */
#define SERVERS    2
#define WORKERS    3
#define WORKER     SERVERS /* The first: processes are called by their places at first. */
#define HEARD_MOST 4096

/* --- wires by themselves ----------------------------------------------------------------------------- */

struct heard {
    uint64_t at_ns, number, connection;
    uint32_t process;
    bool up;
};

/* Two servers and three workers at which nobody does anything but listen. */
struct wires {
    struct event_queue queue;
    struct simulated_network network;
    struct cluster cluster;
    struct layout layout;
    struct nics *nics;
    uint64_t now_ns;
    struct heard heard[HEARD_MOST];
    size_t count;
    uint64_t peers[SERVERS]; /* Whom each server has heard last. */
};

static void add_process(struct wires *w, uint32_t place)
{
    simulated_network_add(&w->network, place, place >= SERVERS);
    if (place < SERVERS)
        simulated_network_bind(&w->network, place, w->network.client_count - 1);
}

static void open_seeded(struct wires *w, const char *const (*said)[2], uint64_t seed)
{
    struct error error = {STATUS_OK, ""};
    memset(w, 0, sizeof *w);
    cluster_init(&w->cluster);
    for (; said != NULL && (*said)[0] != NULL; said++)
        ck_assert_msg(cluster_option(&w->cluster, (*said)[0], (*said)[1], &error) == STATUS_OK,
                      "%s", error.text);
    ck_assert_int_eq(layout_make(&w->layout, &w->cluster, SERVERS, WORKERS, &error), STATUS_OK);
    w->nics = nics_create(&w->cluster, &w->layout, seed);
    ck_assert_ptr_nonnull(w->nics);
    struct channel channel = nics_channel(w->nics);
    ck_assert_int_eq(
        simulated_network_init(&w->network, &channel, true, false, 7, SERVERS, &w->queue),
        STATUS_OK);
    for (uint32_t i = 0; i < SERVERS + WORKERS; i++)
        add_process(w, i);
}

static void open_wires(struct wires *w, const char *const (*said)[2])
{
    open_seeded(w, said, 1);
}

static void close_wires(struct wires *w)
{
    nics_free(w->nics);
    event_queue_free(&w->queue);
    simulated_network_free(&w->network);
    layout_free(&w->layout);
    cluster_free(&w->cluster);
}

#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct wires, w, open_wires(w, __VA_ARGS__), close_wires(w))

static struct frame *payload_of(uint64_t bytes)
{
    struct frame *frame = bytes > 0 ? frame_create(bytes) : NULL;
    ck_assert(bytes == 0 || frame != NULL);
    if (bytes > 0)
        memset(frame->data, 1, bytes);
    return frame;
}

static struct message message_of(uint64_t number, uint64_t bytes)
{
    struct message message =
        specimen(bytes > 0 ? MESSAGE_EXCHANGE : MESSAGE_RECEIPT, SPECIMEN_EXAMPLE);
    message.request = number;
    return message;
}

static uint64_t in_frame(uint64_t bytes)
{
    return bytes + (bytes > 255 ? 9 : 2);
}

/* In segments of 1448 bytes with 90 around them, as of cluster_init. */
static uint64_t on_wire(uint64_t number, uint64_t bytes, bool local)
{
    uint8_t header[HEADER_BYTES_MAX];
    struct message message = message_of(number, bytes);
    uint64_t all = in_frame(message_encode(&message, header)) + (bytes > 0 ? in_frame(bytes) : 0);
    return local ? all : all + (all + 1447) / 1448 * 90;
}

static uint64_t transfer_ns(uint64_t bytes, uint64_t rate)
{
    return (uint64_t)((double)bytes * 1e9 / (double)rate + 0.5);
}

static void say(struct wires *w, uint32_t process, uint32_t server, uint64_t number, uint64_t bytes)
{
    struct message message = message_of(number, bytes);
    simulated_network_send_up(&w->network, w->now_ns, process, server, &message, payload_of(bytes));
}

/* To whom it has heard last. */
static void answer(struct wires *w, uint32_t server, uint64_t number, uint64_t bytes)
{
    struct message message = message_of(number, bytes);
    uint32_t process = w->network.bound[server];
    if (process != NETWORK_NO_PROCESS && w->peers[server] != 0 &&
        w->network.connections[w->peers[server] - 1].process == process)
        simulated_network_send_down(&w->network, w->now_ns, process, w->peers[server], &message,
                                    payload_of(bytes));
}

static void hear(struct wires *w, struct due *event)
{
    struct packet packet;
    struct error error;
    uint64_t peer;
    uint32_t process = simulated_network_arrive(&w->network, event, &peer);
    if (process == NETWORK_NO_PROCESS)
        return;
    ck_assert_int_eq(simulated_network_open(&w->network, event->parcel, &packet, &error),
                     STATUS_OK);
    frame_release(packet.payload);
    ck_assert_uint_lt(w->count, HEARD_MOST);
    w->heard[w->count++] =
        (struct heard){w->now_ns, packet.message.request, peer, process, event->parcel->up};
    if (event->parcel->up)
        w->peers[w->network.wires[event->parcel->wire].server] = peer;
}

/* As engine_run does it. */
static void pass(struct wires *w, uint64_t until_ns)
{
    struct channel channel = nics_channel(w->nics);
    for (;;) {
        uint64_t next_ns = channel.next_ns(w->nics);
        uint64_t queue_ns = w->queue.count > 0 ? w->queue.events[0].time_ns : UINT64_MAX;
        if ((queue_ns <= next_ns ? queue_ns : next_ns) > until_ns ||
            (queue_ns == UINT64_MAX && next_ns == UINT64_MAX))
            break;
        if (next_ns < queue_ns) {
            channel.advance(w->nics, &w->network, next_ns);
            continue;
        }
        struct due event;
        event_queue_take(&w->queue, &event);
        ck_assert_uint_ge(event.time_ns, w->now_ns);
        w->now_ns = event.time_ns;
        hear(w, &event);
        event_free(&event);
    }
    if (until_ns != UINT64_MAX)
        w->now_ns = until_ns;
}

static void finish(struct wires *w)
{
    pass(w, UINT64_MAX);
}

static uint64_t held_now(const struct wires *w)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < w->network.client_count * SERVERS; i++) {
        const struct network_wire *wire = &w->network.wires[i];
        for (const struct parcel *it = wire->up.held; it != NULL; it = it->next)
            count += it->connection != 0; /* Else it has not been sent. */
        for (const struct parcel *it = wire->down.held; it != NULL; it = it->next)
            count++;
    }
    return count;
}

/* Nothing is lost silently, and nothing is there twice. */
static void expect_sums(const struct wires *w)
{
    const struct network_counts *sent = &w->network.counts;
    const struct nics_counts *nics = nics_counts(w->nics);
    uint64_t under_way = nics_under_way(w->nics);
    ck_assert_uint_eq(nics->carried, nics->arrived + nics->broken + under_way);
    ck_assert_uint_eq(sent->sent, sent->delivered + sent->broken + sent->partitioned + under_way +
                                      held_now(w) + w->queue.count);
    ck_assert(sent->lost == 0 && sent->repeated == 0);
    uint64_t up = 0, down = 0, loopback = 0;
    for (uint32_t host = 0; host < w->layout.host_count; host++) {
        up += nics_use(w->nics, host)->up_bytes;
        down += nics_use(w->nics, host)->down_bytes;
        loopback += nics_use(w->nics, host)->loopback_bytes;
    }
    ck_assert_uint_eq(up, down);
    ck_assert_uint_eq(up + loopback, nics->bytes);
}

static void cut(struct wires *w, uint32_t place, uint32_t server, uint64_t back_ns)
{
    struct host_set one = host_set_of(place), other = host_set_of(server);
    simulated_network_cut(&w->network, w->now_ns, &one, &other, back_ns, 0);
    host_set_free(&one);
    host_set_free(&other);
}

static uint32_t part(struct wires *w, uint32_t place, bool hold)
{
    struct host_set one = host_set_of(place), others = host_set_of(place);
    host_set_invert(&others);
    uint32_t number = simulated_network_part(&w->network, &one, &others, hold);
    host_set_free(&one);
    host_set_free(&others);
    return number;
}

/* --- what a message costs ---------------------------------------------------------------------------- */

static uint64_t bytes_of(struct wires *w, uint64_t payload_bytes)
{
    uint64_t before = nics_counts(w->nics)->bytes;
    say(w, WORKER, 0, 1, payload_bytes);
    finish(w);
    return nics_counts(w->nics)->bytes - before;
}

TEST(a_message_is_frames_in_segments, NULL)
{
    uint64_t header = on_wire(1, 1, true) - 3, rest = 1448 - header - 9;
    ck_assert_uint_eq(bytes_of(w, 0), on_wire(1, 0, true) + 90);
    ck_assert_uint_eq(bytes_of(w, 255), header + 257 + 90);
    ck_assert_uint_eq(bytes_of(w, 256), header + 265 + 90);
    ck_assert_uint_eq(bytes_of(w, rest), 1448 + 90);
    ck_assert_uint_eq(bytes_of(w, rest + 1), 1449 + 180);
    ck_assert_uint_eq(bytes_of(w, 1000000), header + 1000009 + 691 * 90);
}

TEST(a_message_takes_its_latency_and_its_bytes, NULL)
{
    say(w, WORKER, 0, 1, 125000);
    ck_assert_uint_eq(nics_under_way(w->nics), 1);
    finish(w);
    uint64_t there_ns = LATENCY_NS + transfer_ns(on_wire(1, 125000, false), RATE);
    ck_assert_uint_eq(w->count, 1);
    ck_assert_uint_eq(w->heard[0].at_ns, there_ns);
    ck_assert_uint_eq(w->heard[0].process, 0);
    answer(w, 0, 2, 0);
    finish(w);
    ck_assert_uint_eq(w->count, 2);
    ck_assert_uint_eq(w->heard[1].process, WORKER);
    ck_assert_uint_eq(w->heard[1].at_ns,
                      there_ns + LATENCY_NS + transfer_ns(on_wire(2, 0, false), RATE));
    ck_assert_uint_eq(nics_counts(w->nics)->bytes,
                      on_wire(1, 125000, false) + on_wire(2, 0, false));
    ck_assert_uint_eq(w->network.counts.delay_max_us, there_ns / 1000);
    expect_sums(w);
}

static const char *const with_link[][2] = {
    {"network", "10Gbit,50us"}, {"link", "worker/1:100Mbit/50Mbit,1ms"}, {NULL, NULL}};

TEST(cards_and_distances_are_the_hosts, with_link)
{
    say(w, WORKER + 1, 0, 1, 125000);
    finish(w);
    ck_assert_uint_eq(w->heard[0].at_ns,
                      LATENCY_NS + MS + transfer_ns(on_wire(1, 125000, false), 12500000));
    uint64_t start_ns = w->now_ns;
    answer(w, 0, 2, 125000);
    finish(w);
    ck_assert_uint_eq(w->heard[1].at_ns - start_ns,
                      LATENCY_NS + MS + transfer_ns(on_wire(2, 125000, false), 6250000));
}

/* A server's way to server 0, too; and they do not use the card. */
TEST_PLAIN(processes_of_one_host_talk_over_its_loopback)
{
    struct wires it, *w = &it;
    open_wires(w, NULL);
    close_wires(w);
    memset(w, 0, sizeof *w);
    cluster_init(&w->cluster);
    w->cluster.rest = CLUSTER_TOGETHER;
    w->cluster.loopback_bytes_per_second = 4 * RATE;
    w->cluster.loopback_latency_ns = 7 * US;
    struct error error;
    ck_assert_int_eq(layout_make(&w->layout, &w->cluster, SERVERS, WORKERS, &error), STATUS_OK);
    ck_assert_uint_eq(w->layout.host_count, 1);
    w->nics = nics_create(&w->cluster, &w->layout, 1);
    struct channel channel = nics_channel(w->nics);
    simulated_network_init(&w->network, &channel, true, false, 7, SERVERS, &w->queue);
    for (uint32_t i = 0; i < SERVERS + WORKERS; i++)
        add_process(w, i);
    say(w, WORKER, 0, 1, 125000);
    say(w, 1, 0, 2, 125000);
    finish(w);
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(w->heard[i].at_ns,
                          7 * US + transfer_ns(2 * on_wire(1, 125000, true), 4 * RATE));
    close_wires(w);
}

/* --- closed forms of whole jobs ------------------------------------------------------------------------ */

struct traffic {
    uint64_t up_bytes, down_bytes, others; /* On the wire, of messages with a payload. */
};

static void note_traffic(void *context, const struct parcel *parcel,
                         const struct delivery *delivery)
{
    struct traffic *traffic = context;
    if (parcel->payload == NULL)
        traffic->others++;
    else
        *(parcel->up ? &traffic->up_bytes : &traffic->down_bytes) += delivery->bytes;
}

#define STEPS 8

static void expect_job_sums(const struct virtual_job *it)
{
    const struct network_counts *counts = &it->engine.network.counts;
    ck_assert_uint_gt(counts->delivered, 0);
    ck_assert_uint_eq(counts->sent, counts->delivered + counts->broken + counts->partitioned +
                                        nics_under_way(it->nics));
}

/* Nanoseconds between two steps' first gradients, in the middle of the job; and what of a worker's goes to
 * or comes from all servers in one of them, by what was seen on the wire. */
static double step_ns(uint32_t workers, uint32_t servers, uint64_t chunk_floats, double *up,
                      double *down)
{
    struct virtual_job it;
    struct traffic traffic = {0};
    virtual_job_open(&it, &(struct virtual_job_options){.mode = MODE_SYNC,
                                                        .servers = servers,
                                                        .workers = workers,
                                                        .chunk_floats = chunk_floats,
                                                        .steps = STEPS});
    nics_watch(it.nics, &(struct nics_watcher){&traffic, note_traffic});
    virtual_job_run(&it);
    ck_assert_uint_eq(it.gradients, (uint64_t)STEPS * workers);
    expect_job_sums(&it);
    double ns = (double)(it.begun_ns[STEPS - 2] - it.begun_ns[1]) / (STEPS - 3);
    *up = (double)traffic.up_bytes / (STEPS * workers);
    *down = (double)traffic.down_bytes / ((STEPS + 1) * workers); /* The first values as well. */
    virtual_job_close(&it);
    return ns;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* At most 2 (latency + max(M / B, n M / (k B))), with M what a worker's values are on the wire, and
 * as much of one pair. Of several, those that are served first go on while others still pull: then at
 * least what the busiest card carries each way. */
static void expect_step(uint32_t n, uint32_t k, uint64_t chunk_floats)
{
    double up, down, bytes = 4.0 * (double)(k * chunk_floats);
    double ns = step_ns(n, k, chunk_floats, &up, &down);
    double share = larger(1, (double)n / k);
    double expected = 2.0 * LATENCY_NS + (up + down) * share * 1e9 / RATE;
    ck_assert_msg(up > 1.05 * bytes && up < 1.08 * bytes, "%.0f of %.0f bytes up", up, bytes);
    ck_assert_msg(down > 1.05 * bytes && down < 1.08 * bytes, "%.0f bytes down", down);
    double least = n * k == 1 ? expected : larger(up, down) * n / k * 1e9 / RATE;
    ck_assert_msg(ns > 0.998 * least && ns < 1.002 * expected,
                  "%u x %u: %.0f ns, not from %.0f to %.0f", n, k, ns, least, expected);
}

TEST_PLAIN(one_pair_takes_two_latencies_and_its_bytes_twice)
{
    expect_step(1, 1, 65536);
    expect_step(1, 1, 1 << 18);
}

/* Servers alone are the limit as soon as there are more workers. */
TEST_PLAIN(a_step_takes_at_least_what_the_busiest_card_carries)
{
    static const uint32_t workers[] = {1, 2, 3, 4, 8, 17, 64}, servers[] = {1, 4};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 2; j++)
            expect_step(workers[i], servers[j], 32768 / servers[j]);
}

/* --- mishaps of the network ---------------------------------------------------------------------------- */

static void note_timers(void *context, const struct parcel *parcel, const struct delivery *delivery)
{
    uint64_t *timers_ns = context;
    ck_assert_uint_gt(parcel->header_bytes, 0);
    *timers_ns += delivery->timers_ns;
}

static const char *const with_loss[][2] = {
    {"loss", "0.1"}, {"jitter", "exponential:20us"}, {NULL, NULL}};

TEST(losses_cost_timers_that_are_counted_and_keep_the_order, with_loss)
{
    uint64_t timers_ns = 0;
    nics_watch(w->nics, &(struct nics_watcher){&timers_ns, note_timers});
    for (uint64_t i = 0; i < 1000; i++)
        say(w, WORKER, i % 2, i, 1000);
    finish(w);
    ck_assert_uint_eq(w->count, 1000);
    uint64_t last[SERVERS] = {0};
    for (size_t i = 0; i < w->count; i++) {
        uint64_t *before = &last[w->heard[i].process];
        ck_assert(w->heard[i].number >= *before);
        *before = w->heard[i].number;
    }
    const struct nics_counts *counts = nics_counts(w->nics);
    ck_assert(counts->waited > 60 && counts->waited < 160); /* 100, by 10. */
    ck_assert_uint_eq(counts->timers_ns, timers_ns);
    ck_assert_uint_ge(timers_ns, counts->waited * 200 * MS);
    expect_sums(w);
}

static const char *const with_buffer[][2] = {{"switch-buffer", "20000"}, {NULL, NULL}};

TEST(a_small_switch_buffer_costs_timers, with_buffer)
{
    for (uint32_t i = 0; i < WORKERS; i++)
        say(w, WORKER + i, 0, i, 100000);
    finish(w);
    ck_assert_uint_eq(w->count, WORKERS);
    ck_assert_uint_eq(nics_counts(w->nics)->waited, 2);
    ck_assert_uint_ge(w->now_ns, 200 * MS);
}

/* --- connections that break ---------------------------------------------------------------------------- */

#define SOME 10
#define BIG  1250000 /* A millisecond. */

/* SOME each way between the first worker and server 0, in the middle of the third. */
static void send_both_ways(struct wires *w)
{
    say(w, WORKER, 0, 0, 0);
    finish(w);
    for (uint64_t i = 1; i <= SOME; i++) {
        say(w, WORKER, 0, i, BIG);
        answer(w, 0, 100 + i, BIG);
    }
    pass(w, w->now_ns + 2500 * US);
    ck_assert_uint_eq(w->count, 5);
}

static void heard_each_way(const struct wires *w, uint64_t heard[2])
{
    heard[0] = heard[1] = 0;
    for (size_t i = 1; i < w->count; i++) {
        bool down = w->heard[i].number > 100;
        ck_assert_uint_eq(w->heard[i].number, (down ? 100 : 0) + ++heard[down]);
    }
}

/* What the network's own draw leaves: both ends, and what is between. */
struct outcomes {
    uint64_t least, most;
};

static void note_outcome(struct outcomes *outcomes, uint64_t count)
{
    outcomes->least = count < outcomes->least ? count : outcomes->least;
    outcomes->most = count > outcomes->most ? count : outcomes->most;
}

/* Of 20 histories: what is heard each way in all, of SOME. _i: 0 it leaves, 1 it is killed, 2 cut off; 4
 * more: the server in the worker's place. */
TEST_TIMES(what_survives_a_connection_depends_on_why_it_broke, 6)
{
    bool server = _i >= 3, killed = _i % 3 == 1, cut_off = _i % 3 == 2;
    struct outcomes outcomes[2] = {{SOME, 0}, {SOME, 0}};
    for (unsigned chance = 0; chance < 20; chance++) {
        struct wires it, *w = &it;
        uint64_t heard[2];
        open_wires(w, NULL);
        for (unsigned i = 0; i < chance; i++)
            random_next(&w->network.random);
        send_both_ways(w);
        if (cut_off)
            cut(w, WORKER, 0, MS);
        else
            simulated_network_end(&w->network, server ? 0 : WORKER, killed, w->now_ns, MS);
        uint64_t broke_ns = w->now_ns;
        expect_sums(w);
        finish(w);
        expect_sums(w);
        heard_each_way(w, heard);
        note_outcome(&outcomes[0], heard[0]);
        note_outcome(&outcomes[1], heard[1]);
        ck_assert_uint_eq(nics_counts(w->nics)->broken, 2 * SOME - heard[0] - heard[1]);
        if (cut_off) /* The cards are free at once. */
            ck_assert_uint_eq(w->now_ns, broke_ns);
        close_wires(w);
    }
    const struct outcomes *said = &outcomes[server], *told = &outcomes[!server];
    ck_assert(told->least == 2 && told->most == 2);
    if (cut_off)
        ck_assert(said->least == 2 && said->most == 2);
    else if (killed)
        ck_assert(said->least < 5 && said->most > 7);
    else
        ck_assert(said->least == SOME && said->most == SOME);
}

/* Of a worker that leaves, and one that comes to its place: both streams share the card. */
TEST(whoever_comes_next_has_the_card_and_a_stream_of_its_own, NULL)
{
    say(w, WORKER, 0, 1, 4 * BIG);
    pass(w, LATENCY_NS);
    simulated_network_end(&w->network, WORKER, false, w->now_ns, 0);
    add_process(w, WORKER);
    uint32_t next = w->network.client_count - 1;
    pass(w, w->now_ns + 100 * US);
    say(w, next, 0, 2, 125000);
    finish(w);
    ck_assert_uint_eq(w->count, 2);
    ck_assert_uint_eq(w->heard[0].number, 2); /* Not behind what survives. */
    uint64_t all = on_wire(2, 125000, false) + on_wire(1, 4 * BIG, false);
    ck_assert_uint_eq(w->heard[1].at_ns, LATENCY_NS + transfer_ns(all, RATE));
    expect_sums(w);
}

TEST(streams_that_are_over_leave_their_memory, NULL)
{
    for (uint64_t i = 1; i <= 2000; i++) {
        say(w, WORKER, 0, i, 1000);
        pass(w, w->now_ns + MS);
        answer(w, 0, i, 1000);
        pass(w, w->now_ns + (i % 2 ? MS : 0)); /* Or with something under way. */
        cut(w, WORKER, 0, 0);
        w->count = 0;
    }
    ck_assert_uint_eq(w->network.counts.connections, 2000);
    ck_assert_uint_eq(nics_streams_most(w->nics), 2);
    expect_sums(w);
}

/* --- what is held up ----------------------------------------------------------------------------------- */

TEST(what_was_held_up_is_there_before_what_came_later, NULL)
{
    say(w, WORKER, 0, 0, 0);
    finish(w);
    uint32_t number = part(w, WORKER, true);
    for (uint64_t i = 1; i <= SOME; i++)
        say(w, WORKER, 0, i, BIG);
    pass(w, w->now_ns + 4500 * US);
    ck_assert_uint_eq(w->count, 1);
    ck_assert_uint_eq(w->network.counts.held, 4);
    expect_sums(w);
    simulated_network_heal(&w->network, w->now_ns, number);
    uint64_t healed_ns = w->now_ns;
    say(w, WORKER, 0, SOME + 1, BIG);
    expect_sums(w);
    finish(w);
    ck_assert_uint_eq(w->count, SOME + 2);
    for (uint64_t i = 0; i <= SOME + 1; i++)
        ck_assert_uint_eq(w->heard[i].number, i);
    ck_assert_uint_ge(nics_counts(w->nics)->resent, 4 * 6);
    ck_assert_uint_eq(w->now_ns, healed_ns + LATENCY_NS +
                                     (SOME + 1) * transfer_ns(on_wire(1, BIG, false), RATE));
    expect_sums(w);
}

/* The first of it is the first in the stream's order. */
TEST_PLAIN(what_survives_behind_something_held_up_is_the_first_of_all)
{
    struct outcomes outcomes = {SOME, 0};
    for (unsigned chance = 0; chance < 20; chance++) {
        struct wires it, *w = &it;
        open_wires(w, NULL);
        for (unsigned i = 0; i < chance; i++)
            random_next(&w->network.random);
        say(w, WORKER, 0, 0, 0);
        finish(w);
        uint32_t number = part(w, WORKER, true);
        for (uint64_t i = 1; i <= SOME; i++)
            say(w, WORKER, 0, i, BIG);
        pass(w, w->now_ns + 4500 * US);
        simulated_network_heal(&w->network, w->now_ns, number);
        simulated_network_end(&w->network, WORKER, true, w->now_ns, 0);
        finish(w);
        for (uint64_t i = 0; i < w->count; i++)
            ck_assert_uint_eq(w->heard[i].number, i);
        note_outcome(&outcomes, w->count - 1);
        expect_sums(w);
        close_wires(w);
    }
    ck_assert(outcomes.least < 4 && outcomes.most > 6);
}

/* What a worker has kept for its next connection, and what was held up on the one before. */
TEST(what_was_held_up_on_a_connection_is_lost_with_it, NULL)
{
    say(w, WORKER, 0, 0, 0);
    finish(w);
    uint32_t number = part(w, WORKER, true);
    say(w, WORKER, 0, 1, BIG);
    say(w, WORKER, 0, 2, BIG);
    finish(w);
    cut(w, WORKER, 0, 0);
    say(w, WORKER, 0, 3, BIG);
    ck_assert_uint_eq(w->network.counts.held, 3);
    simulated_network_heal(&w->network, w->now_ns, number);
    simulated_network_connect(&w->network, w->now_ns, WORKER);
    say(w, WORKER, 0, 4, BIG);
    finish(w);
    ck_assert_uint_eq(w->count, 3);
    ck_assert(w->heard[1].number == 3 && w->heard[2].number == 4);
    ck_assert_uint_eq(w->network.counts.broken, 2);
    ck_assert_uint_eq(nics_counts(w->nics)->broken, 2);
    expect_sums(w);
}

/* --- everything at once -------------------------------------------------------------------------------- */

static const char *const with_all[][2] = {{"loss", "0.02"},
                                          {"jitter", "exponential:100us"},
                                          {"switch-buffer", "40000"},
                                          {"link", "worker/1:100Mbit,1ms"},
                                          {NULL, NULL}};

/* Processes that have ended. */
struct turmoil {
    struct random_sequence random;
    bool ended[2000];
    uint32_t at[SERVERS + WORKERS];
    uint32_t partition;
    uint64_t said;
    uint64_t breaks;
};

static void replace(struct wires *w, struct turmoil *t, uint32_t place)
{
    simulated_network_end(&w->network, t->at[place], random_below(&t->random, 2), w->now_ns,
                          random_below(&t->random, 10 * MS));
    t->ended[t->at[place]] = true;
    add_process(w, place);
    t->at[place] = w->network.client_count - 1;
    if (place < SERVERS)
        w->peers[place] = 0;
}

static void do_something(struct wires *w, struct turmoil *t)
{
    uint32_t what = random_below(&t->random, 40), server = random_below(&t->random, SERVERS);
    uint32_t place = random_below(&t->random, SERVERS + WORKERS);
    uint64_t bytes = random_below(&t->random, 2) * random_below(&t->random, 200000);
    t->breaks += what < 2;
    if (what == 0)
        replace(w, t, place);
    else if (what == 1)
        cut(w, place, server, random_below(&t->random, 10 * MS));
    else if (what == 2 && t->partition == NETWORK_NO_PROCESS)
        t->partition = part(w, place, random_below(&t->random, 3) > 0);
    else if (what == 3) {
        if (t->partition != NETWORK_NO_PROCESS)
            simulated_network_heal(&w->network, w->now_ns, t->partition);
        t->partition = NETWORK_NO_PROCESS;
    } else if (what == 4)
        simulated_network_connect(&w->network, w->now_ns, t->at[place]);
    else if (what < 22)
        say(w, t->at[place], server, ++t->said, bytes);
    else
        answer(w, server, ++t->said, bytes);
}

static uint64_t mix(uint64_t hash, const struct heard *heard)
{
    return (hash * 31 + heard->at_ns) * 31 + heard->number * 7 + heard->process;
}

/* Nothing twice, and each way of a connection in order. */
static void expect_order(const struct heard *heard)
{
    static uint64_t last[2][20000]; /* Each test is a process of its own, ... */
    static bool there[20000];
    if (heard == NULL) { /* ... but each run begins anew. */
        memset(last, 0, sizeof last);
        memset(there, 0, sizeof there);
        return;
    }
    uint64_t *before = &last[heard->up][heard->connection];
    ck_assert_msg(heard->number > *before, "%u is heard behind %u", (unsigned)heard->number,
                  (unsigned)*before);
    ck_assert_msg(!there[heard->number], "%u is heard twice", (unsigned)heard->number);
    *before = heard->number;
    there[heard->number] = true;
}

/* A hash of all that is heard. */
static uint64_t run_turmoil(const char *const (*said)[2], uint64_t seed, uint64_t nics_seed,
                            uint64_t *resent)
{
    static struct turmoil turmoil;
    struct wires it, *w = &it;
    uint64_t hash = 0, heard = 0;
    expect_order(NULL);
    memset(&turmoil, 0, sizeof turmoil);
    turmoil.partition = NETWORK_NO_PROCESS;
    random_sequence_init(&turmoil.random, seed, RANDOM_STREAM_SIMULATOR, 5);
    open_seeded(w, said, nics_seed);
    for (uint32_t i = 0; i < SERVERS + WORKERS; i++)
        turmoil.at[i] = i;
    for (int i = 0; i <= 3000; i++) {
        if (i < 3000)
            do_something(w, &turmoil);
        else if (turmoil.partition != NETWORK_NO_PROCESS)
            simulated_network_heal(&w->network, w->now_ns, turmoil.partition);
        pass(w, i < 3000 ? w->now_ns + random_below(&turmoil.random, 500 * US) : UINT64_MAX);
        expect_sums(w);
        for (size_t j = 0; j < w->count; j++, heard++) {
            hash = mix(hash, &w->heard[j]);
            expect_order(&w->heard[j]);
        }
        w->count = 0;
    }
    ck_assert_uint_eq(nics_under_way(w->nics), 0);
    ck_assert_uint_gt(heard, 1000);
    ck_assert(turmoil.breaks > 50 && nics_counts(w->nics)->broken > 20);
    *resent += nics_counts(w->nics)->resent;
    close_wires(w);
    return hash;
}

TEST_PLAIN(whatever_happens_nothing_is_there_twice_or_lost_silently)
{
    uint64_t resent = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        uint64_t hash = run_turmoil(with_all, seed, 1, &resent);
        ck_assert_uint_eq(run_turmoil(with_all, seed, 1, &resent), hash);
        ck_assert_uint_ne(run_turmoil(with_all, seed, 2, &resent), hash);
    }
    ck_assert_uint_gt(resent, 20);
}

int main(void)
{
    return suite_run("cards", NULL);
}
