/* allow_list.h - whose keys may talk to a server: the public certificates (*.key) of one folder.
 *
 * Loading leaves out what cannot be used, and says so, rather than letting one broken file decide
 * about all the others: a key that is left out is refused.
 *
 * Threads: one at a time. Ownership: owns its entries; a zeroed list is empty, and refuses all. */

#ifndef COMMON_KEYS_ALLOW_LIST_H
#define COMMON_KEYS_ALLOW_LIST_H

#include "common/base/status.h"
#include "common/keys/identity.h"

#define ALLOW_LIST_MAX 16384 /* Certificates in a folder. */

struct allow_list {
    struct identity *entries; /* [count], sorted by key. */
    uint32_t count;
};

/* What the list held is freed. Anything but STATUS_OK: the first file (or the folder) that cannot
 * be used is named in error, and all others are in the list. A key that two files hold is an error,
 * and is in the list for neither. */
enum status allow_list_load(struct allow_list *list, const char *directory, struct error *error);
void allow_list_free(struct allow_list *list);

/* NULL when the key is not on it. */
const struct identity *allow_list_find(const struct allow_list *list, const uint8_t key[KEY_BYTES]);

#endif
