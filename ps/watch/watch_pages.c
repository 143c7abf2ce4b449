/* watch_pages.c - which page it is, and what stands there. */

#include "ps/watch/watch_pages.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/file/json_writer.h"
#include "common/watch/exposition.h"
#include "common/watch/page_text.h"
#include "common/watch/process_figures.h"
#include "common/watch/run_files.h"

#define PLAIN "text/plain; charset=utf-8"

/* Too long ago for a thread that goes round twice a second. */
static bool is_stuck(uint64_t posted_us, uint64_t now_us)
{
    return now_us > posted_us && now_us - posted_us > WATCHED_ALIVE_US;
}

static unsigned write_health(FILE *out, uint64_t posted_us, uint64_t now_us)
{
    if (!is_stuck(posted_us, now_us)) {
        fputs("alive\n", out);
        return 200;
    }
    fprintf(out, "the server's own thread has been stuck for %.0f s\n",
            1e-6 * (double)(now_us - posted_us));
    return 503;
}

static unsigned write_readiness(FILE *out, const struct watched *watched, uint64_t posted_us,
                                uint64_t now_us)
{
    char why[2 * MESSAGE_TEXT_MAX];
    if (is_stuck(posted_us, now_us))
        return write_health(out, posted_us, now_us);
    bool ready = watched_is_ready(watched, why, sizeof why);
    fprintf(out, "%s\n", ready ? "ready" : why);
    return ready ? 200 : 503;
}

static void write_metrics(FILE *out, const struct watch_pages *pages, uint64_t posted_us,
                          uint64_t now_us)
{
    watched_write(out, &pages->copy, pages->version);
    exposition_metric(out, "syncopate_figures_age_seconds", METRIC_GAUGE,
                      "Seconds since the server's own thread wrote down what stands here.");
    exposition_sample(out, "syncopate_figures_age_seconds",
                      now_us > posted_us ? 1e-6 * (double)(now_us - posted_us) : 0);
    process_figures_write(out);
}

static struct http_answer state(struct watch_pages *pages)
{
    struct json_writer writer;
    const char *out = pages->copy.job.out;
    json_writer_init(&writer, true);
    watched_state_write(&writer, &pages->copy, &pages->earlier, run_files_events(out),
                        run_files_has_logs(out));
    if (writer.failed)
        json_writer_free(&writer);
    return (struct http_answer){200, "application/json", writer.text, writer.bytes};
}

/* What Prometheus and probes ask any server for. */
static struct http_answer figures(struct watch_pages *pages, const char *path, bool known,
                                  uint64_t posted_us)
{
    struct http_answer answer = {.type = PLAIN};
    uint64_t now_us = clock_now_us();
    bool metrics = strcmp(path, "/metrics") == 0, health = strcmp(path, "/healthz") == 0;
    if (!metrics && !health && strcmp(path, "/readyz") != 0)
        return answer;
    answer.code = 503;
    FILE *out = open_memstream(&answer.body, &answer.bytes);
    if (out == NULL)
        return answer;
    if (!known)
        fputs("starting\n", out);
    else if (health)
        answer.code = write_health(out, posted_us, now_us);
    else if (!metrics)
        answer.code = write_readiness(out, &pages->copy, posted_us, now_us);
    else {
        answer.code = 200;
        answer.type = EXPOSITION_TYPE;
        write_metrics(out, pages, posted_us, now_us);
    }
    fclose(out);
    return answer;
}

struct http_answer watch_pages_answer(void *context, const struct http_request *request)
{
    struct watch_pages *pages = context;
    uint64_t posted_us;
    if (request->posts)
        return (struct http_answer){0};
    bool known = watched_look(&pages->board, &pages->copy, &pages->earlier, &posted_us);
    struct http_answer answer = figures(pages, request->path, known, posted_us);
    if (answer.code == 0 && !known)
        return (struct http_answer){503, PLAIN, strdup("starting\n"), 9};
    if (answer.code != 0 || !pages->copy.coordinates)
        return answer;
    return strcmp(request->path, "/") == 0        ? page_text_live()
           : strcmp(request->path, "/state") == 0 ? state(pages)
                                                  : run_files_answer(pages->copy.job.out, request);
}
