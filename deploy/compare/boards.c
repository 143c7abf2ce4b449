/* boards.c - writes one event for each point. */

#include "deploy/compare/boards.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/tensorboard/event_file.h"
#include "deploy/compare/config_mean.h"
#include "deploy/compare/configs.h"

void boards_name(char name[BOARDS_NAME_MAX], const char *config, uint64_t seed)
{
    snprintf(name, BOARDS_NAME_MAX, "%s/seed-%" PRIu64, config, seed);
}

static enum status find_place(struct board_place *place, const struct boards *boards,
                              const char *config, struct error *error)
{
    char name[BOARDS_NAME_MAX];
    snprintf(name, sizeof name, "%s/mean", config);
    return board_place_find(place, boards->directory, name, "", 0, error);
}

enum status boards_open(struct boards *boards, const char *directory, const struct configs *configs,
                        struct error *error)
{
    enum status status = STATUS_OK;
    *boards = (struct boards){.directory = directory};
    for (size_t i = 0; directory != NULL && i < configs->count && status == STATUS_OK; i++)
        status = find_place(&boards->place, boards, configs->list[i].config.name, error);
    return status;
}

static enum status tell(struct event_file *file, double date, const struct group *group,
                        size_t quantity, struct error *error)
{
    struct config_mean mean;
    enum status status = config_mean_make(&mean, group, quantity);
    if (status != STATUS_OK)
        error_set(error, status, "out of memory for a mean");
    for (size_t i = 0; i < mean.count && status == STATUS_OK; i++) {
        const struct sample *sample = &mean.samples[i];
        const struct board_value value = board_scalar(config_mean_tag(quantity), sample->value);
        const struct board_event event = {
            .wall_time = date + (isfinite(sample->seconds) ? sample->seconds : 0),
            .step = (uint64_t)sample->step,
            .kind = BOARD_VALUES,
            .values = &value,
            .count = 1};
        if (isfinite(sample->value))
            status = event_file_add(file, &event, error);
    }
    config_mean_free(&mean);
    return status;
}

enum status boards_tell_mean(const struct boards *boards, const struct group *group,
                             struct error *error)
{
    struct event_file file;
    struct board_place place;
    double date = boards->place.date;
    const struct board_event start = {.wall_time = date, .step = 0, .kind = BOARD_START};
    if (boards->directory == NULL)
        return STATUS_OK;
    enum status status = find_place(&place, boards, group->config.name, error);
    if (status == STATUS_OK)
        status = event_file_open(&file, &disk_posix, place.folder, place.by, date, error);
    if (status != STATUS_OK)
        return status;
    status = event_file_add(&file, &start, error);
    for (size_t i = 0; i < CONFIG_MEAN_TAGS && status == STATUS_OK; i++)
        status = tell(&file, date, group, i, error);
    event_file_close(&file);
    return status;
}
