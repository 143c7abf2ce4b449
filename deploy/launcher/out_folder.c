/* out_folder.c - a lock, and the identity of run.json before and after. */

#include "deploy/launcher/out_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/store/occupancy.h"

#define RUN_JSON_BYTES_MAX (16u << 20)

static void stat_run_json(const struct out_folder *folder, struct stat *state)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/run.json", folder->path);
    if (stat(path, state) != 0)
        *state = (struct stat){0};
}

void out_folder_open(struct out_folder *folder, const char *path)
{
    *folder = (struct out_folder){.path = path, .occupied = -1};
    stat_run_json(folder, &folder->run_json);
    out_folder_occupy(folder);
}

void out_folder_occupy(struct out_folder *folder)
{
    if (folder->occupied < 0)
        folder->occupied = occupancy_take(folder->path, false);
}

void out_folder_let_go(struct out_folder *folder)
{
    if (folder->occupied >= 0)
        close(folder->occupied);
    folder->occupied = -1;
}

bool out_folder_is_claimed(const struct out_folder *folder)
{
    const struct stat *before = &folder->run_json;
    struct stat now;
    stat_run_json(folder, &now);
    return now.st_ino != 0 &&
           (now.st_ino != before->st_ino || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

bool out_folder_is_done(const struct out_folder *folder)
{
    char path[PATH_MAX];
    struct json *run = NULL;
    snprintf(path, sizeof path, "%s/run.json", folder->path);
    if (!out_folder_is_claimed(folder) ||
        json_read_file(&disk_posix, path, RUN_JSON_BYTES_MAX, &run, NULL) != STATUS_OK)
        return false;
    const char *state = json_text(run, "state");
    bool done = state != NULL && strcmp(state, "done") == 0;
    json_release(&run);
    return done;
}

static enum status clear_way(const char *logs, struct error *note, struct error *error)
{
    char aside[DISK_PATH_MAX];
    enum disk_kind kind = disk_posix.look(disk_posix.context, logs);
    if (kind == DISK_NOTHING || kind == DISK_FOLDER)
        return STATUS_OK;
    enum status status = disk_set_aside(logs, aside, error);
    if (status == STATUS_OK)
        error_set(note, STATUS_OK, "%.200s is %s, not a folder; it is now %.200s", logs,
                  disk_kind_name(kind), aside);
    return status;
}

enum status out_folder_make_logs(const struct out_folder *folder, char *text, size_t bytes,
                                 struct error *note, struct error *error)
{
    note->text[0] = '\0';
    snprintf(text, bytes, "%s/logs", folder->path);
    enum status status = clear_way(text, note, error);
    if (status == STATUS_OK)
        status = disk_posix.make_directory(disk_posix.context, text, error);
    return status;
}
