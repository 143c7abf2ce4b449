/* flood.c - one child with a thread for each peer, and a word in shared memory that says whether to
 * pour. */

#include "tests/bench/lib/flood.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/job/tree.h"
#include "tests/lib/rogue.h"

#define JOIN_MS 120000
#define PING_US 500000

struct peer {
    const struct flood *flood;
    uint32_t number;
    struct rogue rogue;
    uint64_t pinged_us;
    pthread_t thread;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static bool enter(struct peer *peer)
{
    const struct flood *flood = peer->flood;
    static const uint8_t digest[DIGEST_BYTES]; /* As a client's that is given none. */
    uint32_t index = flood->first + peer->number;
    const char *address = flood->job->servers[0];
    if (flood->members)
        return rogue_join(&peer->rogue, address, flood->job, index, digest, JOIN_MS);
    peer->rogue = (struct rogue){.job = flood->job, .incarnation = hash_random_u64()};
    return stranger_open(&peer->rogue.stranger, address);
}

/* A gradient that was applied long ago, and a pull, in turn. */
static bool pour(struct peer *peer)
{
    const struct flood *flood = peer->flood;
    const struct job *job = flood->job;
    struct message message = rogue_message(&peer->rogue, MESSAGE_EXCHANGE);
    struct batch_range batch = job_batch(job, 0);
    bool gradient = message.request % 2 == 0;
    message.exchange = (struct message_exchange){.gradient = gradient,
                                                 .node = tree_root(batch.leaves),
                                                 .examples = batch.examples,
                                                 .want = true,
                                                 .want_version = 1,
                                                 .newest = !gradient};
    size_t bytes = gradient ? flood->chunk_bytes : 0;
    if (!rogue_say(&peer->rogue, &message, bytes, 0, JOIN_MS))
        return false;
    atomic_fetch_add(&flood->shared->messages, 1);
    atomic_fetch_add(&flood->shared->bytes, bytes);
    return true;
}

/* Half of them never read a word once they pour. */
static bool stay(struct peer *peer)
{
    struct message message;
    const struct timespec rest = {0, 20000000};
    bool pours = atomic_load(&peer->flood->shared->pouring);
    if (pours && peer->number % 2 == 0 && !stranger_listen(&peer->rogue.stranger))
        return false;
    if (peer->flood->members && clock_now_us() - peer->pinged_us > PING_US) {
        peer->pinged_us = clock_now_us();
        if (!rogue_ping(&peer->rogue))
            return false;
    }
    if (pours)
        return pour(peer);
    while (rogue_hear(&peer->rogue, &message, 0))
        ;
    nanosleep(&rest, NULL);
    return peer->rogue.stranger.fd >= 0;
}

/* Whoever is thrown out comes again. */
static void *live(void *argument)
{
    struct peer *peer = argument;
    const struct timespec rest = {0, 100000000};
    for (bool first = true;; first = false) {
        if (enter(peer)) {
            if (first)
                atomic_fetch_add(&peer->flood->shared->here, 1);
            while (stay(peer))
                ;
        }
        rogue_close(&peer->rogue);
        nanosleep(&rest, NULL);
    }
    return NULL;
}

static _Noreturn void run(const struct flood *flood)
{
    struct peer *peers = calloc(flood->count, sizeof *peers);
    prctl(PR_SET_NAME, "bench-flood");
    (void)nice(19); /* What sending costs here is no cost of the server's. */
    if (peers == NULL)
        fail("out of memory");
    for (uint32_t i = 0; i < flood->count; i++) {
        peers[i] = (struct peer){.flood = flood, .number = i};
        if (pthread_create(&peers[i].thread, NULL, live, &peers[i]) != 0)
            fail("cannot start a thread");
    }
    for (uint32_t i = 0; i < flood->count; i++)
        pthread_join(peers[i].thread, NULL);
    _exit(EXIT_SUCCESS);
}

void flood_start(struct flood *flood)
{
    pid_t parent = getpid();
    flood->shared = mmap(NULL, sizeof *flood->shared, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flood->shared == MAP_FAILED)
        fail("out of memory");
    fflush(NULL);
    flood->process = fork();
    if (flood->process < 0)
        fail("cannot fork");
    if (flood->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            run(flood);
        _exit(EXIT_FAILURE);
    }
}

void flood_pour(struct flood *flood, bool pouring)
{
    atomic_store(&flood->shared->pouring, pouring);
}

void flood_end(struct flood *flood)
{
    kill(flood->process, SIGKILL);
    waitpid(flood->process, NULL, 0);
    munmap(flood->shared, sizeof *flood->shared);
}
