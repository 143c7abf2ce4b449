/* allocation.c - other people's lists, written anew as host_list.h reads them. */

#include "deploy/hosts/allocation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/disk.h"
#include "deploy/place/environment.h"
#include "deploy/place/hostlist.h"

#define FILE_BYTES_MAX (1u << 20)

/* "n1:2,n2:2" of Slurm's "n[1-2]" and "2(x2)". NULL without memory, or when it is no list. */
static char *write_words(const char *nodes, const char *tasks, enum status *status,
                         struct error *error)
{
    char name[HOSTLIST_NAME_MAX], *text = NULL;
    size_t bytes = 0;
    uint64_t count = 1;
    FILE *out = open_memstream(&text, &bytes);
    *status = out != NULL ? STATUS_OK : error_set(error, STATUS_MEMORY, "out of memory");
    for (uint64_t i = 0; i < count && i <= HOST_COUNT_MAX && *status == STATUS_OK; i++) {
        uint64_t slots = 0;
        *status = hostlist_find(nodes, i, name, &count, error);
        if (*status == STATUS_OK && tasks != NULL)
            hostlist_tasks(tasks, i, 1, &slots);
        if (*status == STATUS_OK)
            fprintf(out, "%s%s", i > 0 ? "," : "", name);
        if (*status == STATUS_OK && slots > 0)
            fprintf(out, ":%" PRIu64, slots);
    }
    if (out != NULL && fclose(out) != 0 && *status == STATUS_OK)
        *status = error_set(error, STATUS_MEMORY, "out of memory");
    if (*status == STATUS_OK)
        return text;
    free(text);
    return NULL;
}

enum status allocation_slurm(struct host_list *list, const char *const *environment,
                             struct error *error)
{
    enum status status;
    const char *nodes = environment_value(environment, "SLURM_JOB_NODELIST");
    *list = (struct host_list){0};
    if (nodes == NULL)
        return error_set(error, STATUS_NOT_FOUND,
                         "this is no job of Slurm's: SLURM_JOB_NODELIST is not set; sbatch and "
                         "salloc make one");
    char *words =
        write_words(nodes, environment_value(environment, "SLURM_TASKS_PER_NODE"), &status, error);
    if (words != NULL)
        status = host_list_read_words(list, words, "SLURM_JOB_NODELIST", error);
    free(words);
    return status == STATUS_NOT_FOUND ? STATUS_INVALID : status;
}

enum status allocation_read_grid(struct host_list *list, const char *text, size_t bytes,
                                 const char *name, struct error *error)
{
    char *words = NULL, line[512], *rest;
    size_t size = 0, used = 0;
    FILE *out = open_memstream(&words, &size);
    *list = (struct host_list){0};
    if (out == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    while (bytes > 0) {
        const char *end = memchr(text, '\n', bytes);
        size_t length = end != NULL ? (size_t)(end - text) : bytes;
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : 0), text);
        const char *host = strtok_r(line, " \t", &rest), *slots = strtok_r(NULL, " \t", &rest);
        if (host != NULL)
            fprintf(out, "%s%s%s%s", used++ > 0 ? "," : "", host, slots != NULL ? ":" : "",
                    slots != NULL ? slots : "");
        bytes -= length + (end != NULL);
        text += length + (end != NULL);
    }
    enum status status = fclose(out) == 0 ? STATUS_OK : STATUS_MEMORY;
    if (status == STATUS_OK)
        status = host_list_read_words(list, words, name, error);
    free(words);
    return status;
}

typedef enum status read_fn(struct host_list *list, const char *text, size_t bytes,
                            const char *name, struct error *error);

/* The file that a variable names; STATUS_NOT_FOUND when it is not set. */
static enum status read_file(struct host_list *list, const char *const *environment,
                             const char *variable, read_fn *read, struct error *error)
{
    void *text = NULL;
    size_t bytes = 0;
    struct error why;
    const char *path = environment_value(environment, variable);
    if (path == NULL)
        return STATUS_NOT_FOUND;
    if (disk_posix.read_file(disk_posix.context, path, FILE_BYTES_MAX, &text, &bytes, &why) !=
        STATUS_OK)
        return error_set(error, STATUS_IO, "%s: %.400s", variable, why.text);
    enum status status = read(list, text, bytes, variable, error);
    free(text);
    return status;
}

enum status allocation_any(struct host_list *list, const char *const *environment,
                           struct error *error)
{
    static const struct {
        const char *variable;
        read_fn *read;
    } files[] = {{"PBS_NODEFILE", host_list_read_tally},
                 {"LSB_DJOB_HOSTFILE", host_list_read_tally},
                 {"PE_HOSTFILE", allocation_read_grid}};
    *list = (struct host_list){0};
    if (environment_value(environment, "SLURM_JOB_NODELIST") != NULL)
        return allocation_slurm(list, environment, error);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        enum status status = read_file(list, environment, files[i].variable, files[i].read, error);
        if (status != STATUS_NOT_FOUND)
            return status;
    }
    return error_set(error, STATUS_NOT_FOUND,
                     "on which hosts? None of SLURM_JOB_NODELIST, PBS_NODEFILE, LSB_DJOB_HOSTFILE "
                     "and PE_HOSTFILE is set; say --hosts FILE or -H LIST");
}
