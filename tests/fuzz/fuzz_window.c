/* fuzz_window.c - a window whose other side sends what it likes: offers of memory to a worker, and
 * records in the rings to both. A payload that arrives lies within the memory it should be in.
 *
 *     input: 1 (1 byte), an offer
 *            or anything else, then steps, each one byte and what it takes */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/transport/shm/rendezvous.h"
#include "common/transport/shm/window.h"
#include "tests/fuzz/fuzz.h"

enum { CAPACITY = 8192, PAGE = 4096, SHARD = 4 * PAGE, FDS_MAX = 5, STEPS_MAX = 100 };

/* Frames, and what is sent in them. */
const struct fuzz_bounds fuzz_bounds = {SHARD + 4096, 64};

/* A server's window and a worker's on the same memory. */
static struct window server, worker;
static size_t gradients_at;

static struct shared_memory *memory_of(size_t bytes, bool readers_only)
{
    struct shared_memory *memory = NULL;
    fuzz_must(shared_memory_create(bytes, readers_only, &memory, NULL) == STATUS_OK,
              "there is shared memory");
    return memory;
}

void fuzz_start(void)
{
    gradients_at = (2 * ring_bytes(CAPACITY) + PAGE - 1) / PAGE * PAGE;
    server = (struct window){.serves = true,
                             .connection = -1,
                             .mine = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                             .theirs = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                             .written = memory_of(gradients_at + 2 * SHARD, false),
                             .parameters = memory_of(SHARD, true),
                             .published = memory_of(2 * SHARD, true),
                             .gradients_at = gradients_at,
                             .gradients_bytes = 2 * SHARD};
    worker = server;
    worker.serves = false;
    worker.mine = server.theirs;
    worker.theirs = server.mine;
}

static void attach(void)
{
    char *memory = shared_memory_data(server.written);
    size_t one = ring_bytes(CAPACITY);
    memset(memory, 0, 192);
    memset(memory + one, 0, 192);
    ring_attach(&server.in, memory, CAPACITY);
    ring_attach(&worker.out, memory, CAPACITY);
    ring_attach(&server.out, memory + one, CAPACITY);
    ring_attach(&worker.in, memory + one, CAPACITY);
}

/* --- records ------------------------------------------------------------------------------- */

static void receive(struct window *window)
{
    struct received received;
    if (window_receive(window, &received) != STATUS_OK)
        return;
    fuzz_must(received.header_bytes > 0 && received.header_bytes <= sizeof received.header,
              "headers have a length");
    if (received.payload == NULL)
        return;
    const unsigned char *bytes = received.payload->data;
    size_t count = received.payload->bytes;
    size_t at = 0;
    bool gradients = shared_memory_holds(server.written, bytes, count, &at) && at >= gradients_at;
    bool others = shared_memory_holds(server.parameters, bytes, count, NULL) ||
                  shared_memory_holds(server.published, bytes, count, NULL);
    bool own = !received.payload->stays && count < RING_RECORD_MAX; /* It came in the ring. */
    fuzz_must(window->serves ? gradients : others || own, "payloads lie where they should");
    unsigned sum = 0;
    for (size_t i = 0; i < count; i += 64)
        sum += bytes[i];
    volatile unsigned used = sum;
    (void)used;
    frame_release(received.payload);
}

/* A record that nobody has checked: any note of where the payload is, any header. */
static void put_record(struct window *from, struct fuzz_input *input)
{
    struct {
        uint32_t where, reserved;
        uint64_t offset, bytes;
    } note = {.where = (uint32_t)fuzz_take(input, 1)};
    unsigned wide = (unsigned)fuzz_take(input, 1);
    note.offset = fuzz_take(input, wide & 1 ? 8 : 2) * (wide & 4 ? 1 : 64);
    note.bytes = fuzz_take(input, wide & 2 ? 8 : 2);
    size_t note_bytes = wide & 8 ? fuzz_take(input, 1) % (sizeof note + 1) : sizeof note;
    size_t header_bytes, wanted = fuzz_take(input, 2) % (RING_RECORD_MAX - sizeof note);
    const uint8_t *header = fuzz_take_bytes(input, wanted, &header_bytes);
    if (note_bytes + header_bytes > 0)
        ring_put(&from->out, &note, note_bytes, header, header_bytes);
}

static void send_frame(struct window *from, struct fuzz_input *input)
{
    static const char header[40];
    uint64_t place = fuzz_take(input, 3);
    struct frame *payload = NULL;
    if (fuzz_take(input, 1) & 1)
        payload = frame_create(1 + fuzz_take(input, 2) % SHARD);
    else if (!from->serves)
        payload = window_lend(from, place, fuzz_take(input, 2));
    window_send(from, header, sizeof header, payload, place * 16);
}

static void meddle(struct fuzz_input *input)
{
    size_t at = fuzz_take(input, 2) % (2 * ring_bytes(CAPACITY) - 8);
    uint64_t value = fuzz_take(input, 8);
    memcpy((char *)shared_memory_data(server.written) + at, &value, 8);
}

static void step(struct fuzz_input *input)
{
    unsigned what = (unsigned)fuzz_take(input, 1);
    struct window *window = what & 1 ? &server : &worker;
    switch ((what >> 1) % 6) {
    case 0:
    case 1:
        put_record(window, input);
        break;
    case 2:
    case 3:
        receive(window);
        break;
    case 4:
        send_frame(window, input);
        break;
    default:
        meddle(input);
        window_has_some(window);
        if (window_sleep(window))
            window_awake(window);
        break;
    }
}

/* --- offers -------------------------------------------------------------------------------- */

static int open_memory(uint64_t bytes)
{
    int fd = memfd_create("fuzz_window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fuzz_must(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "there is shared memory");
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return fd;
}

static void take_offer(struct fuzz_input *input)
{
    int ends[2], fds[FDS_MAX];
    fuzz_must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
              "there are sockets");
    size_t fd_count = fuzz_take(input, 1) % (FDS_MAX + 1);
    for (size_t i = 0; i < fd_count; i++)
        fds[i] = open_memory(fuzz_take(input, 3));
    size_t bytes;
    const uint8_t *offer = fuzz_take_bytes(input, RENDEZVOUS_BYTES_MAX, &bytes);
    struct window window;
    if (bytes > 0 && rendezvous_send(ends[0], offer, bytes, fds, fd_count) == STATUS_OK &&
        window_open(&window, ends[1], NULL) == STATUS_OK) {
        fuzz_must(shared_memory_covers(window.written, window.gradients_at, window.gradients_bytes),
                  "gradients lie within their memory");
        receive(&window);
        window_close(&window);
    } else if (bytes == 0) {
        close(ends[1]);
    }
    for (size_t i = 0; i < fd_count; i++)
        close(fds[i]);
    close(ends[0]);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    if (fuzz_take(&input, 1) == 1) {
        take_offer(&input);
        return;
    }
    attach();
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&input);
}
