/* style_sheet.h - how classes of shapes and texts look (svg.h has their names), on light and on dark
 * screens. Every picture carries it, so that it is right by itself; a page has it once.
 *
 * No variables and no nesting, because converters to PDF and PNG know neither; nor do they know dark
 * screens, and show the light one.
 *
 * Threads: a constant. */

#ifndef DEPLOY_FIGURES_STYLE_SHEET_H
#define DEPLOY_FIGURES_STYLE_SHEET_H

const char *style_sheet(void);

#endif
