/* window.c - lays rings, gradients and values out in shared memory, and puts payloads where the
 * other side sees them: by reference when they lie there already, else by a copy. */

#include "common/transport/shm/window.h"

#include <assert.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "common/transport/shm/rendezvous.h"

#define OFFER_MAGIC   0x73796e77u
#define OFFER_VERSION 1
#define PAGE_BYTES    4096u
#define ALIGNMENT     64u
#define LARGE_BYTES   (16u << 20)

/* It comes with the descriptors. Both sides are on one machine: its own byte order. */
struct offer {
    uint32_t magic, version;
    uint64_t written_bytes, parameters_bytes, published_bytes;
    uint64_t gradients_at, gradients_bytes;
    uint32_t ring_capacity;
    uint32_t reserved;
};

enum { FD_WRITTEN, FD_PARAMETERS, FD_SERVER_BELL, FD_WORKER_BELL, FD_PUBLISHED, FD_COUNT };

/* Where a payload lies. */
enum where { NOWHERE, IN_GRADIENTS, IN_PARAMETERS, IN_PUBLISHED, IN_RECORD };

/* The first piece of a record in a ring; the header follows. */
struct note {
    uint32_t where;
    uint32_t reserved;
    uint64_t offset, bytes;
};

static void window_clear(struct window *window, bool serves, int connection)
{
    memset(window, 0, sizeof *window);
    window->serves = serves;
    window->connection = connection;
    window->mine = window->theirs = -1;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void window_close(struct window *window)
{
    close_fd(&window->connection);
    close_fd(&window->mine);
    close_fd(&window->theirs);
    shared_memory_release(window->written);
    shared_memory_release(window->parameters);
    shared_memory_release(window->published);
    window->written = window->parameters = window->published = NULL;
}

/* The memory that the worker writes: the ring to the server, the ring back, the gradients. */
static void attach_rings(struct window *window, uint32_t capacity)
{
    char *memory = shared_memory_data(window->written);
    char *up = memory, *down = memory + ring_bytes(capacity);
    ring_attach(&window->in, window->serves ? up : down, capacity);
    ring_attach(&window->out, window->serves ? down : up, capacity);
}

/* --- handing over -------------------------------------------------------------------------- */

static uint32_t ring_capacity(uint32_t messages)
{
    /* A record is about 120 bytes; the rare long ones have room beside them. */
    uint64_t wanted = 160u * (uint64_t)messages + 16u * RING_RECORD_MAX;
    uint32_t capacity = RING_CAPACITY_MIN;
    while (capacity < wanted && capacity < 1u << 30)
        capacity *= 2;
    return capacity;
}

static enum status make_memory(struct window *window, const struct share *share,
                               struct offer *offer, struct error *error)
{
    offer->magic = OFFER_MAGIC;
    offer->version = OFFER_VERSION;
    offer->ring_capacity = ring_capacity(share->messages);
    uint64_t rings = 2 * ring_bytes(offer->ring_capacity);
    offer->gradients_at = (rings + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    offer->gradients_bytes = share->slots * share->shard_bytes;
    offer->written_bytes = offer->gradients_at + offer->gradients_bytes;
    offer->parameters_bytes = share->shard_bytes;
    offer->published_bytes = window->published != NULL ? shared_memory_bytes(window->published) : 0;
    window->gradients_at = offer->gradients_at;
    window->gradients_bytes = offer->gradients_bytes;
    enum status status = shared_memory_create(offer->written_bytes, false, &window->written, error);
    if (status == STATUS_OK)
        status = shared_memory_create(offer->parameters_bytes, true, &window->parameters, error);
    if (status == STATUS_OK) /* Now, and not page by page in the first minute. */
        memset(shared_memory_data(window->written), 0, rings);
    return status;
}

enum status window_make(struct window *window, int connection, const struct share *share,
                        struct shared_memory *published, struct error *error)
{
    struct offer offer = {0};
    window_clear(window, true, connection);
    window->published = published != NULL ? shared_memory_retain(published) : NULL;
    window->mine = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    window->theirs = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum status status = make_memory(window, share, &offer, error);
    if (status == STATUS_OK && (window->mine < 0 || window->theirs < 0))
        status = error_set(error, STATUS_IO, "no descriptors left");
    if (status == STATUS_OK) {
        attach_rings(window, offer.ring_capacity);
        int fds[FD_COUNT] = {shared_memory_fd(window->written),
                             shared_memory_fd(window->parameters), window->mine, window->theirs,
                             published != NULL ? shared_memory_fd(published) : -1};
        status = rendezvous_send(connection, &offer, sizeof offer, fds,
                                 published != NULL ? FD_COUNT : FD_PUBLISHED);
        if (status != STATUS_OK)
            error_set(error, status, "cannot hand memory over: %s", status_name(status));
    }
    if (status != STATUS_OK)
        window_close(window);
    return status;
}

/* The server is trusted with sizes, but a wrong one must not lead outside our mapping. */
static bool offer_is_sound(const struct offer *offer, size_t fd_count)
{
    uint32_t capacity = offer->ring_capacity;
    return offer->magic == OFFER_MAGIC && offer->version == OFFER_VERSION &&
           fd_count == (offer->published_bytes > 0 ? FD_COUNT : FD_PUBLISHED) &&
           capacity >= RING_CAPACITY_MIN && (capacity & (capacity - 1)) == 0 &&
           offer->parameters_bytes > 0 && offer->gradients_at % PAGE_BYTES == 0 &&
           offer->gradients_at >= 2 * ring_bytes(capacity) &&
           offer->written_bytes >= offer->gradients_at &&
           offer->gradients_bytes == offer->written_bytes - offer->gradients_at;
}

static enum status map_offer(struct window *window, const struct offer *offer, int *fds,
                             struct error *error)
{
    enum status status =
        shared_memory_open(fds[FD_WRITTEN], offer->written_bytes, true, &window->written, error);
    fds[FD_WRITTEN] = -1;
    if (status != STATUS_OK)
        return status;
    status = shared_memory_open(fds[FD_PARAMETERS], offer->parameters_bytes, false,
                                &window->parameters, error);
    fds[FD_PARAMETERS] = -1;
    if (status != STATUS_OK || offer->published_bytes == 0)
        return status;
    status = shared_memory_open(fds[FD_PUBLISHED], offer->published_bytes, false,
                                &window->published, error);
    fds[FD_PUBLISHED] = -1;
    return status;
}

enum status window_open(struct window *window, int connection, struct error *error)
{
    struct offer offer;
    size_t bytes, fd_count;
    int fds[FD_COUNT] = {-1, -1, -1, -1, -1};
    enum status status =
        rendezvous_receive(connection, &offer, sizeof offer, &bytes, fds, FD_COUNT, &fd_count);
    if (status == STATUS_AGAIN)
        return status;
    window_clear(window, false, connection);
    if (status != STATUS_OK)
        error_set(error, status, "no memory was handed over: %s", status_name(status));
    else if (bytes != sizeof offer || !offer_is_sound(&offer, fd_count))
        status = error_set(error, STATUS_INVALID, "the offer of memory makes no sense");
    else
        status = map_offer(window, &offer, fds, error);
    if (status == STATUS_OK) {
        window->gradients_at = offer.gradients_at;
        window->gradients_bytes = offer.gradients_bytes;
        window->theirs = fds[FD_SERVER_BELL];
        window->mine = fds[FD_WORKER_BELL];
        fds[FD_SERVER_BELL] = fds[FD_WORKER_BELL] = -1;
        attach_rings(window, offer.ring_capacity);
    }
    for (int i = 0; i < FD_COUNT; i++)
        close_fd(&fds[i]);
    if (status != STATUS_OK)
        window_close(window);
    return status;
}

/* --- sending ------------------------------------------------------------------------------- */

/* A payload that the other side can see already, and aligned, because it takes no others. */
static bool find_payload(const struct window *window, const struct frame *payload,
                         struct note *note)
{
    size_t offset;
    if (!window->serves) {
        if (!shared_memory_holds(window->written, payload->data, payload->bytes, &offset) ||
            offset < window->gradients_at || offset % ALIGNMENT != 0)
            return false;
        note->where = IN_GRADIENTS;
        note->offset = offset - window->gradients_at;
        return true;
    }
    if (window->published == NULL ||
        !shared_memory_holds(window->published, payload->data, payload->bytes, &offset) ||
        offset % ALIGNMENT != 0)
        return false;
    note->where = IN_PUBLISHED;
    note->offset = offset;
    return true;
}

/* Payloads larger than any cache are written past the caches. The memory is then not read before
 * it is written, which makes an exchange of 64 MiB a sixth faster. Both 16-byte aligned. */
static void copy_large(void *to, const void *from, size_t bytes)
{
#if defined(__SSE2__)
    __m128i *out = to;
    const __m128i *in = from;
    size_t count = bytes / sizeof *out;
    for (size_t i = 0; i < count; i++)
        _mm_stream_si128(&out[i], _mm_load_si128(&in[i]));
    _mm_sfence(); /* Before the ring announces it. */
    memcpy(out + count, in + count, bytes % sizeof *out);
#else
    memcpy(to, from, bytes);
#endif
}

/* Copy it to memory that the other side sees. */
static bool place_payload(struct window *window, const struct frame *payload, uint64_t place,
                          struct note *note)
{
    struct shared_memory *memory = window->serves ? window->parameters : window->written;
    uint64_t start = window->serves ? 0 : window->gradients_at;
    if (place > UINT64_MAX - start || place % ALIGNMENT != 0 ||
        !shared_memory_covers(memory, start + place, payload->bytes))
        return false;
    char *to = (char *)shared_memory_data(memory) + start + place;
    bool aligned = (uintptr_t)payload->data % ALIGNMENT == 0;
    if (aligned && shared_memory_bytes(memory) >= LARGE_BYTES)
        copy_large(to, payload->data, payload->bytes);
    else
        memmove(to, payload->data, payload->bytes); /* It may lie there, a little off. */
    note->where = window->serves ? IN_PARAMETERS : IN_GRADIENTS;
    note->offset = place;
    return true;
}

/* Whether it has no place among the worker's values, and is small enough for the ring. */
static bool fits_record(const struct window *window, const struct frame *payload, uint64_t place,
                        size_t header_bytes, struct note *note)
{
    if (!window->serves || place != TRANSPORT_PLACE_NOWHERE ||
        payload->bytes > TRANSPORT_SMALL_BYTES ||
        payload->bytes > RING_RECORD_MAX - sizeof *note - header_bytes)
        return false;
    note->where = IN_RECORD;
    return true;
}

static enum status put_record(struct window *window, const struct note *note, const void *header,
                              size_t header_bytes, const struct frame *payload)
{
    uint8_t both[RING_RECORD_MAX];
    if (note->where != IN_RECORD)
        return ring_put(&window->out, note, sizeof *note, header, header_bytes);
    memcpy(both, header, header_bytes);
    memcpy(both + header_bytes, payload->data, payload->bytes);
    return ring_put(&window->out, note, sizeof *note, both, header_bytes + payload->bytes);
}

enum status window_send(struct window *window, const void *header, size_t header_bytes,
                        struct frame *payload, uint64_t place)
{
    struct note note = {.where = NOWHERE};
    enum status status = STATUS_OK;
    if (payload != NULL) {
        note.bytes = payload->bytes;
        if (!find_payload(window, payload, &note) &&
            !fits_record(window, payload, place, header_bytes, &note) &&
            !place_payload(window, payload, place, &note))
            status = STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK)
        status = put_record(window, &note, header, header_bytes, payload);
    /* Also when the ring is full: a sleeping reader would leave it so. */
    if ((status == STATUS_OK || status == STATUS_AGAIN) && ring_wants_wake(&window->out))
        eventfd_write(window->theirs, 1);
    frame_release(payload);
    return status;
}

/* --- receiving ----------------------------------------------------------------------------- */

static struct frame *payload_frame(struct window *window, const struct note *note)
{
    struct shared_memory *memory = window->serves                ? window->written
                                   : note->where == IN_PUBLISHED ? window->published
                                                                 : window->parameters;
    uint64_t start = window->serves ? window->gradients_at : 0;
    bool known = window->serves ? note->where == IN_GRADIENTS
                                : note->where == IN_PARAMETERS || note->where == IN_PUBLISHED;
    if (!known || memory == NULL || note->offset > UINT64_MAX - start ||
        note->offset % ALIGNMENT != 0 ||
        !shared_memory_covers(memory, start + note->offset, note->bytes))
        return NULL;
    struct frame *frame = shared_memory_frame(memory, start + note->offset, note->bytes);
    if (frame != NULL)
        frame->stays = true;
    return frame;
}

/* A frame of its own for the bytes behind the header. */
static struct frame *record_frame(const uint8_t *bytes, size_t count)
{
    struct frame *frame = frame_create(count);
    if (frame != NULL)
        memcpy(frame->data, bytes, count);
    return frame;
}

enum status window_receive(struct window *window, struct received *received)
{
    uint8_t record[RING_RECORD_MAX];
    struct note note;
    size_t bytes, behind = 0;
    received->payload = NULL;
    received->sender = (struct identity){0}; /* Where there are keys, memory is not shared. */
    enum status status = ring_take(&window->in, record, sizeof record, &bytes);
    if (status != STATUS_OK)
        return status;
    if (bytes <= sizeof note)
        return STATUS_INVALID;
    memcpy(&note, record, sizeof note);
    bytes -= sizeof note;
    if (note.where == IN_RECORD) {
        if (window->serves || note.bytes >= bytes)
            return STATUS_INVALID;
        behind = (size_t)note.bytes;
    }
    received->header_bytes = bytes - behind;
    if (received->header_bytes > sizeof received->header)
        return STATUS_INVALID;
    memcpy(received->header, record + sizeof note, received->header_bytes);
    if (note.where == NOWHERE)
        return STATUS_OK;
    received->payload = note.where == IN_RECORD
                            ? record_frame(record + sizeof note + received->header_bytes, behind)
                            : payload_frame(window, &note);
    return received->payload != NULL ? STATUS_OK : STATUS_INVALID;
}

bool window_has_some(const struct window *window)
{
    return ring_has_some(&window->in);
}

bool window_sleep(struct window *window)
{
    return ring_sleep(&window->in);
}

void window_awake(struct window *window)
{
    ring_awake(&window->in);
}

struct frame *window_lend(struct window *window, uint64_t place, uint64_t bytes)
{
    assert(!window->serves);
    if (place > UINT64_MAX - window->gradients_at ||
        !shared_memory_covers(window->written, window->gradients_at + place, bytes))
        return NULL;
    return shared_memory_frame(window->written, window->gradients_at + place, bytes);
}
