/* scratch.c - a folder under /tmp, removed with all that is in it. */

#include "tests/lib/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Fixtures of check take no arguments, so this has to live here. */
static char directory[64];

void scratch_open(void)
{
    snprintf(directory, sizeof directory, "/tmp/syncopate-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

void scratch_close(void)
{
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scratch_add(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, scratch_open, scratch_close);
}

void scratch_path(char *path, const char *name)
{
    snprintf(path, DISK_PATH_MAX, "%s/%s", directory, name);
}

void scratch_write(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
}

char *scratch_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*bytes + 1);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(fread(data, 1, *bytes, file), *bytes);
    data[*bytes] = '\0';
    fclose(file);
    return data;
}

int scratch_has(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}
