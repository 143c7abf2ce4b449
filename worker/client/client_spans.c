/* client_spans.c - a span for each thing that the client does. */

#include "worker/client/client_spans.h"

static void put(const struct client_spans *spans, struct span *span, uint64_t from_ns,
                uint64_t to_ns)
{
    span->from_ns = from_ns < to_ns ? from_ns : to_ns;
    span->to_ns = to_ns;
    recorder_span(spans->recorder, span);
}

static void note_time_spent(void *context, const struct time_spent *time_spent)
{
    const struct client_spans *spans = context;
    struct span span = span_of(ROLE_WORKER, spans->worker, LANE_SESSION,
                               time_spent->waits ? SPAN_WAIT : SPAN_EXCHANGE);
    span.step = time_spent->step;
    span.what = (uint8_t)time_spent->what;
    if (time_spent->whom > 0) {
        span.other_role = ROLE_WORKER;
        span.other = time_spent->whom - 1;
    }
    put(spans, &span, 1000 * time_spent->from_us, 1000 * time_spent->to_us);
}

struct time_spent_listener client_spans_listener(struct client_spans *spans)
{
    return (struct time_spent_listener){spans, spans->recorder != NULL ? note_time_spent : NULL};
}

void client_spans_message(const struct client_spans *spans, enum span_kind kind, uint32_t server,
                          const struct message *message, uint64_t from_ns)
{
    if (spans->recorder == NULL)
        return;
    struct span span = span_of(ROLE_WORKER, spans->worker, LANE_FRONT, kind);
    span_about(&span, message);
    span.other_role = ROLE_PS;
    span.other = server;
    put(spans, &span, from_ns, recorder_now(spans->recorder));
}

/* An activity of so many microseconds, as the trainer measured it, which ended just now. */
static void end_now(const struct client_spans *spans, struct span *span, uint64_t took_us)
{
    uint64_t now_ns = recorder_now(spans->recorder);
    put(spans, span, now_ns - 1000 * took_us, now_ns);
}

void client_spans_gradient(const struct client_spans *spans, const struct push *push)
{
    if (spans->recorder == NULL)
        return;
    struct span span = span_of(ROLE_WORKER, spans->worker, LANE_TRAINER, SPAN_COMPUTE);
    span.step = push->step;
    span.first = push->node.first_leaf;
    span.count = push->node.leaf_count;
    end_now(spans, &span, push->compute_us - push->early_us);
}

void client_spans_score(const struct client_spans *spans, const struct work *work, uint64_t took_us)
{
    if (spans->recorder == NULL)
        return;
    struct span span = span_of(ROLE_WORKER, spans->worker, LANE_TRAINER, SPAN_SCORE);
    span.step = work->step;
    end_now(spans, &span, took_us);
}
