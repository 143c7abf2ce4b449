/* trace.c - finds the size first, and drops steps until it fits. */

#include "deploy/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "deploy/trace/chrome.h"

static enum status out_of_memory(struct error *error)
{
    return error_set(error, STATUS_MEMORY, "out of memory for a trace");
}

static size_t count_shown(const struct spans *spans)
{
    size_t shown = 0;
    for (size_t i = 0; i < spans->step_count; i++)
        shown += spans->steps[i].reason != STEP_NOT_SHOWN;
    return shown;
}

/* --- how much fits ---------------------------------------------------------------------------- */

/* How many steps may, if all take as much as those that are shown. */
static uint32_t how_many_fit(size_t shown, uint64_t bytes, uint64_t most)
{
    double part = 0.98 * (double)most / (double)bytes;
    uint32_t fit = (uint32_t)(part * (double)shown);
    return fit >= shown ? (uint32_t)shown - 1 : fit > 0 ? fit : 1;
}

static enum status make_fit(struct spans *spans, struct chrome_about *about, uint64_t *bytes,
                            struct error *error)
{
    for (;;) {
        size_t shown = count_shown(spans);
        if (chrome_write(NULL, spans, about, bytes) != STATUS_OK)
            return out_of_memory(error);
        if (*bytes <= about->bytes_max)
            return STATUS_OK;
        if (shown > 1) {
            if (spans_keep(spans, how_many_fit(shown, *bytes, about->bytes_max)) != STATUS_OK)
                return out_of_memory(error);
        } else if (!about->without_messages) {
            about->without_messages = true;
        } else {
            return error_set(error, STATUS_INVALID,
                             "one step alone makes a trace of %s, and %s are the most",
                             wording_bytes(*bytes).text, wording_bytes(about->bytes_max).text);
        }
    }
}

/* --- the files -------------------------------------------------------------------------------- */

static enum status write_json(const struct spans *spans, const struct chrome_about *about,
                              const char *path, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t bytes;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return out_of_memory(error);
    bool written = chrome_write(stream, spans, about, &bytes) == STATUS_OK;
    written = fclose(stream) == 0 && written;
    const struct disk_piece piece = {text, size};
    enum status status = written ? disk_posix.write_file(disk_posix.context, path, &piece, 1, error)
                                 : out_of_memory(error);
    free(text);
    return status;
}

/* Why its step is shown goes with it. */
static struct span marked(const struct spans *spans, struct span span)
{
    for (size_t i = 0; i < spans->step_count && span.kind == SPAN_STEP; i++) {
        const struct trace_step *step = &spans->steps[i];
        if (step->reason == STEP_NOT_SHOWN || step->step != span.step || !spans_in(step, &span))
            continue;
        span.what = (uint8_t)((span.what & SPAN_STEP_SCORED) | (unsigned)step->reason << 1);
        break;
    }
    return span;
}

static enum status put_segments(int file, const struct region *region, const struct spans *spans,
                                struct span *buffer, struct error *error)
{
    enum status status = STATUS_OK;
    struct segment segment = {.from_ns = UINT64_MAX};
    for (size_t i = 0; i < spans->count && status == STATUS_OK; i++) {
        const struct span span = buffer[segment.count++] = marked(spans, spans->list[i]);
        segment.from_ns = span.from_ns < segment.from_ns ? span.from_ns : segment.from_ns;
        segment.to_ns = span.to_ns > segment.to_ns ? span.to_ns : segment.to_ns;
        if (segment.count < SEGMENT_SPANS && i + 1 < spans->count)
            continue;
        status = span_file_put(file, region, &segment, 0, buffer, error);
        segment = (struct segment){
            .slot = segment.slot + 1, .sequence = segment.sequence + 1, .from_ns = UINT64_MAX};
    }
    return status;
}

static enum status write_region(int file, const struct spans *spans, struct error *error)
{
    size_t slots = spans->count / SEGMENT_SPANS + 1;
    const struct trace_host *reference = &spans->hosts[spans->reference];
    struct region region = {.role = ROLE_NONE,
                            .slots = (uint32_t)(slots < REGION_SLOTS_MAX ? slots : 1),
                            .host = reference->id,
                            .opened_ns = spans->origin_ns,
                            .opened_unix_ns = spans->origin_unix_ns};
    struct span *buffer = calloc(SEGMENT_SPANS, sizeof *buffer);
    enum status status = STATUS_OK;
    if (buffer == NULL)
        status = out_of_memory(error);
    else if (slots >= REGION_SLOTS_MAX)
        status = error_set(error, STATUS_INVALID, "the trace has more than its file can hold");
    if (status == STATUS_OK)
        status = span_file_claim(file, &region, error);
    if (status == STATUS_OK)
        status = put_segments(file, &region, spans, buffer, error);
    free(buffer);
    return status;
}

static enum status write_spans(const struct spans *spans, const char *path, struct error *error)
{
    char aside[DISK_PATH_MAX + 16];
    struct error why;
    snprintf(aside, sizeof aside, "%s" DISK_ASIDE, path);
    unlink(aside);
    int file = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return error_set(error, STATUS_IO, "cannot write %.300s: %s", path, strerror(errno));
    enum status status = write_region(file, spans, &why);
    if (close(file) != 0 && status == STATUS_OK)
        status = error_set(&why, STATUS_IO, "%s", strerror(errno));
    if (status == STATUS_OK && rename(aside, path) != 0)
        status = error_set(&why, STATUS_IO, "%s", strerror(errno));
    if (status == STATUS_OK)
        return status;
    unlink(aside);
    return error_set(error, status, "cannot write %.200s: %.200s", path, why.text);
}

enum status trace_write(struct spans *spans, const struct trace_request *request,
                        struct trace_written *written, struct error *error)
{
    struct chrome_about about = {.asked = request->steps, .bytes_max = request->bytes_max};
    *written = (struct trace_written){.hosts = spans->host_count, .damaged = spans->damaged};
    enum status status = make_fit(spans, &about, &written->bytes, error);
    if (status == STATUS_OK)
        status = write_json(spans, &about, request->json, error);
    if (status == STATUS_OK && request->spans != NULL)
        status = write_spans(spans, request->spans, error);
    written->shown = count_shown(spans);
    written->without_messages = about.without_messages;
    for (size_t i = 0; i < spans->host_count; i++) {
        const struct trace_host *host = &spans->hosts[i];
        written->unknown += !host->known;
        if (host->known && host->error_ns > written->error_ns)
            written->error_ns = host->error_ns;
    }
    return status;
}

/* --- text ------------------------------------------------------------------------------------- */

void trace_tell(const struct trace_written *written, const char *path, char *text, size_t size)
{
    text[0] = '\0';
    wording_append(text, size, "%s in %s (%s)",
                   wording_counted(written->shown, "step", "steps").text, path,
                   wording_bytes(written->bytes).text);
    if (written->without_messages)
        wording_append(text, size, ", without messages, to keep the size limit");
    if (written->hosts > 1 && written->hosts > written->unknown + 1)
        wording_append(text, size, "; clocks of %zu hosts, at most %.1f us wrong",
                       written->hosts - written->unknown, 1e-3 * (double)written->error_ns);
    if (written->unknown > 0)
        wording_append(text, size, "; of %zu no message tells the clock, and the walls' is taken",
                       written->unknown);
    if (written->damaged > 0)
        wording_append(text, size, "; %s damaged and left out",
                       wording_counted(written->damaged, "segment is", "segments are").text);
}
