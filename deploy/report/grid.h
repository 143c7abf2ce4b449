/* grid.h - a table of texts, written for terminals, Markdown and LaTeX.
 *
 * The first column has names, left-aligned; others are right-aligned. Plain text stays within
 * WORDING_COLUMNS: columns that do not fit beside the names follow below, with the names repeated.
 *
 * Ownership: nothing is allocated; headings are borrowed. Threads: plain values. */

#ifndef DEPLOY_REPORT_GRID_H
#define DEPLOY_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define GRID_COLUMNS_MAX 20
#define GRID_ROWS_MAX    64
#define GRID_CELL_MAX    128

struct grid_column {
    const char *above, *heading; /* Two lines, borrowed; the upper one may be "". */
    bool wide;                   /* Left out in plain text. */
};

struct grid {
    struct grid_column columns[GRID_COLUMNS_MAX];
    size_t column_count, row_count;
    char cells[GRID_ROWS_MAX][GRID_COLUMNS_MAX][GRID_CELL_MAX];
};

/* Columns first, then rows; a cell that was not set is "". */
void grid_init(struct grid *grid);
void grid_column(struct grid *grid, const char *above, const char *heading, bool wide);
/* When all is filled: without this column. */
void grid_drop(struct grid *grid, size_t column);
void grid_row(struct grid *grid);
/* Of the last row. A longer text is truncated. */
void grid_cell(struct grid *grid, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void grid_write_text(FILE *stream, const struct grid *grid);
void grid_write_markdown(FILE *stream, const struct grid *grid);
void grid_write_latex(FILE *stream, const struct grid *grid);

/* A text as part of a LaTeX document, or of Markdown. */
void grid_put_latex(FILE *stream, const char *text);
void grid_put_markdown(FILE *stream, const char *text);

#endif
