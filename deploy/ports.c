#include "deploy/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOWEST   10000 /* Well-known services live below. */
#define ATTEMPTS 100

/* The first port that the kernel gives out by itself. */
static unsigned lowest_ephemeral(void)
{
    unsigned first = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%u", &first) != 1)
        first = 0;
    fclose(file);
    return first;
}

static bool port_is_free(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int reuse = 1, file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return false;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse); /* As the server will. */
    bool bound = bind(file, (const struct sockaddr *)&address, sizeof address) == 0;
    close(file);
    return bound;
}

uint16_t port_pick(void)
{
    unsigned end = lowest_ephemeral(), number;
    if (end > 65536 || end < LOWEST + ATTEMPTS)
        return 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            return 0;
        uint16_t port = (uint16_t)(LOWEST + number % (end - LOWEST));
        if (port_is_free(port))
            return port;
    }
    return 0;
}
