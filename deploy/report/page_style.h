/* page_style.h - the style of report.html: on light and dark screens, large and small ones, and on
 * paper.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_PAGE_STYLE_H
#define DEPLOY_REPORT_PAGE_STYLE_H

#include <stddef.h>
#include <stdio.h>

/* The style sheet, for this number of configurations. */
void page_style_write(FILE *page, size_t configs);

#endif
