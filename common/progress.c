#include "common/progress.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_log.h"
#include "common/json.h"
#include "common/wording.h"

#define WIDTH_UNKNOWN 80

/* --- what suits the terminal ----------------------------------------------------------------- */

static bool environment_has(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

struct progress_style progress_style_of(FILE *out, bool quiet, bool verbose, double log_every)
{
    const char *term = getenv("TERM");
    bool dumb = term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
    bool terminal = isatty(fileno(out)) && !dumb;
    return (struct progress_style){
        .quiet = quiet,
        .live = terminal && !verbose, /* Log lines in between would tear it. */
        .colour = terminal && !environment_has("NO_COLOR"),
        .log_every = log_every,
    };
}

/* Asked anew each time: windows change their size. */
static size_t terminal_width(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH_UNKNOWN;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Appends to a line of PROGRESS_LINE_MAX bytes; what does not fit is cut. */
static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, PROGRESS_LINE_MAX - used, format, arguments);
    va_end(arguments);
}

static void append_scores(char *text, const struct progress_state *state)
{
    if (!isnan(state->loss))
        append(text, "  loss %.3f", state->loss);
    if (!isnan(state->accuracy))
        append(text, "  accuracy %.1f %%", 100 * state->accuracy);
}

static double seconds_left(const struct progress_state *state)
{
    if (state->steps < state->step || !(state->images_per_second > 0))
        return NAN;
    uint64_t updates = state->steps - state->step;
    return (double)updates * (double)state->update_examples / state->images_per_second;
}

void progress_describe(const struct progress_state *state, double waited, char *text)
{
    text[0] = '\0';
    if (state->waiting[0] != '\0') {
        append(text, "%s", state->waiting);
        return;
    }
    if (!state->started) {
        append(text, "starting, %s", wording_duration(waited).text);
        return;
    }
    if (state->steps_per_epoch > 0)
        append(text, "epoch %.1f of %.3g  ", state->epoch,
               (double)state->steps / (double)state->steps_per_epoch);
    append(text, "step %s of %s", wording_count(state->step).text,
           wording_count(state->steps).text);
    append_scores(text, state);
    if (state->async && !isnan(state->staleness_mean))
        append(text, "  staleness %.1f", state->staleness_mean);
    if (state->images_per_second > 0)
        append(text, "  %s images/s", wording_count((uint64_t)state->images_per_second).text);
    if (state->step < state->steps && !isnan(seconds_left(state)))
        append(text, "  %s left", wording_duration(seconds_left(state)).text);
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
    progress_describe(&progress->state, now - progress->opened, text);
    size_t width = terminal_width(progress->out);
    if (strlen(text) > width - 1) /* The last column would make some terminals wrap. */
        text[width - 1] = '\0';
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
    if (!progress->state.started && progress->state.waiting[0] == '\0')
        return;
    progress_describe(&progress->state, now - progress->opened, text);
    print_line(progress, text, 0);
    progress->told = now;
}

/* --- events ---------------------------------------------------------------------------------- */

static void event_text(const struct json *event, const char *name, char *text, size_t size)
{
    const char *value = json_text(event, name);
    snprintf(text, size, "%s", value != NULL ? value : "");
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
}

static void reset(struct progress_state *state)
{
    *state = (struct progress_state){
        .epoch = NAN,
        .loss = NAN,
        .accuracy = NAN,
        .images_per_second = NAN,
        .staleness_mean = NAN,
        .staleness_max = NAN,
        .test_accuracy = NAN,
    };
}

static void on_start(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    char mode[16];
    bool again = state->started; /* By another server 0. */
    reset(state);
    event_text(event, "mode", mode, sizeof mode);
    state->started = true;
    state->async = strcmp(mode, "async") == 0;
    state->first_step = state->step = json_u64(event, "step", 0);
    state->steps = json_u64(event, "steps", 0);
    state->steps_per_epoch = json_u64(event, "steps_per_epoch", 0);
    state->update_examples = json_u64(event, "update_examples", 0);
    state->examples = json_u64(event, "examples", 0);
    state->epoch =
        state->steps_per_epoch > 0 ? (double)state->step / (double)state->steps_per_epoch : 0;

    char text[PROGRESS_LINE_MAX] = "";
    append(text, again ? "server 0 is back: %s" : "training on %s",
           wording_counted(state->examples, "example", "examples").text);
    append(text, ", %s an epoch",
           wording_counted(state->steps_per_epoch, "update", "updates").text);
    append(text, ", %s in all", wording_count(state->steps).text);
    if (again || state->step > 0)
        append(text, "; going on after update %s", wording_count(state->step).text);
    if (!progress->style.quiet)
        print_line(progress, text, 0);
}

static void on_progress(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    state->waiting[0] = '\0';
    state->step = json_u64(event, "step", 0);
    state->epoch = json_number(event, "epoch");
    state->loss = json_number(event, "loss");
    state->accuracy = json_number(event, "accuracy");
    state->images_per_second = json_number(event, "images_per_second");
    state->staleness_mean = json_number(event, "staleness_mean");
    state->staleness_max = json_number(event, "staleness_max");
}

static void on_evaluation(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    char text[PROGRESS_LINE_MAX] = "";
    state->test_accuracy = json_number(event, "test_accuracy");
    append(text, "epoch %.4g", json_number(event, "epoch"));
    size_t emphasis = strlen(text);
    append(text, "  step %s", wording_count(json_u64(event, "step", 0)).text);
    append_scores(text, state);
    append(text, "  test accuracy %.1f %%", 100 * state->test_accuracy);
    if (!progress->style.quiet)
        print_line(progress, text, emphasis);
}

static void on_waiting(struct progress *progress, const struct json *event)
{
    event_text(event, "text", progress->state.waiting, sizeof progress->state.waiting);
}

/* A lost server took updates with it: what was told beyond this step is told again. */
static void on_generation(struct progress *progress, const struct json *event)
{
    struct progress_state *state = &progress->state;
    char text[PROGRESS_LINE_MAX] = "";
    state->waiting[0] = '\0';
    state->step = json_u64(event, "step", 0);
    if (state->steps_per_epoch > 0)
        state->epoch = (double)state->step / (double)state->steps_per_epoch;
    append(text, "a lost server is back; going on after update %s",
           wording_count(state->step).text);
    if (!progress->style.quiet)
        print_line(progress, text, 0);
}

static void on_end(struct progress *progress, const struct json *event)
{
    (void)event;
    progress->state.waiting[0] = '\0';
}

static const struct {
    const char *name;
    void (*take)(struct progress *progress, const struct json *event);
} event_table[] = {
    {"start", on_start},     {"progress", on_progress},     {"evaluation", on_evaluation},
    {"waiting", on_waiting}, {"generation", on_generation}, {"end", on_end},
};

bool progress_take_event(struct progress *progress, const char *line)
{
    bool taken = false;
    struct json *event = NULL;
    if (json_parse(line, strlen(line), progress->path, &event, NULL) != STATUS_OK)
        return false;
    const char *name = json_text(event, "event");
    for (size_t i = 0; name != NULL && i < sizeof event_table / sizeof *event_table; i++) {
        if (strcmp(event_table[i].name, name) == 0) {
            event_table[i].take(progress, event);
            taken = true;
        }
    }
    json_release(&event);
    progress->news = progress->news || taken;
    return taken;
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
            progress_take_event(progress, progress->line);
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
    *progress = (struct progress){.out = out, .style = style, .opened = now, .told = now};
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
    bool due = now - progress->told >= progress->style.log_every;
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
    erase(progress);
    fflush(progress->out);
    close_events(progress);
}
