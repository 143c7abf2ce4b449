/* ports.c - binds without listening. */

#include "deploy/launcher/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* Without SO_REUSEADDR while it is bound, or two launchers could hold the same port. */
static bool take_any(int file, in_addr_t host, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    socklen_t size = sizeof address;
    int reuse = 1;
    if (bind(file, (const struct sockaddr *)&address, size) != 0 ||
        getsockname(file, (struct sockaddr *)&address, &size) != 0 ||
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) != 0)
        return false;
    *port = ntohs(address.sin_port);
    return true;
}

static int hold(int flags, in_addr_t host, uint16_t *port)
{
    int file = socket(AF_INET, SOCK_STREAM | flags, 0);
    if (file < 0 || take_any(file, host, port))
        return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}

int port_hold(uint16_t *port)
{
    return hold(SOCK_CLOEXEC, INADDR_LOOPBACK, port);
}

int port_keep(uint16_t *port)
{
    return hold(0, INADDR_ANY, port);
}
