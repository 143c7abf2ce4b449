/* keys.h - the certificates that one process needs of a folder of keys (--keys DIR).
 *
 *     servers.key_secret            the servers' own, the same for all of them
 *     servers.key                   by which all others know them
 *     worker-3.key_secret           worker 3's own
 *     observer.key_secret           for `syncopate inspect`
 *     *.key                         on servers: the peers that may talk to them (allow_list.h)
 *
 * Only what a process needs has to be in the folder of its host.
 *
 * Threads: plain values, read-only once opened. Ownership: holds a secret; keys_close leaves none
 *   in memory. */

#ifndef COMMON_KEYS_KEYS_H
#define COMMON_KEYS_KEYS_H

#include "common/file/disk.h"
#include "common/keys/certificate.h"

struct keys {
    char directory[DISK_PATH_MAX];
    struct certificate own;
    struct identity identity;  /* What `own` lets this process be. */
    uint8_t server[KEY_BYTES]; /* The servers' public key. */
};

/* role, index: an enum role, and who this process is to be, which its certificate must allow.
 * certificate: a file in place of the one of that name in the folder, or NULL. STATUS_MISMATCH: the
 * certificate is another task's. */
enum status keys_open(struct keys *keys, const char *directory, const char *certificate,
                      uint32_t role, uint32_t index, struct error *error);
void keys_close(struct keys *keys);

/* Whether a server and so many workers find all they need in one folder, and would let each other
 * in: what is wrong is said before a process is started. STATUS_MISMATCH: one would be refused.
 */
enum status keys_check(const char *directory, uint32_t workers, struct error *error);

/* The exit code of a process that has not got its keys for this reason: EXIT_DONE for STATUS_OK. */
int keys_exit_code(enum status status);

/* The name of a process's certificate without ".key": "servers", "worker-3", "observer". */
void keys_name(uint32_t role, uint32_t index, char name[CERTIFICATE_NAME_MAX]);

#endif
