/* config_style.c - builds class names of svg.h. */

#include "deploy/figures/config_style.h"

#include <stdio.h>

void config_style(char *style, size_t bytes, const char *shape, const struct group *group)
{
    unsigned colour = group->mode_index % SVG_HUES * SVG_SHADES + group->workers_index % SVG_SHADES;
    snprintf(style, bytes, "%s c%u d%u", shape, colour, group->index % SVG_DASHES);
}

void config_begin(struct svg *svg, const struct group *group)
{
    char style[32];
    snprintf(style, sizeof(style), "arm a%u", group->index);
    svg_group(svg, style, group->label);
}

void config_end(struct svg *svg)
{
    svg_group_end(svg);
}

void config_keys(struct plot_key *keys, const struct comparison *comparison, const char *shape)
{
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        snprintf(keys[i].label, sizeof(keys[i].label), "%s", group->label);
        config_style(keys[i].style, sizeof(keys[i].style), shape, group);
    }
}

size_t configs_most_seeds(const struct comparison *comparison)
{
    size_t most = 0;
    for (size_t i = 0; i < comparison->group_count; i++) {
        size_t count = comparison->groups[i].record_count;
        most = count > most ? count : most;
    }
    return most;
}
