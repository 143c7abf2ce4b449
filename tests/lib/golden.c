/* golden.c - reads the file into a table, compares what is given with its entries, and writes it
 * anew when asked to. */

#include "tests/lib/golden.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

struct golden_entry {
    char *name; /* The whole line's memory. */
    const char *value;
    bool given;
};

struct golden {
    const char *path;
    bool writes;
    char *comment, *written; /* Texts to be written. */
    struct golden_entry *entries;
    size_t count, differ;
    char names[400]; /* Of the first that differ. */
};

/* One more line: "name value". */
static void append(char **text, const char *name, const char *value)
{
    size_t used = *text == NULL ? 0 : strlen(*text), more = strlen(name) + strlen(value);
    *text = realloc(*text, used + more + 3);
    ck_assert_ptr_nonnull(*text);
    sprintf(*text + used, "%s%s%s\n", name, *value == '\0' ? "" : " ", value);
}

static void add_entry(struct golden *golden, char *line)
{
    golden->entries = realloc(golden->entries, (golden->count + 1) * sizeof *golden->entries);
    ck_assert_ptr_nonnull(golden->entries);
    struct golden_entry *entry = &golden->entries[golden->count++];
    *entry = (struct golden_entry){.name = strdup(line)};
    ck_assert_ptr_nonnull(entry->name);
    char *space = strchr(entry->name, ' ');
    ck_assert_msg(space != NULL, "%s: a line without a value: %s", golden->path, line);
    *space = '\0';
    entry->value = space + 1;
}

struct golden *golden_open(const char *path)
{
    struct golden *golden = calloc(1, sizeof *golden);
    const char *wanted = getenv("TEST_GOLDEN");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    ck_assert_ptr_nonnull(golden);
    golden->path = path;
    golden->writes = wanted != NULL && strcmp(wanted, "write") == 0;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read: run tests from the top of the sources", path);
    while ((length = getline(&line, &size, file)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#')
            append(&golden->comment, line, "");
        else if (*line != '\0')
            add_entry(golden, line);
    }
    free(line);
    fclose(file);
    return golden;
}

static struct golden_entry *find(const struct golden *golden, const char *name)
{
    for (size_t i = 0; i < golden->count; i++)
        if (strcmp(golden->entries[i].name, name) == 0)
            return &golden->entries[i];
    return NULL;
}

const char *golden_find(const struct golden *golden, const char *name)
{
    const struct golden_entry *entry = find(golden, name);
    return entry == NULL ? NULL : entry->value;
}

static void differs(struct golden *golden, const char *name, const char *how)
{
    size_t used = strlen(golden->names);
    golden->differ++;
    snprintf(golden->names + used, sizeof golden->names - used, "\n    %s %s", name, how);
}

void golden_line(struct golden *golden, const char *name, const char *value)
{
    struct golden_entry *entry = find(golden, name);
    append(&golden->written, name, value);
    if (entry == NULL)
        differs(golden, name, "has no line");
    else if (entry->given)
        differs(golden, name, "is given twice");
    else if (strcmp(entry->value, value) != 0)
        differs(golden, name, "differs");
    if (entry != NULL)
        entry->given = true;
}

static void write_anew(const struct golden *golden)
{
    FILE *file = fopen(golden->path, "w");
    ck_assert_msg(file != NULL, "%s cannot be written", golden->path);
    fputs(golden->comment == NULL ? "" : golden->comment, file);
    fputs(golden->written == NULL ? "" : golden->written, file);
    ck_assert_int_eq(fclose(file), 0);
}

void golden_check(struct golden *golden, const char *advice)
{
    for (size_t i = 0; i < golden->count; i++)
        if (!golden->entries[i].given)
            differs(golden, golden->entries[i].name, "is in the file only");
    if (golden->writes) {
        write_anew(golden);
        ck_abort_msg("%s was written anew: look at what changed, then run without TEST_GOLDEN",
                     golden->path);
    }
    ck_assert_msg(golden->differ == 0, "%zu differ from %s:%s\n%s", golden->differ, golden->path,
                  golden->names, advice);
}

void golden_free(struct golden *golden)
{
    for (size_t i = 0; i < golden->count; i++)
        free(golden->entries[i].name);
    free(golden->entries);
    free(golden->comment);
    free(golden->written);
    free(golden);
}
