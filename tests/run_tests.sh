#!/usr/bin/env bash
# run_tests.sh PROGRAM... - runs test programs and scripts and sums them up.
#
#     JOBS            so many at once (1, at most 12); most of them wait most of the time
#     TEST_TIMEOUT    seconds for each; whatever hangs is a failure (900)
#     TEST_LONG       which cases: short (unset), long ("only") or both ("1"); see tests/lib/suite.h
#     TEST_WHOLE      those of the programs of which both are run, whatever TEST_LONG says
#     TEST_VERBOSE    1: show what programs print; otherwise only what failing ones print
#
# What a program has tried is what it says:
#
#     100%: Checks: 12, Failures: 0, Errors: 0     check's closing line, so many times it likes
#     ok - a server ends                           one that passed (tests/processes/lib.sh)
#     not ok - a server ends                       one that failed
#     SKIPPED - two hosts: needs root              one that could not be tried here, and why
#
# Whoever says none of these has failed, whatever its exit code: it has tried nothing; and so has
# whoever ends with another exit code than 0. A test of check that skips is counted by check as
# passed, and here as skipped.
#
# A script has a PATH of its own: `base` below, and what it declares in its first twenty lines, so that one
# that forgets a program fails on every machine:
#
#     # needs: python3 strace     without one of them it is skipped, with that reason
#     # uses: promtool            a part of it does, and looks for itself
#     # needs: everything         what it calls calls others in turn: the PATH stays as it is
#
# What a test is, the Makefile reads in its first thirty lines ("/* test: once */" in C); without words it is part of
# `make check`, and under AddressSanitizer if it is no script:
#
#     # test: first      takes long, and begins before the others, whose gaps the short ones fill
#     # test: later      not in `make check`: the gate runs it, `make check-later`
#     # test: rare       nor there: `make check-all`
#     # test: once       scripts, documents, times: the same however the programs were built
#     # test: asan       what only real processes do: begin and end, signals, sockets, keys, full disks, shared memory
#     # test: tsan       has threads
#     # test: alone      a unit test that defines functions of libc: a program of its own
#     /* wraps: malloc */    a test of C has __wrap_malloc, as ld's --wrap wants it; alone, too
#
# Each has a number below JOBS of its own in TEST_LANE, so that two at once can keep off each other's
# ports. What was skipped is named at the end.
#
# Most wait for other processes, and a busy machine can make one fail. What has failed runs once more, alone,
# after all others, and its second result counts. Such a pass is still a fault to be explained: the line
# above the last names it, "passed the second time: NAME, NAME". The last line is "N passed, N failed,
# N skipped"; the exit code is 1 when anything failed.
set -euo pipefail

# Of Debian's smallest system, and of the tables `build` and `check` of deploy/setup.sh.
base='awk basename bash cat chmod chown cksum cmp comm cp cut date dd diff dirname echo env expr false find fold getconf
    getent grep gzip head hostname id install join kill ldd ln locale ls mkdir mkfifo mknod mktemp mount mv nohup nproc
    od paste perl printf pwd readlink realpath rm rmdir script sed seq setarch setpriv setsid sh sha256sum shuf sleep
    sort stat stty sync tail tar tee test timeout touch tr true truncate umount uname uniq unshare wc xargs
    ar as cc gcc ip ld make mandoc nm objcopy pgrep pkg-config pkill protoc-c ps readelf strip'

jobs=$((${JOBS:-1} < 12 ? ${JOBS:-1} : 12))
timeout_seconds=${TEST_TIMEOUT:-900}
passed=0
failed=0
skipped_all=0
finished=0
count=$#
failures=()
again=()  # Programs that failed among others.
late=()   # Names of those that passed alone.
alone=    # Set while `again` runs.
skips=()
took=()
declare -A programs=() lanes=() starts=() # By process id.
logs=$(mktemp -d)
clean_up()
{
    local pid
    for pid in "${!programs[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$logs"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# tally LOG - prints how many were passed, failed and skipped, by what the log says; nothing when it
# does not say.
tally()
{
    awk '
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/ {
            split($0, n, /[^0-9]+/)
            checks += n[2]; bad += n[3] + n[4]
        }
        /^ok - / { passed++ }
        /^not ok - / { failed++ }
        /^SKIPPED - / { skipped++ }
        END {
            # Of the skipped, those of check are among its checks.
            good = checks - bad
            if (skipped > 0 && good > 0)
                good -= skipped < good ? skipped : good
            if (checks + passed + failed + skipped > 0)
                print good + passed, bad + failed, skipped + 0
        }' "$1"
}

# Each line of standard input as a paragraph of 80 columns.
in_lines()
{
    local line
    while IFS= read -r line; do fold -s -w 72 <<<"$line" | sed -e '1s/^/    /' -e '2,$s/^/        /'; done
}

# linked FOLDER NAME... - a folder of these programs, those of the system first: Debian's modules are there.
linked()
{
    local name place
    rm -rf "$1"
    mkdir "$1"
    for name in "${@:2}"; do
        if place=$(PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH type -P "$name"); then ln -s "$place" "$1/$name"; fi
    done
}
declared() { sed -nE "1,20s/^# $1: //p" "$2"; } # needs|uses SCRIPT

# The words of $command for a script: with its PATH, or what it lacks.
command_of()
{
    local name missing='' needs uses
    command=("$1")
    read -ra needs < <(declared needs "$1") || true
    read -ra uses < <(declared uses "$1") || true
    if [[ $1 != *.sh ]] || [ "${needs[*]}" = everything ]; then return; fi
    linked "$logs/$2.programs" "${needs[@]}" "${uses[@]}"
    for name in "${needs[@]}"; do
        if [ ! -e "$logs/$2.programs/$name" ]; then missing+=${missing:+, }$name; fi
    done
    command=(env PATH="$logs/base:$logs/$2.programs" "$1")
    if [ -n "$missing" ]; then command=(echo "SKIPPED - all of it: no $missing"); fi
}

free_lane()
{
    local lane=0
    while [[ " ${lanes[*]} " == *" $lane "* ]]; do lane=$((lane + 1)); done
    echo "$lane"
}

# On a terminal the last line says what is at work; it is written over by what comes next.
show_running()
{
    local pid names=
    if [ ! -t 1 ]; then return; fi
    for pid in "${!programs[@]}"; do names+=" ${programs[$pid]##*tests/}"; done
    printf '\r\033[K%.79s' "[$finished/$count] running:$names"
}
say()
{
    if [ -t 1 ]; then printf '\r\033[K'; fi
    printf '%s\n' "$*"
}

start()
{
    local lane long=${TEST_LONG:-} command
    lane=$(free_lane)
    command_of "$1" "$lane"
    if [[ " ${TEST_WHOLE:-} " == *" $1 "* ]]; then long=1; fi
    TEST_LANE=$lane TEST_LONG=$long timeout --kill-after=10 "$timeout_seconds" "${command[@]}" \
        </dev/null >"$logs/$lane" 2>&1 &
    programs[$!]=$1 lanes[$!]=$lane starts[$!]=$SECONDS
    show_running
}

# Waits for one, says how it went, and counts it, or leaves it for the second try.
finish_one()
{
    local pid code=0 program name log good bad skipped why="" seconds line
    wait -n -p pid || code=$?
    program=${programs[$pid]} name=${programs[$pid]##*tests/} # "unit/test_tree", wherever it is.
    log=$logs/${lanes[$pid]}
    seconds=$((SECONDS - starts[$pid]))
    unset "programs[$pid]" "lanes[$pid]" "starts[$pid]"
    if [ -z "$alone" ]; then finished=$((finished + 1)); fi
    read -r good bad skipped <<<"$(tally "$log")"
    if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
        why="gave up after $seconds s"
    elif [ "$code" -ne 0 ]; then
        why="exit code $code"
    elif [ -z "$good" ]; then
        why="does not say what it has tried"
    elif [ "$bad" -gt 0 ]; then
        why="exit code 0 all the same"
    fi
    if [ -n "$why" ] && [ "${bad:-0}" -eq 0 ]; then bad=1; fi
    printf -v line '[%3d/%d] %-32s %4d passed %4d s' "$finished" "$count" "$name" "${good:-0}" "$seconds"
    if [ "${skipped:-0}" -gt 0 ]; then line+=", $skipped skipped"; fi
    if [ "$bad" -gt 0 ]; then line+=", $bad FAILED"; fi
    if [ -n "$why" ] && [ -z "$alone" ]; then line+=", once more"; fi
    say "$line"
    if [ -n "$why" ]; then
        printf '%s: %s; it says:\n' "$name" "$why"
    fi
    if [ -n "$why" ] || [ -n "${TEST_VERBOSE:-}" ]; then sed 's/^/    /' "$log"; fi
    took+=("$seconds s  $name")
    show_running
    if [ -n "$why" ] && [ -z "$alone" ]; then
        again+=("$program")
        return
    fi
    if [ -n "$why" ]; then failures+=("$name: $why"); elif [ -n "$alone" ]; then late+=("$name"); fi
    while read -r line; do skips+=("$name: $line"); done < <(sed -n 's/^SKIPPED - //p' "$log")
    passed=$((passed + ${good:-0}))
    failed=$((failed + bad))
    skipped_all=$((skipped_all + ${skipped:-0}))
}

if [ $# -eq 0 ]; then
    echo "there are no such tests" >&2
    exit 1
fi
read -rd '' -a base <<<"$base" || true
linked "$logs/base" "${base[@]}"
for program in "$@"; do
    if [ "${#programs[@]}" -ge "$jobs" ]; then finish_one; fi
    start "$program"
done
while [ "${#programs[@]}" -gt 0 ]; do finish_one; done
alone=1
for program in "${again[@]}"; do
    start "$program"
    finish_one
done

say "the longest, of $SECONDS s:"
printf '    %s\n' "${took[@]}" | sort -rn | sed -n '1,8p'
if [ "${#skips[@]}" -gt 0 ]; then
    echo "skipped:"
    printf '%s\n' "${skips[@]}" | sort | in_lines
fi
if [ "${#failures[@]}" -gt 0 ]; then
    echo "failed:"
    printf '%s\n' "${failures[@]}" | sort | in_lines
fi
if [ "${#late[@]}" -gt 0 ]; then
    printf -v line ', %s' "${late[@]}"
    echo "passed the second time: ${line:2}"
fi
echo "$passed passed, $failed failed, $skipped_all skipped"
[ "$failed" -eq 0 ]
