/* place_of.c - lines become an array, which nobody keeps. */

#include "tests/lib/place_of.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct place_request place_asked(void)
{
    return (struct place_request){.index = -1, .servers = -1, .host = "here"};
}

/* The text whose lines they are, to be freed. */
static char *split(const char *lines, const char *environment[PLACE_LINES_MAX + 1])
{
    char *text = strdup(lines), *rest = text;
    size_t count = 0;
    ck_assert_ptr_nonnull(text);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0' && count < PLACE_LINES_MAX)
            environment[count++] = line;
    environment[count] = NULL;
    return text;
}

bool several_of(const char *lines, char said[PLACE_TEXT_MAX], bool *first)
{
    const char *environment[PLACE_LINES_MAX + 1];
    char *text = split(lines, environment);
    bool several = place_one_of_several(environment, said, first);
    free(text);
    return several;
}

enum status place_of(struct place *place, struct place_request request, const char *lines,
                     struct error *error)
{
    const char *environment[PLACE_LINES_MAX + 1];
    char *text = split(lines, environment);
    request.environment = environment;
    enum status status = place_find(place, &request, error);
    free(text);
    return status;
}

void place_is(struct place_request request, const char *lines, const char *described,
              const char *ps_hosts)
{
    struct place place;
    struct error error = {0};
    char text[2 * PLACE_TEXT_MAX];
    enum status status = place_of(&place, request, lines, &error);
    ck_assert_msg(status == STATUS_OK, "refused: %s", error.text);
    place_describe(&place, text);
    ck_assert_str_eq(text, described);
    ck_assert_str_eq(error.text, "");
    if (ps_hosts == NULL)
        ck_assert_ptr_null(place.ps_hosts);
    else
        ck_assert_str_eq(place.ps_hosts, ps_hosts);
    place_free(&place);
}

void place_is_refused(struct place_request request, const char *lines, const char *said)
{
    struct place place;
    struct error error = {0};
    char text[2 * PLACE_TEXT_MAX] = "";
    enum status status = place_of(&place, request, lines, &error);
    if (status == STATUS_OK)
        place_describe(&place, text);
    ck_assert_msg(status == STATUS_INVALID, "not refused: %s", text);
    ck_assert_str_eq(error.text, said);
    ck_assert_ptr_null(place.ps_hosts);
}
