/* data_files.c - finds the four arrays of a data set and opens them. */

#include "worker/data/data_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file/disk.h"
#include "common/file/foreign.h"
#include "worker/data/csv.h"

#define DOWN_MAX 32 /* Folders in a folder that are looked into. */

enum role { TRAIN_INPUTS, TRAIN_LABELS, TEST_INPUTS, TEST_LABELS, ROLES };

static struct array *array_of(struct data_files *files, unsigned role)
{
    struct data_part *part = role < TEST_INPUTS ? &files->train : &files->test;
    return role % 2 == 0 ? &part->inputs : &part->labels;
}

/* --- a folder of IDX files -------------------------------------------------------------------- */

static const char *const usual[ROLES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

struct search {
    char path[PACKED_PATH_MAX]; /* Of the folder. */
    char names[ROLES][200],
        others[ROLES][200]; /* "": not found; of two that may be meant, the other. */
    unsigned found;
};

static size_t base_length(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".gz") == 0 ? length - 3 : length;
}

static bool same_base(const char *a, const char *b)
{
    size_t length = base_length(a);
    return length == base_length(b) && memcmp(a, b, length) == 0;
}

static bool is_like(const char *name, unsigned role)
{
    bool train = strstr(name, "train") != NULL,
         test = strstr(name, "t10k") != NULL || strstr(name, "test") != NULL;
    return strstr(name, "idx") != NULL && (role < TEST_INPUTS ? train : test && !train) &&
           strstr(name, role % 2 == 0 ? "images" : "labels") != NULL;
}

/* The usual name counts before others, and a plain file before a compressed one. */
static void note_name(void *argument, const char *name)
{
    struct search *search = argument;
    for (unsigned role = 0; role < ROLES; role++) {
        char *found = search->names[role];
        if (strlen(name) >= sizeof search->names[role] || !is_like(name, role))
            continue;
        bool none = found[0] == '\0', is_usual = same_base(name, usual[role]),
             was_usual = !none && same_base(found, usual[role]);
        search->found += none;
        if (none || (is_usual && !was_usual) ||
            (same_base(name, found) && strlen(name) < strlen(found)))
            snprintf(found, sizeof search->names[role], "%s", name);
        else if (!was_usual && !same_base(name, found))
            snprintf(search->others[role], sizeof search->others[role], "%s", name);
        if (is_usual)
            search->others[role][0] = '\0';
    }
}

static enum status search_folder(struct search *search, const char *path, struct error *error)
{
    memset(search, 0, sizeof *search);
    if (strlen(path) >= sizeof search->path)
        return error_set(error, STATUS_INVALID, "%.200s...: the path is too long", path);
    memcpy(search->path, path, strlen(path) + 1);
    return disk_posix.list_directory(disk_posix.context, path, note_name, search, error);
}

struct folders {
    char names[DOWN_MAX][200];
    unsigned count;
};

static void note_folder(void *argument, const char *name)
{
    struct folders *folders = argument;
    if (folders->count < DOWN_MAX && strlen(name) < sizeof folders->names[0])
        memcpy(folders->names[folders->count++], name, strlen(name) + 1);
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* One folder down, where only one of them has such files. */
static enum status search_down(struct search *search, struct error *error)
{
    struct folders folders = {.count = 0};
    struct search below, only = {.found = 0};
    char path[PACKED_PATH_MAX + 201];
    enum status status =
        disk_posix.list_directory(disk_posix.context, search->path, note_folder, &folders, error);
    for (unsigned i = 0; i < folders.count && status == STATUS_OK; i++) {
        snprintf(path, sizeof path, "%s/%s", search->path, folders.names[i]);
        if (!is_folder(path) || search_folder(&below, path, NULL) != STATUS_OK || below.found == 0)
            continue;
        if (only.found > 0)
            return error_set(error, STATUS_INVALID,
                             "%s and %s have data: give one of them as --data", only.path,
                             below.path);
        only = below;
    }
    if (only.found > 0)
        *search = only;
    return status;
}

static enum status refuse_missing(const struct search *search, unsigned role, struct error *error)
{
    const char *hint = role < TEST_INPUTS ? "" : ", or give --test-part 0.2";
    return error_set(error, STATUS_NOT_FOUND,
                     "there is neither %s nor %s.gz in %s: rename the file that it is%s "
                     "(deploy/DATA.md says what can be read)",
                     usual[role], usual[role], search->path, hint);
}

static enum status open_found(struct data_files *files, const struct search *search,
                              struct error *error)
{
    enum status status = STATUS_OK;
    for (unsigned role = 0; role < ROLES && status == STATUS_OK; role++) {
        char path[PACKED_PATH_MAX + 201];
        if (search->others[role][0] != '\0')
            return error_set(error, STATUS_INVALID,
                             "%s has %s and %s: a folder has one data set, so put one elsewhere",
                             search->path, search->names[role], search->others[role]);
        if (role >= TEST_INPUTS && !files->has_test)
            continue;
        if (search->names[role][0] == '\0')
            return refuse_missing(search, role, error);
        snprintf(path, sizeof path, "%s/%s", search->path, search->names[role]);
        status = array_open(array_of(files, role), path, error);
    }
    return status;
}

static enum status open_folder(struct data_files *files, const struct data_text *data,
                               struct error *error)
{
    struct search search;
    enum status status = search_folder(&search, data->files, error);
    if (status == STATUS_OK && search.found == 0)
        status = search_down(&search, error);
    if (status != STATUS_OK)
        return status;
    files->has_test = data->test_part < 0 || search.names[TEST_INPUTS][0] != '\0' ||
                      search.names[TEST_LABELS][0] != '\0';
    return open_found(files, &search, error);
}

/* --- an archive ------------------------------------------------------------------------------- */

static enum status open_archive(struct data_files *files, const char *path, struct error *error)
{
    static const char *const members[ROLES] = {"x_train.npy", "y_train.npy", "x_test.npy",
                                               "y_test.npy"};
    struct error why = {0};
    enum status status = STATUS_OK;
    files->has_test = true;
    for (unsigned role = 0; role < ROLES && status == STATUS_OK; role++) {
        if (role == TEST_LABELS && !files->has_test)
            break;
        status = array_open_member(array_of(files, role), path, members[role], &why);
        if (status == STATUS_NOT_FOUND && role == TEST_INPUTS) {
            files->has_test = false;
            status = STATUS_OK;
        }
    }
    if (status == STATUS_NOT_FOUND)
        return error_set(
            error, STATUS_INVALID,
            "%.300s: np.savez(\"data.npz\", x_train=x, y_train=y, x_test=tx, y_test=ty) "
            "writes what is read",
            why.text);
    return status ? error_set(error, status, "%s", why.text) : STATUS_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define TEXT_FIRST (1u << 20) /* Bytes of the first allocation of a text. */

/* The whole text, with a zero behind it; the caller's. */
static enum status read_text(const char *path, char **text, uint64_t *bytes, struct error *error)
{
    struct packed packed;
    uint64_t room = TEXT_FIRST, got = 0;
    enum status status = packed_open(&packed, path, error);
    *text = NULL;
    for (*bytes = 0; status == STATUS_OK; room *= 2) {
        char *more = room <= ARRAY_BYTES_MAX ? realloc(*text, room + 1) : NULL;
        if (more == NULL) {
            status = error_set(error, STATUS_MEMORY, "%s: out of memory", path);
            break;
        }
        *text = more;
        status = packed_read(&packed, *text + *bytes, room - *bytes, &got, error);
        *bytes += got;
        if (*bytes < room)
            break;
    }
    packed_close(&packed);
    if (status == STATUS_OK)
        (*text)[*bytes] = '\0';
    return status;
}

static enum status refuse_foreign(const char *path, const char *text, uint64_t bytes,
                                  struct error *error)
{
    char what[FOREIGN_TEXT_MAX];
    bool known = bytes > 0 && foreign_describe(text, bytes < 64 ? bytes : 64, what);
    if (known && strncmp(what, "text", 4) == 0)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%s: is %s; what can be read is a folder of IDX files, .npy, .npz or CSV "
                     "(deploy/DATA.md says how NumPy makes one of it)",
                     path,
                     bytes == 0 ? "empty"
                     : known    ? what
                                : "of no kind that is known here");
}

/* Bytes stay bytes where both sets have no other numbers. */
static enum status take_numbers(struct array *array, struct csv *csv, bool bytes)
{
    uint64_t count = csv->rows * (csv->columns - 1);
    *array = (struct array){.kind = bytes ? ARRAY_UNSIGNED : ARRAY_FLOAT,
                            .width = bytes ? 1 : sizeof(float),
                            .rank = 2,
                            .sizes = {csv->rows, csv->columns - 1, 1, 1}};
    snprintf(array->packed.path, sizeof array->packed.path, "%s", csv->path);
    array->data = bytes ? malloc(count) : (uint8_t *)csv->numbers;
    if (!bytes)
        csv->numbers = NULL;
    if (array->data == NULL)
        return STATUS_MEMORY;
    for (uint64_t i = 0; bytes && i < count; i++)
        array->data[i] = (uint8_t)csv->numbers[i];
    return STATUS_OK;
}

static void take_labels(struct array *array, const struct csv *csv, double *values)
{
    *array = (struct array){.kind = ARRAY_FLOAT,
                            .width = sizeof(double),
                            .rank = 1,
                            .sizes = {csv->rows, 1, 1, 1},
                            .data = (uint8_t *)values};
    snprintf(array->packed.path, sizeof array->packed.path, "%s", csv->path);
}

static enum status take_tables(struct data_files *files, struct csv tables[2], unsigned count,
                               const struct data_text *data, struct error *error)
{
    struct data_part *const parts[] = {&files->train, &files->test};
    double *values[2] = {NULL, NULL};
    bool bytes = tables[0].bytes && (count == 1 || tables[1].bytes);
    if (count == 2 &&
        (tables[0].columns != tables[1].columns || tables[0].label != tables[1].label))
        return error_set(error, STATUS_INVALID, "%s and %s have different columns", tables[0].path,
                         tables[1].path);
    enum status status = csv_labels(tables, count, data->real, values, error);
    for (unsigned i = 0; i < count; i++) {
        take_labels(&parts[i]->labels, &tables[i], values[i]);
        if (status == STATUS_OK && take_numbers(&parts[i]->inputs, &tables[i], bytes) != STATUS_OK)
            status = error_set(error, STATUS_MEMORY, "%s: out of memory", tables[i].path);
    }
    return status;
}

static enum status open_tables(struct data_files *files, const struct data_text *data,
                               char names[DATA_FILES_MAX][DATA_TEXT_MAX], unsigned count,
                               struct error *error)
{
    struct csv tables[2] = {{0}, {0}};
    char *texts[2] = {NULL, NULL};
    uint64_t bytes;
    enum status status = STATUS_OK;
    files->is_table = true;
    files->has_test = count == 2;
    for (unsigned i = 0; i < count && status == STATUS_OK; i++) {
        status = read_text(names[i], &texts[i], &bytes, error);
        status = status ? status : refuse_foreign(names[i], texts[i], bytes, error);
        status =
            status ? status : csv_read(&tables[i], names[i], texts[i], bytes, data->label, error);
    }
    if (status == STATUS_OK)
        status = take_tables(files, tables, count, data, error);
    for (unsigned i = 0; i < 2; i++) {
        csv_free(&tables[i]);
        free(texts[i]);
    }
    return status;
}

/* --- all ---------------------------------------------------------------------------------------- */

static unsigned split_names(char names[DATA_FILES_MAX][DATA_TEXT_MAX], const char *text)
{
    struct stat about;
    bool whole = stat(text, &about) == 0;
    unsigned count = 0;
    for (const char *at = text;; count++) {
        size_t length = whole ? strlen(at) : strcspn(at, ",");
        if (count == DATA_FILES_MAX)
            return 0;
        snprintf(names[count], DATA_TEXT_MAX, "%.*s", (int)length, at);
        at += length;
        if (*at++ == '\0')
            return count + 1;
    }
}

static enum status open_list(struct data_files *files, char names[DATA_FILES_MAX][DATA_TEXT_MAX],
                             unsigned count, struct error *error)
{
    if (count != 2 && count != 4)
        return error_set(error, STATUS_INVALID,
                         "%s: arrays are given as X,Y or X,Y,TX,TY: inputs and labels to train on, "
                         "and of the test set%s",
                         names[0], count == 1 ? "; IDX files as their folder" : "");
    files->has_test = count == 4;
    enum status status = STATUS_OK;
    for (unsigned role = 0; role < count && status == STATUS_OK; role++)
        status = array_open(array_of(files, role), names[role], error);
    return status;
}

enum form { FORM_ARRAYS, FORM_ARCHIVE, FORM_TABLE };

/* By a file's first bytes, packed or not. */
static enum form find_form(const char *path)
{
    struct packed packed;
    char start[4];
    uint64_t got = 0;
    if (packed_open(&packed, path, NULL) != STATUS_OK)
        return FORM_ARRAYS; /* Where the same fault is named. */
    bool is_read = packed_read(&packed, start, 4, &got, NULL) == STATUS_OK && got == 4;
    packed_close(&packed);
    bool array = is_read && (memcmp(start, "\x93NUM", 4) == 0 || (start[0] == 0 && start[1] == 0));
    return array                                        ? FORM_ARRAYS
           : is_read && memcmp(start, "PK\3\4", 4) == 0 ? FORM_ARCHIVE
                                                        : FORM_TABLE;
}

enum status data_files_open(struct data_files *files, const struct data_text *data,
                            struct error *error)
{
    char names[DATA_FILES_MAX][DATA_TEXT_MAX];
    memset(files, 0, sizeof *files);
    unsigned count = split_names(names, data->files);
    enum form form = is_folder(data->files) ? FORM_ARRAYS : find_form(names[0]);
    enum status status;
    if (is_folder(data->files))
        status = open_folder(files, data, error);
    else if (form == FORM_ARCHIVE && count == 1)
        status = open_archive(files, names[0], error);
    else if (form == FORM_TABLE && (count == 1 || count == 2))
        status = open_tables(files, data, names, count, error);
    else
        status = open_list(files, names, count, error);
    if (status != STATUS_OK)
        data_files_free(files);
    return status;
}

void data_files_free(struct data_files *files)
{
    for (unsigned role = 0; role < ROLES; role++)
        array_free(array_of(files, role));
    files->has_test = files->is_table = false;
}
