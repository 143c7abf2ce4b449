/* together_main.c - the unit tests as one program of many names: it is the test that it is called
 * as. (See TOGETHER in the Makefile.) */

#include <stdio.h>
#include <string.h>

#define TEST(name) int name##_main(void);
#include "tests/together/unit.inc"
#undef TEST

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {
#define TEST(name) {#name, name##_main},
#include "tests/together/unit.inc"
#undef TEST
};

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL,
               *name = slash != NULL ? slash + 1 : argv[0];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(name, tests[i].name) == 0)
            return tests[i].run();
    fprintf(stderr, "%s: there is no such test\n", name);
    return 1;
}
