/* Real servers without keys, honest workers, and a stranger who wants to be one of them: it knows
 * an address; what servers say to anybody; the run and its generation from the run directory; and
 * guesses the rest. It takes no place, stops nothing, and the job ends with the right model. */
/* promises: no-impersonation */
/* test: asan */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "tests/lib/hostile.h"
#include "tests/lib/rogue.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

enum { PATIENCE_MS = 5000, QUIET_MS = 20, UPDATES = 300, SLOW_US = 150000 };

/* --- asking -------------------------------------------------------------------------------- */

/* A job that goes on for as long as it takes to attack it. */
static void open_attacked(struct hostile *h, enum mode mode)
{
    hostile_open(h, mode, UPDATES, 2);
    hostile_pace(h, SLOW_US);
}

/* It was still going on, and ends as it should. */
static void end_attacked(struct hostile *h)
{
    ck_assert_double_lt(hostile_progress(h), 1);
    hostile_pace(h, 0);
    hostile_end_well(h);
    ck_assert(!hostile_logged(h, 0, "lost worker"));
    ck_assert(!hostile_logged(h, 0, "lost ps"));
    hostile_close(h);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct hostile, h, open_attacked(h, __VA_ARGS__), end_attacked(h))
#define TEST_IN_BOTH(name)                                                                         \
    SUITE_TEST_TIMES(name, 2, struct hostile, h,                                                   \
                     open_attacked(h, _i == 0 ? MODE_ASYNC : MODE_SYNC), end_attacked(h))

static void open_rogue(struct rogue *rogue, const struct hostile *h, uint32_t server)
{
    memset(rogue, 0, sizeof *rogue);
    rogue->job = &h->job;
    rogue->incarnation = hash_random_u64();
    ck_assert(unknown_peer_open(&rogue->unknown_peer, h->servers[server]));
}

/* Say it, and hear the answer, if there is one. */
static bool ask(struct rogue *rogue, const struct message *message, struct message *answer)
{
    return rogue_say(rogue, message, 0, 0, PATIENCE_MS) && rogue_hear(rogue, answer, QUIET_MS);
}

static struct message join_as(struct rogue *rogue, enum role role, uint32_t index)
{
    struct message message = rogue_message(rogue, MESSAGE_JOIN);
    message.role = role;
    message.index = index;
    message.join.version_min = PROTOCOL_VERSION_MIN;
    message.join.version_max = PROTOCOL_VERSION_MAX;
    return message;
}

static struct message exchange_as(struct rogue *rogue, uint32_t index)
{
    struct message message = rogue_message(rogue, MESSAGE_EXCHANGE);
    message.index = index;
    message.exchange = (struct message_exchange){.want = true, .newest = true};
    return message;
}

/* --- what anybody is told ------------------------------------------------------------------ */

static void check_tells_nothing(const struct message *answer)
{
    const char *kind = message_kind_name(answer->kind);
    ck_assert_msg(answer->run_id == 0, "%s tells the run", kind);
    ck_assert_msg(answer->incarnation == 0, "%s tells the server's incarnation", kind);
    ck_assert_msg(answer->ticket == 0, "%s tells the server's ticket", kind);
    ck_assert_msg(answer->generation == 0, "%s tells the generation", kind);
}

/* Everything that is answered, of any kind; how many that were. */
static unsigned hear_nothing(struct rogue *rogue, const struct message *message)
{
    struct message answer;
    unsigned count = 0;
    ck_assert(rogue_say(rogue, message, 0, 0, PATIENCE_MS));
    for (; rogue_hear(rogue, &answer, QUIET_MS); count++)
        check_tells_nothing(&answer);
    return count;
}

TEST(strangers_are_told_nothing_that_members_are_known_by, MODE_ASYNC)
{
    for (uint32_t server = 0; server < 2; server++) {
        struct rogue rogue;
        struct message message;
        unsigned answers = 0;
        open_rogue(&rogue, h, server);
        message = join_as(&rogue, ROLE_WORKER, 7); /* With another declaration. */
        answers += hear_nothing(&rogue, &message);
        message = join_as(&rogue, ROLE_PS, 9);
        answers += hear_nothing(&rogue, &message);
        message = join_as(&rogue, ROLE_PS, 1);
        answers += hear_nothing(&rogue, &message);
        message = exchange_as(&rogue, 0);
        answers += hear_nothing(&rogue, &message);
        message.run_id = 1;
        answers += hear_nothing(&rogue, &message);
        for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
            message = rogue_message(&rogue, (enum message_kind)kind);
            if (kind == MESSAGE_JOIN || kind == MESSAGE_JOB_PAGE)
                continue;
            answers += hear_nothing(&rogue, &message);
        }
        ck_assert_uint_ge(answers, 20);
        rogue_close(&rogue);
    }
}

/* --- what can be made of it ---------------------------------------------------------------- */

/* Everything that an answer's header says is said back, in the name of every member. */
static void say_back(struct rogue *rogue, const struct message *told, enum role role,
                     uint32_t index)
{
    static const enum message_kind kinds[] = {MESSAGE_PING, MESSAGE_STOP, MESSAGE_LEAVE,
                                              MESSAGE_BYE, MESSAGE_EXCHANGE};
    struct message answer;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct message message = kinds[i] == MESSAGE_EXCHANGE ? exchange_as(rogue, index)
                                                              : rogue_message(rogue, kinds[i]);
        message.role = role;
        message.index = index;
        message.incarnation = told->incarnation;
        message.run_id = told->run_id;
        message.generation = told->generation;
        message.ticket = told->ticket;
        if (kinds[i] == MESSAGE_STOP)
            message.stop.exit_code = 1;
        if (ask(rogue, &message, &answer))
            ck_assert_msg(answer.kind != MESSAGE_PONG && answer.kind != MESSAGE_WELCOME &&
                              answer.kind != MESSAGE_RESULT,
                          "%s as %s/%u is answered %s", message_kind_name(kinds[i]),
                          role_name(role), index, message_kind_name(answer.kind));
    }
}

TEST(whoever_knows_what_status_is_answered_is_nobody, MODE_ASYNC)
{
    for (uint32_t server = 0; server < 2; server++) {
        struct rogue asks, speaks;
        struct message told = {0};
        open_rogue(&asks, h, server);
        struct message message = rogue_message(&asks, MESSAGE_STATUS);
        message.role = ROLE_OBSERVER;
        ck_assert(rogue_say(&asks, &message, 0, 0, PATIENCE_MS));
        ck_assert(rogue_hear(&asks, &told, PATIENCE_MS));
        ck_assert(told.kind == (server == 0 ? MESSAGE_STATUS_ANSWER : MESSAGE_REFUSED));
        for (uint32_t to = 0; to < 2; to++) {
            open_rogue(&speaks, h, to);
            for (uint32_t index = 0; index < 2; index++)
                say_back(&speaks, &told, ROLE_PS, index);
            for (uint32_t index = 0; index < HOSTILE_HONEST; index++)
                say_back(&speaks, &told, ROLE_WORKER, index);
            rogue_close(&speaks);
        }
        rogue_close(&asks);
    }
}

/* --- guessing ------------------------------------------------------------------------------ */

/* What `generation` in the run directory says to whoever may read it. */
static void read_run(const struct hostile *h, uint64_t *run_id, uint64_t *generation)
{
    char path[DISK_PATH_MAX + 16];
    size_t bytes;
    snprintf(path, sizeof path, "%s/generation", h->out);
    char *text = scratch_read(path, &bytes);
    const char *run = strstr(text, "run_id "), *number = strstr(text, "\ngeneration ");
    ck_assert(run != NULL && number != NULL);
    ck_assert_int_eq(sscanf(run, "run_id %16" SCNx64, run_id), 1);
    ck_assert_int_eq(sscanf(number, "\ngeneration %" SCNu64, generation), 1);
    free(text);
}

static const uint64_t guesses[] = {1,  2,   3,    4,          5,         6,         7,
                                   10, 100, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX};

/* One message of this kind for every ticket that may be guessed; none is heard as a member's. */
static void guess_tickets(struct rogue *rogue, struct message message)
{
    struct message answer;
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        message.ticket = guesses[i];
        message.request = ++rogue->requests;
        ck_assert(rogue_say(rogue, &message, 0, 0, PATIENCE_MS));
        while (rogue_hear(rogue, &answer, QUIET_MS / 4))
            ck_assert_msg(
                answer.kind == MESSAGE_REFUSED, "%s with ticket %" PRIu64 " is answered %s",
                message_kind_name(message.kind), guesses[i], message_kind_name(answer.kind));
    }
}

TEST_IN_BOTH(whoever_knows_the_run_and_guesses_tickets_takes_no_place)
{
    uint64_t run_id, generation;
    read_run(h, &run_id, &generation);
    for (uint32_t server = 0; server < 2; server++)
        for (uint32_t index = 0; index <= HOSTILE_HONEST; index++) {
            struct rogue rogue;
            open_rogue(&rogue, h, server);
            rogue.run_id = run_id;
            rogue.generation = generation;
            struct message message = exchange_as(&rogue, index);
            message.exchange.chunk = server;
            guess_tickets(&rogue, message);
            message = rogue_message(&rogue, MESSAGE_PING);
            message.index = index;
            guess_tickets(&rogue, message);
            rogue_close(&rogue);
        }
}

static void add(TCase *t)
{
    tcase_set_timeout(t, 400);
    tcase_add_checked_fixture(t, scratch_open, scratch_close);
}

int main(void)
{
    return suite_run("impostor", add);
}
