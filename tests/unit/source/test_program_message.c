/* test_program_message.c - what a program may declare, and which headers are due: everything else is refused by the
 * member or the rule that it breaks. */
/* promises: programs */

#include "worker/source/program_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

/* --- declarations ------------------------------------------------------------------------------ */

static enum status read_text(struct program_declaration *d, const char *text, struct error *error)
{
    return program_declaration_read(d, text, strlen(text), error);
}

TEST_PLAIN(a_whole_declaration_is_read_member_by_member)
{
    static const char text[] =
        "{\"name\": \"mlp: torch\", \"variables\": ["
        "{\"name\": \"0.weight\", \"shape\": [128, 784], \"initializer\": \"glorot_uniform\", "
        "\"fan_in\": 784, \"fan_out\": 128},"
        "{\"name\": \"0.bias\", \"shape\": [128], \"initializer\": \"zeros\"},"
        "{\"name\": \"scale\", \"shape\": [1]}], \"examples\": 50000, \"test_examples\": 10000, "
        "\"score_piece\": 250, \"scores\": \"loss\", \"data\": \"digits\", \"data_digest\": "
        "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\", "
        "\"fingerprint\": \"torch 2.1\", \"options\": {\"optimizer\": \"adam\"}}";
    struct program_declaration d;
    struct error error;
    ck_assert_msg(read_text(&d, text, &error) == STATUS_OK, "%s", error.text);
    ck_assert_str_eq(d.name, "mlp: torch");
    ck_assert_str_eq(d.data, "digits");
    ck_assert_uint_eq(d.variable_count, 3);
    ck_assert_str_eq(d.variables[0].name, "0.weight");
    ck_assert_uint_eq(d.variables[0].rank, 2);
    ck_assert_uint_eq(d.variables[0].shape[1], 784);
    ck_assert_int_eq(d.variables[0].initializer, INITIALIZER_GLOROT_UNIFORM);
    ck_assert_uint_eq(d.variables[0].fan_in, 784);
    ck_assert_uint_eq(d.variables[0].fan_out, 128);
    ck_assert_int_eq(d.variables[1].initializer, INITIALIZER_ZEROS);
    ck_assert_int_eq(d.variables[2].initializer, INITIALIZER_GIVEN);
    ck_assert_uint_eq(d.examples, 50000);
    ck_assert_uint_eq(d.test_examples, 10000);
    ck_assert_uint_eq(d.score_piece, 250);
    ck_assert_int_eq(d.scores, SCORES_LOSS);
    ck_assert_uint_eq(d.data_digest[1], 0x11);
    ck_assert_str_eq(json_text(d.options, "optimizer"), "adam");
    program_declaration_free(&d);
    program_declaration_free(&d); /* As often as one likes. */
}

TEST_PLAIN(what_is_absent_has_the_values_of_the_page)
{
    uint8_t digests[3][DIGEST_BYTES], fingerprints[2][DIGEST_BYTES];
    static const char *const more[] = {"", ", \"examples\": 7", ", \"fingerprint\": \"x\""};
    for (int i = 0; i < 3; i++) {
        char whole[200];
        struct program_declaration d;
        struct error error;
        snprintf(whole, sizeof whole,
                 "{\"name\": \"p\", \"variables\": [{\"name\": \"w\", \"shape\": [3]}]%s}",
                 more[i]);
        ck_assert_msg(read_text(&d, whole, &error) == STATUS_OK, "%s", error.text);
        ck_assert_str_eq(d.data, "p");
        ck_assert_uint_eq(d.examples, i == 1 ? 7 : 0);
        ck_assert_uint_eq(d.test_examples, 0);
        ck_assert_uint_eq(d.score_piece, 500);
        ck_assert_int_eq(d.scores, SCORES_ACCURACY);
        ck_assert_ptr_null(d.options);
        memcpy(digests[i], d.data_digest, DIGEST_BYTES);
        memcpy(fingerprints[i / 2], d.fingerprint, DIGEST_BYTES);
        program_declaration_free(&d);
    }
    ck_assert_mem_ne(digests[0], digests[1], DIGEST_BYTES); /* Other data. */
    ck_assert_mem_eq(digests[0], digests[2], DIGEST_BYTES);
    ck_assert_mem_ne(fingerprints[0], fingerprints[1], DIGEST_BYTES);
}

#define VARIABLE  "{\"name\": \"w\", \"shape\": [3]}"
#define WITH(...) "{\"name\": \"p\", \"variables\": [" VARIABLE "], " __VA_ARGS__ "}"
#define OF(...)   "{\"name\": \"p\", \"variables\": [" __VA_ARGS__ "]}"

static const struct {
    const char *text, *says;
} faulty[] = {
    {"", "declaration"},
    {"{\"name\": \"p\"", "declaration"},
    {"[]", "declaration: not a JSON object"},
    {"{\"name\": \"p\"}", "\"variables\" is missing"},
    {"{\"variables\": [" VARIABLE "]}", "\"name\" is missing"},
    {"{\"name\": \"\", \"variables\": [" VARIABLE "]}", "\"name\" it is empty"},
    {"{\"name\": 7, \"variables\": [" VARIABLE "]}", "\"name\" is not a text"},
    {"{\"name\": \"p\", \"name\": \"q\", \"variables\": [" VARIABLE "]}", "duplicate object key"},
    {"{\"name\": \"p\", \"variables\": {}}", "\"variables\" is not an array"},
    {OF(""), "variables must be from 1"},
    {OF("7"), "variable 0: not a JSON object"},
    {OF(VARIABLE ", " VARIABLE), "two variables are called w"},
    {OF("{\"name\": \"w\"}"), "variable 0: \"shape\" is missing"},
    {OF("{\"shape\": [3]}"), "variable 0: \"name\" is missing"},
    {OF("{\"name\": \"a b\", \"shape\": [3]}"), "variable number 0 has no printable name"},
    {OF("{\"name\": \"w\", \"shape\": []}"), "variable w has rank 0"},
    {OF("{\"name\": \"w\", \"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1]}"), "has too many items"},
    {OF("{\"name\": \"w\", \"shape\": [0]}"), "variable w has no elements: axis 0 is 0"},
    {OF("{\"name\": \"w\", \"shape\": [-1]}"), "\"shape\" it is a list of whole numbers"},
    {OF("{\"name\": \"w\", \"shape\": [1.5]}"), "\"shape\" it is a list of whole numbers"},
    {OF("{\"name\": \"w\", \"shape\": 3}"), "\"shape\" is not an array"},
    {OF("{\"name\": \"w\", \"shape\": [1099511627776, 2]}"), "more than 2^40 elements"},
    {OF("{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f4\"}"), "variable 0: has members that do"},
    {OF("{\"name\": \"w\", \"shape\": [3], \"initializer\": \"ones\"}"),
     "there are given, zeros and glorot_uniform"},
    {OF("{\"name\": \"w\", \"shape\": [3], \"initializer\": \"glorot_uniform\"}"),
     "\"fan_in\" is missing"},
    {OF("{\"name\": \"w\", \"shape\": [3], \"initializer\": \"glorot_uniform\", \"fan_in\": 0, "
        "\"fan_out\": 1}"),
     "needs fan-in and fan-out above 0"},
    {WITH("\"examples\": -1"), "\"examples\" is not a whole number"},
    {WITH("\"examples\": 4294967296"), "\"examples\" is too large"},
    {WITH("\"test_examples\": 4294967296"), "\"test_examples\" is too large"},
    {WITH("\"score_piece\": 0"), "\"score_piece\" it is 1 or more"},
    {WITH("\"scores\": \"both\""), "there are accuracy and loss"},
    {WITH("\"data_digest\": \"00\""), "\"data_digest\" is not hexadecimal"},
    {WITH("\"options\": []"), "\"options\" is not an object"},
    {WITH("\"colour\": 1"), "has members that do not belong there"},
};

TEST_TIMES(what_breaks_a_rule_is_refused_by_its_member, sizeof faulty / sizeof *faulty)
{
    struct program_declaration d;
    struct error error;
    ck_assert_msg(read_text(&d, faulty[_i].text, &error) == STATUS_INVALID, "%s", faulty[_i].text);
    ck_assert_msg(strstr(error.text, faulty[_i].says) != NULL, "%s: %s", faulty[_i].text,
                  error.text);
    ck_assert_ptr_null(d.variables); /* Nothing is left to free. */
    ck_assert_ptr_null(d.root);
}

/* name: of the program; variable: the length of its name. */
static enum status read_names(size_t program, size_t variable)
{
    char text[600], name[200];
    struct program_declaration d;
    struct error error;
    memset(name, 'n', sizeof name);
    snprintf(text, sizeof text,
             "{\"name\": \"%.*s\", \"variables\": [{\"name\": \"%.*s\", \"shape\": [3]}]}",
             (int)program, name, (int)variable, name);
    enum status status = read_text(&d, text, &error);
    program_declaration_free(&d);
    return status;
}

TEST_PLAIN(names_are_as_long_as_their_places)
{
    ck_assert_int_eq(read_names(127, VARIABLE_NAME_MAX - 1), STATUS_OK);
    ck_assert_int_eq(read_names(128, 3), STATUS_INVALID);
    ck_assert_int_eq(read_names(3, VARIABLE_NAME_MAX), STATUS_INVALID);
}

/* --- headers ----------------------------------------------------------------------------------- */

enum { OLD = 6, NOW = 7, NEXT = 8 };

static const struct {
    struct program_header header;
    uint64_t serial;
    bool parts;
    const char *says; /* NULL: it is right. */
} headers[] = {
    {{2, PROGRAM_DECLARE, 0, 0}, 0, false, NULL},
    {{PROGRAM_DECLARE_MAX, PROGRAM_DECLARE, 0, 0}, 0, false, NULL},
    {{PROGRAM_DECLARE_MAX + 1, PROGRAM_DECLARE, 0, 0}, 0, false, "sent DECLARE of 16777217 bytes"},
    {{1, PROGRAM_DECLARE, 0, 0}, 0, false, "sent DECLARE of 1 bytes"},
    {{2, PROGRAM_DECLARE, 0, 1}, 0, false, "sent DECLARE with serial 1, not 0"},
    {{2, PROGRAM_DECLARE, 0, NOW}, NOW, true, "sent DECLARE when it was not due"},
    {{16, PROGRAM_DONE, 0, NOW}, NOW, false, NULL},
    {{16, PROGRAM_DONE, 0, 0}, 0, false, "sent DONE when it was not due"},
    {{16, PROGRAM_DONE, 0, OLD}, NOW, false, "sent DONE with serial 6, not 7"},
    {{16, PROGRAM_DONE, 0, NEXT}, NOW, false, "sent DONE with serial 8, not 7"},
    {{16, PROGRAM_DONE, 1, NOW}, NOW, false, "sent DONE with flags"},
    {{15, PROGRAM_DONE, 0, NOW}, NOW, false, "sent DONE of 15 bytes"},
    {{17, PROGRAM_DONE, 0, NOW}, NOW, false, "sent DONE of 17 bytes"},
    {{8, PROGRAM_PART, 0, NOW}, NOW, true, NULL},
    {{8, PROGRAM_PART, 0, NOW}, NOW, false, "sent PART when it was not due"},
    {{8, PROGRAM_PART, 0, OLD}, NOW, true, "sent PART with serial 6, not 7"},
    {{16, PROGRAM_PART, 0, NOW}, NOW, true, "sent PART of 16 bytes"},
    {{0, PROGRAM_FAIL, 0, 0}, 0, false, NULL},
    {{PROGRAM_TEXT_MAX, PROGRAM_FAIL, 0, NOW}, NOW, true, NULL},
    {{PROGRAM_TEXT_MAX + 1, PROGRAM_FAIL, 0, NOW}, NOW, true, "sent FAIL of 4097 bytes"},
    {{40, PROGRAM_LAYOUT, 0, 0}, 0, false, "sent a message of kind 2"},
    {{32, PROGRAM_COMPUTE, 0, NOW}, NOW, false, "sent a message of kind 4"},
    {{4, PROGRAM_END, 0, 0}, NOW, false, "sent a message of kind 9"},
    {{0, 0, 0, 0}, 0, false, "sent a message of kind 0"},
    {{0, UINT16_MAX, 0, NOW}, NOW, false, "sent a message of kind 65535"},
};

TEST_TIMES(a_header_is_due_or_the_rule_is_said, sizeof headers / sizeof *headers)
{
    struct error error = {0};
    enum status status =
        program_header_check(&headers[_i].header, headers[_i].serial, headers[_i].parts, &error);
    ck_assert_int_eq(status, headers[_i].says == NULL ? STATUS_OK : STATUS_INVALID);
    ck_assert_str_eq(error.text, headers[_i].says == NULL ? "" : headers[_i].says);
}

int main(void)
{
    return suite_run("program_message", NULL);
}
