/* critical.c - searches the spans of a step for each part, latest first. */

#include "deploy/trace/critical.h"

#define NOWHERE SIZE_MAX

struct search {
    const struct spans *spans;
    const struct trace_step *step;
    struct critical path;
};

typedef bool fits_fn(const struct search *search, const struct span *span);

static const struct span *part_of(const struct search *search, enum critical_part part)
{
    size_t at = search->path.parts[part];
    return at != NOWHERE ? &search->spans->list[at] : NULL;
}

/* The one that ended last, of those of the step's time that fit. */
static const struct span *find(struct search *search, enum critical_part part, fits_fn *fits)
{
    const struct spans *spans = search->spans;
    size_t found = NOWHERE;
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->list[i];
        if (span->from_ns > search->step->to_ns)
            break;
        if (spans_in(search->step, span) && fits(search, span) &&
            (found == NOWHERE || span->to_ns >= spans->list[found].to_ns))
            found = i;
    }
    search->path.parts[part] = found;
    search->path.count += found != NOWHERE;
    return part_of(search, part);
}

static bool is_message(const struct span *span, enum role role, enum span_kind kind,
                       enum message_kind what)
{
    return span->role == role && span->kind == kind && span->what == what;
}

static bool is_answer(const struct span *message, const struct span *span)
{
    return span->request == message->request && span->first == message->first &&
           span->other == message->index && span->index == message->other;
}

/* --- its parts, from the last to the first ---------------------------------------------------- */

static bool is_taken(const struct search *search, const struct span *span)
{
    bool by_it = search->step->workers > 1 || span->index == search->step->worker;
    return by_it && is_message(span, ROLE_WORKER, SPAN_TAKE, MESSAGE_RESULT) &&
           span->from_ns >= search->step->from_ns && span->from_ns < search->step->to_ns;
}

static bool is_release(const struct search *search, const struct span *span)
{
    const struct span *taken = part_of(search, CRITICAL_TAKEN);
    return is_message(span, ROLE_PS, SPAN_SEND, MESSAGE_RESULT) && is_answer(taken, span) &&
           span->from_ns <= taken->from_ns;
}

/* Of a step of several the last gradient that was applied before; of a batch its own, whatever
 * others' were applied before the answer was sent. */
static bool is_apply(const struct search *search, const struct span *span)
{
    const struct span *release = part_of(search, CRITICAL_RELEASE);
    bool own = span->other == release->other && span->request == release->request;
    return span->kind == SPAN_APPLY && span_is_of(span, ROLE_PS, release->index) &&
           span->first == release->first && span->to_ns <= release->from_ns &&
           (own || search->step->workers > 1);
}

static bool is_heard(const struct search *search, const struct span *span)
{
    const struct span *apply = part_of(search, CRITICAL_APPLY);
    return is_message(span, ROLE_PS, SPAN_TAKE, MESSAGE_EXCHANGE) && span->index == apply->index &&
           span->request == apply->request && span->other == apply->other &&
           span->first == apply->first && span->from_ns <= apply->from_ns;
}

static bool is_push(const struct search *search, const struct span *span)
{
    const struct span *heard = part_of(search, CRITICAL_HEARD);
    return is_message(span, ROLE_WORKER, SPAN_SEND, MESSAGE_EXCHANGE) && is_answer(heard, span) &&
           span->from_ns <= heard->from_ns;
}

static bool is_compute(const struct search *search, const struct span *span)
{
    const struct span *push = part_of(search, CRITICAL_PUSH);
    return span->kind == SPAN_COMPUTE && span_is_of(span, ROLE_WORKER, push->index) &&
           span->step == push->step && span->to_ns <= push->from_ns;
}

struct critical critical_of(const struct spans *spans, const struct trace_step *step)
{
    static const struct {
        enum critical_part part;
        fits_fn *fits;
    } parts[] = {{CRITICAL_TAKEN, is_taken}, {CRITICAL_RELEASE, is_release},
                 {CRITICAL_APPLY, is_apply}, {CRITICAL_HEARD, is_heard},
                 {CRITICAL_PUSH, is_push},   {CRITICAL_COMPUTE, is_compute}};
    struct search search = {.spans = spans, .step = step};
    for (size_t i = 0; i < CRITICAL_PARTS; i++)
        search.path.parts[i] = NOWHERE;
    for (size_t i = 0; i < CRITICAL_PARTS; i++)
        if (find(&search, parts[i].part, parts[i].fits) == NULL)
            break;
    return search.path;
}
