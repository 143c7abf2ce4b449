/* descriptions.c - two growing arrays, of descriptions and their bases, and the latest of each
 * worker while its pages come. */

#include "ps/shard/descriptions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/invariant.h"
#include "common/job/bases.h"

#define WORD         sizeof(uint32_t)
#define HEADER_WORDS (sizeof(struct description) / WORD)
#define WORDS(bytes) (((bytes) + WORD - 1) / WORD)

_Static_assert(sizeof(struct description) % WORD == 0, "a description is whole words");

void descriptions_init(struct descriptions *descriptions, uint32_t chunk_count,
                       uint64_t version_max)
{
    *descriptions =
        (struct descriptions){.chunk_count = chunk_count, .version_max = version_max, .next = 1};
}

/* What is remembered is void. */
static void forget_all(struct descriptions *d)
{
    free(d->all);
    free(d->bases);
    d->all = NULL;
    d->bases = NULL;
    d->count = d->capacity = d->bases_bytes = d->bases_capacity = 0;
}

void descriptions_forget(struct descriptions *descriptions)
{
    struct descriptions *d = descriptions;
    forget_all(d);
    d->over = false;
    for (uint32_t i = 0; i < d->worker_count; i++)
        free(d->latest[i].bases);
    if (d->worker_count > 0)
        memset(d->latest, 0, d->worker_count * sizeof *d->latest);
}

void descriptions_free(struct descriptions *descriptions)
{
    descriptions_forget(descriptions);
    free(descriptions->latest);
    memset(descriptions, 0, sizeof *descriptions);
}

/* --- hearing ------------------------------------------------------------------------------- */

static struct described *place_of(struct descriptions *d, uint32_t worker)
{
    if (worker < d->worker_count)
        return &d->latest[worker];
    struct described *latest = realloc(d->latest, (worker + 1) * sizeof *latest);
    if (latest == NULL)
        return NULL;
    memset(latest + d->worker_count, 0, (worker + 1 - d->worker_count) * sizeof *latest);
    d->latest = latest;
    d->worker_count = worker + 1;
    return &latest[worker];
}

/* The first page begins a description. The others follow in order, or are said again. */
static enum status take_page(struct described *latest, const struct message *message)
{
    const struct message_gradient *page = &message->gradient;
    if (page->offset > page->total || page->bytes > page->total - page->offset)
        return STATUS_INVALID;
    if (latest->ticket != message->ticket || latest->count < page->count) {
        if (page->offset != 0)
            return STATUS_AGAIN;
        uint8_t *bases = malloc(page->total);
        if (bases == NULL)
            return STATUS_MEMORY;
        free(latest->bases);
        *latest = (struct described){.ticket = message->ticket,
                                     .count = page->count,
                                     .named = page->ticket,
                                     .bases = bases,
                                     .total = page->total};
    }
    if (latest->count != page->count || latest->number != 0 || page->offset != latest->bytes ||
        page->total != latest->total)
        return STATUS_AGAIN;
    memcpy(latest->bases + latest->bytes, page->bases, page->bytes);
    latest->bytes += page->bytes;
    return STATUS_OK;
}

static enum status make_room(struct descriptions *d, size_t bytes)
{
    struct description *all = array_room(d->all, d->count, &d->capacity, sizeof *all);
    if (all == NULL)
        return STATUS_MEMORY;
    d->all = all;
    if (d->bases_capacity - d->bases_bytes >= bytes)
        return STATUS_OK;
    size_t capacity = 2 * d->bases_capacity + bytes + 1024;
    uint8_t *bases = realloc(d->bases, capacity);
    if (bases == NULL)
        return STATUS_MEMORY;
    d->bases = bases;
    d->bases_capacity = capacity;
    return STATUS_OK;
}

static enum status remember(struct descriptions *d, const struct described *latest,
                            const struct message *message)
{
    if (d->count >= DESCRIPTIONS_MAX || d->bases_bytes + latest->total > DESCRIPTIONS_BYTES_MAX) {
        d->over = true;
        forget_all(d);
    }
    if (d->over)
        return STATUS_OK;
    if (make_room(d, latest->total) != STATUS_OK)
        return STATUS_MEMORY;
    memcpy(d->bases + d->bases_bytes, latest->bases, latest->total);
    d->bases_bytes += latest->total;
    d->all[d->count++] = (struct description){.number = d->next,
                                              .ticket = message->gradient.ticket,
                                              .count = message->gradient.count,
                                              .batch = message->gradient.batch,
                                              .clock = message->gradient.clock,
                                              .worker = message->index,
                                              .bases_bytes = latest->total};
    return STATUS_OK;
}

enum status descriptions_hear(struct descriptions *descriptions, const struct message *gradient)
{
    struct descriptions *d = descriptions;
    struct described *latest = place_of(d, gradient->index);
    enum status status = latest != NULL ? take_page(latest, gradient) : STATUS_MEMORY;
    if (status != STATUS_OK)
        return status == STATUS_AGAIN ? STATUS_OK : status;
    if (latest->bytes < latest->total)
        return STATUS_OK;
    if (!bases_decode(latest->bases, latest->total, d->version_max, NULL, d->chunk_count))
        status = STATUS_INVALID;
    else
        status = remember(d, latest, gradient);
    free(latest->bases);
    latest->bases = NULL;
    if (status == STATUS_OK)
        latest->number = d->next++;
    else
        *latest = (struct described){0};
    return status;
}

uint64_t descriptions_find(const struct descriptions *descriptions, uint32_t worker,
                           uint64_t ticket, uint64_t count)
{
    if (worker >= descriptions->worker_count)
        return 0;
    const struct described *latest = &descriptions->latest[worker];
    return latest->ticket == ticket && latest->count == count ? latest->number : 0;
}

/* --- handing over -------------------------------------------------------------------------- */

void descriptions_drop(struct descriptions *descriptions, uint64_t batch)
{
    struct descriptions *d = descriptions;
    size_t kept = 0, from = 0, to = 0;
    for (size_t i = 0; i < d->count; from += d->all[i++].bases_bytes) {
        const struct description one = d->all[i];
        if (one.batch < batch)
            continue;
        memmove(d->bases + to, d->bases + from, one.bases_bytes);
        to += one.bases_bytes;
        d->all[kept++] = one;
    }
    d->count = kept;
    d->bases_bytes = to;
}

struct frame *descriptions_pack(const struct descriptions *descriptions, uint32_t page,
                                uint32_t pages)
{
    const struct descriptions *d = descriptions;
    size_t begin = d->count * page / pages, end = d->count * (page + 1) / pages;
    size_t words = 1, before = 0;
    for (size_t i = 0; i < begin; i++)
        before += d->all[i].bases_bytes;
    for (size_t i = begin; i < end; i++)
        words += HEADER_WORDS + WORDS(d->all[i].bases_bytes);
    struct frame *frame = frame_create((1 + words) * WORD);
    if (frame == NULL)
        return NULL;
    uint32_t *to = memset(frame->data, 0, frame->bytes);
    *to++ = (uint32_t)words;
    *to++ = d->over;
    for (size_t i = begin; i < end; before += d->all[i++].bases_bytes) {
        memcpy(to, &d->all[i], sizeof d->all[i]);
        memcpy(to + HEADER_WORDS, d->bases + before, d->all[i].bases_bytes);
        to += HEADER_WORDS + WORDS(d->all[i].bases_bytes);
    }
    return frame;
}

bool descriptions_is_page(const struct frame *frame)
{
    const uint32_t *words = frame->data;
    return frame->bytes >= 2 * WORD && frame->bytes % WORD == 0 &&
           frame->bytes / WORD - 1 == words[0];
}

void descriptions_page_open(struct descriptions_page *page, const uint32_t *words)
{
    *page = (struct descriptions_page){
        .words = words + 2, .count = words[0] - 1, .over = words[1] != 0};
}

bool descriptions_page_next(struct descriptions_page *page, struct description *description,
                            const uint8_t **bases)
{
    if (page->count - page->at < HEADER_WORDS)
        return false;
    memcpy(description, page->words + page->at, sizeof *description);
    page->at += HEADER_WORDS;
    if (page->count - page->at < WORDS((size_t)description->bases_bytes))
        return false;
    *bases = (const uint8_t *)(page->words + page->at);
    page->at += (uint32_t)WORDS((size_t)description->bases_bytes);
    return true;
}

#define RULE(condition, rule) INVARIANT("descriptions", condition, rule)

void descriptions_check(const struct descriptions *descriptions)
{
    const struct descriptions *d = descriptions;
    size_t bytes = 0;
    uint64_t before = 0;
    RULE(!d->over || d->count == 0, "what is over is forgotten");
    RULE(d->bases_bytes <= DESCRIPTIONS_BYTES_MAX, "the memory for bases is bounded");
    for (size_t i = 0; i < d->count; i++) {
        bytes += d->all[i].bases_bytes;
        RULE(d->all[i].number > before && d->all[i].number < d->next,
             "numbers are given in order, and each once");
        before = d->all[i].number;
    }
    RULE(bytes == d->bases_bytes, "every base is of a description");
    for (uint32_t i = 0; i < d->worker_count; i++)
        RULE(d->latest[i].number == 0 || d->latest[i].bases == NULL,
             "a description with a number is whole");
}
