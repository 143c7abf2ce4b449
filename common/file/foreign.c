/* foreign.c - names what a file is that is not what was expected, by its first bytes. */

#include "common/file/foreign.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* By their first bytes. */
static const struct {
    const char *start;
    size_t bytes;
    const char *what;
} known[] = {
    {"PK\3\4", 4, "a zip archive, such as torch.save of PyTorch and Keras write"},
    {"\x80\2", 2, "a Python pickle"},
    {"\x80\4", 2, "a Python pickle"},
    {"\x89HDF", 4, "an HDF5 file, such as Keras writes"},
    {"PAR1", 4, "a Parquet file"},
    {"\x93NUMPY", 6, "a NumPy array"},
    {"GGUF", 4, "a GGUF file"},
    {"\0\0\x08\x01", 4, "labels of a data set (IDX)"},
    {"\0\0\x08\x03", 4, "images of a data set (IDX)"},
    {"\x1f\x8b", 2, "a gzip file"},
    {"BZh", 3, "a bzip2 file"},
    {"\xfd"
     "7zXZ",
     5, "an xz file"},
    {"\x28\xb5\x2f\xfd", 4, "a Zstandard file"},
    {"\x89PNG", 4, "a PNG image"},
    {"\xff\xd8\xff", 3, "a JPEG image"},
    {"GIF8", 4, "a GIF image"},
    {"%PDF", 4, "a PDF document"},
    {"\x7f"
     "ELF",
     4, "a program"},
};

/* Bytes of text in any encoding that keeps ASCII's control characters. */
static bool is_text(const uint8_t *start, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (start[i] == 127 || (start[i] < ' ' && memchr("\t\n\r\f", start[i], 4) == NULL))
            return false;
    return true;
}

static bool is_zeros(const uint8_t *start, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (start[i] != 0)
            return false;
    return true;
}

/* The first word of a text, as far as it is plain. */
static int word_length(const uint8_t *start, size_t count)
{
    int length = 0;
    while ((size_t)length < count && length < 20 && start[length] > ' ' && start[length] < 127)
        length++;
    return length;
}

bool foreign_describe(const void *bytes, size_t count, char text[FOREIGN_TEXT_MAX])
{
    const uint8_t *start = bytes;
    const char *what = "";
    for (size_t i = 0; i < sizeof known / sizeof *known && what[0] == '\0'; i++)
        if (count >= known[i].bytes && memcmp(start, known[i].start, known[i].bytes) == 0)
            what = known[i].what;
    if (what[0] == '\0' && is_zeros(start, count))
        what = "zeros";
    if (what[0] == '\0' && is_text(start, count))
        what = start[0] == '{' ? "JSON text" : "text";
    int word = strcmp(what, "text") == 0 ? word_length(start, count) : 0;
    snprintf(text, FOREIGN_TEXT_MAX, word > 0 ? "%s ('%.*s')" : "%s", what, word,
             (const char *)bytes);
    return what[0] != '\0';
}
