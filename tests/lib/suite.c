#include "tests/lib/suite.h"

#include <stdlib.h>

int suite_run(const char *name, void (*add)(TCase *tcase))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    add(tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
