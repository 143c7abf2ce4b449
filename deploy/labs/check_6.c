/* check_6.c - lab 6: a rule for the rate, beside a constant rate with the same mean, on unseen seeds. */

#include <string.h>

#include "deploy/labs/labs.h"

#define WORKERS   16
#define HIGH      0.1
#define LOW       0.02
#define SEEDS     3
#define UNSEEN    10000 /* Above all of students. */
#define POLICY    "6.py"
#define CHECKS    6     /* Of it. */
#define CLEAR     0.05  /* Of the loss less: no other claim is right. */
#define NONE      0.01  /* Below it, too. In between seeds disagree, and both are right. */
#define GUESSING  2.303 /* The loss of ten classes, log 10. */
#define TOLERANCE 0.01
#define VARY      2

/* The training loss of the last epoch. */
static double loss_of(struct lab_check *check, unsigned workers, double rate, uint64_t seed)
{
    struct record record;
    lab_simulate(check, &record,
                 "--mode async --workers %u --data synthetic:3200 --model softmax --optimizer sgd "
                 "--learning-rate %.9g --global-batch 32 --micro-batch 32 --epochs 3 "
                 "--compute lognormal:20ms,0.5 --seed %" PRIu64,
                 workers, rate, seed);
    double loss = record.summary.train.loss;
    record_free(&record);
    return loss;
}

/* Mean losses over the unseen seeds. */
struct pair {
    double rule, control;
};

static struct pair compare(struct lab_check *check, double rate)
{
    struct pair pair = {0};
    double means[SEEDS];
    uint64_t first = UNSEEN + SEEDS * check->seed;
    for (unsigned i = 0; i < SEEDS && lab_policy(check, POLICY, CHECKS); i++) {
        pair.rule += loss_of(check, WORKERS, rate, first + i) / SEEDS;
        means[i] = check->rates.mean;
    }
    check->policy[0] = '\0';
    for (unsigned i = 0; i < SEEDS; i++)
        pair.control += loss_of(check, WORKERS, rate * means[i], first + i) / SEEDS;
    return pair;
}

static double gain(struct pair pair)
{
    return 1 - pair.rule / pair.control;
}

static void judge_claim(struct lab_check *check, const char *name, struct pair pair)
{
    const char *said = json_text(check->answers, name);
    bool beats = said != NULL && strcmp(said, "beats") == 0;
    beats = gain(pair) > CLEAR || (gain(pair) >= NONE && beats);
    lab_word(check, name, beats ? "beats" : "does not");
}

void check_6(struct lab_check *check)
{
    double one = loss_of(check, 1, HIGH, check->seed);
    double all = loss_of(check, WORKERS, HIGH, check->seed);
    lab_predicted(check, "predict_loss_16", all);
    lab_number(check, "loss_1", one, TOLERANCE);
    lab_number(check, "loss_16", all, TOLERANCE);
    lab_explained(check, "explain");
    if (!lab_policy(check, POLICY, CHECKS))
        return;
    struct pair high = {0}, low = {0};
    loss_of(check, WORKERS, HIGH, check->seed);
    const struct lab_rates rates = check->rates;
    if (!check->failed) {
        high = compare(check, HIGH);
        low = compare(check, LOW);
    }
    if (!lab_ended(check, POLICY, CHECKS))
        return;
    lab_number(check, "mean_rate", rates.mean, TOLERANCE);
    lab_judge(check, "varies", rates.most >= VARY * rates.least, "its rates hardly differ");
    lab_judge(check, "cures", high.rule < GUESSING, "at 0.1 it is no better than guessing");
    lab_predicted(check, "predict_gain", 100 * gain(high));
    judge_claim(check, "claim_high", high);
    judge_claim(check, "claim_low", low);
}
