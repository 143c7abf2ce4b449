/* transcript.c - hashes each line, its length known by its end, and the payload behind it. */

#include "deploy/engine/transcript.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/engine/message_line.h"

#define LINE_MAX_BYTES (MESSAGE_LINE_MAX + 200)

enum status transcript_init(struct transcript *transcript, const struct job *job, bool shown)
{
    memset(transcript, 0, sizeof *transcript);
    transcript->shown = shown;
    enum status status = job_digest(job, transcript->job_digest);
    if (status == STATUS_OK)
        status = job_encode(job, &transcript->job, &transcript->job_bytes);
    return status;
}

void transcript_free(struct transcript *transcript)
{
    free(transcript->job);
    memset(transcript, 0, sizeof *transcript);
}

/* A line holds no end of line, so where it ends and the payload begins is clear. */
static void add_line(struct transcript *transcript, uint64_t time_us, const char *line,
                     const struct frame *payload)
{
    struct hash hash;
    if (transcript->shown)
        printf("%12.6f %s\n", (double)time_us * 1e-6, line);
    hash_init(&hash);
    hash_update(&hash, transcript->digest, sizeof transcript->digest);
    hash_update_u64(&hash, time_us);
    hash_update(&hash, line, strlen(line));
    hash_update(&hash, "\n", 1);
    if (payload != NULL)
        hash_update(&hash, payload->data, payload->bytes);
    hash_final(&hash, transcript->digest);
}

void transcript_note(struct transcript *transcript, uint64_t time_us, const char *process,
                     const char *what)
{
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "%s %s", process, what);
    add_line(transcript, time_us, line, NULL);
}

/* Whether it is a page of the simulated declaration, whole and in its place. */
static bool is_own_page(const struct transcript *transcript, const struct message_job_page *page)
{
    if (page->total != transcript->job_bytes || page->offset >= page->total)
        return false;
    uint32_t rest = page->total - page->offset;
    return page->bytes == (rest < JOB_PAGE_BYTES ? rest : JOB_PAGE_BYTES) &&
           memcmp(page->page, transcript->job + page->offset, page->bytes) == 0;
}

/* Whether the message speaks of the simulated declaration; then without its encoding. */
static bool names_job(const struct transcript *transcript, struct message *message)
{
    if (message->kind == MESSAGE_JOIN &&
        memcmp(message->join.job_digest, transcript->job_digest, DIGEST_BYTES) == 0) {
        memset(message->join.job_digest, 0, DIGEST_BYTES);
        return true;
    }
    if (message->kind == MESSAGE_JOB_PAGE && is_own_page(transcript, &message->job_page)) {
        message->job_page = (struct message_job_page){.offset = message->job_page.offset};
        return true;
    }
    return false;
}

void transcript_message(struct transcript *transcript, uint64_t time_us, const char *process,
                        const char *sender, const struct message *message,
                        const struct frame *payload)
{
    char line[LINE_MAX_BYTES];
    struct message named;
    bool ours = false;
    assert(strlen(process) + strlen(sender) + sizeof " <  " + sizeof " of the job" <=
           sizeof line - MESSAGE_LINE_MAX);
    /* Not printf, which is slow: this is done for every message. */
    char *end = stpcpy(stpcpy(stpcpy(stpcpy(line, process), " < "), sender), " ");
    if (message->kind == MESSAGE_JOIN || message->kind == MESSAGE_JOB_PAGE) {
        named = *message;
        ours = names_job(transcript, &named);
    }
    message_line(ours ? &named : message, end);
    if (ours)
        strcat(line, " of the job");
    add_line(transcript, time_us, line, payload);
}

void transcript_join(uint8_t digest[HASH_BYTES], const uint8_t next[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    hash_update(&hash, digest, HASH_BYTES);
    hash_update(&hash, next, HASH_BYTES);
    hash_final(&hash, digest);
}
