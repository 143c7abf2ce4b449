/* replay.c - the main of a fuzzer without libFuzzer: takes the inputs it is given, files and
 * folders of files, or else its committed corpus. An input that fails ends the process, and its
 * name has been said before. No input at all is a failure. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file/disk.h"
#include "tests/fuzz/fuzz.h"

static unsigned replay_file(const char *path)
{
    void *bytes;
    size_t count;
    struct error error;
    if (disk_posix.read_file(disk_posix.context, path, 1 << 24, &bytes, &count, &error) !=
        STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    /* Said at once, so that it is known when the input ends the process. */
    fprintf(stderr, "%s: ", path);
    LLVMFuzzerTestOneInput(bytes, count);
    fputs("ok\n", stderr);
    free(bytes);
    return 1;
}

static unsigned replay(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return replay_file(path);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[DISK_PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += replay_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    const char *name = strstr(argv[0], "fuzz_");
    char corpus[DISK_PATH_MAX];
    for (const char *next = name; next != NULL; next = strstr(next + 1, "fuzz_"))
        name = next;
    snprintf(corpus, sizeof corpus, "tests/fuzz/corpus/%s", name != NULL ? name + 5 : "");
    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    if (argc == 1)
        count = replay(corpus);
    if (count == 0)
        return 1;
    fprintf(stderr, "ok - %s: %u inputs taken\n", name != NULL ? name : argv[0], count);
    return 0;
}
