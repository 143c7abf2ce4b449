/* measure.c - clocks, quartiles, and the kernel's account of who else had the processors. */

#include "tests/lib/measure.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#define CALLS_EACH_MAX 4096

/* --- spreads ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value a share of the way through sorted[count], between two of them by their distance. */
static double quantile(const double *sorted, unsigned count, double share)
{
    double place = share * (count - 1);
    unsigned below = (unsigned)place;
    unsigned above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

struct spread spread_of(const double *values, unsigned count)
{
    assert(count > 0 && count <= CALLS_EACH_MAX);
    double sorted[CALLS_EACH_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    return (struct spread){sorted[0], quantile(sorted, count, 0.25), quantile(sorted, count, 0.5),
                           quantile(sorted, count, 0.75), sorted[count - 1]};
}

/* --- processor time ------------------------------------------------------------------------ */

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static double clock_seconds(clockid_t clock)
{
    struct timespec time;
    return clock_gettime(clock, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : 0;
}

static double helper_seconds(pid_t helper)
{
    clockid_t clock;
    return clock_getcpuclockid(helper, &clock) == 0 ? clock_seconds(clock) : 0;
}

/* Of this process, its children that have ended, and a piece's helpers. */
static double cpu_seconds(const struct piece *piece)
{
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    double seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds_of(children.ru_utime) +
                     seconds_of(children.ru_stime);
    for (unsigned i = 0; i < piece->helper_count; i++)
        seconds += helper_seconds(piece->helpers[i]);
    return seconds;
}

/* All processors' time at work, and what the host took away from them. */
static void machine_seconds(double *busy, double *stolen)
{
    unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
    *busy = *stolen = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL)
        return;
    if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &wait, &irq, &softirq, &steal) == 8) {
        double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        *busy = (double)(user + nice + system + irq + softirq) * tick;
        *stolen = (double)steal * tick;
    }
    fclose(file);
}

struct watch {
    double began, busy, stolen;
    unsigned switches;
};

static struct watch look(void)
{
    struct watch now = {.began = clock_now_seconds()};
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    now.switches = (unsigned)own.ru_nivcsw;
    machine_seconds(&now.busy, &now.stolen);
    return now;
}

/* `own`: processor seconds since `then` that were not a disturbance. */
static struct disturbance disturbance_since(struct watch then, double own)
{
    struct watch now = look();
    double others = now.busy - then.busy - own;
    return (struct disturbance){.seconds = now.began - then.began,
                                .others = others > 0 ? others : 0,
                                .stolen = now.stolen - then.stolen,
                                .switches = now.switches - then.switches};
}

/* --- measuring ----------------------------------------------------------------------------- */

static double time_call(const struct piece *piece)
{
    uint64_t began = clock_now_ns();
    piece->work(piece->context);
    double seconds = (double)(clock_now_ns() - began) * 1e-9;
    return piece->own_seconds != NULL ? *piece->own_seconds : seconds;
}

static double time_each(const struct piece *piece, unsigned calls)
{
    double seconds[CALLS_EACH_MAX];
    assert(calls <= CALLS_EACH_MAX);
    for (unsigned i = 0; i < calls; i++)
        seconds[i] = time_call(piece);
    return spread_of(seconds, calls).median;
}

/* One clock around all calls: a clock around each would count in short ones. */
static double time_together(const struct piece *piece, unsigned calls)
{
    double own = 0;
    uint64_t began = clock_now_ns();
    for (unsigned i = 0; i < calls; i++) {
        piece->work(piece->context);
        own += piece->own_seconds != NULL ? *piece->own_seconds : 0;
    }
    double seconds = (double)(clock_now_ns() - began) * 1e-9;
    return (piece->own_seconds != NULL ? own : seconds) / calls;
}

static void measure_round(const struct piece *piece, struct measured *measured, bool smoke)
{
    unsigned calls = piece->calls > 0 && !smoke ? piece->calls : 1;
    double cpu = cpu_seconds(piece);
    measured->seconds[measured->rounds] =
        piece->each ? time_each(piece, calls) : time_together(piece, calls);
    measured->cpu_seconds[measured->rounds] = (cpu_seconds(piece) - cpu) / calls;
    measured->rounds++;
}

static bool is_named_before(const struct piece *pieces, unsigned piece, unsigned helper)
{
    for (unsigned i = 0; i < piece; i++)
        for (unsigned j = 0; j < pieces[i].helper_count; j++)
            if (pieces[i].helpers[j] == pieces[piece].helpers[helper])
                return true;
    return false;
}

/* Every helper of every piece is at work for us; several pieces may share one. */
static double own_seconds(const struct piece *pieces, unsigned count)
{
    double seconds = cpu_seconds(&(struct piece){.helper_count = 0});
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < pieces[i].helper_count; j++)
            if (!is_named_before(pieces, i, j))
                seconds += helper_seconds(pieces[i].helpers[j]);
    return seconds;
}

bool measure_is_smoke(void)
{
    return getenv("BENCH_SMOKE") != NULL;
}

void measure_in_turn(const struct piece *pieces, unsigned count, unsigned rounds,
                     struct measured *measured)
{
    bool smoke = measure_is_smoke();
    assert(rounds > 0 && rounds <= MEASURE_ROUNDS_MAX);
    for (unsigned i = 0; i < count; i++) {
        measured[i].rounds = 0;
        if (!pieces[i].cold && !smoke)
            pieces[i].work(pieces[i].context);
    }
    struct watch began = look();
    double own = own_seconds(pieces, count);
    for (unsigned round = 0; round < (smoke ? 1 : rounds); round++)
        for (unsigned i = 0; i < count; i++)
            measure_round(&pieces[i], &measured[i], smoke);
    struct disturbance disturbance = disturbance_since(began, own_seconds(pieces, count) - own);
    for (unsigned i = 0; i < count; i++)
        measured[i].disturbance = disturbance;
}

struct measured measure_value(double value)
{
    return (struct measured){.rounds = 1, .seconds = {value}};
}
