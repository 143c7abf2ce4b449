/* transcript.h - the events of a simulated history, line by line, and a digest of all lines.
 *
 *       1.204000 worker/0 (2) < ps/0 (0) welcome restore_step=4 ... ps/0
 *       1.371201 worker/1 (3) is killed
 *
 * The digest covers times, processes, kinds and values of messages, and the payloads' bytes. Kinds
 * and fields count by their numbers in proto/syncopate.proto, a process's change by its state and
 * exit code: names and texts for people do not count. A declaration is named instead of its
 * encoding. Therefore builds of equal behaviour have equal digests for a seed. Where two digests
 * differ, the first different line of `syncopate verify --seed N --verbose` shows the divergence.
 *
 * Threads: one. Units: virtual microseconds. */

#ifndef DEPLOY_ENGINE_TRANSCRIPT_H
#define DEPLOY_ENGINE_TRANSCRIPT_H

#include "common/base/frame.h"
#include "common/job/job.h"
#include "common/wire/message.h"

struct transcript {
    bool shown; /* Print the lines too. */
    uint8_t digest[HASH_BYTES];
    uint8_t job_digest[DIGEST_BYTES];
    uint8_t *job; /* [job_bytes] the encoded declaration, owned. */
    uint32_t job_bytes;
};

/* STATUS_MEMORY. */
enum status transcript_init(struct transcript *transcript, const struct job *job, bool shown);
void transcript_free(struct transcript *transcript);

/* "worker/1 (3)" "is killed": a number for the digest, and the text for people. */
void transcript_note(struct transcript *transcript, uint64_t time_us, const char *process,
                     uint64_t number, const char *text);
/* A process takes a message off the wire, where it was header[count] and the payload. */
void transcript_message(struct transcript *transcript, uint64_t time_us, const char *process,
                        const char *sender, const struct message *message, const uint8_t *header,
                        size_t count, const struct frame *payload);

/* Replace `digest`, zeros at first, by a digest of itself and the next one. */
void transcript_join(uint8_t digest[HASH_BYTES], const uint8_t next[HASH_BYTES]);

#endif
