/* svg.h - writes one SVG picture into memory.
 *
 * Lengths are in the picture's own units (CSS pixels at its natural size), y grows downwards.
 * Shapes carry style classes, and the picture carries the style sheet, so that it is right by
 * itself, inside a page, on a light and on a dark screen. Text is escaped and cut at SVG_TEXT_MAX
 * bytes, between characters; whatever is not UTF-8 or not allowed in XML becomes '?'. Numbers that
 * are not finite are written as 0.
 *
 * Ownership: svg_close gives the text to the caller. Threads: one owner.
 * Errors: running out of memory is remembered, and svg_close then returns NULL. */

#ifndef DEPLOY_FIGURES_SVG_H
#define DEPLOY_FIGURES_SVG_H

#include <stddef.h>
#include <stdio.h>

#define SVG_TEXT_MAX 160
#define SVG_HUES     4 /* Classes c0, c3, c6, c9: blue, orange, green, purple. */
#define SVG_SHADES   3 /* The two after each: lighter and darker. */
#define SVG_DASHES   4 /* Classes d0 (solid) ... d3. */

struct svg {
    FILE *stream; /* Into text; owned. */
    char *text;
    size_t bytes;
};

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* Begin a picture. Title and description are read to those who cannot see it. */
void svg_open(struct svg *svg, double width, double height, const char *title,
              const char *description);
/* End it: the text, malloc'd, or NULL. */
char *svg_close(struct svg *svg);

/* style is a list of class names: "frame", "grid", "line c1 d2", "bar c0",
 * "bar t0" (t0 ... t4 belong to no family), "bar c0 part" (paler), "label", "title", ... */
void svg_line(struct svg *svg, const char *style, double x1, double y1, double x2, double y2);
void svg_box(struct svg *svg, const char *style, double x, double y, double width, double height);
void svg_dot(struct svg *svg, const char *style, double x, double y, double radius);
void svg_text(struct svg *svg, const char *style, enum svg_anchor anchor, double x, double y,
              const char *text);
/* Text running upwards, centred at (x, y). */
void svg_text_upwards(struct svg *svg, const char *style, double x, double y, const char *text);
/* A box whose <title> browsers show under the pointer. */
void svg_box_with_note(struct svg *svg, const char *style, double x, double y, double width,
                       double height, const char *note);

/* A line through count points, and the area between an upper and a lower one. */
void svg_polyline(struct svg *svg, const char *style, const double *x, const double *y,
                  size_t count);
void svg_band(struct svg *svg, const char *style, const double *x, const double *low,
              const double *high, size_t count);

/* About how wide text is in the label style. */
double svg_text_width(const char *text);

/* Write text as XML character data, also fit for an attribute in double quotes; at most max_bytes
 * of it are looked at. For HTML as well. */
void svg_escape(FILE *stream, const char *text, size_t max_bytes);

#endif
