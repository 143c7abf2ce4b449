/* grid.c - writes the same cells in three formats. */

#include "deploy/report/grid.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "common/base/wording.h"

void grid_init(struct grid *grid)
{
    memset(grid, 0, sizeof *grid);
}

void grid_column(struct grid *grid, const char *above, const char *heading, bool wide)
{
    assert(grid->column_count < GRID_COLUMNS_MAX && grid->row_count == 0);
    grid->columns[grid->column_count++] = (struct grid_column){above, heading, wide};
}

void grid_drop(struct grid *grid, size_t column)
{
    size_t behind = grid->column_count - column - 1;
    struct grid_column *columns = grid->columns + column;
    memmove(columns, columns + 1, behind * sizeof *columns);
    for (size_t row = 0; row < grid->row_count; row++)
        memmove(grid->cells[row][column], grid->cells[row][column + 1], behind * GRID_CELL_MAX);
    grid->column_count--;
}

void grid_row(struct grid *grid)
{
    assert(grid->row_count < GRID_ROWS_MAX);
    grid->row_count++;
}

void grid_cell(struct grid *grid, size_t column, const char *format, ...)
{
    va_list arguments;
    assert(column < grid->column_count && grid->row_count > 0);
    va_start(arguments, format);
    vsnprintf(grid->cells[grid->row_count - 1][column], GRID_CELL_MAX, format, arguments);
    va_end(arguments);
}

/* --- text ---------------------------------------------------------------------------------- */

/* Of UTF-8: bytes that begin a character. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0U) != 0x80U;
    return width;
}

static size_t column_width(const struct grid *grid, size_t column)
{
    size_t width = width_of(grid->columns[column].heading);
    size_t above = width_of(grid->columns[column].above);
    width = above > width ? above : width;
    for (size_t i = 0; i < grid->row_count; i++) {
        size_t cell = width_of(grid->cells[i][column]);
        width = cell > width ? cell : width;
    }
    return width;
}

/* The end of the columns from `first` on that fit beside the names at this distance; at least one
 * does. */
static size_t block_end(const struct grid *grid, size_t first, size_t apart)
{
    size_t used = column_width(grid, 0), end = first;
    for (; end < grid->column_count; end++) {
        if (grid->columns[end].wide)
            continue;
        used += apart + column_width(grid, end);
        if (used > WORDING_COLUMNS && end > first)
            return end;
    }
    return end;
}

static void put_right(FILE *stream, const char *text, size_t width)
{
    fprintf(stream, "%*s%s", (int)(width - width_of(text)), "", text);
}

static void write_line(FILE *stream, const struct grid *grid, size_t row, size_t first, size_t end,
                       size_t apart)
{
    for (size_t column = 0; column < end; column = column == 0 ? first : column + 1) {
        const struct grid_column *head = &grid->columns[column];
        const char *text = row == 0   ? head->above
                           : row == 1 ? head->heading
                                      : grid->cells[row - 2][column];
        if (column == 0)
            fprintf(stream, "%s%*s", text, (int)(column_width(grid, 0) - width_of(text)), "");
        else if (!head->wide)
            put_right(stream, text, apart + column_width(grid, column));
    }
    fputc('\n', stream);
}

static bool any_above(const struct grid *grid, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (grid->columns[i].above[0] != '\0' && !grid->columns[i].wide)
            return true;
    return false;
}

/* Columns are two blanks apart, or one where they are all beside each other by that. */
void grid_write_text(FILE *stream, const struct grid *grid)
{
    size_t apart = block_end(grid, 1, 1) == grid->column_count ? 1 : 2;
    if (block_end(grid, 1, 2) == grid->column_count)
        apart = 2;
    for (size_t first = 1, end; first < grid->column_count; first = end) {
        end = block_end(grid, first, apart);
        if (first > 1)
            fputc('\n', stream);
        for (size_t row = any_above(grid, first, end) ? 0 : 1; row < grid->row_count + 2; row++)
            write_line(stream, grid, row, first, end, apart);
    }
}

/* --- Markdown ------------------------------------------------------------------------------ */

void grid_put_markdown(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\|*_`<>[]", *text) != NULL)
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
}

void grid_write_markdown(FILE *stream, const struct grid *grid)
{
    for (size_t i = 0; i < grid->column_count; i++) {
        fputs("| ", stream);
        grid_put_markdown(stream, grid->columns[i].above);
        fputs(grid->columns[i].above[0] != '\0' ? " " : "", stream);
        grid_put_markdown(stream, grid->columns[i].heading);
        fputc(' ', stream);
    }
    fputs("|\n", stream);
    for (size_t i = 0; i < grid->column_count; i++)
        fputs(i == 0 ? "|:--" : "|--:", stream);
    fputs("|\n", stream);
    for (size_t row = 0; row < grid->row_count; row++) {
        for (size_t i = 0; i < grid->column_count; i++) {
            fputs("| ", stream);
            grid_put_markdown(stream, grid->cells[row][i]);
            fputc(' ', stream);
        }
        fputs("|\n", stream);
    }
}

/* --- LaTeX --------------------------------------------------------------------------------- */

void grid_put_latex(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("&%$#_{}", *text) != NULL)
            fprintf(stream, "\\%c", *text);
        else if (strchr("\\~^<>", *text) != NULL)
            fprintf(stream, "%s",
                    *text == '\\'  ? "\\textbackslash{}"
                    : *text == '~' ? "\\textasciitilde{}"
                    : *text == '^' ? "\\textasciicircum{}"
                    : *text == '<' ? "\\textless{}"
                                   : "\\textgreater{}");
        else
            fputc(*text == '\n' ? ' ' : *text, stream);
}

/* A cell that begins with [ would be an option of the \\ before it. */
static void latex_row(FILE *stream, const struct grid *grid, size_t row)
{
    for (size_t i = 0; i < grid->column_count; i++) {
        fputs(i > 0 ? " & {}" : "{}", stream);
        if (row == 0 && grid->columns[i].above[0] != '\0') {
            grid_put_latex(stream, grid->columns[i].above);
            fputc(' ', stream);
        }
        grid_put_latex(stream, row == 0 ? grid->columns[i].heading : grid->cells[row - 1][i]);
    }
    fputs(" \\\\\n", stream);
}

void grid_write_latex(FILE *stream, const struct grid *grid)
{
    fputs("\\begin{tabular}{l", stream);
    for (size_t i = 1; i < grid->column_count; i++)
        fputc('r', stream);
    fputs("}\n\\hline\n", stream);
    for (size_t row = 0; row < grid->row_count + 1; row++) {
        latex_row(stream, grid, row);
        if (row == 0)
            fputs("\\hline\n", stream);
    }
    fputs("\\hline\n\\end{tabular}\n", stream);
}
