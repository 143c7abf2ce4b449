/* comparison_folder.c - creates the folder, checks its content, locks it. */

#include "deploy/compare/comparison_folder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/file/folder.h"
#include "common/store/occupancy.h"
#include "deploy/compare/interleaving.h"
#include "deploy/compare/plan_file.h"

static void note_entry(void *argument, const char *name)
{
    (void)name;
    *(bool *)argument = true;
}

/* Checks a folder that is not empty. */
static enum status look_at_earlier(struct comparison_folder *folder, const struct plan *plan,
                                   struct error *error)
{
    enum status status = plan_check(plan, &disk_posix, folder->path, error);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, STATUS_EXISTS,
                         "%s: something is there already and is not overwritten", folder->path);
    folder->goes_on = status == STATUS_OK;
    return status;
}

static enum status choose_path(struct comparison_folder *folder, const char *out,
                               struct error *error)
{
    char date[32];
    time_t now = time(NULL);
    struct tm local;
    if (out != NULL && strlen(out) + INTERLEAVING_NAME_MAX + 32 > DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "--out: the path is too long");
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &local);
    if (out != NULL)
        snprintf(folder->path, sizeof folder->path, "%s", out);
    else
        snprintf(folder->path, sizeof folder->path, "runs/compare-%s", date);
    return STATUS_OK;
}

static enum status make(struct comparison_folder *folder, const char *out, const struct plan *plan,
                        struct error *error)
{
    bool taken = false;
    enum status status = choose_path(folder, out, error);
    if (status == STATUS_OK)
        status = folder_check("--out", folder->path, error);
    if (status != STATUS_OK)
        return status;
    status = disk_posix.list_directory(disk_posix.context, folder->path, note_entry, &taken, error);
    if (taken)
        return look_at_earlier(folder, plan, error);
    folder->out_made = status == STATUS_NOT_FOUND;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        status = disk_posix.make_directory(disk_posix.context, folder->path, error);
    return status;
}

/* Two comparisons in one folder would each create the other's next run. */
static enum status occupy(struct comparison_folder *folder, struct error *error)
{
    folder->occupied = occupancy_take(folder->path, true);
    if (folder->occupied >= 0)
        return STATUS_OK;
    folder->occupied =
        occupancy_take(folder->path, false); /* Not where there are no locks at all. */
    if (folder->occupied < 0)
        return STATUS_OK;
    folder->out_made = folder->goes_on = false;
    return error_set(error, STATUS_EXISTS, "%s: another comparison is under way there",
                     folder->path);
}

enum status comparison_folder_open(struct comparison_folder *folder, const char *out,
                                   const struct plan *plan, struct error *error)
{
    *folder = (struct comparison_folder){.occupied = -1};
    enum status status = make(folder, out, plan, error);
    if (status == STATUS_OK)
        status = occupy(folder, error);
    if (status == STATUS_OK) /* A resumed one may have more configurations now, or seeds. */
        status = plan_write_file(plan, &disk_posix, folder->path, error);
    folder->begun = status == STATUS_OK && !folder->goes_on;
    return status;
}

static void note_other(void *argument, const char *name)
{
    *(bool *)argument = *(bool *)argument || strcmp(name, PLAN_FILE) != 0;
}

/* Removes the remains of a comparison without results: an empty folder of runs, and the plan. */
void comparison_folder_close(struct comparison_folder *folder)
{
    char runs[DISK_PATH_MAX + sizeof "/" INTERLEAVING_RUNS],
        plan[DISK_PATH_MAX + sizeof "/" PLAN_FILE];
    if (folder->path[0] == '\0')
        return; /* It was never opened. */
    snprintf(runs, sizeof runs, "%s/" INTERLEAVING_RUNS, folder->path);
    snprintf(plan, sizeof plan, "%s/" PLAN_FILE, folder->path);
    bool others = false;
    if (folder->begun || folder->goes_on)
        rmdir(runs); /* Succeeds only when it is empty. */
    if (folder->begun &&
        disk_posix.list_directory(disk_posix.context, folder->path, note_other, &others, NULL) ==
            STATUS_OK &&
        !others)
        unlink(plan);
    if (folder->out_made)
        rmdir(folder->path);
    if (folder->occupied >= 0)
        close(folder->occupied);
    folder->occupied = -1;
}
