/* key.c - Z85, there and back, by ZeroMQ RFC 32's table. */

#include "common/base/key.h"

#include <string.h>

static const char alphabet[] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

void key_format(const uint8_t key[KEY_BYTES], char text[KEY_TEXT])
{
    for (int group = 0; group < KEY_BYTES / 4; group++) {
        uint32_t value = 0;
        for (int i = 0; i < 4; i++)
            value = value << 8 | key[4 * group + i];
        for (int i = 4; i >= 0; i--, value /= 85)
            text[5 * group + i] = alphabet[value % 85];
    }
    text[KEY_TEXT - 1] = '\0';
}

bool key_parse(const char *text, uint8_t key[KEY_BYTES])
{
    for (int group = 0; group < KEY_BYTES / 4; group++) {
        uint64_t value = 0;
        for (int i = 0; i < 5; i++) {
            char letter = text[5 * group + i];
            const char *found = letter != '\0' ? strchr(alphabet, letter) : NULL;
            if (found == NULL)
                return false;
            value = value * 85 + (uint64_t)(found - alphabet);
        }
        if (value > UINT32_MAX)
            return false;
        for (int i = 3; i >= 0; i--, value >>= 8)
            key[4 * group + i] = (uint8_t)value;
    }
    return true;
}

bool key_is_none(const uint8_t key[KEY_BYTES])
{
    static const uint8_t none[KEY_BYTES];
    return key_equal(key, none);
}

/* Public keys are no secret: how long this takes may tell where they differ. */
bool key_equal(const uint8_t a[KEY_BYTES], const uint8_t b[KEY_BYTES])
{
    return memcmp(a, b, KEY_BYTES) == 0;
}
