/* made_trace.c - spans by rule. */

#include "tests/lib/traces/made_trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/array.h"

void made_trace_add(struct made_trace *trace, const struct span *span)
{
    trace->list = array_room(trace->list, trace->count, &trace->capacity, sizeof *trace->list);
    assert(trace->list != NULL);
    trace->list[trace->count++] = *span;
}

void made_trace_free(struct made_trace *trace)
{
    free(trace->list);
    *trace = (struct made_trace){.list = NULL};
}

/* --- steps ------------------------------------------------------------------------------------- */

/* From and to in milliseconds of the step. */
static struct span at(struct span span, uint64_t step, double from_ms, double to_ms)
{
    uint64_t base_ns = 1000 * MADE_MS + step * 100 * MADE_MS;
    span.step = step;
    span.from_ns = base_ns + (uint64_t)(1e6 * from_ms);
    span.to_ns = base_ns + (uint64_t)(1e6 * to_ms);
    return span;
}

static struct span message(struct span span, uint32_t worker, uint64_t step, enum message_kind what)
{
    bool server = span.role == ROLE_PS;
    span.what = (uint8_t)what;
    span.other_role = server ? ROLE_WORKER : ROLE_PS;
    span.other = server ? worker : 0;
    span.request = 1 + step;
    span.first = 0;
    return span;
}

static void put(struct made_trace *trace, struct span span, uint64_t step, double from_ms,
                double to_ms)
{
    span = at(span, step, from_ms, to_ms);
    made_trace_add(trace, &span);
}

static void worker_step(struct made_trace *trace, uint32_t worker, uint32_t last, uint64_t step)
{
    double computed = worker == last ? 30 : 10 + worker;
    struct span compute = span_of(ROLE_WORKER, worker, LANE_TRAINER, SPAN_COMPUTE);
    struct span exchange = span_of(ROLE_WORKER, worker, LANE_SESSION, SPAN_EXCHANGE);
    struct span wait = span_of(ROLE_WORKER, worker, LANE_SESSION, SPAN_WAIT);
    struct span send = span_of(ROLE_WORKER, worker, LANE_FRONT, SPAN_SEND);
    struct span take = span_of(ROLE_WORKER, worker, LANE_FRONT, SPAN_TAKE);
    compute.first = worker;
    compute.count = 1;
    wait.what = WAIT_BARRIER;
    wait.other_role = ROLE_WORKER;
    wait.other = last;
    put(trace, compute, step, 0, computed);
    put(trace, message(send, worker, step, MESSAGE_EXCHANGE), step, computed, computed + 0.1);
    if (worker == last) {
        put(trace, exchange, step, computed, 40);
    } else {
        put(trace, exchange, step, computed, computed + 2);
        put(trace, wait, step, computed + 2, 31);
        put(trace, exchange, step, 31, 40);
    }
    put(trace, message(take, worker, step, MESSAGE_RESULT), step, 39, 40);
}

/* Each message half a millisecond on its way. */
static void server_step(struct made_trace *trace, uint32_t workers, uint64_t step)
{
    for (uint32_t worker = 0; worker < workers; worker++) {
        double heard = worker + 1 == workers ? 30.5 : 10.5 + worker;
        struct span take = span_of(ROLE_PS, 0, LANE_FRONT, SPAN_TAKE);
        struct span apply = span_of(ROLE_PS, 0, LANE_FRONT, SPAN_APPLY);
        apply = message(apply, worker, step, MESSAGE_NONE);
        apply.what = 0;
        put(trace, apply, step, heard + 0.1, heard + 0.4);
        put(trace, message(take, worker, step, MESSAGE_EXCHANGE), step, heard, heard + 0.5);
    }
    for (uint32_t worker = 0; worker < workers; worker++) {
        struct span send = span_of(ROLE_PS, 0, LANE_FRONT, SPAN_SEND);
        double said = 38.5 - 0.01 * (workers - worker);
        put(trace, message(send, worker, step, MESSAGE_RESULT), step, said, said + 0.005);
    }
}

void made_trace_steps(struct made_trace *trace, uint32_t workers, uint64_t first, uint64_t count)
{
    for (uint64_t step = first; step < first + count; step++) {
        server_step(trace, workers, step);
        for (uint32_t worker = 0; worker < workers; worker++) {
            struct span whole = span_of(ROLE_WORKER, worker, LANE_STEPS, SPAN_STEP);
            worker_step(trace, worker, workers - 1, step);
            put(trace, whole, step, 0, 99);
        }
    }
}

/* --- files ------------------------------------------------------------------------------------- */

static int new_file(void)
{
    int file = memfd_create("trace", MFD_CLOEXEC);
    assert(file >= 0);
    return file;
}

static void write_region(int file, struct region region, const struct span *list, size_t count)
{
    struct segment segment = {.from_ns = UINT64_MAX};
    struct error error;
    region.slots = (uint32_t)(count / SEGMENT_SPANS + 1);
    assert(span_file_claim(file, &region, &error) == STATUS_OK);
    for (size_t i = 0, first = 0; i < count; i++) {
        segment.from_ns = list[i].from_ns < segment.from_ns ? list[i].from_ns : segment.from_ns;
        segment.to_ns = list[i].to_ns > segment.to_ns ? list[i].to_ns : segment.to_ns;
        if (++segment.count < SEGMENT_SPANS && i + 1 < count)
            continue;
        assert(span_file_put(file, &region, &segment, 0, list + first, &error) == STATUS_OK);
        segment = (struct segment){
            .slot = segment.slot + 1, .sequence = segment.sequence + 1, .from_ns = UINT64_MAX};
        first = i + 1;
    }
}

int made_trace_file(const struct made_trace *trace, uint64_t host)
{
    int file = new_file();
    write_region(file, (struct region){.host = host}, trace->list, trace->count);
    return file;
}

struct span made_trace_moved(const struct span *span, int64_t ahead_ns, double drift_ppm)
{
    struct span moved = *span;
    moved.from_ns += (uint64_t)(ahead_ns + (int64_t)(1e-6 * drift_ppm * (double)span->from_ns));
    moved.to_ns += (uint64_t)(ahead_ns + (int64_t)(1e-6 * drift_ppm * (double)span->to_ns));
    return moved;
}

int made_trace_hosts(const struct made_trace *trace, enum role role, int64_t ahead_ns,
                     double drift_ppm)
{
    int file = new_file();
    struct span *list = calloc(trace->count + 1, sizeof *list);
    assert(list != NULL);
    for (int turn = 0; turn < 2; turn++) {
        size_t count = 0;
        for (size_t i = 0; i < trace->count; i++) {
            struct span span = trace->list[i];
            bool moved = span.role == role;
            if (moved != (turn == 1))
                continue;
            if (moved)
                span = made_trace_moved(&span, ahead_ns, drift_ppm);
            list[count++] = span;
        }
        write_region(file, (struct region){.host = 1 + (uint64_t)turn}, list, count);
    }
    free(list);
    return file;
}
