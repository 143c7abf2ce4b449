/* test_key.c - keys and identities as text and back, and whom a certificate lets speak. */

#include "common/base/key.h"

#include <string.h>
#include <zmq.h>

#include "common/base/hash.h"
#include "common/keys/identity.h"
#include "common/keys/refused.h"
#include "common/wire/message.h"
#include "tests/lib/suite.h"

static const char text_of_key[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";

TEST_PLAIN(keys_are_written_as_zeromq_writes_them)
{
    for (int i = 0; i < 200; i++) {
        uint8_t key[KEY_BYTES], back[KEY_BYTES];
        char ours[KEY_TEXT], theirs[KEY_TEXT];
        for (int j = 0; j < KEY_BYTES; j += 8) {
            uint64_t number = i == 0 ? 0 : i == 1 ? UINT64_MAX : hash_random_u64();
            memcpy(key + j, &number, sizeof number);
        }
        key_format(key, ours);
        zmq_z85_encode(theirs, key, sizeof key);
        ck_assert_str_eq(ours, theirs);
        ck_assert(key_parse(ours, back));
        ck_assert(key_equal(key, back));
    }
}

TEST_PLAIN(what_is_no_z85_is_no_key)
{
    uint8_t key[KEY_BYTES];
    char text[KEY_TEXT];
    ck_assert(key_parse(text_of_key, key));
    for (int i = 0; i < KEY_TEXT - 1; i++)
        for (const char *bad = "\",;\\ ~'`|_\n\x80"; *bad != '\0'; bad++) {
            memcpy(text, text_of_key, sizeof text);
            text[i] = *bad;
            ck_assert_msg(!key_parse(text, key), "%d: %s", i, text);
        }
    memcpy(text, text_of_key, sizeof text);
    text[39] = '\0';
    ck_assert(!key_parse(text, key)); /* Ends too soon. */
    memcpy(text, "#####", 5);         /* More than 32 bits. */
    ck_assert(!key_parse(text, key));
    ck_assert(!key_parse("", key));
}

TEST_PLAIN(no_key_is_told_from_a_key)
{
    uint8_t key[KEY_BYTES] = {0};
    ck_assert(key_is_none(key));
    key[31] = 1;
    ck_assert(!key_is_none(key));
}

/* --- identities ------------------------------------------------------------------------------ */

static struct identity identity_of(uint32_t role, bool has_index, uint32_t index)
{
    struct identity identity = {.role = role, .has_index = has_index, .index = index};
    ck_assert(key_parse(text_of_key, identity.key));
    return identity;
}

TEST_PLAIN(an_identity_survives_its_text)
{
    const struct identity all[] = {identity_of(ROLE_NONE, false, 0), identity_of(ROLE_PS, false, 0),
                                   identity_of(ROLE_WORKER, true, 0),
                                   identity_of(ROLE_WORKER, true, 1023),
                                   identity_of(ROLE_OBSERVER, true, 7)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[IDENTITY_TEXT];
        struct identity back;
        identity_format(&all[i], text);
        ck_assert(identity_parse(text, &back));
        ck_assert(key_equal(back.key, all[i].key));
        ck_assert_uint_eq(back.role, all[i].role);
        ck_assert(back.has_index == all[i].has_index);
        ck_assert_uint_eq(back.index, all[i].index);
    }
}

TEST_PLAIN(any_other_text_is_nobodys)
{
    static const char *const ends[] = {" ",
                                       " nobody",
                                       " chief",
                                       " worker/",
                                       " worker/x",
                                       " worker/03",
                                       " worker ",
                                       " worker/-1",
                                       "  worker",
                                       "x",
                                       "/3",
                                       " worker/99999999999",
                                       " worker/3 and a long tail of words"};
    struct identity identity;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s%s", text_of_key, ends[i]);
        ck_assert_msg(!identity_parse(text, &identity), "%s", text);
        ck_assert(key_is_none(identity.key));
    }
    ck_assert(!identity_parse("", &identity));
    ck_assert(!identity_parse("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hI", &identity));
}

TEST_PLAIN(a_certificate_limits_who_one_may_be)
{
    const struct identity anything = identity_of(ROLE_NONE, false, 0);
    const struct identity server = identity_of(ROLE_PS, false, 0);
    const struct identity third = identity_of(ROLE_WORKER, true, 3);
    const struct identity without_keys = {.role = ROLE_PS};
    ck_assert(identity_may_be(&anything, ROLE_PS, 9));
    ck_assert(identity_may_be(&without_keys, ROLE_WORKER, 9));
    ck_assert(identity_may_be(&server, ROLE_PS, 5));
    ck_assert(!identity_may_be(&server, ROLE_WORKER, 5));
    ck_assert(identity_may_be(&third, ROLE_WORKER, 3));
    ck_assert(!identity_may_be(&third, ROLE_WORKER, 2));
    ck_assert(!identity_may_be(&third, ROLE_PS, 3));
    ck_assert(!identity_may_be(&third, ROLE_NONE, 3));
    ck_assert(identity_may_be(&third, ROLE_OBSERVER, 0)); /* Looking is allowed to all. */
}

/* --- who is named in the log ----------------------------------------------------------------- */

TEST_PLAIN(every_refused_peer_is_named_once)
{
    struct refused refused = {0};
    const struct identity one = identity_of(ROLE_NONE, false, 0);
    ck_assert(refused_note(&refused, one.key, "10.0.0.1"));
    ck_assert(!refused_note(&refused, one.key, "10.0.0.1"));
    ck_assert(refused_note(&refused, one.key, "10.0.0.2"));
    ck_assert_uint_eq(refused.count, 3);
}

TEST_PLAIN(nobody_floods_the_log)
{
    struct refused refused = {0};
    unsigned named = 0, others = 0;
    uint8_t key[KEY_BYTES] = {1};
    for (uint32_t i = 0; i < 100000; i++) { /* New keys from one address ... */
        memcpy(key + 4, &i, sizeof i);
        named += refused_note(&refused, key, "10.0.0.1");
    }
    ck_assert_uint_eq(named, REFUSED_AN_ADDRESS);
    ck_assert(refused_note(&refused, key, "10.0.0.2")); /* ... hide no other address, ... */
    for (uint32_t i = 0; i < 2000; i++) {               /* ... and all addresses have an end. */
        char address[32];
        snprintf(address, sizeof address, "10.1.%u.%u", i / 256, i % 256);
        others += refused_note(&refused, key, address);
    }
    ck_assert_uint_eq(named + 1 + others, REFUSED_NAMED_MAX);
    ck_assert_uint_eq(refused.count, 102001);
}

int main(void)
{
    return suite_run("key", NULL);
}
