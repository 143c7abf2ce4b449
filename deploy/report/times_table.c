/* times_table.c - writes time_kinds.h as a grid. */

#include "deploy/report/times_table.h"

#include "deploy/conclusion/conclusion_text.h"
#include "deploy/figures/time_kinds.h"
#include "deploy/report/grid.h"

_Static_assert(GRID_ROWS_MAX >= COMPARISON_GROUPS_MAX, "an arm has a row");
_Static_assert(GRID_COLUMNS_MAX >= TIME_KINDS + 2, "so has every kind a column");

static void fill_row(struct grid *grid, const struct comparison *comparison,
                     const struct group *group)
{
    double seconds[TIME_KINDS];
    size_t column = 0;
    double total = time_of_config(group, seconds);
    grid_row(grid);
    grid_cell(grid, column++, "%s", group->label);
    for (size_t kind = 0; kind < TIME_KINDS; kind++)
        if (time_kind_used(comparison, kind))
            grid_cell(grid, column++, "%s", conclusion_seconds(seconds[kind], total).text);
    grid_cell(grid, column, "%s", conclusion_seconds(total, total).text);
}

void times_table_write_html(FILE *stream, const struct comparison *comparison)
{
    struct grid grid;
    size_t used = 0;
    grid_init(&grid);
    grid_column(&grid, "", "seconds of a worker", false);
    for (size_t kind = 0; kind < TIME_KINDS; kind++) {
        if (!time_kind_used(comparison, kind))
            continue;
        grid_column(&grid, "", time_kind(kind)->heading, false);
        used++;
    }
    grid_column(&grid, "", "in all", false);
    for (size_t i = 0; i < comparison->group_count; i++)
        if (comparison->groups[i].record_count > 0)
            fill_row(&grid, comparison, &comparison->groups[i]);
    if (used > 0)
        grid_write_html(stream, &grid);
}
