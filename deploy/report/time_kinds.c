/* time_kinds.c - worker_summary's seconds in one order. */

#include "deploy/report/time_kinds.h"

#include <math.h>

enum { COMPUTING, EXCHANGING, WAITS, SCORING = WAITS + WAIT_COUNT, OTHER, TIME_KINDS };

static const char *kind_word(unsigned kind)
{
    return kind == COMPUTING    ? "computing"
           : kind == EXCHANGING ? "exchanging"
           : kind == SCORING    ? "scoring"
           : kind == OTHER      ? "other"
                                : wait_name((enum wait)(kind - WAITS));
}

static double seconds_of(const struct worker_summary *worker, unsigned kind)
{
    double seconds = kind == COMPUTING    ? worker->compute_seconds
                     : kind == EXCHANGING ? worker->exchange_seconds
                     : kind == SCORING    ? worker->evaluate_seconds
                     : kind == OTHER      ? worker_summary_other(worker)
                                          : worker->waits[kind - WAITS];
    return isfinite(seconds) && seconds > 0 ? seconds : 0;
}

/* The mean of the runs that have this worker; false: none has. */
static bool mean_of(const struct group *group, size_t worker, double seconds[TIME_KINDS])
{
    size_t count = 0;
    for (unsigned kind = 0; kind < TIME_KINDS; kind++) {
        double sum = 0;
        count = 0;
        for (size_t i = 0; i < group->record_count; i++) {
            const struct run_summary *summary = &group->records[i]->summary;
            if (worker < summary->worker_count) {
                sum += seconds_of(&summary->workers[worker], kind);
                count++;
            }
        }
        seconds[kind] = count > 0 ? sum / (double)count : 0;
    }
    return count > 0;
}

void time_kinds_write_json(struct json_writer *writer, const struct group *group)
{
    double seconds[TIME_KINDS];
    json_writer_array(writer, "time");
    for (size_t worker = 0; mean_of(group, worker, seconds); worker++) {
        json_writer_object_line(writer, NULL);
        for (unsigned kind = 0; kind < TIME_KINDS; kind++)
            json_writer_decimals(writer, kind_word(kind), seconds[kind], 4);
        json_writer_end(writer);
    }
    json_writer_end(writer);
}
