/* record_staleness OUT FROM - the staleness of a run, counted from its record alone: how old each gradient
 * was in each chunk that had it, what was renewed, and what the two have to sum up to
 * (common/job/staleness.h), each by its own definition and nothing of the owners' books. Of runs in
 * which every gradient makes an update; from batch FROM on, where a generation begins. Prints: count N sum N max N renewed N expected N. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file/disk.h"
#include "common/store/run_record.h"

#define WORKERS_MAX 16

struct figures {
    uint64_t count, sum, max, renewed, expected;
};

/* A generation of one segment: what every worker's last gradient has made of every chunk. */
struct generation {
    uint32_t chunks;
    uint64_t first, last;          /* Versions that it began with and has come to. */
    uint64_t (*left)[WORKERS_MAX]; /* [chunks] */
};

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "record_staleness: %s\n", why);
    exit(1);
}

/* "U (W - 1) - sum over workers of the updates after its last one", in every chunk. */
static void end_generation(struct generation *g, struct figures *figures)
{
    uint64_t updates = g->last - g->first;
    for (uint32_t chunk = 0; chunk < g->chunks && updates > 0; chunk++) {
        uint64_t after = 0;
        for (uint32_t worker = 0; worker < WORKERS_MAX; worker++)
            after += g->last - g->left[chunk][worker];
        figures->expected += updates * (WORKERS_MAX - 1) - after;
    }
}

static void begin_generation(struct generation *g, uint64_t version)
{
    g->first = g->last = version;
    for (uint32_t chunk = 0; chunk < g->chunks; chunk++)
        for (uint32_t worker = 0; worker < WORKERS_MAX; worker++)
            g->left[chunk][worker] = version;
}

/* A gradient that a chunk has had, as its update of this version. */
static void count(struct generation *g, uint32_t chunk, uint64_t version,
                  const struct run_record_computation *computation, struct figures *figures)
{
    if (computation->worker >= WORKERS_MAX)
        fail("there are too many workers");
    uint64_t *left = &g->left[chunk][computation->worker];
    uint64_t base = computation->bases[chunk], staleness = version - base;
    if (base > version || base < *left)
        fail("a gradient is older than the one before, or made from what is not there yet");
    figures->count++;
    figures->sum += staleness;
    figures->max = staleness > figures->max ? staleness : figures->max;
    figures->renewed += base - *left;
    *left = version + 1;
}

static void take_stretch(struct generation *g, const struct run_record_stretch *s,
                         struct figures *figures)
{
    uint64_t batches = s->to.batches - s->from.batches;
    if (s->begins) {
        end_generation(g, figures);
        begin_generation(g, s->from.version);
    }
    for (uint32_t chunk = 0; chunk < g->chunks; chunk++)
        for (uint64_t i = 0; i < batches; i++) {
            const struct run_record_place *place = &s->places[chunk * batches + i];
            if (!place->closes)
                fail("a gradient makes no update");
            count(g, chunk, s->from.version + i, &s->computations[place->computation], figures);
        }
    g->last = s->to.version;
}

static void take_segment(const char *path, uint64_t from, struct figures *figures)
{
    struct run_record_reader reader = {.count = 0};
    struct generation g = {.first = 0};
    struct error error;
    void *bytes;
    size_t size;
    if (disk_posix.read_file(disk_posix.context, path, RUN_RECORD_BYTES_MAX, &bytes, &size,
                             &error) != STATUS_OK ||
        run_record_reader_open(&reader, path, bytes, size, &error) != STATUS_OK)
        fail(error.text);
    g.chunks = reader.segment.chunk_count;
    g.left = calloc(g.chunks, sizeof *g.left);
    if (g.left == NULL)
        fail("out of memory");
    begin_generation(&g, reader.segment.version);
    enum status status;
    while ((status = run_record_reader_next(&reader, &error)) == STATUS_OK)
        if (reader.stretch.from.batches >= from)
            take_stretch(&g, &reader.stretch, figures);
    if (status != STATUS_NOT_FOUND)
        fail(error.text);
    end_generation(&g, figures);
    run_record_reader_close(&reader);
    free(g.left);
    free(bytes);
}

int main(int argc, char **argv)
{
    struct figures figures = {.count = 0};
    char path[DISK_PATH_MAX];
    if (argc != 3)
        return 2;
    for (uint64_t session = 1; session <= RUN_RECORD_SESSIONS_MAX; session++) {
        run_record_path(path, argv[1], session);
        if (disk_posix.look(disk_posix.context, path) != DISK_FILE)
            break;
        take_segment(path, strtoull(argv[2], NULL, 10), &figures);
    }
    printf("count %" PRIu64 " sum %" PRIu64 " max %" PRIu64 " renewed %" PRIu64 " expected %" PRIu64
           "\n",
           figures.count, figures.sum, figures.max, figures.renewed, figures.expected);
    return 0;
}
