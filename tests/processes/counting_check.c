/* counting_check OUT STEPS: exit code 0 when the model of the run OUT is what STEPS updates of the
 * counting job make, exactly. */

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/counting.h"

int main(int argc, char **argv)
{
    struct error error;
    if (argc != 3) {
        fprintf(stderr, "usage: counting_check OUT STEPS\n");
        return EXIT_USAGE;
    }
    if (counting_check(argv[1], strtoull(argv[2], NULL, 10), &error) == STATUS_OK)
        return EXIT_DONE;
    fprintf(stderr, "%s\n", error.text);
    return EXIT_FAILURE;
}
