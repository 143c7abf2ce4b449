/* await_status ADDRESS WHAT SECONDS: wait until what server 0 at ADDRESS says of its job is WHAT,
 * and print it: an extended regular expression that matches, or "+N": N updates have been made
 * since somebody began to ask (counted from the lowest number seen, as a job may go back). Exit
 * code 1 when it never was. */

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/observer.h"

#define PAUSE_US 3000

struct wanted {
    const char *what;
    regex_t pattern;
    uint64_t lowest; /* UINT64_MAX: none seen. */
};

static bool is_reached(struct wanted *wanted, const struct observer *observer)
{
    if (wanted->what[0] != '+')
        return regexec(&wanted->pattern, observer->text, 0, NULL, 0) == 0;
    if (!observer_state_is(observer, "running"))
        return false;
    uint64_t step = observer_step(observer);
    if (step < wanted->lowest)
        wanted->lowest = step;
    return step >= wanted->lowest + strtoull(wanted->what + 1, NULL, 10);
}

int main(int argc, char **argv)
{
    struct observer observer;
    struct wanted wanted = {.what = argc == 4 ? argv[2] : "", .lowest = UINT64_MAX};
    const char *pattern = wanted.what[0] == '+' ? "" : wanted.what;
    if (argc != 4 || regcomp(&wanted.pattern, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        fprintf(stderr, "usage: await_status ADDRESS PATTERN|+N SECONDS\n");
        return EXIT_USAGE;
    }
    double end = clock_now_seconds() + strtod(argv[3], NULL), now;
    bool found = false;
    observer_open(&observer, argv[1]);
    while (!found && (now = clock_now_seconds()) < end) {
        found = observer_ask(&observer, end - now) && is_reached(&wanted, &observer);
        if (!found)
            usleep(PAUSE_US);
    }
    printf("%s\n", observer.text);
    observer_close(&observer);
    regfree(&wanted.pattern);
    return found ? EXIT_SUCCESS : EXIT_FAILURE;
}
