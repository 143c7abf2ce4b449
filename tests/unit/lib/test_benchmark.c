/* test_benchmark.c - the figures of benchmarks: spreads, ratios, targets and marks, of made-up
 * times. */

#include "tests/lib/benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

/* --- measuring ------------------------------------------------------------------------------ */

TEST_PLAIN(a_spread_has_the_median_and_the_quartiles)
{
    const double values[] = {5, 1, 4, 2, 3};
    struct spread spread = spread_of(values, 5);
    ck_assert(spread.least == 1 && spread.lower == 2 && spread.median == 3);
    ck_assert(spread.upper == 4 && spread.most == 5);
    spread = spread_of(values, 2);
    ck_assert(spread.least == 1 && spread.lower == 2 && spread.median == 3 && spread.upper == 4);
    spread = spread_of(values, 1);
    ck_assert(spread.least == 5 && spread.median == 5 && spread.most == 5);
}

static char order[64];

static void note(void *context)
{
    strncat(order, context, sizeof order - strlen(order) - 1);
}

TEST_PLAIN(pieces_take_turns)
{
    char a[] = "a", b[] = "b";
    struct piece pieces[] = {{.work = note, .context = a, .calls = 2},
                             {.work = note, .context = b, .cold = true}};
    struct measured measured[2];
    measure_in_turn(pieces, 2, 3, measured);
    ck_assert_str_eq(order, "a"
                            "aab"
                            "aab"
                            "aab");
    ck_assert_uint_eq(measured[0].rounds, 3);
    ck_assert_uint_eq(measured[1].rounds, 3);
}

static double told; /* Seconds that a call says it took: 1, 2, 3, ... */

static void tell(void *context)
{
    (void)context;
    told++;
}

TEST_PLAIN(a_round_is_the_mean_of_its_calls_or_their_median)
{
    struct piece piece = {.work = tell, .calls = 4, .cold = true, .own_seconds = &told};
    struct measured measured;
    measure_in_turn(&piece, 1, 1, &measured);
    ck_assert(measured.seconds[0] == 2.5);
    piece.each = true;
    piece.calls = 3;
    told = 10;
    measure_in_turn(&piece, 1, 2, &measured);
    ck_assert(measured.seconds[0] == 12 && measured.seconds[1] == 15);
}

static void work_hard(void *context)
{
    volatile unsigned *sum = context;
    for (unsigned i = 0; i < 3000000; i++)
        *sum += i;
}

static void work_little(void *context)
{
    (void)context;
}

TEST_PLAIN(processor_time_is_that_of_the_piece)
{
    unsigned sum = 0;
    struct piece pieces[] = {{.work = work_hard, .context = &sum, .calls = 2},
                             {.work = work_little}};
    struct measured measured[2];
    measure_in_turn(pieces, 2, 2, measured);
    for (unsigned round = 0; round < 2; round++) {
        ck_assert(measured[0].cpu_seconds[round] > 0);
        ck_assert(measured[0].cpu_seconds[round] > measured[1].cpu_seconds[round]);
    }
}

/* --- the table ------------------------------------------------------------------------------ */

static char json_path[DISK_PATH_MAX], text_path[DISK_PATH_MAX];

static void open_table(void)
{
    scratch_open();
    scratch_path(json_path, "bench.json");
    scratch_path(text_path, "bench.txt");
    ck_assert_ptr_nonnull(freopen(text_path, "w", stdout));
}

static void begin(struct benchmark *benchmark, const char *part, bool more)
{
    char name[] = "bench", json[] = "--json", more_word[] = "--more";
    char *arguments[] = {name, json, json_path, more_word, NULL};
    benchmark_open(benchmark, part, more ? 4 : 3, arguments);
}

/* The document and the text that a benchmark left. */
static struct json *finish(struct benchmark *benchmark, char **text)
{
    size_t bytes;
    struct error error;
    struct json *root;
    ck_assert_int_eq(benchmark_close(benchmark), 0);
    fflush(stdout);
    *text = scratch_read(text_path, &bytes);
    ck_assert_int_eq(json_read_file(&disk_posix, json_path, 1 << 20, &root, &error), STATUS_OK);
    return root;
}

static const struct json *line_at(const struct json *root, size_t index)
{
    const struct json *line = json_item(json_at(root, "lines"), index);
    ck_assert_ptr_nonnull(line);
    return line;
}

static struct measured times(double first, double second, double third)
{
    return (struct measured){.rounds = 3,
                             .seconds = {first, second, third},
                             .cpu_seconds = {first, second, third},
                             .disturbance = {.seconds = 1}};
}

TEST_PLAIN(ratios_are_taken_round_by_round)
{
    /* The machine halves its speed, and the ratio does not notice. */
    struct measured ours = times(2, 4, 8), limit = times(1, 2, 4);
    struct benchmark benchmark;
    char *text;
    begin(&benchmark, "x", false);
    benchmark_line(&benchmark, &(struct figure){.what = "steady",
                                                .unit = "GB/s",
                                                .per_call = 8,
                                                .ours = &ours,
                                                .limit = &limit,
                                                .bytes = 2e9,
                                                .target = {.ratio_least = 0.5}});
    benchmark_line(&benchmark, &(struct figure){.what = "a time",
                                                .unit = "ms",
                                                .is_time = true,
                                                .per_call = 1e3,
                                                .ours = &ours,
                                                .limit = &limit,
                                                .target = {.ratio_most = 1.9}});
    struct json *root = finish(&benchmark, &text);
    const struct json *rate = line_at(root, 0), *time = line_at(root, 1);
    ck_assert(json_number(rate, "ours.median") == 2);
    ck_assert(json_number(rate, "limit.median") == 4);
    ck_assert(json_number(rate, "ratio.least") == 0.5 && json_number(rate, "ratio.most") == 0.5);
    ck_assert(json_number(rate, "cpu_seconds_per_gb") == 2);
    ck_assert(benchmark_is_yes(rate, "met"));
    ck_assert_ptr_null(json_text(rate, "noisy"));
    ck_assert(json_number(time, "ours.median") == 4000);
    ck_assert(json_number(time, "ratio.median") == 2);
    ck_assert(!benchmark_is_yes(time, "met"));
    ck_assert_ptr_nonnull(strstr(text, "ratio >= 0.5: met"));
    ck_assert_ptr_nonnull(strstr(text, "ratio <= 1.9: MISSED"));
    ck_assert_ptr_nonnull(strstr(text, "2 lines; 1 of 2 targets met"));
    ck_assert_ptr_nonnull(strstr(text, "missed: a time"));
    json_release(&root);
    free(text);
}

TEST_PLAIN(every_bound_of_a_target_counts)
{
    static const struct figure_target missed[] = {
        {.least = 2.1}, {.most = 1.9}, {.ratio_least = 1.1}, {.ratio_most = 0.9}, {.cpu_most = 3.9},
    };
    static const struct figure_target met = {1.9, 2.1, 0.9, 1.1, 4.1};
    struct measured ours = times(4, 4, 4);
    struct figure figure = {
        .what = "x", .unit = "GB/s", .per_call = 8, .ours = &ours, .limit = &ours, .bytes = 1e9};
    struct benchmark benchmark;
    char *text;
    begin(&benchmark, "x", false);
    for (unsigned i = 0; i < 5; i++) {
        figure.target = missed[i];
        benchmark_line(&benchmark, &figure);
    }
    figure.target = met;
    benchmark_line(&benchmark, &figure);
    struct json *root = finish(&benchmark, &text);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_msg(!benchmark_is_yes(line_at(root, i), "met"), "bound %u", i);
    ck_assert(benchmark_is_yes(line_at(root, 5), "met"));
    json_release(&root);
    free(text);
}

TEST_PLAIN(a_disturbed_or_unsteady_line_is_marked)
{
    struct measured quiet = times(1, 1, 1), others = quiet, stolen = quiet;
    struct measured unsteady = times(1, 2, 3);
    others.disturbance.others = 0.5;
    stolen.disturbance.stolen = 0.1;
    const struct measured *const measured[] = {&quiet, &others, &stolen, &unsteady};
    struct benchmark benchmark;
    char *text;
    begin(&benchmark, "x", false);
    for (unsigned i = 0; i < 4; i++)
        benchmark_line(
            &benchmark,
            &(struct figure){.what = "x", .unit = "s", .per_call = 1, .ours = measured[i]});
    struct json *root = finish(&benchmark, &text);
    ck_assert_ptr_null(json_text(line_at(root, 0), "noisy"));
    ck_assert_ptr_nonnull(strstr(json_text(line_at(root, 1), "noisy"), "others 0.50 CPUs"));
    ck_assert_ptr_nonnull(strstr(json_text(line_at(root, 2), "noisy"), "stolen 0.10"));
    ck_assert_ptr_nonnull(strstr(json_text(line_at(root, 3), "noisy"), "+-"));
    ck_assert_ptr_nonnull(strstr(text, "3 noisy"));
    json_release(&root);
    free(text);
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        count++;
    return count;
}

TEST_PLAIN(programs_add_to_one_table_and_one_document)
{
    static const char *const parts[] = {"none", "first", "none again", "last"};
    struct measured value = measure_value(3);
    struct benchmark benchmark;
    struct json *root = NULL;
    char *text = NULL;
    for (unsigned i = 0; i < 4; i++) {
        json_release(&root);
        free(text);
        begin(&benchmark, parts[i], i < 3);
        if (i % 2 == 1) /* Others have nothing to say. */
            benchmark_line(&benchmark, &(struct figure){.what = parts[i],
                                                        .unit = "MiB",
                                                        .is_time = true,
                                                        .per_call = 1,
                                                        .ours = &value});
        if (i == 3)
            benchmark_remark(&benchmark, "%d words", 2);
        root = finish(&benchmark, &text);
    }
    ck_assert_uint_eq(json_length(root, "lines"), 3);
    ck_assert_str_eq(json_text(line_at(root, 0), "part"), "first");
    ck_assert_str_eq(json_text(line_at(root, 1), "part"), "last");
    ck_assert_str_eq(json_text(line_at(root, 2), "remark"), "2 words");
    ck_assert(json_number(line_at(root, 1), "ours.median") == 3);
    ck_assert_ptr_nonnull(json_text(root, "machine.instructions"));
    ck_assert_uint_eq(occurrences(text, "median (quartiles)"), 1);
    ck_assert_uint_eq(occurrences(text, "lines;"), 1);
    ck_assert_ptr_nonnull(strstr(text, "2 lines; 0 of 0 targets met"));
    json_release(&root);
    free(text);
}

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, open_table, scratch_close);
}

int main(void)
{
    return suite_run("benchmark", add);
}
