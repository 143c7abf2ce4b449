/* benchmark.c - figures as rows, printed as a table and kept as JSON, with targets and marks. */

#include "tests/lib/benchmark.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/kernels/kernels.h"

#define FILE_BYTES_MAX   (16u << 20)
#define FILE_END         "]\n}\n"
#define CELL_BYTES       64
#define OTHERS_MOST      0.10 /* Processors at work for others; below it are ticks' own errors. */
#define STOLEN_MOST      0.02
#define UNSTEADY_MOST    0.10 /* Quartiles' distance by the median. */
#define WHAT_WIDTH       34
#define FIGURE_WIDTH     30
#define LIMIT_WIDTH      22
#define LIMIT_NAME_WIDTH 24
#define RATIO_WIDTH      20
#define CPU_WIDTH        7
#define TARGET_WIDTH     34
#define SETTING_WIDTH    12

/* --- settings that matter ------------------------------------------------------------------ */

/* What follows `name` on the first line of a file that has it, or "?". */
static void read_value(const char *path, const char *name, char value[CELL_BYTES])
{
    char line[512];
    snprintf(value, CELL_BYTES, "?");
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        const char *rest = line + strlen(name) + strspn(line + strlen(name), " \t:");
        snprintf(value, CELL_BYTES, "%.*s", (int)strcspn(rest, "\n"), rest);
        break;
    }
    fclose(file);
}

const char *benchmark_congestion(void)
{
    static char name[CELL_BYTES];
    read_value("/proc/sys/net/ipv4/tcp_congestion_control", "", name);
    return name;
}

const char *benchmark_instructions(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return "AVX2";
#endif
    return "baseline";
}

/* --- cells --------------------------------------------------------------------------------- */

/* Three or four digits that matter. */
static void put_number(char cell[CELL_BYTES], double value)
{
    double size = fabs(value);
    const char *unit = size >= 1e6 ? "M" : size >= 1e5 ? "k" : "";
    double shown = size >= 1e6 ? value * 1e-6 : size >= 1e5 ? value * 1e-3 : value;
    size = fabs(shown);
    int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    snprintf(cell, CELL_BYTES, "%.*f%s", decimals, shown, unit);
}

static void put_spread(char cell[CELL_BYTES], const struct spread *spread)
{
    char median[CELL_BYTES], lower[CELL_BYTES], upper[CELL_BYTES];
    put_number(median, spread->median);
    put_number(lower, spread->lower);
    put_number(upper, spread->upper);
    if (spread->least == spread->most)
        snprintf(cell, CELL_BYTES, "%s", median);
    else
        snprintf(cell, CELL_BYTES, "%.15s (%.15s-%.15s)", median, lower, upper);
}

static void add_bound(char cell[CELL_BYTES], const char *what, const char *sign, double bound)
{
    size_t used = strlen(cell);
    if (bound > 0)
        snprintf(cell + used, CELL_BYTES - used, "%s%s%s%.3g", used > 0 ? ", " : "", what, sign,
                 bound);
}

static void put_target(char cell[CELL_BYTES], const struct figure_target *target)
{
    cell[0] = 0;
    add_bound(cell, "", ">= ", target->least);
    add_bound(cell, "", "<= ", target->most);
    add_bound(cell, "ratio ", ">= ", target->ratio_least);
    add_bound(cell, "ratio ", "<= ", target->ratio_most);
    add_bound(cell, "CPU ", "<= ", target->cpu_most);
}

/* --- a line -------------------------------------------------------------------------------- */

struct line {
    const struct figure *figure;
    struct spread ours, limit, ratio; /* ratio only with a limit */
    double cpu;                       /* Processor seconds per GB, or 0. */
    bool has_target, met;
    char target[CELL_BYTES], noisy[CELL_BYTES]; /* "" when there is none. */
};

static double value_of(const struct figure *figure, double per_call, double seconds)
{
    return figure->is_time ? per_call * seconds : per_call / seconds;
}

static struct spread values_of(const struct figure *figure, double per_call,
                               const struct measured *measured)
{
    double values[MEASURE_ROUNDS_MAX];
    for (unsigned i = 0; i < measured->rounds; i++)
        values[i] = value_of(figure, per_call, measured->seconds[i]);
    return spread_of(values, measured->rounds);
}

static double limit_per_call(const struct figure *figure)
{
    return figure->limit_per_call > 0 ? figure->limit_per_call : figure->per_call;
}

static struct spread ratios_of(const struct figure *figure)
{
    const struct measured *ours = figure->ours, *limit = figure->limit;
    double values[MEASURE_ROUNDS_MAX];
    assert(ours->rounds == limit->rounds); /* In turn. */
    for (unsigned i = 0; i < ours->rounds; i++)
        values[i] = value_of(figure, figure->per_call, ours->seconds[i]) /
                    value_of(figure, limit_per_call(figure), limit->seconds[i]);
    return spread_of(values, ours->rounds);
}

static bool meets(const struct line *line)
{
    const struct figure_target *target = &line->figure->target;
    return line->ours.median >= target->least &&
           (target->most <= 0 || line->ours.median <= target->most) &&
           line->ratio.median >= target->ratio_least &&
           (target->ratio_most <= 0 || line->ratio.median <= target->ratio_most) &&
           (target->cpu_most <= 0 || line->cpu <= target->cpu_most);
}

static void put_noise(char cell[CELL_BYTES], const struct disturbance *disturbance,
                      const struct spread *steady)
{
    double others = disturbance->others / disturbance->seconds;
    double stolen = disturbance->stolen / disturbance->seconds;
    double unsteady = (steady->upper - steady->lower) / steady->median;
    const char *word = "noisy:";
    size_t used = 0;
    cell[0] = 0;
    if (disturbance->seconds > 0 && others > OTHERS_MOST) {
        used += (size_t)snprintf(cell, CELL_BYTES, "%s others %.2f CPUs", word, others);
        word = ",";
    }
    if (disturbance->seconds > 0 && stolen > STOLEN_MOST) {
        used += (size_t)snprintf(cell + used, CELL_BYTES - used, "%s stolen %.2f", word, stolen);
        word = ",";
    }
    if (unsteady > UNSTEADY_MOST)
        snprintf(cell + used, CELL_BYTES - used, "%s +-%.0f %%", word, 50 * unsteady);
}

static struct line line_of(const struct figure *figure)
{
    struct line line = {.figure = figure};
    line.ours = values_of(figure, figure->per_call, figure->ours);
    if (figure->limit != NULL) {
        line.limit = values_of(figure, limit_per_call(figure), figure->limit);
        line.ratio = ratios_of(figure);
    }
    if (figure->bytes > 0)
        line.cpu = spread_of(figure->ours->cpu_seconds, figure->ours->rounds).median /
                   (figure->bytes * 1e-9);
    put_target(line.target, &figure->target);
    line.has_target = line.target[0] != 0;
    line.met = meets(&line);
    put_noise(line.noisy, &figure->ours->disturbance,
              figure->limit != NULL ? &line.ratio : &line.ours);
    return line;
}

/* --- printing ------------------------------------------------------------------------------ */

static void print_row(const char *what, const char *ours, const char *limit, const char *limit_name,
                      const char *ratio, const char *cpu, const char *target, const char *setting,
                      const char *noisy)
{
    char row[1024];
    int length =
        snprintf(row, sizeof row, "%-*s %-*s %-*s %-*s %-*s %*s  %-*s %-*s %s", WHAT_WIDTH, what,
                 FIGURE_WIDTH, ours, LIMIT_WIDTH, limit, LIMIT_NAME_WIDTH, limit_name, RATIO_WIDTH,
                 ratio, CPU_WIDTH, cpu, TARGET_WIDTH, target, SETTING_WIDTH, setting, noisy);
    assert(length > 0 && (size_t)length < sizeof row);
    while (length > 0 && row[length - 1] == ' ')
        length--;
    printf("%.*s\n", length, row);
}

static void print_heading(void)
{
    print_row("median (quartiles)", "ours", "the machine's", "limit", "ratio", "CPU s", "to reach",
              "setting", "");
    print_row("", "", "", "", "", "per GB", "", "", "");
    fflush(stdout); /* Before a benchmark forks. */
}

static void print_line(const struct line *line)
{
    const struct figure *figure = line->figure;
    char ours[CELL_BYTES], limit[CELL_BYTES] = "", ratio[CELL_BYTES] = "", cpu[CELL_BYTES] = "";
    char target[2 * CELL_BYTES] = "";
    put_spread(ours, &line->ours);
    size_t used = strlen(ours);
    snprintf(ours + used, sizeof ours - used, " %s", figure->unit);
    if (figure->limit != NULL) {
        put_spread(limit, &line->limit);
        put_spread(ratio, &line->ratio);
    }
    if (figure->bytes > 0)
        snprintf(cpu, sizeof cpu, "%.3f", line->cpu);
    if (line->has_target)
        snprintf(target, sizeof target, "%s: %s", line->target, line->met ? "met" : "MISSED");
    print_row(figure->what, ours, limit, figure->limit_name != NULL ? figure->limit_name : "",
              ratio, cpu, target, figure->setting != NULL ? figure->setting : "", line->noisy);
    fflush(stdout);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void write_spread(struct json_writer *writer, const char *name, const struct spread *spread)
{
    json_writer_object_line(writer, name);
    json_writer_float(writer, "least", (float)spread->least);
    json_writer_float(writer, "lower", (float)spread->lower);
    json_writer_float(writer, "median", (float)spread->median);
    json_writer_float(writer, "upper", (float)spread->upper);
    json_writer_float(writer, "most", (float)spread->most);
    json_writer_end(writer);
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
    if (text != NULL && text[0] != 0)
        json_writer_text(writer, name, text);
    else
        json_writer_null(writer, name);
}

static void write_disturbance(struct json_writer *writer, const struct disturbance *disturbance)
{
    json_writer_float(writer, "seconds", (float)disturbance->seconds);
    json_writer_float(writer, "others_cpu_seconds", (float)disturbance->others);
    json_writer_float(writer, "stolen_cpu_seconds", (float)disturbance->stolen);
    json_writer_u64(writer, "switches", disturbance->switches);
}

static void write_ratio(struct json_writer *writer, const struct line *line)
{
    if (line->figure->limit != NULL) {
        write_spread(writer, "limit", &line->limit);
        write_text(writer, "limit_name", line->figure->limit_name);
        write_spread(writer, "ratio", &line->ratio);
    } else {
        json_writer_null(writer, "limit");
        write_text(writer, "limit_name", line->figure->limit_name);
        json_writer_null(writer, "ratio");
    }
}

static void write_line(struct json_writer *writer, const char *part, const struct line *line)
{
    const struct figure *figure = line->figure;
    json_writer_object_line(writer, NULL);
    json_writer_text(writer, "part", part);
    json_writer_text(writer, "what", figure->what);
    write_text(writer, "setting", figure->setting);
    json_writer_text(writer, "unit", figure->unit);
    write_spread(writer, "ours", &line->ours);
    write_ratio(writer, line);
    if (figure->bytes > 0)
        json_writer_float(writer, "cpu_seconds_per_gb", (float)line->cpu);
    else
        json_writer_null(writer, "cpu_seconds_per_gb");
    write_text(writer, "target", line->target);
    if (line->has_target)
        json_writer_bool(writer, "met", line->met);
    else
        json_writer_null(writer, "met");
    write_text(writer, "noisy", line->noisy);
    json_writer_u64(writer, "rounds", figure->ours->rounds);
    write_disturbance(writer, &figure->ours->disturbance);
    json_writer_end(writer);
}

static void write_machine(struct json_writer *writer)
{
    struct utsname system;
    char processor[CELL_BYTES];
    read_value("/proc/cpuinfo", "model name", processor);
    json_writer_object_line(writer, "machine");
    json_writer_text(writer, "processor", processor);
    json_writer_u64(writer, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    json_writer_text(writer, "instructions", benchmark_instructions());
    json_writer_text(writer, "kernel", uname(&system) == 0 ? system.release : "?");
    json_writer_text(writer, "congestion", benchmark_congestion());
    json_writer_end(writer);
}

/* --- life ---------------------------------------------------------------------------------- */

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void read_arguments(struct benchmark *benchmark, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--more") == 0)
            benchmark->more = true;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            benchmark->json_path = argv[++i];
        else
            give_up(argv[0], "takes [--json FILE] [--more]");
}

static void begin_document(struct json_writer *writer)
{
    json_writer_object(writer, NULL);
    write_machine(writer);
    json_writer_array(writer, "lines");
}

static void read_before(struct benchmark *benchmark)
{
    struct error error;
    void *data = NULL;
    if (benchmark->json_path == NULL || access(benchmark->json_path, F_OK) != 0)
        return;
    if (disk_posix.read_file(disk_posix.context, benchmark->json_path, FILE_BYTES_MAX, &data,
                             &benchmark->before_bytes, &error) != STATUS_OK)
        give_up(benchmark->json_path, error.text);
    benchmark->before = data;
    size_t end = strlen(FILE_END);
    if (benchmark->before_bytes < end ||
        memcmp(benchmark->before + benchmark->before_bytes - end, FILE_END, end) != 0)
        give_up(benchmark->json_path, "is not the JSON of a benchmark");
}

void benchmark_open(struct benchmark *benchmark, const char *part, int argc, char **argv)
{
    memset(benchmark, 0, sizeof *benchmark);
    benchmark->part = part;
    read_arguments(benchmark, argc, argv);
    read_before(benchmark);
    kernels_init();
    json_writer_init(&benchmark->writer, false);
    begin_document(&benchmark->writer);
    benchmark->first_line = benchmark->writer.bytes;
    if (benchmark->before != NULL)
        return;
    print_heading();
}

void benchmark_line(struct benchmark *benchmark, const struct figure *figure)
{
    struct line line = line_of(figure);
    print_line(&line);
    write_line(&benchmark->writer, benchmark->part, &line);
}

void benchmark_remark(struct benchmark *benchmark, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("    %s\n", text);
    fflush(stdout);
    json_writer_object_line(&benchmark->writer, NULL);
    json_writer_text(&benchmark->writer, "part", benchmark->part);
    json_writer_text(&benchmark->writer, "remark", text);
    json_writer_end(&benchmark->writer);
}

/* Ours behind what was there before: a whole document either way. */
static void join(struct benchmark *benchmark, struct json_writer *document)
{
    const struct json_writer *ours = &benchmark->writer;
    json_writer_init(document, false);
    if (benchmark->before == NULL) {
        json_writer_raw(document, ours->text, ours->bytes);
        return;
    }
    bool first = benchmark->before[benchmark->before_bytes - strlen(FILE_END) - 1] == '[';
    bool any = ours->bytes - benchmark->first_line > strlen(FILE_END);
    size_t end = benchmark->before_bytes - strlen(any && !first ? "\n  " FILE_END : FILE_END);
    json_writer_raw(document, benchmark->before, end);
    if (any && !first)
        json_writer_raw(document, ",", 1);
    json_writer_raw(document, ours->text + benchmark->first_line,
                    ours->bytes - benchmark->first_line);
}

static void write_file(const struct benchmark *benchmark, const struct json_writer *document)
{
    struct error error;
    struct disk_piece piece = {document->text, document->bytes};
    if (benchmark->json_path != NULL &&
        disk_posix.write_file(disk_posix.context, benchmark->json_path, &piece, 1, &error) !=
            STATUS_OK)
        give_up(benchmark->json_path, error.text);
}

static void print_missed(const struct json *line)
{
    const char *setting = json_text(line, "setting");
    printf("missed: %s%s%s%s: %s; now %.4g %s", json_text(line, "what"),
           setting != NULL ? " (" : "", setting != NULL ? setting : "", setting != NULL ? ")" : "",
           json_text(line, "target"), json_number(line, "ours.median"), json_text(line, "unit"));
    if (json_at(line, "ratio.median") != NULL)
        printf(", ratio %.3g", json_number(line, "ratio.median"));
    if (json_at(line, "cpu_seconds_per_gb") != NULL &&
        strstr(json_text(line, "target"), "CPU") != NULL)
        printf(", CPU %.3g", json_number(line, "cpu_seconds_per_gb"));
    puts(json_text(line, "noisy") != NULL ? " (noisy)" : "");
}

bool benchmark_is_yes(const struct json *value, const char *path)
{
    struct json_writer text;
    json_writer_init(&text, true);
    if (json_at(value, path) != NULL)
        json_write(json_at(value, path), &text, NULL);
    bool yes = text.bytes > 0 && strcmp(text.text, "true") == 0;
    json_writer_free(&text);
    return yes;
}

static void print_summary(const struct benchmark *benchmark, const struct json *lines)
{
    unsigned measured = 0, noisy = 0, targets = 0, met = 0;
    for (size_t i = 0; i < json_length(lines, ""); i++) {
        const struct json *line = json_item(lines, i);
        measured += json_text(line, "what") != NULL;
        noisy += json_text(line, "noisy") != NULL;
        targets += json_text(line, "target") != NULL;
        met += benchmark_is_yes(line, "met");
    }
    printf("\n%u lines; %u of %u targets met", measured, met, targets);
    if (noisy > 0)
        printf("; %u noisy: something else was at work, or rounds differed: measure them again",
               noisy);
    puts("");
    for (size_t i = 0; i < json_length(lines, ""); i++)
        if (json_text(json_item(lines, i), "target") != NULL &&
            !benchmark_is_yes(json_item(lines, i), "met"))
            print_missed(json_item(lines, i));
    if (benchmark->json_path != NULL)
        printf("JSON: %s\n", benchmark->json_path);
}

int benchmark_close(struct benchmark *benchmark)
{
    struct json_writer document;
    struct json *root = NULL;
    struct error error;
    json_writer_end(&benchmark->writer);
    json_writer_end(&benchmark->writer);
    json_writer_raw(&benchmark->writer, "\n", 1);
    join(benchmark, &document);
    if (benchmark->writer.failed || document.failed)
        give_up(benchmark->part, "out of memory");
    if (json_parse(document.text, document.bytes, "figures", &root, &error) != STATUS_OK)
        give_up(benchmark->part, error.text);
    write_file(benchmark, &document);
    if (!benchmark->more)
        print_summary(benchmark, json_at(root, "lines"));
    if (measure_is_smoke())
        printf("ok - bench_%s measures\n", benchmark->part);
    json_release(&root);
    json_writer_free(&document);
    json_writer_free(&benchmark->writer);
    free(benchmark->before);
    return EXIT_SUCCESS;
}
