#include "deploy/simulator/message_line.h"

#include <stdio.h>
#include <string.h>

#include "proto/syncopate.pb-c.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

/* --- every field is in the line --------------------------------------------------------------- */

enum { TRIES = 6 }; /* Other values of a field; a message need not be valid with all of them. */

struct changes {
    Syncopate__Header *header;
    const struct specimen *specimen;
    char line[MESSAGE_LINE_MAX]; /* Of the message before. */
    unsigned fields;
};

static uint64_t other_number(uint64_t number, unsigned try)
{
    const uint64_t others[TRIES] = {number + 1, number - 1, 0, 1, number ^ 1024, 5};
    return others[try];
}

static char other_letter(char letter, unsigned try)
{
    return (char)(letter == '!' ? '?' + (char)try : '!');
}

static bool decodes(const Syncopate__Header *header, struct message *message)
{
    uint8_t buffer[2 * HEADER_BYTES_MAX];
    struct error error;
    size_t bytes = syncopate__header__get_packed_size(header);
    ck_assert_uint_le(bytes, sizeof buffer);
    syncopate__header__pack(header, buffer);
    return message_decode(buffer, bytes, message, &error) == STATUS_OK;
}

/* Of the message with one field changed, which is the only thing that is different. */
static void check_line(struct changes *changes, const char *type, const char *field,
                       const struct message *message)
{
    char line[MESSAGE_LINE_MAX];
    message_line(message, line);
    ck_assert_msg(strcmp(line, changes->line) != 0, "%s does not say %s.%s:\n%s",
                  changes->specimen->name, type, field, line);
    changes->fields++;
}

/* Bytes of one field become others, in their place. */
static bool change_bytes(struct changes *changes, const ProtobufCMessage *message,
                         const ProtobufCFieldDescriptor *field, unsigned try)
{
    uint8_t *at = (uint8_t *)(uintptr_t)message + field->offset, *bytes = at;
    uint64_t kept = 0, number;
    size_t width = 4;
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES) {
        bytes = field->type == PROTOBUF_C_TYPE_STRING ? *(uint8_t **)(void *)at
                                                      : ((ProtobufCBinaryData *)(void *)at)->data;
        width = 1;
    } else if (field->type == PROTOBUF_C_TYPE_DOUBLE || field->type == PROTOBUF_C_TYPE_UINT64 ||
               field->type == PROTOBUF_C_TYPE_SINT64 || field->type == PROTOBUF_C_TYPE_FIXED64) {
        width = 8;
    }
    memcpy(&kept, bytes, width);
    number = width == 1                            ? (uint64_t)other_letter((char)kept, try)
             : field->type == PROTOBUF_C_TYPE_BOOL ? kept == 0
                                                   : other_number(kept, try);
    memcpy(bytes, &number, width);
    struct message changed;
    bool valid = memcmp(&number, &kept, width) != 0 && decodes(changes->header, &changed);
    if (valid)
        check_line(changes, message->descriptor->short_name, field->name, &changed);
    memcpy(bytes, &kept, width);
    return valid;
}

static void change_fields(struct changes *changes, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        const uint8_t *at = (const uint8_t *)message + field->offset;
        bool changed = false;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
            *(const uint32_t *)(const void *)((const uint8_t *)message +
                                              field->quantifier_offset) != field->id)
            continue;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            change_fields(changes, *(ProtobufCMessage *const *)(const void *)at);
            continue;
        }
        /* The version that a message is written in is gone when it has been read. */
        if (type == &syncopate__header__descriptor && strcmp(field->name, "version") == 0)
            continue;
        for (unsigned try = 0; try < TRIES && !changed; try++)
            changed = change_bytes(changes, message, field, try);
        ck_assert_msg(changed, "%s: no other %s.%s is valid", changes->specimen->name,
                      type->short_name, field->name);
    }
}

START_TEST(messages_that_differ_in_one_field_have_different_lines)
{
    static struct changes changes;
    unsigned fields = 0;
    for (size_t i = 0; specimen_at(i) != NULL; i++) {
        uint8_t buffer[HEADER_BYTES_MAX];
        changes = (struct changes){.specimen = specimen_at(i)};
        if (strchr(changes.specimen->name, '.') != NULL)
            continue; /* Not all of its fields are there to be changed. */
        message_line(&changes.specimen->message, changes.line);
        size_t bytes = message_encode(&changes.specimen->message, buffer);
        changes.header = syncopate__header__unpack(NULL, bytes, buffer);
        ck_assert_ptr_nonnull(changes.header);
        change_fields(&changes, &changes.header->base);
        syncopate__header__free_unpacked(changes.header, NULL);
        ck_assert_uint_ge(changes.fields, 8); /* What every message says. */
        fields += changes.fields;
    }
    ck_assert_uint_gt(fields, 8 * (MESSAGE_KIND_COUNT - 1));
}
END_TEST

START_TEST(messages_of_different_kinds_have_different_lines)
{
    char lines[2][MESSAGE_LINE_MAX];
    for (unsigned a = 1; a < MESSAGE_KIND_COUNT; a++)
        for (unsigned b = 1; b < a; b++) {
            message_line(&(struct message){.kind = a}, lines[0]);
            message_line(&(struct message){.kind = b}, lines[1]);
            ck_assert_str_ne(lines[0], lines[1]);
        }
}
END_TEST

/* There is a report, and it is all zeros; or there is none. */
START_TEST(what_is_there_and_empty_differs_from_what_is_not_there)
{
    char lines[2][MESSAGE_LINE_MAX];
    struct message message = {.kind = MESSAGE_EXCHANGE, .exchange.want = true};
    message_line(&message, lines[0]);
    message.exchange.has_report = true;
    message_line(&message, lines[1]);
    ck_assert_str_ne(lines[0], lines[1]);
}
END_TEST

/* --- reading it ------------------------------------------------------------------------------- */

START_TEST(a_line_names_what_differs_from_zero)
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
    ck_assert_str_eq(line, "evaluation loss=-9223372036854775808 nobody/0");
}
END_TEST

START_TEST(a_text_cannot_be_taken_for_other_fields)
{
    char lines[2][MESSAGE_LINE_MAX];
    struct message message = {.kind = MESSAGE_STOP, .stop.reason = "a\" g=1 \\"};
    message_line(&message, lines[0]);
    ck_assert_str_eq(lines[0], "stop reason=\"a\\\" g=1 \\\\\" nobody/0");
}
END_TEST

START_TEST(a_secret_is_not_shown)
{
    char line[MESSAGE_LINE_MAX], hex[HASH_HEX_LENGTH];
    struct message message = {.kind = MESSAGE_WELCOME};
    hash_random(message.welcome.secret);
    hash_hex(message.welcome.secret, HASH_BYTES, hex);
    message_line(&message, line);
    ck_assert_ptr_nonnull(strstr(line, "secret="));
    ck_assert_ptr_null(strstr(line, hex));
}
END_TEST

/* Texts in which every character takes two, and numbers with all their digits. */
START_TEST(the_longest_message_fits)
{
    char line[MESSAGE_LINE_MAX];
    struct message message;
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        memset(&message, '"', sizeof message);
        message.kind = kind;
        message.role = ROLE_OBSERVER;
        if (kind == MESSAGE_STATUS_ANSWER)
            message.status_answer.out[MESSAGE_TEXT_MAX - 1] =
                message.status_answer.text[MESSAGE_TEXT_MAX - 1] = '\0';
        else if (kind == MESSAGE_PART_WRITTEN)
            message.part_written.part.name[CHECKPOINT_PART_NAME_MAX - 1] =
                message.part_written.text[MESSAGE_TEXT_MAX - 1] = '\0';
        else if (kind == MESSAGE_JOIN)
            message.join.host[63] = message.join.arithmetic[63] = '\0';
        else
            message.waiting.text[MESSAGE_TEXT_MAX - 1] = message.stop.reason[MESSAGE_TEXT_MAX - 1] =
                message.refused.text[MESSAGE_TEXT_MAX - 1] =
                    message.welcome.out[MESSAGE_TEXT_MAX - 1] = '\0';
        message_line(&message, line);
        ck_assert_uint_lt(strlen(line), MESSAGE_LINE_MAX);
    }
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, messages_that_differ_in_one_field_have_different_lines);
    tcase_add_test(t, messages_of_different_kinds_have_different_lines);
    tcase_add_test(t, what_is_there_and_empty_differs_from_what_is_not_there);
    tcase_add_test(t, a_line_names_what_differs_from_zero);
    tcase_add_test(t, a_text_cannot_be_taken_for_other_fields);
    tcase_add_test(t, a_secret_is_not_shown);
    tcase_add_test(t, the_longest_message_fits);
}

int main(void)
{
    return suite_run("message_line", add);
}
