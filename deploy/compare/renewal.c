/* renewal.c - checks whether a run would be resumed, and if so removes its folder. */

#include "deploy/compare/renewal.h"

#include "common/file/folder.h"
#include "common/store/occupancy.h"
#include "common/store/run_directory.h"
#include "worker/workload.h"

/* Whether there is an unfinished run of exactly these options. */
static bool is_unfinished(const struct options *options, const char *out)
{
    struct options as_given = *options;
    struct workload workload;
    struct error why;
    enum run_opening opening = RUN_BEGINS;
    bool unfinished =
        workload_look(&workload, &as_given, &why) == EXIT_DONE &&
        run_directory_check(&disk_posix, out, &workload.job, &opening, &why) == STATUS_OK &&
        opening == RUN_RESUMES;
    workload_free(&workload);
    return unfinished;
}

void renewal_prepare(const struct options *options, const char *out,
                     void (*say)(void *context, const char *line), void *context)
{
    double patience = occupancy_patience(options->deadlines.stop);
    if (disk_posix.look(disk_posix.context, out) != DISK_FOLDER)
        return;
    if (occupancy_await(out, patience, say, context, NULL) == STATUS_OK &&
        is_unfinished(options, out))
        folder_remove(out, NULL);
}
