/* panels.c - as many columns as names and frames have room for. */

#include "deploy/figures/panels.h"

#define Y_LABELS     46.0
#define GAP          18.0
#define WIDTH_MIN    136.0 /* Of a frame. */
#define COLUMNS_MAX  4
#define LINE         (1.3 * PLOT_LABEL)
#define NAME_SIZE    (1.12 * PLOT_LABEL) /* Wider, because it is bold. */
#define NOTE_LINE    15.0
#define SAMPLE_SPACE 34.0

static double name_space(const struct panels *panels)
{
    return panels->width - (panels->keys[0].style[0] != '\0' ? SAMPLE_SPACE : 0);
}

/* Lines of the longest name, in columns of this width. */
static size_t name_lines(const struct panels *panels)
{
    struct svg_lines lines;
    size_t most = 1;
    for (size_t i = 0; i < panels->count; i++) {
        size_t count = svg_wrap(&lines, panels->keys[i].label, name_space(panels), NAME_SIZE);
        most = count > most ? count : most;
    }
    return most;
}

static void set_columns(struct panels *panels, const struct canvas *canvas, size_t columns)
{
    double room = canvas->width - panels->left - canvas->margin;
    panels->columns = columns;
    panels->width = (room - (double)(columns - 1) * GAP) / (double)columns;
}

void panels_begin(struct panels *panels, const struct canvas *canvas, const struct plot_key *keys,
                  const struct panel_note *notes, size_t count, double top, double height)
{
    size_t most = count <= 4 ? (count > 0 ? count : 1) : count == 5 || count == 6 ? 3 : COLUMNS_MAX;
    *panels = (struct panels){.keys = keys,
                              .notes = notes,
                              .count = count,
                              .left = canvas->margin + Y_LABELS,
                              .top = top,
                              .height = height,
                              .gap = GAP};
    for (size_t columns = most; columns > 0; columns--) {
        set_columns(panels, canvas, columns);
        if (panels->width >= WIDTH_MIN && (count == 0 || name_lines(panels) <= 2))
            break;
    }
    panels->name_height =
        (double)(count > 0 ? name_lines(panels) : 1) * LINE + 6 + (notes != NULL ? NOTE_LINE : 0);
}

static double pitch(const struct panels *panels)
{
    return panels->name_height + panels->height + PLOT_AXIS_SPACE + 12;
}

struct area panels_area(const struct panels *panels, size_t index)
{
    double left = panels->left + (double)(index % panels->columns) * (panels->width + panels->gap);
    double top =
        panels->top + (double)(index / panels->columns) * pitch(panels) + panels->name_height;
    return (struct area){left, top, left + panels->width, top + panels->height};
}

bool panels_first(const struct panels *panels, size_t index)
{
    return index % panels->columns == 0;
}

/* The last line is on the frame, or on the note above it. */
void panels_name(const struct panels *panels, struct svg *svg, size_t index)
{
    const struct plot_key *key = &panels->keys[index];
    struct area area = panels_area(panels, index);
    struct svg_lines lines;
    size_t count = svg_wrap(&lines, key->label, name_space(panels), NAME_SIZE);
    double x = area.left, y = area.top - 8 - (double)(count - 1) * LINE;
    if (panels->notes != NULL) {
        svg_text(svg, "small", SVG_START, x, area.top - 7, panels->notes[index].text);
        y -= NOTE_LINE;
    }
    if (key->style[0] != '\0')
        x += plot_sample(svg, key->style, x, y) + 6;
    for (size_t i = 0; i < count; i++)
        svg_text(svg, "label strong", SVG_START, x, y + (double)i * LINE, lines.text[i]);
}

double panels_bottom(const struct panels *panels)
{
    size_t rows = (panels->count + panels->columns - 1) / panels->columns;
    return panels->top + (double)rows * pitch(panels);
}
