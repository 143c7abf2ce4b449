/* test_words.c - every message and every event has words, in every mode; what stands in braces is
 * known; and what is put together is what differs in chunk or time alone. */
/* promises: explain */

#include "deploy/explain/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ps/mode/shard_mode.h"
#include "ps/mode/work_mode.h"
#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"
#include "worker/mode/follow_mode.h"

/* --- the table is whole ----------------------------------------------------------------------- */

static void check_kinds(const struct words_row *rows, size_t count, unsigned first, unsigned end)
{
    for (unsigned kind = first; kind < end; kind++) {
        size_t always = 0;
        for (size_t i = 0; i < count; i++) {
            if (rows[i].kind != kind)
                continue;
            ck_assert_msg(always == 0, "row %zu is never reached: kind %u", i, kind);
            always += rows[i].when == NULL;
        }
        ck_assert_msg(always == 1, "kind %u has no words for every case", kind);
    }
}

TEST_PLAIN(every_message_and_every_event_has_words)
{
    check_kinds(words_of_messages, words_of_messages_count, MESSAGE_NONE + 1, MESSAGE_KIND_COUNT);
    check_kinds(words_of_events, words_of_events_count, 0, EVENT_KIND_COUNT);
}

/* How many braces there are; all of them must mean something. */
static unsigned check_braces(bool event, unsigned kind, const char *text)
{
    unsigned count = 0;
    for (const char *at = strchr(text, '{'); at != NULL; at = strchr(at + 1, '{'), count++) {
        char name[64];
        size_t length = strcspn(at, "}");
        ck_assert_msg(at[length] == '}' && length < sizeof name, "no end of a brace: %s", text);
        snprintf(name, sizeof name, "%.*s", (int)length - 1, at + 1);
        bool of_mode = false;
        for (unsigned mode = 0; strncmp(name, "mode.", 5) == 0 && mode < MODE_COUNT; mode++) {
            const char *words = words_of_mode(&(struct job){.mode = (enum mode)mode}, name + 5);
            if (words != NULL) /* Not every mode has all, as sync leases nothing. */
                count += check_braces(event, kind, words);
            of_mode |= words != NULL;
        }
        ck_assert_msg(of_mode || words_knows(event, kind, name), "{%s} means nothing in: %s", name,
                      text);
    }
    return count;
}

static unsigned check_rows(bool event, const struct words_row *rows, size_t count)
{
    unsigned braces = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].text != NULL) /* An event that --explain says nothing of. */
            braces += check_braces(event, rows[i].kind, rows[i].text);
    return braces;
}

TEST_PLAIN(what_stands_in_braces_is_a_field)
{
    ck_assert_uint_gt(check_rows(false, words_of_messages, words_of_messages_count), 50);
    ck_assert_uint_gt(check_rows(true, words_of_events, words_of_events_count), 30);
    ck_assert(!words_knows(false, MESSAGE_EXCHANGE, "nothing"));
    ck_assert(!words_knows(false, MESSAGE_EXCHANGE, "@nothing"));
    ck_assert(!words_knows(true, EVENT_TAKEN, "node"));
}

/* Sync has no leases, and only sync lets answers wait. */
TEST_PLAIN(every_mode_says_what_is_its_own)
{
    for (unsigned mode = 0; mode < MODE_COUNT; mode++) {
        struct job job = {.mode = (enum mode)mode};
        bool steps = job_mode(&job)->steps;
        ck_assert_ptr_nonnull(job_mode(&job)->explanation);
        ck_assert_int_eq(work_mode_of(&job)->gives != NULL, !steps);
        ck_assert_int_eq(shard_mode_of(&job)->waits != NULL, job_mode(&job)->steps);
        ck_assert_ptr_nonnull(follow_mode_of(&job)->given);
    }
}

/* --- a message in words ----------------------------------------------------------------------- */

static struct words write_words(enum mode mode, const struct process_log_entry *entry)
{
    struct words words;
    struct job job = {.mode = mode, .optimizer.name = "adam", .server_count = 1};
    struct partition partition = {.chunk_count = 1};
    struct moment moment = {.entry = entry, .job = &job, .partition = &partition};
    words_write(&words, &moment);
    return words;
}

TEST_PLAIN(all_messages_can_be_told_in_every_mode)
{
    for (unsigned mode = 0; mode < MODE_COUNT; mode++)
        for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_KIND_COUNT; kind++)
            for (unsigned how = 0; how < 6; how++) {
                struct process_log_entry entry = {.kind = LOGGED_SAID,
                                                  .role = how % 2 ? ROLE_PS : ROLE_WORKER};
                if (kind == MESSAGE_WORK && job_mode(&(struct job){.mode = (enum mode)mode})->steps)
                    continue; /* Nobody leases anything. */
                entry.message = specimen(kind, (enum specimen)(how / 2));
                struct words words = write_words((enum mode)mode, &entry);
                ck_assert_uint_gt(strlen(words.text), 5);
                ck_assert_msg(strpbrk(words.text, "{}") == NULL, "%s", words.text);
                ck_assert_uint_lt(strlen(words.text), sizeof words.text - 1);
            }
}

TEST_PLAIN(an_exchange_says_what_it_brings_and_what_it_wants)
{
    struct process_log_entry entry = {
        .kind = LOGGED_SAID, .role = ROLE_WORKER, .payload_bytes = 163840};
    entry.message.kind = MESSAGE_EXCHANGE;
    entry.message.exchange = (struct message_exchange){.chunk = 3,
                                                       .step = 1234,
                                                       .base_version = 1234,
                                                       .gradient = true,
                                                       .node = {2, 2},
                                                       .examples = 32,
                                                       .want = true,
                                                       .want_version = 1235};
    struct words words = write_words(MODE_SYNC, &entry);
    ck_assert_str_eq(words.text, "Here is my gradient of step 1,234 for chunk 3 (40,960 values; "
                                 "leaves 2 to 3, summed over 32 examples), computed from version "
                                 "1,234. Give me version 1,235 when it is there.");
    ck_assert_uint_eq(words.chunk, 3);
    words = write_words(MODE_ASYNC, &entry);
    ck_assert_ptr_nonnull(strstr(words.text, "gradient of batch 1,234"));
    ck_assert_ptr_nonnull(strstr(words.text, "Give me the newest values."));
}

TEST_PLAIN(who_was_waited_for_is_named)
{
    struct process_log_entry entry = {.kind = LOGGED_SAID, .role = ROLE_PS};
    entry.message.kind = MESSAGE_WORK;
    entry.message.work = (struct message_work){.batch = 7, .waited = WAIT_BOUND, .whom = 3};
    struct words words = write_words(MODE_SSP, &entry);
    ck_assert_ptr_eq(strstr(words.text, "You had to wait for worker/2 (bound). Compute batch 7."),
                     words.text);
    entry.message.kind = MESSAGE_RESULT;
    entry.message.result =
        (struct message_result){.parameters = true, .held_us = 250, .held_for = 2};
    ck_assert_ptr_nonnull(strstr(write_words(MODE_SYNC, &entry).text,
                                 "held for 0.250 ms, until worker/1's gradient was in."));
}

TEST_PLAIN(alike_is_what_differs_in_chunk_and_time_alone)
{
    struct process_log_entry entry = {.kind = LOGGED_SAID, .role = ROLE_PS, .payload_bytes = 64};
    entry.message.kind = MESSAGE_RESULT;
    entry.message.result = (struct message_result){
        .chunk = 1, .verdict = VERDICT_APPLIED, .version = 7, .staleness = 1, .parameters = true};
    struct words first = write_words(MODE_ASYNC, &entry);
    entry.message.result.chunk = 2;
    entry.payload_bytes = 128;
    struct words other = write_words(MODE_ASYNC, &entry);
    ck_assert_str_ne(first.text, other.text);
    ck_assert_str_eq(first.like, other.like);
    entry.message.result.staleness = 2;
    ck_assert_str_ne(write_words(MODE_ASYNC, &entry).like, other.like);
    entry.message.result.staleness = 1;
    entry.message.result.version = 8;
    ck_assert_str_ne(write_words(MODE_ASYNC, &entry).like, other.like);
}

static const char *told_of(struct words *words, const struct event *event, uint32_t accumulate)
{
    const struct process_log_entry entry = {.kind = LOGGED_EVENT, .role = ROLE_PS, .event = *event};
    const struct job job = {
        .mode = MODE_ASYNC, .optimizer.name = "adam", .server_count = 1, .accumulate = accumulate};
    const struct partition partition = {.chunk_count = 1};
    const struct moment moment = {.entry = &entry, .job = &job, .partition = &partition};
    words_write(words, &moment);
    ck_assert_msg(strpbrk(words->text, "{}") == NULL, "%s", words->text);
    return words->text;
}

TEST_PLAIN(of_several_gradients_it_is_told_which_wait_and_what_their_update_is_made_of)
{
    struct words words;
    struct event event = {.kind = EVENT_ADDED, .members = 2, .examples = 64, .staleness = 5};
    const char *text = told_of(&words, &event, 4);
    ck_assert_ptr_nonnull(strstr(text, "waits there for more: it has 2 of 4 batches"));
    event.examples = 0;
    ck_assert_ptr_nonnull(strstr(told_of(&words, &event, 4), "without a gradient takes its place"));
    event = (struct event){.kind = EVENT_UPDATED, .members = 4, .examples = 256, .staleness = 5};
    text = told_of(&words, &event, 4);
    ck_assert_ptr_nonnull(strstr(text, "the last of 4 batches in a group"));
    ck_assert_ptr_nonnull(strstr(text, "its 256 examples"));
    ck_assert_ptr_nonnull(strstr(text, "The greatest staleness among them is 5"));
    event.members = 3;
    ck_assert_ptr_nonnull(strstr(told_of(&words, &event, 4), "open group: 3 of 4. No more are"));
    event.members = 1;
    ck_assert_ptr_nonnull(strstr(told_of(&words, &event, 1), "at once, without waiting"));
    event = (struct event){.kind = EVENT_SKIPPED, .members = 4};
    ck_assert_ptr_nonnull(
        strstr(told_of(&words, &event, 4), "no batch had a gradient; there were 4"));
}

int main(void)
{
    return suite_run("words", NULL);
}
