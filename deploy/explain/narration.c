/* narration.c - finds the receiver of each message, groups similar entries, and prints them. A
 * peer's own messages show its name in the transport: a server never sends the first message. */

#include "deploy/explain/narration.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/wording.h"
#include "common/process/terminal.h"
#include "deploy/engine/message_line.h"

#define INDENT 6 /* Of texts: the longest name of a function must fit a page. */

/* Things that are alike, at the place of the first of them. */
struct group {
    const struct process_log_entry *entry; /* The first. */
    struct words words;                    /* Its. */
    char who[32], whom[32];                /* whom: "" of an event, "?": not known. */
    uint64_t heard_ns;                     /* When the first was heard; 0: it was not. */
    uint32_t *chunks;                      /* [more] of the others. Owned. */
    size_t more, room, unheard;
};

struct story {
    const struct narration *narration;
    struct process_log_entry *entries; /* [count] in order. */
    size_t count;
    bool full;             /* What came then is not in it. */
    bool *matched;         /* [count] of what was heard: it is known what was said. */
    struct group **groups; /* [group_count], owned. */
    size_t group_count, group_room;
    uint64_t said[MESSAGE_KIND_COUNT];
};

/* --- who spoke to whom ------------------------------------------------------------------------ */

static bool is_of(const struct process_log_entry *entry, enum role role, uint32_t index)
{
    return entry->role == role && entry->index == index;
}

/* Who is at the other end of what entry number i says; false when that cannot be known. */
static bool find_receiver(const struct story *story, size_t i, enum role *role, uint32_t *index)
{
    const struct process_log_entry *said = &story->entries[i];
    if (said->to_server) {
        *role = ROLE_PS;
        *index = (uint32_t)said->other;
        return true;
    }
    while (i-- > 0) {
        const struct process_log_entry *heard = &story->entries[i];
        if (heard->kind != LOGGED_HEARD || heard->to_server || heard->other != said->other ||
            !is_of(heard, said->role, said->index))
            continue;
        *role = heard->message.role;
        *index = heard->message.index;
        return true;
    }
    return false;
}

/* When the other end heard it, in its own log; between two processes the order is kept. */
static uint64_t find_heard(const struct story *story, size_t i, enum role role, uint32_t index)
{
    const struct process_log_entry *said = &story->entries[i];
    for (size_t k = i + 1; k < story->count; k++) {
        const struct process_log_entry *heard = &story->entries[k];
        if (heard->kind != LOGGED_HEARD || story->matched[k] || !is_of(heard, role, index) ||
            heard->message.kind != said->message.kind ||
            heard->message.request != said->message.request ||
            heard->payload_bytes != said->payload_bytes ||
            !is_of(said, heard->message.role, heard->message.index))
            continue;
        story->matched[k] = true;
        return heard->time_ns;
    }
    return 0;
}

/* Which kind of question it answers: the latest with its number, from that end. */
static enum message_kind find_question(const struct story *story, size_t i)
{
    const struct process_log_entry *said = &story->entries[i];
    if (said->to_server || said->message.request == 0)
        return MESSAGE_NONE;
    while (i-- > 0) {
        const struct process_log_entry *heard = &story->entries[i];
        if (heard->kind == LOGGED_HEARD && is_of(heard, said->role, said->index) &&
            heard->other == said->other && heard->message.request == said->message.request)
            return heard->message.kind;
    }
    return MESSAGE_NONE;
}

/* --- putting together ------------------------------------------------------------------------- */

static bool is_alike(const struct group *a, const struct group *b)
{
    return a->entry->kind == b->entry->kind && strcmp(a->who, b->who) == 0 &&
           strcmp(a->whom, b->whom) == 0 && strcmp(a->entry->source, b->entry->source) == 0 &&
           strcmp(a->words.like, b->words.like) == 0;
}

/* Whether it tells something of a chunk between these two, or of one of them. */
static bool is_of_chunk(const struct group *group, const struct group *one)
{
    bool found = group->words.chunk == one->words.chunk;
    for (size_t i = 0; i < group->more; i++)
        found = found || group->chunks[i] == one->words.chunk;
    bool event = group->whom[0] == '\0' || one->whom[0] == '\0';
    bool back = strcmp(group->who, one->whom) == 0 && strcmp(group->whom, one->who) == 0;
    return found &&
           (strcmp(group->who, one->who) == 0 ? event || strcmp(group->whom, one->whom) == 0
                                              : back);
}

/* The last group that it can join. NULL: there is none, or a later group is about its chunk, as the
 * question that it answers. */
static struct group *find_group(const struct story *story, const struct group *one)
{
    for (size_t i = story->narration->singly ? 0 : story->group_count; i-- > 0;) {
        struct group *group = story->groups[i];
        if (is_alike(group, one))
            return group;
        if (one->words.chunk != WORDS_NO_CHUNK && is_of_chunk(group, one))
            return NULL;
    }
    return NULL;
}

static enum status add_to(struct group *group, const struct group *one)
{
    uint32_t *chunks = array_room(group->chunks, group->more, &group->room, sizeof *chunks);
    if (chunks == NULL)
        return STATUS_MEMORY;
    group->chunks = chunks;
    group->chunks[group->more++] = one->words.chunk;
    group->unheard += one->unheard;
    return STATUS_OK;
}

static enum status add(struct story *story, const struct group *one)
{
    struct group *like = find_group(story, one);
    if (like != NULL)
        return add_to(like, one);
    struct group **groups =
        array_room(story->groups, story->group_count, &story->group_room, sizeof(struct group *));
    if (groups == NULL)
        return STATUS_MEMORY;
    story->groups = groups;
    struct group *group = malloc(sizeof *group);
    if (group == NULL)
        return STATUS_MEMORY;
    *group = *one;
    story->groups[story->group_count++] = group;
    return STATUS_OK;
}

static void look_at_message(struct story *story, size_t i, struct group *one)
{
    enum role role;
    uint32_t index;
    snprintf(one->whom, sizeof one->whom, "?");
    story->said[one->entry->message.kind]++;
    if (find_receiver(story, i, &role, &index)) {
        snprintf(one->whom, sizeof one->whom, "%s/%u", role_name(role), index);
        one->heard_ns = find_heard(story, i, role, index);
    }
    one->unheard = one->heard_ns == 0;
}

static enum status look_at(struct story *story, size_t i)
{
    const struct process_log_entry *entry = &story->entries[i];
    struct group one = {.entry = entry};
    struct moment moment = {
        .entry = entry, .job = story->narration->job, .partition = story->narration->partition};
    if (entry->kind == LOGGED_HEARD)
        return STATUS_OK;
    snprintf(one.who, sizeof one.who, "%s/%u", role_name(entry->role), entry->index);
    if (entry->kind == LOGGED_SAID) {
        look_at_message(story, i, &one);
        moment.question = find_question(story, i);
    }
    words_write(&one.words, &moment);
    return add(story, &one);
}

/* As proto/PROTOCOL.md writes it. */
static struct wording kind_name(enum message_kind kind)
{
    struct wording name;
    size_t i = 0;
    for (const char *from = message_kind_name(kind); from[i] != '\0'; i++)
        name.text[i] = from[i] >= 'a' && from[i] <= 'z' ? (char)(from[i] - 'a' + 'A') : from[i];
    name.text[i] = '\0';
    return name;
}

/* --- printing --------------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* "2 to 4 and 7": runs of three and more are drawn together. */
static void list_chunks(const struct group *group, char *text, size_t size)
{
    size_t i = 0;
    while (i < group->more) {
        size_t end = i + 1;
        while (end < group->more && group->chunks[end] == group->chunks[end - 1] + 1)
            end++;
        if (end - i < 3)
            end = i + 1;
        const char *before = i == 0 ? "" : end == group->more ? " and " : ", ";
        if (end - i > 1)
            wording_append(text, size, "%s%u to %u", before, group->chunks[i],
                           group->chunks[end - 1]);
        else
            wording_append(text, size, "%s%u", before, group->chunks[i]);
        i = end;
    }
}

static void add_others(struct group *group, char *text, size_t size)
{
    char chunks[512] = "";
    bool repeated = group->words.chunk == WORDS_NO_CHUNK;
    if (group->more == 0)
        return;
    qsort(group->chunks, group->more, sizeof *group->chunks, by_number);
    for (size_t i = 1; i < group->more; i++)
        repeated = repeated || group->chunks[i] == group->chunks[i - 1];
    wording_append(text, size, " And %s more like it", wording_count(group->more).text);
    list_chunks(group, chunks, sizeof chunks);
    if (!repeated && strlen(chunks) + 1 < sizeof chunks)
        wording_append(text, size, ", for %s %s", group->more == 1 ? "chunk" : "chunks", chunks);
    wording_append(text, size, ".");
}

static void print_group(FILE *out, const struct story *story, struct group *group)
{
    const struct process_log_entry *entry = group->entry;
    bool message = entry->kind == LOGGED_SAID;
    double ms = (double)(entry->time_ns - story->entries[0].time_ns) * 1e-6;
    char text[WORDS_TEXT_MAX + 1024] = "";
    bool bold = terminal_has_colour(out);
    if (message)
        fprintf(out, "%9.3f ms  %s -> %s  %s%s%s\n", ms, group->who, group->whom,
                bold ? "\033[1m" : "", kind_name(entry->message.kind).text, bold ? "\033[0m" : "");
    else
        fprintf(out, "%9.3f ms  %s\n", ms, group->who);
    wording_append(text, sizeof text, message ? "\"%s\"" : "%s", group->words.text);
    add_others(group, text, sizeof text);
    if (group->unheard > 0 && !story->full)
        wording_append(text, sizeof text, " (%s not received.)",
                       group->more > 0 ? wording_counted(group->unheard, "was", "were").text
                                       : "It was");
    wording_append(text, sizeof text, " (%s)", entry->source);
    fprintf(out, "%*s", INDENT, "");
    wording_wrap(out, text, INDENT, INDENT);
}

/* All its fields, and when it was there. */
static void print_fields(FILE *out, const struct group *group)
{
    char line[MESSAGE_LINE_MAX + 64];
    if (group->entry->kind != LOGGED_SAID)
        return;
    message_line(&group->entry->message, line);
    if (group->heard_ns != 0)
        wording_append(line, sizeof line, ", heard %.3f ms later",
                       (double)(group->heard_ns - group->entry->time_ns) * 1e-6);
    fprintf(out, "%*s", INDENT, "");
    wording_wrap(out, line, INDENT, INDENT);
}

/* What comes with this entry: 1 when training begins, 2 when it ends, 0 when nothing does. */
static unsigned begins(const struct process_log_entry *entry)
{
    if (entry->kind == LOGGED_SAID)
        return entry->message.kind == MESSAGE_START  ? 1
               : entry->message.kind == MESSAGE_DONE ? 2
                                                     : 0;
    return entry->event.kind == EVENT_GIVEN ? 1 : entry->event.kind == EVENT_SUMMARY ? 2 : 0;
}

static void print_groups(FILE *out, const struct story *story)
{
    static const char *const titles[] = {"Before it begins", "Training", "The end"};
    unsigned chapter = 0;
    fprintf(out, "\n%s\n\n", titles[0]);
    for (size_t i = 0; i < story->group_count; i++) {
        unsigned next = begins(story->groups[i]->entry);
        if (next > chapter) {
            fprintf(out, "\n%s\n\n", titles[next]);
            chapter = next;
        }
        print_group(out, story, story->groups[i]);
        if (story->narration->singly)
            print_fields(out, story->groups[i]);
    }
}

static void print_opening(FILE *out, const struct narration *narration)
{
    char text[1024];
    const struct job *job = narration->job;
    snprintf(text, sizeof text, "%s: %s", job_mode_text(job).text, job_mode(job)->explanation);
    if (narration->partition->chunk_count == 0)
        snprintf(
            text, sizeof text,
            "%s without servers: there is one process, and so there are no messages. It "
            "computes the leaves of a batch one after the other, adds them up along the same tree "
            "as servers would, and makes one update of all variables.",
            job_mode_text(job).text);
    fprintf(out, "\n");
    wording_wrap(out, text, 0, 0);
    if (job->colocated) {
        fprintf(out, "\n");
        wording_wrap(out,
                     "A worker and the server of the same number share a place (worker/0 and ps/0, "
                     "and so on): what these two say to each other does not leave it.",
                     0, 0);
    }
    fprintf(out, "\n");
    wording_wrap(out,
                 "Below are the messages as they were sent, and what was done between them: when "
                 "(from the first of them on), who to whom, which kind, what it says, and where in "
                 "the sources that was said.",
                 0, 0);
}

static void print_cut(FILE *out, const struct story *story)
{
    char text[512];
    double ms =
        (double)(story->entries[story->count - 1].time_ns - story->entries[0].time_ns) * 1e-6;
    snprintf(
        text, sizeof text,
        "What came after %.0f ms is not shown: there are more messages than the %s that are kept "
        "of them. Fewer steps, workers or servers, or larger chunks (--chunk-bytes), have fewer.",
        ms, wording_bytes(PROCESS_LOG_BYTES_MAX).text);
    fprintf(out, "\n");
    wording_wrap(out, text, 0, 0);
}

static void print_counts(FILE *out, const struct story *story)
{
    uint64_t all = 0;
    char text[1024] = "";
    const char *before = ": ";
    for (unsigned i = 0; i < MESSAGE_KIND_COUNT; i++)
        all += story->said[i];
    if (all == 0) {
        fprintf(out, "\n0 messages in all.\n\n");
        return;
    }
    snprintf(text, sizeof text, "%s %s", wording_counted(all, "message", "messages").text,
             story->full ? "up to there" : "in all");
    for (unsigned i = 0; i < MESSAGE_KIND_COUNT; i++) {
        if (story->said[i] == 0)
            continue;
        wording_append(text, sizeof text, "%s%s %s", before, wording_count(story->said[i]).text,
                       kind_name((enum message_kind)i).text);
        before = ", ";
    }
    wording_append(text, sizeof text, ". proto/PROTOCOL.md has all of what they may say.");
    fprintf(out, "\n");
    wording_wrap(out, text, 0, 0);
    fprintf(out, "\n");
}

/* --- the whole -------------------------------------------------------------------------------- */

static void story_free(struct story *story)
{
    for (size_t i = 0; i < story->group_count; i++) {
        free(story->groups[i]->chunks);
        free(story->groups[i]);
    }
    free(story->groups);
    free(story->matched);
    free(story->entries);
}

enum status narration_print(FILE *out, const struct narration *narration, int file,
                            struct error *error)
{
    struct story story = {.narration = narration};
    enum status status = process_log_read(file, &story.entries, &story.count, error);
    bool damaged = status == STATUS_INVALID;
    story.full = process_log_is_full(file);
    if (damaged)
        status = STATUS_OK;
    if (status == STATUS_OK && (story.matched = calloc(story.count + 1, sizeof(bool))) == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory for the process log");
    for (size_t i = 0; i < story.count && status == STATUS_OK; i++)
        if (look_at(&story, i) != STATUS_OK)
            status = error_set(error, STATUS_MEMORY, "out of memory for the process log");
    if (status == STATUS_OK && story.count > 0) {
        print_opening(out, narration);
        print_groups(out, &story);
        if (story.full)
            print_cut(out, &story);
        print_counts(out, &story);
    }
    story_free(&story);
    return damaged && status == STATUS_OK ? STATUS_INVALID : status;
}
