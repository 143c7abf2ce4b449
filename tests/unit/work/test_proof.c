/* test_proof.c - proofs of tickets: one process's, one ticket's, the same on every host. */

#include "ps/work/proof.h"

#include <string.h>

#include "tests/lib/suite.h"

static const uint8_t secret[HASH_BYTES] = {7, 1};

static struct message of(enum role role, uint32_t index, uint64_t incarnation, uint64_t ticket)
{
    struct message message = {
        .role = role, .index = index, .incarnation = incarnation, .ticket = ticket};
    message.proof = proof_make(secret, &message, ticket);
    return message;
}

TEST_PLAIN(a_proof_is_one_process_s_and_one_ticket_s)
{
    struct message m = of(ROLE_WORKER, 3, 5, 9);
    ck_assert(proof_holds(secret, &m));
    struct message others[] = {m, m, m, m, m};
    others[0].role = ROLE_PS;
    others[1].index = 4;
    others[2].incarnation = 6;
    others[3].ticket = 10;
    others[4].proof ^= 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert(!proof_holds(secret, &others[i]));
    m.generation = 4; /* What changes within an admission. */
    m.request = 99;
    ck_assert(proof_holds(secret, &m));
}

TEST_PLAIN(another_secret_makes_other_proofs)
{
    uint8_t other[HASH_BYTES] = {7, 2};
    struct message m = of(ROLE_WORKER, 3, 5, 9);
    ck_assert(!proof_holds(other, &m));
    other[1] = 1;
    ck_assert(proof_holds(other, &m));
}

/* Neither a greater ticket's nor a neighbour's proof is any nearer. */
TEST_PLAIN(a_proof_tells_nothing_of_the_next)
{
    unsigned bits = 0;
    for (uint64_t ticket = 1; ticket <= 64; ticket++) {
        uint64_t a = of(ROLE_WORKER, 0, 5, ticket).proof;
        uint64_t b = of(ROLE_WORKER, 0, 5, ticket + 1).proof;
        ck_assert(a != 0 && a != b);
        bits += (unsigned)__builtin_popcountll(a ^ b);
    }
    ck_assert_uint_gt(bits, 64 * 24);
    ck_assert_uint_lt(bits, 64 * 40);
}

/* Servers of one job need not be of one build. */
TEST_PLAIN(a_proof_is_the_same_everywhere)
{
    ck_assert_uint_eq(of(ROLE_WORKER, 1, 0x1234, 3).proof,
                      0xda21cef88fdc1db4u); /* Python's hashlib. */
}

int main(void)
{
    return suite_run("proof", NULL);
}
