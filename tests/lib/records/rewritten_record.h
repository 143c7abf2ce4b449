/* rewritten_record.h - a stretch of a record as it was read, written again.
 *
 * Threads: one. */

#ifndef TESTS_LIB_RECORDS_REWRITTEN_RECORD_H
#define TESTS_LIB_RECORDS_REWRITTEN_RECORD_H

#include "common/store/run_record.h"

/* The one that was read last, up to its cut. */
void rewritten_record_interval(struct run_record_writer *writer,
                               const struct run_record_reader *reader);

#endif
