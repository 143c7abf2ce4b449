/* methods.c - appends sentence by sentence to one long line. */

#include "deploy/report/methods.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/options/options.h"
#include "deploy/conclusion/conclusion_text.h"
#include "deploy/report/report.h"

#define SAY(to, ...) wording_append((to)->text, sizeof(to)->text, __VA_ARGS__)

/* --- shared settings -------------------------------------------------------------------------- */

typedef uint64_t record_count_fn(const struct record *record);

static uint64_t batch_of(const struct record *record)
{
    return record->global_batch;
}

static uint64_t leaf_of(const struct record *record)
{
    return record->micro_batch;
}

static uint64_t epochs_of(const struct record *record)
{
    return record->epochs;
}

static uint64_t steps_of(const struct record *record)
{
    return record->steps;
}

static uint64_t servers_of(const struct record *record)
{
    return record->servers;
}

static uint64_t chunk_of(const struct record *record)
{
    return record->config.chunk_bytes;
}

static bool all_have(const struct comparison *comparison, record_count_fn *number)
{
    for (size_t i = 1; i < comparison->record_count; i++)
        if (number(comparison->records[i]) != number(comparison->records[0]))
            return false;
    return true;
}

static bool all_learn_alike(const struct comparison *comparison)
{
    const struct record *first = comparison->records[0];
    for (size_t i = 1; i < comparison->record_count; i++) {
        const struct record *other = comparison->records[i];
        if (strcmp(other->optimizer, first->optimizer) != 0 ||
            other->learning_rate < first->learning_rate ||
            other->learning_rate > first->learning_rate)
            return false;
    }
    return true;
}

static bool same_data(const struct comparison *comparison)
{
    for (size_t i = 1; i < comparison->record_count; i++)
        if (strcmp(comparison->records[i]->data_digest, comparison->records[0]->data_digest) != 0)
            return false;
    return true;
}

/* --- sentences ----------------------------------------------------------------------------- */

static bool is_modelled(const struct comparison *comparison)
{
    return comparison->records[0]->config.cluster[0] != '\0';
}

static void tell_program(struct methods_text *text, const struct comparison *comparison,
                         const struct report_facts *facts)
{
    SAY(text, "%s with Syncopate %s%s",
        comparison->record_count == 1 ? "One run was made" : "Runs were made", SYNCOPATE_VERSION,
        syncopate_commit);
    if (facts->instructions != NULL)
        SAY(text, " (kernels: %s)", facts->instructions);
    if (facts->machine != NULL && facts->machine[0] != '\0')
        SAY(text, " on one machine, %s", facts->machine);
    if (facts->date != NULL && facts->date[0] != '\0')
        SAY(text, "; the last report is of %s", facts->date);
    SAY(text, ". ");
    if (is_modelled(comparison))
        SAY(text, "Learning was computed, time was modelled: %s. ",
            comparison->records[0]->config.cluster);
    else
        SAY(text, "Every run had fresh processes of its own, one run after another, servers and "
                  "workers on "
                  "the same processors. ");
    if (facts->warm_up > 0 && !is_modelled(comparison))
        SAY(text, "Before the runs that count each arm had one of %s, of which no figure is here. ",
            wording_counted(facts->warm_up, "step", "steps").text);
}

static void tell_work(struct methods_text *text, const struct comparison *comparison)
{
    const struct record *record = comparison->records[0];
    SAY(text, "The model (%s) was trained on %s", record->model, record->data);
    if (record->examples > 0)
        SAY(text, ", %s", wording_counted(record->examples, "example", "examples").text);
    if (!same_data(comparison))
        SAY(text, " (others for each seed)");
    else if (record->data_digest[0] != '\0')
        SAY(text, " (digest %.16s)", record->data_digest);
    if (all_have(comparison, epochs_of) && record->epochs > 0)
        SAY(text, ", for %s", wording_counted(record->epochs, "epoch", "epochs").text);
    if (all_have(comparison, steps_of))
        SAY(text, " (%s)", wording_counted(record->steps, "batch", "batches").text);
    if (all_have(comparison, batch_of))
        SAY(text, ", %s a batch",
            wording_counted(record->global_batch, "example", "examples").text);
    if (all_have(comparison, leaf_of))
        SAY(text, " in leaves of %" PRIu64, record->micro_batch);
    if (all_learn_alike(comparison))
        SAY(text, ", by %s with learning rate %g", record->optimizer, record->learning_rate);
    SAY(text, ". ");
}

static void tell_cluster(struct methods_text *text, const struct comparison *comparison,
                         const struct report_facts *facts)
{
    const struct record *record = comparison->records[0];
    if (all_have(comparison, servers_of))
        SAY(text, "%s held the parameters, ",
            facts->colocated ? "A server beside each worker"
                             : wording_counted(record->servers, "server", "servers").text);
    else
        SAY(text, "Servers held the parameters, ");
    if (all_have(comparison, chunk_of) && record->config.chunk_bytes > 0)
        SAY(text, "in chunks of at most %s", wording_bytes(record->config.chunk_bytes).text);
    else
        SAY(text, "in chunks of the program's choice");
    if (facts->transport != NULL && !is_modelled(comparison))
        SAY(text, "; transport: %s", facts->transport);
    SAY(text, ". ");
}

/* "seed 1", "seeds 1 to 5", "seeds 1, 4" */
static void tell_seeds(struct methods_text *text, const struct group *group)
{
    const struct record **records = group->records;
    size_t last = group->record_count - 1;
    bool without_gap = last > 1;
    for (size_t i = 0; i < last; i++)
        without_gap = without_gap && records[i + 1]->seed == records[i]->seed + 1;
    SAY(text, last > 0 ? "seeds %" PRIu64 : "seed %" PRIu64, records[0]->seed);
    if (without_gap)
        SAY(text, " to %" PRIu64, records[last]->seed);
    for (size_t i = 1; i <= last && !without_gap; i++)
        SAY(text, ", %" PRIu64, records[i]->seed);
}

static void tell_configs(struct methods_text *text, const struct comparison *comparison)
{
    SAY(text, "%s: ", comparison->group_count == 1 ? "The arm" : "Arms");
    for (size_t i = 0; i < comparison->group_count; i++) {
        SAY(text, "%s%s (", i > 0 ? "; " : "", comparison->groups[i].label);
        if (comparison->groups[i].config.given[0] != '\0')
            SAY(text, "%s; ", comparison->groups[i].config.given);
        if (comparison->groups[i].record_count > 0)
            tell_seeds(text, &comparison->groups[i]);
        else
            SAY(text, "no run was done");
        SAY(text, ")");
    }
    SAY(text, ". Runs of one seed share data, order and first parameters; arms differ in what is "
              "named here alone. ");
    SAY(text, all_have(comparison, steps_of) && all_have(comparison, batch_of)
                  ? "All runs do equal work, as many batches of as many examples. "
                  : "Runs do unequal work: their batches differ. ");
    if (comparison->failed_count > 0)
        SAY(text,
            "%s; those that diverged count as never reaching the target%s, and others take no "
            "part. ",
            wording_counted(comparison->failed_count, "run failed", "runs failed").text,
            comparison_has_accuracy(comparison) ? ", with the accuracy of guessing" : "");
}

static void tell_measures(struct methods_text *text, const struct comparison *comparison)
{
    SAY(text,
        "Losses are means over the examples trained on since the point before, taken before their "
        "update; %s of examples never trained on, after each epoch. Seconds are of training, from "
        "its start to the last update; evaluation and checkpoints are left out. Bytes moved are "
        "the payload that all workers sent and received. ",
        comparison_has_accuracy(comparison) ? "test accuracy and test loss are"
                                            : "test losses are");
    if (is_modelled(comparison))
        SAY(text, "All of them are virtual, those of the workers too. ");
    else
        SAY(text, "What each worker's seconds went into it measured itself, on a clock that does "
                  "not jump. ");
}

static void tell_target(struct methods_text *text, const struct conclusion *conclusion)
{
    const struct target *target = &conclusion->target;
    if (target->kind == TARGET_NONE)
        return;
    SAY(text, "The target is %s", target_text(target, 0).text);
    if (!target->asked_for)
        SAY(text,
            ", the worst loss that a run ended with, of those that came half as far below %.4g, "
            "with which training starts, as the best arm, and of arms of which most did",
            target->start);
    if (target->kind == TARGET_LOSS)
        SAY(text,
            ". It is reached with the first point of progress at which the mean training loss over "
            "the last %.0f examples is not above it, unless the run ends more than a tenth of the "
            "way back to %.4g",
            target->window, target->start);
    else
        SAY(text,
            ". It is reached with the first score that is not below it, unless the last score has "
            "lost a tenth of the way to guessing");
    SAY(text, ". A run that does not reach it counts as slower than any that does. ");
}

static void tell_statistics(struct methods_text *text, const struct conclusion *conclusion)
{
    size_t pairs = 0;
    for (size_t i = 1; i < conclusion->comparison->group_count; i++)
        if (conclusion->configs[i].rungs[0].time.count > pairs)
            pairs = conclusion->configs[i].rungs[0].time.count;
    if (conclusion->comparison->group_count < 2)
        return;
    SAY(text, "Ratios are geometric means over the seeds that an arm shares with %s",
        conclusion_name(conclusion->comparison, &conclusion->comparison->groups[0]).text);
    if (pairs < STATISTICS_INTERVAL_RUNS) {
        SAY(text, "; with fewer than three of them the effect of seeds is not known.");
        return;
    }
    SAY(text,
        ", with intervals of 95 %% by Student's t on the logarithms of paired ratios (where a run "
        "did not reach the target, medians with limits by rank). An arm is called alike where its "
        "interval is within 2 %% of 1, and sooner or later where p is at most 5 %% by Holm over "
        "all arms (t, or the sign test where a run did not reach the target). ");
    if (comparison_has_accuracy(conclusion->comparison))
        SAY(text,
            "Test accuracies are called equal where the 95 %% interval of the paired difference is "
            "within %g points. ",
            conclusion->question.margin);
    SAY(text, "Intervals are of one comparison each, and not corrected for how many there are.");
}

void methods_make(struct methods_text *text, const struct conclusion *conclusion,
                  const struct report_facts *facts)
{
    text->text[0] = '\0';
    const struct comparison *comparison = conclusion->comparison;
    if (comparison->record_count == 0)
        return;
    tell_program(text, comparison, facts);
    tell_work(text, comparison);
    tell_cluster(text, comparison, facts);
    tell_configs(text, comparison);
    tell_measures(text, comparison);
    tell_target(text, conclusion);
    tell_statistics(text, conclusion);
}
