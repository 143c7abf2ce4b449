/* xml.c - a walk over the text with a stack of open elements; the first fault ends it. */

#include "tests/lib/xml.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64
#define NAME_MAX  32

struct checker {
    const char *at;
    const char *fault;
    char open[DEPTH_MAX][NAME_MAX];
    size_t depth;
    size_t roots;
};

static bool refuse(struct checker *checker, const char *fault)
{
    if (checker->fault == NULL)
        checker->fault = fault;
    return false;
}

static bool take_name(struct checker *checker, char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)checker->at[length]) ||
           strchr("-:_", checker->at[length]) != NULL) {
        if (checker->at[length] == '\0' || length + 1 >= NAME_MAX)
            break;
        length++;
    }
    if (length == 0)
        return refuse(checker, "a name is missing");
    memcpy(name, checker->at, length);
    name[length] = '\0';
    checker->at += length;
    return true;
}

/* One character of text or of an attribute. */
static bool take_character(struct checker *checker)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    unsigned char c = (unsigned char)*checker->at;
    if (c == '<' || c == '\0' || c == 127 || (c < ' ' && c != '\n' && c != '\t'))
        return refuse(checker, "a character that may not be there");
    if (c != '&') {
        checker->at++;
        return true;
    }
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        if (strncmp(checker->at, entities[i], strlen(entities[i])) == 0) {
            checker->at += strlen(entities[i]);
            return true;
        }
    }
    return refuse(checker, "an ampersand that begins no entity");
}

static bool take_attribute(struct checker *checker)
{
    char name[NAME_MAX];
    if (!take_name(checker, name))
        return false;
    if (strncmp(checker->at, "=\"", 2) != 0)
        return refuse(checker, "an attribute without a value in quotes");
    checker->at += 2;
    while (*checker->at != '"')
        if (!take_character(checker))
            return false;
    checker->at++;
    return true;
}

static bool take_closing(struct checker *checker)
{
    char name[NAME_MAX];
    checker->at += 2;
    if (!take_name(checker, name))
        return false;
    if (checker->depth == 0 || strcmp(name, checker->open[checker->depth - 1]) != 0)
        return refuse(checker, "an element closed that is not the innermost one");
    if (*checker->at++ != '>')
        return refuse(checker, "a closing tag that goes on");
    checker->depth--;
    return true;
}

static bool take_opening(struct checker *checker)
{
    char name[NAME_MAX];
    checker->at++;
    if (!take_name(checker, name))
        return false;
    while (*checker->at == ' ') {
        checker->at++;
        if (!take_attribute(checker))
            return false;
    }
    checker->roots += checker->depth == 0;
    if (strncmp(checker->at, "/>", 2) == 0) {
        checker->at += 2;
        return true;
    }
    if (*checker->at++ != '>')
        return refuse(checker, "a tag that does not end");
    if (checker->depth == DEPTH_MAX)
        return refuse(checker, "too deep");
    strcpy(checker->open[checker->depth++], name);
    return true;
}

static bool take_one(struct checker *checker)
{
    if (strncmp(checker->at, "</", 2) == 0)
        return take_closing(checker);
    if (*checker->at == '<')
        return take_opening(checker);
    if (checker->depth == 0 && !isspace((unsigned char)*checker->at))
        return refuse(checker, "text outside the root");
    return take_character(checker);
}

const char *xml_fault(const char *text, char *why, size_t why_bytes)
{
    static const char doctype[] = "<!DOCTYPE html>";
    struct checker checker = {.at = text};
    if (strncmp(text, doctype, strlen(doctype)) == 0)
        checker.at += strlen(doctype);
    while (*checker.at && take_one(&checker))
        continue;
    if (checker.fault == NULL && checker.depth > 0)
        checker.fault = "an element that is never closed";
    if (checker.fault == NULL && checker.roots != 1)
        checker.fault = "not exactly one root";
    if (checker.fault == NULL)
        return NULL;
    snprintf(why, why_bytes, "%s at \"%.60s\"", checker.fault, checker.at);
    return why;
}
