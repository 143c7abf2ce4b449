/* fault_plan.c - kinds drawn by weight, with times and durations, all from one sequence. */

#include "deploy/verify/fault_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"

/* How often each kind is drawn. Whether a kind fits its host is looked at when it strikes. */
static const struct {
    const char *name;
    uint32_t weight;
} kinds[FAULT_KIND_COUNT] = {
    /* A process is killed (kill -9) and started again some time later. */
    [FAULT_CRASH] = {"crash", 10},
    /* The same of both processes of a place; made of crashes, see fault_plan_lose_hosts. */
    [FAULT_HOST] = {"host", 0},
    [FAULT_TORN] = {"torn", 8},       /* The same, while a server writes a file. */
    [FAULT_LOST] = {"lost", 2},       /* A worker is killed and stays away. */
    [FAULT_PAUSE] = {"pause", 5},     /* A process is stopped (SIGSTOP) and goes on later. */
    [FAULT_REPLACE] = {"replace", 3}, /* The same; meanwhile a second process takes its place. */
    [FAULT_TWIN] = {"twin", 2},       /* A second process comes to the place of a live one. */
    [FAULT_SNAPSHOT] = {"cut", 4},    /* All connections of a host break. */
    [FAULT_PARTITION] = {"partition", 5},   /* Some hosts are cut off from all others. */
    [FAULT_ONE_WAY] = {"one-way", 3},       /* Messages of some hosts do not arrive. */
    [FAULT_LOSS] = {"loss", 4},             /* One message in ten is lost, anywhere. */
    [FAULT_STUCK] = {"stuck", 1},           /* A worker computes for ever; it is killed later. */
    [FAULT_SLOW] = {"slow", 2},             /* A worker takes twenty times as long. */
    [FAULT_JOIN] = {"join", 3},             /* One worker more comes. */
    [FAULT_LEAVE] = {"leave", 2},           /* A worker leaves in order. */
    [FAULT_UNKNOWN_PEER] = {"stranger", 2}, /* A peer of another run sends any message to all. */
    [FAULT_DISK] = {"disk", 2}, /* A disk is full, read-only, or fails half of its writes. */
    [FAULT_SLOW_DISK] = {"slow-disk", 2}, /* A server's disk takes up to a second a write. */
};

const char *fault_name(enum fault_kind kind)
{
    return kinds[kind].name;
}

static enum fault_kind draw_kind(struct random_sequence *random)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < FAULT_KIND_COUNT; i++)
        all += kinds[i].weight;
    uint32_t at = random_below(random, all), kind = 0;
    while (at >= kinds[kind].weight)
        at -= kinds[kind++].weight;
    return (enum fault_kind)kind;
}

/* Most outages are short beside the deadlines, some are longer. */
static uint64_t draw_duration(struct random_sequence *random)
{
    static const uint32_t most_us[] = {100000, 1000000, 1000000, 3000000, 8000000, 15000000};
    return 1000 + random_below(random, most_us[random_below(random, 6)]);
}

static enum message_kind draw_message(struct random_sequence *random)
{
    static const enum message_kind messages[] = {
        MESSAGE_JOIN,      MESSAGE_JOB_PAGE,    MESSAGE_WELCOME,      MESSAGE_READY,
        MESSAGE_START,     MESSAGE_EXCHANGE,    MESSAGE_EXCHANGE,     MESSAGE_EXCHANGE,
        MESSAGE_RESULT,    MESSAGE_GRADIENT,    MESSAGE_EVALUATION,   MESSAGE_LEASE,
        MESSAGE_WORK,      MESSAGE_DONE,        MESSAGE_CUT,          MESSAGE_CUT_TAKEN,
        MESSAGE_CUT_TAKEN, MESSAGE_CHUNK_STATE, MESSAGE_PART_WRITTEN, MESSAGE_PART_WRITTEN,
        MESSAGE_FINISHED,  MESSAGE_BYE,
    };
    return messages[random_below(random, sizeof messages / sizeof *messages)];
}

static void draw_fault(struct fault *fault, struct random_sequence *random, uint32_t servers,
                       uint32_t hosts, uint64_t about_us)
{
    *fault = (struct fault){.kind = draw_kind(random), .host = random_below(random, hosts)};
    if (fault->kind == FAULT_TORN || fault->kind == FAULT_DISK || fault->kind == FAULT_SLOW_DISK)
        fault->host %= servers; /* Workers have no disks. */
    fault->time = (enum fault_time)random_below(random, 3);
    fault->message = draw_message(random);
    fault->count = 1 + random_below(random, 1u << random_below(random, 8));
    fault->at_us = fault->time == FAULT_FOLLOWS
                       ? random_below(random, 1u << (10 + random_below(random, 12)))
                       : random_below(random, (uint32_t)about_us);
    fault->for_us = draw_duration(random);
    /* One of the two sides, not empty and not all. */
    fault->hosts = 1 + random_below(random, (1u << hosts) - 2);
    fault->hold = random_below(random, 2) == 0;
    fault->number = random_next(random);
}

void fault_plan_draw(struct fault_plan *plan, struct random_sequence *random, uint32_t servers,
                     uint32_t workers, uint64_t about_us)
{
    static const uint32_t counts[] = {1, 1, 2, 2, 3, 4, 6, 8};
    memset(plan, 0, sizeof *plan);
    plan->count = counts[random_below(random, sizeof counts / sizeof *counts)];
    for (uint32_t i = 0; i < plan->count; i++)
        draw_fault(&plan->faults[i], random, servers, servers + workers, about_us);
    if (plan->faults[0].time == FAULT_FOLLOWS)
        plan->faults[0].time = FAULT_AT;
    plan->calm_us = about_us + 10000000;
}

void fault_plan_lose_hosts(struct fault_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->faults[i].kind == FAULT_CRASH && plan->faults[i].number % 2 == 0)
            plan->faults[i].kind = FAULT_HOST;
}

static void describe(const struct fault *fault, uint32_t servers, char *text, size_t size)
{
    bool server = fault->host < servers;
    char when[64];
    if (fault->time == FAULT_MESSAGES)
        snprintf(when, sizeof when, "after %s %u", message_kind_name(fault->message), fault->count);
    else
        snprintf(when, sizeof when, "%s %.3f s", fault->time == FAULT_AT ? "at" : "then after",
                 (double)fault->at_us * 1e-6);
    wording_append(text, size, "%s %s/%u %s for %.3f s", fault_name(fault->kind),
                   server ? "ps" : "worker", server ? fault->host : fault->host - servers, when,
                   (double)fault->for_us * 1e-6);
}

void fault_plan_describe(const struct fault_plan *plan, uint32_t servers, char *text, size_t size)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (i > 0)
            wording_append(text, size, ", ");
        describe(&plan->faults[i], servers, text, size);
    }
}
