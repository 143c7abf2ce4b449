/* test_message_fields.c - every row of the messages does all that a row is for: its field is written
 * and read, what is beyond its bounds is refused, it is the protocol's field of that name. The rows
 * come from the table, so a new one is tried without a line here. */

#include "common/wire/message_fields.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "proto/syncopate.pb-c.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

/* --- the table itself ------------------------------------------------------------------------- */

/* What a kind is on the wire, and how many bytes it has of ours; 0: as the row says. */
static const struct {
    ProtobufCType types[2];
    uint32_t size;
} forms[] = {
    [FIELD_FLAG] = {{PROTOBUF_C_TYPE_BOOL, PROTOBUF_C_TYPE_BOOL}, sizeof(bool)},
    [FIELD_U32] = {{PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_UINT32}, 4},
    [FIELD_U64] = {{PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_UINT64}, 8},
    [FIELD_I64] = {{PROTOBUF_C_TYPE_SINT64, PROTOBUF_C_TYPE_SINT64}, 8},
    [FIELD_ID] = {{PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_FIXED64}, 8},
    [FIELD_REAL] = {{PROTOBUF_C_TYPE_DOUBLE, PROTOBUF_C_TYPE_DOUBLE}, 8},
    [FIELD_WORD] = {{PROTOBUF_C_TYPE_ENUM, PROTOBUF_C_TYPE_UINT32}, 4},
    [FIELD_TEXT] = {{PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_STRING}, 0},
    [FIELD_NAME] = {{PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_STRING}, 0},
    [FIELD_DIGEST] = {{PROTOBUF_C_TYPE_BYTES, PROTOBUF_C_TYPE_BYTES}, DIGEST_BYTES},
    [FIELD_SECRET] = {{PROTOBUF_C_TYPE_BYTES, PROTOBUF_C_TYPE_BYTES}, DIGEST_BYTES},
    [FIELD_PAGE] = {{PROTOBUF_C_TYPE_BYTES, PROTOBUF_C_TYPE_BYTES}, 0},
    [FIELD_REPORT] = {{PROTOBUF_C_TYPE_MESSAGE, PROTOBUF_C_TYPE_MESSAGE},
                      sizeof(struct message_report)},
};

static const ProtobufCMessageDescriptor *type_of(enum message_kind kind)
{
    const ProtobufCMessageDescriptor *header = &syncopate__header__descriptor;
    if (kind == MESSAGE_NONE)
        return header;
    const ProtobufCFieldDescriptor *body =
        protobuf_c_message_descriptor_get_field_by_name(header, message_kind_name(kind));
    ck_assert_msg(body != NULL, "%s is not in Header", message_kind_name(kind));
    return body->descriptor;
}

static void expect_field(const ProtobufCMessageDescriptor *type, const struct message_field *row)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(type, row->wire);
    ck_assert_msg(field != NULL, "%s: %s has no %s", row->member, type->name, row->wire);
    ck_assert_msg(field->offset == row->wire_offset, "%s is not of %s", row->member, type->name);
    ck_assert_msg(field->label != PROTOBUF_C_LABEL_REPEATED, "%s", row->member);
    ck_assert_msg(field->type == forms[row->kind].types[0] ||
                      field->type == forms[row->kind].types[1],
                  "%s is of another type than in %s", row->member, type->name);
}

/* Of MESSAGE_NONE: what every message carries. Its version, role and index have no rows. */
TEST_TIMES(every_field_of_the_protocol_has_one_row, MESSAGE_KIND_COUNT)
{
    const ProtobufCMessageDescriptor *type = type_of((enum message_kind)_i);
    unsigned rows = 0, fields = 0;
    for (const struct message_field *row = message_fields((enum message_kind)_i);
         row->kind != FIELD_END; row++) {
        if (row->wire == NULL)
            continue;
        expect_field(type, row);
        for (const struct message_field *other = row + 1; other->kind != FIELD_END; other++)
            ck_assert_msg(other->wire_offset != row->wire_offset, "%s twice", row->member);
        rows++;
    }
    for (unsigned i = 0; i < type->n_fields; i++)
        fields += (type->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0;
    ck_assert_msg(rows + (_i == MESSAGE_NONE ? 3 : 0) == fields, "%s has %u fields, %u rows",
                  type->name, fields, rows);
}

TEST_PLAIN(every_body_of_the_protocol_is_a_kind)
{
    const ProtobufCMessageDescriptor *header = &syncopate__header__descriptor;
    unsigned bodies = 0;
    for (unsigned i = 0; i < header->n_fields; i++)
        bodies += (header->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    ck_assert_uint_eq(bodies, MESSAGE_KIND_COUNT - 1);
}

/* A row of another message's member, or of a member that another row has. */
TEST_TIMES(every_row_has_a_member_of_its_own_message, MESSAGE_KIND_COUNT)
{
    enum message_kind kind = (enum message_kind)_i;
    const char *name = kind == MESSAGE_PONG       ? "waiting." /* The same structures. */
                       : kind == MESSAGE_FINISHED ? "stop."
                                                  : message_kind_name(kind);
    for (const struct message_field *row = message_fields(kind); row->kind != FIELD_END; row++) {
        ck_assert_msg(kind == MESSAGE_NONE || strncmp(row->member, name, strlen(name)) == 0,
                      "%s is not of %s", row->member, name);
        ck_assert_msg(forms[row->kind].size == 0 || forms[row->kind].size == row->size,
                      "%s has %u bytes", row->member, row->size);
        for (const struct message_field *other = row + 1; other->kind != FIELD_END; other++)
            ck_assert_msg(other->offset >= row->offset + row->size ||
                              other->offset + other->size <= row->offset,
                          "%s and %s are in one place", row->member, other->member);
        ck_assert((row->kind == FIELD_WORD) == (row->word != NULL));
        if (row->kind == FIELD_PAGE || row->kind == FIELD_REPORT)
            ck_assert_msg(row[-1].wire == NULL &&
                              row[-1].kind == (row->kind == FIELD_PAGE ? FIELD_U32 : FIELD_FLAG),
                          "%s: the row above is to say how much is there", row->member);
    }
}

/* --- written and read ------------------------------------------------------------------------- */

static enum status round_trip(const struct message *message, struct message *back)
{
    uint8_t buffer[4 * HEADER_BYTES_MAX]; /* Room for a mistake: message_encode asserts the rest. */
    struct error error;
    size_t bytes = message_encode(message, buffer);
    memset(back, 0xee, sizeof *back);
    return message_decode(buffer, bytes, back, &error);
}

TEST_TIMES(every_kind_comes_back_as_it_went, MESSAGE_KIND_COUNT - 1)
{
    enum message_kind kind = (enum message_kind)(_i + 1);
    for (int how = SPECIMEN_SMALLEST; how <= SPECIMEN_LARGEST; how++) {
        struct message message = specimen(kind, (enum specimen)how), back;
        ck_assert_msg(round_trip(&message, &back) == STATUS_OK,
                      "%s: a specimen is refused: see specimen_fill", message_kind_name(kind));
        ck_assert_msg(memcmp(&message, &back, sizeof back) == 0, "%s, %d", message_kind_name(kind),
                      how);
    }
}

/* A text without its end, a page of more bytes than there are. */
START_TEST(what_is_larger_than_its_place_is_never_encoded)
{
    uint8_t buffer[2 * HEADER_BYTES_MAX];
    struct message message = specimen(_i == 0   ? MESSAGE_WAITING
                                      : _i == 1 ? MESSAGE_PART_WRITTEN
                                                : MESSAGE_JOB_PAGE,
                                      SPECIMEN_LARGEST);
    if (_i == 0)
        message.waiting.text[MESSAGE_TEXT_MAX - 1] = 'x';
    else if (_i == 1)
        message.part_written.part.name[CHECKPOINT_PART_NAME_MAX - 1] = 'x';
    else
        message.job_page.bytes++;
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* The assertion's line. */
    message_encode(&message, buffer);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* Written here once more: that a bound moves has to be meant. All other numbers may be any. */
static const struct {
    const char *member;
    uint64_t least, most;
} bounds[] = {
    {"job_page.offset", 0, JOB_BYTES_MAX - JOB_PAGE_BYTES},
    {"job_page.total", 1, JOB_BYTES_MAX},
    {"job_page.page", 1, JOB_PAGE_BYTES},
    {"refused.reason", 0, REFUSAL_OWNER},
    {"dismissed.outcome", 0, EVICTION_OVER},
    {"start.position", 0, JOB_WORKERS_MAX - 1},
    {"start.members", 1, JOB_WORKERS_MAX},
    {"close.leaves", 1, TREE_LEAVES_MAX},
    {"close.examples", 1, BATCH_MAX},
    {"gradient.count", 1, UINT64_MAX},
    {"gradient.offset", 0, GRADIENT_BYTES_MAX},
    {"gradient.total", 1, GRADIENT_BYTES_MAX},
    {"gradient.bases", 1, GRADIENT_PAGE_BYTES},
    {"work.waited", 0, WAIT_BARRIER},
    {"work.whom", 0, JOB_WORKERS_MAX},
    {"result.verdict", 0, VERDICT_REJECTED},
    {"result.held_for", 0, JOB_WORKERS_MAX},
    {"result.array", 0, SLOTS_MAX},
    {"report.times.whom", 0, JOB_WORKERS_MAX},
    {"done.times.whom", 0, JOB_WORKERS_MAX},
    {"evaluation.times.whom", 0, JOB_WORKERS_MAX},
    {"report.correct", 0, BATCH_MAX},
    {"report.examples", 0, BATCH_MAX},
    {"report.longer", 0, TREE_LEAVES_MAX},
    {"report.leaves", 0, TREE_LEAVES_MAX},
    {"stop.exit_code", 0, 255},
    {"chunk_state.count", 1, UINT64_MAX},
    {"chunk_state.array", 0, CHECKPOINT_DESCRIPTIONS},
    {"chunk_state.server", 0, JOB_SERVERS_MAX - 1},
    {"part_written.server", 0, JOB_SERVERS_MAX - 1},
    {"work.share", 0, JOB_WORKERS_MAX - 1},
    {"work.shares", 0, JOB_WORKERS_MAX},
    {"evaluation.share", 0, JOB_WORKERS_MAX - 1},
    {"evaluation.shares", 1, JOB_WORKERS_MAX},
    {"ready.leash", 0, LEASH_LOST},
    {"ping.leash", 0, LEASH_LOST},
    {"status_answer.state", 0, JOB_OVER},
    {"status_answer.job", 0, sizeof(struct job_figures)},
    {"status_answer.exit_code", 0, 255},
};

TEST_TIMES(the_bounds_are_those_that_are_meant, MESSAGE_KIND_COUNT)
{
    for (const struct message_field *row = message_fields((enum message_kind)_i);
         row->kind != FIELD_END; row++) {
        uint64_t least = 0, most = UINT64_MAX;
        for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
            if (strcmp(bounds[i].member, row->member) == 0) {
                least = bounds[i].least;
                most = bounds[i].most;
            }
        ck_assert_msg(row->least == least && row->most == most,
                      "%s has other bounds than the list above", row->member);
    }
}

/* A message on the wire, of which one field is to be something else. */
struct changing {
    Syncopate__Header *header;
    char *place; /* Of a row's message: the header, its body or the report in it. */
    const struct message_field *row;
};

static enum status decode_changed(const struct changing *changing, struct message *message)
{
    uint8_t buffer[2 * HEADER_BYTES_MAX];
    struct error error;
    size_t bytes = syncopate__header__get_packed_size(changing->header);
    ck_assert_uint_le(bytes, sizeof buffer);
    syncopate__header__pack(changing->header, buffer);
    return message_decode(buffer, bytes, message, &error);
}

/* With `size` bytes of the field in memory changed to these. */
static void expect(const struct changing *changing, const void *value, size_t size,
                   enum status expected, const char *what)
{
    struct message message;
    char kept[sizeof(ProtobufCBinaryData)], *at = changing->place + changing->row->wire_offset;
    memcpy(kept, at, size);
    memcpy(at, value, size);
    ck_assert_msg(decode_changed(changing, &message) == expected, "%s %s", changing->row->member,
                  what);
    memcpy(at, kept, size);
}

static void expect_number(const struct changing *changing, uint64_t number, enum status expected)
{
    bool narrow = changing->row->kind == FIELD_U32 || changing->row->kind == FIELD_WORD;
    expect(changing, &number, narrow ? sizeof(uint32_t) : sizeof number, expected,
           expected == STATUS_OK ? "within its bounds is refused" : "beyond its bounds is taken");
}

static void expect_bytes(const struct changing *changing, size_t count, enum status expected)
{
    static uint8_t bytes[JOB_PAGE_BYTES + 1];
    const ProtobufCBinaryData data = {count, bytes};
    expect(changing, &data, sizeof data, expected,
           expected == STATUS_OK ? "of as many bytes as it may have is refused"
                                 : "of another number of bytes is taken");
}

static void expect_text(const struct changing *changing, char first, size_t length,
                        enum status expected)
{
    char text[MESSAGE_TEXT_MAX + 1], *pointer = text;
    ck_assert_uint_lt(length, sizeof text);
    memset(text, 'x', length);
    text[0] = first;
    text[length] = '\0';
    expect(changing, &pointer, sizeof pointer, expected,
           expected == STATUS_OK ? "that it may be is refused" : "that it may not be is taken");
}

static void try_fields(struct changing *changing, enum message_kind kind, bool largest);

/* At its least or at its most: `message` has everything so. */
static void try_field(struct changing *changing, bool largest)
{
    const struct message_field *row = changing->row;
    bool narrow = row->kind == FIELD_U32 || row->kind == FIELD_WORD;
    uint64_t most = narrow && row->most > UINT32_MAX ? UINT32_MAX : row->most;
    if (row->kind == FIELD_REPORT && largest) {
        struct changing report = {
            .header = changing->header,
            .place = *(char **)(void *)(changing->place + row->wire_offset),
        };
        ck_assert_ptr_nonnull(report.place);
        try_fields(&report, MESSAGE_REPORT, largest);
    } else if (row->kind == FIELD_DIGEST || row->kind == FIELD_SECRET) {
        expect_bytes(changing, 0, STATUS_OK);
        expect_bytes(changing, DIGEST_BYTES, STATUS_OK);
        expect_bytes(changing, DIGEST_BYTES - 1, STATUS_INVALID);
        expect_bytes(changing, DIGEST_BYTES + 1, STATUS_INVALID);
    } else if (row->kind == FIELD_TEXT || row->kind == FIELD_NAME) {
        expect_text(changing, 'a', row->size - 1, STATUS_OK);
        expect_text(changing, 'a', row->size, STATUS_INVALID);
        expect_text(changing, '/', 2, row->kind == FIELD_NAME ? STATUS_INVALID : STATUS_OK);
    } else if (row->kind == FIELD_PAGE) {
        expect_bytes(changing, largest ? row->most : row->least, STATUS_OK);
        if (largest)
            expect_bytes(changing, row->most + 1, STATUS_INVALID);
        else if (row->least > 0)
            expect_bytes(changing, row->least - 1, STATUS_INVALID);
    } else if (largest && (narrow || row->kind == FIELD_U64)) {
        expect_number(changing, most, STATUS_OK);
        if (most < (narrow ? UINT32_MAX : UINT64_MAX)) {
            expect_number(changing, most + 1, STATUS_INVALID);
            expect_number(changing, UINT64_MAX, STATUS_INVALID);
        }
    } else if (row->least > 0) {
        expect_number(changing, row->least, STATUS_OK);
        expect_number(changing, row->least - 1, STATUS_INVALID);
    }
}

static void try_fields(struct changing *changing, enum message_kind kind, bool largest)
{
    const struct message_field *row = message_fields(kind);
    for (; row->kind != FIELD_END; row++)
        if (row->wire != NULL) {
            changing->row = row;
            try_field(changing, largest);
        }
}

static Syncopate__Header *on_the_wire(enum message_kind kind, enum specimen how)
{
    uint8_t buffer[HEADER_BYTES_MAX];
    struct message message = specimen(kind, how);
    size_t bytes = message_encode(&message, buffer);
    Syncopate__Header *header = syncopate__header__unpack(NULL, bytes, buffer);
    ck_assert_ptr_nonnull(header);
    return header;
}

TEST_TIMES(what_is_beyond_the_bounds_is_refused, MESSAGE_KIND_COUNT - 1)
{
    enum message_kind kind = (enum message_kind)(_i + 1);
    for (int largest = 0; largest < 2; largest++) {
        struct changing changing = {
            .header = on_the_wire(kind, largest ? SPECIMEN_LARGEST : SPECIMEN_SMALLEST)};
        changing.place = (char *)changing.header->join; /* Whichever it is. */
        try_fields(&changing, kind, largest);
        syncopate__header__free_unpacked(changing.header, NULL);
    }
}

TEST_PLAIN(texts_carry_no_control_characters)
{
    char text[] = "a\033[2Jb\nc\177d\xc3\xa9";
    struct changing changing = {.header = on_the_wire(MESSAGE_WAITING, SPECIMEN_SMALLEST)};
    struct message message;
    char *kept = changing.header->waiting->text;
    changing.header->waiting->text = text;
    ck_assert_int_eq(decode_changed(&changing, &message), STATUS_OK);
    ck_assert_str_eq(message.waiting.text, "a?[2Jb?c?d\xc3\xa9");
    changing.header->waiting->text = kept;
    syncopate__header__free_unpacked(changing.header, NULL);
}

/* A zero that is negative would come back as the other; protobuf-c does not write it. */
TEST_PLAIN(there_is_one_zero)
{
    static const uint8_t bytes[] = {
        8, PROTOCOL_VERSION_MAX, 0x8a, 4, 9, 0x11, 0, 0, 0, 0, 0, 0, 0, 0x80};
    const double zero = 0;
    struct message message;
    struct error error;
    ck_assert_int_eq(message_decode(bytes, sizeof bytes, &message, &error), STATUS_OK);
    ck_assert_int_eq(message.kind, MESSAGE_STATUS_ANSWER);
    ck_assert_mem_eq(&message.status_answer.seconds, &zero, sizeof zero);
}

/* --- what must hold of several fields --------------------------------------------------------- */

/* An example of that kind, `m`, but with something else. */
#define DECODES(KIND, expected, ...)                                                               \
    do {                                                                                           \
        struct message example = specimen(MESSAGE_##KIND, SPECIMEN_EXAMPLE), back;                 \
        struct message *m = &example;                                                              \
        __VA_ARGS__;                                                                               \
        ck_assert_msg(round_trip(m, &back) == (expected), #__VA_ARGS__);                           \
    } while (0)
#define TAKES(KIND, ...)   DECODES(KIND, STATUS_OK, __VA_ARGS__)
#define REFUSES(KIND, ...) DECODES(KIND, STATUS_INVALID, __VA_ARGS__)

TEST_PLAIN(versions_are_in_order)
{
    TAKES(JOIN, m->join.version_max = m->join.version_min);
    REFUSES(JOIN, m->join.version_max = m->join.version_min - 1);
}

static void set_page(struct message *message, uint32_t offset, uint32_t bytes, uint32_t total)
{
    message->job_page.offset = offset;
    message->job_page.bytes = bytes;
    message->job_page.total = total;
}

TEST_PLAIN(pages_lie_within_the_declaration)
{
    TAKES(JOB_PAGE, set_page(m, 0, 10, 10));
    REFUSES(JOB_PAGE, set_page(m, 0, 10, 9));
    TAKES(JOB_PAGE, set_page(m, 2048, 952, 3000));
    REFUSES(JOB_PAGE, set_page(m, 2048, 953, 3000));
    REFUSES(JOB_PAGE, set_page(m, 2049, 1, 3000));
    REFUSES(JOB_PAGE, set_page(m, 1, 1, 3000));
    REFUSES(JOB_PAGE, set_page(m, 3072, 1, 3000));
}

TEST_PLAIN(a_start_names_a_place_among_the_members)
{
    TAKES(START, m->start.position = m->start.members - 1);
    REFUSES(START, m->start.position = m->start.members);
    TAKES(START, m->start.stop_step = m->start.step);
    REFUSES(START, m->start.stop_step = m->start.step - 1);
}

static void ask(struct message_exchange *exchange, bool gradient, bool want, bool skip)
{
    exchange->gradient = gradient;
    exchange->want = want;
    exchange->skip = skip;
}

TEST_PLAIN(an_exchange_pushes_or_pulls)
{
    TAKES(EXCHANGE, ask(&m->exchange, true, false, false));
    TAKES(EXCHANGE, ask(&m->exchange, false, true, false));
    TAKES(EXCHANGE, ask(&m->exchange, false, false, true));
    REFUSES(EXCHANGE, ask(&m->exchange, false, false, false));
}

TEST_PLAIN(no_more_is_correct_or_longer_than_there_is)
{
    TAKES(REPORT, m->report.correct = m->report.examples);
    REFUSES(REPORT, m->report.correct = m->report.examples + 1);
    TAKES(EXCHANGE, m->exchange.report.correct = m->exchange.report.examples);
    REFUSES(EXCHANGE, m->exchange.report.correct = m->exchange.report.examples + 1);
    TAKES(REPORT, m->report.longer = m->report.leaves);
    REFUSES(REPORT, m->report.longer = m->report.leaves + 1);
    TAKES(EVALUATION, m->evaluation.correct = m->evaluation.examples);
    REFUSES(EVALUATION, m->evaluation.correct = m->evaluation.examples + 1);
    REFUSES(EVALUATION, m->evaluation.not_finite = m->evaluation.examples + 1);
}

static void share_out(struct message_work *work, uint64_t scored, uint32_t share, uint32_t shares)
{
    work->scored = scored;
    work->share = share;
    work->shares = shares;
}

TEST_PLAIN(a_share_is_one_of_all)
{
    TAKES(WORK, share_out(&m->work, 3, 1, 2));
    REFUSES(WORK, share_out(&m->work, 3, 2, 2));
    TAKES(WORK, share_out(&m->work, 0, 0, 0));
    REFUSES(WORK, share_out(&m->work, 0, 0, 2));
    TAKES(EVALUATION, m->evaluation.share = m->evaluation.shares - 1);
    REFUSES(EVALUATION, m->evaluation.share = m->evaluation.shares);
}

/* Server 0 looks for it where its name says. */
TEST_PLAIN(a_part_lies_in_its_folder)
{
    TAKES(PART_WRITTEN, strcpy(m->part_written.part.name, "part-0-of-2.safetensors"));
    REFUSES(PART_WRITTEN, strcpy(m->part_written.part.name, "../../etc/passwd"));
}

static void add(TCase *t)
{
    tcase_add_loop_test_raise_signal(t, what_is_larger_than_its_place_is_never_encoded, SIGABRT, 0,
                                     3);
}

int main(void)
{
    return suite_run("message_fields", add);
}
