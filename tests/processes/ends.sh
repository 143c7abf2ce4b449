#!/usr/bin/env bash
# ends.sh - programs begin and end as they should whoever else has a hand in it: parents that ignore
# or block signals, readers that go away, terminals that hang up, limits, and systems without /proc.
# test: asan
# promises: broken exit-codes joins json mistakes
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3)
short=("${small[@]}" --epochs 2)
endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)
syncopate=$build/syncopate

# start_as NAME COMMAND... - like start, but whatever command.
start_as()
{
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 </dev/null &
    pids["$name"]=$!
}
progressed() { grep -qs '"event": "progress"' "$work/$1/events.jsonl"; }
makes_progress() { within 20 progressed "$1" || fail "$1 makes no progress"; }
# stopped_cleanly RUN - it says so itself, and has a checkpoint to go on from.
stopped_cleanly()
{
    if [ "$(member "$work/$1" state)" != stopped ]; then fail "$1: run.json does not say stopped"; fi
    run "$1-look" 0 syncopate evaluate "$work/$1" --data synthetic:500 --seed 3
}

run plain 0 syncopate run "${short[@]}" --out "$work/plain"
expected=$(model_hash "$work/plain")
# same_bits RUN
same_bits()
{
    if [ "$(model_hash "$work/$1")" != "$expected" ]; then fail "$1: the model is another"; fi
}

# --- parents --------------------------------------------------------------------------------------
# under NAME COMMAND... - a job started by that command trains, ends with 0, and has the same bits.
under()
{
    start_as "$1" "${@:2}" "$syncopate" run "${short[@]}" --out "$work/$1"
    ends "$1" 0 30
    same_bits "$1"
}
under sigchld env --ignore-signal=CHLD
under blocked env --block-signal --ignore-signal
under session setsid --wait
# Of which only the sanitizers keep what they are told.
under environment env -i TEST_MARK="$work" ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
    ${TSAN_OPTIONS:+"TSAN_OPTIONS=$TSAN_OPTIONS"}
under hungup nohup
ok "whatever signals a parent ignores or blocks, a job trains and ends"

# --- readers --------------------------------------------------------------------------------------
# Workers come when the reader has gone: the run cannot have said all of it before.
mkdir "$work/late"
ln -s "$build/syncopate-ps" "$work/late/syncopate-ps"
cat >"$work/late/syncopate-worker" <<END
#!/bin/sh
until [ -e "$work/nobody-reads" ]; do sleep 0.05; done
exec "$build/syncopate-worker" "\$@"
END
chmod +x "$work/late/syncopate-worker"
SYNCOPATE_BIN_DIR=$work/late "$syncopate" run "${short[@]}" --log-every 0.01 --out "$work/head" 2>"$work/head.log" |
    {
        head -n 1 >"$work/head-line"
        exec <&-
        : >"$work/nobody-reads"
    }
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ]; then fail "a run without a reader ended with $code"; fi
if [ "$(wc -l <"$work/head-line")" -ne 1 ]; then fail "head had nothing to read"; fi
same_bits head
says head "syncopate run: cannot write to standard output: it is not read"
{
    until [ -e "$work/help-unread" ]; do sleep 0.05; done
    "$syncopate" --help run 2>"$work/help.log"
} | {
    exec <&-
    : >"$work/help-unread"
}
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ] || [ -s "$work/help.log" ]; then fail "help without a reader ended with $code"; fi
"$syncopate" --help run >"$work/help.log"
says help "^Usage: syncopate run "
"$syncopate" run "${short[@]}" --out "$work/full" >/dev/full 2>"$work/full.log" ||
    fail "a full disk behind standard output changes the exit code of a run"
same_bits full
says full "syncopate run: cannot write to standard output"
"$syncopate" run "${short[@]}" --out "$work/closed" <&- >&- 2>&- ||
    fail "a run with all standard files closed ended with $?"
same_bits closed
ok "a run goes on when nobody reads what it prints"

# unwritten NAME ARGUMENT... - what is asked for cannot be printed: one line, exit code 5.
unwritten()
{
    local name=$1 code
    shift
    for how in full closed; do
        code=0
        case $how in
            full) "$syncopate" "$@" >/dev/full 2>"$work/$name.log" || code=$? ;;
            closed) "$syncopate" "$@" >&- 2>"$work/$name.log" || code=$? ;;
        esac
        if [ "$code" -ne 5 ]; then fail "$name, $how: exit code $code, not 5"; fi
        says "$name" "^syncopate.*: cannot write to standard output: "
        one_line "$name"
        rm -f "$work/exported.safetensors"
    done
}
unwritten evaluate evaluate "$work/plain" --data synthetic:500 --seed 3
unwritten inspect inspect "$work/plain"
unwritten export export "$work/plain" --out "$work/exported.safetensors"
unwritten verify verify --histories 1
unwritten help run --help
unwritten version --version
code=0
"$syncopate" compare "${short[@]}" --workers 1 --warm-up 0 --quiet --out "$work/compared" >/dev/full \
    2>"$work/compare.log" || code=$?
if [ "$code" -ne 5 ]; then fail "compare ended with $code, not 5"; fi
one_line compare
if [ ! -s "$work/compared/report.html" ]; then fail "compare has left no report"; fi
"$syncopate" inspect "$work/plain" 2>&- >/dev/null || fail "without standard error: $?"
ok "of other commands a result that cannot be printed is exit code 5 with a line"

# --- signals --------------------------------------------------------------------------------------
ps() { start "$1" syncopate-ps --ps-hosts "$hosts" "${@:2}"; }
worker() { start "$1" syncopate-worker --ps-hosts "$hosts" --workers 1 "${@:2}"; }
by_hand()
{
    hosts=127.0.0.1:$(free_port)
    ps "$1-ps" --out "$work/$1"
    worker "$1-worker" "${endless[@]}"
    makes_progress "$1"
}
for role in ps worker; do
    by_hand "hup-$role"
    kill -HUP "${pids[hup-$role-$role]}"
    for name in ps worker; do ends "hup-$role-$name" 143; done
    stopped_cleanly "hup-$role"
done
start hup-solo syncopate-worker --ps 0 --out "$work/hup-solo" "${endless[@]}"
makes_progress hup-solo
kill -HUP "${pids[hup-solo]}"
ends hup-solo 143
stopped_cleanly hup-solo
start hup-run syncopate run "${endless[@]}" --out "$work/hup-run"
makes_progress hup-run
kill -HUP "${pids[hup-run]}"
kill -HUP "${pids[hup-run]}" 2>/dev/null || true # As shell and kernel both do; it may have ended by then.
ends hup-run 143
stopped_cleanly hup-run
ok "a hangup stops every program at a checkpoint, with exit code 143"

# And by a shell that is no person's, which has it ignore Ctrl-C.
start_as nohup nohup "$syncopate" run "${endless[@]}" --out "$work/nohup"
makes_progress nohup
for pid in $(survivors); do kill -HUP "$pid" && kill -INT "$pid"; done
before=$(grep -c progress "$work/nohup/events.jsonl")
goes_on() { [ "$(grep -c progress "$work/nohup/events.jsonl")" -gt $((before + 2)) ]; }
within 10 goes_on || fail "a hangup or Ctrl-C disturbs a job that a script started by nohup"
# Its signal comes twice: to the launcher, and to its group.
start_as timeout timeout --preserve-status 600 "$syncopate" run "${endless[@]}" \
    --out "$work/timeout"
makes_progress timeout
kill -TERM "${pids[timeout]}"
ends timeout 143
stopped_cleanly timeout
# A service manager may tell everybody at once.
for pid in $(survivors); do kill -TERM "$pid" || true; done
ends nohup 143
stopped_cleanly nohup
ok "nohup is heeded; what is told twice, or to all, is one request"

# --- one worker is to go --------------------------------------------------------------------------
# That it is lost would take longer than anybody waits here.
# Those who leave are so slow that the job is not done before they have left; who is there to the end is quick.
slowed=(--compute constant:50ms) quick=(--compute constant:1ms)
# leavers RUN MODE ARGUMENT... - a server and two workers that leave on SIGTERM.
leavers()
{
    hosts=127.0.0.1:$(free_port)
    ps "$1-ps" --out "$work/$1" --worker-timeout 600
    for index in 0 1; do leaver "$1-w$index" "$index" --mode "$2" "${@:3}"; done
    makes_progress "$1"
}
# leaver NAME INDEX ARGUMENT...
leaver()
{
    start "$1" syncopate-worker --ps-hosts "$hosts" --workers 2 --task-index "$2" \
        --on-term leave "${slowed[@]}" "${@:3}"
}
# nobody_lost RUN
nobody_lost()
{
    if grep -q '"event": "lost"' "$work/$1/events.jsonl"; then fail "$1: leaving is a loss"; fi
}

run quiet 0 syncopate run "${small[@]}" --epochs 24 --out "$work/quiet"
for way in sync async; do
    leavers "leave-$way" $way "${small[@]}" --epochs 24
    kill -TERM "${pids[leave-$way-w1]}"
    ends "leave-$way-w1" 143
    says "leave-$way-w1" "leaving, exit=143; the job goes on without this worker"
    running "leave-$way-ps" || fail "the job has ended with one worker"
    leaver "leave-$way-again" 1 --mode $way "${small[@]}" --epochs 24 "${quick[@]}"
    says "leave-$way-ps" "worker/1 joined"
    kill -HUP "${pids[leave-$way-w0]}"
    for name in w0:143 again:0 ps:0; do ends "leave-$way-${name%:*}" "${name#*:}" 30; done
    nobody_lost "leave-$way"
    if [ "$(member "$work/leave-$way" workers_lost)" != 0 ]; then fail "$way: one counts as lost"; fi
done
if [ "$(model_hash "$work/leave-sync")" != "$(model_hash "$work/quiet")" ]; then
    fail "a worker that leaves changes the bits"
fi
start leave-run syncopate run "${small[@]}" --epochs 24 "${quick[@]}" --slow 0:50 --on-term leave \
    --worker-timeout 600 --out "$work/leave-run"
makes_progress leave-run
for pid in $(survivors); do
    case " $(tr '\0' ' ' <"/proc/$pid/cmdline") " in
        *" --job-name=worker "*" --task-index=0 "*) kill -TERM "$pid" ;;
    esac
done
ends leave-run 0
grep -q '"event": "left"' "$work/leave-run/events.jsonl" || fail "nobody has left"
nobody_lost leave-run
if grep -qE "started again|warning" "$work/leave-run.log"; then fail "leaving is complained of"; fi
if [ "$(model_hash "$work/leave-run")" != "$(model_hash "$work/quiet")" ]; then
    fail "a worker that leaves its launcher changes the bits"
fi
ok "--on-term leave: a worker's SIGTERM is its own end, and its place may be taken"

leavers evicted sync "${endless[@]}"
for name in w0 w1; do kill -TERM "${pids[evicted-$name]}"; done
for name in w0 w1; do ends "evicted-$name" 143; done
says evicted-ps "no worker is left; waiting 1 min for one to join"
kill -TERM "${pids[evicted-ps]}"
ends evicted-ps 143 5
stopped_cleanly evicted
leavers drained async "${endless[@]}"
for name in w0 w1 ps; do kill -TERM "${pids[drained-$name]}"; done
for name in w0 w1 ps; do ends "drained-$name" 143 5; done
stopped_cleanly drained
nobody_lost drained
ok "--on-term leave: where all are told to go, in whatever order, there is a checkpoint"

# --- whoever started them -------------------------------------------------------------------------
# The jobs' folder for temporary files; nothing may ever come into it.
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
job()
{
    start "$1" syncopate run --ps 2 --workers 2 "${endless[@]}" --out "$work/$2" \
        --worker-timeout "$patience" "${@:3}"
}
# child ROLE INDEX - the id of that process, into $pid.
child()
{
    for pid in $(survivors); do
        case " $(tr '\0' ' ' <"/proc/$pid/cmdline") " in
            *" --job-name=$1 "*" --task-index=$2 "*) return ;;
        esac
    done
    fail "there is no $1/$2"
}
count_starts() { grep -cs '"event": "start"' "$work/$1/events.jsonl" || true; }
started_again() { [ "$(count_starts "$1")" -gt "$2" ]; }
# murder_both NAME - the launcher and its process $pid. It has no time to start that again, nor has that time to
# end by itself.
murder_both()
{
    kill -STOP "${pids[$1]}"
    kill -KILL "$pid"
    murder "$1"
}

job lost lost
makes_progress lost
child ps 0
murder_both lost
within 10 no_survivors || fail "orphans wait for a lost server: $(survivors | tr '\n' ' ')"
starts=$(count_starts lost)
job lost-soon lost --stop-timeout 2 --worker-timeout 60
within 20 started_again lost "$starts" || fail "the job does not go on"
child ps 1
murder_both lost-soon
within 4 no_survivors || fail "orphans take longer than --stop-timeout"
ok "orphans of a launcher end soon, also when a server was lost with it"

run no-parent 2 syncopate-ps --parent-stdin --ps-hosts 127.0.0.1:0
says no-parent "standard input ended before its first line"
one_line no-parent
hosts=127.0.0.1:$(free_port)
mkfifo "$work/leash"
"$build/syncopate-ps" --parent-stdin --ps-hosts "$hosts" --out "$work/leash-run" \
    <"$work/leash" >"$work/leash-ps.log" 2>&1 &
pids[leash-ps]=$!
exec 9>"$work/leash"
echo hello >&9
worker leash-worker "${endless[@]}" 9>&- # Whoever has it too keeps it open.
makes_progress leash-run
exec 9>&-
ends leash-ps 143
ends leash-worker 143
stopped_cleanly leash-run
ok "--parent-stdin: the end of standard input is a clean stop, and none at all a usage error"

# When a worker is lost with the launcher, orphans take a while: as long as the next launcher may take to look.
job orphans again --worker-timeout $((2 * patience))
makes_progress again
starts=$(count_starts again)
child worker 1
murder_both orphans
job again again
within 30 started_again again "$starts" || fail "the same command does not go on"
says again "process [0-9]+ \(syncopate-ps\) is about to leave .*; waiting for that, 35 s at most"
run refused 5 syncopate run "${endless[@]}" --out "$work/again"
says refused "syncopate run: another run is using .*/again"
one_line refused
starts=$(count_starts again)
kill -TERM "${pids[again]}"
stops() { grep -qs "stopping: " "$work/again/logs/ps-0.log"; }
within 20 stops || fail "SIGTERM stops nothing"
job after again
ends again 143
within 30 started_again again "$starts" || fail "the same command does not go on after SIGTERM"
kill -INT "${pids[after]}"
ends after 130
nothing_runs
ok "the same command at once after the launcher's end waits for orphans, and for nobody who stays"

# By hand: a server 0 that takes a while to stop, and its successor on the same address.
by_hand hand
kill -STOP "${pids[hand-worker]}"
kill -TERM "${pids[hand-ps]}"
says hand-ps "stopping: "
ps hand-next --out "$work/hand"
says hand-next "is about to leave .*/hand; waiting for that"
kill -CONT "${pids[hand-worker]}"
ends hand-ps 143
ends hand-worker 143
worker hand-again "${endless[@]}"
within 20 said hand-next "resuming from the checkpoint" || fail "the next server 0 does not go on"
ps hand-third --out "$work/hand"
ends hand-third 5
says hand-third "another run is using .*/hand"
kill -TERM "${pids[hand-next]}"
ends hand-next 143
ends hand-again 143
ok "a server 0 started by hand waits for the one before, when that is stopping"

for _ in 1 2 3 4 5; do
    rm -rf "$work/early"
    job early early
    sleep "0.0$((RANDOM % 10))"
    murder early
    within 10 no_survivors || fail "something survives a launcher killed while it starts"
done
# (ThreadSanitizer has a file of its own there for a moment, while a process starts.)
left=$(find "$TMPDIR" -mindepth 1 ! -name 'tsan.rodata.*')
if [ -n "$left" ]; then fail "left in TMPDIR: $left"; fi
unset TMPDIR
ok "nothing is left in the folder for temporary files"

# --- limits ---------------------------------------------------------------------------------------
# limited NAME CODE KIB ARGUMENT... - a run in which no file may be larger.
limited()
{
    # shellcheck disable=SC2016 # For the inner shell.
    start_as "$1" bash -c 'ulimit -f "$1"; shift; exec "$@"' bash "$3" "$syncopate" run \
        "${small[@]}" --model mlp --steps 40 --checkpoint-every 10 --slow 0:20 --out "$work/$1" "${@:4}"
    ends "$1" "$2" 30
}
for servers in 1 0; do
    limited "limit-$servers" 5 300 --ps "$servers" --workers 1
    says "limit-$servers" "checkpoint at step [0-9]+ not written: .*File too large"
    if [ "$(grep -c "not written: .*File too large" "$work/limit-$servers.log")" -gt 2 ]; then
        fail "a limit is complained of more than once, and at the end"
    fi
    if grep -q "started again" "$work/limit-$servers.log"; then fail "it killed somebody"; fi
done
ok "a limit on the size of files costs checkpoints, and is said once"

for files in 20 29 33 36 42 44; do
    # shellcheck disable=SC2016 # For the inner shell.
    start_as "files-$files" bash -c 'ulimit -n "$1"; shift; exec "$@"' bash "$files" \
        "$syncopate" run "${short[@]}" --ps 2 --workers 2 --quiet --out "$work/files-$files"
    ends "files-$files" 5 20
    says "files-$files" "^syncopate run: a process may open $files files, and this job needs 112"
    if [ "$(wc -l <"$work/files-$files.log")" -ne 1 ]; then fail "with $files files more is said"; fi
done
ok "with too few open files a job says so in one line, and ends with 5"

# Sanitizers take more address space than there is memory.
if ! sanitized; then
    worked=0
    for kib in 12000 12500 13000 14000 30000 60000 150000 400000; do
        # shellcheck disable=SC2016 # For the inner shell.
        start_as "memory-$kib" bash -c 'ulimit -v "$1"; shift; exec "$@"' bash "$kib" \
            "$syncopate" run "${short[@]}" --quiet --out "$work/memory-$kib"
        within 20 gone "memory-$kib" || fail "a job within $kib KiB does not end"
        code=0
        wait "${pids[memory-$kib]}" || code=$?
        case $code in
            0) worked=$((worked + 1)) ;;
            1) says "memory-$kib" "^syncopate run: .*(memory|thread)" ;;
            # syncopate-ps has more libraries than syncopate.
            5) says "memory-$kib" "^syncopate run: ps/0 ended with exit code 127; .*error while loading shared libraries" ;;
            127) says "memory-$kib" "error while loading shared libraries" ;; # Before it is a program.
            *) fail "a job within $kib KiB ended with exit code $code" ;;
        esac
    done
    if [ "$worked" -eq 0 ]; then fail "no limit is large enough"; fi
    nothing_runs
    ok "with too little memory a job says so and ends with 1, and $worked of 8 limits are enough"
fi

# --- without /proc --------------------------------------------------------------------------------
# The script is what a mount namespace of its own sees.
if sanitized; then
    skip "a system without /proc: the sanitizers cannot do without it"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
    skip "a system without /proc: only root can make one (and a container may not)"
    exit 0
fi
ln -s "$syncopate" "$work/link"
# shellcheck disable=SC2016 # For the inner shell.
start_as noproc unshare --mount --propagation private bash -c '
    syncopate=$1 work=$2 link=$2/link
    shift 2
    while umount --lazy /proc 2>/dev/null; do :; done
    if [ -e /proc/self ]; then exit 77; fi
    set -e
    "$syncopate" run "$@" --out "$work/noproc"
    "$link" run "$@" --out "$work/noproc-link"
    cd "$(dirname "$syncopate")"
    ./syncopate run "$@" --out "$work/noproc-here"
    PATH=$PWD:$PATH
    cd /
    syncopate run "$@" --out "$work/noproc-path"
    mkdir "$work/apart"
    cp "$syncopate" "$work/apart"
    "$work/apart/syncopate" run "$@" --out "$work/noproc-apart"' \
    bash "$syncopate" "$work" "${short[@]}"
ends noproc 0 60
for run in noproc noproc-link noproc-here noproc-path noproc-apart; do same_bits "$run"; done
ok "without /proc all programs are found, and a job trains"
