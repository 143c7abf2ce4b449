/* raw_zeromq.c - pieces go out of memory that stays, so that ZeroMQ copies nothing: values are
 * sent from where they are updated, which is safe because an exchange has come to its end before
 * the next begins. */

#include "tests/bench/contenders/raw_zeromq.h"

#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "common/kernels/kernels.h"
#include "common/optimizer/optimizer.h"
#include "common/process/process.h"

#define TRIES     5 /* Rounds. */
#define SIZES_MAX 7

struct side {
    void *context, *socket;
    struct raw_zeromq_setting setting;
    char *out;        /* [bytes] What it sends: gradients, or the values. */
    char *parameters; /* [bytes] Where what comes back is placed. */
    uint64_t at;      /* Serving: in the values, where the next gradient belongs. */
};

/* Floats, for others to work on. */
static char *make(uint64_t bytes, float value)
{
    float *values = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (values == NULL)
        contender_fail("raw ZeroMQ: out of memory");
    for (uint64_t i = 0; i < bytes / sizeof *values; i++)
        values[i] = value;
    return (char *)values;
}

static void open_side(struct side *side, const struct raw_zeromq_setting *setting, int type)
{
    int none = 0, send_bytes = 192 << 10;
    process_keep_memory(); /* As many arenas as ours. */
    kernels_init();
    side->setting = *setting;
    side->out = make(setting->bytes, 0.01f);
    side->parameters = make(setting->bytes, 1);
    side->at = 0;
    side->context = zmq_ctx_new();
    side->socket = side->context != NULL ? zmq_socket(side->context, type) : NULL;
    if (side->socket == NULL)
        contender_fail("raw ZeroMQ: out of memory");
    zmq_setsockopt(side->socket, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt(side->socket, ZMQ_RCVHWM, &none, sizeof none);
    /* As transport_zmq.c has it: at its best. Without, bbr is anywhere between half of it and it.
     */
    zmq_setsockopt(side->socket, ZMQ_SNDBUF, &send_bytes, sizeof send_bytes);
}

static void stays(void *data, void *hint)
{
    (void)data;
    (void)hint;
}

static void send_piece(struct side *side, uint64_t offset, uint64_t bytes)
{
    zmq_msg_t message;
    zmq_msg_init_data(&message, side->out + offset, bytes, stays, NULL);
    if (zmq_msg_send(&message, side->socket, 0) < 0)
        contender_fail("raw ZeroMQ: cannot send");
}

/* libzmq delivers small messages wherever they happen to lie in its buffer. */
static const float *floats_of(zmq_msg_t *message, float *aligned)
{
    const void *data = zmq_msg_data(message);
    if ((uintptr_t)data % sizeof(float) == 0)
        return data;
    memcpy(aligned, data, zmq_msg_size(message));
    return aligned;
}

static void apply(struct side *side, zmq_msg_t *gradient)
{
    static float aligned[2048]; /* Only those below libzmq's 8 KiB are ever elsewhere. */
    float *values = (float *)(void *)(side->out + side->at);
    struct optimizer_update update = {.settings = &optimizer_find("sgd")->defaults,
                                      .t = 1,
                                      .learning_rate = 1e-6f,
                                      .scale = 1,
                                      .count = zmq_msg_size(gradient) / sizeof(float),
                                      .gradient = floats_of(gradient, aligned),
                                      .values_in = values,
                                      .values_out = values};
    optimizer_find("sgd")->apply(&update);
}

/* The caller closes it. */
static void receive(struct side *side, zmq_msg_t *message)
{
    zmq_msg_init(message);
    if (zmq_msg_recv(message, side->socket, 0) < 0)
        contender_fail("raw ZeroMQ: cannot receive");
}

/* Values; their bytes. offset: where they belong. */
static uint64_t receive_values(struct side *side, uint64_t offset)
{
    zmq_msg_t message;
    receive(side, &message);
    uint64_t bytes = zmq_msg_size(&message);
    if (side->setting.works)
        memcpy(side->parameters + offset, zmq_msg_data(&message), bytes);
    zmq_msg_close(&message);
    return bytes;
}

/* A gradient; its bytes. */
static uint64_t receive_gradient(struct side *side)
{
    zmq_msg_t message;
    receive(side, &message);
    uint64_t bytes = zmq_msg_size(&message);
    if (side->setting.works)
        apply(side, &message);
    zmq_msg_close(&message);
    return bytes;
}

static void serve(const void *setting)
{
    struct side side;
    char address[CONTENDER_ADDRESS_MAX];
    size_t size = sizeof address;
    open_side(&side, setting, ZMQ_ROUTER);
    if (zmq_bind(side.socket, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(side.socket, ZMQ_LAST_ENDPOINT, address, &size) != 0)
        contender_fail("raw ZeroMQ: cannot listen");
    contender_ready(address);
    for (;;) {
        zmq_msg_t peer;
        receive(&side, &peer);
        uint64_t bytes = receive_gradient(&side);
        if (zmq_msg_send(&peer, side.socket, ZMQ_SNDMORE) < 0)
            contender_fail("raw ZeroMQ: cannot send");
        send_piece(&side, side.at, bytes);
        side.at = (side.at + bytes) % side.setting.bytes;
    }
}

static void *open_client(const void *setting, const char *address)
{
    struct side *side = calloc(1, sizeof *side);
    if (side == NULL)
        contender_fail("out of memory");
    open_side(side, setting, ZMQ_DEALER);
    if (zmq_connect(side->socket, address) != 0)
        contender_fail("raw ZeroMQ: cannot connect");
    return side;
}

static void exchange(void *state)
{
    struct side *side = state;
    uint64_t bytes = side->setting.bytes, piece = side->setting.message_bytes;
    for (uint64_t offset = 0; offset < bytes; offset += piece)
        send_piece(side, offset, bytes - offset < piece ? bytes - offset : piece);
    for (uint64_t received = 0; received < bytes;)
        received += receive_values(side, received);
}

const struct contender_kind raw_zeromq = {"raw ZeroMQ, nothing done", serve, open_client, exchange};
const struct contender_kind raw_zeromq_working = {"raw ZeroMQ, same work", serve, open_client,
                                                  exchange};

void raw_zeromq_choose(struct raw_zeromq_setting *setting)
{
    static const uint64_t sizes[] = {64u << 10,  128u << 10, 256u << 10,
                                     512u << 10, 1u << 20,   4u << 20};
    struct raw_zeromq_setting trials[SIZES_MAX];
    struct contender contenders[SIZES_MAX];
    struct piece pieces[SIZES_MAX];
    struct measured measured[SIZES_MAX];
    unsigned count = 0, best = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] < setting->bytes; i++)
        trials[count++] = (struct raw_zeromq_setting){setting->bytes, sizes[i], setting->works};
    if (count == 0 || setting->bytes < sizes[SIZES_MAX - 2]) /* All in one. */
        trials[count++] =
            (struct raw_zeromq_setting){setting->bytes, setting->bytes, setting->works};
    for (unsigned i = 0; i < count && count > 1; i++) {
        contender_start(&contenders[i], &raw_zeromq, &trials[i]);
        pieces[i] = contender_piece(&contenders[i], false);
    }
    if (count > 1)
        measure_in_turn(pieces, count, TRIES, measured);
    for (unsigned i = 0; i < count && count > 1; i++) {
        if (spread_of(measured[i].seconds, TRIES).median <
            spread_of(measured[best].seconds, TRIES).median)
            best = i;
        contender_stop(&contenders[i]);
    }
    *setting = trials[best];
}
