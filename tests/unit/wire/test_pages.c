/* test_pages.c - a declaration cut into pages comes together again, in any order. */

#include "common/wire/pages.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

static uint8_t *bytes_of(uint32_t count)
{
    uint8_t *bytes = malloc(count);
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 255);
    return bytes;
}

TEST_PLAIN(a_declaration_cut_into_pages_comes_together_in_any_order)
{
    static const uint32_t sizes[] = {1, 2, 1023, 1024, 1025, 2048, 5000, 100 * 1024 + 1};
    struct random_sequence sequence;
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, 0);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct message_job_page page;
        struct pages pages = {0};
        uint8_t *bytes = bytes_of(sizes[s]);
        uint32_t count = (sizes[s] + JOB_PAGE_BYTES - 1) / JOB_PAGE_BYTES, order[128];
        for (uint32_t i = 0; i < count; i++) {
            uint32_t j = random_below(&sequence, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (uint32_t i = 0; i < count; i++) {
            ck_assert(pages_cut(bytes, sizes[s], order[i], &page));
            enum status expected = i + 1 < count ? STATUS_AGAIN : STATUS_OK;
            for (int twice = 0; twice < 2; twice++)
                ck_assert(pages_add(&pages, &page) == expected);
        }
        ck_assert(!pages_cut(bytes, sizes[s], count, &page));
        ck_assert(!pages_cut(bytes, sizes[s], UINT32_MAX, &page));
        ck_assert_uint_eq(pages.total, sizes[s]);
        ck_assert(memcmp(pages.bytes, bytes, sizes[s]) == 0);
        pages_free(&pages);
        ck_assert_ptr_null(pages.bytes);
        free(bytes);
    }
}

TEST_PLAIN(pages_of_another_declaration_do_not_fit)
{
    struct pages pages = {0};
    struct message_job_page page;
    uint8_t *bytes = bytes_of(3000);
    pages_cut(bytes, 3000, 0, &page);
    ck_assert(pages_add(&pages, &page) == STATUS_AGAIN);
    page.total = 3001;
    ck_assert(pages_add(&pages, &page) == STATUS_INVALID);
    pages_cut(bytes, 3000, 1, &page);
    page.bytes = 1023; /* Short, and not the last. */
    ck_assert(pages_add(&pages, &page) == STATUS_INVALID);
    ck_assert_uint_eq(pages.received, 1024);
    pages_free(&pages);
    free(bytes);
}

int main(void)
{
    return suite_run("pages", NULL);
}
