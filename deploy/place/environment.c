/* environment.c - finds variables in an array of "NAME=value". */

#include "deploy/place/environment.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

const char *environment_value(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] != '\0' ? *environment + length + 1 : NULL;
    return NULL;
}

bool environment_digits(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t number = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return false;
    *value = number;
    return number <= max;
}

enum status environment_number(const char *const *environment, const char *name, uint64_t max,
                               uint64_t *value, struct error *error)
{
    const char *text = environment_value(environment, name);
    if (text == NULL)
        return error_set(error, STATUS_NOT_FOUND, "%s is not set", name);
    if (!environment_digits(text, max, value))
        return error_set(error, STATUS_INVALID, "%s=%.60s: needs a whole number from 0 to %" PRIu64,
                         name, text, max);
    return STATUS_OK;
}
