/* machine_watch.c - adds up the lines of single processors. */

#include "deploy/compare/machine_watch.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"

#define LINE_CHARS 512

/* "cpu3 user nice system idle iowait irq softirq steal ..." */
static bool read_line(const char *line, unsigned *processor, double *busy, double *stolen)
{
    double user, nice, system, idle, wait, irq, softirq, steal;
    if (sscanf(line, "cpu%u %lf %lf %lf %lf %lf %lf %lf %lf", processor, &user, &nice, &system,
               &idle, &wait, &irq, &softirq, &steal) != 9)
        return false;
    *busy = user + nice + system;
    *stolen = steal;
    return true;
}

bool machine_times_read(FILE *stat, const cpu_set_t *set, double ticks_per_second,
                        struct machine_times *times)
{
    char line[LINE_CHARS];
    *times = (struct machine_times){.processors = 0};
    while (fgets(line, sizeof line, stat) != NULL) {
        unsigned processor;
        double busy, stolen;
        if (!read_line(line, &processor, &busy, &stolen) || processor >= CPU_SETSIZE ||
            !CPU_ISSET(processor, set))
            continue;
        times->busy += busy / ticks_per_second;
        times->stolen += stolen / ticks_per_second;
        times->processors++;
    }
    if (times->processors == (uint32_t)CPU_COUNT(set))
        return times->processors > 0;
    *times = (struct machine_times){.processors = 0};
    return false;
}

static double rusage_seconds(int who)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void machine_watch_look(struct machine_watch *watch)
{
    cpu_set_t set;
    *watch = (struct machine_watch){.at = clock_now_seconds(),
                                    .own = rusage_seconds(RUSAGE_SELF) +
                                           rusage_seconds(RUSAGE_CHILDREN)};
    FILE *stat = fopen("/proc/stat", "re");
    if (stat == NULL)
        return;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        machine_times_read(stat, &set, (double)sysconf(_SC_CLK_TCK), &watch->times);
    fclose(stat);
}

void machine_watch_between(const struct machine_watch *before, const struct machine_watch *after,
                           struct run_noise *noise)
{
    *noise = (struct run_noise){.processors = 0};
    double busy = after->times.busy - before->times.busy;
    if (before->times.processors == 0 || after->times.processors != before->times.processors ||
        !(busy > 0) || !(after->at > before->at))
        return; /* Without any load there is no figure. */
    noise->processors = after->times.processors;
    noise->seconds = after->at - before->at;
    noise->own = after->own - before->own;
    noise->others = fmax(busy - noise->own, 0);
    noise->stolen = fmax(after->times.stolen - before->times.stolen, 0);
}
