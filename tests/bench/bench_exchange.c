/* bench_exchange.c - one exchange between two processes on one host: push a gradient, SGD applied,
 * fresh parameters back; both directions are counted.
 *
 * In turn with each of ours, in the same run: raw ZeroMQ with its best message size that does the
 * same work (applies SGD, places values; raw_zeromq.h), which is the limit, and that does nothing;
 * raw TCP one way after the other and both ways at once, and SGD in place on as many bytes. Times are medians
 * of exchanges, rates are means of rounds; medians of rounds in both.
 *
 *     bench_exchange [--json FILE] [--more]
 *                    [--bytes N,...] [--control bbr,cubic] [--transport tcp,shm,curve]
 *                    [--chunk-bytes N,...] [--mode async|sync] [--rounds N] [--ours] */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/optimizer/optimizer.h"
#include "tests/bench/contenders/contender.h"
#include "tests/bench/contenders/raw_tcp.h"
#include "tests/bench/contenders/raw_zeromq.h"
#include "tests/bench/contenders/syncopate_pair.h"
#include "tests/bench/lib/folder.h"
#include "tests/bench/lib/network.h"
#include "tests/lib/benchmark.h"

#define LIST_MAX       8
#define REFERENCE      (121930u * 4) /* Bytes of the reference model. */
#define CONTENDERS_MAX (LIST_MAX * LIST_MAX + 5)

struct options {
    uint64_t bytes[LIST_MAX], chunk_bytes[LIST_MAX];
    unsigned byte_count, chunk_count;
    const char *controls[LIST_MAX], *transports[LIST_MAX];
    unsigned control_count, transport_count;
    enum mode mode;
    unsigned rounds;
    bool ours; /* Without the limits. */
};

/* --- what one core does without anybody else ------------------------------------------------ */

static float *make(uint64_t count, float value)
{
    float *values = aligned_alloc(64, (count * sizeof *values + 63) / 64 * 64);
    if (values == NULL)
        contender_fail("out of memory");
    for (uint64_t i = 0; i < count; i++)
        values[i] = value;
    return values;
}

static void *open_update(const void *setting, const char *address)
{
    (void)address;
    uint64_t count = ((const struct raw_tcp_setting *)setting)->bytes / sizeof(float);
    struct optimizer_update *update = malloc(sizeof *update);
    float *values = make(count, 1);
    if (update == NULL)
        contender_fail("out of memory");
    *update = (struct optimizer_update){.settings = &optimizer_find("sgd")->defaults,
                                        .t = 1,
                                        .learning_rate = 1e-6f,
                                        .scale = 1,
                                        .count = count,
                                        .gradient = make(count, 0.01f),
                                        .values_in = values,
                                        .values_out = values};
    return update;
}

static void apply_sgd(void *update)
{
    optimizer_find("sgd")->apply(update);
}

static const struct contender_kind sgd_in_place = {"SGD in place", NULL, open_update, apply_sgd};

/* --- what is to be reached ------------------------------------------------------------------ */

struct goal {
    const char *transport, *control; /* control "": any. */
    uint64_t bytes;
    bool is_time; /* Else GB/s. */
    double scale; /* Of times: 1e6 for us. */
    const struct contender_kind *limit;
    struct figure_target target;
};

static const struct goal goals[] = {
    {"tcp", "", 64u << 20, false, 0, &raw_zeromq_working, {.ratio_least = 0.95, .cpu_most = 0.30}},
    {"tcp", "", 1u << 20, false, 0, &raw_zeromq_working, {.ratio_least = 0.85}},
    {"tcp", "", REFERENCE, false, 0, &raw_zeromq_working, {.ratio_least = 0.85}},
    {"tcp", "", 64u << 10, false, 0, &raw_zeromq_working, {.ratio_least = 0.85}},
    {"tcp", "", 4u << 10, true, 1e6, &raw_zeromq_working, {.ratio_most = 1.15}},
    {"shm", "", 64u << 20, true, 1e3, &sgd_in_place, {.ratio_most = 2}},
    {"shm", "", REFERENCE, true, 1e6, &sgd_in_place, {.most = 150}},
};

static struct goal goal_of(const char *transport, const char *control, uint64_t bytes)
{
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++)
        if (strcmp(goals[i].transport, transport) == 0 && goals[i].bytes == bytes &&
            (goals[i].control[0] == '\0' || strcmp(goals[i].control, control) == 0))
            return goals[i];
    bool shared = strcmp(transport, "shm") == 0;
    return (struct goal){.is_time = shared,
                         .scale = bytes < (1u << 20) ? 1e6 : 1e3,
                         .limit = shared ? &sgd_in_place : &raw_zeromq_working};
}

/* --- a comparison --------------------------------------------------------------------------- */

struct comparison {
    const struct options *options;
    const char *control;
    bool first;     /* Congestion control of those to be tried. */
    uint64_t bytes; /* One way. */
    struct contender contenders[CONTENDERS_MAX];
    struct syncopate_pair_setting ours[CONTENDERS_MAX];
    struct measured measured[CONTENDERS_MAX];
    unsigned ours_count, count;
    const char *folder;
    struct raw_zeromq_setting zeromq, zeromq_working;
};

static void start_ours(struct comparison *c)
{
    const struct options *options = c->options;
    for (unsigned t = 0; t < options->transport_count; t++) {
        /* Congestion control is nothing to shared memory: once will do. */
        if (strcmp(options->transports[t], "tcp") != 0 && !c->first)
            continue;
        if (strcmp(options->transports[t], "curve") == 0)
            syncopate_pair_make_keys(c->folder);
        for (unsigned k = 0; k < options->chunk_count; k++, c->count++) {
            c->ours[c->count] = (struct syncopate_pair_setting){
                .folder = c->folder,
                .bytes = c->bytes,
                .chunk_bytes = options->chunk_bytes[k],
                .mode = options->mode,
                .transport = options->transports[t],
                .optimizer = "sgd",
            };
            contender_start(&c->contenders[c->count], &syncopate_pair, &c->ours[c->count]);
        }
    }
    c->ours_count = c->count;
}

static void start_limits(struct comparison *c)
{
    struct raw_tcp_setting plain = {c->bytes};
    c->zeromq = (struct raw_zeromq_setting){.bytes = c->bytes};
    c->zeromq_working = (struct raw_zeromq_setting){.bytes = c->bytes, .works = true};
    raw_zeromq_choose(&c->zeromq);
    raw_zeromq_choose(&c->zeromq_working);
    contender_start(&c->contenders[c->count++], &raw_zeromq_working, &c->zeromq_working);
    contender_start(&c->contenders[c->count++], &raw_zeromq, &c->zeromq);
    contender_start(&c->contenders[c->count++], &raw_tcp_sequence, &plain);
    contender_start(&c->contenders[c->count++], &raw_tcp_both, &plain);
    contender_start(&c->contenders[c->count++], &sgd_in_place, &plain);
}

static void take_turns(struct comparison *c)
{
    struct piece pieces[CONTENDERS_MAX];
    for (unsigned i = 0; i < c->count; i++) {
        bool by_median = i < c->ours_count
                             ? goal_of(c->ours[i].transport, c->control, c->bytes).is_time
                             : c->bytes < (64u << 10);
        pieces[i] = contender_piece(&c->contenders[i], by_median);
    }
    measure_in_turn(pieces, c->count, c->options->rounds, c->measured);
}

static void name_size(char name[32], uint64_t bytes)
{
    if (bytes == REFERENCE)
        snprintf(name, 32, "488 KB");
    else if (bytes < (1u << 20))
        snprintf(name, 32, "%.4g KiB", (double)bytes / 1024);
    else
        snprintf(name, 32, "%.4g MiB", (double)bytes / (1 << 20));
}

static unsigned find_limit(const struct comparison *c, const struct contender_kind *kind)
{
    for (unsigned i = c->ours_count; i < c->count; i++)
        if (c->contenders[i].kind == kind)
            return i;
    return 0; /* There are no limits: ours alone. */
}

static void show_line(struct benchmark *benchmark, const struct comparison *c, unsigned index)
{
    const struct syncopate_pair_setting *setting = &c->ours[index];
    struct goal goal = goal_of(setting->transport, c->control, c->bytes);
    unsigned limit = find_limit(c, goal.limit);
    char what[96], size[32], where[64];
    name_size(size, c->bytes);
    int used = snprintf(what, sizeof what, "exchange %s, %s", size, setting->transport);
    if (c->options->chunk_count > 1)
        snprintf(what + used, sizeof what - (size_t)used, ", %llu K chunks",
                 (unsigned long long)setting->chunk_bytes >> 10);
    snprintf(where, sizeof where, "%s", strcmp(setting->transport, "tcp") == 0 ? c->control : "");
    struct figure figure = {
        .what = what,
        .unit = !goal.is_time      ? "GB/s"
                : goal.scale > 1e3 ? "us"
                                   : "ms",
        .is_time = goal.is_time,
        .per_call = goal.is_time ? goal.scale : 2e-9 * (double)c->bytes,
        .ours = &c->measured[index],
        .limit = limit > 0 ? &c->measured[limit] : NULL,
        .limit_name = limit > 0 ? goal.limit->name : NULL,
        /* A call is a round. */
        .bytes = 2.0 * (double)c->bytes * c->contenders[index].calls,
        .setting = where,
        .target = goal.target,
    };
    if (limit == 0)
        figure.target.ratio_least = figure.target.ratio_most = 0;
    benchmark_line(benchmark, &figure);
}

/* How often both processes, an exchange, have polled, were woken, sent and received (calls.h). */
static void show_calls(struct benchmark *benchmark, const char *name,
                       const struct contender *contender)
{
    double count = (double)(contender->count - contender->warm);
    const struct calls *calls = contender->own;
    benchmark_remark(benchmark,
                     "%-26s polls %5.1f  wakings %5.1f  sends %5.1f  receives %5.1f an exchange",
                     name, (double)calls->polls / count, (double)calls->wakings / count,
                     (double)calls->sends / count, (double)calls->receives / count);
}

/* The rest, for whoever wonders: everybody's times, rates and processor seconds. */
static void show_all(struct benchmark *benchmark, const struct comparison *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        const struct contender *contender = &c->contenders[i];
        const struct measured *measured = &c->measured[i];
        double gb = 2e-9 * (double)c->bytes;
        const char *name = i < c->ours_count ? c->ours[i].transport : contender->kind->name;
        benchmark_remark(
            benchmark, "%-26s p50 %8.1f us  p99 %8.1f us  %6.2f GB/s  %6.3f CPU s/GB", name,
            contender_quantile(contender, 0.5) * 1e6, contender_quantile(contender, 0.99) * 1e6,
            gb / spread_of(measured->seconds, measured->rounds).median,
            spread_of(measured->cpu_seconds, measured->rounds).median / (gb * contender->calls));
        show_calls(benchmark, name, contender);
    }
    if (!c->options->ours)
        benchmark_remark(benchmark,
                         "raw ZeroMQ in messages of %llu KiB, and %llu KiB with the work; SGD's GB "
                         "of two ways too",
                         (unsigned long long)c->zeromq.message_bytes >> 10,
                         (unsigned long long)c->zeromq_working.message_bytes >> 10);
}

static void compare(struct benchmark *benchmark, const struct options *options, const char *control,
                    bool first, uint64_t bytes)
{
    struct comparison *c = calloc(1, sizeof *c);
    if (c == NULL)
        contender_fail("out of memory");
    c->options = options;
    c->control = control;
    c->first = first;
    c->bytes = bytes;
    char folder[FOLDER_PATH_MAX];
    folder_make(folder);
    c->folder = folder;
    start_ours(c);
    if (!options->ours)
        start_limits(c);
    take_turns(c);
    for (unsigned i = 0; i < c->ours_count; i++)
        show_line(benchmark, c, i);
    show_all(benchmark, c);
    for (unsigned i = 0; i < c->count; i++)
        contender_stop(&c->contenders[i]);
    folder_remove(folder, NULL);
    free(c);
}

static void measure_all(struct benchmark *benchmark, const struct options *options)
{
    bool own = network_own();
    for (unsigned i = 0; i < options->control_count; i++) {
        char found[16];
        bool set = network_set_congestion_control(options->controls[i]);
        raw_tcp_congestion_control(found);
        benchmark_remark(benchmark, "congestion control %s, in %s", found,
                         own ? "a network namespace of the benchmark's own"
                             : "the host's own network: not allowed to make another");
        if (!set)
            benchmark_remark(benchmark, "%s cannot be had here", options->controls[i]);
        if (!set && i > 0)
            continue;
        for (unsigned b = 0; b < options->byte_count; b++)
            compare(benchmark, options, found, i == 0, options->bytes[b]);
    }
}

/* --- the program ---------------------------------------------------------------------------- */

static unsigned split(char *text, const char **words)
{
    unsigned count = 0;
    for (char *word = strtok(text, ","); word != NULL && count < LIST_MAX; word = strtok(NULL, ","))
        words[count++] = word;
    return count;
}

static unsigned split_numbers(char *text, uint64_t *numbers)
{
    const char *words[LIST_MAX];
    unsigned count = split(text, words);
    for (unsigned i = 0; i < count; i++)
        numbers[i] = strtoull(words[i], NULL, 10);
    return count;
}

static bool read_mode(const char *value, struct options *options)
{
    struct mode_setting setting;
    bool known = mode_read(value, &setting) == STATUS_OK && !mode_facts(setting.mode)->bounds;
    options->mode = known ? setting.mode : options->mode;
    return known;
}

/* True when the argument was one of ours. */
static bool take_option(struct options *options, const char *name, char *value)
{
    if (strcmp(name, "--ours") == 0)
        options->ours = true;
    else if (value == NULL)
        return false;
    else if (strcmp(name, "--bytes") == 0)
        options->byte_count = split_numbers(value, options->bytes);
    else if (strcmp(name, "--chunk-bytes") == 0)
        options->chunk_count = split_numbers(value, options->chunk_bytes);
    else if (strcmp(name, "--control") == 0)
        options->control_count = split(value, options->controls);
    else if (strcmp(name, "--transport") == 0)
        options->transport_count = split(value, options->transports);
    else if (strcmp(name, "--rounds") == 0)
        options->rounds = (unsigned)atoi(value);
    else if (strcmp(name, "--mode") == 0)
        return read_mode(value, options);
    else
        return false;
    return true;
}

/* Takes its own arguments out and leaves the rest to the benchmark's. */
static int parse(struct options *options, int argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        char *name = argv[i];
        if (!take_option(options, name, i + 1 < argc ? argv[i + 1] : NULL))
            argv[kept++] = name;
        else
            i += strcmp(name, "--ours") != 0;
    }
    return kept;
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    struct options options = {
        .bytes = {4u << 10, 64u << 10, REFERENCE, 1u << 20, 4u << 20, 64u << 20},
        .byte_count = 6,
        .chunk_bytes = {0}, /* The product chooses. */
        .chunk_count = 1,
        .controls = {"bbr", "cubic"},
        .control_count = 2,
        .transports = {"tcp", "shm"},
        .transport_count = 2,
        .mode = MODE_ASYNC,
        .rounds = MEASURE_ROUNDS,
    };
    argc = parse(&options, argc, argv);
    benchmark_open(&benchmark, "exchange", argc, argv);
    measure_all(&benchmark, &options);
    return benchmark_close(&benchmark);
}
