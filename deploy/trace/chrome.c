/* chrome.c - writes event by event; to find the size a counter replaces the file. */

#include "deploy/trace/chrome.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "common/options/options.h"
#include "deploy/trace/critical.h"
#include "deploy/trace/lanes.h"

#define STEPS_PROCESS 1u /* Their own, above all. */
#define EVENT_MAX     400

struct writer {
    FILE *out;
    const struct spans *spans;
    const struct chrome_about *about;
    const struct lanes *lanes;
    uint64_t bytes;
    bool any; /* An event is there already. */
};

/* --- text ------------------------------------------------------------------------------------- */

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int count = w->out != NULL ? vfprintf(w->out, format, list) : vsnprintf(NULL, 0, format, list);
    va_end(list);
    w->bytes += count > 0 ? (uint64_t)count : 0;
}

static void begin_event(struct writer *w)
{
    put(w, w->any ? ",\n" : "\n");
    w->any = true;
}

/* Microseconds, with a nanosecond's place. */
struct micro {
    char text[32];
};

static struct micro micro_of(uint64_t ns)
{
    struct micro micro;
    snprintf(micro.text, sizeof micro.text, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    return micro;
}

static struct micro since_origin(const struct writer *w, uint64_t ns)
{
    return micro_of(ns - w->spans->origin_ns);
}

/* Workers stand above the servers they speak to. */
static unsigned process_number(const struct writer *w, enum role role, uint32_t index)
{
    return 2 + (unsigned)spans_place(w->spans, role, index);
}

/* Messages may be left out. */
static bool shows(const struct chrome_about *about, const struct span *span)
{
    bool message = span->kind == SPAN_SEND || span->kind == SPAN_TAKE;
    return !about->without_messages || !message;
}

/* --- processes -------------------------------------------------------------------------------- */

static void name_process(struct writer *w, unsigned process, const char *name, size_t place)
{
    begin_event(w);
    put(w,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,\"args\":{\"name\":\"%s\"}}",
        process, name);
    begin_event(w);
    put(w,
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"tid\":0,"
        "\"args\":{\"sort_index\":%zu}}",
        process, place);
}

static void name_thread(struct writer *w, unsigned process, size_t row, const char *name)
{
    begin_event(w);
    put(w,
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%zu,"
        "\"args\":{\"name\":\"%s\"}}",
        process, row, name);
    begin_event(w);
    put(w,
        "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,\"tid\":%zu,"
        "\"args\":{\"sort_index\":%zu}}",
        process, row, row);
}

static void name_all(struct writer *w)
{
    const struct spans *spans = w->spans;
    name_process(w, STEPS_PROCESS, "steps that are shown", 0);
    name_thread(w, STEPS_PROCESS, 1, "steps");
    for (size_t i = 0; i < spans->place_count; i++) {
        const struct trace_place *place = &spans->places[i];
        char name[40];
        bool worker = place->role == ROLE_WORKER;
        snprintf(name, sizeof name, "%s/%u", role_name(place->role), place->index);
        name_process(w, process_number(w, place->role, place->index), name,
                     1 + (worker ? i : i + spans->place_count));
    }
    for (size_t i = 0; i < w->lanes->row_count; i++) {
        const struct row *row = &w->lanes->rows[i];
        struct span_name name = span_lane_name(row->role, row->lane);
        char text[80];
        snprintf(text, sizeof text, row->depth > 0 ? "%s (%u)" : "%s", name.text, row->depth + 1);
        name_thread(w, process_number(w, row->role, row->index), i + 1, text);
    }
}

/* --- spans ------------------------------------------------------------------------------------ */

static void put_other(struct writer *w, const struct span *span, const char *as)
{
    if (span->other != SPAN_NO_PEER && span->other_role != ROLE_NONE)
        put(w, ",\"%s\":\"%s/%u\"", as, role_name((enum role)span->other_role), span->other);
}

static void put_arguments(struct writer *w, const struct span *span)
{
    bool result =
        (span->kind == SPAN_SEND || span->kind == SPAN_TAKE) && span->what == MESSAGE_RESULT;
    put(w, "\"args\":{\"%s\":%" PRIu64, result ? "version" : "step", span->step);
    switch ((enum span_kind)span->kind) {
    case SPAN_COMPUTE:
        put(w, ",\"leaves\":\"%u to %u\"", span->first, span->first + span->count - 1);
        break;
    case SPAN_WAIT:
        put_other(w, span, "for");
        break;
    case SPAN_SEND:
        put_other(w, span, "to");
        break;
    case SPAN_TAKE:
        put_other(w, span, "from");
        break;
    case SPAN_APPLY:
        put_other(w, span, "of");
        break;
    default:
        break;
    }
    if (span->kind != SPAN_COMPUTE && span->first != SPAN_NO_PEER)
        put(w, ",\"chunk\":%u", span->first);
    put(w, "}}");
}

/* "step 17", "waits (barrier) for worker/3" */
static void put_name(struct writer *w, const struct span *span)
{
    put(w, "\"name\":\"%s", span_name(span).text);
    if (span->kind == SPAN_STEP)
        put(w, " %" PRIu64, span->step);
    if (span->kind == SPAN_WAIT && span->other != SPAN_NO_PEER)
        put(w, " for worker/%u", span->other);
    put(w, "\",");
}

static void put_span(struct writer *w, size_t at)
{
    static const char *const categories[SPAN_KIND_COUNT] = {
        "step", "compute", "score", "exchange", "wait", "message", "message", "apply", "disk"};
    const struct span *span = &w->spans->list[at];
    begin_event(w);
    put(w, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%s,\"dur\":%s,",
        process_number(w, (enum role)span->role, span->index), w->lanes->row_of[at] + 1,
        since_origin(w, span->from_ns).text, micro_of(span->to_ns - span->from_ns).text);
    put_name(w, span);
    put(w, "\"cat\":\"%s\",", categories[span->kind]);
    put_arguments(w, span);
}

/* --- steps, and their critical paths ---------------------------------------------------------- */

/* Steps of async overlap; a row for each would be no help: they are shown where they do not. */
static void put_step(struct writer *w, const struct trace_step *step, uint64_t *until_ns)
{
    const char *reason = step_reason_name(step->reason);
    if (step->from_ns < *until_ns)
        return;
    *until_ns = step->to_ns;
    begin_event(w);
    put(w,
        "{\"ph\":\"X\",\"pid\":%u,\"tid\":1,\"ts\":%s,\"dur\":%s,\"name\":\"step %" PRIu64
        "%s%s%s\",\"cat\":\"step\",\"args\":{\"step\":%" PRIu64 ",\"workers\":%u}}",
        STEPS_PROCESS, since_origin(w, step->from_ns).text,
        micro_of(step->to_ns - step->from_ns).text, step->step, *reason != '\0' ? " (" : "", reason,
        *reason != '\0' ? ")" : "", step->step, step->workers);
}

/* At the start of a span, where no nested span has begun; for a computation at its end. */
static void put_flow(struct writer *w, size_t at, const char *phase, size_t id)
{
    const struct span *span = &w->spans->list[at];
    begin_event(w);
    put(w,
        "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%s,\"id\":%zu,\"name\":\"critical path\","
        "\"cat\":\"critical\",\"bp\":\"e\"}",
        phase, process_number(w, (enum role)span->role, span->index), w->lanes->row_of[at] + 1,
        since_origin(w, span->kind == SPAN_COMPUTE && span->to_ns > span->from_ns ? span->to_ns - 1
                                                                                  : span->from_ns)
            .text,
        id);
}

static void put_path(struct writer *w, const struct trace_step *step, size_t id)
{
    struct critical path = critical_of(w->spans, step);
    size_t shown[CRITICAL_PARTS], count = 0;
    for (size_t i = 0; i < CRITICAL_PARTS; i++)
        if (path.parts[i] != SIZE_MAX && shows(w->about, &w->spans->list[path.parts[i]]))
            shown[count++] = path.parts[i];
    for (size_t i = 0; i < count && count > 1; i++)
        put_flow(w, shown[i], i == 0 ? "s" : i + 1 < count ? "t" : "f", id);
}

/* --- metadata --------------------------------------------------------------------------------- */

static void put_time(struct writer *w, uint64_t unix_ns)
{
    char text[40];
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm calendar;
    if (unix_ns == 0 || gmtime_r(&seconds, &calendar) == NULL)
        return;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &calendar);
    put(w, "\"began\":\"%s.%06uZ\",\n", text, (unsigned)(unix_ns / 1000 % 1000000));
}

static void put_host(struct writer *w, size_t number)
{
    const struct trace_host *host = &w->spans->hosts[number];
    bool any = false;
    put(w, "%s\n{\"processes\":\"", number > 0 ? "," : "");
    for (size_t i = 0; i < w->spans->place_count; i++) {
        const struct trace_place *place = &w->spans->places[i];
        if (place->host != number)
            continue;
        put(w, "%s%s/%u", any ? ", " : "", role_name(place->role), place->index);
        any = true;
    }
    put(w, "\",\"clock_ahead_us\":%.3f,", 1e-3 * (double)host->ahead_ns);
    if (host->known)
        put(w, "\"clock_error_us\":%s}", micro_of(host->error_ns).text);
    else
        put(w, "\"clock_error_us\":null}");
}

static void put_about(struct writer *w)
{
    const struct spans *spans = w->spans;
    size_t shown = 0;
    for (size_t i = 0; i < spans->step_count; i++)
        shown += spans->steps[i].reason != STEP_NOT_SHOWN;
    put(w, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\n\"program\":\"syncopate %s\",\n",
        SYNCOPATE_VERSION);
    put(w, "\"clock\":\"%s\",\n", spans->virtual_time ? "virtual" : "monotonic");
    put_time(w, spans->origin_unix_ns);
    put(w,
        "\"steps_shown\":%zu,\"steps_asked_for\":%u,\"bytes_most\":%" PRIu64
        ",\"messages_shown\":%s,\"damaged_segments\":%" PRIu64 ",\n\"hosts\":[",
        shown, w->about->asked, w->about->bytes_max, w->about->without_messages ? "false" : "true",
        spans->damaged);
    for (size_t i = 0; i < spans->host_count; i++)
        put_host(w, i);
    put(w, "]},\n\"traceEvents\":[");
}

enum status chrome_write(FILE *out, const struct spans *spans, const struct chrome_about *about,
                         uint64_t *bytes)
{
    struct lanes lanes;
    struct writer w = {.out = out, .spans = spans, .about = about, .lanes = &lanes};
    uint64_t until_ns = 0;
    if (lanes_make(&lanes, spans) != STATUS_OK)
        return STATUS_MEMORY;
    put_about(&w);
    name_all(&w);
    for (size_t i = 0; i < spans->step_count; i++) {
        if (spans->steps[i].reason == STEP_NOT_SHOWN)
            continue;
        put_step(&w, &spans->steps[i], &until_ns);
        put_path(&w, &spans->steps[i], i + 1);
    }
    for (size_t i = 0; i < spans->count; i++)
        if (shows(about, &spans->list[i]))
            put_span(&w, i);
    put(&w, "\n]}\n");
    lanes_free(&lanes);
    *bytes = w.bytes;
    return out != NULL && ferror(out) ? STATUS_IO : STATUS_OK;
}
