/* page.h - report.html: conclusion, figures, tables and methods in one file without other files or
 * network.
 *
 * It has curves against each of the four scales, and a switch shows one of them; ticked
 * configurations are highlighted. Both are inputs and style sheet without scripts; a browser that
 * does not know the selector shows all curves. In print there are the curves against seconds, and
 * the selected ones. Every figure is there for large and for small screens (plot.h). Tables that
 * are wider than a screen scroll in a box of their own.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_PAGE_H
#define DEPLOY_REPORT_PAGE_H

#include <stdio.h>

#include "deploy/conclusion/conclusion.h"
#include "deploy/figures/figures.h"
#include "deploy/figures/step_figures.h"

struct report_facts;

void page_write(FILE *page, const struct conclusion *conclusion, const struct figures *figures,
                const struct step_figures *steps, const struct report_facts *facts);

#endif
