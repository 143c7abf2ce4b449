/* test_ports.c - ports are held for servers that come and go, and nobody else is given them. */

#include "deploy/launcher/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/suite.h"

static int socket_at(uint16_t port, bool reuse, bool connects)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int file = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    ck_assert_int_ge(file, 0);
    if (reuse)
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int result = connects ? connect(file, (struct sockaddr *)&address, sizeof address)
                          : bind(file, (struct sockaddr *)&address, sizeof address);
    int reason = errno;
    if (result == 0)
        return file;
    close(file);
    errno = reason;
    return -1;
}

/* As a server does. */
static int server_at(uint16_t port)
{
    int file = socket_at(port, true, false);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(listen(file, 8), 0);
    return file;
}

TEST_PLAIN(a_port_is_held_for_servers_that_come_and_go)
{
    uint16_t port = 0;
    int held = port_hold(&port);
    ck_assert_int_ge(held, 0);
    ck_assert_int_eq(socket_at(port, false, true), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    for (int i = 0; i < 3; i++) {
        int server = server_at(port);
        int client = socket_at(port, false, true);
        ck_assert_int_ge(client, 0);
        int accepted = accept(server, NULL, NULL);
        ck_assert_int_ge(accepted, 0);
        close(accepted); /* First: so that its end is remembered on this port. */
        close(client);
        close(server);
    }
    close(held);
}

TEST_PLAIN(nobody_else_is_given_a_port_that_is_held)
{
    uint16_t ports[64];
    int held[64];
    for (int i = 0; i < 64; i++) {
        held[i] = port_hold(&ports[i]);
        ck_assert_int_ge(held[i], 0);
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(ports[i], ports[j]);
        ck_assert_int_eq(socket_at(ports[i], false, false), -1);
        ck_assert_int_eq(errno, EADDRINUSE);
    }
    for (int i = 0; i < 64; i++)
        close(held[i]);
}

/* A process that tries again and again to reach a port where nobody listens must not be given that
 * port for its own end: it would be connected to itself. */
TEST_PLAIN(nobody_is_connected_to_himself)
{
    uint16_t port = 0;
    int held = port_hold(&port);
    for (int i = 0; i < 60000; i++)
        if (socket_at(port, false, true) >= 0)
            ck_abort_msg("connected to itself at attempt %d", i);
    close(held);
}

int main(void)
{
    return suite_run("ports", NULL);
}
