/* network.c - a namespace with its loopback brought up, and the algorithm by the kernel's default
 * or by route. */

#include "tests/bench/lib/network.h"

#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/contenders/raw_tcp.h"

static bool bring_up_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    bool up = any >= 0 && ioctl(any, SIOCSIFFLAGS, &request) == 0;
    if (any >= 0)
        close(any);
    return up;
}

bool network_own(void)
{
    return unshare(CLONE_NEWNET) == 0 && bring_up_loopback();
}

static void set_default(const char *name)
{
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_congestion_control", "w");
    if (file == NULL)
        return;
    fputs(name, file);
    fclose(file); /* May fail here: the caller looks at what a connection gets. */
}

static bool got(const char *name)
{
    char found[16];
    raw_tcp_congestion_control(found);
    return strcmp(found, name) == 0;
}

bool network_set_congestion_control(const char *name)
{
    static const char *const loopback[] = {"127.0.0.0/8", "127.0.0.1"};
    char command[256];
    set_default(name);
    for (size_t i = 0; i < 2 && !got(name); i++) {
        snprintf(command, sizeof command,
                 "ip route replace local %s dev lo table local proto kernel scope host "
                 "src 127.0.0.1 congctl %s 2>/dev/null",
                 loopback[i], name);
        if (system(command) != 0)
            return false;
    }
    return got(name);
}
