/* ps_main.c - the program syncopate-ps: one server of a job that the first worker declares. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/address/inquiry.h"
#include "common/address/silence.h"
#include "common/base/clock.h"
#include "common/base/invariant.h"
#include "common/base/wording.h"
#include "common/events/hold.h"
#include "common/file/disk.h"
#include "common/file/folder.h"
#include "common/kernels/kernels.h"
#include "common/keys/keys.h"
#include "common/options/task.h"
#include "common/process/file_limit.h"
#include "common/process/log.h"
#include "common/process/notify.h"
#include "common/process/parent.h"
#include "common/process/process.h"
#include "common/process/signals.h"
#include "common/progress/narrator.h"
#include "common/store/restore.h"
#include "common/store/stop_note.h"
#include "common/tensorboard/board_place.h"
#include "common/transport/transport.h"
#include "common/watch/http_token.h"
#include "common/wire/message.h"
#include "ps/router/listening.h"
#include "ps/server.h"
#include "ps/watch/watch_pages.h"

#define ADDRESS_SECONDS  1.0 /* For an address to become free. */
#define ADDRESS_PAUSE_US 20000
/* Beyond --stop-timeout, which the job keeps by itself, for the last writes. */
#define STOP_EXTRA_SECONDS 30.0

struct addresses {
    char (*hosts)[ADDRESS_MAX]; /* [count] of --ps-hosts. */
    uint32_t count;
    const char *own;   /* Of this server: one of them, or --bind. */
    uint64_t began_us; /* When it was looked up. */
    struct listening listening;
};

/* The observers of this server. */
struct watching {
    char out[MESSAGE_TEXT_MAX]; /* The run's folder. */
    struct notify notify;       /* A service manager. */
    struct watch_pages *pages;  /* HTTP; NULL: not asked for. Owned. */
    struct http_server *http;
};

/* The receiver of a request to stop. */
struct stoppable {
    struct server *server;
    const struct notify *notify;
    double seconds; /* That it may take. */
};

static void request_stop(void *context, int exit_code)
{
    const struct stoppable *stoppable = context;
    notify_stopping(stoppable->notify, stoppable->seconds);
    server_request_stop(stoppable->server, exit_code);
}

static void note_abandoned(void *context)
{
    server_abandoned(((const struct stoppable *)context)->server);
}

static void note_enough(void *server, const char *why)
{
    server_enough(server, why);
}

/* A fresh folder for a server 0 without --out. */
static void default_out(char *out, size_t size)
{
    char stamp[32];
    struct tm local;
    time_t now = time(NULL);
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(out, size, "runs/job-%s", stamp);
}

/* Other servers write to the same place when they see it, so its name must not depend on the
 * folder where a process was started. */
static void absolute(char *out, size_t size)
{
    char directory[DISK_PATH_MAX], copy[DISK_PATH_MAX];
    if (out[0] == '/' || getcwd(directory, sizeof directory) == NULL)
        return;
    snprintf(copy, sizeof copy, "%s", out);
    snprintf(out, size, "%.500s/%.500s", directory, copy);
}

/* --- being watched ------------------------------------------------------------------------- */

static void close_watching(struct watching *watching)
{
    http_server_stop(&watching->http);
    if (watching->pages != NULL)
        watched_board_free(&watching->pages->board);
    free(watching->pages);
    watching->pages = NULL;
    notify_close(&watching->notify);
}

/* Before there is anything to show, so that an error is reported at once. An enum exit_code. */
static int open_watching(struct watching *watching, const struct options *options,
                         struct error *error)
{
    struct error why;
    struct http_place place;
    char url[HTTP_URL_MAX], token[HTTP_TOKEN_DIGITS + 1] = "";
    notify_open(&watching->notify);
    if (options->out != NULL)
        snprintf(watching->out, sizeof watching->out, "%s", options->out);
    else
        default_out(watching->out, sizeof watching->out);
    absolute(watching->out, sizeof watching->out);
    if (options->serve == NULL || !http_place_read(options->serve, &place))
        return EXIT_DONE;
    watching->pages = calloc(1, sizeof *watching->pages);
    if (watching->pages == NULL || watched_board_init(&watching->pages->board) != STATUS_OK) {
        free(watching->pages);
        watching->pages = NULL;
        error_set(error, STATUS_MEMORY, "out of memory");
        return EXIT_TRAINING_FAILED;
    }
    watching->pages->version = SYNCOPATE_VERSION;
    enum status status = STATUS_OK;
    if (!http_place_is_loopback(&place) && options->task_index == 0)
        status = http_token_open(watching->out, token, &why);
    if (status == STATUS_OK)
        status = http_server_start(&watching->http, &place, token, watch_pages_answer,
                                   watching->pages, &why);
    if (status != STATUS_OK) {
        error_set(error, status, "--serve=%s: %s", options->serve, why.text);
        return status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_CANNOT_OPEN;
    }
    http_place_url(http_server_place(watching->http), token, url);
    log_info("page on %s", url);
    return EXIT_DONE;
}

/* Server 0's, and not only once a job has gathered. */
static enum status check_files(const struct options *options, const char *out,
                               struct board_place *board, struct error *error)
{
    enum status status = folder_check("--out", out, error);
    if (status == STATUS_OK)
        status = restore_check(out, options->restore, NULL, error);
    if (status == STATUS_OK)
        status = board_place_find(board, options->tensorboard, options->tensorboard_run, out,
                                  clock_now_seconds(), error);
    return status;
}

static enum worker_loss find_worker_loss(const char *text)
{
    return strcmp(text, "fail") == 0   ? LOSS_FAIL
           : strcmp(text, "wait") == 0 ? LOSS_WAIT
                                       : LOSS_CONTINUE;
}

/* "listening on alpha:7000 ([::]:7000), on all addresses, since ..." */
static void say_where(const struct server *server, const struct options *options,
                      const struct listening *listening)
{
    char name[2 * ADDRESS_MAX];
    silence_name(server_address(server), server_bound(server), name, sizeof name);
    log_info("listening on %s%s%s%s", name,
             options->keys != NULL ? " encrypted, for those who have keys" : "",
             listening->remark[0] != '\0' ? ", " : "", listening->remark);
}

/* The former process at the address may be about to end. */
static enum status create_server(struct server **server, const struct server_options *options,
                                 struct error *error)
{
    double began = clock_now_seconds();
    enum status status = server_create(server, options, error);
    while (status == STATUS_EXISTS && clock_now_seconds() - began < ADDRESS_SECONDS) {
        usleep(ADDRESS_PAUSE_US);
        status = server_create(server, options, error);
    }
    return status;
}

static struct server_options
server_options_of(const struct options *options, const struct addresses *addresses,
                  struct transport *transport, const char *out, struct process_log *log,
                  const struct listener *listener, struct recorder *recorder)
{
    return (struct server_options){
        .transport = transport,
        .disk = &disk_posix,
        .index = options->task_index,
        .listen = addresses->listening.addresses,
        .name = addresses->own,
        .coordinator = addresses->count > 0 ? addresses->hosts[0] : NULL,
        .port_file = options->port_file,
        .job_id = options->job_id,
        .out = out,
        .restore = options->restore,
        .initial = options->initial,
        .keep = options_keep(options),
        .page = options->page,
        .owner_threads = options->owner_threads,
        .deadlines = options->deadlines,
        .began_us = addresses->began_us,
        .on_worker_loss = find_worker_loss(options->on_worker_loss),
        .max_bad_gradients = options->max_bad_gradients,
        .allow_mixed = options->allow_mixed,
        .has_parent = options->parent_stdin,
        .log = log,
        .listener = listener,
        .recorder = recorder,
    };
}

static enum narrator_tells narration(const struct options *options)
{
    if (options->quiet)
        return NARRATOR_NOTHING;
    return strcmp(options->tell, "progress") == 0 ? NARRATOR_PROGRESS : NARRATOR_ALL;
}

/* Until the job has ended, or a signal or the parent's end stops it. */
static int run_server(const struct options *options, struct server *server,
                      const struct notify *notify, const char *out, struct error *error)
{
    struct signals signals;
    struct stoppable stoppable = {server, notify, options->deadlines.stop + STOP_EXTRA_SECONDS};
    const struct signals_options requests = {
        .context = &stoppable,
        .stop = request_stop,
        .has_parent = options->parent_stdin,
        .abandoned = note_abandoned,
        .abandoned_seconds = fmin(PARENT_LOST_SECONDS, options->deadlines.stop),
    };
    if (signals_start(&signals, &requests) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    struct narrator *narrator = NULL;
    struct stop_note *note = NULL;
    if (options->task_index == 0) {
        narrator_start(&narrator, out, options->log_every, narration(options));
        stop_note_watch(&note, out, note_enough, server);
    }
    int exit_code = server_run(server, error);
    stop_note_stop(&note);
    narrator_stop(&narrator, exit_code);
    signals_stop(&signals);
    return exit_code;
}

static int serve(const struct options *options, const struct addresses *addresses,
                 struct transport *transport, struct watching *watching, struct error *error)
{
    struct server *server;
    struct board_place board = {.folder = ""};
    if (options->task_index == 0 && check_files(options, watching->out, &board, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    struct process_log *log;
    struct recorder *recorder = NULL;
    enum status status =
        process_log_open(&log, options->diary, ROLE_PS, options->task_index, error);
    if (status == STATUS_OK)
        status = recorder_open(&recorder, options->trace, ROLE_PS, options->task_index,
                               options->trace_steps, error);
    struct listener listener = process_log_listener(log);
#if CHECKED
    struct hold hold;
    hold_begin(&hold, "ps", options->task_index, &listener);
#endif
    struct server_options wanted =
        server_options_of(options, addresses, transport, watching->out, log, &listener, recorder);
    wanted.board = board;
    wanted.notify = &watching->notify;
    wanted.board_of_figures = watching->pages != NULL ? &watching->pages->board : NULL;
    if (status == STATUS_OK)
        status = create_server(&server, &wanted, error);
    if (status != STATUS_OK) {
        recorder_close(&recorder);
        process_log_close(&log);
        return status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_CANNOT_OPEN;
    }
    say_where(server, options, &addresses->listening);
    if (options->insecure)
        log_warning("--insecure: any process that reaches %s can join", server_address(server));
    notify_ready(&watching->notify);
    int exit_code = run_server(options, server, &watching->notify, watching->out, error);
    http_server_stop(&watching->http); /* Before the pages are gone. */
    server_destroy(&server);
    recorder_close(&recorder);
    process_log_close(&log);
    return exit_code;
}

/* keys: filled when they are used; they must outlive the transport. */
static enum status make_transport(const struct options *options, struct keys *keys,
                                  struct transport **transport, struct error *error)
{
    if (options->keys == NULL)
        return transport_create(transport, strcmp(options->transport, "tcp") != 0, error);
    enum status status =
        keys_open(keys, options->keys, options->certificate, ROLE_PS, options->task_index, error);
    return status == STATUS_OK ? transport_curve_create(transport, keys, true, error) : status;
}

/* EXIT_DONE, or why this server cannot be at its place. */
static int find_own_place(const struct options *options, struct addresses *addresses,
                          struct error *error)
{
    struct places places;
    struct inquiry *inquiry = inquiry_begin(addresses->own, false);
    double patience_ms = 1e3 * fmin(options->deadlines.start, 1e6);
    addresses->began_us = clock_now_us();
    if (inquiry == NULL) {
        error_set(error, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    inquiry_answer(inquiry, (int)patience_ms, &places);
    inquiry_drop(&inquiry);
    if (places.status == STATUS_AGAIN) {
        error_set(error, STATUS_TIMEOUT,
                  "start timed out after %s: no name server says what address %s has",
                  wording_duration(options->deadlines.start).text, addresses->own);
        return EXIT_START_TIMEOUT;
    }
    bool others_connect = options->keys != NULL || options->insecure;
    enum status status =
        listening_choose(addresses->own, &places, others_connect, &addresses->listening, error);
    return status == STATUS_OK        ? EXIT_DONE
           : status == STATUS_REFUSED ? EXIT_USAGE
                                      : EXIT_CANNOT_OPEN;
}

/* EXIT_DONE, or the fault of this server's addresses. */
static int read_addresses(const struct options *options, struct addresses *addresses,
                          struct error *error)
{
    addresses->hosts = calloc(JOB_SERVERS_MAX, sizeof *addresses->hosts);
    if (addresses->hosts == NULL) {
        error_set(error, STATUS_MEMORY, "out of memory");
        return EXIT_TRAINING_FAILED;
    }
    if (options_hosts(options->ps_hosts, addresses->hosts, JOB_SERVERS_MAX, &addresses->count,
                      error) != STATUS_OK)
        return EXIT_USAGE;
    if (options->task_index > 0 && addresses->count == 0) {
        error_set(error, STATUS_INVALID, "task %u needs --ps-hosts, to know server 0's address",
                  options->task_index);
        return EXIT_USAGE;
    }
    addresses->own = options->bind != NULL ? address_plain(options->bind)
                                           : addresses->hosts[options->task_index];
    return find_own_place(options, addresses, error);
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error = {STATUS_OK, ""};
    struct transport *transport;
    struct addresses addresses = {0};
    struct keys keys;
    int exit_code;
    if (!task_begin(&options, OPTION_PS, argc, argv, &exit_code))
        return exit_code;
    exit_code = read_addresses(&options, &addresses, &error); /* A signal ends it. */
    /* The same. */
    if (exit_code == EXIT_DONE && options.task_index == 0 && options.out != NULL)
        exit_code = task_await_out(&options, &error);
    if (exit_code != EXIT_DONE) {
        free(addresses.hosts);
        return task_end(exit_code, &error);
    }
    signals_block();
    file_limit_raise();
    kernels_init();
    kernels_limit(options_instructions(&options));

    process_keep_memory();
    struct watching watching = {.pages = NULL};
    exit_code = EXIT_CANNOT_OPEN;
    if (file_limit_check(1, &error) == STATUS_OK) /* One worker; the job says how many there are. */
        exit_code = open_watching(&watching, &options, &error);
    if (exit_code == EXIT_DONE) {
        exit_code = keys_exit_code(make_transport(&options, &keys, &transport, &error));
        if (exit_code == EXIT_DONE) {
            exit_code = serve(&options, &addresses, transport, &watching, &error);
            transport->operations->destroy(&transport);
        }
        keys_close(&keys);
    }
    close_watching(&watching);
    free(addresses.hosts);
    return task_end(exit_code, &error);
}
