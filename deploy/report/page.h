/* page.h - report.html: answer, figures, tables and methods in one file that needs no other, and no network.
 *
 * Curves are there against each of the four scales, and a switch shows one of them; arms that are ticked
 * stand out. Both are inputs and style sheet alone: without scripts they work, and where a browser does not
 * know the rule for it all curves are shown. Printed, it has those against seconds, and those that were
 * chosen. Every figure is there for large screens and for small ones (plot.h); tables that are wider than
 * a screen scroll in a box of their own.
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
