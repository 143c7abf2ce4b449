/* budget.c - the bounds in numbers, passed on to inflow.c, and the line about who was held back. */

#include "common/transport/budget/budget.h"

#include <stdlib.h>

#include "common/process/log.h"
#include "common/transport/budget/inflow.h"

/* Bytes of one peer: before there is a job the largest declaration, in its pages; then whatever it
 * says beside what is expected. And of all those together that nobody expects. */
#define DECLARATION (10u << 20)
#define OTHERS      (1u << 20)
#define STRANGERS   (64u << 20)

#define PAUSE_US 1000000u

struct budget {
    uint64_t looked_us;
    uint64_t said; /* Connections that the last line about them counted. */
    uint64_t connections;
    struct inflow inflow;
};

struct budget *budget_open(uint16_t port, uint64_t handshake_bytes)
{
    struct budget *budget = calloc(1, sizeof *budget);
    if (budget == NULL)
        return NULL;
    inflow_init(&budget->inflow, port, DECLARATION, STRANGERS);
    budget->inflow.handshake_bytes = handshake_bytes;
    return budget;
}

void budget_close(struct budget **budget)
{
    if (*budget != NULL)
        inflow_free(&(*budget)->inflow);
    free(*budget);
    *budget = NULL;
}

void budget_expect(struct budget *budget, const struct traffic *traffic)
{
    if (budget == NULL)
        return;
    uint64_t two = 2 * traffic->payload_bytes;
    uint64_t window = traffic->window_bytes > two ? traffic->window_bytes : two;
    budget->inflow.payload_max = traffic->payload_bytes;
    budget->inflow.each_max = window + traffic->header_bytes + OTHERS;
    budget->inflow.all_max = traffic->peers * budget->inflow.each_max + STRANGERS;
    budget->inflow.expected = traffic->members;
    budget->inflow.gate.busy = true;
}

void budget_distrust(struct budget *budget)
{
    if (budget != NULL)
        inflow_distrust(&budget->inflow);
}

void budget_trust(struct budget *budget, uint64_t peer, enum standing standing)
{
    if (budget == NULL)
        return;
    if (standing == STANDING_MEMBER)
        inflow_trust(&budget->inflow, peer);
    else
        inflow_ask(&budget->inflow, peer);
}

bool budget_may_say(struct budget *budget, uint64_t peer, uint64_t bytes)
{
    return budget == NULL || inflow_may_say(&budget->inflow, peer, bytes);
}

void budget_greet(struct budget *budget, int fd)
{
    if (budget != NULL)
        inflow_greet(&budget->inflow, fd);
}

bool budget_knows(const struct budget *budget, uint64_t peer)
{
    return budget == NULL || inflow_knows(&budget->inflow, peer);
}

void budget_meet(struct budget *budget, uint64_t peer, int fd)
{
    if (budget != NULL)
        inflow_meet(&budget->inflow, peer, fd);
}

void budget_hear(struct budget *budget, uint64_t peer, uint64_t parts, uint64_t bytes)
{
    if (budget != NULL)
        inflow_hear(&budget->inflow, peer, parts, bytes);
}

void budget_drained(struct budget *budget)
{
    if (budget != NULL)
        inflow_drained(&budget->inflow);
}

static void say_if_more(struct budget *budget)
{
    const struct inflow *inflow = &budget->inflow;
    uint64_t now = inflow->held_back + inflow->ended;
    if (now == 0 || now < 2 * budget->said)
        return;
    budget->said = now;
    log_warning("connections held back count=%llu, closed count=%llu: more was sent than there is "
                "room for",
                (unsigned long long)inflow->held_back, (unsigned long long)inflow->ended);
}

void budget_look(struct budget *budget, uint64_t now_us, uint64_t connections)
{
    if (budget == NULL || now_us - budget->looked_us < INFLOW_INTERVAL_US)
        return;
    uint64_t elapsed_us = now_us - budget->looked_us;
    if (budget->looked_us == 0 || elapsed_us > PAUSE_US)
        elapsed_us = PAUSE_US; /* The first time, or this process was stopped. */
    budget->looked_us = now_us;
    inflow_came(&budget->inflow, connections - budget->connections);
    budget->connections = connections;
    inflow_look(&budget->inflow, elapsed_us);
    say_if_more(budget);
}
