/* check_3.c - lab 3: the barrier of sync as a policy, in the bits of sync. */

#include <string.h>

#include "common/job/tree.h"
#include "deploy/labs/labs.h"

#define LEAVES 8

static unsigned parts_of(uint32_t workers)
{
    struct node nodes[TREE_COVER_MAX];
    unsigned parts = 0;
    for (uint32_t i = 0; i < workers; i++) {
        struct node run = tree_run(LEAVES, workers, i);
        parts += tree_cover(LEAVES, run.first_leaf, run.leaf_count, nodes);
    }
    return parts;
}

static void train(struct lab_check *check, struct record *record, unsigned workers,
                  const char *more)
{
    lab_simulate(check, record,
                 "--workers %u --data synthetic:960 --model softmax --global-batch 64 "
                 "--micro-batch 8 --epochs 1 --compute constant:5ms --seed %" PRIu64 "%s",
                 workers, check->seed, more);
}

void check_3(struct lab_check *check)
{
    static const struct {
        const char *name, *more;
        unsigned workers;
    } runs[] = {{"bits_2", "", 2},
                {"bits_3", "", 3},
                {"bits_5", "", 5},
                {"bits_5_dies", " --kill worker/1@40ms", 5}};
    struct record plain, own;
    lab_predicted(check, "predict_parts", parts_of(3));
    lab_number(check, "parts_2", parts_of(2), 0);
    lab_number(check, "parts_3", parts_of(3), 0);
    lab_number(check, "parts_5", parts_of(5), 0);
    lab_word(check, "async_same", "no");
    lab_word(check, "sync_same", "yes");
    lab_explained(check, "explain");
    train(check, &plain, 2, "");
    for (unsigned i = 0, left = 4; left > 0 && lab_policy(check, "3.py", left); i++, left--) {
        train(check, &own, runs[i].workers, runs[i].more);
        if (!lab_ended(check, "3.py", left))
            break; /* The record is empty. */
        lab_judge(check, runs[i].name,
                  strcmp(own.summary.parameters_sha256, plain.summary.parameters_sha256) == 0,
                  "other bits than sync");
        record_free(&own);
    }
    record_free(&plain);
}
