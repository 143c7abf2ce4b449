/* folder_rendezvous.c - a small file for each server, read repeatedly until all are there. */

#include "deploy/launcher/folder_rendezvous.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/address/address.h"
#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/disk.h"

#define PAUSE_US       50000
#define FILE_BYTES_MAX 1024

static void name_file(const char *folder, uint32_t server, char path[DISK_PATH_MAX])
{
    snprintf(path, DISK_PATH_MAX, "%.900s/ps-%" PRIu32, folder, server);
}

enum status folder_rendezvous_leave(const char *folder, const char *job, uint32_t server,
                                    const char *address, struct error *error)
{
    char path[DISK_PATH_MAX], text[FILE_BYTES_MAX];
    name_file(folder, server, path);
    int length = snprintf(text, sizeof text, "%.500s\n%.400s\n", job, address);
    struct disk_piece piece = {text, (size_t)length};
    enum status status = disk_posix.make_directory(disk_posix.context, folder, error);
    return status == STATUS_OK ? disk_posix.write_file(disk_posix.context, path, &piece, 1, error)
                               : status;
}

/* The address in one file, if the file exists, is of this job, and is valid. */
static bool read_address(const char *folder, const char *job, uint32_t server,
                         char address[ADDRESS_MAX])
{
    char path[DISK_PATH_MAX], text[FILE_BYTES_MAX + 1], host[ADDRESS_MAX];
    uint16_t port;
    void *data = NULL;
    size_t bytes = 0;
    name_file(folder, server, path);
    if (disk_posix.read_file(disk_posix.context, path, FILE_BYTES_MAX, &data, &bytes, NULL) !=
        STATUS_OK)
        return false;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    free(data);
    char *second = strchr(text, '\n');
    if (second == NULL)
        return false;
    *second++ = '\0';
    second[strcspn(second, "\n")] = '\0';
    if (strcmp(text, job) != 0 || strlen(second) >= ADDRESS_MAX ||
        !address_split(second, host, &port) || strpbrk(second, ",; \t") != NULL)
        return false;
    memcpy(address, second, strlen(second) + 1);
    return true;
}

enum status folder_rendezvous_gather(const char *folder, const char *job, uint32_t servers,
                                     double seconds, char **ps_hosts, struct error *error)
{
    double deadline = clock_now_seconds() + seconds;
    size_t size = (size_t)servers * ADDRESS_MAX + 1;
    char *list = calloc(size, 1);
    if (list == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; i < servers; i++) {
        char address[ADDRESS_MAX];
        while (!read_address(folder, job, i, address)) {
            if (clock_now_seconds() >= deadline) {
                free(list);
                return error_set(error, STATUS_TIMEOUT,
                                 "start timed out after %s: server %" PRIu32
                                 " has not left its address in %.200s, which all hosts must share",
                                 wording_duration(seconds).text, i, folder);
            }
            usleep(PAUSE_US);
        }
        wording_append(list, size, "%s%s", i > 0 ? "," : "", address);
    }
    *ps_hosts = list;
    return STATUS_OK;
}
