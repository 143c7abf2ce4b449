/* test_progress.c - what people see of a run: lines by time and by epoch, the live line, and
 * silence. */
/* promises: json progress */

#include "common/progress/progress.h"

#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/suite.h"

#define START                                                                                      \
    "{\"time\": 0.1, \"event\": \"start\", \"mode\": \"sync\", \"workers\": 2, \"servers\": 1, "   \
    "\"step\": 0, \"steps\": 9380, \"steps_per_epoch\": 938, \"update_examples\": 64, "            \
    "\"examples\": 60000}\n"
#define PROGRESS_OF(staleness)                                                                     \
    "{\"time\": 9, \"event\": \"progress\", \"step\": 2814, \"epoch\": 3.0, \"loss\": 0.4, "       \
    "\"accuracy\": 0.8, \"epoch_loss\": 0.312, \"epoch_accuracy\": 0.887, "                        \
    "\"images_per_second\": 6400.0, \"staleness_mean\": " staleness "}\n"
#define PROGRESS PROGRESS_OF("null")
#define EPOCH                                                                                      \
    "{\"time\": 9.2, \"event\": \"epoch\", \"epoch\": 3, \"step\": 2814, \"loss\": 0.31149, "      \
    "\"accuracy\": 0.88666, \"examples\": 60000, \"of\": 60000}\n"
#define EVALUATION                                                                                 \
    "{\"time\": 9.5, \"event\": \"evaluation\", \"epoch\": 3, \"step\": 2814, "                    \
    "\"test_loss\": 0.33, \"test_accuracy\": 0.879, \"seconds\": 0.4}\n"

/* A run directory and what was shown of it. */
struct scene {
    char folder[64], events[96];
    char *shown; /* What progress wrote, owned. */
    size_t shown_bytes;
    FILE *out;
    struct progress progress;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/test_progress-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->events, sizeof scene->events, "%s/events.jsonl", scene->folder);
    scene->out = open_memstream(&scene->shown, &scene->shown_bytes);
    ck_assert_ptr_nonnull(scene->out);
}

static void scene_open(struct scene *scene, bool live, bool colour, bool quiet)
{
    struct progress_style style = {.quiet = quiet, .live = live, .colour = colour, .log_every = 10};
    progress_open(&scene->progress, scene->out, style, scene->folder, 0);
}

static void happen(struct scene *scene, const char *text)
{
    FILE *file = fopen(scene->events, "a");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static const char *shown(struct scene *scene)
{
    fflush(scene->out);
    return scene->shown;
}

static void scene_end(struct scene *scene)
{
    progress_close(&scene->progress);
    fclose(scene->out);
    free(scene->shown);
    unlink(scene->events);
    rmdir(scene->folder);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_end(scene))

#define STARTED    "training on 60,000 examples, 938 batches an epoch, 9,380 in all\n"
#define EPOCH_LINE "epoch 3  step 2,814  loss 0.3115  accuracy 88.67 %  test loss 0.3300, 87.90 %\n"

TEST_PLAIN(an_epoch_leaves_a_line_when_it_is_trained_and_scored)
{
    static const char *const orders[] = {PROGRESS EPOCH EVALUATION, EVALUATION PROGRESS EPOCH};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        scene_init(&scene);
        scene_open(&scene, false, false, false);
        happen(&scene, START);
        happen(&scene, orders[i]);
        progress_tick(&scene.progress, 1);
        ck_assert_str_eq(shown(&scene), STARTED EPOCH_LINE);
        scene_end(&scene);
    }
}

TEST(the_end_tells_what_there_is_of_an_epoch)
{
    scene_open(scene, false, false, false);
    happen(
        scene, START
        "{\"event\": \"epoch\", \"epoch\": 2, \"step\": 1876, \"loss\": null, \"accuracy\": null, "
        "\"examples\": 0, \"of\": 60000}\n"
        "{\"event\": \"evaluation\", \"epoch\": 1, \"step\": 938, \"test_accuracy\": 0.5}\n");
    progress_tick(&scene->progress, 1);
    ck_assert_str_eq(shown(scene), STARTED);
    progress_close(&scene->progress);
    ck_assert_str_eq(shown(scene), STARTED "epoch 1  step 938  test accuracy 50.00 %\n"
                                           "epoch 2  step 1,876 over 0 of 60,000 examples\n");
}

TEST(a_job_without_accuracy_shows_none)
{
    scene_open(scene, false, false, false);
    happen(scene, START
           "{\"event\": \"epoch\", \"epoch\": 1, \"step\": 938, \"loss\": 1, \"accuracy\": null, "
           "\"examples\": 60000, \"of\": 60000}\n"
           "{\"event\": \"evaluation\", \"epoch\": 1, \"step\": 938, \"test_loss\": 2, "
           "\"test_accuracy\": null}\n");
    progress_tick(&scene->progress, 1);
    ck_assert_str_eq(shown(scene), STARTED "epoch 1  step 938  loss 1.0000  test loss 2.0000\n");
}

#define TRAINED(epoch, step)                                                                       \
    "{\"event\": \"epoch\", \"epoch\": " #epoch ", \"step\": " #step                               \
    ", \"loss\": 1, \"accuracy\": 0.5, \"examples\": 60000, \"of\": 60000}\n"

/* Also where the score of the epoch behind it is there at once. */
TEST(an_epoch_without_a_score_says_so_and_comes_before_the_next)
{
    scene_open(scene, false, false, false);
    happen(scene, START TRAINED(1, 938) TRAINED(2, 1876));
    happen(scene, "{\"event\": \"score_dropped\", \"step\": 1875, \"scores\": 1}\n"
                  "{\"event\": \"evaluation\", \"epoch\": 2, \"step\": 1876, "
                  "\"test_accuracy\": 0.5}\n");
    progress_tick(&scene->progress, 1);
    ck_assert_str_eq(shown(scene), STARTED
                     "epoch 1  step 938  loss 1.0000  accuracy 50.00 %  not scored in time\n"
                     "epoch 2  step 1,876  loss 1.0000  accuracy 50.00 %  test accuracy 50.00 %\n");
}

TEST(an_epoch_that_is_not_whole_says_so)
{
    scene_open(scene, false, false, false);
    happen(
        scene, START
        "{\"event\": \"epoch\", \"epoch\": 1, \"step\": 938, \"loss\": 0.5, \"accuracy\": 0.75, "
        "\"examples\": 30016, \"of\": 60000}\n"
        "{\"event\": \"evaluation\", \"epoch\": 1, \"step\": 938, \"test_accuracy\": 0.5}\n"
        /* The job ends here. */
        "{\"event\": \"epoch\", \"epoch\": 2, \"step\": 1407, \"loss\": 0.5, \"accuracy\": 0.75, "
        "\"examples\": 30016, \"of\": 30016}\n"
        "{\"event\": \"evaluation\", \"epoch\": 2, \"step\": 1407, \"test_accuracy\": 0.5}\n");
    progress_tick(&scene->progress, 1);
    ck_assert_str_eq(
        shown(scene),
        STARTED "epoch 1  step 938  loss 0.5000  accuracy 75.00 % over 30,016 of 60,000 examples"
                "  test accuracy 50.00 %\n"
                "epoch 1.5  step 1,407  loss 0.5000  accuracy 75.00 %  test accuracy 50.00 %\n");
}

TEST(windows_leave_a_line_each_and_the_last_says_that_it_is_shorter)
{
    scene_open(scene, false, false, false);
    happen(scene, START
           "{\"event\": \"window\", \"window\": 1, \"from\": 0, \"step\": 10, \"every\": 10, "
           "\"batches\": 10, \"loss\": 2.30258, \"accuracy\": 0.125, \"examples\": 640, "
           "\"of\": 640, \"seconds\": 0.51}\n"
           "{\"event\": \"window\", \"window\": 2, \"from\": 10, \"step\": 20, \"every\": 10, "
           "\"batches\": 7, \"loss\": 1.5, \"accuracy\": 0.5, \"examples\": 448, "
           "\"of\": 640, \"seconds\": null}\n"
           "{\"event\": \"window\", \"window\": 3, \"from\": 20, \"step\": 21, \"every\": 10, "
           "\"batches\": 1, \"loss\": null, \"accuracy\": null, \"examples\": 0, "
           "\"of\": 64, \"seconds\": 0.051}\n");
    progress_tick(&scene->progress, 1);
    ck_assert_str_eq(shown(scene), STARTED
                     "batches 1 to 10  loss 2.3026  accuracy 12.50 %  640 examples  0.51 s\n"
                     "batches 11 to 20  loss 1.5000  accuracy 50.00 % over 448 of 640 examples\n"
                     "batch 21, the last 1 over 0 of 64 examples  0.051 s\n");
}

TEST(the_model_is_scored_in_async_as_in_sync)
{
    scene_open(scene, false, false, false);
    happen(scene, "{\"event\": \"start\", \"mode\": \"async\", \"steps\": 9380, "
                  "\"steps_per_epoch\": 938}\n" EPOCH EVALUATION);
    progress_tick(&scene->progress, 1);
    ck_assert_ptr_nonnull(strstr(shown(scene), "epoch 3  step 2,814  loss 0.3115  accuracy "
                                               "88.67 %  test loss 0.3300, 87.90 %\n"));
}

TEST(plain_lines_come_every_log_every_seconds)
{
    scene_open(scene, false, false, false);
    happen(scene, START);
    progress_tick(&scene->progress, 1);
    happen(scene, PROGRESS);
    size_t before = strlen(shown(scene));
    progress_tick(&scene->progress, 9);
    ck_assert_uint_eq(strlen(shown(scene)), before);
    progress_tick(&scene->progress, 10);
    ck_assert_str_eq(shown(scene) + before,
                     "epoch 3.0 of 10  step 2,814 of 9,380  loss 0.312  accuracy 88.7 %  "
                     "6,400 images/s  1 min 6 s left\n");
    before = strlen(shown(scene));
    progress_tick(&scene->progress, 30);
    ck_assert_uint_eq(strlen(shown(scene)), before); /* Nothing new, nothing said. */
}

TEST(the_live_line_is_redrawn_and_gone_at_the_end)
{
    scene_open(scene, true, false, false);
    progress_tick(&scene->progress, 3);
    ck_assert_str_eq(shown(scene), "\rstarting, 3 s\033[K");
    happen(scene, START PROGRESS);
    progress_tick(&scene->progress, 4);
    ck_assert_ptr_nonnull(strstr(shown(scene), "\r\033[Ktraining on"));
    ck_assert_ptr_nonnull(strstr(shown(scene), "\repoch 3.0 of 10"));
    size_t before = strlen(shown(scene));
    progress_tick(&scene->progress, 5);
    ck_assert_uint_eq(strlen(shown(scene)), before);
    progress_close(&scene->progress);
    ck_assert_str_eq(shown(scene) + before, "\r\033[K");
}

TEST(a_part_of_an_epoch_is_told_in_as_many_digits)
{
    scene_open(scene, true, false, false);
    happen(scene, "{\"event\": \"start\", \"time\": 1, \"step\": 0, \"steps\": 400, "
                  "\"steps_per_epoch\": 938}\n"
                  "{\"event\": \"progress\", \"time\": 2, \"step\": 398, \"epoch\": 0.4243}\n");
    progress_tick(&scene->progress, 4);
    ck_assert_msg(strstr(shown(scene), "\repoch 0.4 of 0.4  step 398 of 400") != NULL, "%s",
                  shown(scene));
}

TEST(the_live_line_fits_the_width)
{
    scene_open(scene, true, false, false);
    happen(scene, START PROGRESS);
    progress_tick(&scene->progress, 4);
    const char *line = strrchr(shown(scene), '\r');
    /* A memory stream has no width: 80. */
    ck_assert_str_eq(line + 1, "epoch 3.0 of 10  loss 0.312  accuracy 88.7 %  6,400 images/s  "
                               "1 min 6 s left\033[K");
    happen(scene, "{\"event\": \"waiting\", \"text\": \"waiting for worker/1, worker/2, worker/3, "
                  "worker/4, worker/5, worker/6, worker/7 and worker/8\"}\n");
    progress_tick(&scene->progress, 5);
    line = strrchr(shown(scene), '\r');
    ck_assert_uint_eq(strcspn(line + 1, "\033"), 79);
}

TEST_PLAIN(colour_is_there_only_when_asked_for)
{
    for (int colour = 0; colour <= 1; colour++) {
        struct scene scene;
        scene_init(&scene);
        scene_open(&scene, true, colour, false);
        happen(&scene, START PROGRESS EPOCH EVALUATION);
        progress_tick(&scene.progress, 4);
        ck_assert_int_eq(strstr(shown(&scene), "\033[1mepoch 3\033[0m  step") != NULL, colour);
        ck_assert_int_eq(strstr(shown(&scene), "\033[36m") != NULL, colour);
        scene_end(&scene);
    }
}

TEST(quiet_shows_nothing)
{
    scene_open(scene, false, false, true);
    happen(scene, START PROGRESS EPOCH EVALUATION);
    progress_tick(&scene->progress, 100);
    ck_assert_str_eq(shown(scene), "");
    ck_assert_uint_eq(scene->progress.state.step, 2814);
}

TEST(events_of_an_earlier_session_are_not_told_again)
{
    happen(scene, START PROGRESS EPOCH EVALUATION);
    scene_open(scene, false, false, false);
    progress_tick(&scene->progress, 100);
    ck_assert_str_eq(shown(scene), "");
    happen(scene, "{\"time\": 1, \"event\": \"start\", \"mode\": \"async\", \"step\": 938, "
                  "\"steps\": 9380, \"steps_per_epoch\": 938, \"update_examples\": 64, "
                  "\"examples\": 60000}\n");
    progress_tick(&scene->progress, 101);
    ck_assert_ptr_nonnull(strstr(shown(scene), "going on after batch 938"));
}

TEST(a_line_that_a_crash_cut_off_is_passed_over)
{
    happen(scene, PROGRESS "{\"time\": 9, \"eve");
    scene_open(scene, false, false, false);
    /* The session to come drops it and appends. */
    ck_assert_int_eq(truncate(scene->events, strlen(PROGRESS)), 0);
    happen(scene, START);
    progress_tick(&scene->progress, 1);
    ck_assert(scene->progress.state.started);
    ck_assert_uint_eq(scene->progress.state.step, 0);
}

/* Server 0 sets aside what is no log, and begins another. */
TEST_PLAIN(a_log_that_takes_the_place_of_another_is_followed)
{
    struct scene scene;
    char aside[128];
    for (int pipe = 0; pipe <= 1; pipe++) {
        scene_init(&scene);
        snprintf(aside, sizeof aside, "%s/aside", scene.folder);
        if (pipe)
            ck_assert_int_eq(mkfifo(scene.events, 0666), 0);
        else
            happen(&scene, START PROGRESS "nonsense\n");
        scene_open(&scene, false, false, false);
        progress_tick(&scene.progress, 0);
        ck_assert(!scene.progress.state.started);
        ck_assert_int_eq(rename(scene.events, aside), 0);
        progress_tick(&scene.progress, 1);
        happen(&scene, START PROGRESS);
        progress_tick(&scene.progress, 2);
        ck_assert(scene.progress.state.started);
        ck_assert_uint_eq(scene.progress.state.step, 2814);
        unlink(aside);
        scene_end(&scene);
    }
}

TEST(what_is_no_log_takes_no_time)
{
    happen(scene, "");
    ck_assert_int_eq(truncate(scene->events, (off_t)1 << 40), 0);
    scene_open(scene, false, false, false);
    progress_tick(&scene->progress, 0);
    ck_assert_str_eq(shown(scene), "");
}

TEST(a_line_written_in_two_halves_is_read_once)
{
    const char *text = START PROGRESS;
    char half[sizeof START];
    scene_open(scene, false, false, false);
    memcpy(half, text, 50);
    half[50] = '\0';
    happen(scene, half);
    progress_tick(&scene->progress, 1);
    ck_assert(!scene->progress.state.started);
    happen(scene, text + 50);
    progress_tick(&scene->progress, 2);
    ck_assert(scene->progress.state.started);
    ck_assert_uint_eq(scene->progress.state.step, 2814);
}

TEST(lines_that_are_no_events_do_no_harm)
{
    scene_open(scene, true, false, false);
    happen(scene, START);
    progress_tick(&scene->progress, 0);
    ck_assert(scene->progress.state.started);
    size_t before = strlen(shown(scene));
    happen(scene, "\n{\nnonsense\n[]\n17\n{\"event\": 3}\n{\"event\": \"unheard of\"}\n"
                  "{\"event\": \"checkpoint\", \"step\": 4}\n");
    progress_tick(&scene->progress, 0.5);
    ck_assert_str_eq(shown(scene) + before, "");
    for (int i = 0; i < 1000; i++)
        happen(scene, "a line longer than any event, ");
    happen(scene, "\n" PROGRESS);
    progress_tick(&scene->progress, 1);
    ck_assert_uint_eq(scene->progress.state.step, 2814);
}

TEST(members_that_are_missing_or_absurd_are_left_out)
{
    scene_open(scene, true, false, false);
    happen(scene, "{\"event\": \"start\"}\n"
                  "{\"event\": \"progress\", \"step\": -5, \"loss\": null, "
                  "\"images_per_second\": \"fast\", \"epoch\": 1e300}\n");
    progress_tick(&scene->progress, 4);
    ck_assert_str_eq(strrchr(shown(scene), '\r'), "\rstep 0 of 0\033[K");
}

TEST(waiting_says_for_whom)
{
    scene_open(scene, true, false, false);
    happen(scene, "{\"event\": \"waiting\", \"text\": \"waiting for worker 1\\u001b[2J\"}\n");
    progress_tick(&scene->progress, 4);
    /* No escapes reach the terminal. */
    ck_assert_str_eq(strrchr(shown(scene), '\r'), "\rwaiting for worker 1 [2J\033[K");
    happen(scene, PROGRESS);
    progress_tick(&scene->progress, 5);
    ck_assert_str_eq(scene->progress.state.waiting, "");
}

TEST(a_new_generation_goes_back)
{
    scene_open(scene, true, false, false);
    happen(scene, START PROGRESS
           "{\"time\": 12, \"event\": \"generation\", \"generation\": 2, \"step\": 938, "
           "\"recomputed\": 1062}\n");
    progress_tick(&scene->progress, 1);
    ck_assert_ptr_nonnull(strstr(
        shown(scene), "a lost server is back: going back to step 938: 1,062 batches made again\n"));
    ck_assert_ptr_nonnull(strstr(shown(scene), "\repoch 1.0 of 10  "));
    ck_assert_uint_eq(scene->progress.state.step, 938);
}

TEST(another_server_0_says_where_it_goes_on)
{
    scene_open(scene, false, false, false);
    happen(scene, START PROGRESS START);
    progress_tick(&scene->progress, 1);
    ck_assert_ptr_nonnull(strstr(shown(scene), "9,380 in all\n"));
    ck_assert_ptr_nonnull(strstr(shown(scene), "server 0 is back: 60,000 examples, 938 batches an "
                                               "epoch, 9,380 in all; going on after batch 0\n"));
}

/* A line of the reference job on a terminal of one more column than these. */
static const struct narrow {
    const char *mode;
    size_t columns;
    const char *line;
} narrow[] = {
    {"sync", 120,
     "epoch 3.0 of 10  step 2,814 of 9,380  loss 0.312  accuracy 88.7 %  6,400 images/s  "
     "1 min 6 s left"},
    {"sync", 79, "epoch 3.0 of 10  loss 0.312  accuracy 88.7 %  6,400 images/s  1 min 6 s left"},
    {"sync", 75, "epoch 3.0 of 10  loss 0.312  accuracy 88.7 %  1 min 6 s left"},
    {"sync", 31, "epoch 3.0 of 10  1 min 6 s left"},
    {"sync", 3, "epo"},
    {"async", 79, "epoch 3.0 of 10  loss 0.312  accuracy 88.7 %  staleness 0.5  1 min 6 s left"},
};

TEST_PLAIN(what_has_no_place_in_a_line_is_left_out_whole)
{
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        char text[PROGRESS_LINE_MAX] = "\r", expected[PROGRESS_LINE_MAX], start[320];
        struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)(narrow[i].columns + 1)};
        int shows, draws;
        struct scene scene;
        scene_init(&scene);
        ck_assert_int_eq(openpty(&shows, &draws, NULL, NULL, &size), 0);
        fclose(scene.out);
        scene.out = fdopen(draws, "w");
        scene_open(&scene, true, false, false);
        snprintf(start, sizeof start,
                 "{\"event\": \"start\", \"mode\": \"%s\", \"steps\": 9380, "
                 "\"steps_per_epoch\": 938, \"update_examples\": 64}\n",
                 narrow[i].mode);
        bool sync = strcmp(narrow[i].mode, "sync") == 0;
        happen(&scene, start);
        happen(&scene, sync ? PROGRESS : PROGRESS_OF("0.5"));
        progress_tick(&scene.progress, 4);
        for (const char *line = text; strstr(line, "epo") == NULL || strstr(line, "\033[K") == NULL;
             line = strrchr(text, '\r')) {
            size_t used = strlen(text);
            ssize_t more = read(shows, text + used, sizeof text - 1 - used);
            ck_assert_int_gt(more, 0);
            text[used + (size_t)more] = '\0';
        }
        snprintf(expected, sizeof expected, "\r%s\033[K", narrow[i].line);
        ck_assert_str_eq(strrchr(text, '\r'), expected);
        scene_end(&scene);
        close(shows);
    }
}

TEST_PLAIN(a_file_is_no_terminal)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    setenv("TERM", "xterm", 1);
    struct progress_style style = progress_style_of(file, false, false, 5);
    ck_assert(!style.live);
    ck_assert(!style.colour);
    fclose(file);
}

int main(void)
{
    return suite_run("progress", NULL);
}
