/* watched_state.c - /state: the job's figures, and what each of its members does. */

#include <math.h>
#include <stdio.h>

#include "common/file/json_writer.h"
#include "ps/watch/watched.h"

static const char *const doings[WATCHED_DOINGS] = {"joins",  "computes", "exchanges", "waits",
                                                   "serves", "silent",   "lost",      "left"};

#define PARTS (3 + WAIT_COUNT)

static void take_parts(double parts[PARTS], const struct watched *w, const struct watched *e,
                       uint32_t i)
{
    const struct watched_worker *now = &w->workers[i], *then = &e->workers[i];
    parts[0] = fmax(now->compute_seconds - then->compute_seconds, 0);
    parts[1] = fmax(now->exchange_seconds - then->exchange_seconds, 0);
    parts[2] = fmax(now->evaluate_seconds - then->evaluate_seconds, 0);
    for (unsigned wait = 0; wait < WAIT_COUNT; wait++)
        parts[3 + wait] = fmax(w->members[i].waits[wait] - e->members[i].waits[wait], 0);
}

/* Which of its parts a worker is in now; PARTS: it is not known. */
static unsigned part_now(const struct watched_member *member)
{
    return member->doing == WATCHED_COMPUTES    ? 0
           : member->doing == WATCHED_EXCHANGES ? 1
           : member->doing == WATCHED_WAITS     ? 3 + member->wait
                                                : PARTS;
}

/* Where a worker's last second went; null where that is not known: it was not heard. */
static void write_second(struct json_writer *writer, const struct watched *w,
                         const struct watched *e, uint32_t i)
{
    static const char *const names[] = {"computing", "exchanging", "scoring"};
    double parts[PARTS], sum = 0, seconds = w->monotonic_seconds - e->monotonic_seconds;
    const struct watched_member *member = &w->members[i];
    unsigned now = part_now(member);
    take_parts(parts, w, e, i);
    for (unsigned part = 0; part < PARTS; part++)
        sum += parts[part];
    if (!(sum > 0) && now < PARTS && member->doing_seconds >= seconds)
        sum = parts[now] = seconds; /* What it does it reports when it has done it. */
    if (i >= e->worker_count || !(seconds > 0) || !(sum > 0) || member->heard_seconds > seconds) {
        json_writer_null(writer, "examples_per_second");
        json_writer_null(writer, "second");
        return;
    }
    double done = (double)w->workers[i].examples - (double)e->workers[i].examples;
    json_writer_decimals(writer, "examples_per_second", fmax(done, 0) / seconds, 1);
    json_writer_object_line(writer, "second");
    for (unsigned part = 0; part < PARTS; part++)
        json_writer_decimals(writer, part < 3 ? names[part] : wait_name(part - 3),
                             parts[part] / fmax(sum, seconds), 3);
    json_writer_decimals(writer, "other", fmax(1 - sum / seconds, 0), 3);
    json_writer_end(writer);
}

static void write_member(struct json_writer *writer, const struct watched *w,
                         const struct watched *earlier, uint32_t place, bool has_logs)
{
    char name[32], log[40], other[32];
    const struct watched_member *member = &w->members[place];
    bool server = place >= w->worker_count, waits = member->doing == WATCHED_WAITS;
    const char *role = server ? "ps" : "worker";
    uint32_t index = server ? place - w->worker_count : place;
    snprintf(name, sizeof name, "%s/%u", role, index);
    snprintf(log, sizeof log, "%s-%u.log", role, index);
    snprintf(other, sizeof other, "worker/%u", member->waits_for - 1);
    json_writer_object_line(writer, NULL);
    json_writer_text(writer, "name", name);
    json_writer_text(writer, "state", doings[member->doing]);
    json_writer_text(writer, "for",
                     !waits                      ? NULL
                     : member->waits_for > 0     ? other
                     : member->wait < WAIT_COUNT ? wait_name(member->wait)
                                                 : NULL);
    json_writer_decimals(writer, "seconds", member->doing_seconds, 1);
    json_writer_decimals(writer, "heard", member->heard_seconds, 1);
    if (server)
        json_writer_null(writer, "step");
    else
        json_writer_u64(writer, "step", member->step);
    json_writer_text(writer, "log", has_logs ? log : NULL);
    if (server) {
        json_writer_null(writer, "examples_per_second");
        json_writer_null(writer, "second");
    } else
        write_second(writer, w, earlier, index);
    json_writer_end(writer);
}

void watched_state_write(struct json_writer *writer, const struct watched *w,
                         const struct watched *earlier, uint64_t event_bytes, bool has_logs)
{
    const struct message_status_answer *job = &w->job;
    json_writer_object(writer, NULL);
    json_writer_text(writer, "format", "syncopate-state-1");
    json_writer_text(writer, "kind", "run");
    json_writer_text(writer, "name", job->out);
    json_writer_bool(writer, "live", job->state < JOB_FINISHING);
    json_writer_real(writer, "time", w->unix_seconds);
    json_writer_text(writer, "waiting", w->waiting[0] != '\0' ? w->waiting : NULL);
    json_writer_object(writer, "run");
    json_writer_text(writer, "state", job_state_name(job->state));
    json_writer_text(writer, "mode", job->figures_bytes > 0 ? job->mode_text : NULL);
    figures_write(writer, job_figures_rows(), job->figures_bytes > 0 ? &job->job : NULL);
    json_writer_end(writer);
    json_writer_u64(writer, "events", event_bytes);
    json_writer_array(writer, "members");
    for (uint32_t i = 0; i < w->worker_count + w->server_count; i++)
        write_member(writer, w, earlier, i, has_logs);
    json_writer_end(writer);
    json_writer_end(writer);
}
