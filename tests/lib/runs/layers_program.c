/* layers_program.c - it lies in the build of the test that runs. */

#include "tests/lib/runs/layers_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/scratch.h"

void layers_program_name(void)
{
    char self[DISK_PATH_MAX], path[DISK_PATH_MAX + 32], *tests = NULL;
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(bytes, 0);
    self[bytes] = '\0';
    for (char *at = self; (at = strstr(at, "/tests/")) != NULL; at++)
        tests = at;
    ck_assert_ptr_nonnull(tests);
    snprintf(path, sizeof path, "%.*s/tests/programs/layers", (int)(tests - self), self);
    setenv("LAYERS", path, 1);
    scratch_path(path, "mark");
    setenv("MARK", path, 1);
}
