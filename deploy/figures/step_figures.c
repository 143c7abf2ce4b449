/* step_figures.c - looks for traces, and draws a step of each. */

#include "deploy/figures/step_figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/disk.h"
#include "deploy/figures/swim_lane.h"
#include "deploy/trace/trace.h"

#define WARM_UP "warm-up" /* See deploy/compare/warm_up.h. */

/* --- traces ----------------------------------------------------------------------------------- */

/* A folder, and what it is called on the page: "runs/async-s1". */
struct place {
    char folder[DISK_PATH_MAX];
    const char *name;
};

static bool has_trace(const struct place *place)
{
    char path[DISK_PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/" TRACE_SPANS_NAME, place->folder);
    return disk_posix.look(disk_posix.context, path) == DISK_FILE;
}

/* The last two parts of a path. */
static const char *tail_of(const char *path)
{
    size_t at = strlen(path);
    for (int parts = 0; at > 0; at--)
        if (path[at - 1] == '/' && ++parts == 2)
            break;
    return path + at;
}

/* From a run .../runs/ARM-sSEED to .../warm-up/ARM. */
static bool beside(const char *run, const char *config, struct place *place)
{
    size_t end = strlen(run);
    for (int parts = 0; parts < 2; parts++) {
        while (end > 0 && run[end - 1] != '/')
            end--;
        if (end == 0)
            return false;
        end--;
    }
    int length =
        snprintf(place->folder, sizeof place->folder, "%.*s/" WARM_UP "/%s", (int)end, run, config);
    return length > 0 && (size_t)length < sizeof place->folder;
}

static bool find_place(const struct group *group, struct place *place)
{
    bool found = false;
    place->folder[0] = '\0';
    for (size_t i = 0; i < group->record_count && !found; i++) {
        const char *run = group->records[i]->path;
        snprintf(place->folder, sizeof place->folder, "%s", run);
        found = has_trace(place) || (beside(run, group->config.name, place) && has_trace(place));
    }
    place->name = tail_of(place->folder);
    return found;
}

/* --- drawing it ------------------------------------------------------------------------------- */

static void describe(struct step_figure *figure, const struct spans *spans,
                     const struct trace_step *step, const struct place *place)
{
    snprintf(figure->caption, sizeof figure->caption,
             "%s %" PRIu64 " of %.120s, which took as long as most there%s. The whole trace, for "
             "Perfetto: %.120s/" TRACE_JSON_NAME ".",
             step->workers > 1 ? "Step" : "Batch", step->step, place->name,
             spans->virtual_time ? ", in virtual time" : "", place->name);
}

static enum status draw(struct step_figure *figure, const struct spans *spans,
                        const struct group *group, const struct place *place)
{
    const struct trace_step *step = &spans->steps[spans_typical(spans)];
    const struct canvas wide = canvas_wide(), narrow = canvas_narrow();
    char title[SVG_TEXT_MAX];
    snprintf(figure->name, sizeof figure->name, "step-%.50s", group->config.name);
    snprintf(title, sizeof title, "%s: %s %" PRIu64, group->label,
             step->workers > 1 ? "step" : "batch", step->step);
    figure->label = group->label;
    describe(figure, spans, step, place);
    figure->wide = swim_lane_svg(spans, step, title, &wide);
    figure->narrow = swim_lane_svg(spans, step, title, &narrow);
    return figure->wide != NULL && figure->narrow != NULL ? STATUS_OK : STATUS_MEMORY;
}

static enum status make_one(struct step_figures *figures, const struct group *group)
{
    struct place place;
    struct spans spans;
    char path[DISK_PATH_MAX + 16];
    if (!find_place(group, &place))
        return STATUS_OK;
    snprintf(path, sizeof path, "%s/" TRACE_SPANS_NAME, place.folder);
    spans_init(&spans);
    enum status status = spans_read(&spans, path, 1, NULL);
    if (status == STATUS_OK)
        status = draw(&figures->items[figures->count++], &spans, group, &place);
    spans_free(&spans);
    return status == STATUS_MEMORY ? status : STATUS_OK;
}

enum status step_figures_make(struct step_figures *figures, const struct comparison *comparison,
                              struct error *error)
{
    enum status status = STATUS_OK;
    memset(figures, 0, sizeof *figures);
    for (size_t i = 0; i < comparison->group_count && status == STATUS_OK; i++)
        if (figures->count < STEP_FIGURES_MAX)
            status = make_one(figures, &comparison->groups[i]);
    return status == STATUS_OK ? STATUS_OK : error_set(error, status, "out of memory");
}

void step_figures_free(struct step_figures *figures)
{
    for (size_t i = 0; i < figures->count; i++) {
        free(figures->items[i].wide);
        free(figures->items[i].narrow);
    }
    memset(figures, 0, sizeof *figures);
}
