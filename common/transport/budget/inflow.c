/* inflow.c - a table of the port's connections, found among this process's descriptors, each with
 * what came over it, what was heard of it, and the limit that its TCP filter has. */

#include "common/transport/budget/inflow.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/transport/budget/tcp.h"

#define CONNECTIONS_MAX 4096
#define SPARE_FILES     256 /* Descriptors that are left to the rest of the process. */
#define FIRST_CAPACITY  256
#define FIRST_SLOTS     256u
#define HANDSHAKE_BYTES 2048 /* More than any takes. */
#define HEARTBEAT_BYTES 160  /* A second: a PING and a PONG, encrypted, and more. */
#define HEARTBEATS_MOST 128  /* Of a stranger: for a while, and then it may connect again. */
#define FRAME_MEMORY    64   /* That libzmq takes for a frame beside its bytes. */
#define FRAME_USUAL     1024 /* Bytes that frames are taken to have, ... */
#define FRAME_LEAST     16   /* ... and at worst when none is heard for long. */
#define FRAMES_TELLING  1000 /* Heard since the last look: the next ones may be like them. */
#define HEADERS_BYTES   (64u << 10)
#define FIRST_BYTES     (256u << 10) /* Beside a payload, before anything is heard. */
#define GONE            INT_MAX      /* In place of a descriptor: the connection has ended. */

#define AHEAD_MAX      (1ull << 30) /* Sequence numbers are compared modulo 2^32. */
#define AHEAD_DECLARER (256u << 10) /* Of a stranger that was asked for a declaration. */
#define STUCK_US_MAX   10000000u    /* At its limit, and nothing is heard of it. */
#define STUCK_US_FEW   1000000u     /* Of a stranger, while they are few. */
#define FEW            64
#define SPARE_PLACES   64      /* For those who come between two looks. */
#define FIRST_PACKET   100     /* Of a stranger while they are few: a handshake, a short header. */
#define OVER_US_MAX    100000u /* The same where there can be no limit. */
#define GONE_BYTES_MAX (64u << 20)
#define TURNS_US       2000000u /* By then everybody who has something whole is heard once. */

static int descriptors_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1 << 20)
        return 1 << 20;
    return (int)limit.rlim_cur;
}

/* --- what the kernel says ------------------------------------------------------------------ */

/* Whether fd is the port's; one that was there at the last look is known by its cookie. */
static bool look_at(const struct inflow *inflow, int fd, struct tcp_look *look)
{
    uint64_t known = fd < inflow->capacity ? inflow->connections[fd].cookie : 0;
    if (known == 0 && !tcp_is_of_port(fd, inflow->port))
        return false;
    return tcp_look(fd, look) && (look->cookie == known || tcp_is_of_port(fd, inflow->port));
}

static bool is_connection(const struct inflow *inflow, int fd, struct tcp_look *look)
{
    return look_at(inflow, fd, look) && !look->listens;
}

/* Connections that began before this have no limit. */
static void find_listeners(struct inflow *inflow)
{
    struct tcp_look look;
    for (int fd = 0; fd < FIRST_CAPACITY + CONNECTIONS_MAX; fd++)
        if (inflow->listener_count < INFLOW_LISTENERS_MAX && tcp_is_of_port(fd, inflow->port) &&
            tcp_look(fd, &look) && look.listens) {
            inflow->listeners[inflow->listener_count++] = fd;
            tcp_keep_first(fd);
        }
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
    inflow->handshake_bytes = HANDSHAKE_BYTES;
    inflow->chance = GATE_OPEN;
    inflow->connections_max = CONNECTIONS_MAX;
    gate_init(&inflow->gate);
    if (descriptors < CONNECTIONS_MAX + SPARE_FILES)
        inflow->connections_max =
            (uint32_t)(descriptors > 2 * SPARE_FILES ? descriptors - SPARE_FILES : descriptors / 2);
    if (!inflow->blind)
        find_listeners(inflow);
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

/* The descriptor it speaks over, or -1. */
static int descriptor_of(const struct inflow *inflow, uint64_t peer)
{
    if (inflow->blind || inflow->peers == NULL)
        return -1;
    int fd = find(inflow, peer)->fd;
    bool there = fd >= 0 && fd != GONE && inflow->connections[fd].known &&
                 inflow->connections[fd].peer == peer;
    return there ? fd : -1;
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
    return find(inflow, peer)->fd == GONE || descriptor_of(inflow, peer) >= 0;
}

/* --- what waits, and how much may ---------------------------------------------------------- */

/* Heard, and what nobody hears of a connection that says nothing else. */
static uint64_t accounted_for(const struct inflow *inflow,
                              const struct inflow_connection *connection)
{
    uint64_t heartbeats = connection->age_us * HEARTBEAT_BYTES / 1000000;
    if (!connection->member && heartbeats > HEARTBEATS_MOST)
        heartbeats = HEARTBEATS_MOST;
    return connection->heard + inflow->handshake_bytes + heartbeats;
}

static uint64_t unheard(const struct inflow *inflow, const struct inflow_connection *connection)
{
    uint64_t known = accounted_for(inflow, connection);
    return connection->cookie != 0 && connection->received > known ? connection->received - known
                                                                   : 0;
}

/* Memory that this takes, about. */
static uint64_t held(const struct inflow *inflow, const struct inflow_connection *connection)
{
    uint64_t bytes = unheard(inflow, connection);
    return bytes > 0 ? bytes + FRAME_MEMORY * (bytes / connection->frame) : 0;
}

/* Bytes that a member may have unheard, so that they take no more memory than each_max. */
static uint64_t allowance(const struct inflow *inflow, const struct inflow_connection *connection)
{
    uint64_t first = inflow->payload_max + FIRST_BYTES, memory = inflow->each_max;
    if (!connection->known && inflow->payload_max > 0 && first < memory)
        memory = first;
    uint64_t bytes = memory / (connection->frame + FRAME_MEMORY) * connection->frame;
    return bytes < AHEAD_MAX / 2 ? bytes : AHEAD_MAX / 2;
}

/* The same of a stranger, whose frames may be empty. */
static uint64_t stranger_ahead(const struct inflow *inflow,
                               const struct inflow_connection *connection)
{
    bool declares = connection->known && connection->peer == inflow->declarer &&
                    inflow->declarer != 0 && !inflow->gate.busy;
    return declares ? AHEAD_DECLARER : gate_ahead(&inflow->gate);
}

static void set_limit(struct inflow_connection *connection, int fd, uint64_t limit)
{
    if (tcp_limit(fd, connection->cookie, connection->first + (uint32_t)limit)) {
        connection->limit = limit;
    } else if (tcp_is(fd, connection->cookie)) { /* Rather none than one that never moves. */
        connection->limitable = false;
        connection->limit = 0;
        tcp_free(fd);
    }
}

/* By half as much again as it may need, so that this is not done for every message; and back when
 * its frames turn out to be short. */
static void move_member(const struct inflow *inflow, int fd)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    uint64_t bytes = allowance(inflow, connection), known = accounted_for(inflow, connection);
    if (connection->frozen ||
        (connection->limit >= known + bytes && connection->limit <= known + 2 * bytes))
        return;
    set_limit(connection, fd, known + bytes + bytes / 2);
}

/* On only with credit, when half is used up; and back when more of them have come. */
static void move_stranger(const struct inflow *inflow, int fd)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    uint64_t ahead = stranger_ahead(inflow, connection);
    uint64_t limit = accounted_for(inflow, connection) + ahead;
    bool first = connection->limit == 0, less = connection->limit > limit + ahead;
    if (first || less || (connection->credit > 0 && limit > connection->limit + ahead / 2))
        set_limit(connection, fd, limit > connection->received ? limit : connection->received);
}

static void move_limit(const struct inflow *inflow, int fd)
{
    const struct inflow_connection *connection = &inflow->connections[fd];
    if (!connection->limitable)
        return;
    if (connection->member)
        move_member(inflow, fd);
    else
        move_stranger(inflow, fd);
}

/* --- who is heard -------------------------------------------------------------------------- */

static bool is_newer(uint64_t peer, uint64_t than)
{
    return (int32_t)((uint32_t)peer - (uint32_t)than) > 0;
}

static void open_door(struct inflow *inflow, uint32_t chance, uint32_t packet)
{
    if (chance == inflow->chance && packet == inflow->packet)
        return;
    for (uint32_t i = 0; i < inflow->listener_count; i++)
        if (inflow->apart || chance != GATE_OPEN)
            tcp_door(inflow->listeners[i], chance, inflow->apart ? packet : UINT32_MAX);
        else
            tcp_free(inflow->listeners[i]);
    inflow->chance = chance;
    inflow->packet = packet;
}

/* More have come than there are places for: nobody else comes in until the next look has made room,
 * or each of those who pour in until then would take what a connection takes. */
static bool is_full(const struct inflow *inflow)
{
    return inflow->gate.strangers > GATE_PLACES + inflow->expected + SPARE_PLACES;
}

/* Somebody new has the descriptor. */
static void begin(struct inflow *inflow, int fd, const struct tcp_look *look)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    inflow->gone += unheard(inflow, connection);
    *connection = (struct inflow_connection){.cookie = look->cookie,
                                             .received = look->received,
                                             .taken = look->taken,
                                             .unsaid = look->taken,
                                             .frame = FRAME_USUAL,
                                             .member = !inflow->apart,
                                             .credit = gate_first(&inflow->gate)};
    connection->limitable = tcp_first(fd, &connection->first);
    inflow->gate.strangers += inflow->apart;
    if (inflow->apart && inflow->gate.strangers > FEW)
        open_door(inflow, is_full(inflow) ? 0 : inflow->chance, 0);
}

static void give_up(struct inflow *inflow)
{
    inflow->blind = true;
    for (int fd = 0; fd < inflow->capacity; fd++)
        if (tcp_is_of_port(fd, inflow->port))
            tcp_free(fd);
}

void inflow_meet(struct inflow *inflow, uint64_t peer, int fd)
{
    struct tcp_look look;
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
    if (find(inflow, peer)->fd == GONE) {
        inflow->gone -= bytes < inflow->gone ? bytes : inflow->gone;
        inflow->quiet_us = 0;
    }
    int fd = descriptor_of(inflow, peer);
    if (fd < 0)
        return;
    struct inflow_connection *connection = &inflow->connections[fd];
    connection->heard += bytes;
    connection->parts_then += parts;
    connection->silent_us = 0;
    if (!connection->member)
        connection->credit = gate_charge(connection->credit, parts, bytes);
    move_limit(inflow, fd);
}

void inflow_drained(struct inflow *inflow)
{
    inflow->gone = 0;
}

/* --- members and strangers ----------------------------------------------------------------- */

void inflow_distrust(struct inflow *inflow)
{
    inflow->apart = true;
    if (!inflow->blind)
        open_door(inflow, inflow->chance, FIRST_PACKET);
}

void inflow_trust(struct inflow *inflow, uint64_t peer)
{
    int fd = descriptor_of(inflow, peer);
    if (fd < 0 || inflow->connections[fd].member)
        return;
    struct inflow_connection *connection = &inflow->connections[fd];
    connection->member = true;
    connection->stuck_us = 0;
    inflow->gate.strangers -= inflow->gate.strangers > 0;
    if (!connection->limitable) /* It has had the door's filter until now. */
        tcp_free(fd);
    move_limit(inflow, fd);
}

void inflow_ask(struct inflow *inflow, uint64_t peer)
{
    int fd = descriptor_of(inflow, peer);
    inflow->declarer = peer;
    if (fd >= 0)
        move_limit(inflow, fd);
}

/* What it has taken, and what of that was not said by us: handshake and heartbeats, which are
 * known for that whenever it has taken everything. */
static uint64_t owed_to(struct inflow_connection *connection, int fd)
{
    struct tcp_look look;
    if (tcp_look(fd, &look) && look.cookie == connection->cookie)
        connection->taken = look.taken;
    if (connection->taken - connection->unsaid > connection->said)
        connection->unsaid = connection->taken - connection->said;
    return connection->said - (connection->taken - connection->unsaid);
}

bool inflow_may_say(struct inflow *inflow, uint64_t peer, uint64_t bytes)
{
    int fd = descriptor_of(inflow, peer);
    if (fd < 0 || inflow->connections[fd].member)
        return true;
    struct inflow_connection *connection = &inflow->connections[fd];
    if (owed_to(connection, fd) > GATE_OWED)
        return false;
    connection->said += bytes;
    return true;
}

void inflow_came(struct inflow *inflow, uint64_t count)
{
    inflow->came += count;
}

void inflow_greet(struct inflow *inflow, int fd)
{
    struct tcp_look look;
    if (inflow->blind || !make_room(inflow, fd + 1) || !is_connection(inflow, fd, &look))
        return;
    if (inflow->connections[fd].cookie != look.cookie)
        begin(inflow, fd, &look);
    inflow->highest = fd > inflow->highest ? fd : inflow->highest;
    move_limit(inflow, fd);
}

/* --- looking ------------------------------------------------------------------------------- */

static void judge_frames(const struct inflow *inflow, struct inflow_connection *connection)
{
    uint64_t bytes = connection->heard - connection->heard_then;
    if (connection->parts_then >= FRAMES_TELLING)
        connection->frame = bytes / connection->parts_then; /* Two at least, of the wire. */
    else if (connection->parts_then > 0)
        connection->frame = FRAME_USUAL;
    else if (unheard(inflow, connection) > inflow->payload_max + HEADERS_BYTES &&
             connection->frame > FRAME_LEAST)
        connection->frame /= 2; /* Whatever this is, it is no message of ours. */
    connection->heard_then = connection->heard;
    connection->parts_then = 0;
}

static void forget(struct inflow *inflow, int fd)
{
    inflow->gone += unheard(inflow, &inflow->connections[fd]);
    inflow->connections[fd] = (struct inflow_connection){0};
}

/* Should libzmq close it after the question, it is another of its connections that has to be made
 * again, or nothing that can be shut down. */
static void end(struct inflow *inflow, int fd)
{
    if (tcp_is(fd, inflow->connections[fd].cookie) && shutdown(fd, SHUT_RDWR) == 0)
        inflow->ended++;
    forget(inflow, fd);
}

/* Whether it would send on, if it might. */
static bool is_stuck(const struct inflow *inflow, const struct inflow_connection *connection)
{
    if (connection->limit > 0)
        return connection->received >= connection->limit;
    if (connection->member)
        return held(inflow, connection) > inflow->each_max + inflow->each_max / 2;
    uint64_t ahead = stranger_ahead(inflow, connection);
    return connection->credit <= 0 || unheard(inflow, connection) > ahead + ahead / 2;
}

/* Whether that is its own fault: a stranger that only waits for credit costs nothing. */
static bool completes_nothing(const struct inflow *inflow,
                              const struct inflow_connection *connection)
{
    return connection->member || connection->limit == 0 ||
           unheard(inflow, connection) >= stranger_ahead(inflow, connection) / 2;
}

/* What is there now. */
static void refresh(struct inflow *inflow, int fd, const struct tcp_look *look, uint64_t elapsed_us)
{
    struct inflow_connection *connection = &inflow->connections[fd];
    if (connection->cookie != look->cookie)
        begin(inflow, fd, look);
    connection->received = look->received;
    connection->age_us += elapsed_us;
    connection->silent_us += elapsed_us;
    if (!connection->member)
        connection->credit = gate_refill(&inflow->gate, connection->credit, elapsed_us);
    bool stuck = is_stuck(inflow, connection), heard = connection->parts_then > 0;
    inflow->held_back += stuck && !connection->stuck;
    connection->stuck = stuck;
    connection->stuck_us += elapsed_us;
    if (!stuck || (heard && connection->limit > 0) || !completes_nothing(inflow, connection))
        connection->stuck_us = 0;
    judge_frames(inflow, connection);
}

static uint64_t patience(const struct inflow *inflow, const struct inflow_connection *connection)
{
    if (connection->limit == 0)
        return OVER_US_MAX;
    return connection->member || inflow->gate.strangers > FEW ? STUCK_US_MAX : STUCK_US_FEW;
}

/* While all hold too much, whoever holds more than its share keeps what it has and gets no more. */
static void share_out(struct inflow *inflow, uint64_t all, uint32_t count)
{
    for (int fd = 0; fd < inflow->capacity; fd++) {
        struct inflow_connection *connection = &inflow->connections[fd];
        if (connection->cookie == 0)
            continue;
        bool over = connection->member && all > inflow->all_max;
        bool more = connection->limitable && count > 0 &&
                    held(inflow, connection) > inflow->all_max / count;
        if (over && more && !connection->frozen)
            set_limit(connection, fd, connection->received);
        connection->frozen = over && (more || connection->frozen);
        move_limit(inflow, fd);
        if (connection->stuck_us > patience(inflow, connection))
            end(inflow, fd);
    }
}

/* --- places -------------------------------------------------------------------------------- */

struct candidate {
    uint64_t silent_us;
    bool deserves; /* Its place more than others do. */
    int fd;
};

/* Who is to go first. */
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->deserves != b->deserves)
        return a->deserves ? 1 : -1;
    return a->silent_us == b->silent_us ? 0 : a->silent_us > b->silent_us ? -1 : 1;
}

static void end_least(struct inflow *inflow, bool members, uint32_t surplus)
{
    struct candidate *all = malloc((size_t)inflow->capacity * sizeof *all);
    uint32_t count = 0;
    for (int fd = 0; all != NULL && fd < inflow->capacity; fd++) {
        const struct inflow_connection *connection = &inflow->connections[fd];
        if (connection->cookie != 0 && connection->member == members)
            all[count++] = (struct candidate){
                connection->silent_us, members ? connection->known : connection->credit > 0, fd};
    }
    if (all != NULL)
        qsort(all, count, sizeof *all, compare);
    for (uint32_t i = 0; i < surplus && i < count; i++)
        end(inflow, all[i].fd);
    free(all);
}

/* Whoever is expected and has not come yet has a place kept beside those for strangers. */
static void end_surplus(struct inflow *inflow, uint32_t members, uint32_t strangers)
{
    uint32_t kept = inflow->expected > members ? inflow->expected - members : 0;
    uint32_t most = GATE_PLACES + kept, all = inflow->connections_max;
    if (all < members + most)
        most = all > members ? all - members : 0;
    if (strangers > most)
        end_least(inflow, false, strangers - most);
    if (members > all)
        end_least(inflow, true, members - all);
}

/* Whoever knocks meanwhile does so again a little later, as the kernel sees to it. */
static void mind_door(struct inflow *inflow, uint64_t elapsed_us)
{
    inflow->quiet_us += elapsed_us;
    if (inflow->quiet_us > TURNS_US)
        inflow->gone = 0; /* What was not whole, and what nobody hears. */
    if (!inflow->closed && inflow->gone > inflow->gone_max)
        inflow->closed = true;
    else if (inflow->closed && inflow->gone <= inflow->gone_max / 2)
        inflow->closed = false;
    gate_count(&inflow->gate, inflow->came, elapsed_us);
    inflow->came = 0;
    uint32_t chance = inflow->closed ? 0 : inflow->apart ? inflow->gate.chance : GATE_OPEN;
    uint32_t packet = inflow->packet;
    if (inflow->gate.strangers > FEW)
        packet = 0;
    else if (inflow->gate.strangers < FEW / 2)
        packet = FIRST_PACKET;
    open_door(inflow, chance, packet);
}

/* Of members that hold something, and of how many there are. */
struct counts {
    uint64_t all;
    uint32_t members, strangers;
};

/* Whether to look at fd this time: at all but many strangers, and what is not ours, which comes up
 * in its turn. */
static bool is_due(const struct inflow *inflow, int fd)
{
    const struct inflow_connection *connection = &inflow->connections[fd];
    bool waits = connection->cookie == 0 || (!connection->member && connection->limit > 0);
    return !waits || inflow->gate.strangers <= FEW || (uint32_t)fd % INFLOW_TURNS == inflow->turn;
}

/* What is there over fd now, if anything is. */
static void look_again(struct inflow *inflow, int fd, uint64_t elapsed_us)
{
    struct tcp_look look;
    if (!look_at(inflow, fd, &look) || look.listens)
        forget(inflow, fd);
    else
        refresh(inflow, fd, &look, elapsed_us);
}

static struct counts count_all(struct inflow *inflow, uint64_t elapsed_us)
{
    struct counts counts = {0};
    inflow->highest = 0;
    inflow->clock_us += elapsed_us;
    inflow->turn = (inflow->turn + 1) % INFLOW_TURNS;
    for (int fd = 0; fd < inflow->capacity; fd++) {
        const struct inflow_connection *connection = &inflow->connections[fd];
        bool in_turn = !connection->member && inflow->gate.strangers > FEW;
        uint64_t since_us = inflow->clock_us - inflow->turned_us[(uint32_t)fd % INFLOW_TURNS];
        if (is_due(inflow, fd))
            look_again(inflow, fd, in_turn ? since_us : elapsed_us);
        if (connection->cookie == 0)
            continue;
        inflow->highest = fd;
        counts.all += connection->member ? held(inflow, connection) : 0;
        counts.members += connection->member;
        counts.strangers += !connection->member;
    }
    for (uint32_t i = 0; i < INFLOW_TURNS; i++)
        if (i == inflow->turn || inflow->gate.strangers <= FEW)
            inflow->turned_us[i] = inflow->clock_us;
    return counts;
}

void inflow_look(struct inflow *inflow, uint64_t elapsed_us)
{
    int most = descriptors_max(), capacity = 2 * inflow->highest + FIRST_CAPACITY;
    if (inflow->blind || !make_room(inflow, capacity < most ? capacity : most))
        return;
    struct counts counts = count_all(inflow, elapsed_us);
    inflow->gate.strangers = counts.strangers;
    share_out(inflow, counts.all, counts.members);
    end_surplus(inflow, counts.members, counts.strangers);
    mind_door(inflow, elapsed_us);
    if (!rebuild(inflow, 0))
        give_up(inflow);
}
