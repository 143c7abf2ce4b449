/* csv.c - one pass over the text, cell by cell; numbers of few digits are read without strtod. */

#include "worker/data/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 1024 /* Of the first allocation. */
#define DIGITS     9    /* So many always fit 32 bits. */

/* Where the reader is. */
struct reader {
    const char *at, *end;
    char separator;
    uint64_t line;   /* From 1; of the row that is read. */
    uint32_t column; /* From 1. */
    uint64_t lines;  /* Ends of lines that were passed. */
};

static bool at_line_end(const struct reader *r)
{
    return r->at == r->end || *r->at == '\n' || (*r->at == '\r' && r->at[1] == '\n');
}

/* Past an end of line and all empty lines behind it. False: there is no more. */
static bool next_line(struct reader *r)
{
    while (r->at < r->end && at_line_end(r)) {
        r->lines += *r->at == '\n';
        r->at++;
    }
    r->line = r->lines + 1;
    r->column = 0;
    return r->at < r->end;
}

/* The next cell of the line, and past the separator behind it. *last: it is the line's last. False: its
 * quotes do not end, or something stands behind them. */
static bool next_cell(struct reader *r, struct csv_cell *cell, bool *last)
{
    bool quoted = *r->at == '"' && r->at < r->end;
    r->column++;
    r->at += quoted;
    cell->text = r->at;
    if (quoted) {
        while (r->at < r->end && (*r->at != '"' || r->at[1] == '"')) {
            r->lines += *r->at == '\n';
            r->at += *r->at == '"' ? 2 : 1;
        }
        if (r->at >= r->end)
            return false;
        cell->length = (size_t)(r->at++ - cell->text);
    } else {
        while (!at_line_end(r) && *r->at != r->separator)
            r->at++;
        cell->length = (size_t)(r->at - cell->text);
    }
    *last = at_line_end(r);
    if (!*last && *r->at != r->separator)
        return false;
    r->at += !*last;
    return true;
}

/* Text behind it is no digit. */
static bool read_number(const struct csv_cell *cell, double *number)
{
    const char *at = cell->text, *end = at + cell->length;
    while (at < end && *at == ' ')
        at++;
    while (at < end && end[-1] == ' ')
        end--;
    uint32_t whole = 0;
    const char *digit = at;
    while (digit < end && *digit >= '0' && *digit <= '9' && digit - at < DIGITS)
        whole = whole * 10 + (uint32_t)(*digit++ - '0');
    *number = whole;
    if (digit == end)
        return at < end;
    char *stop;
    *number = strtod(at, &stop); /* Not of a hexadecimal number, an infinity or "nan". */
    return stop == end && strspn(at, "0123456789+-.eE") >= (size_t)(end - at) &&
           isfinite((float)*number);
}

static enum status refuse(const struct csv *csv, const struct reader *r,
                          const struct csv_cell *cell, struct error *error)
{
    const char *rule = cell->length == 0
                           ? "is empty: fill it, or leave the column or the line out"
                           : "is no number: give words numbers, or leave the column out";
    int length = cell->length < 40 ? (int)cell->length : 40;
    return error_set(error, STATUS_INVALID, "%s: line %llu, column %u ('%.*s') %s", csv->path,
                     (unsigned long long)r->line, r->column, length, cell->text, rule);
}

static enum status refuse_quotes(const struct csv *csv, const struct reader *r, struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "%s: line %llu, column %u: its quotes do not end where the cell does",
                     csv->path, (unsigned long long)r->line, r->column);
}

/* Whichever the first line has most of. */
static char find_separator(const struct reader *start)
{
    static const char separators[] = ",;\t";
    unsigned seen[3] = {0}, most = 0;
    struct reader r = *start;
    bool quoted = false;
    for (; r.at < r.end && (quoted || !at_line_end(&r)); r.at++) {
        const char *which = *r.at != '\0' && !quoted ? strchr(separators, *r.at) : NULL;
        quoted ^= *r.at == '"';
        if (which != NULL)
            seen[which - separators]++;
    }
    for (unsigned i = 1; i < 3; i++)
        most = seen[i] > seen[most] ? i : most;
    return separators[most];
}

/* Cells of a line that are no numbers; *cells: all of them. */
static uint32_t count_words(struct reader *r, uint32_t *cells)
{
    uint32_t words = 0;
    struct csv_cell cell;
    double number;
    *cells = 0;
    for (bool last = !next_line(r); !last; (*cells)++) {
        if (!next_cell(r, &cell, &last))
            return words;
        words += !read_number(&cell, &number);
    }
    return words;
}

static bool is_label(const struct csv_cell *cell, uint32_t column, const char *label)
{
    char *end;
    unsigned long number = strtoul(label, &end, 10);
    return (cell != NULL && cell->length == strlen(label) &&
            memcmp(cell->text, label, cell->length) == 0) ||
           (*label >= '0' && *label <= '9' && *end == '\0' && number == column);
}

/* Which column is the label's. header: at a line of names; else there are none. A name counts before a
 * number. */
static enum status find_label(struct csv *csv, struct reader r, bool header, const char *label,
                              struct error *error)
{
    char names[200] = "";
    struct csv_cell cell;
    uint32_t found = 0;
    bool last = !header || !next_line(&r);
    for (uint32_t column = 1; column <= csv->columns; column++) {
        bool named = !last && next_cell(&r, &cell, &last);
        size_t used = strlen(names);
        if (is_label(named ? &cell : NULL, column, label) &&
            (found == 0 || !is_label(NULL, column, label)))
            found = column;
        if (named && used + 2 < sizeof names)
            snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "",
                     cell.length < 60 ? (int)cell.length : 60, cell.text);
    }
    csv->label = found - 1;
    if (found > 0)
        return STATUS_OK;
    if (!header)
        snprintf(names, sizeof names, "1 to %u", csv->columns);
    if (label[0] == '\0')
        return error_set(error, STATUS_INVALID,
                         "%s: --label says which column is to be learned: %s", csv->path, names);
    return error_set(error, STATUS_INVALID, "%s: --label=%.60s: there is no such column, but %s",
                     csv->path, label, names);
}

static enum status make_room(struct csv *csv, uint64_t *room, struct error *error)
{
    if (csv->rows < *room)
        return STATUS_OK;
    *room = *room > 0 ? 2 * *room : ROWS_FIRST;
    float *numbers = realloc(csv->numbers, *room * (csv->columns - 1) * sizeof *numbers);
    csv->numbers = numbers != NULL ? numbers : csv->numbers;
    struct csv_cell *labels = realloc(csv->labels, *room * sizeof *labels);
    csv->labels = labels != NULL ? labels : csv->labels;
    return numbers != NULL && labels != NULL
               ? STATUS_OK
               : error_set(error, STATUS_MEMORY, "%s: out of memory", csv->path);
}

static enum status read_row(struct csv *csv, struct reader *r, struct error *error)
{
    float *to = csv->numbers + csv->rows * (csv->columns - 1);
    struct csv_cell cell;
    double number;
    bool last = false;
    for (uint32_t column = 0; column < csv->columns && !last; column++) {
        if (!next_cell(r, &cell, &last))
            return refuse_quotes(csv, r, error);
        if (column == csv->label) {
            csv->labels[csv->rows] = cell;
        } else if (read_number(&cell, &number)) {
            csv->bytes = csv->bytes && number >= 0 && number <= 255 && number == floor(number);
            *to++ = (float)number;
        } else {
            return refuse(csv, r, &cell, error);
        }
    }
    if (r->column < csv->columns || !last)
        return error_set(error, STATUS_INVALID, "%s: line %llu has %s than %u columns", csv->path,
                         (unsigned long long)r->line, last ? "fewer" : "more", csv->columns);
    if (csv->labels[csv->rows].length == 0) {
        r->column = csv->label + 1;
        return refuse(csv, r, &csv->labels[csv->rows], error);
    }
    csv->rows++;
    return STATUS_OK;
}

enum status csv_read(struct csv *csv, const char *path, const char *text, size_t bytes,
                     const char *label, struct error *error)
{
    *csv = (struct csv){.path = path, .bytes = true};
    bool marked = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0; /* UTF-8 says so. */
    struct reader r = {.at = text + 3 * marked, .end = text + bytes};
    next_line(&r);
    r.separator = csv->separator = find_separator(&r);
    struct reader ahead = r;
    uint32_t cells;
    uint32_t first = count_words(&ahead, &csv->columns), second = count_words(&ahead, &cells);
    bool header = first > second || (cells == 0 && first == csv->columns);
    if (csv->columns < 2 || csv->columns > CSV_COLUMNS_MAX)
        return error_set(
            error, STATUS_INVALID,
            "%s: its first line has %u columns; 2 to %d, between commas, semicolons or "
            "tabs, can be read",
            path, csv->columns, CSV_COLUMNS_MAX);
    enum status status = find_label(csv, r, header, label, error);
    uint64_t room = 0;
    if (header && status == STATUS_OK)
        count_words(&r, &cells);
    while (status == STATUS_OK && next_line(&r)) {
        status = make_room(csv, &room, error);
        status = status ? status : read_row(csv, &r, error);
    }
    if (status == STATUS_OK && csv->rows == 0)
        status = error_set(error, STATUS_INVALID, "%s: has no lines of numbers", path);
    if (status != STATUS_OK)
        csv_free(csv);
    return status;
}

void csv_free(struct csv *csv)
{
    free(csv->numbers);
    free(csv->labels);
    memset(csv, 0, sizeof *csv);
}

/* --- labels ----------------------------------------------------------------------------------- */

static int compare_cells(const void *a, const void *b)
{
    const struct csv_cell *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, least);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Each word once, sorted, in words[]; returns how many. */
static uint64_t distinct(struct csv_cell *words, uint64_t count)
{
    uint64_t kept = 0;
    qsort(words, count, sizeof *words, compare_cells);
    for (uint64_t i = 0; i < count; i++)
        if (kept == 0 || compare_cells(&words[kept - 1], &words[i]) != 0)
            words[kept++] = words[i];
    return kept;
}

static enum status label_words(const struct csv *tables, unsigned count, double *values[2],
                               struct error *error)
{
    uint64_t all = tables[0].rows + (count > 1 ? tables[1].rows : 0);
    struct csv_cell *words = malloc(all * sizeof *words);
    if (words == NULL)
        return error_set(error, STATUS_MEMORY, "%s: out of memory", tables[0].path);
    memcpy(words, tables[0].labels, tables[0].rows * sizeof *words);
    if (count > 1)
        memcpy(words + tables[0].rows, tables[1].labels, tables[1].rows * sizeof *words);
    uint64_t kept = distinct(words, all);
    for (unsigned i = 0; i < count; i++) {
        for (uint64_t row = 0; row < tables[i].rows; row++) {
            const struct csv_cell *word =
                bsearch(&tables[i].labels[row], words, kept, sizeof *words, compare_cells);
            values[i][row] = (double)(word - words);
        }
    }
    free(words);
    return STATUS_OK;
}

enum status csv_labels(const struct csv *tables, unsigned count, bool real, double *values[2],
                       struct error *error)
{
    bool words = false;
    values[1] = NULL;
    for (unsigned i = 0; i < count; i++) {
        values[i] = malloc(tables[i].rows * sizeof *values[i]);
        for (uint64_t row = 0; values[i] != NULL && row < tables[i].rows; row++) {
            const struct csv_cell *cell = &tables[i].labels[row];
            bool number = read_number(cell, &values[i][row]);
            if (!number && real)
                return error_set(error, STATUS_INVALID,
                                 "%s: column %u: '%.*s' is no number, which --loss mse needs",
                                 tables[i].path, tables[i].label + 1,
                                 cell->length < 40 ? (int)cell->length : 40, cell->text);
            words |= !number ||
                     (!real && (values[i][row] < 0 || values[i][row] != floor(values[i][row])));
        }
        if (values[i] == NULL)
            return error_set(error, STATUS_MEMORY, "%s: out of memory", tables[i].path);
    }
    return words ? label_words(tables, count, values, error) : STATUS_OK;
}
