/* svg.c - prints elements into memory; the head is added at the end, when the picture's height is
 * known. */

#include "deploy/figures/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/style_sheet.h"

#define LABEL_SIZE 13.0 /* Of letters whose width is svg_text_width's. */

/* --- text ---------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at text that XML 1.0 allows (its section 2.2), or 0. */
static size_t character_bytes(const unsigned char *text)
{
    unsigned char lead = text[0];
    if (lead < 0x80)
        return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    uint32_t point = lead & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) /* The terminating zero too. */
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* Longer forms are not UTF-8. */
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    bool noncharacter = (point & 0xfffe) == 0xfffe || point < 0xa0;
    return point < least[bytes] || point > 0x10ffff || surrogate || noncharacter ? 0 : bytes;
}

void svg_escape(FILE *stream, const char *text, size_t max_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strnlen(text, max_bytes);
    while (left > 0) {
        size_t bytes = character_bytes(at);
        if (bytes > left)
            return; /* Cut between characters. */
        if (bytes == 0)
            fputc(*at == '\n' || *at == '\t' ? ' ' : '?', stream);
        else if (*at == '<')
            fputs("&lt;", stream);
        else if (*at == '>')
            fputs("&gt;", stream);
        else if (*at == '&')
            fputs("&amp;", stream);
        else if (*at == '"')
            fputs("&quot;", stream);
        else
            fwrite(at, 1, bytes, stream);
        at += bytes ? bytes : 1;
        left -= bytes ? bytes : 1;
    }
}

double svg_text_width(const char *text)
{
    double width = 0;
    for (size_t i = 0; i < SVG_TEXT_MAX && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        bool narrow = strchr(" .,:;'|ijl!()", c) != NULL;
        width += (c & 0xc0) == 0x80 ? 0 : narrow ? 4.2 : 7.6; /* A character once. */
    }
    return width;
}

/* Bytes of the first words of text that fit in width; at least one does. */
static size_t line_bytes(const char *text, double width, double size)
{
    char line[SVG_TEXT_MAX];
    size_t fits = 0;
    while (text[fits] != '\0') {
        size_t end = fits + strspn(text + fits, " ");
        end += strcspn(text + end, " ");
        snprintf(line, sizeof(line), "%.*s", (int)end, text);
        if (fits > 0 && size / LABEL_SIZE * svg_text_width(line) > width)
            return fits;
        fits = end;
    }
    return fits;
}

size_t svg_wrap(struct svg_lines *lines, const char *text, double width, double size)
{
    lines->count = 0;
    while (*text != '\0' && lines->count < SVG_LINES_MAX) {
        size_t bytes = line_bytes(text, width, size);
        snprintf(lines->text[lines->count++], SVG_TEXT_MAX, "%.*s", (int)bytes, text);
        text += bytes;
        text += strspn(text, " ");
    }
    return lines->count;
}

double svg_paragraph(struct svg *svg, const char *style, double size, double x, double y,
                     double width, const char *text)
{
    struct svg_lines lines;
    svg_wrap(&lines, text, width, size);
    for (size_t i = 0; i < lines.count; i++, y += 1.3 * size)
        svg_text(svg, style, SVG_START, x, y, lines.text[i]);
    return y;
}

/* --- shapes -------------------------------------------------------------------------------- */

static double drawable(double value)
{
    return isfinite(value) ? value : 0;
}

void svg_open(struct svg *svg, double width, double height, const char *title,
              const char *description)
{
    memset(svg, 0, sizeof(*svg));
    svg->width = width;
    svg->height = height;
    snprintf(svg->title, sizeof(svg->title), "%s", title);
    snprintf(svg->description, sizeof(svg->description), "%s", description);
    svg->stream = open_memstream(&svg->text, &svg->bytes);
}

void svg_grow(struct svg *svg, double height)
{
    svg->height = height;
}

static void write_whole(FILE *whole, const struct svg *svg, const char *shapes)
{
    fprintf(whole,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" role=\"img\">\n<title>",
            svg->width, svg->height, svg->width, svg->height);
    svg_escape(whole, svg->title, SVG_TEXT_MAX);
    fputs("</title>\n<desc>", whole);
    svg_escape(whole, svg->description, sizeof(svg->description));
    fprintf(whole, "</desc>\n" SVG_STYLE_BEGIN "%s" SVG_STYLE_END "\n", style_sheet());
    fprintf(whole,
            "<rect class=\"paper\" x=\"0\" y=\"0\" width=\"%.0f\" height=\"%.0f\"/>\n%s</svg>\n",
            svg->width, svg->height, shapes);
}

char *svg_close(struct svg *svg)
{
    if (svg->stream == NULL)
        return NULL;
    char *text = NULL;
    size_t bytes = 0;
    bool failed = ferror(svg->stream) != 0;
    failed |= fclose(svg->stream) != 0;
    FILE *whole = failed ? NULL : open_memstream(&text, &bytes);
    if (whole != NULL) {
        write_whole(whole, svg, svg->text);
        failed = ferror(whole) != 0;
        failed |= fclose(whole) != 0;
    }
    free(svg->text);
    memset(svg, 0, sizeof(*svg));
    if (failed || text == NULL) {
        free(text);
        return NULL;
    }
    return text;
}

void svg_put_inline(FILE *page, const char *picture)
{
    const char *style = strstr(picture, SVG_STYLE_BEGIN);
    const char *end = style != NULL ? strstr(style, SVG_STYLE_END) : NULL;
    if (end == NULL) {
        fputs(picture, page);
        return;
    }
    fwrite(picture, 1, (size_t)(style - picture), page);
    fputs(end + strlen(SVG_STYLE_END), page);
}

void svg_group(struct svg *svg, const char *style, const char *note)
{
    if (svg->stream == NULL)
        return;
    fprintf(svg->stream, "<g class=\"%s\">", style);
    if (note != NULL) {
        fputs("<title>", svg->stream);
        svg_escape(svg->stream, note, SVG_TEXT_MAX);
        fputs("</title>", svg->stream);
    }
    fputc('\n', svg->stream);
}

void svg_group_end(struct svg *svg)
{
    if (svg->stream != NULL)
        fputs("</g>\n", svg->stream);
}

void svg_define(struct svg *svg, const char *style, const char *name)
{
    if (svg->stream != NULL)
        fprintf(svg->stream, "<defs><g class=\"%s\" id=\"%s\">\n", style, name);
}

void svg_define_end(struct svg *svg)
{
    if (svg->stream != NULL)
        fputs("</g></defs>\n", svg->stream);
}

void svg_use(struct svg *svg, const char *name, double x, double y)
{
    if (svg->stream != NULL)
        fprintf(svg->stream, "<use href=\"#%s\" x=\"%.1f\" y=\"%.1f\"/>\n", name, drawable(x),
                drawable(y));
}

/* --- lines, boxes, text ----------------------------------------------------------------------- */

void svg_line(struct svg *svg, const char *style, double x1, double y1, double x2, double y2)
{
    if (svg->stream != NULL) {
        fprintf(svg->stream,
                "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", style,
                drawable(x1), drawable(y1), drawable(x2), drawable(y2));
    }
}

static void box_start(struct svg *svg, const char *style, double x, double y, double width,
                      double height)
{
    fprintf(svg->stream, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.2f\"",
            style, drawable(x), drawable(y), fmax(0, drawable(width)), fmax(0, drawable(height)));
}

void svg_box(struct svg *svg, const char *style, double x, double y, double width, double height)
{
    if (svg->stream != NULL) {
        box_start(svg, style, x, y, width, height);
        fputs("/>\n", svg->stream);
    }
}

void svg_box_with_note(struct svg *svg, const char *style, double x, double y, double width,
                       double height, const char *note)
{
    if (svg->stream != NULL) {
        box_start(svg, style, x, y, width, height);
        fputs("><title>", svg->stream);
        svg_escape(svg->stream, note, SVG_TEXT_MAX);
        fputs("</title></rect>\n", svg->stream);
    }
}

void svg_dot(struct svg *svg, const char *style, double x, double y, double radius)
{
    if (svg->stream != NULL) {
        fprintf(svg->stream, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", style,
                drawable(x), drawable(y), drawable(radius));
    }
}

static void text_end(struct svg *svg, const char *text)
{
    fputc('>', svg->stream);
    svg_escape(svg->stream, text, SVG_TEXT_MAX);
    fputs("</text>\n", svg->stream);
}

void svg_text(struct svg *svg, const char *style, enum svg_anchor anchor, double x, double y,
              const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    if (svg->stream != NULL) {
        fprintf(svg->stream, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\"", style,
                anchors[anchor], drawable(x), drawable(y));
        text_end(svg, text);
    }
}

static void points(struct svg *svg, const double *x, const double *y, size_t count, bool backwards)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = backwards ? count - 1 - i : i;
        fprintf(svg->stream, "%.1f,%.1f ", drawable(x[at]), drawable(y[at]));
    }
}

void svg_polyline(struct svg *svg, const char *style, const double *x, const double *y,
                  size_t count)
{
    if (svg->stream != NULL && count > 1) {
        fprintf(svg->stream, "<polyline class=\"%s\" points=\"", style);
        points(svg, x, y, count, false);
        fputs("\"/>\n", svg->stream);
    }
}

void svg_band(struct svg *svg, const char *style, const double *x, const double *low,
              const double *high, size_t count)
{
    if (svg->stream != NULL && count > 1) {
        fprintf(svg->stream, "<polygon class=\"%s\" points=\"", style);
        points(svg, x, high, count, false);
        points(svg, x, low, count, true);
        fputs("\"/>\n", svg->stream);
    }
}
