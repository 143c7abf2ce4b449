/* invariant.h - what is true of a core between two messages, rule by rule and in words.
 *
 *     void owner_check(const struct owner *owner)
 *     {
 *         INVARIANT("owner", owner->to_load <= owner->owned_count, "no more to load than it has");
 *
 * Every core has an x_check, and looks at itself after each message and each tick where CHECKED is 1:
 * in the simulator, in tests, and in whatever a sanitizer is built into (the Makefile says so). The
 * programs that train are compiled without: a check looks at everything there is. A core whose options
 * say `unchecked` does not look at itself either: one of a thousand in virtual time, or of a history.
 *
 * A rule must hold whatever peers say, disks do and memory lacks. One that does not hold is a mistake of
 * ours: it is named on stderr, and the process aborts as by assert.
 *
 * Threads: no shared state. */

#ifndef COMMON_BASE_INVARIANT_H
#define COMMON_BASE_INVARIANT_H

#ifndef CHECKED
#define CHECKED 0
#endif

#define INVARIANT(core, condition, rule)                                                           \
    ((condition) ? (void)0 : invariant_broken(core, rule, __FILE__, __LINE__))

/* If the one is so, the other is. */
#define IMPLIES(if_so, then) (!(if_so) || (then))

__attribute__((noreturn)) void invariant_broken(const char *core, const char *rule,
                                                const char *file, int line);

#endif
