/* identity.c - sums over the runs of a group; the sides are compared for each run, because opposite
 * errors of two runs would cancel. */

#include "deploy/report/identity.h"

#include "common/base/wording.h"
#include "deploy/figures/svg.h"
#include "deploy/report/grid.h"

struct sides {
    uint64_t sum, renewed, expected, apart; /* apart: by how much the sides differ, of all runs. */
    bool any;
};

static struct sides sides_of(const struct group *group)
{
    struct sides sides = {0};
    for (size_t i = 0; i < group->record_count; i++) {
        const struct staleness *staleness = &group->records[i]->summary.staleness;
        uint64_t left = staleness->shape.sum + staleness->renewed;
        if (staleness->shape.count == 0)
            continue;
        sides.any = true;
        sides.sum += staleness->shape.sum;
        sides.renewed += staleness->renewed;
        sides.expected += staleness->expected;
        sides.apart +=
            left > staleness->expected ? left - staleness->expected : staleness->expected - left;
    }
    return sides;
}

static void put_count(FILE *stream, uint64_t count)
{
    fprintf(stream, "<td>%s</td>", wording_count(count).text);
}

static void put_row(FILE *stream, const struct group *group, const struct sides *sides)
{
    fputs("<tr><th scope=\"row\">", stream);
    svg_escape(stream, group->label, sizeof(group->label));
    fputs("</th>", stream);
    put_count(stream, sides->sum);
    put_count(stream, sides->renewed);
    put_count(stream, sides->sum + sides->renewed);
    put_count(stream, sides->expected);
    if (sides->apart == 0)
        fputs("<td>equal</td></tr>\n", stream);
    else
        fprintf(stream, "<td class=\"bad\">differ by %s</td></tr>\n",
                wording_count(sides->apart).text);
}

void identity_write_html(FILE *stream, const struct comparison *comparison)
{
    bool open = false;
    for (size_t i = 0; i < comparison->group_count; i++) {
        struct sides sides = sides_of(&comparison->groups[i]);
        if (!sides.any)
            continue;
        if (!open)
            fputs(GRID_HTML_BEGIN
                  "<caption>Both sides of staleness</caption>\n<thead><tr><th "
                  "scope=\"col\">updates, added up in every chunk</th><th "
                  "scope=\"col\">sum</th><th scope=\"col\">renewed</th>"
                  "<th scope=\"col\">sum + renewed</th><th scope=\"col\">expected</th>"
                  "<th scope=\"col\"></th></tr></thead>\n<tbody>\n",
                  stream);
        open = true;
        put_row(stream, &comparison->groups[i], &sides);
    }
    if (open)
        fputs("</tbody>\n" GRID_HTML_END, stream);
}
