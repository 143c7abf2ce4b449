/* key.h - the public half of a CURVE key pair: 32 bytes, or 40 characters of Z85 for people.
 *
 * Z85 (ZeroMQ RFC 32) has no quotes, spaces or backslashes, so a key can stand in files and logs.
 *
 * Threads: plain values. */

#ifndef COMMON_BASE_KEY_H
#define COMMON_BASE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_BYTES 32
#define KEY_TEXT  41 /* With the terminating zero. */

void key_format(const uint8_t key[KEY_BYTES], char text[KEY_TEXT]);

/* From exactly 40 characters, at `text`, whatever comes after them; false when they are no Z85, or
 * stand for more than 32 bits in five. Bytes may come from anyone. */
bool key_parse(const char *text, uint8_t key[KEY_BYTES]);

/* No process has this key: it stands for "keys are not used". */
bool key_is_none(const uint8_t key[KEY_BYTES]);

bool key_equal(const uint8_t a[KEY_BYTES], const uint8_t b[KEY_BYTES]);

#endif
