/* watched.c - the board, and what its copy comes to for a probe and a service manager. */

#include "ps/watch/watched.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"

bool watched_is_ready(const struct watched *watched, char *why, size_t size)
{
    static const char *const states[WATCHED_STATES] = {"waiting for a job", "loading its chunks",
                                                       "serving", "over"};
    bool serves = watched->state == WATCHED_SERVING;
    bool runs = !watched->coordinates || watched->job.state == JOB_RUNNING ||
                watched->job.state == JOB_CLOSING;
    why[0] = '\0';
    if (serves && runs && (!watched->coordinates || watched->job.job.workers > 0))
        return true;
    snprintf(why, size, "ps/%" PRIu32 " is %s%s%s", watched->server,
             !watched->coordinates ? states[watched->state] : job_state_name(watched->job.state),
             watched->waiting[0] != '\0' ? ": " : "", watched->waiting);
    return false;
}

void watched_describe(const struct watched *watched, char *text, size_t size)
{
    const struct job_figures *job = &watched->job.job;
    if (watched->waiting[0] != '\0')
        snprintf(text, size, "%s", watched->waiting);
    else if (!watched->coordinates)
        snprintf(text, size, "%s",
                 watched->state == WATCHED_SERVING   ? "serving"
                 : watched->state == WATCHED_LOADING ? "loading its chunks"
                                                     : "waiting for ps/0");
    else if (watched->job.state == JOB_RUNNING)
        snprintf(text, size, "running: update %s of %s, %s", wording_count(job->step).text,
                 wording_count(job->steps).text,
                 wording_counted(job->workers, "worker", "workers").text);
    else
        snprintf(text, size, "%s", job_state_name(watched->job.state));
}

enum status watched_board_init(struct watched_board *board)
{
    memset(board, 0, sizeof *board);
    return pthread_mutex_init(&board->lock, NULL) == 0 ? STATUS_OK : STATUS_MEMORY;
}

void watched_board_free(struct watched_board *board)
{
    pthread_mutex_destroy(&board->lock);
}

void watched_post(struct watched_board *board, const struct watched *watched, uint64_t now_us)
{
    pthread_mutex_lock(&board->lock);
    board->kept[board->posts++ % WATCHED_KEPT] = *watched;
    board->posted_us = now_us;
    pthread_mutex_unlock(&board->lock);
}

bool watched_look(struct watched_board *board, struct watched *watched, struct watched *earlier,
                  uint64_t *posted_us)
{
    pthread_mutex_lock(&board->lock);
    uint64_t posts = board->posts, oldest = posts < WATCHED_KEPT ? 0 : posts;
    *watched = board->kept[(posts + WATCHED_KEPT - 1) % WATCHED_KEPT];
    if (earlier != NULL)
        *earlier = board->kept[oldest % WATCHED_KEPT];
    *posted_us = board->posted_us;
    pthread_mutex_unlock(&board->lock);
    return *posted_us != 0;
}
