/* test_transcript.c - a transcript's digest changes with everything that happens, and with nothing
 * else. */

#include "deploy/engine/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/specimens.h"
#include "tests/lib/suite.h"

/* A message taken off the wire, or something else that happened. */
struct happening {
    uint64_t time_us;
    const char *process, *sender;
    struct message message;
    const char *payload; /* NULL for none. */
};

static const struct happening usual = {
    .time_us = 17,
    .process = "ps/0 (0)",
    .sender = "worker/1 (2)",
    .message = {.kind = MESSAGE_EXCHANGE, .exchange = {.step = 4, .gradient = true}},
    .payload = "bits",
};

static void happen(struct transcript *transcript, const struct happening *it)
{
    struct frame *payload = NULL;
    if (it->payload != NULL) {
        payload = frame_create(strlen(it->payload));
        ck_assert_ptr_nonnull(payload);
        memcpy(payload->data, it->payload, payload->bytes);
    }
    uint8_t header[HEADER_BYTES_MAX];
    size_t count = message_encode(&it->message, header);
    transcript_message(transcript, it->time_us, it->process, it->sender, &it->message, header,
                       count, payload);
    frame_release(payload);
}

static void begin(struct transcript *transcript, enum mode mode)
{
    struct job job = specimen_job(mode);
    ck_assert(transcript_init(transcript, &job, false) == STATUS_OK);
    job_free(&job);
}

/* Whether two transcripts of one happening each are the same. */
static bool alike(enum mode a_mode, const struct happening *a, enum mode b_mode,
                  const struct happening *b)
{
    struct transcript first, second;
    begin(&first, a_mode);
    begin(&second, b_mode);
    happen(&first, a);
    happen(&second, b);
    bool same = memcmp(first.digest, second.digest, HASH_BYTES) == 0;
    transcript_free(&first);
    transcript_free(&second);
    return same;
}

#define DIFFERS(field, value)                                                                      \
    do {                                                                                           \
        struct happening other = usual;                                                            \
        other.field = (value);                                                                     \
        ck_assert_msg(!alike(MODE_SYNC, &usual, MODE_SYNC, &other), #field " does not count");     \
    } while (0)

TEST_PLAIN(all_of_what_happens_counts)
{
    ck_assert(alike(MODE_SYNC, &usual, MODE_SYNC, &usual));
    DIFFERS(time_us, 18);
    DIFFERS(process, "ps/0 (1)");
    DIFFERS(sender, "worker/2 (2)");
    DIFFERS(message.kind, MESSAGE_RECEIPT);
    DIFFERS(message.request, 1);
    DIFFERS(message.exchange.skip, true);
    DIFFERS(payload, "bitS");
    DIFFERS(payload, "");
}

TEST_PLAIN(the_order_of_what_happens_counts)
{
    struct happening other = usual;
    struct transcript transcripts[2];
    other.message.exchange.step = 5;
    for (int i = 0; i < 2; i++) {
        begin(&transcripts[i], MODE_SYNC);
        happen(&transcripts[i], i == 0 ? &usual : &other);
        happen(&transcripts[i], i == 0 ? &other : &usual);
    }
    ck_assert_mem_ne(transcripts[0].digest, transcripts[1].digest, HASH_BYTES);
    transcript_free(&transcripts[0]);
    transcript_free(&transcripts[1]);
}

TEST_PLAIN(what_becomes_of_a_process_counts)
{
    static const struct {
        const char *process;
        uint64_t number;
    } notes[] = {{"ps/0 (0)", 0}, {"ps/1 (0)", 0}, {"ps/0 (0)", 1}};
    uint8_t digests[3][HASH_BYTES];
    for (int i = 0; i < 3; i++) {
        struct transcript transcript;
        begin(&transcript, MODE_SYNC);
        transcript_note(&transcript, 1, notes[i].process, notes[i].number, "starts");
        memcpy(digests[i], transcript.digest, HASH_BYTES);
        transcript_free(&transcript);
        for (int j = 0; j < i; j++)
            ck_assert_mem_ne(digests[i], digests[j], HASH_BYTES);
    }
}

TEST_PLAIN(what_is_worded_for_people_does_not_count)
{
    struct happening texts[] = {usual, usual, usual};
    for (int i = 0; i < 3; i++)
        texts[i].message = (struct message){.kind = MESSAGE_STOP};
    strcpy(texts[0].message.stop.reason, "all is done");
    strcpy(texts[1].message.stop.reason, "that was all");
    ck_assert(alike(MODE_SYNC, &texts[0], MODE_SYNC, &texts[1]));
    ck_assert(!alike(MODE_SYNC, &texts[0], MODE_SYNC, &texts[2]));
}

static struct happening a_join(enum mode mode)
{
    struct job job = specimen_job(mode);
    struct happening join = {.process = "ps/0 (0)", .sender = "worker/0 (1)"};
    join.message.kind = MESSAGE_JOIN;
    ck_assert(job_digest(&job, join.message.join.job_digest) == STATUS_OK);
    job_free(&job);
    return join;
}

static struct happening a_page(enum mode mode)
{
    struct job job = specimen_job(mode);
    struct happening page = {.process = "ps/0 (0)", .sender = "worker/0 (1)"};
    uint8_t *bytes;
    uint32_t count;
    ck_assert(job_encode(&job, &bytes, &count) == STATUS_OK);
    ck_assert_uint_le(count, JOB_PAGE_BYTES);
    page.message.kind = MESSAGE_JOB_PAGE;
    page.message.job_page.bytes = page.message.job_page.total = count;
    memcpy(page.message.job_page.page, bytes, count);
    free(bytes);
    job_free(&job);
    return page;
}

/* Two declarations have two encodings; each in its own job is the same to say. In another one it is
 * something else, and so are pages that are not quite the declaration's. */
TEST_PLAIN(the_declaration_counts_as_the_jobs_own_and_not_by_its_bytes)
{
    struct happening joins[] = {a_join(MODE_ASYNC), a_join(MODE_SYNC)};
    struct happening pages[] = {a_page(MODE_ASYNC), a_page(MODE_SYNC)};
    ck_assert(alike(MODE_ASYNC, &joins[0], MODE_SYNC, &joins[1]));
    ck_assert(!alike(MODE_ASYNC, &joins[0], MODE_ASYNC, &joins[1]));
    ck_assert(alike(MODE_ASYNC, &pages[0], MODE_SYNC, &pages[1]));
    ck_assert(!alike(MODE_ASYNC, &pages[0], MODE_ASYNC, &pages[1]));
    struct happening torn = pages[0];
    torn.message.job_page.page[7] ^= 1;
    ck_assert(!alike(MODE_ASYNC, &pages[0], MODE_ASYNC, &torn));
    torn = pages[0];
    torn.message.job_page.bytes--;
    ck_assert(!alike(MODE_ASYNC, &pages[0], MODE_ASYNC, &torn));
}

int main(void)
{
    return suite_run("transcript", NULL);
}
