/* terminal.c - isatty, TERM, NO_COLOR and the width that the kernel knows. */

#include "common/process/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_UNKNOWN 80

static bool environment_has(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

bool terminal_can_redraw(FILE *out)
{
    const char *term = getenv("TERM");
    bool dumb = term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
    return isatty(fileno(out)) && !dumb;
}

bool terminal_has_colour(FILE *out)
{
    return terminal_can_redraw(out) && !environment_has("NO_COLOR");
}

size_t terminal_width(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH_UNKNOWN;
}

void terminal_draw(struct terminal_block *block, FILE *out, const char *text)
{
    size_t width = terminal_width(out) - 1; /* The last column would make some terminals wrap. */
    if (block->lines > 0)
        fprintf(out, "\033[%zuA", block->lines);
    for (block->lines = 0; *text != '\0'; block->lines++) {
        size_t length = strcspn(text, "\n");
        fprintf(out, "\r%.*s\033[K\n", (int)(length < width ? length : width), text);
        text += length + (text[length] == '\n');
    }
    fprintf(out, "\033[J"); /* What is left of a longer one. */
    fflush(out);
}
