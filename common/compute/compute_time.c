/* compute_time.c - a distribution's words and numbers from text, and the draws that are multiplied. */

#include "common/compute/compute_time.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/base/spelling.h"

#define WORD_MAX     64
#define TIME_LEAST   1e3    /* Nanoseconds. */
#define TIME_MOST    3600e9 /* So that a draw rarely is a day. */
#define SIGMA_MOST   3
#define PARETO_MOST  100
#define FACTOR_MOST  1000
#define SIGMA_USUAL  0.5
#define PARETO_USUAL 2

/* --- words ----------------------------------------------------------------------------------- */

/* What stands before the next of `ends`, and what follows that: NULL when there is none. */
static const char *next_word(const char *text, char end, char word[WORD_MAX])
{
    const char *stop = strchr(text, end);
    size_t length = stop != NULL ? (size_t)(stop - text) : strlen(text);
    length = length < WORD_MAX ? length : WORD_MAX - 1;
    memcpy(word, text, length);
    word[length] = '\0';
    return stop != NULL ? stop + 1 : NULL;
}

/* A number and where it ends; no signs, blanks or other bases. */
static bool read_number(const char *text, double *number, const char **end)
{
    size_t length = strspn(text, "0123456789.");
    char digits[WORD_MAX], *stop;
    if (length == 0 || length >= WORD_MAX)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *number = strtod(digits, &stop);
    *end = text + length;
    return *stop == '\0';
}

static enum status read_time(const char *text, double *ns, struct error *error)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *unit;
    if (!read_number(text, ns, &unit))
        return error_set(error, STATUS_INVALID, "'%s' is not a time such as 30ms, 1.5s or 200us",
                         text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *ns *= units[i].ns;
            if (*ns >= TIME_LEAST && *ns <= TIME_MOST)
                return STATUS_OK;
            return error_set(error, STATUS_INVALID, "'%s' is not a time from 1us to 3600s", text);
        }
    return error_set(error, STATUS_INVALID, "'%s' needs a unit: us, ms or s", text);
}

static enum status read_real(const char *text, const char *what, double above, double most,
                             double *number, struct error *error)
{
    const char *end;
    if (read_number(text, number, &end) && *end == '\0' && *number > above && *number <= most)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "'%s' is not %s above %g, at most %g", text, what,
                     above, most);
}

/* last: of what it may be. */
static enum status read_kind(const char *text, const char *last, enum distribution_kind *kind,
                             struct error *error)
{
    struct spelling spelling;
    char hint[SPELLING_HINT_MAX];
    const char *name;
    spelling_begin(&spelling, text);
    for (unsigned i = 0; (name = distribution_name(i)) != NULL; i++) {
        if (spelling_same(text, name)) {
            *kind = (enum distribution_kind)i;
            return STATUS_OK;
        }
        spelling_try(&spelling, name);
    }
    if (text[0] >= '0' && text[0] <= '9')
        return error_set(error, STATUS_INVALID, "'%s' has no kind before it: constant:%s", text,
                         text);
    return error_set(error, STATUS_INVALID, "'%s' is not constant, uniform, exponential, %s%s",
                     text, last, spelling_hint(&spelling, "", hint));
}

/* --- the leaf's ------------------------------------------------------------------------------ */

/* The second number; text: NULL when there is none, of those that need none. */
static enum status read_second(const char *text, struct distribution *d, struct error *error)
{
    enum status status = STATUS_OK;
    switch (d->kind) {
    case DISTRIBUTION_LOGNORMAL:
        return read_real(text, "a SIGMA", 0, SIGMA_MOST, &d->b, error);
    case DISTRIBUTION_PARETO:
        return read_real(text, "an EXPONENT", 1, PARETO_MOST, &d->b, error);
    case DISTRIBUTION_UNIFORM:
        status = read_time(text, &d->b, error);
        if (status == STATUS_OK && d->b < d->a)
            status = error_set(error, STATUS_INVALID, "the larger time comes last");
        return status;
    case DISTRIBUTION_EXPONENTIAL:
        if (text == NULL)
            return STATUS_OK;
        status = read_time(text, &d->b, error);
        if (status == STATUS_OK && d->b >= d->a)
            status = error_set(error, STATUS_INVALID, "the mean is no more than the least time");
        return status;
    default:
        return text == NULL
                   ? STATUS_OK
                   : error_set(error, STATUS_INVALID, "constant has one time, not '%s'", text);
    }
}

/* Of those that need one. */
static const char *second_example(enum distribution_kind kind)
{
    return kind == DISTRIBUTION_UNIFORM     ? ",60ms"
           : kind == DISTRIBUTION_LOGNORMAL ? ",0.3"
           : kind == DISTRIBUTION_PARETO    ? ",2"
                                            : "";
}

static enum status read_trace(const char *run, struct compute_time *time, struct error *error)
{
    if (run[0] == '\0')
        return error_set(error, STATUS_INVALID, "trace needs a run, as in trace:runs/one");
    time->controlled = true;
    time->traced = run;
    return STATUS_OK;
}

/* last: of what it may be. */
static enum status read_drawn(const char *text, const char *last, struct compute_time *time,
                              struct error *error)
{
    char kind[WORD_MAX], first[WORD_MAX], second[WORD_MAX];
    struct distribution d = {0};
    const char *numbers = next_word(text, ':', kind);
    enum status status = read_kind(kind, last, &d.kind, error);
    if (status != STATUS_OK)
        return status;
    const char *example = second_example(d.kind);
    if (numbers == NULL || (example[0] != '\0' && strchr(numbers, ',') == NULL))
        return error_set(error, STATUS_INVALID, "%s needs %s, as in %s:30ms%s", kind,
                         example[0] != '\0' ? "two numbers" : "a time", kind, example);
    const char *rest = next_word(numbers, ',', first);
    if (rest != NULL && next_word(rest, ',', second) != NULL)
        return error_set(error, STATUS_INVALID, "%s has two numbers at most", kind);
    status = read_time(first, &d.a, error);
    if (status == STATUS_OK)
        status = read_second(rest != NULL ? second : NULL, &d, error);
    if (status == STATUS_OK) {
        time->controlled = true;
        time->traced = NULL;
        time->leaf = d;
    }
    return status;
}

enum status compute_time_read(const char *text, struct compute_time *time, struct error *error)
{
    static const char trace[] = "trace:";
    if (strncmp(text, trace, sizeof trace - 1) == 0)
        return read_trace(text + sizeof trace - 1, time, error);
    return read_drawn(text, "lognormal, pareto or trace", time, error);
}

enum status compute_time_read_drawn(const char *text, struct compute_time *time,
                                    struct error *error)
{
    return read_drawn(text, "lognormal or pareto", time, error);
}

/* --- stragglers ------------------------------------------------------------------------------ */

/* The shape, where it is not the usual. */
static enum status read_shape(const char *text, struct distribution *d, struct error *error)
{
    if (d->kind == DISTRIBUTION_LOGNORMAL) {
        d->b = SIGMA_USUAL;
        return text == NULL ? STATUS_OK : read_real(text, "a SIGMA", 0, SIGMA_MOST, &d->b, error);
    }
    if (d->kind == DISTRIBUTION_PARETO) {
        d->b = PARETO_USUAL;
        return text == NULL ? STATUS_OK
                            : read_real(text, "an EXPONENT", 1, PARETO_MOST, &d->b, error);
    }
    return text == NULL ? STATUS_OK
                        : error_set(error, STATUS_INVALID, "%s has no shape such as '%s'",
                                    distribution_name(d->kind), text);
}

/* The distribution of this median; where its kind has a least value, that is 1. */
static void set_median(struct distribution *d, double median)
{
    static const double ln2 = 0x1.62e42fefa39efp-1;
    d->a = median;
    if (d->kind == DISTRIBUTION_UNIFORM) {
        d->a = 1;
        d->b = 2 * median - 1;
    } else if (d->kind == DISTRIBUTION_EXPONENTIAL) {
        d->a = 1 + (median - 1) / ln2;
        d->b = 1;
    }
}

enum status compute_time_read_straggle(const char *text, struct compute_time *time,
                                       struct error *error)
{
    char probability[WORD_MAX], kind[WORD_MAX], shaped[WORD_MAX], shape[WORD_MAX];
    struct distribution d = {0};
    double chance, median = 0;
    const char *rest = next_word(text, ':', probability);
    const char *factor = rest != NULL ? next_word(rest, ':', shaped) : NULL;
    if (factor == NULL)
        return error_set(error, STATUS_INVALID,
                         "needs PROBABILITY:DISTRIBUTION:FACTOR, as in 0.05:pareto:10");
    enum status status = read_real(probability, "a probability", 0, 1, &chance, error);
    const char *own = next_word(shaped, ',', kind);
    if (own != NULL)
        next_word(own, '\0', shape);
    if (status == STATUS_OK)
        status = read_kind(kind, "lognormal or pareto", &d.kind, error);
    if (status == STATUS_OK)
        status = read_shape(own != NULL ? shape : NULL, &d, error);
    if (status == STATUS_OK)
        status = read_real(factor, "a factor", 1, FACTOR_MOST, &median, error);
    if (status != STATUS_OK)
        return status;
    set_median(&d, median);
    time->straggle_probability = chance;
    time->straggle = d;
    return STATUS_OK;
}

/* --- pauses ---------------------------------------------------------------------------------- */

enum status compute_time_read_pause(const char *text, struct compute_time *time,
                                    struct error *error)
{
    char probability[WORD_MAX];
    double chance;
    struct compute_time drawn = {.controlled = false};
    const char *rest = next_word(text, ':', probability);
    if (rest == NULL)
        return error_set(error, STATUS_INVALID,
                         "needs PROBABILITY:DISTRIBUTION, as in 0.01:exponential:200ms");
    enum status status = read_real(probability, "a probability", 0, 1, &chance, error);
    if (status == STATUS_OK)
        status = compute_time_read_drawn(rest, &drawn, error);
    if (status != STATUS_OK)
        return status;
    time->pause_probability = chance;
    time->pause = drawn.leaf;
    return STATUS_OK;
}

/* --- draws ----------------------------------------------------------------------------------- */

/* Each refusal has a stream of its own, above all that have names. */
static void draw(uint64_t seed, enum random_stream stream, uint32_t sub,
                 const struct step_shape *shape, uint32_t random[4])
{
    stream = (enum random_stream)(stream + (shape->refusals << 8));
    random_block(seed, stream, sub, shape->step, random);
}

/* What a computation's leaves take longer: 1 for most. */
static double straggle(const struct compute_time *time, uint64_t seed, uint32_t worker,
                       const struct step_shape *shape)
{
    uint32_t random[4];
    if (time->straggle_probability <= 0)
        return 1;
    draw(seed, RANDOM_STREAM_STRAGGLE, worker, shape, random);
    if ((double)random[3] * 0x1p-32 >= time->straggle_probability)
        return 1;
    double factor = distribution_draw(&time->straggle, random);
    return factor > 1 ? factor : 1;
}

static uint64_t whole_ns(double ns)
{
    return ns < (double)COMPUTE_TIME_MOST_NS ? (uint64_t)ns : COMPUTE_TIME_MOST_NS;
}

uint64_t compute_time_pause_ns(const struct compute_time *time, uint64_t seed, uint32_t worker,
                               const struct step_shape *shape)
{
    uint32_t random[4];
    if (time->pause_probability <= 0)
        return 0;
    draw(seed, RANDOM_STREAM_PAUSE, worker, shape, random);
    if ((double)random[3] * 0x1p-32 >= time->pause_probability)
        return 0;
    return whole_ns(distribution_draw(&time->pause, random));
}

static double draw_leaf(const struct compute_time *time, uint32_t worker, const uint32_t random[3])
{
    assert(time->traced == NULL || time->trace != NULL);
    return time->traced != NULL ? leaf_trace_draw(time->trace, worker, random)
                                : distribution_draw(&time->leaf, random);
}

uint64_t compute_time_leaf_ns(const struct compute_time *time, const struct job *job,
                              uint32_t worker, const struct step_shape *shape, uint32_t leaf)
{
    uint32_t random[4];
    assert(time->controlled);
    uint32_t examples = job_node_examples(job, shape->batch, leaf, 1);
    draw(job->seed, RANDOM_STREAM_COMPUTE, leaf, shape, random);
    double ns = draw_leaf(time, worker, random) * time->slow *
                straggle(time, job->seed, worker, shape) * (double)examples /
                (double)job->micro_batch;
    return whole_ns(ns);
}
