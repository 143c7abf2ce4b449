/* talk.c - holds talks: texts of what is said to one core, and what it says. One text is one test program
 * (`make unit`); `talk -v FILE` shows all that comes.
 *
 *     use coordinator                    before all: the words of coordinator.words
 *
 *     talk a lost worker is missed       begins a test; up to the next
 *       coordinator sync                 the core, and the job's mode; further up to its first message:
 *       job steps=100 checkpoint_every=2    fields of the declaration (job_rows.inc)
 *       options recovery=100                and of the core's options
 *       < worker/1 PING step=3           said to the core by worker/1; a field that is not named is as this
 *                                        sender would have it (talk_NAME.c), or zero
 *       > worker/1 START step=3          must have come from that, in any order; fields that are not named
 *       > worker/1 PONG text~"waits"        are not compared; ~: a text contains it
 *       > event lost "index": 1          an event of the run, with this within its members
 *       > log is stuck                   a line for people, with this in it
 *       > * START                        to any process
 *       > 4x * START                     so many of them
 *       let old ps/0 EXCHANGE chunk=2    $old is the request of the latest that came; "r=LEASE" in a line of what
 *                                        is said: of the latest LEASE
 *       > *                              whatever else came
 *       ! worker/1 START                 must not have come, not even if a line above says so
 *       quiet CUT WORK                   these may come unsaid from here on; PONG, events and lines always may
 *       tick 1.5                         seconds of virtual time; what is said again and again meanwhile is
 *                                        one line
 *       stand 0.002                      seconds pass, and nothing is driven
 *       unread, read                     who is told does not come to it; does
 *       expect over waits~"step 0" summary.step=4     figures; expect not over
 *
 *     def lose who seconds ... end       a word with arguments: $who, also $step+1
 *     for step in 0..5 ... end           for mode in sync async
 *     # for people
 *
 * What comes and no line says fails the talk at the next line that makes something come. Messages and fields are
 * those of message_rows.inc, orders those of talk_fields.c; "no" is a flag that is not set, and an
 * identity is hexadecimal. Of a packet: peer=90 (another connection), key=1, values=5x16 (so many floats), overtaken=20
 * (the staleness of so many gradients), index and role of its sender, raw=63 (bytes), place=none. Words and figures of a core stand in its talk_NAME.c. After every
 * message and tick the core checks its invariants by itself (common/base/invariant.h).
 */

#include "tests/talks/talk.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/job/job_fields.h"
#include "deploy/engine/message_line.h"
#include "ps/extension/staleness_counters.h"
#include "ps/work/membership.h"
#include "tests/lib/post.h"

#define LINES_MAX 4096
#define DEPTH_MAX 16

/* --- what is read -------------------------------------------------------------------------------- */

static struct line {
    const char *file;
    unsigned number;
    char *text;
} lines[LINES_MAX];
static unsigned line_count;

/* Values of $names, the innermost last; and the lines under way. */
static struct binding {
    char name[32], value[256];
} bound[64], lets[32];
static unsigned bound_count, let_count;
static unsigned stack[DEPTH_MAX];
static unsigned depth;

/* --- what is held -------------------------------------------------------------------------------- */

static const struct talk_core *const cores[] = {&talk_coordinator, &talk_session, &talk_router,
                                                &talk_owner};

static const struct talk_core *core; /* NULL: none yet. */
static bool opened, verbose;
static char quiet[256]; /* Besides those of the core. */

struct job talk_job;
uint64_t talk_now_us;
struct outbox talk_outbox;

/* What has come since the latest line that can make something come. */
static struct came {
    struct outgoing item;
    char to[24];
    bool said;
} * came;
static unsigned came_count, came_room;
/* Whose receivers have not come to them: payloads stay in use. */
static bool unread;
static struct frame *unread_frames[64];
static unsigned unread_count;
static uint64_t latest[MESSAGE_KIND_COUNT]; /* Requests of the latest that came. */
static bool repeats;                        /* Time has passed: alike ones are one. */

/* --- failing --------------------------------------------------------------------------------------- */

static struct talk_kind kind_of(const struct came *it)
{
    return talk_kind_in(&it->item.packet);
}

static bool lists(const char *kinds, const char *kind)
{
    char name[64];
    snprintf(name, sizeof name, " %s ", kind);
    return kinds != NULL && strcasestr(kinds, name) != NULL;
}

static bool is_loud(const struct came *it)
{
    if (it->item.to == TO_LOG)
        return false;
    const char *kind = kind_of(it).name;
    return !lists(core->quiet, kind) && !lists(quiet, kind) &&
           !(repeats && lists(core->quiet_in_time, kind));
}

static void print_came(const struct came *it)
{
    char fields[MESSAGE_LINE_MAX];
    if (it->item.to == TO_LOG) {
        printf("    > log %s\n", it->item.packet.message.waiting.text);
        return;
    }
    struct talk_kind kind = kind_of(it);
    const struct order *order = order_of(&it->item.packet);
    if (order != NULL && order->kind == ORDER_EVENT) {
        printf("    > event %s %s\n", order->event.name, order->event.members);
        return;
    }
    printf("    > %s ", it->to);
    for (const char *c = kind.name; *c != '\0'; c++)
        putchar(toupper(*c));
    const void *of = order != NULL ? (const void *)order : &it->item.packet.message;
    message_line_fields(kind.rows, of, fields);
    printf("%s", fields);
    message_line_fields(kind.common, of, fields);
    char *g = strstr(fields, " g="), *r = strstr(fields, " r=");
    for (int i = 0; i < 2; i++)
        if ((i == 0 ? g : r) != NULL)
            printf("%.*s", 1 + (int)strcspn((i == 0 ? g : r) + 1, " "), i == 0 ? g : r);
    const struct frame *payload = it->item.packet.payload;
    if (payload != NULL && payload->bytes >= sizeof(float))
        printf(" values=%gx%zu", (double)*(const float *)payload->data, payload->bytes / 4);
    printf("\n");
}

/* Where time has passed one of each kind to each receiver will do. */
static void print_all_came(bool loud_only)
{
    for (unsigned i = 0; i < came_count; i++) {
        bool again = false;
        for (unsigned k = 0; k < i && repeats && came[i].item.to != TO_LOG; k++)
            again |= strcmp(came[k].to, came[i].to) == 0 && !came[k].said &&
                     kind_of(&came[k]).rows == kind_of(&came[i]).rows;
        if (!again && !came[i].said && (!loud_only || is_loud(&came[i])))
            print_came(&came[i]);
    }
}

void talk_fail(const char *format, ...)
{
    va_list arguments;
    const struct line *line = &lines[stack[depth - 1]];
    printf("%s:%u: %s\n    ", line->file, line->number, line->text);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    for (unsigned i = depth - 1; i-- > 0;)
        printf("    in %s:%u: %s\n", lines[stack[i]].file, lines[stack[i]].number,
               lines[stack[i]].text);
    fflush(stdout);
    ck_abort_msg("%s:%u", line->file, line->number);
}

/* --- what comes ------------------------------------------------------------------------------------ */

void talk_forget(void)
{
    for (unsigned i = 0; i < came_count; i++)
        if (unread && unread_count < sizeof unread_frames / sizeof *unread_frames)
            unread_frames[unread_count++] = came[i].item.packet.payload;
        else
            frame_release(came[i].item.packet.payload);
    while (!unread && unread_count > 0)
        frame_release(unread_frames[--unread_count]);
    came_count = 0;
    repeats = false;
}

static void name_receiver(const struct outgoing *item, char to[24])
{
    static const char *const names[] = {
        [TO_PEER] = "peer",       [TO_SERVER] = "ps",   [TO_COORDINATOR] = "coordinator",
        [TO_ROUTER] = "router",   [TO_OWNER] = "owner", [TO_CHECKPOINTER] = "checkpointer",
        [TO_TRAINER] = "trainer", [TO_LOG] = "log"};
    uint64_t peer = item->packet.peer;
    if (item->to == TO_PEER && peer == PEER_LOCAL)
        snprintf(to, 24, "ps/0");
    else if (item->to == TO_PEER)
        snprintf(to, 24, "%s/%u",
                 peer >= TALK_SERVERS   ? "ps"
                 : peer >= TALK_WORKERS ? "worker"
                                        : "peer",
                 (uint32_t)peer);
    else if (item->to == TO_SERVER || item->to == TO_OWNER)
        snprintf(to, 24, "%s/%u", names[item->to], item->index);
    else
        snprintf(to, 24, "%s", names[item->to]);
}

void talk_take(void)
{
    struct outgoing item;
    while (outbox_take(&talk_outbox, &item)) {
        if (came_count == came_room) {
            came_room = 2 * came_room + 64;
            came = realloc(came, came_room * sizeof *came);
        }
        struct came *it = &came[came_count++];
        *it = (struct came){.item = item};
        name_receiver(&item, it->to);
        latest[order_of(&item.packet) == NULL ? item.packet.message.kind : 0] =
            item.packet.message.request;
        if (core->hear != NULL)
            core->hear(&item);
        if (verbose)
            print_came(it);
    }
}

/* All that came was said: the next line makes other things come. */
static void settle(void)
{
    for (unsigned i = 0; i < came_count; i++)
        if (!came[i].said && is_loud(&came[i])) {
            printf("what came before this line, and no line says:\n");
            print_all_came(true);
            talk_fail("the talk says nothing of that");
        }
    talk_forget();
}

void talk_open(void)
{
    if (core == NULL)
        talk_fail("of which core?");
    if (!opened)
        core->open();
    opened = true;
}

void talk_pass(double seconds, void (*beat)(void))
{
    uint64_t end_us = talk_now_us + (uint64_t)(seconds * TALK_SECOND + 0.5);
    talk_open();
    do {
        uint64_t left_us = end_us - talk_now_us;
        talk_now_us += left_us < TALK_SECOND / 10 ? left_us : TALK_SECOND / 10;
        if (beat != NULL)
            beat();
        core->tick();
        talk_take();
    } while (talk_now_us < end_us);
    repeats = true;
}

/* --- fields ------------------------------------------------------------------------------------------ */

bool talk_says(const struct words *said, const char *field)
{
    for (unsigned i = 0; i < said->count; i++)
        if (strncmp(said->word[i], field, strlen(field)) == 0 &&
            strchr("=~", said->word[i][strlen(field)]) != NULL)
            return true;
    return false;
}

double talk_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0')
        talk_fail("%s is no number", text);
    return number;
}

struct party talk_party(const char *text)
{
    struct party party = {{0}, 0};
    size_t length = strcspn(text, "/");
    snprintf(party.name, sizeof party.name, "%.*s", (int)length, text);
    if (text[length] == '/')
        party.index = (uint32_t)talk_number(text + length + 1);
    return party;
}

void talk_set(const struct message_field *rows, void *of, const struct words *said, unsigned first)
{
    static const struct message_field none = {.kind = FIELD_END};
    struct talk_kind kind = {.rows = rows, .common = &none};
    for (unsigned i = first; i < said->count; i++)
        if (!talk_field_set(&kind, of, said->word[i]))
            talk_fail("there is no %s", said->word[i]);
}

static const struct job_field *job_row(const char *said)
{
    for (size_t i = 0; i < job_field_count; i++)
        if (strlen(job_fields[i].member) == strcspn(said, "=") &&
            strncmp(job_fields[i].member, said, strcspn(said, "=")) == 0)
            return &job_fields[i];
    talk_fail("a job has no %s", said);
}

void talk_set_job(const struct words *said)
{
    for (unsigned i = 1; i < said->count; i++) {
        const struct job_field *field = job_row(said->word[i]);
        const char *value = said->word[i] + strcspn(said->word[i], "=");
        uint64_t number = 1;
        value += *value != '\0';
        if (field->kind == JOB_DIGEST)
            *(uint8_t *)job_field_in(field, &talk_job) = (uint8_t)talk_number(value);
        else if (field->kind == JOB_TEXT)
            snprintf(job_field_in(field, &talk_job), field->size, "%s", value);
        else if (field->kind == JOB_FLOAT || field->kind == JOB_FRACTION)
            *(float *)job_field_in(field, &talk_job) = (float)talk_number(value);
        else if (job_field_is_real(field))
            *(double *)job_field_in(field, &talk_job) = talk_number(value);
        else {
            if (field->kind != JOB_WORD && *value != '\0')
                number = strtoull(value, NULL, 10);
            else if (field->kind == JOB_WORD &&
                     job_field_number(field, value, &number) != STATUS_OK)
                talk_fail("no such word");
            job_field_set_whole(field, &talk_job, number);
        }
    }
}

/* "values=5x16": so many floats. */
static struct frame *frame_said(const char *value)
{
    char *end;
    float number = strtof(value, &end);
    return frame_of(number, *end == 'x' ? strtoul(end + 1, NULL, 10) : 16);
}

static bool values_are(const struct frame *payload, const char *value)
{
    char *end;
    float number = strtof(value, &end);
    size_t count = payload != NULL ? payload->bytes / sizeof(float) : 0;
    if (strcmp(value, "none") == 0)
        return payload == NULL;
    if (*end == 'x' && strtoul(end + 1, NULL, 10) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (((const float *)payload->data)[i] != number)
            return false;
    return count > 0;
}

/* "overtaken=20": staleness of so many gradients of worker 0, each overtaken by one. */
static struct frame *staleness_of(uint64_t count)
{
    struct staleness_share share = {count, count, 1};
    struct staleness_tally tally = {.all.expected = count, .workers = &share, .worker_count = 1};
    for (uint64_t i = 0; i < count; i++)
        histogram_add(&tally.all.shape, 1);
    return staleness_tally_frame(&tally);
}

static enum role role_said(const char *name)
{
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        if (strcmp(role_name((enum role)role), name) == 0)
            return (enum role)role;
    talk_fail("there is no role %s", name);
}

/* "r=LEASE": the request of the latest that came. */
static bool set_request(struct message *message, const char *said)
{
    struct talk_kind kind = talk_kind_of(said);
    if (kind.name == NULL || kind.is_order)
        return false;
    message->request = latest[kind.kind];
    return true;
}

static void set_packet(struct packet *packet, const struct talk_kind *kind, void *of,
                       const char *said)
{
    if (strncmp(said, "peer=", 5) == 0)
        packet->peer = (uint64_t)talk_number(said + 5);
    else if (strncmp(said, "index=", 6) == 0)
        packet->message.index = (uint32_t)talk_number(said + 6);
    else if (strncmp(said, "role=", 5) == 0)
        packet->message.role = role_said(said + 5);
    else if (strncmp(said, "raw=", 4) == 0)
        packet->payload = frame_create(strtoul(said + 4, NULL, 10));
    else if (strcmp(said, "values=none") == 0)
        return;
    else if (strncmp(said, "key=", 4) == 0)
        packet->key[0] = (uint8_t)talk_number(said + 4);
    else if (strncmp(said, "values=", 7) == 0)
        packet->payload = frame_said(said + 7);
    else if (strncmp(said, "overtaken=", 10) == 0)
        packet->payload = staleness_of((uint64_t)talk_number(said + 10));
    else if (strncmp(said, "r=", 2) == 0 && !kind->is_order &&
             set_request(&packet->message, said + 2))
        return;
    else if (!talk_field_set(kind, of, said))
        talk_fail("%s has no %s", kind->name, said);
}

static void *fields_of(struct packet *packet)
{
    return order_of(packet) != NULL ? (void *)(uintptr_t)order_of(packet) : &packet->message;
}

/* --- the lines that all talks have ----------------------------------------------------------------- */

/* < worker/1 PING step=3 */
static void give(const struct words *words)
{
    if (words->count < 3)
        talk_fail("< FROM KIND FIELD...");
    struct talk_kind kind = talk_kind_of(words->word[2]);
    if (kind.name == NULL)
        talk_fail("there is no message %s", words->word[2]);
    settle();
    talk_open();
    struct packet packet = {.message.kind = kind.is_order ? 0 : (enum message_kind)kind.kind};
    if (kind.is_order)
        packet = order_packet(&(struct order){.kind = (enum order_kind)kind.kind});
    for (unsigned i = 3; i < words->count; i++)
        set_packet(&packet, &kind, fields_of(&packet), words->word[i]);
    core->give(talk_party(words->word[1]), &packet, words);
    talk_take();
}

static uint64_t overtaken_in(struct frame *payload)
{
    struct staleness_tally tally = {0};
    if (payload == NULL || staleness_tally_read(&tally, payload) != STATUS_OK)
        return UINT64_MAX;
    uint64_t count = tally.all.shape.count;
    staleness_tally_free(&tally);
    return count;
}

static uint64_t whole_said(const char *value)
{
    return strcmp(value, "none") == 0 ? UINT64_MAX : strtoull(value, NULL, 10);
}

static bool field_is_as_said(struct packet *packet, const struct talk_kind *kind, const char *said)
{
    void *of = fields_of(packet);
    if (strncmp(said, "values=", 7) == 0)
        return values_are(packet->payload, said + 7);
    if (strncmp(said, "overtaken=", 10) == 0)
        return overtaken_in(packet->payload) == whole_said(said + 10);
    if (strncmp(said, "index=", 6) == 0)
        return packet->message.index == whole_said(said + 6);
    if (strncmp(said, "place=", 6) == 0)
        return packet->place == whole_said(said + 6);
    if (strcmp(said, "member") == 0 || strcmp(said, "member=no") == 0)
        return packet->member == (said[6] == '\0');
    if (talk_field(kind, &of, said) == NULL)
        talk_fail("%s has no %s", kind->name, said);
    return talk_field_is(kind, fields_of(packet), said);
}

static bool is_as_said(struct came *it, const struct words *words)
{
    const char *to = words->word[1];
    const struct order *order = order_of(&it->item.packet);
    if (strcmp(to, "log") == 0)
        return it->item.to == TO_LOG &&
               strstr(it->item.packet.message.waiting.text, words->rest[2]) != NULL;
    if (strcmp(to, "event") == 0)
        return order != NULL && order->kind == ORDER_EVENT &&
               strcmp(order->event.name, words->word[2]) == 0 &&
               (words->count < 4 || strstr(order->event.members, words->rest[3]) != NULL);
    struct talk_kind wanted = talk_kind_of(words->word[2]), kind = kind_of(it);
    if (wanted.name == NULL)
        talk_fail("there is no message %s", words->word[2]);
    if ((strcmp(to, "*") != 0 && strcmp(to, it->to) != 0) || it->item.to == TO_LOG ||
        wanted.is_order != kind.is_order || wanted.kind != kind.kind)
        return false;
    for (unsigned i = 3; i < words->count; i++)
        if (!field_is_as_said(&it->item.packet, &kind, words->word[i]))
            return false;
    return true;
}

/* The words without so many behind the first. */
static struct words behind(const struct words *words, unsigned count)
{
    struct words rest = *words;
    rest.count -= count;
    for (unsigned i = 1; i < rest.count; i++) {
        rest.word[i] = words->word[i + count];
        rest.rest[i] = words->rest[i + count];
    }
    return rest;
}

/* let old ps/0 EXCHANGE chunk=2: $old is the request of the latest that came. */
static void let(const struct words *words)
{
    struct words rest = behind(words, 1);
    if (rest.count < 3 || let_count == sizeof lets / sizeof *lets)
        talk_fail("let NAME TO KIND FIELD...");
    for (unsigned i = came_count; i-- > 0;)
        if (is_as_said(&came[i], &rest)) {
            struct binding *binding = &lets[let_count++];
            snprintf(binding->name, sizeof binding->name, "%s", words->word[1]);
            snprintf(binding->value, sizeof binding->value, "%" PRIu64,
                     came[i].item.packet.message.request);
            return;
        }
    talk_fail("that did not come");
}

/* > worker/1 START step=3     log, event: > log waits for     > event lost "index": 1     > * */
static void expect_came(const struct words *words)
{
    unsigned found = 0;
    if (words->count == 2 && strcmp(words->word[1], "*") == 0) {
        for (unsigned i = 0; i < came_count; i++)
            came[i].said = true;
        return;
    }
    if (words->count < 3)
        talk_fail("> TO KIND FIELD...");
    struct words rest = *words;
    unsigned wanted = 0;
    int at = 0;
    if (sscanf(words->word[1], "%ux%n", &wanted, &at) == 1 && at > 0 && words->word[1][at] == '\0')
        rest = behind(words, 1);
    for (unsigned i = 0; i < came_count && (found == 0 || repeats || wanted > 0); i++)
        if (!came[i].said && is_as_said(&came[i], &rest))
            came[i].said = ++found;
    if (found == 0 || (wanted > 0 && found != wanted)) {
        printf("came%s:\n", came_count > 0 ? "" : ": nothing");
        print_all_came(false);
        if (found > 0)
            talk_fail("that came %ux", found);
        talk_fail("that did not come");
    }
}

static void expect_not(const struct words *words)
{
    if (words->count < 3)
        talk_fail("! TO KIND FIELD...");
    for (unsigned i = 0; i < came_count; i++)
        if (is_as_said(&came[i], words)) {
            print_came(&came[i]);
            talk_fail("that came");
        }
}

/* expect staleness=1 waits~"for worker/1"     expect over     expect not over */
static void expect_figure(const struct words *words)
{
    bool denied = strcmp(words->word[1], "not") == 0;
    talk_open();
    for (unsigned i = denied ? 2 : 1; i < words->count; i++) {
        char text[MESSAGE_TEXT_MAX] = "", *said = words->word[i];
        char *value = said + strcspn(said, "=~");
        bool contains = *value == '~', bare = *value == '\0';
        if (!bare)
            *value++ = '\0';
        if (!core->figure(said, text, sizeof text))
            talk_fail("there is no figure %s", said);
        if (bare ? strcmp(text, denied ? "no" : "yes") != 0
                 : (contains ? strstr(text, value) == NULL : strcmp(text, value) != 0))
            talk_fail("%s is %s", said, text);
    }
}

static void end_core(void)
{
    unread = false;
    talk_forget();
    if (core != NULL)
        core->close();
    core = NULL;
    opened = false;
    job_free(&talk_job);
    outbox_free(&talk_outbox);
    talk_job = (struct job){0};
    quiet[0] = '\0';
    let_count = 0;
}

/* coordinator sync */
static bool begin_core(const struct words *words)
{
    const struct job_field *mode = job_field_find("mode");
    uint64_t number;
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
        if (strcmp(words->word[0], cores[i]->name) != 0)
            continue;
        if (words->count < 2 || job_field_number(mode, words->word[1], &number) != STATUS_OK)
            talk_fail("of which mode?");
        if (core != NULL) {
            settle();
            end_core();
        }
        core = cores[i];
        talk_now_us = TALK_SECOND;
        core->prepare((enum mode)number);
        return true;
    }
    return false;
}

/* --- running ------------------------------------------------------------------------------------------ */

static void run(unsigned from, unsigned to);

static bool is_block(const char *text, const char *word)
{
    text += strspn(text, " ");
    return strncmp(text, word, strlen(word)) == 0 &&
           (text[strlen(word)] == ' ' || text[strlen(word)] == '\0');
}

/* The line of the end of the block that begins there. */
static unsigned end_of(unsigned line)
{
    unsigned open = 1;
    while (open > 0 && ++line < line_count) {
        open += is_block(lines[line].text, "def") || is_block(lines[line].text, "for");
        open -= is_block(lines[line].text, "end");
    }
    return line;
}

/* Of a name in a text, the innermost; NULL: there is none. */
static const char *value_of(const char *name, size_t length)
{
    for (unsigned i = bound_count + let_count; i-- > 0;) {
        const struct binding *binding = i < let_count ? &lets[i] : &bound[i - let_count];
        if (strlen(binding->name) == length && strncmp(binding->name, name, length) == 0)
            return binding->value;
    }
    return NULL;
}

static void bind(const char *name, size_t length, const char *value)
{
    if (bound_count == sizeof bound / sizeof *bound)
        talk_fail("too many names");
    snprintf(bound[bound_count].name, sizeof bound->name, "%.*s", (int)length, name);
    snprintf(bound[bound_count++].value, sizeof bound->value, "%s", value);
}

/* $name, and $name+1 or $name-1, in the text. */
static void substitute(const char *text, char *to, size_t size)
{
    size_t used = 0;
    while (*text != '\0' && used + 256 < size) {
        size_t length = *text == '$' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        const char *value = length > 0 ? value_of(text + 1, length) : NULL;
        if (value == NULL) {
            to[used++] = *text++;
            continue;
        }
        text += 1 + length;
        char *end = NULL;
        bool sum = (*text == '+' || *text == '-') && isdigit(text[1]);
        long plus = sum ? strtol(text, &end, 10) : 0;
        used += (size_t)(sum ? snprintf(to + used, size - used, "%ld", atol(value) + plus)
                             : snprintf(to + used, size - used, "%s", value));
        text = sum ? end : text;
    }
    to[used] = '\0';
}

/* Words end at blanks that are not in quotes; quotes go. `text` is cut, `whole` is what rest points into. */
static struct words cut(char *text, const char *whole)
{
    struct words words = {0};
    const char *begin = text;
    while (*(text += strspn(text, " ")) != '\0' && words.count < 32) {
        bool quoted = false;
        char *to = text;
        words.rest[words.count] = whole + (text - begin);
        words.word[words.count++] = text;
        for (; *text != '\0' && (quoted || *text != ' '); text++)
            if (*text == '"')
                quoted = !quoted;
            else
                *to++ = *text;
        text += *text != '\0';
        *to = '\0';
    }
    for (unsigned i = words.count; i < 32; i++)
        words.rest[i] = words.word[i] = text;
    return words;
}

/* for $step in 0..5     for $mode in sync async */
static void run_for(unsigned line, const struct words *words)
{
    char range[16];
    unsigned first, last;
    if (words->count < 4 || words->word[1][0] == '\0')
        talk_fail("for NAME in VALUE...");
    bool numbers = sscanf(words->word[3], "%u..%u", &first, &last) == 2;
    for (unsigned i = 0; i < (numbers ? last - first + 1 : words->count - 3); i++) {
        snprintf(range, sizeof range, "%u", numbers ? first + i : 0);
        bind(words->word[1], strlen(words->word[1]), numbers ? range : words->word[3 + i]);
        run(line + 1, end_of(line));
        bound_count--;
    }
}

static bool run_def(const struct words *words)
{
    for (unsigned i = 0; i < line_count; i++) {
        char name[256], text[256];
        if (!is_block(lines[i].text, "def"))
            continue;
        snprintf(text, sizeof text, "%s", lines[i].text);
        snprintf(name, sizeof name, "%s", text);
        struct words def = cut(text, name);
        if (strcmp(def.word[1], words->word[0]) != 0)
            continue;
        if (def.count - 2 != words->count - 1)
            talk_fail("%s takes %u words", def.word[1], def.count - 2);
        for (unsigned k = 2; k < def.count; k++)
            bind(def.word[k], strlen(def.word[k]), words->word[k - 1]);
        run(i + 1, end_of(i));
        bound_count -= def.count - 2;
        return true;
    }
    return false;
}

static void run_words(unsigned line, const struct words *words)
{
    const char *verb = words->word[0];
    if (strcmp(verb, "for") == 0)
        run_for(line, words);
    else if (strcmp(verb, "<") == 0)
        give(words);
    else if (strcmp(verb, ">") == 0)
        expect_came(words);
    else if (strcmp(verb, "!") == 0)
        expect_not(words);
    else if (strcmp(verb, "expect") == 0)
        expect_figure(words);
    else if (strcmp(verb, "job") == 0)
        talk_set_job(words);
    else if (strcmp(verb, "let") == 0)
        let(words);
    else if (strcmp(verb, "quiet") == 0)
        snprintf(quiet, sizeof quiet, " %s ", words->rest[1]);
    else if (strcmp(verb, "stand") == 0) {
        settle();
        talk_now_us += (uint64_t)(talk_number(words->word[1]) * TALK_SECOND + 0.5);
    } else if (strcmp(verb, "unread") == 0 || strcmp(verb, "read") == 0) {
        settle();
        unread = verb[0] == 'u';
    } else if (strcmp(verb, "tick") == 0) {
        settle();
        talk_pass(talk_number(words->word[1]), NULL);
    } else if (!begin_core(words) && !run_def(words)) {
        if (core == NULL)
            talk_fail("of which core?");
        settle();
        if (!core->say(words))
            talk_fail("nobody knows this word");
        talk_take();
    }
}

static void run(unsigned from, unsigned to)
{
    for (unsigned line = from; line < to; line++) {
        char whole[4096], text[4096];
        size_t blank = strspn(lines[line].text, " ");
        if (lines[line].text[blank] == '\0' || lines[line].text[blank] == '#')
            continue;
        if (depth == DEPTH_MAX)
            talk_fail("too deep");
        stack[depth++] = line;
        substitute(lines[line].text, whole, sizeof whole);
        if (verbose)
            printf("%s\n", whole);
        snprintf(text, sizeof text, "%s", whole);
        struct words words = cut(text, whole);
        if (!is_block(whole, "def"))
            run_words(line, &words);
        if (is_block(whole, "def") || is_block(whole, "for"))
            line = end_of(line);
        depth--;
    }
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void read_file(const char *path)
{
    char text[4096], used[4096];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s does not open\n", path);
        exit(2);
    }
    for (unsigned number = 1; fgets(text, sizeof text, file) != NULL; number++) {
        text[strcspn(text, "\n")] = '\0';
        if (sscanf(text, "use %100s", used) == 1) {
            char beside[8192];
            snprintf(beside, sizeof beside, "%.*s%s.words", (int)(strrchr(path, '/') - path + 1),
                     path, used);
            read_file(strdup(beside));
        } else if (line_count < LINES_MAX)
            lines[line_count++] = (struct line){path, number, strdup(text)};
    }
    fclose(file);
}

/* Where talks begin. */
static unsigned titles[LINES_MAX], title_count;

START_TEST(hold)
{
    unsigned end = titles[_i] + 1;
    while (end < line_count && !is_block(lines[end].text, "talk"))
        end++;
    bound_count = depth = 0;
    stack[depth++] = titles[_i];
    run(titles[_i] + 1, end);
    if (core != NULL)
        settle();
    end_core();
}
END_TEST

int main(int argc, char **argv)
{
    char path[4096];
    verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    const char *name = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    snprintf(path, sizeof path, "tests/talks/%s.talk", name);
    read_file(argc > 1 + verbose ? argv[1 + verbose] : path);
    for (unsigned i = 0; i < line_count; i++)
        if (is_block(lines[i].text, "talk"))
            titles[title_count++] = i;
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 480);
    tcase_add_loop_test(tcase, hold, 0, (int)title_count);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 || title_count == 0;
}
