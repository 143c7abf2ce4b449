/* tracing.c - a span for each piece of work. */

#include "deploy/simulate/tracing.h"

#include "common/wire/message.h"
#include "deploy/engine/engine.h"

static enum role role_of(const struct simulated_process *process)
{
    return process->is_server ? ROLE_PS : ROLE_WORKER;
}

static void note_other(const struct tracing *t, struct span *span, uint32_t number)
{
    if (number >= t->engine->process_count || t->engine->processes[number]->is_scripted_client)
        return;
    const struct simulated_process *other = t->engine->processes[number];
    span->other_role = (uint8_t)role_of(other);
    span->other = other->index;
}

static void note_taken(const struct tracing *t, struct span *span, const struct parcel *parcel)
{
    struct message message;
    struct error error;
    span->kind = SPAN_TAKE;
    note_other(t, span, parcel->from);
    if (message_decode(parcel->header, parcel->header_bytes, &message, &error) == STATUS_OK)
        span_about(span, &message);
}

static void note_sent(const struct tracing *t, struct span *span, const struct outgoing *item)
{
    span->kind = SPAN_SEND;
    span_about(span, &item->packet.message);
    if (item->to != TO_SERVER) {
        note_other(t, span, simulated_network_client(&t->engine->network, item->packet.peer));
        return;
    }
    span->other_role = ROLE_PS;
    span->other = item->index;
}

static void note_applied(struct span *span, const struct outgoing *item, uint32_t thread)
{
    span_about(span, &item->packet.message);
    span->kind = SPAN_APPLY;
    span->what = 0;
    span->other_role = ROLE_WORKER;
    span->other = item->packet.message.index;
    if (thread >= THREAD_OWNERS)
        span->lane = (uint8_t)(LANE_OWNERS + thread - THREAD_OWNERS);
}

/* Its finished work is still the current item. */
static void note_computed(struct span *span, const struct trainer *trainer)
{
    const struct trainer_work *work = &trainer->work;
    bool scores = work->shares > 0;
    span->lane = LANE_TRAINER;
    span->kind = scores ? SPAN_SCORE : SPAN_COMPUTE;
    span->step = work->step;
    if (scores)
        return;
    span->first = work->nodes[trainer->node_next].first_leaf;
    span->count = work->nodes[trainer->node_next].leaf_count;
}

void tracing_worked(const struct tracing *tracing, const struct simulated_process *process,
                    const struct labour_done *done)
{
    struct span span = span_of(role_of(process), process->index, LANE_FRONT, SPAN_TAKE);
    if (tracing->recorder == NULL || process->is_scripted_client)
        return;
    span.to_ns = tracing->engine->now_ns;
    span.from_ns = span.to_ns - done->took_ns;
    if (done->labour == LABOUR_RECEIVE)
        note_taken(tracing, &span, done->parcel);
    else if (done->labour == LABOUR_SEND)
        note_sent(tracing, &span, done->item);
    else if (done->labour == LABOUR_APPLY)
        note_applied(&span, done->item, done->thread);
    else
        note_computed(&span, &process->worker.trainer);
    recorder_span(tracing->recorder, &span);
}
