/* tcp.c - TCP_INFO, SO_COOKIE and classic BPF filters on descriptors that are libzmq's. */

#include "common/transport/budget/tcp.h"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* Of netinet/tcp.h, which cannot be had beside linux/tcp.h. */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT  8
#define STATE_LISTEN      10

#ifndef SO_COOKIE
#define SO_COOKIE 57 /* Linux 4.12, younger than some C libraries. */
#endif

/* Places in a TCP header. */
#define AT_SEQUENCE 4
#define AT_LENGTH   12 /* In the upper half of the byte, in words. */
#define AT_FLAGS    13
#define FLAG_FIN    1
#define FLAG_SYN    2

/* --- what the kernel knows ----------------------------------------------------------------- */

static uint16_t port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return 0;
}

bool tcp_is_of_port(int fd, uint16_t port)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 && port_of(&address) == port;
}

bool tcp_look(int fd, struct tcp_look *look)
{
    struct tcp_info info;
    socklen_t info_size = sizeof info, cookie_size = sizeof look->cookie;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0 ||
        info_size < offsetof(struct tcp_info, tcpi_bytes_received) + 8 ||
        getsockopt(fd, SOL_SOCKET, SO_COOKIE, &look->cookie, &cookie_size) != 0 ||
        look->cookie == 0)
        return false;
    look->received = info.tcpi_bytes_received;
    look->taken = info.tcpi_bytes_acked;
    look->listens = info.tcpi_state == STATE_LISTEN;
    return look->listens || info.tcpi_state == STATE_ESTABLISHED ||
           info.tcpi_state == STATE_CLOSE_WAIT;
}

bool tcp_is(int fd, uint64_t cookie)
{
    uint64_t now;
    socklen_t size = sizeof now;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &now, &size) == 0 && now == cookie;
}

void tcp_keep_first(int fd)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_SAVE_SYN, &yes, sizeof yes);
}

/* It follows that of the packet the connection began with. */
bool tcp_first(int fd, uint32_t *sequence)
{
    uint8_t packet[256];
    socklen_t size = sizeof packet;
    if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, packet, &size) != 0 || size < 40)
        return false;
    size_t ip_bytes = packet[0] >> 4 == 4 ? 4 * (packet[0] & 15u) : 40;
    if (ip_bytes + 20 > size || (packet[0] >> 4 == 6 && packet[6] != IPPROTO_TCP))
        return false;
    memcpy(sequence, packet + ip_bytes + AT_SEQUENCE, sizeof *sequence);
    *sequence = ntohl(*sequence) + 1;
    return true;
}

/* --- what it is told ----------------------------------------------------------------------- */

static bool attach(int fd, struct sock_filter *code, unsigned short count)
{
    struct sock_fprog program = {count, code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

#define COUNT(code) (sizeof(code) / sizeof *(code))

/* X is the length of the TCP header. */
#define LOAD_HEADER_LENGTH                                                                         \
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_LENGTH), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),      \
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2), BPF_STMT(BPF_MISC | BPF_TAX, 0)

/* A filter says how many bytes of a packet are taken. The end of a stream is not taken for less
 * than it closes: a packet with FIN comes whole or not at all. What has no bytes passes. */
bool tcp_limit(int fd, uint64_t cookie, uint32_t sequence)
{
    struct sock_filter code[] = {
        LOAD_HEADER_LENGTH,                                   /* 0 to 3 */
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),                /* 4 */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 13, 0),        /* 5: no bytes: take it. */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_SEQUENCE),      /* 6 */
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, sequence),        /* Numbers go round. */
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 31, 0, 11), /* 8: from the limit on: drop it. */
        BPF_STMT(BPF_ALU | BPF_NEG, 0),                       /* 9: bytes up to the limit, ... */
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),               /* ... and the header. */
        BPF_STMT(BPF_ST, 0),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 0, 4), /* 14: all before the limit: take it. */
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_FLAGS),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FLAG_FIN, 3, 0), /* 16 */
        BPF_STMT(BPF_LD | BPF_MEM, 0),                        /* 17: a part. */
        BPF_STMT(BPF_RET | BPF_A, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), /* 19: all. */
        BPF_STMT(BPF_RET | BPF_K, 0),          /* 20: nothing. */
    };
    if (!tcp_is(fd, cookie) || !attach(fd, code, COUNT(code)))
        return false;
    if (tcp_is(fd, cookie))
        return true;
    tcp_free(fd);
    return false;
}

/* Connections inherit it. */
bool tcp_door(int fd, uint32_t chance, uint32_t packet_max)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_FLAGS),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FLAG_SYN, 0, 2), /* 1 */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, chance, 8, 7), /* 3 */
        LOAD_HEADER_LENGTH,                                /* 4 to 7 */
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, packet_max, 1, 0), /* 10 */
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),                 /* 11 */
        BPF_STMT(BPF_RET | BPF_K, 0),                          /* 12 */
    };
    return attach(fd, code, COUNT(code));
}

void tcp_free(int fd)
{
    int unused = 0;
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}
