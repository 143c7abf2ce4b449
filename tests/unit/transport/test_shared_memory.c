/* Memory that two processes share, and the rendezvous that hands it over. */
/* test: tsan */

#include "common/transport/shm/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/transport/shm/rendezvous.h"
#include "tests/lib/suite.h"

enum { BYTES = 100000, SOMEBODY_ELSE = 65534 };

static struct shared_memory *make(bool readers_only)
{
    struct shared_memory *memory = NULL;
    struct error error = {0};
    ck_assert_msg(shared_memory_create(BYTES, readers_only, &memory, &error) == STATUS_OK, "%s",
                  error.text);
    return memory;
}

/* A second mapping in this process, through a descriptor of its own. */
static enum status open_again(const struct shared_memory *memory, size_t bytes, bool writable,
                              struct shared_memory **again)
{
    return shared_memory_open(dup(shared_memory_fd(memory)), bytes, writable, again, NULL);
}

TEST_PLAIN(two_mappings_show_the_same_bytes)
{
    size_t before = suite_descriptors();
    struct shared_memory *memory = make(false), *again;
    ck_assert(open_again(memory, BYTES, true, &again) == STATUS_OK);
    unsigned char *ours = shared_memory_data(memory), *theirs = shared_memory_data(again);
    ck_assert_ptr_ne(ours, theirs);
    ck_assert_uint_eq((uintptr_t)ours % 4096, 0);
    ck_assert_uint_eq(shared_memory_bytes(again), BYTES);
    ck_assert_uint_eq(theirs[BYTES - 1], 0);
    ours[BYTES - 1] = 5;
    ck_assert_uint_eq(theirs[BYTES - 1], 5);
    theirs[0] = 7;
    ck_assert_uint_eq(ours[0], 7);
    shared_memory_release(memory);
    ck_assert_uint_eq(theirs[BYTES - 1], 5);
    shared_memory_release(again);
    shared_memory_release(NULL);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST_PLAIN(nobody_changes_the_size_or_the_seals)
{
    struct shared_memory *memory = make(false);
    int fd = shared_memory_fd(memory);
    ck_assert_int_eq(ftruncate(fd, 0), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(fd, (off_t)BYTES * 2), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    shared_memory_release(memory);
}

/* Everything that another process could try with the descriptor. */
TEST_PLAIN(memory_for_readers_is_written_by_its_maker_alone)
{
    struct shared_memory *memory = make(true), *again = NULL;
    size_t before = suite_descriptors();
    int fd = shared_memory_fd(memory);
    unsigned char *ours = shared_memory_data(memory);
    ours[0] = 1;
    ck_assert(open_again(memory, BYTES, true, &again) == STATUS_REFUSED);
    ck_assert_uint_eq(suite_descriptors(), before);
    ck_assert_ptr_eq(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
    ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reopened = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_ptr_eq(mmap(NULL, BYTES, PROT_WRITE, MAP_SHARED, reopened, 0), MAP_FAILED);
    close(reopened);
    ck_assert(open_again(memory, BYTES, false, &again) == STATUS_OK);
    void *theirs = shared_memory_data(again);
    ck_assert_int_eq(mprotect(theirs, BYTES, PROT_READ | PROT_WRITE), -1);
    ours[0] = 2;
    ck_assert_uint_eq(*(unsigned char *)theirs, 2);
    shared_memory_release(again);
    shared_memory_release(memory);
}

static int memfd_of(size_t bytes, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

TEST_PLAIN(what_was_not_promised_is_refused_and_closed)
{
    struct shared_memory *memory = make(false), *again = NULL;
    struct error error;
    size_t before = suite_descriptors();
    ck_assert(open_again(memory, BYTES - 1, false, &again) == STATUS_INVALID);
    ck_assert(open_again(memory, BYTES + 1, false, &again) == STATUS_INVALID);
    ck_assert(open_again(memory, SIZE_MAX, false, &again) == STATUS_INVALID);
    const int foreign[] = {
        memfd_of(BYTES, 0),
        memfd_of(BYTES, F_SEAL_GROW),
        memfd_of(BYTES, F_SEAL_SHRINK),
        open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        open("/dev/zero", O_RDWR | O_CLOEXEC),
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        ck_assert_int_ge(foreign[i], 0);
        ck_assert(shared_memory_open(foreign[i], BYTES, true, &again, &error) == STATUS_INVALID);
        ck_assert_str_eq(error.text, "not 100000 bytes of sealed shared memory");
    }
    ck_assert(shared_memory_open(-1, BYTES, true, &again, NULL) == STATUS_INVALID);
    ck_assert_ptr_null(again);
    ck_assert_uint_eq(suite_descriptors(), before);
    shared_memory_release(memory);
}

TEST_PLAIN(too_much_is_an_error)
{
    struct shared_memory *memory = NULL;
    struct error error = {0};
    size_t before = suite_descriptors();
    ck_assert(shared_memory_create(SIZE_MAX / 4, false, &memory, &error) == STATUS_MEMORY);
    ck_assert_str_ne(error.text, "");
    ck_assert_ptr_null(memory);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST_PLAIN(pages_nobody_touched_cost_nothing)
{
    struct shared_memory *memory;
    struct stat stat;
    size_t bytes = (size_t)1 << 32;
    ck_assert(shared_memory_create(bytes, true, &memory, NULL) == STATUS_OK);
    ((char *)shared_memory_data(memory))[bytes / 2] = 1;
    ck_assert_int_eq(fstat(shared_memory_fd(memory), &stat), 0);
    ck_assert_int_ge(stat.st_blocks, 1);
    ck_assert_int_le(stat.st_blocks, 2 * 2048 * 2); /* Of 512 bytes: one page, even a huge one. */
    shared_memory_release(memory);
}

TEST_PLAIN(a_frame_keeps_the_memory_and_is_not_exclusive)
{
    size_t before = suite_descriptors();
    struct shared_memory *memory = make(false);
    unsigned char *data = shared_memory_data(memory);
    struct frame *frame = shared_memory_frame(memory, 64, BYTES - 64);
    ck_assert(frame_is_unique(frame) && !frame_is_writable(frame));
    struct frame *slice = frame_slice(frame, 1, 2);
    ck_assert_ptr_eq(frame->data, data + 64);
    ck_assert_uint_eq(frame->bytes, BYTES - 64);
    shared_memory_release(memory);
    frame_release(frame);
    ck_assert_uint_gt(suite_descriptors(), before);
    data[66] = 3; /* Still there. */
    ck_assert_uint_eq(((unsigned char *)slice->data)[1], 3);
    frame_release(slice);
    ck_assert_uint_eq(suite_descriptors(), before);
}

enum { HOLDERS = 4, TIMES = 20000 };

static void *hold_and_drop(void *argument)
{
    struct frame *frame = argument;
    struct shared_memory *memory = frame->context;
    for (int i = 0; i < TIMES; i++) {
        struct frame *another = shared_memory_frame(shared_memory_retain(memory), 0, 8);
        shared_memory_release(memory);
        frame_release(another);
    }
    frame_release(frame);
    return NULL;
}

TEST_PLAIN(references_are_dropped_on_any_thread)
{
    size_t before = suite_descriptors();
    pthread_t threads[HOLDERS];
    struct shared_memory *memory = make(false);
    for (int i = 0; i < HOLDERS; i++)
        pthread_create(&threads[i], NULL, hold_and_drop, shared_memory_frame(memory, 0, 8));
    shared_memory_release(memory);
    for (int i = 0; i < HOLDERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST_PLAIN(ranges_and_addresses_are_found_inside_or_not)
{
    struct shared_memory *memory = make(false);
    char *data = shared_memory_data(memory);
    size_t offset = 1;
    ck_assert(shared_memory_covers(memory, 0, BYTES));
    ck_assert(shared_memory_covers(memory, BYTES, 0));
    ck_assert(!shared_memory_covers(memory, 1, BYTES));
    ck_assert(!shared_memory_covers(memory, BYTES + 1, 0));
    ck_assert(!shared_memory_covers(memory, 16, UINT64_MAX - 8));
    ck_assert(!shared_memory_covers(memory, UINT64_MAX - 8, 16));
    ck_assert(shared_memory_holds(memory, data, BYTES, &offset));
    ck_assert_uint_eq(offset, 0);
    ck_assert(shared_memory_holds(memory, data + 10, BYTES - 10, &offset));
    ck_assert_uint_eq(offset, 10);
    ck_assert(shared_memory_holds(memory, data + 10, 1, NULL));
    ck_assert(!shared_memory_holds(memory, data + 10, BYTES - 9, &offset));
    ck_assert(!shared_memory_holds(memory, data - 1, 2, &offset));
    ck_assert(!shared_memory_holds(memory, &offset, 1, &offset));
    ck_assert(!shared_memory_holds(memory, data + 10, SIZE_MAX, &offset));
    ck_assert_uint_eq(offset, 10);
    shared_memory_release(memory);
}

/* --- rendezvous ------------------------------------------------------------------------------ */

/* A name of this process's own. */
static uint64_t our_name(void)
{
    return 0xabcdef0000000000u + (uint64_t)getpid();
}

struct meeting {
    size_t descriptors; /* Open beforehand. */
    int listener, here, there;
};

static void meeting_init(struct meeting *meeting)
{
    struct error error = {0};
    meeting->descriptors = suite_descriptors();
    ck_assert_msg(rendezvous_listen(our_name(), &meeting->listener, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert(rendezvous_accept(meeting->listener, &meeting->here) == STATUS_AGAIN);
    ck_assert(rendezvous_connect(our_name(), &meeting->there) == STATUS_OK);
    ck_assert(rendezvous_accept(meeting->listener, &meeting->here) == STATUS_OK);
}

static void meeting_free(struct meeting *meeting)
{
    close(meeting->listener);
    close(meeting->here);
    close(meeting->there);
    ck_assert_uint_eq(suite_descriptors(), meeting->descriptors);
}

/* What tests begin with, and how they end. */
#define TEST(name)                                                                                 \
    SUITE_TEST(name, struct meeting, meeting, meeting_init(meeting), meeting_free(meeting))

TEST_PLAIN(a_name_has_one_listener_and_goes_with_it)
{
    int fd, other, connection;
    struct error error;
    ck_assert(rendezvous_connect(our_name(), &connection) == STATUS_NOT_FOUND);
    ck_assert(rendezvous_listen(our_name(), &fd, &error) == STATUS_OK);
    ck_assert(rendezvous_listen(our_name(), &other, &error) == STATUS_EXISTS);
    ck_assert_msg(strncmp(error.text, "cannot listen at @syncopate-abcdef", 34) == 0, "%s",
                  error.text);
    ck_assert(rendezvous_connect(our_name() + 1, &connection) == STATUS_NOT_FOUND);
    close(fd);
    ck_assert(rendezvous_connect(our_name(), &connection) == STATUS_NOT_FOUND);
    ck_assert(rendezvous_listen(our_name(), &fd, &error) == STATUS_OK);
    close(fd);
}

TEST_PLAIN(connecting_does_not_wait_for_a_listener_that_is_busy)
{
    size_t before = suite_descriptors();
    int listener, connections[3000], count = 0;
    enum status status;
    ck_assert(rendezvous_listen(our_name(), &listener, NULL) == STATUS_OK);
    while ((status = rendezvous_connect(our_name(), &connections[count])) == STATUS_OK &&
           count < 2999)
        count++;
    ck_assert(status == STATUS_AGAIN);
    ck_assert_int_gt(count, 0);
    while (count > 0)
        close(connections[--count]);
    close(listener);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST(messages_stay_whole_and_bring_descriptors)
{
    char bytes[16];
    size_t count, fd_count;
    int fds[2];
    ck_assert(rendezvous_receive(meeting->here, bytes, sizeof bytes, &count, fds, 2, &fd_count) ==
              STATUS_AGAIN);
    struct shared_memory *memory = make(false), *again;
    const int sent[] = {shared_memory_fd(memory), meeting->listener};
    ck_assert(rendezvous_send(meeting->there, "abc", 3, sent, 2) == STATUS_OK);
    ck_assert(rendezvous_send(meeting->there, "0123456789abcdef", 16, NULL, 0) == STATUS_OK);
    ck_assert(rendezvous_receive(meeting->here, bytes, sizeof bytes, &count, fds, 2, &fd_count) ==
              STATUS_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_mem_eq(bytes, "abc", 3);
    ck_assert_uint_eq(fd_count, 2);
    ck_assert_int_ne(fcntl(fds[0], F_GETFD) & FD_CLOEXEC, 0);
    close(fds[1]);
    ck_assert(shared_memory_open(fds[0], BYTES, false, &again, NULL) == STATUS_OK);
    ck_assert(rendezvous_receive(meeting->here, bytes, sizeof bytes, &count, NULL, 0, &fd_count) ==
              STATUS_OK);
    ck_assert_uint_eq(count, 16);
    ck_assert_uint_eq(fd_count, 0);
    shared_memory_release(again);
    shared_memory_release(memory);
}

/* What comes of a message with so many bytes and descriptors for a receiver with room for so
 * many. */
static enum status receive_within(struct meeting *meeting, size_t bytes, size_t fd_count,
                                  size_t size, size_t fd_max)
{
    static const char data[RENDEZVOUS_BYTES_MAX];
    static char received[RENDEZVOUS_BYTES_MAX];
    int fds[RENDEZVOUS_FDS_MAX], sent[RENDEZVOUS_FDS_MAX];
    size_t before = suite_descriptors(), count = 0, found = 0;
    for (size_t i = 0; i < fd_count; i++)
        sent[i] = meeting->listener;
    ck_assert(rendezvous_send(meeting->there, data, bytes, sent, fd_count) == STATUS_OK);
    enum status status =
        rendezvous_receive(meeting->here, received, size, &count, fds, fd_max, &found);
    ck_assert(status != STATUS_OK || (count == bytes && found == fd_count));
    for (size_t i = 0; i < found; i++)
        close(fds[i]);
    ck_assert_uint_eq(suite_descriptors(), before);
    return status;
}

TEST(too_many_bytes_or_descriptors_are_invalid_and_closed)
{
    for (size_t max = 0; max < RENDEZVOUS_FDS_MAX; max++) {
        ck_assert(receive_within(meeting, 8, max, 8, max) == STATUS_OK);
        ck_assert(receive_within(meeting, 8, max + 1, 8, max) == STATUS_INVALID);
        ck_assert(receive_within(meeting, 8, RENDEZVOUS_FDS_MAX, 8, max) == STATUS_INVALID);
        ck_assert(receive_within(meeting, 8, max, 7, max) == STATUS_INVALID);
    }
    ck_assert(receive_within(meeting, RENDEZVOUS_BYTES_MAX, RENDEZVOUS_FDS_MAX,
                             RENDEZVOUS_BYTES_MAX, RENDEZVOUS_FDS_MAX) == STATUS_OK);
}

/* As a hostile peer would: any number of bytes and descriptors. */
static void send_raw(int connection, size_t bytes, size_t fd_count, int fd)
{
    static char data[8];
    static union {
        struct cmsghdr header;
        unsigned char bytes[CMSG_SPACE(250 * sizeof(int))];
    } control;
    struct iovec piece = {data, bytes};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(fd_count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    for (size_t i = 0; i < fd_count; i++)
        memcpy(CMSG_DATA(header) + i * sizeof fd, &fd, sizeof fd);
    ck_assert_int_eq(sendmsg(connection, &message, 0), bytes);
}

TEST(a_hostile_peer_leaves_no_descriptors_behind)
{
    char bytes[8];
    int fds[RENDEZVOUS_FDS_MAX];
    size_t count, fd_count;
    size_t before = suite_descriptors();
    for (size_t sent = RENDEZVOUS_FDS_MAX + 1; sent <= 250; sent += 29) {
        send_raw(meeting->there, 1, sent, meeting->listener);
        ck_assert(rendezvous_receive(meeting->here, bytes, 8, &count, fds, RENDEZVOUS_FDS_MAX,
                                     &fd_count) == STATUS_INVALID);
        ck_assert_uint_eq(suite_descriptors(), before);
    }
    send_raw(meeting->there, 0, 3, meeting->listener); /* No bytes at all. */
    ck_assert(rendezvous_receive(meeting->here, bytes, 8, &count, fds, 3, &fd_count) ==
              STATUS_LOST);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST(a_receiver_out_of_descriptors_keeps_none_of_a_message)
{
    char bytes[8];
    int fds[4];
    size_t count, fd_count;
    size_t before = suite_descriptors();
    int last = dup(meeting->listener); /* The next free number; two are left from here. */
    const int sent[] = {last, last, last, last};
    ck_assert(rendezvous_send(meeting->there, "x", 1, sent, 4) == STATUS_OK);
    struct rlimit was, few;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){(rlim_t)last + 3, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum status status = rendezvous_receive(meeting->here, bytes, 8, &count, fds, 4, &fd_count);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert(status == STATUS_INVALID);
    close(last);
    ck_assert_uint_eq(suite_descriptors(), before);
}

TEST(sending_never_waits_and_notices_the_end)
{
    char bytes[RENDEZVOUS_BYTES_MAX] = {0};
    size_t count, fd_count, sent = 0;
    enum status status;
    while ((status = rendezvous_send(meeting->there, bytes, sizeof bytes, NULL, 0)) == STATUS_OK)
        sent++;
    ck_assert(status == STATUS_AGAIN);
    close(meeting->there);
    for (; sent > 0; sent--) /* What was sent before the end still arrives. */
        ck_assert(rendezvous_receive(meeting->here, bytes, sizeof bytes, &count, NULL, 0,
                                     &fd_count) == STATUS_OK);
    ck_assert(rendezvous_receive(meeting->here, bytes, sizeof bytes, &count, NULL, 0, &fd_count) ==
              STATUS_LOST);
    ck_assert(rendezvous_send(meeting->here, bytes, 1, NULL, 0) == STATUS_LOST); /* No SIGPIPE. */
    meeting->there = dup(meeting->here);
}

static void wait_for(int fd)
{
    struct pollfd pollfd = {fd, POLLIN, 0};
    poll(&pollfd, 1, -1);
}

/* Ends the child: 0 when it did what a peer does. */
static void peer_process(uint64_t name)
{
    int connection, fds[2];
    char bytes[8];
    size_t count, fd_count;
    struct shared_memory *reading, *writing;
    if (rendezvous_connect(name, &connection) != STATUS_OK)
        _exit(1);
    wait_for(connection);
    if (rendezvous_receive(connection, bytes, 8, &count, fds, 2, &fd_count) != STATUS_OK ||
        fd_count != 2)
        _exit(2);
    if (shared_memory_open(fds[0], BYTES, false, &reading, NULL) != STATUS_OK ||
        shared_memory_open(fds[1], BYTES, true, &writing, NULL) != STATUS_OK)
        _exit(3);
    const char *from = shared_memory_data(reading);
    char *to = shared_memory_data(writing);
    for (size_t i = 0; i < BYTES; i++)
        to[i] = (char)(from[i] + 1);
    if (rendezvous_send(connection, "done", 4, NULL, 0) != STATUS_OK)
        _exit(4);
    _exit(0);
}

TEST_PLAIN(another_process_reads_one_memory_and_writes_the_other)
{
    size_t before = suite_descriptors(), count, fd_count;
    int listener, connection, exited;
    char bytes[8];
    uint64_t name = our_name();
    ck_assert(rendezvous_listen(name, &listener, NULL) == STATUS_OK);
    pid_t child = fork();
    if (child == 0) {
        close(listener);
        peer_process(name);
    }
    struct shared_memory *read_there = make(true), *written_there = make(false);
    char *from = shared_memory_data(read_there), *to = shared_memory_data(written_there);
    for (size_t i = 0; i < BYTES; i++)
        from[i] = (char)(i * i);
    wait_for(listener);
    ck_assert(rendezvous_accept(listener, &connection) == STATUS_OK);
    const int fds[] = {shared_memory_fd(read_there), shared_memory_fd(written_there)};
    ck_assert(rendezvous_send(connection, "two", 3, fds, 2) == STATUS_OK);
    wait_for(connection);
    ck_assert(rendezvous_receive(connection, bytes, 8, &count, NULL, 0, &fd_count) == STATUS_OK);
    for (size_t i = 0; i < BYTES; i++)
        if (to[i] != (char)(i * i + 1))
            ck_abort_msg("byte %zu", i);
    wait_for(connection);
    ck_assert(rendezvous_receive(connection, bytes, 8, &count, NULL, 0, &fd_count) == STATUS_LOST);
    ck_assert_int_eq(waitpid(child, &exited, 0), child);
    ck_assert_int_eq(exited, 0);
    shared_memory_release(read_there);
    shared_memory_release(written_there);
    close(connection);
    close(listener);
    ck_assert_uint_eq(suite_descriptors(), before);
}

/* Ends the child: 0 when it was turned away, as a stranger who does not look who listens. */
static void unknown_peer(uint64_t name, int ready)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte = 0;
    int connection, raw = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "syncopate-%016llx",
                          (unsigned long long)name);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (setuid(SOMEBODY_ELSE) != 0)
        _exit(1);
    if (rendezvous_connect(name, &connection) != STATUS_REFUSED)
        _exit(2);
    if (connect(raw, (struct sockaddr *)&address, size) != 0)
        _exit(3);
    if (write(ready, &byte, 1) != 1)
        _exit(4);
    _exit(read(raw, &byte, 1) <= 0 ? 0 : 5); /* Until it is closed. */
}

TEST_PLAIN(another_user_is_turned_away_on_both_sides)
{
    if (geteuid() != 0) {
        suite_skip("memory is shared with nobody else: only root can be somebody else");
        return;
    }
    size_t before = suite_descriptors();
    int listener, ours, accepted, ready[2], exited;
    uint64_t name = our_name();
    ck_assert_int_eq(pipe(ready), 0);
    ck_assert(rendezvous_listen(name, &listener, NULL) == STATUS_OK);
    pid_t child = fork();
    if (child == 0)
        unknown_peer(name, ready[1]);
    close(ready[1]); /* So that a stranger that ends early is noticed. */
    wait_for(ready[0]);
    close(ready[0]);
    ck_assert(rendezvous_connect(name, &ours) == STATUS_OK); /* In the queue behind the stranger. */
    ck_assert(rendezvous_accept(listener, &accepted) == STATUS_OK);
    ck_assert(rendezvous_send(accepted, "you", 3, NULL, 0) == STATUS_OK);
    char bytes[8];
    size_t count, fd_count;
    ck_assert(rendezvous_receive(ours, bytes, 8, &count, NULL, 0, &fd_count) == STATUS_OK);
    ck_assert_int_eq(waitpid(child, &exited, 0), child);
    ck_assert_int_eq(exited, 0);
    close(ours);
    close(accepted);
    close(listener);
    ck_assert_uint_eq(suite_descriptors(), before);
}

int main(void)
{
    return suite_run("shared_memory", NULL);
}
