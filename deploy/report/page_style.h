/* page_style.h - how report.html looks: on light and dark screens, large and small ones, and on paper.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_PAGE_STYLE_H
#define DEPLOY_REPORT_PAGE_STYLE_H

#include <stddef.h>
#include <stdio.h>

/* The style sheet, of a page on which so many arms are compared. */
void page_style_write(FILE *page, size_t configs);

#endif
