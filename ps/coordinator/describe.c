/* describe.c - the job's state in figures and words, for observers and members. */

#include "ps/coordinator/coordinator_state.h"

bool coordinator_holds_run(const struct coordinator *coordinator)
{
    const struct run *run = &coordinator->run;
    return run->state >= GATHERING && run->state < CLOSING && !run->stopping && !run->unleashed;
}

bool coordinator_has_started(const struct coordinator *coordinator)
{
    return coordinator->run.state >= RECOVERING;
}

bool coordinator_is_over(const struct coordinator *coordinator)
{
    return coordinator->run.state == OVER;
}

uint64_t coordinator_time(const struct coordinator *coordinator)
{
    return coordinator->run.now_us;
}

struct frame *coordinator_staleness(const struct coordinator *coordinator)
{
    return staleness_totals_shape(&coordinator->reporter.staleness);
}

const struct membership *coordinator_members(const struct coordinator *coordinator)
{
    return coordinator->run.members;
}

/* --- who waits for whom -------------------------------------------------------------------- */

/* The slowest worker, which this one must not run ahead of. */
static bool is_bound(const struct run *run, uint32_t worker, uint32_t *whom)
{
    return run->state == RUNNING && run->members->workers[worker].present &&
           run->work.rules->waits_for(&run->work, worker, whom);
}

void coordinator_describe_wait(const struct coordinator *c, const struct message *message,
                               char *text)
{
    uint32_t whom;
    members_describe_waiting(&c->members, &c->run, text);
    if (text[0] == '\0' && message->role == ROLE_WORKER && is_bound(&c->run, message->index, &whom))
        snprintf(text, MESSAGE_TEXT_MAX, "waiting for worker/%u (on %s), the slowest, in %s", whom,
                 c->run.members->workers[whom].host, job_mode_text(c->run.job).text);
}

/* For an observer: "worker/0 and 2 more wait for worker/3 (on ada), the slowest, in ssp:2". */
static void describe_bounds(const struct run *run, char *text)
{
    uint32_t whom, slowest = 0, first = 0, count = 0;
    char more[32] = "";
    for (uint32_t i = run->members->worker_count; text[0] == '\0' && i-- > 0;)
        if (is_bound(run, i, &whom)) {
            slowest = whom;
            first = i;
            count++;
        }
    if (count == 0)
        return;
    if (count > 1)
        snprintf(more, sizeof more, " and %u more", count - 1);
    snprintf(text, MESSAGE_TEXT_MAX, "worker/%u%s %s for worker/%u (on %s), the slowest, in %s",
             first, more, count > 1 ? "wait" : "waits", slowest,
             run->members->workers[slowest].host, job_mode_text(run->job).text);
}

/* For an observer, when no member is away: the worker that all others wait for. */
static void describe_stragglers(const struct run *run, char *text)
{
    uint32_t whom, count;
    if (text[0] != '\0' || run->state != RUNNING ||
        (count = stragglers_awaited(run->members, run->now_us, &whom)) == 0)
        return;
    stragglers_describe(&run->members->workers[whom], whom, run->work.rules->unit,
                        run->work.statistics.step, run->now_us, text);
    if (count > 1)
        wording_append(text, MESSAGE_TEXT_MAX, ", and for %u more", count - 1);
}

/* --- figures ------------------------------------------------------------------------------- */

static void describe_job(const struct run *run, struct job_figures *job)
{
    job->step = statistics_made(&run->work.statistics);
    job->steps = run->job->steps;
    job->epoch = (double)job->step / (double)job_steps_per_epoch(run->job);
    job->epochs = (double)run->job->steps / (double)job_steps_per_epoch(run->job);
    job->workers = membership_workers(run->members);
    job->worker_count = run->job->worker_count;
    job->servers = membership_servers(run->members);
    job->server_count = run->job->server_count;
    job->colocated = run->job->colocated;
    job->checkpoint_step = run->whole != NO_STEP ? run->whole : FIGURE_UNKNOWN;
}

void coordinator_describe(const struct coordinator *c, struct message_status_answer *answer,
                          uint64_t now_us)
{
    _Static_assert((int)OVER == (int)JOB_OVER && (int)RUNNING == (int)JOB_RUNNING, "same order");
    const struct run *run = &c->run;
    answer->state = (enum job_state)run->state;
    answer->seconds = seconds_since(run->entered_us, now_us);
    snprintf(answer->out, sizeof answer->out, "%s", run->options.out);
    if (run->state >= FINISHING) {
        answer->exit_code = (uint32_t)c->finishing.exit_code;
        snprintf(answer->text, sizeof answer->text, "%s", c->finishing.reason);
    } else {
        members_describe_waiting(&c->members, run, answer->text);
        describe_bounds(run, answer->text);
        describe_stragglers(run, answer->text);
    }
    if (run->members->servers == NULL) /* No job is declared: there are no facts about it. */
        return;
    snprintf(answer->mode_text, sizeof answer->mode_text, "%s", job_mode_text(run->job).text);
    answer->figures_bytes = sizeof answer->job;
    describe_job(run, &answer->job);
    reporter_describe(&c->reporter, run, &answer->job);
}
