/* pages.h - puts a declaration together from its JOB_PAGE messages, in any order.
 *
 * Threads: one owner. Memory: the declaration's size, at most JOB_BYTES_MAX. */

#ifndef COMMON_WIRE_PAGES_H
#define COMMON_WIRE_PAGES_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/wire/message.h"

struct pages {
    uint8_t *bytes;           /* [total], owned. NULL before the first page. */
    uint8_t *seen;            /* One a page, owned. */
    uint32_t total, received; /* Bytes. */
};

void pages_free(struct pages *pages);

/* STATUS_OK when the declaration is whole, STATUS_AGAIN when more is to come (a repeated page
 * changes nothing), STATUS_INVALID for a page that does not fit the others, STATUS_MEMORY. */
enum status pages_add(struct pages *pages, const struct message_job_page *page);

/* Page number `number` of a declaration; false behind the last. */
bool pages_cut(const uint8_t *bytes, uint32_t total, uint32_t number,
               struct message_job_page *page);

#endif
