/* Tables in text: what is read, and what is refused by line and column. */
/* promises: data */

#include "worker/data/csv.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static struct csv read_text(const char *text, const char *label)
{
    struct csv csv;
    struct error error = {0};
    enum status status = csv_read(&csv, "x.csv", text, strlen(text), label, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return csv;
}

static void refused(const char *text, const char *label, const char *said)
{
    struct csv csv;
    struct error error = {0};
    ck_assert_int_eq(csv_read(&csv, "x.csv", text, strlen(text), label, &error), STATUS_INVALID);
    ck_assert_msg(strcmp(error.text, said) == 0, "'%s' is not '%s'", error.text, said);
    ck_assert_ptr_null(csv.numbers);
}

static void check_labels(const struct csv *tables, unsigned count, const double *expected)
{
    double *values[2];
    ck_assert_int_eq(csv_labels(tables, count, false, values, NULL), STATUS_OK);
    for (unsigned i = 0; i < count; i++) {
        for (uint64_t row = 0; row < tables[i].rows; row++)
            ck_assert_double_eq(values[i][row], *expected++);
        free(values[i]);
    }
}

/* The same table: two numbers and a class, two rows, in all the ways that it is written. */
TEST_PLAIN(separators_headers_quotes_and_line_ends_are_taken)
{
    static const struct {
        const char *text, *label;
    } ways[] = {
        {"a,b,kind\n1.5,2,0\n-3e1,.25,1\n", "kind"},
        {"a,b,kind\r\n1.5,2,0\r\n-3e1,.25,1", "3"},
        {"1.5,2,0\n-3e1,.25,1\n", "3"},
        {"\xef\xbb\xbf"
         "a;b;kind\n1.5;2;0\n\n-3e1;.25;1\n\n",
         "kind"},
        {"\"a,b\"\t\"b\"\"c\"\tkind\n\"1.5\"\t 2 \t0\n-3e1\t.25\t1\n", "kind"},
        {"a\tb\tkind\n\"1.5\"\t 2 \t\"0\"\n-3e1\t.25\t1\n", "kind"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        static const float numbers[] = {1.5f, 2, -30, .25f};
        struct csv csv = read_text(ways[i].text, ways[i].label);
        ck_assert_uint_eq(csv.rows * 10 + csv.columns, 23);
        ck_assert_mem_eq(csv.numbers, numbers, sizeof numbers);
        ck_assert(!csv.bytes);
        check_labels(&csv, 1, (double[]){0, 1});
        csv_free(&csv);
    }
}

TEST_PLAIN(a_column_is_found_by_its_name_before_its_number)
{
    struct csv csv = read_text("x,2,1\n7,8,9\n", "1");
    ck_assert_uint_eq(csv.label, 2);
    csv_free(&csv);
    csv = read_text("x,y,z\n7,8,9\n", "1");
    ck_assert_uint_eq(csv.label, 0);
    csv_free(&csv);
}

TEST_PLAIN(whole_numbers_to_255_are_bytes)
{
    struct csv csv = read_text("label,p0,p1\n7,0,255\n3,9,1\n", "label");
    ck_assert(csv.bytes);
    csv_free(&csv);
    csv = read_text("label,p0,p1\n7,0,256\n", "label");
    ck_assert(!csv.bytes);
    csv_free(&csv);
    csv = read_text("label,p0,p1\n7,0,1.5\n", "label");
    ck_assert(!csv.bytes);
    csv_free(&csv);
}

TEST_PLAIN(words_are_classes_in_their_order_over_both_tables)
{
    struct csv tables[] = {read_text("1,pear\n2,apple\n3,pear\n", "2"),
                           read_text("1,fig\n2,apple\n", "2")};
    check_labels(tables, 1, (double[]){1, 0, 1});
    check_labels(tables, 2, (double[]){2, 0, 2, 1, 0});
    csv_free(&tables[0]);
    csv_free(&tables[1]);
    tables[0] = read_text("1,-1\n2,1\n", "2"); /* No whole numbers from 0: they are words. */
    check_labels(tables, 1, (double[]){0, 1});
    double *values[2];
    ck_assert_int_eq(csv_labels(tables, 1, true, values, NULL), STATUS_OK);
    ck_assert_double_eq(values[0][0], -1);
    free(values[0]);
    csv_free(&tables[0]);
    struct error error;
    tables[0] = read_text("1,2.5\n2,x\n", "2");
    ck_assert_int_eq(csv_labels(tables, 1, true, values, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "x.csv: column 2: 'x' is no number, which --loss mse needs");
    free(values[0]);
    csv_free(&tables[0]);
}

TEST_PLAIN(what_cannot_be_read_is_refused_by_line_and_column)
{
    refused("a,b\n1,2\n3,\n", "1",
            "x.csv: line 3, column 2 ('') is empty: fill it, or leave the column or the line out");
    refused("a,b\n1,2\n,4\n", "1",
            "x.csv: line 3, column 1 ('') is empty: fill it, or leave the column or the line out");
    refused(
        "a,b\n1,2\n\n3,many\n", "a",
        "x.csv: line 4, column 2 ('many') is no number: give words numbers, or leave the column "
        "out");
    refused("a,b\n1,nan\n", "a",
            "x.csv: line 2, column 2 ('nan') is no number: give words numbers, or leave the column "
            "out");
    refused(
        "a,b\n1,1e99\n", "a",
        "x.csv: line 2, column 2 ('1e99') is no number: give words numbers, or leave the column "
        "out");
    refused("a,b\n1,2\n1\n", "a", "x.csv: line 3 has fewer than 2 columns");
    refused("a,b\n1,2\n1,2,3\n", "a", "x.csv: line 3 has more than 2 columns");
    refused("a,b\n1,\"2\n", "a",
            "x.csv: line 2, column 2: its quotes do not end where the cell does");
    refused("a,b\n1,\"2\"5\n", "a",
            "x.csv: line 2, column 2: its quotes do not end where the cell does");
    refused("a,b\n1,2\n", "c", "x.csv: --label=c: there is no such column, but a, b");
    refused("a,b\n1,2\n", "3", "x.csv: --label=3: there is no such column, but a, b");
    refused("a,b\n1,2\n", "", "x.csv: --label says which column is to be learned: a, b");
    refused("1,2\n3,4\n", "", "x.csv: --label says which column is to be learned: 1 to 2");
    refused("a\n1\n", "a",
            "x.csv: its first line has 1 columns; 2 to 65536, between commas, semicolons or tabs, "
            "can be read");
    refused("a,b\n", "a", "x.csv: has no lines of numbers");
}

int main(void)
{
    return suite_run("csv", NULL);
}
