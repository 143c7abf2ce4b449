#include "common/inflow.h"

#include <assert.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX 4096
#define SPARE_FILES     256 /* Descriptors that are left to the rest of the process. */
#define FIRST_CAPACITY  256
#define FIRST_SLOTS     256u
#define HANDSHAKE_BYTES 2048
#define HEARTBEAT_BYTES 160  /* A second: a PING and a PONG, encrypted, and more. */
#define FRAME_MEMORY    64   /* That libzmq takes for a frame beside its bytes. */
#define FRAME_USUAL     1024 /* Bytes that frames are taken to have, ... */
#define FRAME_LEAST     16   /* ... and at worst when none is heard for long. */
#define FRAMES_TELLING  1000 /* Heard since the last look: the next ones may be like them. */
#define HEADERS_BYTES   (64u << 10)
#define FIRST_BYTES     (256u << 10) /* Beside a payload, before anything is heard. */
#define GONE            INT_MAX      /* In place of a descriptor: the connection has ended. */

#define AHEAD_MAX      (1ull << 30) /* Sequence numbers are compared modulo 2^32. */
#define STUCK_US_MAX   10000000u    /* At its limit, and nothing is heard of it. */
#define OVER_US_MAX    100000u      /* The same where there can be no limit. */
#define GONE_BYTES_MAX (64u << 20)
#define TURNS_US       2000000u /* By then everybody who has something whole is heard once. */

/* Of netinet/tcp.h, which cannot be had beside linux/tcp.h. */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT  8
#define STATE_LISTEN      10

#ifndef SO_COOKIE
#define SO_COOKIE 57 /* Linux 4.12, younger than some C libraries. */
#endif

static int descriptors_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1 << 20)
        return 1 << 20;
    return (int)limit.rlim_cur;
}

/* --- what the kernel says ------------------------------------------------------------------ */

static uint16_t port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return 0;
}

/* What the kernel knows of a socket of the port. */
struct look {
    uint64_t cookie, received;
    bool listens;
};

static bool is_of_port(const struct inflow *inflow, int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
           port_of(&address) == inflow->port;
}

/* Of a TCP socket that is not shut down from here. */
static bool ask_kernel(int fd, struct look *look)
{
    struct tcp_info info;
    socklen_t info_size = sizeof info, cookie_size = sizeof look->cookie;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0 ||
        info_size < offsetof(struct tcp_info, tcpi_bytes_received) + 8 ||
        getsockopt(fd, SOL_SOCKET, SO_COOKIE, &look->cookie, &cookie_size) != 0 ||
        look->cookie == 0)
        return false;
    look->received = info.tcpi_bytes_received;
    look->listens = info.tcpi_state == STATE_LISTEN;
    return look->listens || info.tcpi_state == STATE_ESTABLISHED ||
           info.tcpi_state == STATE_CLOSE_WAIT;
}

/* Whether fd is the port's; one that was there at the last look is known by its cookie. */
static bool look_at(const struct inflow *inflow, int fd, struct look *look)
{
    uint64_t known = fd < inflow->capacity ? inflow->connections[fd].cookie : 0;
    if (known == 0 && !is_of_port(inflow, fd))
        return false;
    return ask_kernel(fd, look) && (look->cookie == known || is_of_port(inflow, fd));
}

static bool is_connection(const struct inflow *inflow, int fd, struct look *look)
{
    return look_at(inflow, fd, look) && !look->listens;
}

static bool same_socket(int fd, uint64_t cookie)
{
    uint64_t now;
    socklen_t size = sizeof now;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &now, &size) == 0 && now == cookie;
}

/* --- what the kernel is told --------------------------------------------------------------- */

/* Attached to a TCP socket a filter sees packets from their TCP header on. This one drops what has
 * bytes at or after a place in the stream; what has none (acknowledgements, the end) passes. */
static bool drop_from(int fd, uint64_t cookie, uint32_t sequence)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12), /* The header's length is in the upper half. */
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 3, 0), /* No bytes. */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),        /* The first one's number. */
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, sequence),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 31, 0, 1), /* Before, as numbers go round. */
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    int unused = 0;
    /* libzmq may close a connection at any time, and its number then stands for something else. */
    if (!same_socket(fd, cookie) ||
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
        return false;
    if (same_socket(fd, cookie))
        return true;
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
    return false;
}

static bool drop_everything(int fd, bool drop)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {1, &nothing};
    int unused = 0;
    return drop ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
                : setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) == 0;
}

/* The number of a connection's first byte follows that of the packet it began with, which the
 * kernel keeps when the listening socket is told to, and gives once. */
static bool first_sequence(int fd, uint32_t *sequence)
{
    uint8_t packet[256];
    socklen_t size = sizeof packet;
    if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, packet, &size) != 0 || size < 40)
        return false;
    size_t ip_bytes = packet[0] >> 4 == 4 ? 4 * (packet[0] & 15u) : 40;
    if (ip_bytes + 20 > size || (packet[0] >> 4 == 6 && packet[6] != IPPROTO_TCP))
        return false;
    memcpy(sequence, packet + ip_bytes + 4, sizeof *sequence);
    *sequence = ntohl(*sequence) + 1;
    return true;
}

/* Connections that began before it was told have no limit. */
static void keep_first_packets(const struct inflow *inflow)
{
    int yes = 1;
    struct look look;
    for (int fd = 0; fd < FIRST_CAPACITY + CONNECTIONS_MAX; fd++)
        if (is_of_port(inflow, fd) && ask_kernel(fd, &look) && look.listens)
            setsockopt(fd, IPPROTO_TCP, TCP_SAVE_SYN, &yes, sizeof yes);
}

/* --- life ---------------------------------------------------------------------------------- */

void inflow_init(struct inflow *inflow, uint16_t port, uint64_t each_max, uint64_t all_max)
{
    int descriptors = descriptors_max();
    memset(inflow, 0, sizeof *inflow);
    inflow->port = port;
    inflow->blind = port == 0;
    inflow->each_max = each_max;
    inflow->all_max = all_max;
    inflow->gone_max = GONE_BYTES_MAX;
    inflow->connections_max = CONNECTIONS_MAX;
    if (descriptors < CONNECTIONS_MAX + SPARE_FILES)
        inflow->connections_max =
            (uint32_t)(descriptors > 2 * SPARE_FILES ? descriptors - SPARE_FILES : descriptors / 2);
    if (!inflow->blind)
        keep_first_packets(inflow);
}

void inflow_free(struct inflow *inflow)
{
    free(inflow->connections);
    free(inflow->peers);
    memset(inflow, 0, sizeof *inflow);
}

/* --- who is who ---------------------------------------------------------------------------- */

static uint32_t slot_of(const struct inflow *inflow, uint64_t peer)
{
    return (uint32_t)((peer * 0x9e3779b97f4a7c15u) >> 32) & (inflow->peer_slots - 1);
}

/* Where the peer is in the table, or would be. */
static struct inflow_peer *find(const struct inflow *inflow, uint64_t peer)
{
    uint32_t slot = slot_of(inflow, peer);
    while (inflow->peers[slot].fd >= 0 && inflow->peers[slot].peer != peer)
        slot = (slot + 1) & (inflow->peer_slots - 1);
    return &inflow->peers[slot];
}

static bool make_table(struct inflow *inflow, uint32_t slots)
{
    struct inflow_peer *peers = malloc(slots * sizeof *peers);
    if (peers == NULL)
        return false;
    free(inflow->peers);
    inflow->peers = peers;
    inflow->peer_slots = slots;
    inflow->peer_count = 0;
    for (uint32_t i = 0; i < slots; i++)
        peers[i].fd = -1;
    return true;
}

static void insert(struct inflow *inflow, uint64_t peer, int fd)
{
    struct inflow_peer *place = find(inflow, peer);
    inflow->peer_count += place->fd < 0;
    *place = (struct inflow_peer){peer, fd};
}

/* The table of those that are still there, never more than half full. */
static bool rebuild(struct inflow *inflow, uint32_t room)
{
    uint32_t count = room, slots = FIRST_SLOTS;
    for (int fd = 0; fd < inflow->capacity; fd++)
        count += inflow->connections[fd].known;
    while (slots < 2 * count)
        slots *= 2;
    if (!make_table(inflow, slots))
        return false;
    for (int fd = 0; fd < inflow->capacity; fd++)
        if (inflow->connections[fd].known)
            insert(inflow, inflow->connections[fd].peer, fd);
    return true;
}

/* Descriptors are given out from the lowest on, so those still unseen are not far behind the last
 * one seen. */
static bool make_room(struct inflow *inflow, int capacity)
{
    if (capacity <= inflow->capacity)
        return true;
    struct inflow_connection *more =
        realloc(inflow->connections, (size_t)capacity * sizeof *inflow->connections);
    if (more == NULL)
        return false;
    memset(more + inflow->capacity, 0, (size_t)(capacity - inflow->capacity) * sizeof *more);
    inflow->connections = more;
    inflow->capacity = capacity;
    return true;
}

bool inflow_knows(const struct inflow *inflow, uint64_t peer)
{
    if (inflow->blind)
        return true;
    if (inflow->peers == NULL)
        return false;
    const struct inflow_peer *place = find(inflow, peer);
    return place->fd == GONE || (place->fd >= 0 && inflow->connections[place->fd].known &&
                                 inflow->connections[place->fd].peer == peer);
}

/* --- what waits, and how much may ---------------------------------------------------------- */

/* Heard, and what nobody hears of a connection that says nothing else. */
static uint64_t accounted_for(const struct inflow_connection *connection)
{
    return connection->heard + HANDSHAKE_BYTES + connection->age_us * HEARTBEAT_BYTES / 1000000;
}

static uint64_t unheard(const struct inflow_connection *connection)
{
    uint64_t known = accounted_for(connection);
    return connection->cookie != 0 && connection->received > known ? connection->received - known
                                                                   : 0;
}

/* Memory that this takes, about. */
static uint64_t held(const struct inflow_connection *connection)
{
    uint64_t bytes = unheard(connection);
    return bytes > 0 ? bytes + FRAME_MEMORY * (bytes / connection->frame) : 0;
}

/* Bytes that take no more than each_max. */
static uint64_t allowance(const struct inflow *inflow, const struct inflow_connection *connection)
{
    uint64_t first = inflow->payload_max + FIRST_BYTES, memory = inflow->each_max;
    if (!connection->known && inflow->payload_max > 0 && first < memory)
        memory = first;
    uint64_t bytes = memory / (connection->frame + FRAME_MEMORY) * connection->frame;
    return bytes < AHEAD_MAX / 2 ? bytes : AHEAD_MAX / 2;
}

static void set_limit(struct inflow_connection *connection, int fd, uint64_t limit)
{
    if (drop_from(fd, connection->cookie, connection->first + (uint32_t)limit))
        connection->limit = limit;
}

/* By half as much again as it may need, so that this is not done for every message; and back when
 * its frames turn out to be short. */
static void move_limit(const struct inflow *inflow, int fd)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    uint64_t bytes = allowance(inflow, connection), known = accounted_for(connection);
    if (connection->frozen || !connection->limitable ||
        (connection->limit >= known + bytes && connection->limit <= known + 2 * bytes))
        return;
    set_limit(connection, fd, known + bytes + bytes / 2);
}

/* --- who is heard -------------------------------------------------------------------------- */

static bool is_newer(uint64_t peer, uint64_t than)
{
    return (int32_t)((uint32_t)peer - (uint32_t)than) > 0;
}

/* Somebody new has the descriptor. */
static void begin(struct inflow *inflow, int fd, const struct look *look)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    inflow->gone += unheard(connection);
    *connection = (struct inflow_connection){
        .cookie = look->cookie, .received = look->received, .frame = FRAME_USUAL};
    connection->limitable = first_sequence(fd, &connection->first);
}

static void give_up(struct inflow *inflow)
{
    inflow->blind = true;
    for (int fd = 0; fd < inflow->capacity; fd++)
        if (is_of_port(inflow, fd))
            drop_everything(fd, false);
}

void inflow_meet(struct inflow *inflow, uint64_t peer, int fd)
{
    struct look look;
    if (fd < 0 || !make_room(inflow, fd + 1) ||
        ((inflow->peers == NULL || 2 * inflow->peer_count + 2 > inflow->peer_slots) &&
         !rebuild(inflow, inflow->peer_count + 1))) {
        give_up(inflow); /* It would be taken for one that is never heard. */
        return;
    }
    struct inflow_connection *connection = &inflow->connections[fd];
    if (!is_connection(inflow, fd, &look)) {
        insert(inflow, peer, GONE); /* There may be more left of it: do not ask every time. */
        return;
    }
    if (connection->cookie != look.cookie)
        begin(inflow, fd, &look);
    /* What is left of somebody who had this descriptor before is no word of who has it now. */
    if (connection->known && !is_newer(peer, connection->peer)) {
        insert(inflow, peer, connection->peer == peer ? fd : GONE);
        return;
    }
    connection->peer = peer;
    connection->known = true;
    connection->heard = connection->heard_then = connection->parts_then = 0;
    inflow->highest = fd > inflow->highest ? fd : inflow->highest;
    insert(inflow, peer, fd);
}

void inflow_hear(struct inflow *inflow, uint64_t peer, uint64_t parts, uint64_t bytes)
{
    if (inflow->peers == NULL)
        return;
    const struct inflow_peer *place = find(inflow, peer);
    if (place->fd == GONE) {
        inflow->gone -= bytes < inflow->gone ? bytes : inflow->gone;
        inflow->quiet_us = 0;
    }
    if (place->fd < 0 || place->fd == GONE || inflow->connections[place->fd].peer != peer)
        return;
    inflow->connections[place->fd].heard += bytes;
    inflow->connections[place->fd].parts_then += parts;
    move_limit(inflow, place->fd);
}

void inflow_drained(struct inflow *inflow)
{
    inflow->gone = 0;
}

/* --- looking ------------------------------------------------------------------------------- */

static void judge_frames(const struct inflow *inflow, struct inflow_connection *connection)
{
    uint64_t bytes = connection->heard - connection->heard_then;
    if (connection->parts_then >= FRAMES_TELLING)
        connection->frame = bytes / connection->parts_then; /* Two at least, of the wire. */
    else if (connection->parts_then > 0)
        connection->frame = FRAME_USUAL;
    else if (unheard(connection) > inflow->payload_max + HEADERS_BYTES &&
             connection->frame > FRAME_LEAST)
        connection->frame /= 2; /* Whatever this is, it is no message of ours. */
    connection->heard_then = connection->heard;
    connection->parts_then = 0;
}

static void forget(struct inflow *inflow, int fd)
{
    inflow->gone += unheard(&inflow->connections[fd]);
    inflow->connections[fd] = (struct inflow_connection){0};
}

/* Should libzmq close it after the question, it is another of its connections that has to be made
 * again, or nothing that can be shut down. */
static void end(struct inflow *inflow, int fd)
{
    if (same_socket(fd, inflow->connections[fd].cookie) && shutdown(fd, SHUT_RDWR) == 0)
        inflow->ended++;
    forget(inflow, fd);
}

/* Whether it would send on, if it might. */
static bool is_stuck(const struct inflow *inflow, const struct inflow_connection *connection)
{
    return connection->limit > 0 ? connection->received >= connection->limit
                                 : held(connection) > inflow->each_max + inflow->each_max / 2;
}

/* What is there now. */
static void refresh(struct inflow *inflow, int fd, const struct look *look, uint64_t elapsed_us)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    if (connection->cookie != look->cookie)
        begin(inflow, fd, look);
    connection->received = look->received;
    connection->age_us += elapsed_us;
    bool stuck = is_stuck(inflow, connection), heard = connection->parts_then > 0;
    inflow->held_back += stuck && !connection->stuck;
    connection->stuck = stuck;
    connection->stuck_us += elapsed_us;
    if (!stuck || (heard && connection->limit > 0))
        connection->stuck_us = 0;
    judge_frames(inflow, connection);
    inflow->highest = fd;
}

/* While all hold too much, whoever holds more than its share keeps what it has and gets no more. */
static void share_out(struct inflow *inflow, uint64_t all, uint32_t count)
{
    for (int fd = 0; fd < inflow->capacity; fd++) {
        struct inflow_connection *connection = &inflow->connections[fd];
        if (connection->cookie == 0)
            continue;
        bool over = all > inflow->all_max;
        bool more = connection->limitable && held(connection) > inflow->all_max / count;
        if (over && more && !connection->frozen)
            set_limit(connection, fd, connection->received);
        connection->frozen = over && (more || connection->frozen);
        move_limit(inflow, fd);
        if (connection->stuck_us > (connection->limit > 0 ? STUCK_US_MAX : OVER_US_MAX))
            end(inflow, fd);
    }
}

/* Strangers first; the highest descriptors are those of the latest, nearly. */
static void end_surplus(struct inflow *inflow, uint32_t count)
{
    for (int known = 0; known <= 1; known++)
        for (int fd = inflow->capacity - 1; fd >= 0 && count > inflow->connections_max; fd--)
            if (inflow->connections[fd].cookie != 0 && inflow->connections[fd].known == known) {
                end(inflow, fd);
                count--;
            }
}

/* Whoever knocks meanwhile does so again a little later, as the kernel sees to it. */
static void mind_door(struct inflow *inflow, int listener, uint64_t elapsed_us)
{
    inflow->quiet_us += elapsed_us;
    if (inflow->quiet_us > TURNS_US)
        inflow->gone = 0; /* What was not whole, and what nobody hears. */
    if (!inflow->closed && inflow->gone > inflow->gone_max)
        inflow->closed = drop_everything(listener, true);
    else if (inflow->closed && inflow->gone <= inflow->gone_max / 2)
        inflow->closed = !drop_everything(listener, false);
}

void inflow_look(struct inflow *inflow, uint64_t elapsed_us)
{
    int most = descriptors_max(), listener = -1;
    int capacity = 2 * inflow->highest + FIRST_CAPACITY;
    uint64_t all = 0;
    uint32_t count = 0;
    if (inflow->blind || !make_room(inflow, capacity < most ? capacity : most))
        return;
    inflow->highest = 0;
    for (int fd = 0; fd < inflow->capacity; fd++) {
        struct look look;
        bool ours = look_at(inflow, fd, &look);
        if (ours && look.listens)
            listener = fd;
        if (!ours || look.listens) {
            forget(inflow, fd);
            continue;
        }
        refresh(inflow, fd, &look, elapsed_us);
        all += held(&inflow->connections[fd]);
        count++;
    }
    share_out(inflow, all, count);
    end_surplus(inflow, count);
    if (listener >= 0)
        mind_door(inflow, listener, elapsed_us);
    if (!rebuild(inflow, 0))
        give_up(inflow);
}
