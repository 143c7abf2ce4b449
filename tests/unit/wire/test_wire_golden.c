/* The bytes of every message that travels are those of messages.golden, which stays as it is, and are
 * read as what message_lines.golden says. */

#include "common/wire/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/engine/message_line.h"
#include "proto/syncopate.pb-c.h"
#include "tests/lib/golden.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

#define GOLDEN "tests/unit/wire/messages.golden"
#define LINES  "tests/unit/wire/message_lines.golden"
#define ADVICE                                                                                     \
    "These bytes travel between builds. For a new field or message that old builds may ignore, "   \
    "run\nTEST_GOLDEN=write build/release/tests/unit/wire/test_wire_golden; anything else is "     \
    "another "                                                                                     \
    "protocol\nversion: see proto/PROTOCOL.md, section 14"

static char *hex_of(const uint8_t *bytes, size_t count)
{
    char *text = malloc(2 * count + 1);
    ck_assert_ptr_nonnull(text);
    hash_hex(bytes, count, text);
    return text;
}

static size_t bytes_of(const char *hex, uint8_t *bytes, size_t most)
{
    size_t count = strlen(hex) / 2;
    ck_assert_uint_le(count, most);
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return count;
}

/* --- messages -------------------------------------------------------------------------------- */

/* What else there is a line of: with something left out. */
static const char *const variants[] = {"welcome.worker", "exchange.bare", "status_answer.idle"};

/* The message of a line; of a kind that has none yet an example. */
static struct message message_of(const struct golden *golden, const char *name,
                                 enum message_kind kind)
{
    uint8_t bytes[HEADER_BYTES_MAX];
    struct message message;
    struct error error;
    const char *hex = golden_find(golden, name);
    if (hex == NULL)
        return specimen(kind, SPECIMEN_EXAMPLE);
    size_t count = bytes_of(hex, bytes, sizeof bytes);
    memset(&message, 0xee, sizeof message);
    ck_assert_msg(message_decode(bytes, count, &message, &error) == STATUS_OK, "%s: %s", name,
                  error.text);
    ck_assert_msg(message.kind == kind, "%s", name);
    return message;
}

typedef void give_function(struct golden *golden, const char *name, const struct message *message);

static void give_bytes(struct golden *golden, const char *name, const struct message *message)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    char *hex = hex_of(buffer, message_encode(message, buffer));
    golden_line(golden, name, hex);
    free(hex);
}

static void give_line(struct golden *golden, const char *name, const struct message *message)
{
    char line[MESSAGE_LINE_MAX];
    message_line(message, line);
    golden_line(golden, name, line);
}

/* Every message of messages.golden. What a kind's own line leaves empty, as it is older than the
 * field, is filled in, and so is not what the file has. */
static void give_messages(const struct golden *from, struct golden *golden, give_function *give)
{
    for (enum message_kind kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        const char *name = message_kind_name(kind);
        struct message message = message_of(from, name, kind);
        specimen_fill(&message, SPECIMEN_EXAMPLE);
        give(golden, name, &message);
        for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
            if (strcspn(variants[i], ".") == strlen(name) &&
                strncmp(variants[i], name, strlen(name)) == 0) {
                message = message_of(from, variants[i], kind);
                give(golden, variants[i], &message);
            }
    }
}

static void give_job(struct golden *golden, enum mode mode)
{
    struct job job = specimen_job(mode);
    char name[40];
    uint8_t *bytes, digest[DIGEST_BYTES];
    uint32_t count;
    ck_assert(job_encode(&job, &bytes, &count) == STATUS_OK);
    char *hex = hex_of(bytes, count);
    snprintf(name, sizeof name, "job.%s", mode_name(mode));
    golden_line(golden, name, hex);
    free(hex);
    free(bytes);

    ck_assert(job_digest(&job, digest) == STATUS_OK);
    hex = hex_of(digest, sizeof digest);
    snprintf(name, sizeof name, "job.%s.digest", mode_name(mode));
    golden_line(golden, name, hex);
    free(hex);
    job_free(&job);
}

TEST_PLAIN(every_message_has_the_bytes_that_it_always_had)
{
    struct golden *golden = golden_open(GOLDEN);
    give_messages(golden, golden, give_bytes);
    for (enum mode mode = 0; mode < MODE_COUNT; mode++)
        give_job(golden, mode);
    golden_check(golden, ADVICE);
    golden_free(golden);
}

TEST_PLAIN(the_bytes_are_read_as_what_they_always_were)
{
    struct golden *golden = golden_open(GOLDEN), *lines = golden_open(LINES);
    give_messages(golden, lines, give_line);
    golden_check(lines, ADVICE);
    golden_free(lines);
    golden_free(golden);
}

TEST_PLAIN(declarations_are_read_as_what_they_were_made_of)
{
    struct golden *golden = golden_open(GOLDEN);
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        uint8_t bytes[4096];
        char name[40];
        struct job job = specimen_job(mode), read;
        struct error error;
        snprintf(name, sizeof name, "job.%s", mode_name(mode));
        const char *hex = golden_find(golden, name);
        ck_assert_msg(hex != NULL, "%s has no line in " GOLDEN, name);
        size_t count = bytes_of(hex, bytes, sizeof bytes);
        ck_assert_msg(job_decode(bytes, (uint32_t)count, &read, &error) == STATUS_OK, "%s: %s",
                      name, error.text);
        ck_assert_msg(job_compare(&job, "made", &read, "read", JOB_SCOPE_ALL, &error) == STATUS_OK,
                      "%s: %s", name, error.text);
        ck_assert_str_eq(job.data, read.data);
        job_free(&job);
        job_free(&read);
    }
    golden_free(golden);
}

/* --- nothing is left out --------------------------------------------------------------------- */

/* Proto3 writes no zeros, so what is not in the bytes has not been filled in. */
static bool is_filled(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const uint8_t *at = (const uint8_t *)message + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)(const void *)((const uint8_t *)message +
                                               field->quantifier_offset) > 0;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return **(char *const *)(const void *)at != '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)(const void *)at)->len > 0;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return *(const uint64_t *)(const void *)at != 0;
    default:
        return *(const uint32_t *)(const void *)at != 0;
    }
}

/* One declaration cannot be of both modes. */
TEST_PLAIN(declarations_have_all_their_fields_between_them)
{
    Syncopate__Job *wire[MODE_COUNT];
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        struct job job = specimen_job(mode);
        uint8_t *bytes;
        uint32_t count;
        ck_assert(job_encode(&job, &bytes, &count) == STATUS_OK);
        wire[mode] = syncopate__job__unpack(NULL, count, bytes);
        ck_assert_ptr_nonnull(wire[mode]);
        for (unsigned i = 0; i < syncopate__variable__descriptor.n_fields; i++)
            ck_assert(is_filled(&wire[mode]->variables[0]->base,
                                &syncopate__variable__descriptor.fields[i]));
        free(bytes);
        job_free(&job);
    }
    for (unsigned i = 0; i < syncopate__job__descriptor.n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &syncopate__job__descriptor.fields[i];
        bool filled = false;
        for (enum mode mode = 0; mode < MODE_COUNT; mode++)
            filled = filled || is_filled(&wire[mode]->base, field);
        ck_assert_msg(filled, "the specimens of a declaration leave %s empty", field->name);
    }
    for (enum mode mode = 0; mode < MODE_COUNT; mode++)
        syncopate__job__free_unpacked(wire[mode], NULL);
}

int main(void)
{
    return suite_run("wire_golden", NULL);
}
