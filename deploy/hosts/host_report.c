/* host_report.c - parses lines and an object, and checks them against the expected facts. */

#include "deploy/hosts/host_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"

#define LINE_MAX_BYTES 16384

/* The state of reading, with the lines found. */
struct reader {
    struct host_report *report;
    const struct host_wanted *wanted;
    const char *said; /* The last line of its errors. */
    double heard_at;
    bool any;    /* A line of ours. */
    bool probed; /* The object. */
    uint32_t programs;
};

static void fault(struct host_report *report, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first counts. */
static void fault(struct host_report *report, int exit_code, const char *format, ...)
{
    va_list arguments;
    if (report->fault[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(report->fault, sizeof report->fault, format, arguments);
    va_end(arguments);
    report->exit_code = exit_code;
}

/* "syncopate-ps syncopate 0.1.0" */
static void read_version(struct reader *reader, const char *text)
{
    size_t length = strcspn(text, " ");
    const char *version = text + length + (text[length] == ' ');
    reader->programs++;
    size_t same = strlen(reader->wanted->version); /* The commit may differ. */
    if (strncmp(version, reader->wanted->version, same) != 0 ||
        (version[same] != '\0' && strncmp(version + same, " (", 2) != 0))
        fault(reader->report, EXIT_MISMATCH,
              "has another version: %.200s/%.*s is '%.60s', here it is '%.60s'",
              reader->wanted->bin, (int)length, text, version, reader->wanted->version);
}

static void read_ports(struct reader *reader, const struct json *ports)
{
    const struct json *item;
    for (size_t i = 0; (item = json_item(ports, i)) != NULL; i++) {
        uint64_t port;
        if (!json_whole(item, &port) || port < reader->wanted->first_port ||
            port - reader->wanted->first_port >= HOST_PORTS_MAX)
            continue;
        size_t at = (size_t)(port - reader->wanted->first_port);
        reader->report->taken[at / 8] |= (uint8_t)(1u << at % 8);
    }
}

static void copy_text(const struct json *object, const char *name, char *text, size_t size)
{
    const char *found = json_text(object, name);
    snprintf(text, size, "%s", found != NULL ? found : "");
}

/* probe's object. */
static void read_object(struct reader *reader, const char *line)
{
    struct host_report *report = reader->report;
    struct json *object = NULL;
    if (json_parse(line, strlen(line), "probe", &object, NULL) != STATUS_OK ||
        !json_is_a_record(object)) {
        json_release(&object);
        return;
    }
    reader->probed = true;
    copy_text(object, "home", report->home, sizeof report->home);
    copy_text(object, "instructions", report->instructions, sizeof report->instructions);
    copy_text(object, "arithmetic", report->arithmetic, sizeof report->arithmetic);
    report->processors = (uint32_t)json_u64(object, "processors", 0);
    const char *data = json_text(object, "data_fault");
    if (data != NULL)
        fault(report, EXIT_CANNOT_OPEN, "has not the data: %.300s", data);
    copy_text(object, "program", report->program, sizeof report->program);
    const char *program = json_text(object, "program_fault");
    if (program != NULL)
        fault(report, EXIT_PROGRAM, "cannot run the program: %.190s%s%.180s", program,
              reader->said[0] != '\0' ? ": " : "", reader->said);
    read_ports(reader, json_at(object, "ports_taken"));
    json_release(&object);
}

static void read_line(struct reader *reader, const char *line)
{
    char *end;
    if (line[0] == '{')
        read_object(reader, line);
    if (line[0] == '@')
        reader->any = true;
    if (strncmp(line, "@version ", 9) == 0)
        read_version(reader, line + 9);
    if (strcmp(line, "@shared") == 0)
        reader->report->shares = true;
    if (strncmp(line, "@time ", 6) == 0) {
        double time = strtod(line + 6, &end);
        if (*end == '\0' && isfinite(time) && reader->heard_at > 0)
            reader->report->clock_ahead = time - reader->heard_at;
    }
}

static void read_lines(struct reader *reader, const char *text)
{
    char line[LINE_MAX_BYTES];
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (length < sizeof line) {
            memcpy(line, text, length);
            line[length] = '\0';
            read_line(reader, line);
        }
        text += length + (text[length] == '\n');
    }
}

void host_report_read(struct host_report *report, const struct host_wanted *wanted,
                      const char *text, int exit_code, const char *said, double heard_at)
{
    struct reader reader = {.report = report, .wanted = wanted, .said = said, .heard_at = heard_at};
    const char *why = said[0] != '\0' ? said : "it printed nothing";
    *report = (struct host_report){.clock_ahead = NAN};
    read_lines(&reader, text != NULL ? text : "");
    if (!reader.any)
        fault(report, EXIT_CANNOT_OPEN, "cannot be reached: %.300s", why);
    else if (reader.programs < 3)
        fault(report, EXIT_CANNOT_OPEN, "cannot run the programs: %.300s", why);
    else if (exit_code != 0 || !reader.probed)
        fault(report, EXIT_CANNOT_OPEN, "cannot be asked: %.300s", why);
}

bool host_report_port_taken(const struct host_report *report, const struct host_wanted *wanted,
                            uint16_t port)
{
    if (port < wanted->first_port || port - wanted->first_port >= HOST_PORTS_MAX)
        return false;
    size_t at = (size_t)(port - wanted->first_port);
    return (report->taken[at / 8] >> at % 8 & 1) != 0;
}

void host_reports_compare(struct host_report *reports, const char *const *names, size_t count)
{
    size_t first = 0;
    while (first < count && reports[first].fault[0] != '\0')
        first++;
    for (size_t i = first + 1; i < count; i++)
        if (strcmp(reports[i].arithmetic, reports[first].arithmetic) != 0)
            fault(
                &reports[i], EXIT_MISMATCH,
                "computes other bits than %.100s (%.30s there, %.30s on it): --instructions plain "
                "makes them the same where it is the processors, --allow-mixed does without",
                names[first], reports[first].instructions, reports[i].instructions);
    size_t with = count; /* The first with a program. */
    for (size_t i = 0; i < count; i++) {
        if (reports[i].fault[0] != '\0' || reports[i].program[0] == '\0')
            continue;
        with = with < count ? with : i;
        if (strcmp(reports[i].program, reports[with].program) != 0)
            fault(&reports[i], EXIT_MISMATCH,
                  "has not the program of %.100s, or it computes other bits: give both the same "
                  "files, versions, threads and data; --allow-mixed does without",
                  names[with]);
    }
}
