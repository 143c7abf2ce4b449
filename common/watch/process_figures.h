/* process_figures.h - what this process takes of its host, by the names that Prometheus' own client
 * libraries have for it. What /proc does not tell is left out.
 *
 * Threads: any. */

#ifndef COMMON_WATCH_PROCESS_FIGURES_H
#define COMMON_WATCH_PROCESS_FIGURES_H

#include <stdio.h>

void process_figures_write(FILE *out);

#endif
