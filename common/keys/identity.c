/* identity.c - the text "KEY", "KEY role" or "KEY role/index", written and read back. */

#include "common/keys/identity.h"

#include <stdio.h>
#include <string.h>

#include "common/wire/message.h"

void identity_format(const struct identity *identity, char text[IDENTITY_TEXT])
{
    key_format(identity->key, text);
    size_t used = KEY_TEXT - 1;
    if (identity->role == ROLE_NONE)
        return;
    const char *role = role_name((enum role)identity->role);
    if (identity->has_index)
        snprintf(text + used, IDENTITY_TEXT - used, " %s/%u", role, identity->index);
    else
        snprintf(text + used, IDENTITY_TEXT - used, " %s", role);
}

bool identity_role_parse(const char *word, uint32_t *role)
{
    for (uint32_t i = ROLE_NONE + 1; i < ROLE_COUNT; i++)
        if (strcmp(word, role_name((enum role)i)) == 0) {
            *role = i;
            return true;
        }
    return false;
}

bool identity_index_parse(const char *digits, uint32_t max, uint32_t *index)
{
    uint64_t value = 0;
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 9 || digits[length] != '\0' || (digits[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++)
        value = 10 * value + (uint64_t)(digits[i] - '0');
    *index = (uint32_t)value;
    return value <= max;
}

/* "worker" or "worker/3" */
static bool parse_limits(const char *text, struct identity *identity)
{
    char word[IDENTITY_TEXT];
    size_t length = strcspn(text, "/");
    if (length >= sizeof word)
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    if (!identity_role_parse(word, &identity->role))
        return false;
    identity->has_index = text[length] == '/';
    return !identity->has_index ||
           identity_index_parse(text + length + 1, UINT32_MAX, &identity->index);
}

bool identity_parse(const char *text, struct identity *identity)
{
    memset(identity, 0, sizeof *identity);
    size_t length = strnlen(text, IDENTITY_TEXT);
    const char *rest = text + KEY_TEXT - 1;
    bool valid = length >= KEY_TEXT - 1 && length < IDENTITY_TEXT &&
                 key_parse(text, identity->key) &&
                 (*rest == '\0' || (*rest == ' ' && parse_limits(rest + 1, identity)));
    if (!valid)
        memset(identity, 0, sizeof *identity);
    return valid;
}

bool identity_may_be(const struct identity *identity, uint32_t role, uint32_t index)
{
    if (key_is_none(identity->key) || identity->role == ROLE_NONE || role == ROLE_OBSERVER)
        return true;
    return identity->role == role && (!identity->has_index || identity->index == index);
}

void identity_describe(const struct identity *identity, char *text, size_t size)
{
    const char *role = role_name((enum role)identity->role);
    if (identity->role == ROLE_NONE)
        snprintf(text, size, "anything");
    else if (identity->has_index)
        snprintf(text, size, "%s/%u", role, identity->index);
    else
        snprintf(text, size, "any %s", role);
}
