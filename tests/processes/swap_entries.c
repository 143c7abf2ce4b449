/* swap_entries FILE - writes a record again with two entries of its first chunk swapped that follow
 * each other and are of different computations, every checksum as it has to be: what only replaying
 * it can find. Says how many batches there are before them. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/file/disk.h"
#include "tests/lib/records/rewritten_record.h"

static int fail(const struct error *error)
{
    fprintf(stderr, "swap_entries: %s\n", error->text);
    return 1;
}

/* Where that can be: both were made from versions that are there before the first. */
static bool swap(struct run_record_reader *reader)
{
    struct run_record_stretch *s = &reader->stretch;
    uint64_t batches = s->to.batches - s->from.batches;
    for (uint64_t i = 1; i < batches; i++) {
        struct run_record_place first = s->places[i - 1], second = s->places[i];
        uint64_t base = s->computations[second.computation].bases[0];
        if (first.skipped || second.skipped || base >= s->from.version + i)
            continue;
        s->places[i - 1] = second;
        s->places[i] = first;
        printf("%" PRIu64 "\n", s->from.batches + i - 1);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct run_record_reader reader;
    struct run_record_writer writer;
    struct error error;
    void *bytes;
    size_t count;
    bool swapped = false;
    if (argc != 2)
        return 2;
    enum status status = disk_posix.read_file(disk_posix.context, argv[1], RUN_RECORD_BYTES_MAX,
                                              &bytes, &count, &error);
    if (status != STATUS_OK ||
        run_record_reader_open(&reader, argv[1], bytes, count, &error) != STATUS_OK)
        return fail(&error);
    run_record_writer_init(&writer);
    run_record_writer_segment(&writer, &reader.segment);
    while ((status = run_record_reader_next(&reader, &error)) == STATUS_OK) {
        swapped = swapped || swap(&reader);
        rewritten_record_stretch(&writer, &reader);
    }
    if (status != STATUS_NOT_FOUND || run_record_writer_finish(&writer) != STATUS_OK)
        return fail(&error);
    const struct disk_piece piece = {writer.bytes, writer.count};
    status = disk_posix.write_file(disk_posix.context, argv[1], &piece, 1, &error);
    run_record_reader_close(&reader);
    run_record_writer_free(&writer);
    free(bytes);
    return status != STATUS_OK ? fail(&error) : swapped ? 0 : 3;
}
