/* test_event.c - rows name fields that there are, and an event becomes the text that its row says. */

#include "common/events/event.h"

#include <math.h>
#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(every_row_can_be_written)
{
    struct event event = {0};
    const char **const texts[] = {&event.arithmetic, &event.file, &event.host, &event.mode,
                                  &event.role,       &event.text, &event.why};
    char text[EVENT_MEMBERS_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = "words";
    for (unsigned kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        const struct event_row *row = &event_rows[kind];
        event.kind = (enum event_kind)kind;
        ck_assert_ptr_nonnull(row->name);
        ck_assert_msg(row->sentence != NULL || row->members != NULL, "nobody hears of %s",
                      row->name);
        if (row->members != NULL) {
            event_members(&event, text, sizeof text);
            ck_assert_msg(text[0] == '"', "%s: %s", row->name, text);
        }
        if (row->line != NULL) {
            event_line(&event, text, sizeof text);
            ck_assert_msg(strpbrk(text, "{}") == NULL, "%s", text);
        }
    }
}

TEST_PLAIN(members_have_their_decimals_and_what_is_not_finite_is_null)
{
    char text[EVENT_MEMBERS_MAX];
    struct event event = {.kind = EVENT_EVALUATION_ALONE,
                          .epoch = 3,
                          .step = 40,
                          .test_loss = 0.1,
                          .test_accuracy = (double)INFINITY,
                          .seconds = 1.5};
    event_members(&event, text, sizeof text);
    ck_assert_str_eq(
        text,
        "\"epoch\": 3, \"step\": 40, \"test_loss\": 0.1, \"test_accuracy\": null, "
        "\"regularisation_loss\": 0.0, \"seconds\": 1.500000, \"training_seconds\": 0.000000");
    event = (struct event){.kind = EVENT_WAITING, .text = "it said \"no\"\n"};
    event_members(&event, text, sizeof text);
    ck_assert_str_eq(text, "\"text\": \"it said \\\"no\\\"\\u000a\"");
}

TEST_PLAIN(half_an_event_is_never_written)
{
    char said[EVENT_MEMBERS_MAX], text[EVENT_MEMBERS_MAX];
    memset(said, 'x', sizeof said - 1);
    said[sizeof said - 1] = '\0';
    const struct event event = {.kind = EVENT_WAITING, .text = said};
    event_members(&event, text, sizeof text);
    ck_assert_str_eq(text, "");
    said[sizeof said - 1 - strlen("\"text\": \"\"")] = '\0'; /* What just fits. */
    event_members(&event, text, sizeof text);
    ck_assert_uint_eq(strlen(text), sizeof text - 1);
}

TEST_PLAIN(a_line_says_its_fields_and_is_cut)
{
    char text[64];
    const struct event event = {
        .kind = EVENT_JOINED, .role = "worker", .index = 7, .host = "alpha", .arithmetic = "avx2"};
    event_line(&event, text, sizeof text);
    ck_assert_str_eq(text, "worker/7 joined from alpha (avx2)");
    event_line(&event, text, 9);
    ck_assert_str_eq(text, "worker/7");
}

static void count_one(void *context, const struct event *event)
{
    ++*(unsigned *)context;
    ck_assert_str_eq(event->origin.file, __FILE__);
}

TEST_PLAIN(only_what_is_wanted_is_heard)
{
    unsigned count = 0;
    const struct listener listener = {
        .kinds = UINT64_C(1) << EVENT_CUT, .take = count_one, .context = &count};
    event(&listener, EVENT_CUT, .step = 1);
    event(&listener, EVENT_PART, .step = 1);
    event((const struct listener *)NULL, EVENT_CUT, .step = 1);
    ck_assert_uint_eq(count, 1);
}

int main(void)
{
    return suite_run("event", NULL);
}
