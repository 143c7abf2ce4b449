/* pages.c - copies pages to their places in one buffer, with a mark for each. */

#include "common/wire/pages.h"

#include <stdlib.h>
#include <string.h>

void pages_free(struct pages *pages)
{
    free(pages->bytes);
    free(pages->seen);
    memset(pages, 0, sizeof *pages);
}

static enum status pages_begin(struct pages *pages, uint32_t total)
{
    pages->bytes = malloc(total);
    pages->seen = calloc((total + JOB_PAGE_BYTES - 1) / JOB_PAGE_BYTES, 1);
    pages->total = total;
    if (pages->bytes != NULL && pages->seen != NULL)
        return STATUS_OK;
    pages_free(pages);
    return STATUS_MEMORY;
}

enum status pages_add(struct pages *pages, const struct message_job_page *page)
{
    if (pages->bytes == NULL && pages_begin(pages, page->total) != STATUS_OK)
        return STATUS_MEMORY;
    uint32_t number = page->offset / JOB_PAGE_BYTES;
    bool whole = page->bytes == JOB_PAGE_BYTES || page->offset + page->bytes == page->total;
    if (page->total != pages->total || !whole)
        return STATUS_INVALID;
    if (!pages->seen[number]) {
        memcpy(pages->bytes + page->offset, page->page, page->bytes);
        pages->seen[number] = 1;
        pages->received += page->bytes;
    }
    return pages->received == pages->total ? STATUS_OK : STATUS_AGAIN;
}

bool pages_cut(const uint8_t *bytes, uint32_t total, uint32_t number, struct message_job_page *page)
{
    uint64_t offset = (uint64_t)number * JOB_PAGE_BYTES;
    if (offset >= total)
        return false;
    page->offset = (uint32_t)offset;
    page->total = total;
    page->bytes = total - page->offset < JOB_PAGE_BYTES ? total - page->offset : JOB_PAGE_BYTES;
    memcpy(page->page, bytes + offset, page->bytes);
    return true;
}
