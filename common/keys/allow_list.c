/* allow_list.c - reads all certificates of a folder, sorts them by key, drops those that share one,
 * and finds by bisection. */

#include "common/keys/allow_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/file/disk.h"
#include "common/keys/certificate.h"

#define SUFFIX ".key"

/* A list in the making; the first thing that went wrong is kept. */
struct loading {
    struct allow_list *list;
    const char *directory;
    size_t capacity;
    enum status status;
    struct error *error;
};

static void note(struct loading *loading, enum status status, const char *name, const char *text)
{
    if (loading->status != STATUS_OK)
        return;
    loading->status = status;
    error_set(loading->error, status, "%.200s/%.100s: %.150s", loading->directory, name, text);
}

static bool has_room(struct loading *loading)
{
    struct allow_list *list = loading->list;
    struct identity *entries =
        array_room(list->entries, list->count, &loading->capacity, sizeof *entries);
    if (entries != NULL)
        list->entries = entries;
    return entries != NULL;
}

static void add(struct loading *loading, const char *name, const struct certificate *certificate)
{
    struct error error;
    struct identity identity;
    enum status status = certificate_identity(certificate, &identity, &error);
    if (status != STATUS_OK)
        note(loading, status, name, error.text);
    else if (loading->list->count == ALLOW_LIST_MAX || !has_room(loading))
        note(loading, STATUS_MEMORY, name, "there are too many certificates");
    else
        loading->list->entries[loading->list->count++] = identity;
}

static void visit(void *argument, const char *name)
{
    struct loading *loading = argument;
    char path[2 * DISK_PATH_MAX];
    struct certificate certificate;
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    if (length <= suffix || strcmp(name + length - suffix, SUFFIX) != 0)
        return;
    snprintf(path, sizeof path, "%s/%s", loading->directory, name);
    struct error error;
    enum status status = certificate_read_public(path, &certificate, &error);
    if (status == STATUS_OK)
        add(loading, name, &certificate);
    else if (loading->status == STATUS_OK)
        loading->status = error_set(loading->error, status, "%s", error.text);
}

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct identity *)a)->key, ((const struct identity *)b)->key, KEY_BYTES);
}

static void drop_twins(struct loading *loading)
{
    struct allow_list *list = loading->list;
    uint32_t kept = 0;
    for (uint32_t i = 0, end; i < list->count; i = end) {
        for (end = i + 1; end < list->count; end++)
            if (!key_equal(list->entries[i].key, list->entries[end].key))
                break;
        char text[KEY_TEXT + 40];
        key_format(list->entries[i].key, text);
        strcat(text, " is in two files");
        if (end > i + 1)
            note(loading, STATUS_INVALID, "*.key", text);
        else
            list->entries[kept++] = list->entries[i];
    }
    list->count = kept;
}

enum status allow_list_load(struct allow_list *list, const char *directory, struct error *error)
{
    allow_list_free(list);
    struct loading loading = {.list = list, .directory = directory, .error = error};
    enum status status =
        disk_posix.list_directory(disk_posix.context, directory, visit, &loading, error);
    if (status != STATUS_OK) {
        allow_list_free(list);
        return status;
    }
    if (list->count > 1)
        qsort(list->entries, list->count, sizeof *list->entries, compare);
    drop_twins(&loading);
    return loading.status;
}

void allow_list_free(struct allow_list *list)
{
    free(list->entries);
    memset(list, 0, sizeof *list);
}

const struct identity *allow_list_find(const struct allow_list *list, const uint8_t key[KEY_BYTES])
{
    struct identity wanted = {0};
    memcpy(wanted.key, key, KEY_BYTES);
    return list->count == 0 ? NULL
                            : bsearch(&wanted, list->entries, list->count, sizeof wanted, compare);
}
