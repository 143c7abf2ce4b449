/* svg.c - prints elements into memory; the style sheet, with hues for light and dark screens,
 * stands at the top. */

#include "deploy/figures/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Colours start from Okabe and Ito's, told apart by people with any of the common kinds of colour
 * blindness ("Color Universal Design", 2008): a hue for each family, three shades of it; on dark
 * ground each is lighter. No variables and no nesting, because converters to PDF and PNG know
 * neither. */
static const char style_sheet[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif;"
    "font-size:13px;fill:#333}"
    ".title{font-size:16px;font-weight:600;fill:#111}"
    ".subtitle{font-size:12.5px;fill:#666}"
    ".axis{font-size:13px;fill:#333}.small{font-size:11.5px;fill:#555}.strong{font-weight:600}"
    ".paper{fill:#fff}.frame{stroke:#555;stroke-width:1;fill:none}"
    ".grid{stroke:#ddd;stroke-width:1}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:butt}"
    ".band{stroke:none;fill-opacity:.18}.bar{stroke:none}.dot{stroke:#fff;stroke-width:1}"
    ".d1{stroke-dasharray:8 4}.d2{stroke-dasharray:2.5 3}.d3{stroke-dasharray:9 3 2.5 3}"
    /* A dot's outline is no line. */
    ".dot,.bar,.band{stroke-dasharray:none}"
    ".line.c0{stroke:#0072b2}.band.c0,.bar.c0,.dot.c0{fill:#0072b2}"
    ".line.c1{stroke:#56b4e9}.band.c1,.bar.c1,.dot.c1{fill:#56b4e9}"
    ".line.c2{stroke:#003f66}.band.c2,.bar.c2,.dot.c2{fill:#003f66}"
    ".line.c3{stroke:#d55e00}.band.c3,.bar.c3,.dot.c3{fill:#d55e00}"
    ".line.c4{stroke:#e69f00}.band.c4,.bar.c4,.dot.c4{fill:#e69f00}"
    ".line.c5{stroke:#7f3800}.band.c5,.bar.c5,.dot.c5{fill:#7f3800}"
    ".line.c6{stroke:#009e73}.band.c6,.bar.c6,.dot.c6{fill:#009e73}"
    ".line.c7{stroke:#5fc9ab}.band.c7,.bar.c7,.dot.c7{fill:#5fc9ab}"
    ".line.c8{stroke:#00513b}.band.c8,.bar.c8,.dot.c8{fill:#00513b}"
    ".line.c9{stroke:#a8487f}.band.c9,.bar.c9,.dot.c9{fill:#a8487f}"
    ".line.c10{stroke:#d99bc0}.band.c10,.bar.c10,.dot.c10{fill:#d99bc0}"
    ".line.c11{stroke:#5c2645}.band.c11,.bar.c11,.dot.c11{fill:#5c2645}"
    ".bar.t0{fill:#009e73}.bar.t1{fill:#cc79a7}.bar.t2{fill:#bdbdbd}.bar.t3{fill:#555555}"
    ".bar.t4{fill:#f0e442}.bar.part{fill-opacity:.45}"
    "@media(prefers-color-scheme:dark){"
    "text,.axis{fill:#d6d6d6}.title{fill:#f2f2f2}.subtitle,.small{fill:#a8a8a8}"
    ".paper{fill:#16181c}.frame{stroke:#8a8a8a}.grid{stroke:#33373d}.dot{stroke:#16181c}"
    ".line.c0{stroke:#4aa8e0}.band.c0,.bar.c0,.dot.c0{fill:#4aa8e0}"
    ".line.c1{stroke:#a3d8f7}.band.c1,.bar.c1,.dot.c1{fill:#a3d8f7}"
    ".line.c2{stroke:#2580b8}.band.c2,.bar.c2,.dot.c2{fill:#2580b8}"
    ".line.c3{stroke:#ff8a3d}.band.c3,.bar.c3,.dot.c3{fill:#ff8a3d}"
    ".line.c4{stroke:#ffc861}.band.c4,.bar.c4,.dot.c4{fill:#ffc861}"
    ".line.c5{stroke:#c8641c}.band.c5,.bar.c5,.dot.c5{fill:#c8641c}"
    ".line.c6{stroke:#2bc79b}.band.c6,.bar.c6,.dot.c6{fill:#2bc79b}"
    ".line.c7{stroke:#98ead2}.band.c7,.bar.c7,.dot.c7{fill:#98ead2}"
    ".line.c8{stroke:#16916d}.band.c8,.bar.c8,.dot.c8{fill:#16916d}"
    ".line.c9{stroke:#e08fbb}.band.c9,.bar.c9,.dot.c9{fill:#e08fbb}"
    ".line.c10{stroke:#f6d3e5}.band.c10,.bar.c10,.dot.c10{fill:#f6d3e5}"
    ".line.c11{stroke:#b0608d}.band.c11,.bar.c11,.dot.c11{fill:#b0608d}"
    ".bar.t0{fill:#2bc79b}.bar.t1{fill:#e08fbb}.bar.t2{fill:#6a7078}.bar.t3{fill:#d0d0d0}"
    ".bar.t4{fill:#b3a91f}"
    "}";

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

/* --- shapes -------------------------------------------------------------------------------- */

static double drawable(double value)
{
    return isfinite(value) ? value : 0;
}

void svg_open(struct svg *svg, double width, double height, const char *title,
              const char *description)
{
    memset(svg, 0, sizeof(*svg));
    svg->stream = open_memstream(&svg->text, &svg->bytes);
    if (svg->stream == NULL)
        return;
    fprintf(svg->stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" role=\"img\">\n<title>",
            width, height, width, height);
    svg_escape(svg->stream, title, SVG_TEXT_MAX);
    fputs("</title>\n<desc>", svg->stream);
    svg_escape(svg->stream, description, 1024);
    fprintf(svg->stream, "</desc>\n<style>%s</style>\n", style_sheet);
    svg_box(svg, "paper", 0, 0, width, height);
}

char *svg_close(struct svg *svg)
{
    if (svg->stream == NULL)
        return NULL;
    fputs("</svg>\n", svg->stream);
    bool failed = ferror(svg->stream) != 0;
    failed |= fclose(svg->stream) != 0;
    char *text = svg->text;
    memset(svg, 0, sizeof(*svg));
    if (failed) {
        free(text);
        return NULL;
    }
    return text;
}

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

void svg_text_upwards(struct svg *svg, const char *style, double x, double y, const char *text)
{
    if (svg->stream != NULL) {
        fprintf(svg->stream,
                "<text class=\"%s\" text-anchor=\"middle\" transform=\"translate(%.1f %.1f) "
                "rotate(-90)\"",
                style, drawable(x), drawable(y));
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
