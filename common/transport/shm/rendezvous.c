/* rendezvous.c - abstract Unix sockets and SCM_RIGHTS; the kernel names the user at the other
 * end. */

#include "common/transport/shm/rendezvous.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/job/job.h"

#define BACKLOG       JOB_WORKERS_MAX /* All may come at once; one without room never returns. */
#define UNKNOWN_PEERS 64 /* The most that one call turns away, so that they cannot keep it busy. */
#define SOCKET_FLAGS  (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* Room for the control data of one message, aligned for the kernel. */
union control {
    struct cmsghdr header;
    unsigned char bytes[CMSG_SPACE(RENDEZVOUS_FDS_MAX * sizeof(int))];
};

uint64_t rendezvous_name(uint64_t incarnation)
{
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    uint64_t name = 0;
    hash_init(&hash);
    hash_update_u64(&hash, incarnation);
    hash_final(&hash, digest);
    for (int i = 0; i < 8; i++)
        name = name << 8 | digest[i];
    return name;
}

/* Returns the length of the address. */
static socklen_t address_of(uint64_t name, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    /* A first byte of 0 makes the name abstract; the address's length ends it. */
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                          "syncopate-%016" PRIx64, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* The user when the connection was made, not the holder of the descriptor now. */
static bool is_our_user(int connection)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == geteuid();
}

enum status rendezvous_listen(uint64_t name, int *fd, struct error *error)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCKET_FLAGS, 0);
    if (made >= 0 && bind(made, (struct sockaddr *)&address, length) == 0 &&
        listen(made, BACKLOG) == 0) {
        *fd = made;
        return STATUS_OK;
    }
    enum status status = errno == EADDRINUSE ? STATUS_EXISTS : STATUS_IO;
    error_set(error, status, "cannot listen at @%s: %s", address.sun_path + 1, strerror(errno));
    if (made >= 0)
        close(made);
    return status;
}

enum status rendezvous_accept(int fd, int *connection)
{
    for (int tries = 0; tries < UNKNOWN_PEERS; tries++) {
        int accepted = accept4(fd, NULL, NULL, SOCKET_FLAGS);
        if (accepted < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (accepted < 0)
            return errno == EAGAIN ? STATUS_AGAIN : STATUS_IO;
        if (is_our_user(accepted)) {
            *connection = accepted;
            return STATUS_OK;
        }
        close(accepted);
    }
    return STATUS_AGAIN;
}

static enum status connect_status(int number)
{
    switch (number) {
    case ECONNREFUSED:
    case ENOENT:
        return STATUS_NOT_FOUND;
    case EAGAIN:
        return STATUS_AGAIN;
    default:
        return STATUS_IO;
    }
}

enum status rendezvous_connect(uint64_t name, int *connection)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCKET_FLAGS, 0);
    if (made < 0)
        return STATUS_IO;
    enum status status = STATUS_OK;
    if (connect(made, (struct sockaddr *)&address, length) != 0)
        status = connect_status(errno);
    else if (!is_our_user(made))
        status = STATUS_REFUSED;
    if (status == STATUS_OK)
        *connection = made;
    else
        close(made);
    return status;
}

static enum status transfer_status(int number)
{
    switch (number) {
    case EAGAIN:
        return STATUS_AGAIN;
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
        return STATUS_LOST;
    default:
        return STATUS_IO;
    }
}

static void add_descriptors(struct msghdr *message, union control *control, const int *fds,
                            size_t fd_count)
{
    memset(control, 0, sizeof *control);
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(fd_count * sizeof *fds);
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fd_count * sizeof *fds);
    memcpy(CMSG_DATA(header), fds, fd_count * sizeof *fds);
}

enum status rendezvous_send(int connection, const void *bytes, size_t count, const int *fds,
                            size_t fd_count)
{
    /* A receiver would take an empty message for the end. */
    assert(count > 0 && count <= RENDEZVOUS_BYTES_MAX && fd_count <= RENDEZVOUS_FDS_MAX);
    union {
        const void *from;
        void *base; /* sendmsg shares its structure with recvmsg; it does not write. */
    } data = {bytes};
    struct iovec piece = {data.base, count};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    union control control;
    if (fd_count > 0)
        add_descriptors(&message, &control, fds, fd_count);
    ssize_t sent;
    do
        sent = sendmsg(connection, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? transfer_status(errno) : STATUS_OK;
}

/* The descriptors of a message. The control data have room for no more. */
struct descriptors {
    int fds[sizeof(union control) / sizeof(int)];
    size_t count;
};

static void collect(struct msghdr *message, struct descriptors *found)
{
    found->count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = header->cmsg_len - CMSG_LEN(0);
        assert(bytes <= sizeof found->fds - found->count * sizeof(int)); /* The kernel's word. */
        memcpy(found->fds + found->count, CMSG_DATA(header), bytes);
        found->count += bytes / sizeof(int);
    }
}

enum status rendezvous_receive(int connection, void *bytes, size_t size, size_t *count, int *fds,
                               size_t fd_max, size_t *fd_count)
{
    struct iovec piece = {bytes, size};
    union control control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t received;
    do
        received = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return transfer_status(errno);
    struct descriptors found;
    collect(&message, &found);
    bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && found.count <= fd_max;
    if (received > 0 && whole) {
        if (found.count > 0)
            memcpy(fds, found.fds, found.count * sizeof *fds);
        *fd_count = found.count;
        *count = (size_t)received;
        return STATUS_OK;
    }
    /* The end, or an empty message, which means the same; or too much of something. */
    for (size_t i = 0; i < found.count; i++)
        close(found.fds[i]);
    return whole ? STATUS_LOST : STATUS_INVALID;
}
