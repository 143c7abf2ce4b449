/* computations.c - two growing arrays, of announcements and their bases, and the last
 * announcement of each worker. */

#include "ps/work/computations.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/invariant.h"
#include "common/job/bases.h"
#include "common/job/partition.h"

static enum status count_chunks(struct computations *c, const struct job *job)
{
    struct partition partition;
    struct error error;
    enum status status =
        partition_make(&partition, job->variables, job->variable_count, job->server_count,
                       job->chunk_bytes, job_borders(job), &error);
    if (status != STATUS_OK)
        return status;
    c->chunk_count = partition.chunk_count;
    partition_free(&partition);
    return STATUS_OK;
}

enum status computations_init(struct computations *computations, const struct job *job,
                              bool records, uint64_t next)
{
    memset(computations, 0, sizeof *computations);
    computations->records = records;
    computations->version_max = job->steps;
    computations->next = next > 0 ? next : 1;
    return records ? count_chunks(computations, job) : STATUS_OK;
}

void computations_free(struct computations *computations)
{
    free(computations->all);
    free(computations->bases);
    free(computations->latest);
    memset(computations, 0, sizeof *computations);
}

static enum status make_room(struct computations *c, size_t bytes)
{
    struct computed *all = array_room(c->all, c->count, &c->capacity, sizeof *all);
    if (all == NULL)
        return STATUS_MEMORY;
    c->all = all;
    if (c->bases_capacity - c->bases_bytes >= bytes)
        return STATUS_OK;
    size_t capacity = 2 * c->bases_capacity + bytes + 1024;
    uint8_t *bases = realloc(c->bases, capacity);
    if (bases == NULL)
        return STATUS_MEMORY;
    c->bases = bases;
    c->bases_capacity = capacity;
    return STATUS_OK;
}

static enum status make_place(struct computations *c, uint32_t worker)
{
    if (worker < c->worker_count)
        return STATUS_OK;
    struct announced *latest = realloc(c->latest, (worker + 1) * sizeof *latest);
    if (latest == NULL)
        return STATUS_MEMORY;
    memset(latest + c->worker_count, 0, (worker + 1 - c->worker_count) * sizeof *latest);
    c->latest = latest;
    c->worker_count = worker + 1;
    return STATUS_OK;
}

/* What is remembered is void. */
static void forget(struct computations *c)
{
    free(c->all);
    free(c->bases);
    c->all = NULL;
    c->bases = NULL;
    c->count = 0;
    c->capacity = c->bases_bytes = c->bases_capacity = 0;
}

static enum status remember(struct computations *c, const struct message *lease, uint64_t clock,
                            const uint8_t *bases, size_t bytes)
{
    if (c->count >= COMPUTATIONS_MAX || c->bases_bytes + bytes > COMPUTATIONS_BASES_MAX) {
        c->over = true;
        forget(c);
    }
    if (c->over)
        return STATUS_OK;
    if (make_room(c, bytes) != STATUS_OK)
        return STATUS_MEMORY;
    memcpy(c->bases + c->bases_bytes, bases, bytes);
    c->bases_bytes += bytes;
    c->all[c->count++] = (struct computed){.number = c->next,
                                           .batch = lease->lease.bases_of,
                                           .clock = clock,
                                           .worker = lease->index,
                                           .bases_bytes = (uint32_t)bytes};
    return STATUS_OK;
}

enum status computations_announce(struct computations *computations, const struct message *lease,
                                  uint64_t clock, const uint8_t *bases, size_t bytes)
{
    struct computations *c = computations;
    if (make_place(c, lease->index) != STATUS_OK)
        return STATUS_MEMORY;
    struct announced *latest = &c->latest[lease->index];
    bool same_process = latest->ticket == lease->ticket;
    if (same_process && latest->request == lease->request)
        return STATUS_OK;
    if (same_process && latest->request > lease->request)
        return STATUS_AGAIN;
    if (!bases_decode(bases, bytes, c->version_max, NULL, c->chunk_count))
        return STATUS_INVALID;
    if (remember(c, lease, clock, bases, bytes) != STATUS_OK)
        return STATUS_MEMORY;
    *latest = (struct announced){lease->ticket, lease->request, c->next++};
    return STATUS_OK;
}

uint64_t computations_answer(const struct computations *computations, uint32_t worker,
                             uint64_t ticket, uint64_t request)
{
    if (worker >= computations->worker_count)
        return 0;
    const struct announced *latest = &computations->latest[worker];
    return latest->ticket == ticket && latest->request == request ? latest->number : 0;
}

enum status computations_gone(struct computations *computations, uint32_t worker)
{
    struct computations *c = computations;
    if (!c->records || c->over)
        return STATUS_OK;
    if (make_room(c, 0) != STATUS_OK)
        return STATUS_MEMORY;
    c->all[c->count++] = (struct computed){.worker = worker};
    return STATUS_OK;
}

void computations_go_back(struct computations *computations)
{
    computations->count = 0;
    computations->bases_bytes = 0;
    computations->over = false;
    if (computations->worker_count > 0)
        memset(computations->latest, 0, computations->worker_count * sizeof *computations->latest);
}

struct computations_mark computations_mark(const struct computations *computations)
{
    return (struct computations_mark){computations->next, computations->count,
                                      computations->bases_bytes};
}

struct frame *computations_pack(const struct computations *computations)
{
    const struct computations *c = computations;
    const struct computations_list list = {c->count, (uint32_t)c->bases_bytes};
    size_t all = c->count * sizeof *c->all;
    struct frame *frame = frame_create(sizeof list + all + c->bases_bytes);
    if (frame == NULL)
        return NULL;
    char *to = frame->data;
    memcpy(to, &list, sizeof list);
    if (c->count > 0)
        memcpy(to + sizeof list, c->all, all);
    if (c->bases_bytes > 0)
        memcpy(to + sizeof list + all, c->bases, c->bases_bytes);
    return frame;
}

void computations_drop(struct computations *computations, struct computations_mark before)
{
    struct computations *c = computations;
    if (c->over)
        return;
    c->count -= before.count;
    c->bases_bytes -= before.bases_bytes;
    if (c->count > 0)
        memmove(c->all, c->all + before.count, c->count * sizeof *c->all);
    if (c->bases_bytes > 0)
        memmove(c->bases, c->bases + before.bases_bytes, c->bases_bytes);
}

#define RULE(condition, rule) INVARIANT("computations", condition, rule)

void computations_check(const struct computations *computations)
{
    const struct computations *c = computations;
    size_t bytes = 0;
    uint64_t before = 0;
    RULE(c->next > 0, "numbers begin at 1");
    RULE(c->records || c->count == 0, "without a record nothing is announced");
    RULE(!c->over || (c->count == 0 && c->bases_bytes == 0), "what is over is forgotten");
    RULE(c->bases_bytes <= COMPUTATIONS_BASES_MAX, "the memory for bases is bounded");
    for (uint32_t i = 0; i < c->count; i++) {
        bytes += c->all[i].bases_bytes;
        if (c->all[i].number == 0)
            continue;
        RULE(c->all[i].number > before && c->all[i].number < c->next,
             "numbers are given in order, and each once");
        before = c->all[i].number;
    }
    RULE(bytes == c->bases_bytes, "every base is of a computation");
    for (uint32_t i = 0; i < c->worker_count; i++)
        RULE(c->latest[i].number < c->next, "a worker knows only numbers that were given");
}
