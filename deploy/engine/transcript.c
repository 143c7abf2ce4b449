/* transcript.c - hashes events by their numbers: those of a message by its encoding. */

#include "deploy/engine/transcript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/message_fields.h"
#include "deploy/engine/message_line.h"

#define VERSION_BYTES 2
_Static_assert(PROTOCOL_VERSION_MAX < 128, "a version is one byte behind its field's number");

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

/* An event as `count` bytes without names. */
static void add(struct transcript *transcript, uint64_t time_us, const char *process,
                const char *sender, const void *bytes, size_t count, const struct frame *payload)
{
    struct hash hash;
    hash_init(&hash);
    hash_update(&hash, transcript->digest, sizeof transcript->digest);
    hash_update_u64(&hash, time_us);
    hash_update(&hash, process, strlen(process) + 1);
    hash_update(&hash, sender, strlen(sender) + 1);
    hash_update_u64(&hash, count);
    hash_update(&hash, bytes, count);
    if (payload != NULL)
        hash_update(&hash, payload->data, payload->bytes);
    hash_final(&hash, transcript->digest);
}

void transcript_note(struct transcript *transcript, uint64_t time_us, const char *process,
                     uint64_t number, const char *text)
{
    if (transcript->shown)
        printf("%12.6f %s %s\n", (double)time_us * 1e-6, process, text);
    add(transcript, time_us, process, "", &number, sizeof number, NULL);
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

/* Of a text only its presence; of a protocol's version the difference from this build's. Whether there
 * were any. */
static bool forget_words(struct message *message)
{
    bool any = message->kind == MESSAGE_JOIN;
    for (const struct message_field *field = message_fields(message->kind);
         field->kind != FIELD_END; field++) {
        char *at = (char *)message + field->offset;
        if (field->kind == FIELD_TEXT && *at != '\0') {
            memcpy(at, "?", 2);
            any = true;
        }
    }
    if (message->kind == MESSAGE_JOIN) {
        message->join.version_min -= PROTOCOL_VERSION_MIN;
        message->join.version_max -= PROTOCOL_VERSION_MAX;
    }
    return any;
}

static void show(uint64_t time_us, const char *process, const char *sender,
                 const struct message *message, bool ours)
{
    char line[MESSAGE_LINE_MAX];
    message_line(message, line);
    printf("%12.6f %s < %s %s%s\n", (double)time_us * 1e-6, process, sender, line,
           ours ? " of the job" : "");
}

void transcript_message(struct transcript *transcript, uint64_t time_us, const char *process,
                        const char *sender, const struct message *message, const uint8_t *header,
                        size_t count, const struct frame *payload)
{
    uint8_t bytes[HEADER_BYTES_MAX + 1];
    struct message bare = *message;
    bool ours = names_job(transcript, &bare);
    if (transcript->shown)
        show(time_us, process, sender, &bare, ours);
    if (forget_words(&bare) || ours)
        count = message_encode(&bare, bytes);
    else
        memcpy(bytes, header, count);
    bytes[count] = ours;
    /* The first field of the encoding is its version. */
    add(transcript, time_us, process, sender, bytes + VERSION_BYTES, count + 1 - VERSION_BYTES,
        payload);
}

void transcript_join(uint8_t digest[HASH_BYTES], const uint8_t next[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    hash_update(&hash, digest, HASH_BYTES);
    hash_update(&hash, next, HASH_BYTES);
    hash_final(&hash, digest);
}
