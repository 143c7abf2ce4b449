/* fuzz_ring.c - a ring whose other side writes what it likes into the memory, between the steps of
 * a reader and of a writer that keep to the rules. Until it does, records must come out as they
 * went in.
 *
 *     input: steps, each one byte and what it takes */

#include <stdlib.h>
#include <string.h>

#include "common/transport/shm/ring.h"
#include "tests/fuzz/fuzz.h"

/* Bytes of ring_bytes(CAPACITY) lie between redzones; see struct ring_shared for the layout. */
enum { HEAD_AT = 0, TAIL_AT = 64, RECORDS_AT = 192, CAPACITY = 8192, STEPS_MAX = 100 };

const struct fuzz_bounds fuzz_bounds = {CAPACITY + RING_RECORD_MAX + 4096, 0};

void fuzz_start(void)
{
}

struct sides {
    unsigned char *memory;
    struct ring writer, reader;
    bool honest;           /* Nobody has meddled yet. */
    uint64_t put, taken;   /* Records, while honest. */
    uint16_t lengths[256]; /* Of the records under way; more of 28 bytes each do not fit. */
};

static void meddle(struct sides *sides, size_t at, uint64_t value, size_t bytes)
{
    if (at < ring_bytes(CAPACITY) && bytes <= ring_bytes(CAPACITY) - at)
        memcpy(sides->memory + at, &value, bytes);
    sides->honest = false;
}

static void put(struct sides *sides, size_t a, size_t b)
{
    unsigned char bytes[RING_RECORD_MAX];
    memset(bytes, (int)(sides->put & 0xff), sizeof bytes);
    if (ring_put(&sides->writer, bytes, a, bytes, b) != STATUS_OK)
        return;
    sides->lengths[sides->put % 256] = (uint16_t)(a + b);
    sides->put++;
}

static void take(struct sides *sides, size_t size)
{
    size_t bytes = 0;
    unsigned char *record = malloc(size); /* Of exactly this size, so that a longer one is seen. */
    fuzz_must(record != NULL, "there is memory for a record");
    enum status status = ring_take(&sides->reader, record, size, &bytes);
    if (status == STATUS_OK) {
        fuzz_must(bytes > 0 && bytes <= size, "records fit");
        if (sides->honest) {
            fuzz_must(sides->taken < sides->put, "nothing comes out that did not go in");
            fuzz_must(bytes == sides->lengths[sides->taken % 256], "records keep their length");
            fuzz_must(record[0] == (sides->taken & 0xff) &&
                          memcmp(record, record + 1, bytes - 1) == 0,
                      "records keep their bytes");
            sides->taken++;
        }
    } else if (sides->honest && status == STATUS_AGAIN) {
        fuzz_must(sides->taken == sides->put, "what went in comes out");
    }
    free(record);
}

static void step(struct sides *sides, struct fuzz_input *input)
{
    uint64_t where;
    switch (fuzz_take(input, 1) % 9) {
    case 0:
        where = fuzz_take(input, 2);
        meddle(sides, where, fuzz_take(input, 8), 8);
        break;
    case 1:
        meddle(sides, TAIL_AT, sides->reader.own + fuzz_take(input, 2), 8);
        break;
    case 2:
        meddle(sides, HEAD_AT, sides->writer.own - fuzz_take(input, 2), 8);
        break;
    case 3: /* The length of the next record. */
        where = RECORDS_AT + (sides->reader.own & (CAPACITY - 1));
        meddle(sides, where, fuzz_take(input, 4), 4);
        break;
    case 4:
    case 5:
        where = 28 + fuzz_take(input, 2) % (RING_RECORD_MAX - 28);
        put(sides, where / 2, where - where / 2);
        break;
    case 6:
        take(sides, RING_RECORD_MAX);
        break;
    case 7:
        take(sides, 1 + fuzz_take(input, 2) % RING_RECORD_MAX);
        break;
    default:
        ring_has_some(&sides->reader);
        if (ring_sleep(&sides->reader))
            ring_awake(&sides->reader);
        ring_wants_wake(&sides->writer);
        break;
    }
    fuzz_must(sides->writer.own - sides->writer.other <= CAPACITY &&
                  sides->reader.other - sides->reader.own <= CAPACITY,
              "sides stay within one round of the ring");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct sides sides = {.honest = true};
    sides.memory = aligned_alloc(64, ring_bytes(CAPACITY));
    fuzz_must(sides.memory != NULL, "there is memory for a ring");
    memset(sides.memory, 0, ring_bytes(CAPACITY));
    ring_attach(&sides.writer, sides.memory, CAPACITY);
    ring_attach(&sides.reader, sides.memory, CAPACITY);
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&sides, &input);
    free(sides.memory);
}
