/* namespaces.c - one namespace for the bridge and one for each host, by `ip` and `tc`. */

#include "tests/bench/lib/namespaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_BYTES 1024
#define NAME_BYTES 32
/* What a link sends at once, of its rate: timers are not exact; and at least a packet of 64 KiB with its
 * headers, or the kernel cuts each into frames here, which costs more than all else. */
#define BUCKET_S     0.5e-3
#define BUCKET_LEAST 131072

static bool shell(const char *line)
{
    return system(line) == 0;
}

/* Host 0 is the bridge. */
static void name_of(unsigned host, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "bench%d-%u", getpid(), host);
}

static bool make_bridge(void)
{
    char line[LINE_BYTES], bridge[NAME_BYTES];
    name_of(0, bridge);
    snprintf(line, sizeof line,
             "{ b=%s; ip netns add $b && ip -n $b link add br0 type bridge && "
             "ip -n $b link set br0 up; } 2>/dev/null",
             bridge);
    return shell(line);
}

static bool make_host(unsigned host)
{
    char line[LINE_BYTES], bridge[NAME_BYTES], name[NAME_BYTES];
    name_of(0, bridge);
    name_of(host, name);
    snprintf(line, sizeof line,
             "{ n=%s b=%s i=%u; ip netns add $n && "
             "ip link add e$i netns $n type veth peer name p$i netns $b && "
             "ip -n $n addr add " NAMESPACES_NETWORK ".$i/24 dev e$i && "
             "ip -n $n link set e$i up && ip -n $n link set lo up && "
             "ip -n $b link set p$i master br0 up; } 2>/dev/null",
             name, bridge, host);
    return shell(line);
}

static bool limit_host(unsigned host, const char *rate, double bits_a_second)
{
    char line[LINE_BYTES], bridge[NAME_BYTES], name[NAME_BYTES];
    double bucket = bits_a_second / 8 * BUCKET_S;
    name_of(0, bridge);
    name_of(host, name);
    snprintf(line, sizeof line,
             "{ i=%u limit='tbf rate %s burst %.0f latency 50ms'; "
             "tc -n %s qdisc add dev e$i root $limit && "
             "tc -n %s qdisc add dev p$i root $limit; } 2>/dev/null",
             host, rate, bucket > BUCKET_LEAST ? bucket : BUCKET_LEAST, name, bridge);
    return shell(line);
}

bool namespaces_make(struct namespaces *namespaces, unsigned hosts, const char *rate,
                     double bits_a_second)
{
    namespaces->hosts = hosts;
    bool made = make_bridge();
    for (unsigned i = 1; i <= hosts && made; i++)
        made = make_host(i) && (rate == NULL || limit_host(i, rate, bits_a_second));
    if (!made)
        namespaces_remove(namespaces);
    return made;
}

void namespaces_remove(struct namespaces *namespaces)
{
    char line[LINE_BYTES], name[NAME_BYTES];
    for (unsigned i = 0; i <= namespaces->hosts; i++) {
        name_of(i, name);
        snprintf(line, sizeof line, "ip netns del %s 2>/dev/null", name);
        (void)shell(line);
    }
}

/* By the routes: a namespace other than the first may not make every algorithm its default. */
bool namespaces_set_congestion_control(const struct namespaces *namespaces, const char *algorithm)
{
    char line[LINE_BYTES], name[NAME_BYTES];
    bool set = true;
    for (unsigned i = 1; i <= namespaces->hosts && set; i++) {
        name_of(i, name);
        snprintf(line, sizeof line,
                 "ip -n %s route replace " NAMESPACES_NETWORK ".0/24 dev e%u proto kernel "
                 "scope link src " NAMESPACES_NETWORK ".%u congctl %s 2>/dev/null",
                 name, i, i, algorithm);
        set = shell(line);
    }
    return set;
}

pid_t namespaces_start(unsigned host, const char *command)
{
    char name[NAME_BYTES];
    name_of(host, name);
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    execlp("ip", "ip", "netns", "exec", name, "/bin/sh", "-c", command, (char *)NULL);
    _exit(127);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

bool namespaces_await(pid_t process, double *cpu_seconds)
{
    int status;
    struct rusage used;
    if (process < 0 || wait4(process, &status, 0, &used) != process)
        return false;
    *cpu_seconds += seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    return status == 0;
}
