/* inspect_address.c - asks, prints, and waits for the next look or for server 0's last word,
 * whichever comes first. */

#include "deploy/inspect/inspect_address.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/process/terminal.h"
#include "deploy/inspect/job_status.h"
#include "deploy/inspect/question.h"

/* Seconds to wait for an answer; while watching, before the first warning ... */
#define PATIENCE    5.0
#define LOST_AFTER  60.0 /* ... and before giving up. */
#define GONE_AFTER  10.0 /* The same, when it was closing the job. */
#define PAUSE_LEAST 0.5  /* Between questions to a server that is away. */
#define PAUSE_MOST  2.0  /* Between questions about whether it is still there, printed or not. */

struct watcher {
    const struct inspect_style *style;
    struct question question;
    struct terminal_block block;
};

/* --- showing --------------------------------------------------------------------------------- */

static void show_json(const struct watcher *w)
{
    struct json_writer writer;
    json_writer_init(&writer, w->style->watch);
    job_status_json(&writer, w->question.address, &w->question.answer);
    if (!writer.failed)
        printf("%s\n", writer.text);
    json_writer_free(&writer);
}

static void redraw(struct watcher *w)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return;
    job_status_print(stream, &w->question.answer);
    if (fclose(stream) == 0)
        terminal_draw(&w->block, stdout, text);
    free(text);
}

static void show(struct watcher *w)
{
    char line[JOB_STATUS_LINE_MAX];
    const struct message_status_answer *answer = &w->question.answer;
    if (w->style->json) {
        show_json(w);
    } else if (!w->style->watch) {
        job_status_print(stdout, answer);
    } else if (w->style->redraw && !job_status_has_ended(answer)) {
        redraw(w);
    } else {
        job_status_line(answer, line);
        printf("%s\n", line);
    }
    fflush(stdout);
}

/* --- once, or until the end ------------------------------------------------------------------ */

static int exit_code_of(enum status status)
{
    return status == STATUS_REFUSED  ? EXIT_UNAUTHENTICATED
           : status == STATUS_MEMORY ? EXIT_TRAINING_FAILED
                                     : EXIT_CANNOT_OPEN;
}

/* Until the next look, or until server 0 announces the end of the job. */
static void wait_until(struct watcher *w, double when)
{
    while (clock_now_seconds() < when && !job_status_has_ended(&w->question.answer))
        question_listen(&w->question);
}

/* Its last word, that the job has ended, is said once, and may have been lost. */
static bool was_closing(const struct watcher *w)
{
    return w->question.answer.state == JOB_CLOSING;
}

/* Server 0 has answered before; it may have been killed, and be started again. */
static enum status ask_again(struct watcher *w, struct error *error)
{
    double began = clock_now_seconds(), next, patience = was_closing(w) ? GONE_AFTER : LOST_AFTER;
    bool said = was_closing(w);
    enum status status;
    do {
        next = clock_now_seconds() + PAUSE_LEAST;
        status = question_ask(&w->question, PATIENCE, error);
        if (status == STATUS_TIMEOUT && !said && clock_now_seconds() >= began + PATIENCE) {
            said = true;
            w->block.lines = 0; /* The line is printed below the block, which stays. */
            fprintf(stderr, "%s: server 0 does not answer; asked on for %s\n", w->question.address,
                    wording_duration(LOST_AFTER).text);
        }
        if (status == STATUS_TIMEOUT)
            wait_until(w, next);
    } while (status == STATUS_TIMEOUT && clock_now_seconds() < began + patience);
    return status;
}

/* Asks more often than results are printed: a server that has gone sends no message. */
static enum status await_news(struct watcher *w, struct error *error)
{
    double now, due = clock_now_seconds() + w->style->every;
    enum status status = STATUS_OK;
    do {
        now = clock_now_seconds();
        wait_until(w, due < now + PAUSE_MOST ? due : now + PAUSE_MOST);
        if (!job_status_has_ended(&w->question.answer))
            status = ask_again(w, error);
    } while (status == STATUS_OK && clock_now_seconds() < due &&
             !job_status_has_ended(&w->question.answer));
    return status;
}

static int watch(struct watcher *w, struct error *error)
{
    char line[JOB_STATUS_LINE_MAX];
    show(w);
    while (!job_status_has_ended(&w->question.answer)) {
        enum status status = await_news(w, error);
        if (status == STATUS_REFUSED)
            return EXIT_UNAUTHENTICATED;
        if (status == STATUS_TIMEOUT && was_closing(w)) {
            fprintf(stderr, "%s: server 0 was closing the job, and has gone\n",
                    w->question.address);
            return EXIT_DONE;
        }
        if (status != STATUS_OK) {
            job_status_line(&w->question.answer, line);
            error_set(error, STATUS_LOST,
                      "%.200s: server 0 has not answered for %s; what it said last: %.250s",
                      w->question.address, wording_duration(LOST_AFTER).text, line);
            return EXIT_CLUSTER_LOST;
        }
        show(w);
    }
    question_thank(&w->question);
    return EXIT_DONE;
}

int inspect_address(const char *address, const struct keys *keys, const struct inspect_style *style,
                    struct error *error)
{
    struct watcher w = {.style = style};
    enum status status = question_open(&w.question, address, keys, style->watch, error);
    if (status != STATUS_OK)
        return exit_code_of(status);
    int exit_code = EXIT_DONE;
    status = question_ask(&w.question, PATIENCE, error);
    if (status != STATUS_OK)
        exit_code = exit_code_of(status);
    else if (style->watch)
        exit_code = watch(&w, error);
    else
        show(&w);
    question_close(&w.question);
    return exit_code;
}
