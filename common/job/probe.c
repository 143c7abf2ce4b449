/* probe.c - updates of invented numbers by every optimizer, with every length of tail, and some
 * learning rates, in one digest. */

#include "common/job/probe.h"

#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/job/schedule.h"
#include "common/optimizer/optimizer.h"

#define PROBE_LENGTH 65
#define PROBE_STEPS  3

static void fill(float *values, uint32_t count, uint32_t sub)
{
    struct random_sequence sequence;
    random_sequence_init(&sequence, 1, RANDOM_STREAM_PROBE, sub);
    for (uint32_t i = 0; i < count; i++)
        values[i] = random_unit_float(random_next(&sequence)) - 0.5f;
}

static void probe_optimizer(const struct optimizer *optimizer, uint32_t count, struct hash *hash)
{
    _Alignas(64) float values[PROBE_LENGTH], gradient[PROBE_LENGTH];
    _Alignas(64) float slots[OPTIMIZER_SLOTS_MAX][PROBE_LENGTH];
    struct optimizer_settings settings = optimizer->defaults;
    fill(values, count, 1);
    for (uint32_t slot = 0; slot < optimizer->slot_count; slot++)
        for (uint32_t i = 0; i < count; i++)
            slots[slot][i] = optimizer->slot_initial(&settings, slot);
    for (uint64_t t = 1; t <= PROBE_STEPS; t++) {
        fill(gradient, count, 1 + (uint32_t)t);
        struct optimizer_update update = {
            .settings = &settings,
            .t = t,
            .learning_rate = optimizer->default_learning_rate,
            .scale = 1.0f / 3.0f,
            .count = count,
            .gradient = gradient,
            .values_in = values,
            .values_out = values,
        };
        for (uint32_t slot = 0; slot < optimizer->slot_count; slot++)
            update.slots[slot] = slots[slot];
        update.bias = t == PROBE_STEPS;
        optimizer->apply(&update);
    }
    hash_update(hash, values, count * sizeof *values);
}

static void probe_schedules(struct hash *hash)
{
    for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++)
        for (uint64_t version = 0; version < 200; version += 7) {
            struct schedule schedule = {(enum schedule_kind)kind, 0.001, 20, 150, 0.1, 0};
            float rate = schedule_learning_rate(&schedule, version);
            hash_update(hash, &rate, sizeof rate);
        }
}

void probe_updates(uint8_t digest[DIGEST_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    for (unsigned i = 0; optimizer_at(i) != NULL; i++)
        for (uint32_t count = 1; count <= PROBE_LENGTH; count++)
            probe_optimizer(optimizer_at(i), count, &hash);
    probe_schedules(&hash);
    hash_final(&hash, digest);
}
