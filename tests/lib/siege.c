/* siege.c - one child process polls all strangers' sockets, and does for each what its kind does
 * next. */

#include "tests/lib/siege.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/wire/message.h"

#define POUR_BYTES (64u << 10) /* Said again and again. */
#define HUGE_BYTES (256ull << 20)
#define GREETING   64
#define CRUMB      90 /* Short enough for a door that lets only short packets in. */
/* In their own kernel, of what is not taken: here it is the server's too, and has memory for all
 * connections together. */
#define KEPT_BYTES  (64 << 10)
#define SECOND_US   1000000u
#define REST_US     100000u /* Before whoever was cut off comes again. */
#define CONNECTS    64      /* In one round of all. */
#define SPARE_FILES 64
#define PAYLOAD     (64u << 10)

enum stage { AWAY, CONNECTING, HANDSHAKE, POURING, QUIET };

struct stranger_at {
    int fd;
    enum stage stage;
    size_t said;     /* Of what this stage has to say. */
    uint64_t due_us; /* To come again, or to say or hear a little. */
};

struct crew {
    const struct siege *siege;
    struct sockaddr_in to;
    uint8_t hello[GREETING + 32], *pour; /* pour[pour_bytes], over and over unless `once`. */
    size_t hello_bytes, pour_bytes;
    bool once;
    struct stranger_at *all; /* [siege->count] */
    struct pollfd *polled;
    uint64_t now_us;
};

static const char *const names[SIEGE_KINDS] = {
    "ask and never read", "ask and read",        "ask and read slowly",    "join as workers",
    "join as servers",    "speak as servers",    "speak as members",       "send gradients",
    "malformed headers",  "endless parts",       "parts in short packets", "huge frames",
    "half messages",      "ping and never read", "slow handshakes",        "silent connections",
    "ask and go",         "connect and go"};

const char *siege_name(enum siege_kind kind)
{
    return names[kind];
}

uint32_t siege_most(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max < SPARE_FILES)
        return 0;
    return files.rlim_max > UINT32_MAX ? UINT32_MAX : (uint32_t)files.rlim_max - SPARE_FILES;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* --- what is said -------------------------------------------------------------------------- */

static size_t put_frame(uint8_t *to, unsigned flags, const void *bytes, size_t count)
{
    size_t head = count > 255 ? 9 : 2;
    to[0] = (uint8_t)(flags | (count > 255 ? 2u : 0u));
    to[1] = (uint8_t)count;
    for (size_t i = 0; i < 8 && head == 9; i++)
        to[1 + i] = (uint8_t)((uint64_t)count >> (8 * (7 - i)));
    if (bytes != NULL)
        memcpy(to + head, bytes, count);
    return head + count;
}

static size_t put_message(uint8_t *to, const struct message *message)
{
    uint8_t header[HEADER_BYTES_MAX];
    return put_frame(to, 0, header, message_encode(message, header));
}

static struct message message_of(enum siege_kind kind, uint32_t number)
{
    struct message message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER};
    if (kind <= SIEGE_ASK_SLOW || kind == SIEGE_BRIEF)
        return message;
    message.role = kind == SIEGE_JOIN_PS || kind == SIEGE_SERVER ? ROLE_PS : ROLE_WORKER;
    message.index = kind == SIEGE_JOIN_PS ? 200 : number % 16;
    message.incarnation = hash_random_u64();
    message.request = number + 1;
    if (kind == SIEGE_JOIN || kind == SIEGE_JOIN_PS) {
        message.kind = MESSAGE_JOIN;
        message.join.version_min = PROTOCOL_VERSION_MIN;
        message.join.version_max = PROTOCOL_VERSION_MAX;
    } else if (kind == SIEGE_SERVER) {
        message.kind = number % 2 == 0 ? MESSAGE_WANT_JOB : MESSAGE_WELCOME;
    } else {
        message.kind = number % 2 == 0 ? MESSAGE_EXCHANGE : MESSAGE_PING;
        message.run_id = message.incarnation;
        message.exchange.want = true;
    }
    return message;
}

static size_t fill_with_messages(struct crew *crew, size_t most)
{
    size_t used = 0;
    for (uint32_t i = 0; used + 512 < most; i++) {
        struct message message = message_of(crew->siege->kind, i);
        used += put_message(crew->pour + used, &message);
        if (crew->once)
            break;
    }
    return used;
}

static size_t fill_with_garbage(uint8_t *to)
{
    size_t used = 0;
    for (unsigned i = 0; used + 64 < POUR_BYTES; i++) {
        uint8_t header[40];
        memset(header, 0xf0 + (int)(i % 16), sizeof header);
        used += put_frame(to + used, 0, header, sizeof header);
    }
    return used;
}

static size_t fill_with_gradient(uint8_t *to)
{
    uint8_t header[HEADER_BYTES_MAX];
    struct message message = {.kind = MESSAGE_EXCHANGE, .role = ROLE_WORKER, .incarnation = 5};
    message.exchange.gradient = true;
    size_t used = put_frame(to, 1, header, message_encode(&message, header));
    return used + put_frame(to + used, 0, NULL, PAYLOAD);
}

static size_t fill_with_pings(uint8_t *to)
{
    static const uint8_t ping[] = {4, 'P', 'I', 'N', 'G', 0, 0, 1, 2, 3, 4};
    size_t used = 0;
    while (used + 64 < POUR_BYTES)
        used += put_frame(to + used, 4, ping, sizeof ping);
    return used;
}

/* What comes after the handshake. */
static void prepare(struct crew *crew)
{
    uint8_t *to = crew->pour;
    enum siege_kind kind = crew->siege->kind;
    crew->once = kind == SIEGE_BRIEF || kind == SIEGE_HALF;
    switch (kind) {
    case SIEGE_MALFORMED:
        crew->pour_bytes = fill_with_garbage(to);
        break;
    case SIEGE_PAYLOAD:
        crew->pour_bytes = fill_with_gradient(to);
        break;
    case SIEGE_PINGS:
        crew->pour_bytes = fill_with_pings(to);
        break;
    case SIEGE_PARTS:
    case SIEGE_CRUMBS:
        for (size_t i = 0; i < POUR_BYTES; i += 2)
            to[i] = 1;
        crew->pour_bytes = POUR_BYTES;
        break;
    case SIEGE_HUGE: /* Its head is said with the handshake. */
        crew->pour_bytes = POUR_BYTES;
        break;
    case SIEGE_HALF:
        crew->pour_bytes = put_frame(to, 1, "half", 4) + put_frame(to + 6, 0, NULL, 300) - 100;
        break;
    case SIEGE_DRIP:
    case SIEGE_SILENT:
    case SIEGE_KNOCK:
        crew->pour_bytes = 0;
        break;
    default:
        crew->pour_bytes = fill_with_messages(crew, POUR_BYTES);
        break;
    }
}

/* ZMTP 3.1 without keys, all at once. */
static void prepare_hello(struct crew *crew)
{
    static const char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                "DEALER";
    const uint8_t greeting[GREETING] = {
        0xff, [9] = 0x7f, [10] = 3, [12] = 'N', [13] = 'U', [14] = 'L', [15] = 'L'};
    memcpy(crew->hello, greeting, GREETING);
    memcpy(crew->hello + GREETING, ready, sizeof ready - 1);
    crew->hello_bytes = GREETING + sizeof ready - 1;
}

/* --- one of them --------------------------------------------------------------------------- */

static void leave(struct crew *crew, struct stranger_at *s, uint64_t rest_us)
{
    if (s->fd >= 0)
        close(s->fd);
    if (s->stage > CONNECTING)
        atomic_fetch_sub(&crew->siege->shared->open, 1);
    *s = (struct stranger_at){.fd = -1, .stage = AWAY, .due_us = crew->now_us + rest_us};
}

static void come(struct crew *crew, struct stranger_at *s)
{
    int on = 1, kept = KEPT_BYTES;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0)
        fail("siege: too few files");
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &kept, sizeof kept);
    s->stage = CONNECTING;
    s->due_us = crew->now_us + 10 * SECOND_US;
    if (connect(s->fd, (struct sockaddr *)(void *)&crew->to, sizeof crew->to) != 0 &&
        errno != EINPROGRESS)
        leave(crew, s, REST_US);
}

/* As much of bytes[count] as is taken. False when the other side has hung up. */
static bool say(struct crew *crew, struct stranger_at *s, const uint8_t *bytes, size_t count)
{
    ssize_t sent = send(s->fd, bytes + s->said, count - s->said, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    s->said += (size_t)sent;
    atomic_fetch_add(&crew->siege->shared->bytes, (uint64_t)sent);
    return true;
}

static bool is_through(struct crew *crew, struct stranger_at *s)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
        return false;
    s->stage = HANDSHAKE;
    s->said = 0;
    s->due_us = crew->now_us;
    atomic_fetch_add(&crew->siege->shared->open, 1);
    atomic_fetch_add(&crew->siege->shared->connections, 1);
    return true;
}

/* What comes before the other side's READY would be a breach of its own. */
static bool has_answered(const struct stranger_at *s)
{
    char bytes[GREETING + 2];
    return recv(s->fd, bytes, sizeof bytes, MSG_PEEK) == sizeof bytes;
}

static bool shake_hands(struct crew *crew, struct stranger_at *s)
{
    enum siege_kind kind = crew->siege->kind;
    size_t most = crew->hello_bytes;
    if (kind == SIEGE_KNOCK)
        return false;
    if (kind == SIEGE_SILENT) {
        s->stage = QUIET;
        return true;
    }
    if (kind == SIEGE_DRIP) {
        if (crew->now_us < s->due_us || s->said == most)
            return true;
        s->due_us = crew->now_us + SECOND_US;
        most = s->said + 1;
    }
    if (s->said < crew->hello_bytes && !say(crew, s, crew->hello, most))
        return false;
    if (s->said < crew->hello_bytes || !has_answered(s))
        return true;
    s->stage = POURING;
    s->said = 0;
    return true;
}

static bool pour_crumbs(struct crew *crew, struct stranger_at *s)
{
    ssize_t sent = 0;
    for (int i = 0; i < 2000 && sent >= 0; i++)
        sent = send(s->fd, crew->pour, CRUMB, MSG_NOSIGNAL);
    return errno == EAGAIN || sent >= 0;
}

static bool pour(struct crew *crew, struct stranger_at *s)
{
    static uint8_t head[9] = {2, [5] = HUGE_BYTES >> 24 & 0xff};
    if (crew->siege->kind == SIEGE_HUGE && s->due_us != 0) {
        s->due_us = 0;
        return send(s->fd, head, sizeof head, MSG_NOSIGNAL) == sizeof head;
    }
    if (crew->siege->kind == SIEGE_CRUMBS)
        return pour_crumbs(crew, s);
    if (!say(crew, s, crew->pour, crew->pour_bytes))
        return false;
    if (s->said < crew->pour_bytes)
        return true;
    if (crew->siege->kind == SIEGE_BRIEF)
        return false;
    s->said = 0;
    if (crew->once)
        s->stage = QUIET;
    return true;
}

/* Whether the other side is still there, as far as this one notices. */
static bool hear(struct crew *crew, struct stranger_at *s)
{
    char bytes[65536];
    enum siege_kind kind = crew->siege->kind;
    size_t most = sizeof bytes;
    if (kind != SIEGE_ASK_READ && kind != SIEGE_ASK_SLOW)
        return true;
    if (kind == SIEGE_ASK_SLOW) {
        if (crew->now_us < s->due_us)
            return true;
        s->due_us = crew->now_us + SECOND_US;
        most = 50;
    }
    ssize_t got = recv(s->fd, bytes, most, 0);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void act(struct crew *crew, struct stranger_at *s, short events)
{
    bool there = (events & (POLLERR | POLLHUP)) == 0;
    bool writable = (events & POLLOUT) != 0;
    if (there && s->stage == CONNECTING && writable)
        there = is_through(crew, s);
    else if (there && s->stage == CONNECTING && crew->now_us > s->due_us)
        there = false;
    if (there && s->stage == HANDSHAKE)
        there = shake_hands(crew, s);
    if (there && s->stage == POURING && writable)
        there = pour(crew, s);
    if (there && s->stage >= POURING)
        there = hear(crew, s);
    bool again = crew->siege->kind == SIEGE_BRIEF || crew->siege->kind == SIEGE_KNOCK;
    if (!there)
        leave(crew, s, again && s->stage != CONNECTING ? 0 : REST_US);
}

/* --- all of them --------------------------------------------------------------------------- */

static short wanted(const struct crew *crew, const struct stranger_at *s)
{
    short events = POLLRDHUP;
    bool speaks = s->stage == HANDSHAKE && s->said < crew->hello_bytes;
    if (s->stage == CONNECTING || speaks || s->stage == POURING)
        events |= POLLOUT;
    if (crew->siege->kind == SIEGE_DRIP && s->stage == HANDSHAKE)
        events = POLLRDHUP;
    if (crew->siege->kind == SIEGE_ASK_READ && s->stage == POURING)
        events |= POLLIN;
    return events;
}

static void go_round(struct crew *crew)
{
    uint32_t connects = 0;
    crew->now_us = clock_now_us();
    for (uint32_t i = 0; i < crew->siege->count; i++) {
        struct stranger_at *s = &crew->all[i];
        if (s->stage == AWAY && crew->now_us >= s->due_us && connects++ < CONNECTS)
            come(crew, s);
        crew->polled[i] = (struct pollfd){s->fd, s->fd < 0 ? 0 : wanted(crew, s), 0};
    }
    poll(crew->polled, crew->siege->count, 10);
    crew->now_us = clock_now_us();
    for (uint32_t i = 0; i < crew->siege->count; i++)
        if (crew->all[i].fd >= 0)
            act(crew, &crew->all[i],
                crew->polled[i].revents & POLLRDHUP ? crew->polled[i].revents | POLLHUP
                                                    : crew->polled[i].revents);
}

static _Noreturn void run(const struct siege *siege)
{
    struct crew crew = {.siege = siege};
    const char *port = strrchr(siege->address, ':');
    struct rlimit files;
    prctl(PR_SET_NAME, "siege");
    if (setpriority(PRIO_PROCESS, 0, 19) != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
        fail("siege: cannot begin");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    crew.to = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)atoi(port != NULL ? port + 1 : "")),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    crew.all = calloc(siege->count, sizeof *crew.all);
    crew.polled = calloc(siege->count, sizeof *crew.polled);
    crew.pour = calloc(1, POUR_BYTES + PAYLOAD + 4096);
    if (crew.all == NULL || crew.polled == NULL || crew.pour == NULL || siege_most() < siege->count)
        fail("siege: out of memory, or files");
    for (uint32_t i = 0; i < siege->count; i++)
        crew.all[i].fd = -1;
    prepare_hello(&crew);
    prepare(&crew);
    for (;;)
        go_round(&crew);
}

void siege_start(struct siege *siege)
{
    pid_t parent = getpid();
    siege->shared = mmap(NULL, sizeof *siege->shared, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (siege->shared == MAP_FAILED)
        fail("siege: out of memory");
    fflush(NULL);
    siege->process = fork();
    if (siege->process < 0)
        fail("siege: cannot fork");
    if (siege->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            run(siege);
        _exit(EXIT_FAILURE);
    }
}

void siege_end(struct siege *siege)
{
    kill(siege->process, SIGKILL);
    waitpid(siege->process, NULL, 0);
    munmap(siege->shared, sizeof *siege->shared);
}
