/* fuzz_spans.c - files of spans: whatever is in one, what is read of it may be drawn and written.
 *
 *     input: a region's head, 72 bytes; then what lies in its slots, from the first byte of the first on */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "deploy/trace/chrome.h"
#include "deploy/trace/critical.h"
#include "deploy/trace/spans.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD = 72, SLOTS_AT = 4096, STEPS = 5 };

/* A segment as it is read, and for each span what is made of it. */
const struct fuzz_bounds fuzz_bounds = {1u << 20, 200};

static int file = -1;

void fuzz_start(void)
{
    file = memfd_create("fuzz", MFD_CLOEXEC);
}

static void look_at(const struct spans *spans)
{
    const struct chrome_about about = {.asked = STEPS};
    uint64_t bytes;
    size_t shown = 0;
    for (size_t i = 0; i < spans->count; i++) {
        fuzz_must(span_is_valid(&spans->list[i]), "spans are what they may be");
        fuzz_must(i == 0 || spans->list[i - 1].from_ns <= spans->list[i].from_ns, "in order");
        fuzz_must(spans_place(spans, (enum role)spans->list[i].role, spans->list[i].index) <
                      spans->place_count,
                  "of somebody who is there");
    }
    for (size_t i = 0; i < spans->step_count; i++) {
        if (spans->steps[i].reason == STEP_NOT_SHOWN)
            continue;
        struct critical path = critical_of(spans, &spans->steps[i]);
        shown++;
        for (size_t k = 0; k < CRITICAL_PARTS; k++)
            fuzz_must(path.parts[k] == SIZE_MAX || path.parts[k] < spans->count,
                      "a path is of what is there");
    }
    fuzz_must(shown > 0, "some step is shown");
    fuzz_must(chrome_write(NULL, spans, &about, &bytes) == STATUS_OK && bytes > 0,
              "it can be written");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct spans spans;
    struct error error;
    size_t head = size < HEAD ? size : HEAD;
    bool put = ftruncate(file, 0) == 0 && pwrite(file, data, head, 0) == (ssize_t)head &&
               pwrite(file, data + head, size - head, SLOTS_AT) == (ssize_t)(size - head);
    spans_init(&spans);
    if (put && spans_add(&spans, file, "input", &error) == STATUS_OK &&
        spans_finish(&spans, STEPS, &error) == STATUS_OK)
        look_at(&spans);
    spans_free(&spans);
}
