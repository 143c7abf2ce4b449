/* process_figures.c - out of /proc/self and getrusage. */

#include "common/watch/process_figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/watch/exposition.h"

static void write_memory(FILE *out)
{
    unsigned long long pages;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return;
    if (fscanf(file, "%*u %llu", &pages) == 1) {
        exposition_metric(out, "process_resident_memory_bytes", METRIC_GAUGE,
                          "Memory of this process that is resident, shared pages included, in "
                          "bytes.");
        exposition_sample(out, "process_resident_memory_bytes",
                          (double)pages * (double)sysconf(_SC_PAGESIZE));
    }
    fclose(file);
}

static void write_files(FILE *out)
{
    unsigned count = 0;
    DIR *files = opendir("/proc/self/fd");
    if (files == NULL)
        return;
    while (readdir(files) != NULL)
        count++;
    closedir(files);
    exposition_metric(out, "process_open_fds", METRIC_GAUGE,
                      "File descriptors that this process has open.");
    exposition_sample(out, "process_open_fds", count > 3 ? count - 3 : 0); /* ., .., and its own. */
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

void process_figures_write(FILE *out)
{
    struct rusage usage;
    write_memory(out);
    write_files(out);
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    exposition_metric(
        out, "process_cpu_seconds_total", METRIC_COUNTER,
        "Processor time of all threads of this process, user and system, in seconds.");
    exposition_sample(out, "process_cpu_seconds_total",
                      seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
}
