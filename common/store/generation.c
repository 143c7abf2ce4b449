/* generation.c - four lines of text, read generously and accepted only byte for byte as this
 * program writes them. */

#include "common/store/generation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 160

bool generation_equal(const struct generation *a, const struct generation *b)
{
    return a->run_id == b->run_id && a->number == b->number && a->ended == b->ended &&
           a->exit_code == b->exit_code;
}

static size_t print(const struct generation *generation, char text[TEXT_MAX])
{
    char state[32] = "open";
    if (generation->ended)
        snprintf(state, sizeof state, "ended %" PRIu32, generation->exit_code);
    return (size_t)snprintf(text, TEXT_MAX,
                            "syncopate-generation-1\n"
                            "run_id %016" PRIx64 "\n"
                            "generation %" PRIu64 "\n"
                            "state %s\n",
                            generation->run_id, generation->number, state);
}

/* The number after `name`, and in *rest the text behind it; false when it is not there. */
static bool take(const char *text, const char *name, int base, uint64_t *number, char **rest)
{
    const char *at = strstr(text, name);
    if (at == NULL)
        return false;
    *number = strtoull(at + strlen(name), rest, base);
    return true;
}

/* Read it generously, then insist on the bytes that this program would have written. */
static bool parse(struct generation *generation, const char *text, size_t bytes)
{
    char canonical[TEXT_MAX], *rest;
    uint64_t exit_code = 0;
    memset(generation, 0, sizeof *generation);
    if (!take(text, "\nrun_id ", 16, &generation->run_id, &rest) ||
        !take(rest, "\ngeneration ", 10, &generation->number, &rest))
        return false;
    generation->ended = take(rest, "\nstate ended ", 10, &exit_code, &rest);
    generation->exit_code = (uint32_t)exit_code;
    return exit_code <= UINT8_MAX && generation->number <= INT64_MAX &&
           print(generation, canonical) == bytes && memcmp(canonical, text, bytes) == 0;
}

static bool find_path(char path[DISK_PATH_MAX], const char *out)
{
    return snprintf(path, DISK_PATH_MAX, "%s/" GENERATION_NAME, out) < DISK_PATH_MAX;
}

enum status generation_read(struct generation *generation, const struct disk *disk, const char *out,
                            struct error *error)
{
    char path[DISK_PATH_MAX], text[TEXT_MAX + 1];
    void *data;
    size_t bytes;
    memset(generation, 0, sizeof *generation);
    if (!find_path(path, out))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    enum status status = disk->read_file(disk->context, path, TEXT_MAX, &data, &bytes, error);
    if (status != STATUS_OK)
        return status;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    free(data);
    if (!parse(generation, text, bytes)) {
        memset(generation, 0, sizeof *generation);
        return error_set(error, STATUS_INVALID, "%.300s: damaged, cut off or changed by hand",
                         path);
    }
    return STATUS_OK;
}

enum status generation_write(const struct generation *generation, const struct disk *disk,
                             const char *out, struct error *error)
{
    char path[DISK_PATH_MAX], text[TEXT_MAX];
    if (!find_path(path, out))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    const struct disk_piece piece = {text, print(generation, text)};
    return disk->write_file(disk->context, path, &piece, 1, error);
}
