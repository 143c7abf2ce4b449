/* swap_entries FILE - writes a record again with two entries of its first chunk swapped that follow
 * each other and are of different computations, every checksum as it has to be: what only replaying
 * it can find. Says how many batches there are before them.
 *
 * swap_entries FILE run|worker|clock - with another run's id, or another worker or a later clock of
 * one computation. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    struct run_record_interval *s = &reader->interval;
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

/* Of the last computation of the stretch. */
static bool change(struct run_record_reader *reader, const char *what)
{
    struct run_record_interval *s = &reader->interval;
    if (strcmp(what, "run") == 0 || s->computation_count == 0)
        return strcmp(what, "run") == 0;
    struct run_record_computation *last = &s->computations[s->computation_count - 1];
    last->worker += strcmp(what, "worker") == 0 ? 7 : 0;
    last->clock += strcmp(what, "clock") == 0;
    return true;
}

int main(int argc, char **argv)
{
    struct run_record_reader reader;
    struct run_record_writer writer;
    struct error error;
    void *bytes;
    size_t count;
    bool swapped = false;
    if (argc != 2 && argc != 3)
        return 2;
    enum status status = disk_posix.read_file(disk_posix.context, argv[1], RUN_RECORD_BYTES_MAX,
                                              &bytes, &count, &error);
    if (status != STATUS_OK ||
        run_record_reader_open(&reader, argv[1], bytes, count, &error) != STATUS_OK)
        return fail(&error);
    run_record_writer_init(&writer);
    reader.segment.run_id += argc == 3 && strcmp(argv[2], "run") == 0;
    run_record_writer_segment(&writer, &reader.segment);
    while ((status = run_record_reader_next(&reader, &error)) == STATUS_OK) {
        swapped = swapped || (argc == 3 ? change(&reader, argv[2]) : swap(&reader));
        rewritten_record_interval(&writer, &reader);
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
