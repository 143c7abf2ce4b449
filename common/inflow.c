#include "common/inflow.h"

#include <assert.h>
#include <limits.h>
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
#define HEARTBEAT_BYTES 16   /* Of a look's time: a PING and a PONG a second, encrypted. */
#define FRAME_MEMORY    64   /* That libzmq takes for a frame beside its bytes. */
#define FRAME_USUAL     1024 /* Bytes that frames are taken to have, ... */
#define FRAME_LEAST     16   /* ... and at worst when none is heard for long. */
#define FRAMES_TELLING  1000 /* Heard since the last look: the next ones may be like them. */
#define HEADERS_BYTES   (64u << 10)
#define GONE            INT_MAX /* In place of a descriptor: the connection has ended. */

/* Of netinet/tcp.h, which cannot be had beside linux/tcp.h. */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT  8

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

void inflow_init(struct inflow *inflow, uint16_t port, uint64_t each_max, uint64_t all_max)
{
    int descriptors = descriptors_max();
    memset(inflow, 0, sizeof *inflow);
    inflow->port = port;
    inflow->blind = port == 0;
    inflow->each_max = each_max;
    inflow->all_max = all_max;
    inflow->connections_max = CONNECTIONS_MAX;
    if (descriptors < CONNECTIONS_MAX + SPARE_FILES)
        inflow->connections_max =
            (uint32_t)(descriptors > 2 * SPARE_FILES ? descriptors - SPARE_FILES : descriptors / 2);
}

void inflow_free(struct inflow *inflow)
{
    free(inflow->connections);
    free(inflow->peers);
    memset(inflow, 0, sizeof *inflow);
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

/* Whether fd is a connection to the port, and not shut down from here; then its cookie and what it
 * has received. */
static bool look_at(const struct inflow *inflow, int fd, uint64_t *cookie, uint64_t *received)
{
    struct sockaddr_storage address;
    struct tcp_info info;
    socklen_t size = sizeof address, info_size = sizeof info, cookie_size = sizeof *cookie;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
        port_of(&address) != inflow->port)
        return false;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0 ||
        info_size < offsetof(struct tcp_info, tcpi_bytes_received) + 8 ||
        (info.tcpi_state != STATE_ESTABLISHED && info.tcpi_state != STATE_CLOSE_WAIT) ||
        getsockopt(fd, SOL_SOCKET, SO_COOKIE, cookie, &cookie_size) != 0 || *cookie == 0)
        return false;
    *received = info.tcpi_bytes_received;
    return true;
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

static bool is_newer(uint64_t peer, uint64_t than)
{
    return (int32_t)((uint32_t)peer - (uint32_t)than) > 0;
}

void inflow_meet(struct inflow *inflow, uint64_t peer, int fd)
{
    uint64_t cookie, received;
    if (fd < 0 || !make_room(inflow, fd + 1) ||
        ((inflow->peers == NULL || 2 * inflow->peer_count + 2 > inflow->peer_slots) &&
         !rebuild(inflow, inflow->peer_count + 1))) {
        inflow->blind = true; /* It would be taken for one that is never heard. */
        return;
    }
    struct inflow_connection *connection = &inflow->connections[fd];
    if (!look_at(inflow, fd, &cookie, &received)) {
        insert(inflow, peer, GONE); /* There may be more left of it: do not ask every time. */
        return;
    }
    if (connection->cookie != cookie)
        *connection = (struct inflow_connection){
            .cookie = cookie, .received = received, .frame = FRAME_USUAL};
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
    if (place->fd < 0 || place->fd == GONE || inflow->connections[place->fd].peer != peer)
        return;
    inflow->connections[place->fd].heard += bytes;
    inflow->connections[place->fd].parts_then += parts;
}

/* --- looking ------------------------------------------------------------------------------- */

/* What nobody hears of a connection that says nothing else. */
static uint64_t unheard_by_rights(const struct inflow_connection *connection)
{
    return HANDSHAKE_BYTES + connection->looks * HEARTBEAT_BYTES;
}

static uint64_t unheard(const struct inflow_connection *connection)
{
    uint64_t known = connection->heard + unheard_by_rights(connection);
    return connection->cookie != 0 && connection->received > known ? connection->received - known
                                                                   : 0;
}

/* Memory that this takes, about. */
static uint64_t held(const struct inflow_connection *connection)
{
    uint64_t bytes = unheard(connection);
    return bytes > 0 ? bytes + FRAME_MEMORY * (bytes / connection->frame) : 0;
}

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

static void cut(struct inflow *inflow, int fd)
{
    uint64_t cookie, received;
    struct inflow_connection *connection = &inflow->connections[fd];
    /* libzmq may have closed it meanwhile, and the number may stand for something else. Should it
     * do so between this and the next line, it is one of its connections that has to be made again,
     * or nothing that can be shut down. */
    if (look_at(inflow, fd, &cookie, &received) && cookie == connection->cookie &&
        shutdown(fd, SHUT_RDWR) == 0)
        inflow->cut++;
    *connection = (struct inflow_connection){0};
}

/* What is there now. */
static void refresh(struct inflow *inflow, int fd)
{
    uint64_t cookie, received;
    struct inflow_connection *connection = &inflow->connections[fd];
    if (!look_at(inflow, fd, &cookie, &received)) {
        *connection = (struct inflow_connection){0};
        return;
    }
    if (connection->cookie != cookie)
        *connection = (struct inflow_connection){.cookie = cookie, .frame = FRAME_USUAL};
    connection->received = received;
    connection->looks++;
    judge_frames(inflow, connection);
    inflow->highest = fd;
}

/* Whoever could not be heard because we were busy has had its turn by the second look. */
static void cut_if_over(struct inflow *inflow, int fd)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    bool over = held(connection) > inflow->each_max;
    if (over && connection->over)
        cut(inflow, fd);
    else
        connection->over = over;
}

static void cut_largest(struct inflow *inflow, uint64_t all)
{
    while (all > inflow->all_max) {
        int largest = 0;
        for (int fd = 0; fd < inflow->capacity; fd++)
            if (held(&inflow->connections[fd]) > held(&inflow->connections[largest]))
                largest = fd;
        all -= held(&inflow->connections[largest]);
        cut(inflow, largest);
    }
}

/* Strangers first; the highest descriptors are those of the latest, nearly. */
static void cut_surplus(struct inflow *inflow, uint32_t count)
{
    for (int known = 0; known <= 1; known++)
        for (int fd = inflow->capacity - 1; fd >= 0 && count > inflow->connections_max; fd--)
            if (inflow->connections[fd].cookie != 0 && inflow->connections[fd].known == known) {
                cut(inflow, fd);
                count--;
            }
}

unsigned inflow_look(struct inflow *inflow)
{
    int most = descriptors_max();
    int capacity = 2 * inflow->highest + FIRST_CAPACITY;
    uint64_t before = inflow->cut, all = 0;
    uint32_t count = 0;
    if (inflow->blind || !make_room(inflow, capacity < most ? capacity : most))
        return 0;
    inflow->highest = 0;
    for (int fd = 0; fd < inflow->capacity; fd++) {
        refresh(inflow, fd);
        cut_if_over(inflow, fd);
        all += held(&inflow->connections[fd]);
        count += inflow->connections[fd].cookie != 0;
    }
    cut_largest(inflow, all);
    cut_surplus(inflow, count);
    inflow->blind = !rebuild(inflow, 0);
    return (unsigned)(inflow->cut - before);
}
