# shellcheck shell=bash
# lib.sh - what the tests of real processes share. Source it first:
#
#     . "$(dirname "$0")/lib.sh"
#     start ps0 syncopate-ps --ps-hosts 127.0.0.1:0        in the background, says to $work/ps0.log
#     ends ps0 0                                           waits for it; fails unless it exits 0
#     ok "a server ends with exit code 0"
#
# `make check` is to stay quick, so that it is run: a script's share is some 30 s, most of it waiting.
# What takes longer belongs to `make check-all`, which says so in TEST_LONG (see short_run below):
#
#     if short_run; then ok_when_one_server_dies; fi       in make check
#     if long_run; then ok_when_each_of_ten_dies; fi       in make check-all only
#
# What a process does at a certain moment is no race: programs of $build/checked stop at an event
# (common/events/event_rows.inc) until they are told to go on; and what takes long takes no time:
#
#     holds ps1 "ps/1 writes:40" start ps1 checked/syncopate-ps ...    or a function that starts several, or
#     SYNCOPATE_BIN_DIR=$build/checked holds ps1 "ps/1 writes" start all syncopate run ...
#     reached ps1                 waits until server 1 begins to write its part of the checkpoint of step 40
#     murder ps1                  it is killed there; or
#     goes_on ps1                 it goes on
#
#     export TEST_CLOCK=$work/clock; : >"$TEST_CLOCK"    before what is checked is started
#     passes 30                   30 s pass for all that has this clock, in less than 6 s
#
# What cannot be tried on this machine says so with skip, and is counted and named at the end.
#
# Every test has a folder of its own, $work, and leaves nothing behind: whatever still runs at the
# end is killed, and is a failure. TEST_BUILD is where the programs are, TEST_MODE how they were
# built, which decides how patient one must be.
set -euo pipefail

build=${TEST_BUILD:-$(cd "$(dirname "$0")/../.." && pwd)/build/release}
mode=${TEST_MODE:-release}
case $mode in
    tsan) patience=8 ;; # Times the seconds that a release build on an idle machine might need.
    asan) patience=4 ;;
    *) patience=3 ;;
esac
title=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/syncopate-$title-XXXXXX")
never=$work/.never # Nobody writes to it.
mkfifo "$never"
declare -A pids=()

# Options of the programs come from here alone.
for variable in $(compgen -e SYNCOPATE_ || true); do unset "$variable"; done
export TEST_MARK="$work"
suppressions=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/lsan.supp
export LSAN_OPTIONS="suppressions=$suppressions:print_suppressions=0"

ok() { echo "ok - $*"; }
skip() { echo "SKIPPED - $*"; } # WHAT: WHY NOT HERE
# Which cases are wanted: the short ones (TEST_LONG is empty), what make check leaves out (only), or
# all (1: TEST_LONG=1 tests/processes/faults.sh). The Makefile finds scripts with long cases by the
# word long_run. C tests have suite_run_both for it (tests/lib/suite.h).
short_run() { [ "${TEST_LONG:-}" != only ]; }
long_run() { [ -n "${TEST_LONG:-}" ]; }
sanitized() { [ "$mode" != release ]; }
# What stands below is tried under sanitizers by `make asan WHOLE=1` alone.
rest_unsanitized() { if sanitized && { [ "$mode" = tsan ] || [ -z "${WHOLE:-}" ]; }; then exit 0; fi; }

# Say what failed and the last words of everybody, first of whom it is about (the first word).
last_words()
{
    if [ -s "$1" ]; then
        echo "--- $(basename "$1")"
        tail -n 15 "$1"
    fi
}
fail()
{
    local log about="$work/${1%% *}.log"
    echo "not ok - $1"
    last_words "$about"
    for log in "$work"/*.log; do
        if [ "$log" != "$about" ]; then last_words "$log"; fi
    done
    exit 1
}

# Processes of ours that still run, wherever they came from: all inherit TEST_MARK.
survivors()
{
    local directory name
    while IFS= read -r directory; do
        directory=${directory%/environ}
        { read -r name <"$directory/comm"; } 2>/dev/null || continue # It has ended.
        case $name in syncopate*) echo "${directory#/proc/}" ;; esac
    done < <(grep -slzxF "TEST_MARK=$work" /proc/[0-9]*/environ)
}

clean_up()
{
    local code=$? pid
    for pid in $(survivors); do
        if [ "$code" -eq 0 ]; then
            echo "not ok - process $pid was left behind: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        fi
        kill -KILL "$pid" 2>/dev/null || true
        code=1
    done
    wait 2>/dev/null || true # Its news of what was killed are no news.
    if declare -F clean_up_more >/dev/null; then clean_up_more; fi
    rm -rf "$work"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# start NAME PROGRAM ARGUMENT... - a process of this test, in the background. (The shell has those ignore SIGINT.)
start()
{
    local name=$1 program=$2
    shift 2
    env --default-signal=INT "$build/$program" "$@" >"$work/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
}

# murder NAME - kill it; the shell has no news of it to tell.
murder()
{
    disown "${pids[$1]}"
    kill -KILL "${pids[$1]}"
}

running() { kill -0 "${pids[$1]}" 2>/dev/null; }

# pause SECONDS - without a process for it: tests wait most of the time, in steps of a twentieth of a second.
pause() { read -rt "$1" <>"$never" || true; }

# within SECONDS COMMAND... - wait until the command succeeds, patiently.
within()
{
    local deadline=$((SECONDS + $1 * patience))
    shift
    until "$@"; do
        if [ "$SECONDS" -gt "$deadline" ]; then return 1; fi
        pause 0.05
    done
}

gone() { ! running "$1"; }

# holds NAME POINT COMMAND... - what the command starts holds there, once: common/events/hold.h.
holds()
{
    rm -f "$work/$1.hold" "$work/$1.hold.go"
    mkfifo "$work/$1.hold" "$work/$1.hold.go"
    export TEST_HOLD="$2 $work/$1.hold"
    shift 2
    "$@"
    unset TEST_HOLD
}
reached() # NAME [SECONDS]
{
    read -rt $((${2:-20} * patience)) _ <>"$work/$1.hold" || fail "$1 does not get to the event at which it is to hold"
}
# A byte waits for it. (The file stays open: else the byte would go with it.)
goes_on()
{
    local go
    exec {go}<>"$work/$1.hold.go"
    printf . >&"$go"
}

# passes SECONDS [MS] - of the time that a test adds (common/base/clock.h), in steps of so much, between which all are
# heard. A second and more at once is taken for a stop of the process itself.
passes()
{
    local ms step=${2:-250}
    for ((ms = 0; ms < 1000 * $1; ms += step)); do
        truncate -s "+${step}000" "$TEST_CLOCK"
        pause 0.05
    done
}

# ends NAME CODE [SECONDS] - it must end with this exit code.
ends()
{
    local name=$1 expected=$2 seconds=${3:-20} code=0
    within "$seconds" gone "$name" || fail "$name does not end"
    wait "${pids[$name]}" || code=$?
    if [ "$code" -ne "$expected" ]; then fail "$name ended with exit code $code, not $expected"; fi
}

# says NAME PATTERN [SECONDS] - it must have said so, or say so soon.
said() { grep -qsE -- "$2" "$work/$1.log"; }
says()
{
    within "${3:-10}" said "$1" "$2" || fail "$1 does not say: $2"
}

# run NAME CODE PROGRAM ARGUMENT... - start, and wait for the end.
run()
{
    local name=$1 code=$2
    shift 2
    start "$name" "$@"
    ends "$name" "$code" 60
}

# One clear line: what a program printed that failed. Addresses of the sanitizers' own reports and
# assertions are none.
one_line()
{
    local lines
    lines=$(grep -cE '(error: |^syncopate[^ ]*( [a-z]+)?: )' "$work/$1.log" || true)
    if [ "$lines" -ne 1 ]; then fail "$1 says what is wrong in $lines lines, not in one"; fi
}

nothing_runs()
{
    within 5 no_survivors || fail "something still runs: $(survivors | tr '\n' ' ')"
}
no_survivors() { [ -z "$(survivors)" ]; }

# A port on loopback that nobody listens on, below those the kernel gives out by itself, and not of
# the thousand that another test may pick from at the same time (see run_tests.sh). No port twice:
# who asked first may not listen yet, or again. $PORTS_GIVEN: noted in files of that name, shared with other processes.
taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_port()
{
    local port given=${PORTS_GIVEN:-$work/ports}
    for _ in $(seq 100); do
        port=$((20000 + ${TEST_LANE:-0} * 1000 + RANDOM % 1000))
        if ! taken "$port" && (set -C && : >"$given-$port") 2>/dev/null; then # At once, or not at all.
            echo "$port"
            return
        fi
    done
    fail "there is no free port"
}
port_is_free()
{
    if taken "$1"; then fail "port $1 is still taken"; fi
}

# From a run directory: a member of run.json, the hash of the model.
member() { sed -nE "s/^ *\"$2\": \"?([^\",]*)\"?,?$/\1/p" "$1/run.json" | head -n 1; }
model_hash() { sha256sum <"$1/model.safetensors" | cut -d ' ' -f 1; }

be32() { printf '%b' "$(printf '\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) \
    $(($1 >> 8 & 255)) $(($1 & 255)))"; }
# idx FOLDER - 40 training and 20 test images of 8x8, all labels 3.
idx()
{
    local set n
    mkdir "$1"
    for set in train:40 t10k:20; do
        n=${set#*:}
        {
            be32 0x803; be32 "$n"; be32 8; be32 8
            head -c $((n * 64)) /dev/zero
        } >"$1/${set%:*}-images-idx3-ubyte"
        { be32 0x801; be32 "$n"; head -c "$n" /dev/zero | tr '\0' '\3'; } \
            >"$1/${set%:*}-labels-idx1-ubyte"
    done
}
