/* style_sheet.h - the look of the classes of shapes and texts (svg.h has their names), on light and
 * on dark screens. Every picture contains it and needs no other file; a page has it once.
 *
 * It has no variables and no nesting, because converters to PDF and PNG know neither. They do not
 * know dark screens either, and show the light one.
 *
 * Threads: a constant. */

#ifndef DEPLOY_FIGURES_STYLE_SHEET_H
#define DEPLOY_FIGURES_STYLE_SHEET_H

const char *style_sheet(void);

#endif
