/* svg.h - writes one SVG picture into memory.
 *
 * Lengths are in the picture's own units (CSS pixels at its natural size), y grows downwards.
 * Shapes have style classes, and the picture contains the style sheet: it looks right by itself,
 * inside a page, on a light and on a dark screen. Text is escaped and cut at SVG_TEXT_MAX bytes,
 * between characters; bytes that are not UTF-8 or not allowed in XML become '?'. Numbers that are
 * not finite are written as 0.
 *
 * Ownership: svg_close gives the text to the caller. Threads: one owner.
 * Errors: running out of memory is remembered, and svg_close then returns NULL. */

#ifndef DEPLOY_FIGURES_SVG_H
#define DEPLOY_FIGURES_SVG_H

#include <stddef.h>
#include <stdio.h>

#define SVG_TEXT_MAX  160
#define SVG_HUES      6 /* Classes c0, c3, ...: blue, orange, green, purple, grey, yellow. */
#define SVG_SHADES    3 /* The two after each: lighter and darker. */
#define SVG_DASHES    4 /* Classes d0 (solid) ... d3. */
#define SVG_KINDS     8 /* Classes t0 ..., of no family. */
#define SVG_LINES_MAX 8

/* A page has the text between these once, from style_sheet.h. */
#define SVG_STYLE_BEGIN "<style>"
#define SVG_STYLE_END   "</style>"

struct svg {
    FILE *stream; /* Shapes, into text; owned. */
    char *text;
    size_t bytes;
    double width, height;
    char title[SVG_TEXT_MAX], description[1024];
};

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* Begin a picture. Title and description are for screen readers. */
void svg_open(struct svg *svg, double width, double height, const char *title,
              const char *description);
/* Set the height, when it is known only after drawing. */
void svg_grow(struct svg *svg, double height);
/* End it: the text, malloc'd, or NULL. */
char *svg_close(struct svg *svg);

/* A whole picture into a page that has the style sheet. */
void svg_put_inline(FILE *page, const char *picture);

/* A group of shapes, with a tooltip unless that is NULL. */
void svg_group(struct svg *svg, const char *style, const char *note);
void svg_group_end(struct svg *svg);

/* A shape that is defined once, around (0, 0), and used in several places. Names are unique in a
 * page. */
void svg_define(struct svg *svg, const char *style, const char *name);
void svg_define_end(struct svg *svg);
void svg_use(struct svg *svg, const char *name, double x, double y);

/* style is a list of class names: "frame", "grid", "line c1 d2", "bar c0", "bar t0" (t0 ... t7
 * belong to no family), "bar c0 part" (paler), "bar wait" (empty), "label", "title", ... */
void svg_line(struct svg *svg, const char *style, double x1, double y1, double x2, double y2);
void svg_box(struct svg *svg, const char *style, double x, double y, double width, double height);
void svg_dot(struct svg *svg, const char *style, double x, double y, double radius);
void svg_text(struct svg *svg, const char *style, enum svg_anchor anchor, double x, double y,
              const char *text);
/* A box whose <title> browsers show as a tooltip. */
void svg_box_with_note(struct svg *svg, const char *style, double x, double y, double width,
                       double height, const char *note);

/* A line through count points, and the area between an upper and a lower one. */
void svg_polyline(struct svg *svg, const char *style, const double *x, const double *y,
                  size_t count);
void svg_band(struct svg *svg, const char *style, const double *x, const double *low,
              const double *high, size_t count);

/* The approximate width of text in the label style. */
double svg_text_width(const char *text);

/* A text in lines of limited width in letters of `size`, broken between words; a wider word is
 * alone. Returns their number. Text after line SVG_LINES_MAX is left out. */
struct svg_lines {
    char text[SVG_LINES_MAX][SVG_TEXT_MAX];
    size_t count;
};
size_t svg_wrap(struct svg_lines *lines, const char *text, double width, double size);
/* Draws them, the first baseline at y, and returns y for the next. */
double svg_paragraph(struct svg *svg, const char *style, double size, double x, double y,
                     double width, const char *text);

/* Write text as XML character data, also valid in an attribute in double quotes; at most max_bytes
 * of it are read. For HTML as well. */
void svg_escape(FILE *stream, const char *text, size_t max_bytes);

#endif
