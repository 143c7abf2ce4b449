/* json_line.c - goes through the text as far as the value, counting lines. */

#include "common/file/json_line.h"

#include <stdbool.h>

/* The rest of the text. */
struct walk {
    const char *at, *end;
    unsigned line;
};

static bool is_at(const struct walk *walk, char c)
{
    return walk->at < walk->end && *walk->at == c;
}

static void step(struct walk *walk)
{
    if (walk->at < walk->end)
        walk->line += *walk->at++ == '\n';
}

static void skip_blanks(struct walk *walk)
{
    while (is_at(walk, ' ') || is_at(walk, '\t') || is_at(walk, '\r') || is_at(walk, '\n'))
        step(walk);
}

static void skip_string(struct walk *walk)
{
    for (step(walk); walk->at < walk->end && !is_at(walk, '"'); step(walk))
        if (is_at(walk, '\\'))
            step(walk);
    step(walk);
}

/* Of any kind: to the comma or bracket behind it. */
static void skip_value(struct walk *walk)
{
    unsigned depth = 0;
    while (walk->at < walk->end) {
        bool opens = is_at(walk, '{') || is_at(walk, '['),
             closes = is_at(walk, '}') || is_at(walk, ']');
        if (depth == 0 && (closes || is_at(walk, ',')))
            return;
        depth = opens ? depth + 1 : closes ? depth - 1 : depth;
        if (is_at(walk, '"'))
            skip_string(walk);
        else
            step(walk);
    }
}

unsigned json_line(const char *text, size_t bytes, const size_t *way, size_t levels)
{
    struct walk walk = {text, text + bytes, 1};
    unsigned line;
    skip_blanks(&walk);
    line = walk.line;
    for (size_t level = 0; level < levels; level++) {
        bool object = is_at(&walk, '{');
        step(&walk);
        for (size_t i = 0; i < way[level]; i++) {
            skip_value(&walk);
            step(&walk); /* The comma. */
        }
        skip_blanks(&walk);
        line = walk.line;
        if (object) {
            skip_string(&walk);
            skip_blanks(&walk);
            step(&walk); /* The colon. */
            skip_blanks(&walk);
        }
    }
    return line;
}
