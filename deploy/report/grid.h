/* grid.h - a table of texts, written for terminals, Markdown and LaTeX.
 *
 * The first column has names, left-aligned; others are right-aligned. Plain text stays within
 * WORDING_COLUMNS: columns that do not fit beside the names follow below, with the names repeated,
 * or are left out. In LaTeX the columns are in several tables, each with the names.
 *
 * Ownership: nothing is allocated; headings are borrowed. Threads: plain values. */

#ifndef DEPLOY_REPORT_GRID_H
#define DEPLOY_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define GRID_COLUMNS_MAX 26
#define GRID_ROWS_MAX    64
#define GRID_CELL_MAX    128

struct grid_column {
    const char *above, *heading; /* Two lines, borrowed; the upper one may be "". */
    unsigned table;              /* In LaTeX: from 1 on; 0: in none. */
};

struct grid {
    struct grid_column columns[GRID_COLUMNS_MAX];
    size_t column_count, row_count;
    char cells[GRID_ROWS_MAX][GRID_COLUMNS_MAX][GRID_CELL_MAX];
};

/* Columns first, then rows; a cell that was not set is "". */
void grid_init(struct grid *grid);
void grid_column(struct grid *grid, const char *above, const char *heading, unsigned table);
/* When all is filled: without this column. */
void grid_drop(struct grid *grid, size_t column);
void grid_row(struct grid *grid);
/* Of the last row. A longer text is truncated. */
void grid_cell(struct grid *grid, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* all: in several tables, one below the other; else what fits beside the names. */
void grid_write_text(FILE *stream, const struct grid *grid, bool all);
void grid_write_markdown(FILE *stream, const struct grid *grid);
/* A float with one of its tables, for \usepackage{booktabs,array}; nothing where only names are in it.
 * Intervals stand below their values. caption: plain text; label: \label{tab:...}. */
void grid_write_latex(FILE *stream, const struct grid *grid, unsigned table, const char *caption,
                      const char *label);

/* A text as part of Markdown. */
void grid_put_markdown(FILE *stream, const char *text);

#endif
