/* certificate.h - a CURVE key pair in a file, as czmq's zcert and zmakecert have it (ZPL, RFC 4):
 *
 *     #   ZeroMQ CURVE Public Certificate
 *     metadata
 *         role = "worker"
 *         index = "3"
 *     curve
 *         public-key = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
 *
 * A public certificate is NAME.key; the secret one, NAME.key_secret, holds both keys and must be
 * readable by its owner only, or belong to root and be readable by one group besides (mode 0440, as
 * Kubernetes mounts a Secret for a process that is not root). Metadata are kept as they are. Two of them mean something here:
 * `role` (ps, worker, observer) and with it `index` limit what a process with this key may be.
 *
 * Files may come from anywhere: they are read strictly. Sections other than metadata and curve, other keys
 * in curve, repetitions, tabs, control characters and anything longer than the limits below are
 * refused.
 *
 * Threads: plain values. Errors: STATUS_INVALID (bytes that break a rule), STATUS_REFUSED (a secret
 * others can read), STATUS_NOT_FOUND, STATUS_EXISTS, STATUS_IO, with a line that names the file. */

#ifndef COMMON_KEYS_CERTIFICATE_H
#define COMMON_KEYS_CERTIFICATE_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/keys/identity.h"

#define CERTIFICATE_BYTES_MAX    8192 /* Of a file. */
#define CERTIFICATE_METADATA_MAX 16
#define CERTIFICATE_NAME_MAX     32  /* With the terminating zero, as is */
#define CERTIFICATE_VALUE_MAX    128 /* this. */

struct certificate_metadata {
    char name[CERTIFICATE_NAME_MAX], value[CERTIFICATE_VALUE_MAX];
};

struct certificate {
    uint8_t public_key[KEY_BYTES];
    bool has_secret;
    uint8_t secret_key[KEY_BYTES]; /* Zeros without. */
    uint32_t metadata_count;
    struct certificate_metadata metadata[CERTIFICATE_METADATA_MAX];
};

/* text[bytes], as it is in a file; nothing ends it. */
enum status certificate_parse(const char *text, size_t bytes, struct certificate *certificate,
                              struct error *error);

/* The file's text into text[CERTIFICATE_BYTES_MAX], ended by a zero; returns its length. `secret`:
 * with the secret key, which must be there. */
size_t certificate_format(const struct certificate *certificate, bool secret, char *text);

/* A public certificate must hold no secret key, a secret one must, in a file that only its
 * owner can read (but see above for files of root's). Links are followed. */
enum status certificate_read_public(const char *path, struct certificate *certificate,
                                    struct error *error);
enum status certificate_read_secret(const char *path, struct certificate *certificate,
                                    struct error *error);

/* Write PATH.key and PATH.key_secret (mode 0600), durably. What is there is never overwritten:
 * STATUS_EXISTS, and nothing has changed. */
enum status certificate_write(const char *path, const struct certificate *certificate,
                              struct error *error);

/* Add one. Name and value must be as a file may hold them. */
void certificate_add(struct certificate *certificate, const char *name, const char *value);

/* What the certificate lets its key be; STATUS_INVALID for a role or an index that cannot be. */
enum status certificate_identity(const struct certificate *certificate, struct identity *identity,
                                 struct error *error);

/* Leave no secret in memory. */
void certificate_wipe(struct certificate *certificate);

#endif
