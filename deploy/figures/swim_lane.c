/* swim_lane.c - chooses the lanes, draws the spans of each, and joins spans that are too narrow to
 * distinguish. */

#include "deploy/figures/swim_lane.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/wording.h"
#include "deploy/trace/critical.h"

#define LANES_MAX   24
#define WORKERS_MAX 14 /* Of more some are shown. */
#define SERVERS_MAX 4
#define LANE_HEIGHT 18.0
#define LANE_PITCH  25.0
#define NEAR        0.6 /* Pixels: closer edges count as one. */
#define SMALL       (PLOT_SMALL / PLOT_LABEL)

/* A row of the picture. */
struct lane {
    enum role role;
    uint32_t index;
    double y;
};

struct picture {
    struct svg svg;
    struct axis axis;
    const struct spans *spans;
    const struct trace_step *step;
    const struct canvas *canvas;
    struct lane lanes[LANES_MAX];
    size_t count;
    size_t workers; /* All of the step's, shown or not. */
};

/* --- kinds ------------------------------------------------------------------------------------ */

enum look {
    LOOK_COMPUTE,
    LOOK_EXCHANGE,
    LOOK_WAIT,
    LOOK_SCORE,
    LOOK_MESSAGE,
    LOOK_APPLY,
    LOOK_DISK,
    LOOKS
};

static const struct {
    const char *style, *label, *verb;
} looks[LOOKS] = {
    [LOOK_COMPUTE] = {"bar t0", "computes", "computes"},
    [LOOK_EXCHANGE] = {"bar t1", "exchanges", "exchanges"},
    [LOOK_WAIT] = {"bar wait", "waits", "waits"},
    [LOOK_SCORE] = {"bar t3", "scores", "scores"},
    [LOOK_MESSAGE] = {"bar c1", "messages", "takes or sends"},
    [LOOK_APPLY] = {"bar c0", "applies", "applies"},
    [LOOK_DISK] = {"bar t4", "writes", "writes"},
};

/* How a span is drawn in a lane; LOOKS: not at all. */
static enum look look_of(const struct lane *lane, const struct span *span)
{
    if (!span_is_of(span, lane->role, lane->index))
        return LOOKS;
    switch ((enum span_kind)span->kind) {
    case SPAN_COMPUTE:
        return LOOK_COMPUTE;
    case SPAN_EXCHANGE:
        return LOOK_EXCHANGE;
    case SPAN_WAIT:
        return LOOK_WAIT;
    case SPAN_SCORE:
        return LOOK_SCORE;
    case SPAN_APPLY:
        return LOOK_APPLY;
    case SPAN_WRITE:
        return LOOK_DISK;
    case SPAN_SEND:
    case SPAN_TAKE:
        return lane->role == ROLE_PS ? LOOK_MESSAGE : LOOKS;
    default:
        return LOOKS;
    }
}

/* --- which lanes ------------------------------------------------------------------------------ */

/* A worker, and when it had computed its gradient of the step. */
struct ready {
    uint32_t worker;
    uint64_t at_ns;
};

static int by_time(const void *left, const void *right)
{
    const struct ready *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->worker < b->worker ? -1 : a->worker > b->worker;
}

static int by_worker(const void *left, const void *right)
{
    const struct ready *a = left, *b = right;
    return a->worker < b->worker ? -1 : a->worker > b->worker;
}

/* Of all workers; the caller's. NULL: out of memory. */
static struct ready *find_ready(const struct picture *p, size_t *count)
{
    const struct spans *spans = p->spans;
    struct ready *ready = calloc(spans->place_count + 1, sizeof *ready);
    *count = 0;
    for (size_t i = 0; ready != NULL && i < spans->place_count; i++)
        if (spans->places[i].role == ROLE_WORKER)
            ready[(*count)++] = (struct ready){spans->places[i].index, 0};
    for (size_t i = 0; ready != NULL && i < spans->count; i++) {
        const struct span *span = &spans->list[i];
        bool gradient = span->kind == SPAN_COMPUTE && spans_in(p->step, span);
        if (!gradient || (p->step->workers > 1 && span->step != p->step->step))
            continue;
        size_t at = spans_place(spans, ROLE_WORKER, span->index);
        size_t first = spans_place(spans, ROLE_WORKER, ready[0].worker);
        if (at >= first && at - first < *count && span->to_ns > ready[at - first].at_ns)
            ready[at - first].at_ns = span->to_ns;
    }
    return ready;
}

static void add_lane(struct picture *p, enum role role, uint32_t index)
{
    if (p->count < LANES_MAX)
        p->lanes[p->count++] = (struct lane){role, index, 0};
}

/* One of those that are shown makes room, from the middle on. *kept: of how many that was asked. */
static void must_show(struct ready *ready, size_t shown, uint32_t worker, size_t *kept)
{
    for (size_t i = 0; i < shown; i++)
        if (ready[i].worker == worker)
            return;
    size_t at = (shown / 2 + (*kept)++) % shown;
    ready[at].worker = worker;
}

/* All, or an even selection from the first finished to the last; always the step's worker, and
 * those of the critical path. */
static bool add_workers(struct picture *p, const struct critical *path)
{
    static const enum critical_part parts[] = {CRITICAL_COMPUTE, CRITICAL_TAKEN};
    struct ready *ready = find_ready(p, &p->workers);
    size_t shown = p->workers < WORKERS_MAX ? p->workers : WORKERS_MAX, kept = 0;
    if (ready == NULL)
        return false;
    if (p->workers > shown)
        qsort(ready, p->workers, sizeof *ready, by_time);
    for (size_t i = 0; i < shown; i++)
        ready[i] = ready[shown > 1 ? i * (p->workers - 1) / (shown - 1) : 0];
    for (size_t i = 0; i < 2 && shown > 2; i++)
        if (path->parts[parts[i]] != SIZE_MAX)
            must_show(ready, shown, p->spans->list[path->parts[parts[i]]].index, &kept);
    if (p->step->workers == 1 && shown > 2)
        must_show(ready, shown, p->step->worker, &kept);
    if (shown > 0)
        qsort(ready, shown, sizeof *ready, by_worker);
    for (size_t i = 0; i < shown; i++)
        add_lane(p, ROLE_WORKER, ready[i].worker);
    free(ready);
    return true;
}

static void add_servers(struct picture *p, const struct critical *path)
{
    uint32_t shown = 0;
    size_t apply = path->parts[CRITICAL_APPLY];
    for (size_t i = 0; i < p->spans->place_count; i++) {
        const struct trace_place *place = &p->spans->places[i];
        if (place->role != ROLE_PS)
            continue;
        bool critical = apply != SIZE_MAX && p->spans->list[apply].index == place->index;
        if (shown >= SERVERS_MAX && !critical)
            continue;
        shown++;
        add_lane(p, ROLE_PS, place->index);
    }
}

/* --- content of lanes ------------------------------------------------------------------------- */

/* Boxes of one look that are as good as one. */
struct box {
    double from, to;
    uint64_t took_ns;
    size_t count;
    const struct span *span; /* The first. */
};

static struct wording whom(const struct span *span)
{
    struct wording text = {""};
    if (span->other != SPAN_NO_PEER && span->other_role != ROLE_NONE)
        snprintf(text.text, sizeof text.text, "%s/%u", role_name((enum role)span->other_role),
                 span->other);
    return text;
}

/* "worker/3", "a batch": the reason of a worker's wait. */
static struct wording waits_for(const struct span *span)
{
    struct wording text = whom(span);
    const char *else_for = span->what == WAIT_LEASE  ? "a batch"
                           : span->what == WAIT_GATE ? "a checkpoint"
                                                     : "others";
    if (text.text[0] == '\0')
        snprintf(text.text, sizeof text.text, "%s", else_for);
    return text;
}

static void write_on(struct picture *p, const struct lane *lane, const struct box *box)
{
    char text[80];
    double room = box->to - box->from - 4, middle = (box->from + box->to) / 2;
    struct wording for_whom = waits_for(box->span);
    snprintf(text, sizeof text, "waits for %s", for_whom.text);
    if (SMALL * svg_text_width(text) > room)
        snprintf(text, sizeof text, "%s", for_whom.text);
    if (SMALL * svg_text_width(text) <= room)
        svg_text(&p->svg, "small", SVG_MIDDLE, middle, lane->y + LANE_HEIGHT - 5, text);
}

/* Whether it belongs to the step before or after, of processes that take part in this one. */
static bool is_of_another(const struct picture *p, const struct lane *lane, const struct span *span)
{
    bool maker = p->step->workers > 1 || lane->index == p->step->worker;
    return lane->role == ROLE_WORKER && maker && span->kind != SPAN_SCORE &&
           span->step != p->step->step;
}

static void draw_box(struct picture *p, const struct lane *lane, enum look look,
                     const struct box *box)
{
    char note[200], style[40];
    const struct span *span = box->span;
    if (box->count == 0)
        return;
    snprintf(note, sizeof note, "%s/%u %s", role_name(lane->role), lane->index, looks[look].verb);
    if (look == LOOK_WAIT)
        wording_append(note, sizeof note, " for %s", waits_for(span).text);
    if (look == LOOK_COMPUTE && box->count == 1)
        wording_append(note, sizeof note, " %s of step %" PRIu64,
                       wording_counted(span->count, "leaf", "leaves").text, span->step);
    if (look == LOOK_APPLY && box->count == 1)
        wording_append(note, sizeof note, " the gradient of %s for chunk %u", whom(span).text,
                       span->first);
    if (box->count > 1)
        wording_append(note, sizeof note, ", %zu times", box->count);
    wording_append(note, sizeof note, ": %s", wording_duration(1e-9 * (double)box->took_ns).text);
    snprintf(style, sizeof style, "%s%s", looks[look].style,
             is_of_another(p, lane, span) ? " part" : "");
    svg_box_with_note(&p->svg, style, box->from, lane->y, fmax(box->to - box->from, NEAR),
                      LANE_HEIGHT, note);
    if (look == LOOK_WAIT)
        write_on(p, lane, box);
}

/* Whether two spans of a look may be one box. */
static bool is_alike(const struct span *a, const struct span *b)
{
    bool worker = a->role == ROLE_WORKER;
    return !worker || (a->step == b->step && a->other == b->other);
}

static double place_at(const struct picture *p, uint64_t at_ns)
{
    const struct trace_step *step = p->step;
    uint64_t kept = at_ns < step->from_ns ? step->from_ns
                    : at_ns > step->to_ns ? step->to_ns
                                          : at_ns;
    return axis_place(&p->axis, 1e-6 * (double)(kept - step->from_ns));
}

static void draw_look(struct picture *p, const struct lane *lane, enum look look)
{
    struct box box = {.count = 0};
    for (size_t i = 0; i < p->spans->count; i++) {
        const struct span *span = &p->spans->list[i];
        if (!spans_in(p->step, span) || look_of(lane, span) != look)
            continue;
        double from = place_at(p, span->from_ns), to = place_at(p, span->to_ns);
        bool near = box.count > 0 && from - box.to < NEAR && is_alike(box.span, span);
        if (!near)
            draw_box(p, lane, look, &box);
        if (!near)
            box = (struct box){.from = from, .to = to, .span = span};
        box.to = fmax(box.to, to);
        box.took_ns += span->to_ns - span->from_ns;
        box.count++;
    }
    draw_box(p, lane, look, &box);
}

static void draw_lane(struct picture *p, const struct lane *lane)
{
    char name[40];
    snprintf(name, sizeof name, "%s/%u", role_name(lane->role), lane->index);
    bool of_step = lane->role == ROLE_WORKER && p->step->workers == 1 &&
                   lane->index == p->step->worker && p->workers > 1;
    svg_text(&p->svg, of_step ? "axis strong" : "axis", SVG_END, p->axis.from - 8,
             lane->y + LANE_HEIGHT - 4, name);
    for (unsigned look = 0; look < LOOKS; look++)
        draw_look(p, lane, (enum look)look);
}

/* --- the critical path ------------------------------------------------------------------------ */

static const struct lane *lane_of(const struct picture *p, const struct span *span)
{
    for (size_t i = 0; i < p->count; i++)
        if (span_is_of(span, p->lanes[i].role, p->lanes[i].index))
            return &p->lanes[i];
    return NULL;
}

static void draw_path(struct picture *p, const struct critical *path)
{
    double x[CRITICAL_PARTS], y[CRITICAL_PARTS];
    size_t count = 0;
    for (size_t i = 0; i < CRITICAL_PARTS; i++) {
        const struct span *span =
            path->parts[i] != SIZE_MAX ? &p->spans->list[path->parts[i]] : NULL;
        const struct lane *lane = span != NULL ? lane_of(p, span) : NULL;
        if (lane == NULL)
            continue;
        bool ends = i == CRITICAL_COMPUTE || i == CRITICAL_APPLY;
        x[count] = place_at(p, ends ? span->to_ns : span->from_ns);
        y[count++] = lane->y + LANE_HEIGHT / 2;
    }
    svg_polyline(&p->svg, "line c3", x, y, count);
    for (size_t i = 0; i < count && count > 1; i += count - 1)
        svg_dot(&p->svg, "dot c3", x[i], y[i], 3.5);
}

/* --- around them ------------------------------------------------------------------------------ */

static void draw_axis(struct picture *p, double top, double bottom)
{
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < p->axis.tick_count; i++) {
        double x = axis_place(&p->axis, p->axis.ticks[i]);
        svg_line(&p->svg, "grid", x, top, x, bottom);
        axis_label(&p->axis, i, label, sizeof label);
        /* The last one stays within the picture. */
        bool at_end = i > 0 && x + svg_text_width(label) / 2 > p->canvas->width - 2;
        svg_text(&p->svg, "axis", at_end ? SVG_END : SVG_MIDDLE, at_end ? p->canvas->width - 2 : x,
                 bottom + 18, label);
    }
    svg_text(&p->svg, "axis", SVG_MIDDLE, (p->axis.from + p->axis.to) / 2, bottom + 38,
             p->spans->virtual_time ? "virtual milliseconds" : "milliseconds");
}

/* Legend of colours and the path. */
static double draw_legend(struct picture *p, double top)
{
    struct plot_key keys[LOOKS + 1] = {0};
    size_t count = 0;
    for (unsigned look = 0; look < LOOKS; look++) {
        bool any = false;
        for (size_t i = 0; i < p->spans->count && !any; i++)
            for (size_t k = 0; k < p->count && !any; k++)
                any = spans_in(p->step, &p->spans->list[i]) &&
                      look_of(&p->lanes[k], &p->spans->list[i]) == look;
        if (!any)
            continue;
        snprintf(keys[count].label, sizeof keys[count].label, "%s", looks[look].label);
        snprintf(keys[count++].style, sizeof keys[0].style, "%s", looks[look].style);
    }
    snprintf(keys[count].label, sizeof keys[count].label, "why it took so long");
    snprintf(keys[count++].style, sizeof keys[0].style, "line c3");
    return plot_legend(&p->svg, keys, count, p->canvas->margin,
                       p->canvas->width - p->canvas->margin, top);
}

/* --- in words --------------------------------------------------------------------------------- */

/* The parts of a worker's time in a step. */
struct sums {
    uint64_t compute_ns, exchange_ns, wait_ns, score_ns;
};

static uint64_t part_in(const struct trace_step *step, const struct span *span)
{
    uint64_t from = span->from_ns > step->from_ns ? span->from_ns : step->from_ns;
    uint64_t to = span->to_ns < step->to_ns ? span->to_ns : step->to_ns;
    return to > from ? to - from : 0;
}

static struct sums sum_up(const struct spans *spans, const struct trace_step *step, uint32_t worker)
{
    struct sums sums = {0};
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->list[i];
        if (!span_is_of(span, ROLE_WORKER, worker) || span->step != step->step)
            continue;
        uint64_t took_ns = part_in(step, span);
        sums.compute_ns += span->kind == SPAN_COMPUTE ? took_ns : 0;
        sums.exchange_ns += span->kind == SPAN_EXCHANGE ? took_ns : 0;
        sums.wait_ns += span->kind == SPAN_WAIT ? took_ns : 0;
        sums.score_ns += span->kind == SPAN_SCORE ? took_ns : 0;
    }
    return sums;
}

static struct wording duration(uint64_t ns)
{
    struct wording text = wording_duration(1e-9 * (double)ns);
    if (ns < 1000000)
        snprintf(text.text, sizeof text.text, "%.3f ms", 1e-6 * (double)ns);
    else if (ns < 100000000)
        snprintf(text.text, sizeof text.text, "%.1f ms", 1e-6 * (double)ns);
    return text;
}

/* Of the one worker of this batch. */
static void describe_batch(const struct spans *spans, const struct trace_step *step, char *text,
                           size_t size)
{
    struct sums sums = sum_up(spans, step, step->worker);
    wording_append(text, size, "Batch %" PRIu64 " took worker/%u %s: it computed for %s",
                   step->step, step->worker, duration(step->to_ns - step->from_ns).text,
                   duration(sums.compute_ns).text);
    if (sums.exchange_ns > 0)
        wording_append(text, size, ", exchanged for %s", duration(sums.exchange_ns).text);
    if (sums.wait_ns > 0)
        wording_append(text, size, ", waited for %s", duration(sums.wait_ns).text);
    wording_append(text, size, ".");
}

/* Whether a process had begun a later step before this gradient was computed: the step did not wait
 * for it. */
static bool is_too_late(const struct spans *spans, const struct span *compute)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->list[i];
        if (span->kind == SPAN_COMPUTE && span->step > compute->step &&
            span->from_ns < compute->to_ns && span->index != compute->index)
            return true;
    }
    return false;
}

/* Of all workers: the last gradient, and its cost for the others. */
static void describe_step(const struct spans *spans, const struct trace_step *step, char *text,
                          size_t size)
{
    struct critical path = critical_of(spans, step);
    size_t compute = path.parts[CRITICAL_COMPUTE];
    struct sums others = {0}, last = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < spans->place_count; i++) {
        const struct trace_place *place = &spans->places[i];
        if (place->role != ROLE_WORKER)
            continue;
        struct sums sums = sum_up(spans, step, place->index);
        if (compute != SIZE_MAX && spans->list[compute].index == place->index) {
            last = sums;
            continue;
        }
        others.compute_ns += sums.compute_ns;
        others.wait_ns += sums.wait_ns;
        count++;
    }
    bool late = compute != SIZE_MAX && is_too_late(spans, &spans->list[compute]);
    wording_append(text, size, "Step %" PRIu64 " took %s%s", step->step,
                   duration(step->to_ns - step->from_ns).text,
                   late ? " until all were through with it" : "");
    if (compute != SIZE_MAX && count > 0)
        wording_append(text, size,
                       ": worker/%u was last with its gradient, after computing for %s%s; %s "
                       "computed for %s%s and waited for %s",
                       spans->list[compute].index, duration(last.compute_ns).text,
                       late ? ", too late: others had gone on without it" : "",
                       count > 1 ? "the others" : "the other",
                       duration(others.compute_ns / count).text, count > 1 ? " on the mean" : "",
                       duration(others.wait_ns / count).text);
    wording_append(text, size, ".");
}

void swim_lane_caption(const struct spans *spans, const struct trace_step *step, char *text,
                       size_t size)
{
    text[0] = '\0';
    if (step->workers > 1)
        describe_step(spans, step, text, size);
    else
        describe_batch(spans, step, text, size);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The caption, and how many workers are not shown. */
static void write_subtitle(const struct picture *p, char *text, size_t size)
{
    size_t shown = 0;
    swim_lane_caption(p->spans, p->step, text, size);
    for (size_t i = 0; i < p->count; i++)
        shown += p->lanes[i].role == ROLE_WORKER;
    if (shown < p->workers)
        wording_append(text, size, " Shown are %zu of %zu workers.", shown, p->workers);
}

static void fit_axis(struct picture *p)
{
    const struct canvas *canvas = p->canvas;
    axis_init(&p->axis, canvas->margin + 8 + svg_text_width("worker/88"),
              canvas->width - canvas->margin, false);
    axis_see(&p->axis, 0);
    axis_see(&p->axis, 1e-6 * (double)(p->step->to_ns - p->step->from_ns));
    axis_fit(&p->axis, canvas->narrow ? 4 : 8, false);
}

char *swim_lane_svg(const struct spans *spans, const struct trace_step *step, const char *title,
                    const struct canvas *canvas)
{
    struct picture p = {.spans = spans, .step = step, .canvas = canvas};
    struct critical path = critical_of(spans, step);
    char own_title[80], subtitle[SWIM_LANE_CAPTION_MAX + 40];
    const char *reason = step_reason_name(step->reason);
    snprintf(own_title, sizeof own_title, "%s %" PRIu64 "%s%s",
             step->workers > 1 ? "Step" : "Batch", step->step, *reason != '\0' ? ", " : "", reason);
    if (!add_workers(&p, &path))
        return NULL;
    add_servers(&p, &path);
    fit_axis(&p);
    write_subtitle(&p, subtitle, sizeof subtitle);
    svg_open(&p.svg, canvas->width, 0, title != NULL ? title : own_title,
             "A lane for each worker and server: what it did in one step, from left to right.");
    double top = plot_head(&p.svg, canvas, title != NULL ? title : own_title, subtitle) + 14;
    top = draw_legend(&p, top) - 6;
    double bottom = top + (double)p.count * LANE_PITCH + 4;
    draw_axis(&p, top, bottom);
    for (size_t i = 0; i < p.count; i++) {
        p.lanes[i].y = top + 4 + (double)i * LANE_PITCH;
        draw_lane(&p, &p.lanes[i]);
    }
    draw_path(&p, &path);
    svg_grow(&p.svg, bottom + 50);
    return svg_close(&p.svg);
}
