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

void grid_column(struct grid *grid, const char *above, const char *heading, unsigned table)
{
    assert(grid->column_count < GRID_COLUMNS_MAX && grid->row_count == 0);
    grid->columns[grid->column_count++] = (struct grid_column){above, heading, table};
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
        used += apart + column_width(grid, end);
        if (used > WORDING_COLUMNS && end > first)
            return end;
    }
    return end;
}

static void write_line(FILE *stream, const struct grid *grid, size_t row, size_t first, size_t end,
                       size_t apart)
{
    size_t blanks = 0; /* None is left at the end of the row above the headings. */
    for (size_t column = 0; column < end; column = column == 0 ? first : column + 1) {
        const struct grid_column *head = &grid->columns[column];
        const char *text = row == 0   ? head->above
                           : row == 1 ? head->heading
                                      : grid->cells[row - 2][column];
        size_t spare = column_width(grid, column) - width_of(text);
        blanks += column > 0 ? apart + spare : 0;
        if (text[0] != '\0')
            fprintf(stream, "%*s%s", (int)blanks, "", text);
        blanks = (text[0] == '\0' ? blanks : 0) + (column == 0 ? spare : 0);
    }
    fputc('\n', stream);
}

static bool any_above(const struct grid *grid, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (grid->columns[i].above[0] != '\0')
            return true;
    return false;
}

/* Columns are two blanks apart, or one where more fit by that. */
void grid_write_text(FILE *stream, const struct grid *grid, bool all)
{
    size_t apart = block_end(grid, 1, 1) > block_end(grid, 1, 2) ? 1 : 2;
    for (size_t first = 1, end; first < grid->column_count; first = end) {
        end = block_end(grid, first, apart);
        if (first > 1)
            fputc('\n', stream);
        for (size_t row = any_above(grid, first, end) ? 0 : 1; row < grid->row_count + 2; row++)
            write_line(stream, grid, row, first, end, apart);
        if (!all)
            break;
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

static void put_latex(FILE *stream, const char *text)
{
    static const char *const signs[] = {"\\textbackslash{}", "\\textasciitilde{}",
                                        "\\textasciicircum{}", "\\textless{}", "\\textgreater{}"};
    static const char named[] = "\\~^<>";
    for (; *text != '\0'; text++) {
        const char *name = strchr(named, *text);
        if (name != NULL)
            fputs(signs[name - named], stream);
        else if (strchr("&%$#_{}", *text) != NULL)
            fprintf(stream, "\\%c", *text);
        else
            fputc(*text == '\n' ? ' ' : *text, stream);
    }
}

/* A value above its interval, and that above its level; "never" and "inf" are infinite. */
static void put_latex_cell(FILE *stream, const char *text)
{
    static const char *const words[][2] = {{"never", "$\\infty$"}, {" x ", " $\\times$ "},
                                           {"-", "$-$"},           {"+", "$+$"},
                                           {" [", "\\\\{}["},      {"] ", "]\\\\"}};
    text = strcmp(text, "inf") == 0 ? "never" : text;
    bool interval = strstr(text, " [") != NULL;
    bool number = strpbrk(text, "0123456789") != NULL || strcmp(text, "never") == 0;
    fputs(interval ? "\\begin{tabular}[t]{@{}r@{}}" : "{}", stream);
    while (*text != '\0') {
        size_t i = 0;
        while (i < 6 && strncmp(text, words[i][0], strlen(words[i][0])) != 0)
            i++;
        if (number && i < 6)
            fputs(words[i][1], stream);
        else
            put_latex(stream, (const char[]){*text, '\0'});
        text += number && i < 6 ? strlen(words[i][0]) : 1;
    }
    fputs(interval ? "\\end{tabular}" : "", stream);
}

void grid_write_latex(FILE *stream, const struct grid *grid, unsigned table, const char *caption,
                      const char *label)
{
    size_t columns[GRID_COLUMNS_MAX] = {0}, count = 1;
    for (size_t i = 1; i < grid->column_count; i++)
        if (grid->columns[i].table == table)
            columns[count++] = i;
    if (count == 1)
        return;
    fputs("\\begin{table}[t]\n\\centering\\footnotesize\\setlength{\\tabcolsep}{2.5pt}\n\\caption{",
          stream);
    put_latex(stream, caption);
    fprintf(stream,
            "}\n\\label{tab:%s}\n\\begin{tabular}{@{}>{\\raggedright\\arraybackslash}"
            "p{.19\\linewidth}",
            label);
    for (size_t i = 1; i < count; i++)
        fputc('r', stream);
    fputs("@{}}\n\\toprule\n", stream);
    for (size_t row = 0; row < grid->row_count + 2; row++) {
        for (size_t i = 0; i < count; i++) {
            const struct grid_column *head = &grid->columns[columns[i]];
            fputs(i > 0 ? " & " : "", stream);
            if (row < 2 || i == 0)
                put_latex(stream, row == 0   ? head->above
                                  : row == 1 ? head->heading
                                             : grid->cells[row - 2][0]);
            else
                put_latex_cell(stream, grid->cells[row - 2][columns[i]]);
        }
        fputs(row == 1 ? " \\\\\n\\midrule\n" : " \\\\\n", stream);
    }
    fputs("\\bottomrule\n\\end{tabular}\n\\end{table}\n", stream);
}
