/* lanes.c - a stack of open spans for each row; a span goes to the first row that can take it. */

#include "deploy/trace/lanes.h"

#include <stdlib.h>

#include "common/base/array.h"

struct open_row {
    struct row row;
    uint64_t *ends; /* [depth] when the spans end that are open; the innermost last. */
    size_t depth, capacity;
    uint32_t number; /* When all are sorted. */
};

struct building {
    struct open_row *rows; /* [count] */
    size_t count, capacity;
    uint32_t *found; /* [places x SPAN_LANES_MAX] one more than the first row of a lane; 0: none. */
    uint32_t *next;  /* [capacity of rows] the same of the row below. */
    size_t next_capacity;
};

/* One that has ended is closed. Whether the span follows it, or lies within. */
static bool takes(struct open_row *row, const struct span *span)
{
    while (row->depth > 0 && row->ends[row->depth - 1] <= span->from_ns)
        row->depth--;
    return row->depth == 0 || row->ends[row->depth - 1] >= span->to_ns;
}

static enum status put(struct open_row *row, const struct span *span)
{
    uint64_t *ends = array_room(row->ends, row->depth, &row->capacity, sizeof *ends);
    if (ends == NULL)
        return STATUS_MEMORY;
    row->ends = ends;
    ends[row->depth++] = span->to_ns;
    return STATUS_OK;
}

/* *link: where its number belongs. */
static struct open_row *add_row(struct building *b, const struct span *span, uint32_t depth,
                                uint32_t *number)
{
    struct open_row *rows = array_room(b->rows, b->count, &b->capacity, sizeof *rows);
    if (rows != NULL)
        b->rows = rows;
    uint32_t *next =
        rows != NULL ? array_room(b->next, b->count, &b->next_capacity, sizeof *next) : NULL;
    if (next == NULL)
        return NULL;
    b->next = next;
    next[b->count] = 0;
    rows[b->count] = (struct open_row){
        .row = {(enum role)span->role, span->index, span->lane, depth}, .ends = NULL};
    *number = (uint32_t)++b->count;
    return &rows[b->count - 1];
}

static enum status place(struct building *b, size_t lane, const struct span *span, uint32_t *row)
{
    uint32_t number = b->found[lane], before = 0, depth = 0;
    while (number != 0 && !takes(&b->rows[number - 1], span)) {
        before = number;
        number = b->next[number - 1];
        depth++;
    }
    if (number == 0) {
        if (add_row(b, span, depth, &number) == NULL)
            return STATUS_MEMORY;
        *(before == 0 ? &b->found[lane] : &b->next[before - 1]) = number;
    }
    *row = number - 1;
    return put(&b->rows[number - 1], span);
}

static int by_row(const void *left, const void *right)
{
    const struct row *a = &(*(struct open_row *const *)left)->row;
    const struct row *b = &(*(struct open_row *const *)right)->row;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* Rows in order, and spans with their numbers there. */
static enum status sort(struct lanes *lanes, const struct building *b, size_t span_count)
{
    struct open_row **order = calloc(b->count + 1, sizeof(struct open_row *));
    lanes->rows = calloc(b->count + 1, sizeof *lanes->rows);
    if (order == NULL || lanes->rows == NULL) {
        free(order);
        return STATUS_MEMORY;
    }
    for (size_t i = 0; i < b->count; i++)
        order[i] = &b->rows[i];
    if (b->count > 0)
        qsort(order, b->count, sizeof(struct open_row *), by_row);
    for (size_t i = 0; i < b->count; i++) {
        order[i]->number = (uint32_t)i;
        lanes->rows[i] = order[i]->row;
    }
    lanes->row_count = b->count;
    for (size_t i = 0; i < span_count; i++)
        lanes->row_of[i] = b->rows[lanes->row_of[i]].number;
    free(order);
    return STATUS_OK;
}

enum status lanes_make(struct lanes *lanes, const struct spans *spans)
{
    struct building b = {.rows = NULL};
    *lanes = (struct lanes){.row_of = calloc(spans->count + 1, sizeof *lanes->row_of)};
    b.found = calloc(spans->place_count * SPAN_LANES_MAX + 1, sizeof *b.found);
    enum status status = lanes->row_of != NULL && b.found != NULL ? STATUS_OK : STATUS_MEMORY;
    for (size_t i = 0; i < spans->count && status == STATUS_OK; i++) {
        const struct span *span = &spans->list[i];
        size_t at = spans_place(spans, (enum role)span->role, span->index);
        status = place(&b, at * SPAN_LANES_MAX + span->lane, span, &lanes->row_of[i]);
    }
    if (status == STATUS_OK)
        status = sort(lanes, &b, spans->count);
    for (size_t i = 0; i < b.count; i++)
        free(b.rows[i].ends);
    free(b.rows);
    free(b.next);
    free(b.found);
    if (status != STATUS_OK)
        lanes_free(lanes);
    return status;
}

void lanes_free(struct lanes *lanes)
{
    free(lanes->row_of);
    free(lanes->rows);
    *lanes = (struct lanes){.row_of = NULL};
}
