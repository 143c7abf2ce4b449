/* test_message_line.c - a message as a line: no two that differ look alike, and no secret is
 * shown. */

#include "deploy/engine/message_line.h"

#include <stdio.h>
#include <string.h>

#include "common/wire/message_fields.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

/* --- every field is in the line --------------------------------------------------------------- */

/* Of the message without one of its fields, and so for each: `base` is where they are. */
static unsigned check_fields(struct message *message, char *base, const struct message_field *field)
{
    unsigned fields = 0;
    for (; field->kind != FIELD_END; field++, fields++) {
        char kept[JOB_PAGE_BYTES], lines[2][MESSAGE_LINE_MAX], *at = base + field->offset;
        message_line(message, lines[0]);
        ck_assert_uint_le(field->size, sizeof kept);
        memcpy(kept, at, field->size);
        memset(at, 0, field->size);
        message_line(message, lines[1]);
        memcpy(at, kept, field->size);
        ck_assert_msg(strcmp(lines[0], lines[1]) != 0, "not said: %s\n%s", field->member, lines[0]);
        if (field->kind == FIELD_REPORT)
            fields += check_fields(message, (char *)(uintptr_t)message_field_report(field, base),
                                   message_fields(MESSAGE_REPORT));
    }
    return fields;
}

TEST_PLAIN(messages_that_differ_in_one_field_have_different_lines)
{
    unsigned fields = 0;
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        struct message message = specimen(kind, SPECIMEN_EXAMPLE);
        if (kind == MESSAGE_REFUSED)
            message.refused.version = 1; /* Nobody reads one, so no specimen has it. */
        fields += check_fields(&message, (char *)&message, message_fields(kind));
        fields += check_fields(&message, (char *)&message, message_fields(MESSAGE_NONE));
    }
    ck_assert_uint_gt(fields, 8 * (MESSAGE_KIND_COUNT - 1));
}

TEST_PLAIN(messages_of_different_kinds_have_different_lines)
{
    char lines[2][MESSAGE_LINE_MAX];
    for (unsigned a = 1; a < MESSAGE_KIND_COUNT; a++)
        for (unsigned b = 1; b < a; b++) {
            message_line(&(struct message){.kind = a}, lines[0]);
            message_line(&(struct message){.kind = b}, lines[1]);
            ck_assert_str_ne(lines[0], lines[1]);
        }
}

/* There is a report, and it is all zeros; or there is none. */
TEST_PLAIN(what_is_there_and_empty_differs_from_what_is_not_there)
{
    char lines[2][MESSAGE_LINE_MAX];
    struct message message = {.kind = MESSAGE_EXCHANGE, .exchange.want = true};
    message_line(&message, lines[0]);
    message.exchange.has_report = true;
    message_line(&message, lines[1]);
    ck_assert_str_ne(lines[0], lines[1]);
}

/* --- reading it ------------------------------------------------------------------------------- */

TEST_PLAIN(a_line_names_what_differs_from_zero)
{
    char line[MESSAGE_LINE_MAX];
    struct message message = {
        .kind = MESSAGE_RESULT,
        .role = ROLE_PS,
        .index = 1,
        .generation = 3,
        .result = {.chunk = 2, .verdict = VERDICT_STALE, .version = UINT64_MAX},
    };
    message_line(&message, line);
    ck_assert_str_eq(line, "result chunk=2 verdict=stale version=18446744073709551615 g=3 ps/1");
    message = (struct message){.kind = MESSAGE_EVALUATION, .evaluation.loss = INT64_MIN};
    message_line(&message, line);
    ck_assert_str_eq(line, "evaluation loss=-9223372036854775808 none/0");
    message = (struct message){.kind = MESSAGE_REFUSED, .refused.version = 1};
    message_line(&message, line);
    ck_assert_str_eq(line, "refused version=1 none/0"); /* Which is the header's on the wire. */
}

TEST_PLAIN(a_text_cannot_be_taken_for_other_fields)
{
    char lines[2][MESSAGE_LINE_MAX];
    struct message message = {.kind = MESSAGE_STOP, .stop.reason = "a\" g=1 \\"};
    message_line(&message, lines[0]);
    ck_assert_str_eq(lines[0], "stop reason=\"a\\\" g=1 \\\\\" none/0");
}

TEST_PLAIN(a_secret_is_not_shown)
{
    char line[MESSAGE_LINE_MAX], hex[HASH_HEX_LENGTH];
    struct message message = {.kind = MESSAGE_WELCOME};
    hash_random(message.welcome.secret);
    hash_hex(message.welcome.secret, HASH_BYTES, hex);
    message_line(&message, line);
    ck_assert_ptr_nonnull(strstr(line, "secret="));
    ck_assert_ptr_null(strstr(line, hex));
}

/* Texts in which every character takes two, and numbers with all their digits. */
TEST_PLAIN(the_longest_message_fits)
{
    char line[MESSAGE_LINE_MAX];
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        struct message message = specimen(kind, SPECIMEN_LARGEST);
        char *at = (char *)&message;
        for (const struct message_field *field = message_fields(kind); field->kind != FIELD_END;
             field++)
            if (field->kind == FIELD_TEXT || field->kind == FIELD_NAME)
                memset(at + field->offset, '"', field->size - 1);
        message_line(&message, line);
        ck_assert_uint_lt(strlen(line), MESSAGE_LINE_MAX);
    }
}

int main(void)
{
    return suite_run("message_line", NULL);
}
