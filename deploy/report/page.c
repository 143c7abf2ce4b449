/* page.c - composes the page from sentences, tables, figures and notes. */

#include "deploy/report/page.h"

#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/figures/config_style.h"
#include "deploy/figures/svg.h"
#include "deploy/report/conclusion_table.h"
#include "deploy/report/config.h"
#include "deploy/report/identity.h"
#include "deploy/report/methods.h"
#include "deploy/report/notes.h"
#include "deploy/report/page_style.h"
#include "deploy/report/report.h"
#include "deploy/report/table.h"
#include "deploy/report/times_table.h"

#define TEXT_BYTES_MAX 65536 /* Of any one text that goes into the page. */

static const char title[] = "Syncopate: training runs compared";

static void put(FILE *page, const char *text)
{
    svg_escape(page, text, TEXT_BYTES_MAX);
}

/* --- the beginning ------------------------------------------------------------------------- */

static void put_head(FILE *page, const struct comparison *comparison)
{
    fprintf(page,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
            "<title>%s</title>\n",
            title);
    page_style_write(page, comparison->group_count);
    fprintf(page, "</head>\n<body>\n<main>\n<h1>%s</h1>\n", title);
}

static void put_lead(FILE *page, const struct comparison *comparison)
{
    fputs("<p class=\"lead\">", page);
    if (comparison->record_count == 0) {
        fputs("No run has finished.</p>\n", page);
        return;
    }
    const struct record *record = comparison->records[0];
    fprintf(page,
            "%s of the same work: ", wording_counted(comparison->record_count, "run", "runs").text);
    put(page, record->data);
    fprintf(page, ", %s, %s a batch, ", wording_counted(record->epochs, "epoch", "epochs").text,
            wording_counted(record->global_batch, "example", "examples").text);
    put(page, record->optimizer);
    if (isfinite(record->learning_rate))
        fprintf(page, " with learning rate %g", record->learning_rate);
    fputs(".</p>\n", page);
}

static void put_contents(FILE *page, bool steps)
{
    static const struct {
        const char *id, *text;
    } parts[] = {{"answer", "Answer"},
                 {"curves", "Curves"},
                 {"stale", "Staleness"},
                 {"seconds", "Seconds"},
                 {"step", "One step"},
                 {"numbers", "All numbers"},
                 {"methods", "How it was measured"}};
    fputs("<nav aria-label=\"Contents\">", page);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (steps || strcmp(parts[i].id, "step") != 0)
            fprintf(page, "<a href=\"#%s\">%s</a>\n", parts[i].id, parts[i].text);
    fputs("</nav>\n", page);
}

/* --- warnings --------------------------------------------------------------------------------- */

/* See table_write_missing. */
static void put_missing(FILE *page, const struct comparison *comparison)
{
    struct progress_text progress = comparison_progress(comparison);
    if (progress.text[0] == '\0')
        return;
    fputs("<p class=\"bad\">", page);
    put(page, progress.text);
    fputs("</p>\n", page);
    if (comparison->failed_count == 0)
        return;
    fputs("<ul class=\"failed\">\n", page);
    for (size_t i = 0; i < comparison->failed_count; i++) {
        fputs("<li><code>", page);
        put(page, comparison->failed[i].name);
        fputs("</code>: ", page);
        put(page, comparison->failed[i].reason);
        fputs("</li>\n", page);
    }
    fputs("</ul>\n", page);
}

static void put_remarks(FILE *page, const struct comparison *comparison,
                        const struct report_facts *facts)
{
    put_missing(page, comparison);
    if (facts->remark != NULL && facts->remark[0]) {
        fputs("<p class=\"bad\">", page);
        put(page, facts->remark);
        fputs("</p>\n", page);
    }
}

static void put_bits(FILE *page, const struct comparison *comparison)
{
    struct bits_verdict bits;
    comparison_bits(comparison, &bits);
    if (bits.seeds == 0)
        return;
    fprintf(page, "<p class=\"%s\">", bits.equal ? "good" : "bad");
    put(page, bits.text);
    fputs("</p>\n", page);
}

static void put_table_notes(FILE *page, const struct comparison *comparison)
{
    char text[NOTE_TEXT_MAX];
    for (size_t i = 0; note_at(comparison, i, text); i++) {
        fputs("<p>", page);
        svg_escape(page, text, sizeof text);
        fputs(".</p>\n", page);
    }
}

/* --- figures ------------------------------------------------------------------------------- */

static void put_both(FILE *page, const char *wide, const char *narrow)
{
    fputs("<div class=\"at-wide\">", page);
    svg_put_inline(page, wide);
    fputs("</div>\n<div class=\"at-narrow\">", page);
    svg_put_inline(page, narrow);
    fputs("</div>\n", page);
}

static void put_picture(FILE *page, const struct figure *figure)
{
    put_both(page, figure->wide, figure->narrow);
}

static void put_caption(FILE *page, const char *caption)
{
    fputs("<figcaption>", page);
    put(page, caption);
    fputs("</figcaption>\n", page);
}

static void put_figure(FILE *page, const struct figures *figures, const char *name)
{
    const struct figure *figure = figures_find(figures, name);
    fprintf(page, "<figure id=\"%s\">\n", name);
    put_picture(page, figure);
    put_caption(page, figure->caption);
    fputs("</figure>\n", page);
}

static void put_switch(FILE *page)
{
    fputs("<fieldset class=\"against\"><legend>Against</legend>\n", page);
    for (enum curve_x x = 0; x < CURVE_X_COUNT; x++)
        fprintf(page,
                "<label><input type=\"radio\" name=\"against\" id=\"x-%s\" autocomplete=\"off\"%s/>"
                "%s</label>\n",
                curve_x_name(x), x == CURVE_SECONDS ? " checked=\"checked\"" : "", curve_x_name(x));
    fputs("</fieldset>\n", page);
}

/* A key for each configuration, to be ticked. */
static void put_keys(FILE *page, const struct comparison *comparison)
{
    char style[32];
    if (comparison->group_count < 2)
        return;
    fputs("<fieldset class=\"keys\"><legend>Highlight</legend>\n", page);
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        config_style(style, sizeof(style), "line", group);
        fprintf(page,
                "<label><input type=\"checkbox\" id=\"arm-%zu\" autocomplete=\"off\"/><svg "
                "viewBox=\"0 0 28 10\" aria-hidden=\"true\"><line class=\"%s\" x1=\"0\" y1=\"5\" "
                "x2=\"28\" y2=\"5\"/></svg>",
                i, style);
        svg_escape(page, group->label, sizeof(group->label));
        fputs("</label>\n", page);
    }
    fputs("</fieldset>\n", page);
}

static void put_curves(FILE *page, const struct comparison *comparison,
                       const struct figures *figures)
{
    bool scored = comparison_has_accuracy(comparison);
    fprintf(page, "<h2 id=\"curves\">Loss%s against effort</h2>\n", scored ? " and accuracy" : "");
    put_keys(page, comparison);
    put_switch(page);
    for (enum curve_x x = 0; x < CURVE_X_COUNT; x++) {
        fprintf(page, "<p class=\"by by-%s\">", curve_x_name(x));
        put(page, figures_curve(figures, CURVE_LOSS, x)->caption);
        fputs("</p>\n", page);
    }
    for (enum curve_y y = 0; y < CURVE_Y_COUNT; y++) {
        if (y == CURVE_ACCURACY && !scored)
            continue;
        fprintf(page, "<figure id=\"%s\">\n", curve_y_name(y));
        for (enum curve_x x = 0; x < CURVE_X_COUNT; x++) {
            fprintf(page, "<div class=\"by by-%s\">\n", curve_x_name(x));
            put_picture(page, figures_curve(figures, y, x));
            fputs("</div>\n", page);
        }
        put_caption(page, figures_about(y));
        fputs("</figure>\n", page);
    }
}

static void put_staleness(FILE *page, const struct comparison *comparison,
                          const struct figures *figures)
{
    fputs("<h2 id=\"stale\">How stale gradients were</h2>\n", page);
    put_figure(page, figures, "staleness");
    configs_write_effects_html(page, comparison);
    identity_write_html(page, comparison);
    put_figure(page, figures, "spread");
}

static void put_seconds(FILE *page, const struct comparison *comparison,
                        const struct figures *figures)
{
    fputs("<h2 id=\"seconds\">Where the seconds went</h2>\n", page);
    put_figure(page, figures, "time");
    times_table_write_html(page, comparison);
    fputs("<details>\n<summary>Each worker</summary>\n", page);
    put_figure(page, figures, "workers");
    fputs("</details>\n", page);
}

static void put_steps(FILE *page, const struct step_figures *steps)
{
    if (steps->count == 0)
        return;
    fputs("<h2 id=\"step\">One step</h2>\n<p>", page);
    put(page,
        "From left to right the activities of every worker and server in a step of typical "
        "duration; a white space names the process that a worker waited for. Pale parts belong "
        "to the step before or after. The line is the critical path: from the last gradient "
        "over the update to the last worker that received values.");
    fputs("</p>\n", page);
    for (size_t i = 0; i < steps->count; i++) {
        const struct step_figure *step = &steps->items[i];
        fputs("<figure>\n", page);
        put_both(page, step->wide, step->narrow);
        put_caption(page, step->caption);
        fputs("</figure>\n", page);
    }
}

/* --- numbers and facts --------------------------------------------------------------------- */

static void put_notes(FILE *page, const char *note(size_t index))
{
    fputs("<details>\n<summary>What the columns mean</summary>\n<ul class=\"notes\">\n", page);
    for (size_t i = 0; note(i) != NULL; i++) {
        fputs("<li>", page);
        put(page, note(i));
        fputs("</li>\n", page);
    }
    fputs("</ul>\n</details>\n", page);
}

static void put_numbers(FILE *page, const struct comparison *comparison)
{
    fputs("<h2 id=\"numbers\">All numbers</h2>\n", page);
    table_write_html(page, comparison);
    put_notes(page, table_note);
}

static void put_fact(FILE *page, const char *name, const char *value)
{
    if (value != NULL && value[0]) {
        fprintf(page, "<dt>%s</dt><dd>", name);
        put(page, value);
        fputs("</dd>\n", page);
    }
}

static void put_facts(FILE *page, const struct comparison *comparison,
                      const struct report_facts *facts)
{
    fputs("<dl>\n", page);
    put_fact(page, "Machine", facts->machine);
    put_fact(page, "Model", comparison->record_count ? comparison->records[0]->model : NULL);
    put_fact(page, "Servers (--ps colocated)", facts->colocated ? "one beside each worker" : NULL);
    put_fact(page, "Time of a leaf (--compute)", facts->compute);
    put_fact(page, "Workers slowed down (worker:factor)", facts->slow);
    put_fact(page, "Stragglers (--straggle)", facts->straggle);
    put_fact(page, "Pauses (--pause)", facts->pause);
    put_fact(page, "Date", facts->date);
    fputs("</dl>\n", page);
    if (facts->command != NULL && facts->command[0]) {
        fputs("<h3>Command</h3>\n<pre>", page);
        put(page, facts->command);
        fputs("</pre>\n", page);
    }
}

void page_write(FILE *page, const struct conclusion *conclusion, const struct figures *figures,
                const struct step_figures *steps, const struct report_facts *facts)
{
    const struct comparison *comparison = conclusion->comparison;
    put_head(page, comparison);
    put_lead(page, comparison);
    put_remarks(page, comparison, facts);
    put_contents(page, steps->count > 0);
    conclusion_write_html(page, conclusion);
    put_table_notes(page, comparison);
    put_notes(page, conclusion_note);
    put_bits(page, comparison);
    configs_write_html(page, comparison);
    put_curves(page, comparison, figures);
    put_staleness(page, comparison, figures);
    put_seconds(page, comparison, figures);
    put_steps(page, steps);
    put_numbers(page, comparison);
    methods_write_html(page, conclusion, facts);
    put_facts(page, comparison, facts);
    fputs("</main>\n</body>\n</html>\n", page);
}
