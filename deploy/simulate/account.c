/* account.c - a small file, written whole each time. */

#include "deploy/simulate/account.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/wording.h"
#include "common/file/disk.h"

#define BYTES_MAX      (16u << 20)
#define EVENTS_MOST    20 /* Printed ones. */
#define SUMMARY_INDENT 17

/* --- keeping --------------------------------------------------------------------------------- */

void account_init(struct account *account, const struct failures *failures, const char *policy)
{
    *account = (struct account){.failures = failures, .policy = policy};
}

void account_free(struct account *account)
{
    for (size_t i = 0; i < account->count; i++)
        free(account->events[i].text);
    free(account->events);
    *account = (struct account){.failures = NULL};
}

void account_note(struct account *account, uint64_t at_ns, const char *text)
{
    struct account_event *events =
        array_room(account->events, account->count, &account->capacity, sizeof *events);
    char *copy = strdup(text);
    if (events != NULL)
        account->events = events;
    if (events == NULL || copy == NULL) {
        free(copy);
        account->lost++;
        return;
    }
    events[account->count++] = (struct account_event){at_ns, copy};
}

/* --- writing --------------------------------------------------------------------------------- */

static enum status write_options(const struct account *account, struct json_writer *writer)
{
    json_writer_object(writer, "options");
    if (account->policy != NULL)
        json_writer_text(writer, "policy", account->policy);
    enum status status = failures_write(account->failures, writer);
    json_writer_end(writer);
    return status;
}

static void write_lists(const struct account *account, struct json_writer *writer)
{
    json_writer_array(writer, "happened");
    for (size_t i = 0; i < account->count; i++) {
        json_writer_object_line(writer, NULL);
        json_writer_real(writer, "seconds", (double)account->events[i].at_ns * 1e-9);
        json_writer_text(writer, "text", account->events[i].text);
        json_writer_end(writer);
    }
    json_writer_end(writer);
    json_writer_u64(writer, "happened_not_told", account->lost);
}

enum status account_write(const struct account *account, const struct load *load, const char *out,
                          struct error *error)
{
    char path[DISK_PATH_MAX + 16];
    struct json_writer writer;
    snprintf(path, sizeof path, "%s/" ACCOUNT_FILE, out);
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "format", ACCOUNT_FORMAT);
    enum status status = write_options(account, &writer);
    write_lists(account, &writer);
    if (load != NULL)
        load_write(load, &writer, "load");
    else
        json_writer_null(&writer, "load");
    json_writer_end(&writer);
    json_writer_raw(&writer, "\n", 1);
    const struct disk_piece piece = {writer.text, writer.bytes};
    if (status != STATUS_OK || writer.failed)
        status = error_set(error, STATUS_MEMORY, "no memory to write %.300s", path);
    else
        status = disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
    json_writer_free(&writer);
    return status;
}

/* --- reading --------------------------------------------------------------------------------- */

struct json *account_read(const char *out)
{
    char path[DISK_PATH_MAX + 16];
    struct json *root = NULL;
    struct error error;
    snprintf(path, sizeof path, "%s/" ACCOUNT_FILE, out);
    if (json_read_file(&disk_posix, path, BYTES_MAX, &root, &error) != STATUS_OK)
        return NULL;
    const char *format = json_text(root, "format");
    if (format == NULL || strcmp(format, ACCOUNT_FORMAT) != 0)
        json_release(&root);
    return root;
}

static void print_options(FILE *out, const struct json *options)
{
    struct json_member member = {0};
    char text[2000] = "";
    while (json_next_member(options, &member)) {
        const char *value = json_text(member.value, "");
        if (value != NULL)
            wording_append(text, sizeof text, "%s--%s '%s'", text[0] != '\0' ? " " : "",
                           member.name, value);
    }
    if (text[0] != '\0')
        wording_wrap(out, text, fprintf(out, "  asked for      "), SUMMARY_INDENT);
}

void account_print(FILE *out, const struct json *account)
{
    const struct json *happened = json_at(account, "happened");
    const char *bound = json_text(account, "load.bound");
    print_options(out, json_at(account, "options"));
    size_t count = json_length(happened, "");
    for (size_t i = 0; i < count && i < EVENTS_MOST; i++) {
        const struct json *event = json_item(happened, i);
        const char *what = json_text(event, "text");
        char text[700] = "";
        wording_append(text, sizeof text, "at %s: %s",
                       wording_duration(json_number(event, "seconds")).text,
                       what != NULL ? what : "?");
        wording_wrap(out, text, fprintf(out, "  happened       "), SUMMARY_INDENT);
    }
    if (count > EVENTS_MOST)
        fprintf(out, "  happened       and more, %zu in all (" ACCOUNT_FILE ")\n", count);
    if (bound != NULL)
        wording_wrap(out, bound, fprintf(out, "  bound by       "), SUMMARY_INDENT);
}
