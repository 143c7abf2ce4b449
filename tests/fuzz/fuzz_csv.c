/* fuzz_csv.c - tables in text.
 *
 *     input: label (1 byte; 0 none, else the column's number) | the text */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "worker/data/csv.h"

/* A first allocation of 1,024 rows of as many columns as the text has bytes; a label's cell of two words,
 * and its value, for two bytes. */
const struct fuzz_bounds fuzz_bounds = {1u << 17, 1024 * 8};

void fuzz_start(void)
{
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char label[8] = "";
    unsigned number = (unsigned)fuzz_take(&input, 1);
    if (number > 0)
        snprintf(label, sizeof label, "%u", number);
    char *text = malloc(input.left + 1);
    fuzz_must(text != NULL, "there is memory for a text");
    memcpy(text, input.data, input.left);
    text[input.left] = '\0';
    struct csv csv;
    struct error error;
    double *values[2] = {NULL, NULL};
    if (csv_read(&csv, "x.csv", text, input.left, label, &error) == STATUS_OK) {
        fuzz_must(csv.columns >= 2 && csv.label < csv.columns && csv.rows > 0,
                  "a table has columns and rows");
        if (csv_labels(&csv, 1, false, values, &error) == STATUS_OK)
            for (uint64_t i = 0; i < csv.rows; i++)
                fuzz_must(values[0][i] >= 0, "classes are not negative");
        free(values[0]);
        csv_free(&csv);
    }
    free(text);
}
