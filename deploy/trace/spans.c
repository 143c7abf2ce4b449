/* spans.c - reads regions, corrects clocks, finds steps, and drops spans of steps that are not
 * selected. */

#include "deploy/trace/spans.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/file/disk.h"

void spans_init(struct spans *spans)
{
    *spans = (struct spans){.list = NULL};
}

void spans_free(struct spans *spans)
{
    free(spans->list);
    free(spans->host_of);
    free(spans->steps);
    free(spans->hosts);
    free(spans->places);
    free(spans->holes);
    *spans = (struct spans){.list = NULL};
}

static enum status out_of_memory(struct error *error)
{
    return error_set(error, STATUS_MEMORY, "out of memory for a trace");
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* When the spans of a segment ended, the first and the last of them. */
struct ends {
    uint64_t sequence, first_ns, last_ns;
};

/* A file under way. */
struct reading {
    struct spans *spans;
    uint16_t host;
    uint64_t opened_ns;
    struct ends *ends; /* [count] of this region. */
    size_t count, capacity;
};

static enum status find_host(struct reading *reading, const struct region *region,
                             struct error *error)
{
    struct spans *s = reading->spans;
    size_t i = 0;
    while (i < s->host_count && s->hosts[i].id != region->host)
        i++;
    reading->host = (uint16_t)i;
    reading->opened_ns = region->opened_ns;
    if (i < s->host_count)
        return STATUS_OK;
    if (i == CLOCKS_HOSTS_MAX)
        return error_set(error, STATUS_INVALID, "the traces are of more than %u hosts",
                         CLOCKS_HOSTS_MAX);
    struct trace_host *hosts = realloc(s->hosts, (i + 1) * sizeof *hosts);
    if (hosts == NULL)
        return out_of_memory(error);
    s->hosts = hosts;
    hosts[s->host_count++] = (struct trace_host){
        .id = region->host,
        .unix_ns = region->opened_unix_ns > 0 ? region->opened_unix_ns - region->opened_ns : 0};
    return STATUS_OK;
}

static int by_sequence(const void *left, const void *right)
{
    const struct ends *a = left, *b = right;
    return compare_numbers(a->sequence, b->sequence);
}

static enum status add_hole(struct reading *reading, uint64_t from_ns, uint64_t to_ns)
{
    struct spans *s = reading->spans;
    struct trace_hole *holes =
        array_room(s->holes, s->hole_count, &s->hole_capacity, sizeof *holes);
    if (holes == NULL)
        return STATUS_MEMORY;
    s->holes = holes;
    holes[s->hole_count++] = (struct trace_hole){from_ns, to_ns, reading->host};
    return STATUS_OK;
}

/* The end of a region: overwritten spans were between segments whose numbers are not
 * consecutive. */
static enum status end_region(struct reading *reading)
{
    enum status status = STATUS_OK;
    uint64_t sequence = 0, last_ns = reading->opened_ns;
    if (reading->count > 0)
        qsort(reading->ends, reading->count, sizeof *reading->ends, by_sequence);
    for (size_t i = 0; i < reading->count && status == STATUS_OK; i++) {
        const struct ends *ends = &reading->ends[i];
        if (ends->sequence != sequence)
            status = add_hole(reading, last_ns, ends->first_ns);
        sequence = ends->sequence + 1;
        last_ns = ends->last_ns;
    }
    reading->count = 0;
    return status;
}

static enum status take_region(void *context, const struct region *region, struct error *error)
{
    struct reading *reading = context;
    if (end_region(reading) != STATUS_OK)
        return out_of_memory(error);
    return find_host(reading, region, error);
}

static enum status make_room(struct spans *s, size_t count, struct error *error)
{
    if (s->count + count > TRACE_SPANS_MAX)
        return error_set(error, STATUS_INVALID, "the traces have more than %u spans",
                         TRACE_SPANS_MAX);
    if (s->count + count <= s->capacity)
        return STATUS_OK;
    size_t larger = 2 * s->capacity + count;
    struct span *list = realloc(s->list, larger * sizeof *list);
    if (list != NULL)
        s->list = list;
    uint16_t *host_of = list != NULL ? realloc(s->host_of, larger * sizeof *host_of) : NULL;
    if (host_of == NULL)
        return out_of_memory(error);
    s->host_of = host_of;
    s->capacity = larger;
    return STATUS_OK;
}

static enum status take_segment(void *context, const struct segment *segment,
                                const struct span *list, struct error *error)
{
    struct reading *reading = context;
    struct spans *s = reading->spans;
    if (segment->count == 0)
        return STATUS_OK;
    enum status status = make_room(s, segment->count, error);
    struct ends *ends = array_room(reading->ends, reading->count, &reading->capacity, sizeof *ends);
    if (status == STATUS_OK && ends == NULL)
        status = out_of_memory(error);
    if (ends != NULL)
        reading->ends = ends;
    if (status != STATUS_OK)
        return status;
    ends[reading->count++] =
        (struct ends){segment->sequence, list[0].to_ns, list[segment->count - 1].to_ns};
    memcpy(s->list + s->count, list, segment->count * sizeof *list);
    for (uint32_t i = 0; i < segment->count; i++)
        s->host_of[s->count + i] = reading->host;
    s->count += segment->count;
    return STATUS_OK;
}

enum status spans_add(struct spans *spans, int file, const char *name, struct error *error)
{
    struct reading reading = {.spans = spans};
    struct error why;
    uint64_t damaged = 0;
    const struct span_reader reader = {&reading, take_region, take_segment};
    enum status status = span_file_read(file, &reader, &damaged, &why);
    if (status == STATUS_OK && end_region(&reading) != STATUS_OK)
        status = out_of_memory(&why);
    free(reading.ends);
    spans->damaged += damaged;
    return status == STATUS_OK ? status : error_set(error, status, "%.300s: %s", name, why.text);
}

/* --- on one clock, in order ------------------------------------------------------------------- */

/* That of server 0, or of the first process. */
static size_t reference_of(const struct spans *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (span_is_of(&s->list[i], ROLE_PS, 0))
            return s->host_of[i];
    return 0;
}

static int by_place(const void *left, const void *right)
{
    const struct trace_place *a = left, *b = right;
    int order = compare_numbers((uint64_t)a->role, (uint64_t)b->role);
    return order != 0 ? order : compare_numbers(a->index, b->index);
}

static struct trace_place *place_of(struct spans *s, const struct span *span)
{
    for (size_t i = s->place_count; i-- > 0;)
        if (span_is_of(span, s->places[i].role, s->places[i].index))
            return &s->places[i];
    return NULL;
}

static enum status find_places(struct spans *s)
{
    size_t capacity = 0;
    struct trace_place *last = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->list[i];
        bool same = last != NULL && span_is_of(span, last->role, last->index);
        struct trace_place *place = same ? last : place_of(s, span);
        if (place == NULL) {
            struct trace_place *grown =
                array_room(s->places, s->place_count, &capacity, sizeof *grown);
            if (grown == NULL)
                return STATUS_MEMORY;
            s->places = grown;
            place = &grown[s->place_count++];
            *place = (struct trace_place){
                .role = (enum role)span->role, .index = span->index, .host = s->host_of[i]};
        }
        place->count++;
        last = place;
    }
    if (s->place_count > 0)
        qsort(s->places, s->place_count, sizeof *s->places, by_place);
    return STATUS_OK;
}

/* Longer ones first: a nested span follows its parent. */
static int by_beginning(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    int order = compare_numbers(a->from_ns, b->from_ns);
    return order != 0 ? order : compare_numbers(b->to_ns, a->to_ns);
}

/* A step is not whole when a process has lost spans in its time. */
static void mark_holes(struct spans *s)
{
    for (size_t i = 0; i < s->step_count; i++)
        for (size_t k = 0; k < s->hole_count; k++) {
            const struct trace_hole *hole = &s->holes[k];
            struct trace_step *step = &s->steps[i];
            /* Of other hosts only about: holes are long. */
            uint64_t from_ns = hole->from_ns - (uint64_t)s->hosts[hole->host].ahead_ns;
            uint64_t to_ns = hole->to_ns - (uint64_t)s->hosts[hole->host].ahead_ns;
            step->whole &= from_ns > step->to_ns || to_ns < step->from_ns;
        }
}

/* --- selection -------------------------------------------------------------------------------- */

struct interval_of_time {
    uint64_t from_ns, to_ns;
};

/* Of the steps that are shown, joined where they overlap: in order. Returns how many. */
static size_t join_shown(const struct spans *s, struct interval_of_time *shown)
{
    size_t count = 0;
    for (size_t i = 0; i < s->step_count; i++) {
        const struct trace_step *step = &s->steps[i];
        struct interval_of_time *last = count > 0 ? &shown[count - 1] : NULL;
        if (step->reason == STEP_NOT_SHOWN)
            continue;
        if (last == NULL || step->from_ns > last->to_ns)
            shown[count++] = (struct interval_of_time){step->from_ns, step->to_ns};
        else if (step->to_ns > last->to_ns)
            last->to_ns = step->to_ns;
    }
    return count;
}

static bool is_shown(const struct interval_of_time *shown, size_t count, const struct span *span)
{
    size_t low = 0, high = count;
    while (low < high) { /* The first that does not end before it. */
        size_t middle = low + (high - low) / 2;
        if (shown[middle].to_ns < span->from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && shown[low].from_ns <= span->to_ns;
}

/* The spans of no step that is shown, but for the values that a shown computation began from. */
static enum status forget(struct spans *s)
{
    size_t kept = s->count;
    struct interval_of_time *shown = calloc(s->step_count + 1, sizeof *shown);
    bool *computes = calloc(s->place_count + 1, sizeof *computes); /* Of each place the next. */
    if (shown == NULL || computes == NULL) {
        free(shown);
        free(computes);
        return STATUS_MEMORY;
    }
    size_t count = join_shown(s, shown);
    for (size_t i = s->count; i-- > 0;) {
        const struct span *span = &s->list[i];
        bool *next = &computes[spans_place(s, (enum role)span->role, span->index)];
        bool stays = is_shown(shown, count, span) ||
                     (span->kind == SPAN_TAKE && span->what == MESSAGE_RESULT && *next);
        if (span->kind == SPAN_COMPUTE)
            *next = stays;
        if (stays)
            s->list[--kept] = *span;
    }
    s->count -= kept;
    memmove(s->list, s->list + kept, s->count * sizeof *s->list);
    free(shown);
    free(computes);
    return STATUS_OK;
}

/* A step that a file has selected. */
static bool is_chosen(const struct spans *s)
{
    for (size_t i = 0; i < s->step_count; i++)
        if (s->steps[i].reason != STEP_NOT_SHOWN)
            return true;
    return false;
}

static void find_origin(struct spans *s)
{
    s->origin_ns = 0;
    for (size_t i = 0; i < s->count; i++)
        if (i == 0 || s->list[i].from_ns < s->origin_ns)
            s->origin_ns = s->list[i].from_ns;
    uint64_t unix_ns = s->hosts[s->reference].unix_ns;
    s->origin_unix_ns = unix_ns > 0 ? s->origin_ns + unix_ns : 0;
}

enum status spans_finish(struct spans *spans, uint32_t steps, struct error *error)
{
    struct spans *s = spans;
    if (s->count == 0)
        return error_set(error, STATUS_NOT_FOUND, "there is nothing in the trace");
    s->reference = reference_of(s);
    s->virtual_time = s->hosts[s->reference].id == 0;
    if (clocks_align(s->list, s->host_of, s->count, s->hosts, s->host_count, s->reference) !=
            STATUS_OK ||
        find_places(s) != STATUS_OK)
        return out_of_memory(error);
    free(s->host_of);
    s->host_of = NULL;
    qsort(s->list, s->count, sizeof *s->list, by_beginning);
    if (steps_find(s->list, s->count, &s->steps, &s->step_count) != STATUS_OK)
        return out_of_memory(error);
    if (s->step_count == 0)
        return error_set(error, STATUS_NOT_FOUND, "there is no step in the trace");
    mark_holes(s);
    if (!is_chosen(s) && steps_choose(s->steps, s->step_count, steps) != STATUS_OK)
        return out_of_memory(error);
    if (forget(s) != STATUS_OK)
        return out_of_memory(error);
    find_origin(s);
    return STATUS_OK;
}

enum status spans_keep(struct spans *spans, uint32_t steps)
{
    if (steps_keep(spans->steps, spans->step_count, steps) != STATUS_OK ||
        forget(spans) != STATUS_OK)
        return STATUS_MEMORY;
    find_origin(spans);
    return STATUS_OK;
}

size_t spans_place(const struct spans *spans, enum role role, uint32_t index)
{
    const struct trace_place wanted = {.role = role, .index = index};
    const struct trace_place *found =
        spans->place_count > 0
            ? bsearch(&wanted, spans->places, spans->place_count, sizeof *spans->places, by_place)
            : NULL;
    return found != NULL ? (size_t)(found - spans->places) : spans->place_count;
}

size_t spans_typical(const struct spans *spans)
{
    size_t shown = spans->step_count;
    for (size_t i = 0; i < spans->step_count; i++) {
        if (spans->steps[i].reason == STEP_TYPICAL)
            return i;
        if (spans->steps[i].reason != STEP_NOT_SHOWN && shown == spans->step_count)
            shown = i;
    }
    return shown;
}

/* --- from a path ------------------------------------------------------------------------------ */

struct folder {
    struct spans *spans;
    const char *path;
    size_t files;
    enum status status;
    struct error *error;
};

static enum status read_file(struct spans *spans, const char *path, struct error *error)
{
    int file;
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status != STATUS_OK)
        return status;
    status = spans_add(spans, file, path, error);
    close(file);
    return status;
}

static void take_name(void *argument, const char *name)
{
    static const char ending[] = ".spans";
    struct folder *folder = argument;
    char path[DISK_PATH_MAX + 256];
    size_t length = strlen(name);
    if (folder->status != STATUS_OK || length < sizeof ending ||
        strcmp(name + length - (sizeof ending - 1), ending) != 0)
        return;
    snprintf(path, sizeof path, "%s/%.255s", folder->path, name);
    folder->files++;
    folder->status = read_file(folder->spans, path, folder->error);
}

enum status spans_read(struct spans *spans, const char *path, uint32_t steps, struct error *error)
{
    struct folder folder = {.spans = spans, .path = path, .error = error};
    enum status status;
    if (disk_posix.look(disk_posix.context, path) == DISK_FOLDER) {
        status = disk_posix.list_directory(disk_posix.context, path, take_name, &folder, error);
        status = status == STATUS_OK ? folder.status : status;
        if (status == STATUS_OK && folder.files == 0)
            status = error_set(error, STATUS_NOT_FOUND, "%.300s: has no files *.spans", path);
    } else {
        status = read_file(spans, path, error);
    }
    return status == STATUS_OK ? spans_finish(spans, steps, error) : status;
}
