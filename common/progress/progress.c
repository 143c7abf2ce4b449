/* progress.c - reads lines of events.jsonl as they come and draws the line; an epoch's line waits
 * until both its halves, training and test, are known. */

#include "common/progress/progress.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/file/json.h"
#include "common/job/mode.h"
#include "common/process/terminal.h"
#include "common/store/event_log.h"
#include "common/store/run_window.h"

/* --- what suits the terminal ----------------------------------------------------------------- */

struct progress_style progress_style_of(FILE *out, bool quiet, bool verbose, double log_every)
{
    return (struct progress_style){
        .quiet = quiet,
        .live = terminal_can_redraw(out) && !verbose, /* Log lines in between would tear it. */
        .colour = terminal_has_colour(out),
        .log_every = log_every,
    };
}

/* --- words ----------------------------------------------------------------------------------- */

static double seconds_left(const struct progress_state *state)
{
    if (state->steps < state->step || !(state->now.images_per_second > 0))
        return NAN;
    uint64_t updates = state->steps - state->step;
    return (double)updates * (double)state->update_examples / state->now.images_per_second;
}

/* What is known of training, in the order of the line. */
enum { ITEM_EPOCH, ITEM_STEP, ITEM_LOSS, ITEM_ACCURACY, ITEM_STALENESS, ITEM_SPEED, ITEM_LEFT };
#define ITEM_COUNT (ITEM_LEFT + 1)
#define ITEM_MAX   64

/* On a narrow terminal the last of these go first. */
static const unsigned char importance[ITEM_COUNT] = {
    ITEM_EPOCH, ITEM_LEFT, ITEM_LOSS, ITEM_ACCURACY, ITEM_STALENESS, ITEM_SPEED, ITEM_STEP};

/* What is not known stays "". */
static void make_items(char items[ITEM_COUNT][ITEM_MAX], const struct progress_state *state)
{
    memset(items, 0, (size_t)ITEM_COUNT * ITEM_MAX);
    if (state->steps_per_epoch > 0)
        snprintf(items[ITEM_EPOCH], ITEM_MAX, "epoch %.1f of %.*f",
                 (double)state->step / (double)state->steps_per_epoch,
                 state->steps % state->steps_per_epoch > 0,
                 (double)state->steps / (double)state->steps_per_epoch);
    snprintf(items[ITEM_STEP], ITEM_MAX, "step %s of %s", wording_count(state->step).text,
             wording_count(state->steps).text);
    if (!isnan(state->now.epoch_loss))
        snprintf(items[ITEM_LOSS], ITEM_MAX, "loss %.3f", state->now.epoch_loss);
    snprintf(items[ITEM_ACCURACY], ITEM_MAX, "%s",
             wording_percent("accuracy ", state->now.epoch_accuracy, 1).text);
    if (!isnan(state->now.staleness_mean))
        snprintf(items[ITEM_STALENESS], ITEM_MAX, "staleness %.1f", state->now.staleness_mean);
    if (state->now.images_per_second > 0)
        snprintf(items[ITEM_SPEED], ITEM_MAX, "%s images/s",
                 wording_count((uint64_t)state->now.images_per_second).text);
    if (state->step < state->steps && !isnan(seconds_left(state)))
        snprintf(items[ITEM_LEFT], ITEM_MAX, "%s left",
                 wording_duration(ceil(seconds_left(state))).text);
}

static void describe_training(const struct progress_state *state, size_t columns, char *text)
{
    char items[ITEM_COUNT][ITEM_MAX];
    make_items(items, state);
    /* Where there are no epochs the step says how far it is. */
    size_t used = state->steps_per_epoch > 0 ? 0 : strlen(items[ITEM_STEP]);
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        char *item = items[importance[i]];
        size_t more = strlen(item) + (used > 0 ? 2 : 0);
        if (item[0] == '\0' || (importance[i] == ITEM_STEP && state->steps_per_epoch == 0))
            continue;
        if (used > 0 && used + more > columns)
            item[0] = '\0';
        else
            used += more;
    }
    for (size_t i = 0; i < ITEM_COUNT; i++)
        if (items[i][0] != '\0')
            wording_append(text, PROGRESS_LINE_MAX, "%s%s", text[0] != '\0' ? "  " : "", items[i]);
}

/* The live line without colour, at most PROGRESS_LINE_MAX bytes. Training is printed in at most
 * `columns`: what matters least there is left out. */
static void describe(const struct progress_state *state, double waited, size_t columns, char *text)
{
    text[0] = '\0';
    if (state->waiting[0] != '\0')
        wording_append(text, PROGRESS_LINE_MAX, "%s", state->waiting);
    else if (!state->started)
        wording_append(text, PROGRESS_LINE_MAX, "starting, %s", wording_waited(waited).text);
    else
        describe_training(state, columns, text);
}

/* --- drawing --------------------------------------------------------------------------------- */

static void erase(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", progress->out);
    progress->drawn = false;
}

static void draw(struct progress *progress, double now)
{
    char text[PROGRESS_LINE_MAX];
    size_t columns = terminal_width(progress->out) - 1; /* The last would make some wrap. */
    describe(&progress->state, now - progress->opened, columns, text);
    if (strlen(text) > columns)
        text[columns] = '\0';
    fprintf(progress->out, progress->style.colour ? "\r\033[36m%s\033[0m\033[K" : "\r%s\033[K",
            text);
    fflush(progress->out);
    progress->drawn = true;
}

/* A line that stays; `emphasis` letters of it stand out. */
static void print_line(struct progress *progress, const char *text, size_t emphasis)
{
    erase(progress);
    if (progress->style.colour && emphasis > 0)
        fprintf(progress->out, "\033[1m%.*s\033[0m%s\n", (int)emphasis, text, text + emphasis);
    else
        fprintf(progress->out, "%s\n", text);
    fflush(progress->out);
}

static void print_plain(struct progress *progress, double now)
{
    char text[PROGRESS_LINE_MAX];
    bool waiting = progress->state.waiting[0] != '\0';
    if (waiting ? progress->style.leave_waiting : !progress->state.started)
        return;
    if (!waiting && (progress->state.step == progress->epoch_step ||
                     progress->state.step == progress->state.first_step))
        return; /* Another line has said it all. */
    describe(&progress->state, now - progress->opened, PROGRESS_LINE_MAX, text);
    print_line(progress, text, 0);
    progress->printed = now;
}

/* --- events ---------------------------------------------------------------------------------- */

static void copy_text(const struct json *event, const char *name, char *text, size_t size)
{
    const char *value = json_text(event, name);
    snprintf(text, size, "%s", value != NULL ? value : "");
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
}

static void reset(struct progress_state *state)
{
    *state = (struct progress_state){0};
    figures_read(record_point_rows(), NULL, &state->now);
}

static void on_start(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    char mode[MODE_TEXT_MAX];
    bool again = state->started; /* By another server 0. */
    reset(state);
    memset(progress->epochs, 0, sizeof progress->epochs);
    copy_text(event, "mode", mode, sizeof mode);
    state->started = true;
    state->first_step = state->step = json_u64(event, "step", 0);
    state->steps = json_u64(event, "steps", 0);
    state->steps_per_epoch = json_u64(event, "steps_per_epoch", 0);
    state->update_examples = json_u64(event, "update_examples", 0);
    state->examples = json_u64(event, "examples", 0);

    char text[PROGRESS_LINE_MAX] = "";
    wording_append(text, PROGRESS_LINE_MAX, again ? "server 0 is back: %s" : "training on %s",
                   wording_counted(state->examples, "example", "examples").text);
    wording_append(text, PROGRESS_LINE_MAX, ", %s an epoch",
                   wording_counted(state->steps_per_epoch, "batch", "batches").text);
    wording_append(text, PROGRESS_LINE_MAX, ", %s in all", wording_count(state->steps).text);
    if (again || state->step > 0)
        wording_append(text, PROGRESS_LINE_MAX, "; going on after batch %s",
                       wording_count(state->step).text);
    if (!progress->style.quiet)
        print_line(progress, text, 0);
}

static void on_progress(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    state->waiting[0] = '\0';
    state->step = json_u64(event, "step", 0);
    figures_read(record_point_rows(), event, &state->now);
}

/* --- epochs ---------------------------------------------------------------------------------- */

static void describe_epoch(const struct progress *progress, const struct progress_epoch *epoch,
                           char *text, size_t *emphasis)
{
    const struct progress_state *state = &progress->state;
    bool ended = state->steps_per_epoch == 0 || epoch->step % state->steps_per_epoch == 0;
    text[0] = '\0';
    wording_append(text, PROGRESS_LINE_MAX, "epoch %.4g",
                   ended ? (double)epoch->number
                         : (double)epoch->step / (double)state->steps_per_epoch);
    *emphasis = strlen(text);
    wording_append(text, PROGRESS_LINE_MAX, "  step %s", wording_count(epoch->step).text);
    if (epoch->trained && !isnan(epoch->train.loss))
        wording_append(text, PROGRESS_LINE_MAX, "  loss %.4f%s", epoch->train.loss,
                       wording_percent("  accuracy ", epoch->train.accuracy, 2).text);
    if (epoch->trained && epoch->train.examples < epoch->train.of)
        wording_append(text, PROGRESS_LINE_MAX, " over %s of %s",
                       wording_count(epoch->train.examples).text,
                       wording_counted(epoch->train.of, "example", "examples").text);
    if (!epoch->scored && epoch->dropped)
        wording_append(text, PROGRESS_LINE_MAX, "  not scored in time");
    if (!epoch->scored)
        return;
    if (isnan(epoch->test.loss))
        wording_append(text, PROGRESS_LINE_MAX, "%s",
                       wording_percent("  test accuracy ", epoch->test.accuracy, 2).text);
    else /* Within 80 columns. */
        wording_append(text, PROGRESS_LINE_MAX, "  test loss %.4f%s", epoch->test.loss,
                       wording_percent(", ", epoch->test.accuracy, 2).text);
}

static void tell_epoch(struct progress *progress, struct progress_epoch *epoch)
{
    char text[PROGRESS_LINE_MAX];
    size_t emphasis;
    struct progress_epoch *other = &progress->epochs[(epoch->number + 1) % 2];
    if (other->number != 0 && other->number < epoch->number)
        tell_epoch(progress, other); /* Its other half does not come any more. */
    describe_epoch(progress, epoch, text, &emphasis);
    epoch->number = 0;
    progress->epoch_step = epoch->step;
    if (!progress->style.quiet)
        print_line(progress, text, emphasis);
}

/* What is known of the epoch that an event is about, or NULL. One before it that still waits for
 * the other half is printed without. */
static struct progress_epoch *take_epoch(struct progress *progress, const struct json *event)
{
    uint64_t number = json_u64(event, "epoch", 0);
    struct progress_epoch *epoch = &progress->epochs[number % 2];
    if (number == 0)
        return NULL;
    if (epoch->number != number && epoch->number != 0)
        tell_epoch(progress, epoch);
    if (epoch->number != number)
        *epoch = (struct progress_epoch){.number = number};
    epoch->step = json_u64(event, "step", 0);
    return epoch;
}

static void on_epoch(struct progress *progress, const struct json *event)
{
    struct progress_epoch *epoch = take_epoch(progress, event);
    if (epoch == NULL)
        return;
    epoch->trained = true;
    figures_read(record_epoch_rows(), event, &epoch->train);
    if (epoch->scored)
        tell_epoch(progress, epoch);
}

static void on_evaluation(struct progress *progress, const struct json *event)
{
    struct progress_epoch *epoch = take_epoch(progress, event);
    if (epoch == NULL)
        return;
    epoch->scored = true;
    figures_read(score_figures_rows(), event, &epoch->test);
    if (epoch->trained)
        tell_epoch(progress, epoch);
}

/* Of epochs up to a step no score will come. */
static void on_score_dropped(struct progress *progress, const struct json *event)
{
    uint64_t step = json_u64(event, "step", 0);
    for (unsigned i = 0; i < 2; i++)
        if (progress->epochs[i].step <= step)
            progress->epochs[i].dropped = true;
}

/* Those that still wait, the older first. */
static void tell_epochs(struct progress *progress)
{
    struct progress_epoch *epochs = progress->epochs;
    unsigned older = epochs[1].number < epochs[0].number;
    for (unsigned i = 0; i < 2; i++)
        if (epochs[(older + i) % 2].number != 0)
            tell_epoch(progress, &epochs[(older + i) % 2]);
}

/* --- windows of --report-every ---------------------------------------------------------------- */

static void on_window(struct progress *progress, const struct json *event)
{
    char text[RUN_WINDOW_TEXT_MAX];
    size_t emphasis;
    struct run_window window;
    figures_read(run_window_rows(), event, &window);
    run_window_describe(&window, text, &emphasis);
    if (!progress->style.quiet)
        print_line(progress, text, emphasis);
}

/* --- other events ---------------------------------------------------------------------------- */

static void on_waiting(struct progress *progress, const struct json *event)
{
    copy_text(event, "text", progress->state.waiting, sizeof progress->state.waiting);
}

/* A lost server took updates with it: what was printed beyond this step is printed again. */
static void on_generation(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    char text[PROGRESS_LINE_MAX] = "";
    state->waiting[0] = '\0';
    state->step = json_u64(event, "step", 0);
    memset(progress->epochs, 0, sizeof progress->epochs);
    wording_append(text, PROGRESS_LINE_MAX,
                   "a lost server is back: going back to step %s: %s made again",
                   wording_count(state->step).text,
                   wording_counted(json_u64(event, "recomputed", 0), "batch", "batches").text);
    if (!progress->style.quiet)
        print_line(progress, text, 0);
}

static const struct {
    const char *name;
    void (*take)(struct progress *progress, const struct json *event);
} event_table[] = {
    {"start", on_start},     {"progress", on_progress},
    {"epoch", on_epoch},     {"evaluation", on_evaluation},
    {"waiting", on_waiting}, {"generation", on_generation},
    {"window", on_window},   {"score_dropped", on_score_dropped},
};

/* One event into the state; a line that is no event that matters here changes nothing. */
static void take_event(struct progress *progress, const char *line)
{
    struct json *event = NULL;
    if (json_parse(line, strlen(line), progress->path, &event, NULL) != STATUS_OK)
        return;
    const char *name = json_text(event, "event");
    for (size_t i = 0; name != NULL && i < sizeof event_table / sizeof *event_table; i++) {
        if (strcmp(event_table[i].name, name) == 0) {
            event_table[i].take(progress, event);
            progress->news = true;
        }
    }
    json_release(&event);
}

/* --- the file -------------------------------------------------------------------------------- */

static void take_bytes(struct progress *progress, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != '\n') {
            if (progress->line_bytes < sizeof progress->line - 1)
                progress->line[progress->line_bytes++] = bytes[i];
            else
                progress->line_too_long = true;
            continue;
        }
        progress->line[progress->line_bytes] = '\0';
        if (!progress->line_too_long)
            take_event(progress, progress->line);
        progress->line_bytes = 0;
        progress->line_too_long = false;
    }
}

static void close_events(struct progress *progress)
{
    if (progress->file >= 0)
        close(progress->file);
    progress->file = -1;
}

/* Whether another log is there by now: the one that was watched has been set aside. */
static bool is_replaced(const struct progress *progress)
{
    struct stat ours, there;
    return fstat(progress->file, &ours) == 0 && lstat(progress->path, &there) == 0 &&
           S_ISREG(there.st_mode) && (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev);
}

static void follow_events(struct progress *progress)
{
    if (progress->file >= 0 && is_replaced(progress)) {
        close_events(progress);
        progress->offset = progress->line_bytes = 0;
        progress->line_too_long = false;
    }
    if (progress->file < 0) /* What is no file (yet) is not waited for. */
        disk_open(progress->path, O_RDONLY, &progress->file, NULL);
}

static void read_events(struct progress *progress)
{
    char bytes[8192];
    follow_events(progress);
    while (progress->file >= 0) {
        ssize_t count = pread(progress->file, bytes, sizeof bytes, (off_t)progress->offset);
        if (count <= 0)
            return;
        progress->offset += (uint64_t)count;
        take_bytes(progress, bytes, (size_t)count);
    }
}

/* Bytes up to the end of the last whole line: a line that a crash cut off is dropped by the session
 * to come, which goes on from there. Where no line ends within the last of them there is no log,
 * and the session to come begins another. */
static uint64_t whole_lines_bytes(int file)
{
    char bytes[4096];
    off_t last = lseek(file, 0, SEEK_END);
    for (off_t end = last; end > 0 && last - end <= (off_t)EVENT_LOG_LINE_MAX;) {
        off_t start = end > (off_t)sizeof bytes ? end - (off_t)sizeof bytes : 0;
        ssize_t count = pread(file, bytes, (size_t)(end - start), start);
        const char *newline = count > 0 ? memrchr(bytes, '\n', (size_t)count) : NULL;
        if (newline != NULL)
            return (uint64_t)start + (uint64_t)(newline - bytes) + 1;
        if (count <= 0 || start == 0)
            return 0;
        end = start;
    }
    return last > 0 ? (uint64_t)last : 0;
}

void progress_open(struct progress *progress, FILE *out, struct progress_style style,
                   const char *run, double now)
{
    *progress = (struct progress){
        .out = out, .style = style, .opened = now, .printed = now, .epoch_step = UINT64_MAX};
    reset(&progress->state);
    snprintf(progress->path, sizeof progress->path, "%s/events.jsonl", run);
    if (disk_open(progress->path, O_RDONLY, &progress->file, NULL) == STATUS_OK)
        progress->offset = whole_lines_bytes(progress->file);
}

void progress_tick(struct progress *progress, double now)
{
    read_events(progress);
    if (progress->style.quiet)
        return;
    if (progress->style.live && (progress->news || !progress->state.started))
        draw(progress, now);
    bool due = now - progress->printed >= progress->style.log_every;
    if (!progress->style.live && progress->news && due)
        print_plain(progress, now);
    /* News that are not due yet wait for their moment. */
    progress->news = progress->news && !progress->style.live && !due;
}

void progress_say(struct progress *progress, const char *line)
{
    erase(progress);
    fflush(progress->out);
    fprintf(stderr, "%s\n", line);
    progress->news = true;
}

void progress_close(struct progress *progress)
{
    read_events(progress);
    tell_epochs(progress);
    erase(progress);
    fflush(progress->out);
    close_events(progress);
}
