/* edge.h - arrays that end where memory ends: whoever reads or writes behind one dies of it, in
 * code that sanitizers do not look at, too. */

#ifndef TESTS_LIB_EDGE_H
#define TESTS_LIB_EDGE_H

#include <stdint.h>

/* Zeros, owned by the caller; the page behind them must not be touched. */
void *edge_new(uint64_t bytes);
void edge_free(void *array, uint64_t bytes);

#endif
