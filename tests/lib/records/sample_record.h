/* sample_record.h - the record of a run that never was: workers that compute batches and push their
 * gradients to chunk after chunk in any order, all following from a seed. Some are lost on the way,
 * and their batch goes to others, so that entries of both computations of a batch stand.
 *
 * Threads: one. */

#ifndef TESTS_LIB_RECORDS_SAMPLE_RECORD_H
#define TESTS_LIB_RECORDS_SAMPLE_RECORD_H

#include "common/base/random.h"
#include "common/store/run_record.h"

struct sample_record {
    struct run_record_writer writer; /* The file so far. */
    struct run_record_segment segment;
    struct random_sequence random;
    uint32_t workers, group; /* Gradients that are applied as one; 1 usually. */
    double loss;             /* How likely a worker is lost before a push. */
    uint64_t bound;          /* Of ssp; MODE_UNBOUNDED, as it begins: nobody waits for anybody. */
    bool held;               /* Whoever has waited computes from what it held before: not ssp. */
    struct run_record_snapshot at;
    uint64_t generation;
    uint64_t tickets; /* Of workers that have come. */
    uint64_t torn;    /* Batches that have entries of two computations. */
};

/* A first session of `chunks` chunks of 16 elements, 32, 48 and so on. */
void sample_record_begin(struct sample_record *record, uint64_t seed, uint32_t workers,
                         uint32_t chunks);
/* With these chunks, of any session: everything but elements and chunk_count of `segment` counts. */
void sample_record_begin_with(struct sample_record *record, uint64_t seed, uint32_t workers,
                              const struct run_record_segment *segment, const uint64_t *elements,
                              uint32_t chunks);
/* So many batches and a cut behind them. */
void sample_record_train(struct sample_record *record, uint64_t batches);
/* All go on from the last cut in a new generation. */
void sample_record_go_back(struct sample_record *record);
void sample_record_free(struct sample_record *record);

#endif
