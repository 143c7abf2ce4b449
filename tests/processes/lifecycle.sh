#!/usr/bin/env bash
# lifecycle.sh - programs begin and end as they should. Started by hand they come together in any order, say for whom
# they wait, refuse who does not belong, and all end: at the end of the job, on a signal, with their launcher. `syncopate
# leave` and --on-term leave: who may ask that a worker goes, and what becomes of the job. And whatever a parent ignores
# or blocks, readers that go away, terminals that hang up, limits, and systems without /proc.
# test: first asan tsan
# promises: broken by-hand exit-codes joins json mistakes other-run ssp stop
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3)
short=("${small[@]}" --epochs 2)
endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)
syncopate=$build/syncopate

# hosts SERVERS - ports for so many servers, into $hosts and ${ports[@]}.
hosts()
{
    local i
    hosts='' ports=()
    for ((i = 0; i < $1; i++)); do
        ports[i]=$(free_port)
        hosts+=${hosts:+,}127.0.0.1:${ports[i]}
    done
}
# ps INDEX NAME ARGUMENT..., worker INDEX NAME ARGUMENT...
ps() { start "$2" "${checked:-}syncopate-ps" --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
worker() { start "$2" "${checked:-}syncopate-worker" --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
all_free()
{
    local port
    for port in "${ports[@]}"; do port_is_free "$port"; done
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
same_bits() { if [ "$(model_hash "$work/$1")" != "$expected" ]; then fail "$1: the model is another"; fi; }

# --- any order, and somebody does not come: of this, time is commanded --------------------------------
export TEST_CLOCK=$work/clock
: >"$TEST_CLOCK"
checked=checked/
hosts 2
worker 1 order-worker1 --workers 2 "${short[@]}"
worker 0 order-worker0 --workers 2 "${short[@]}"
ps 1 order-ps1 --out "$work/order-elsewhere"
says order-ps1 listening
passes 6
waited="waiting ([5-9]|[1-9][0-9]) s"
for name in worker0 ps1; do says "order-$name" "$waited for ps/0: connection refused by 127.0.0.1:${ports[0]}"; done
ps 0 order-ps0 --out "$work/order"
for name in order-ps0 order-ps1 order-worker0 order-worker1; do ends "$name" 0; done
if [ "$(member "$work/order" state)" != "done" ]; then fail "run.json does not say done"; fi
same_bits order
nothing_runs
all_free
ok "workers, then server 1, then server 0: they wait, say why, train, and all exit 0"

hosts 2
ps 0 missing-ps0 --out "$work/missing" --start-timeout 20
ps 1 missing-ps1 --out "$work/missing" --start-timeout 60
worker 0 missing-worker0 --workers 3 "${short[@]}" --start-timeout 60
says missing-ps0 "worker/0 joined"
passes 10
says missing-ps0 "waiting ([4-9]|1[0-9]) s for worker/1 \(never seen\), worker/2 \(never seen\)" 15
says missing-worker0 "$waited, ps/0 says: waiting (([4-9]|1[0-9]) s for worker/1|for others)"
passes 12
for name in missing-ps0 missing-ps1 missing-worker0; do
    ends "$name" 4
    says "$name" "error: start timed out after .* waiting for worker/1 .*, worker/2"
    one_line "$name"
done
nothing_runs
all_free
unset TEST_CLOCK checked
ok "a start that times out exits 4 everywhere and names who is missing"

# --- who does not belong --------------------------------------------------------------------------
hosts 1
ps 0 old-ps0 --out "$work/old"
worker 0 old-worker0 --workers 1 "${endless[@]}" --worker-timeout 60
# The server says that training starts before its worker has heard so: a worker that has trained knows its run.
makes_progress old
kill -STOP "${pids[old-worker0]}"
murder old-ps0
within 5 gone old-ps0 || fail "the old server does not die"
ps 0 new-ps0 --out "$work/new"
worker 0 new-worker0 --workers 2 "${short[@]}"
says new-ps0 "worker/0 joined"
worker 1 new-other --workers 2 --data synthetic:500 --seed 3 --model mlp --epochs 2
ends new-other 3
says new-other 'error: model: .*dense 10.* in the running job, .*dense 128.* in worker/1'
worker 0 new-twin --workers 2 "${short[@]}"
ends new-twin 3
says new-twin "error: worker/0 is taken by another process"
kill -CONT "${pids[old-worker0]}"
ends old-worker0 195
says old-worker0 "error: .*run"
for name in new-other new-twin old-worker0; do one_line "$name"; done
worker 1 new-worker1 --workers 2 "${short[@]}"
for name in new-ps0 new-worker0 new-worker1; do ends "$name" 0; done
same_bits new
nothing_runs
ok "another model and a taken index are refused with 3, a worker of an old run with 195, and the run is as it should be"

# --- a slow one -----------------------------------------------------------------------------------
# A batch of the third worker takes seconds.
hosts 1
bounded=(--workers 3 --data synthetic:2000 --mode ssp:1 --model softmax --steps 150 --checkpoint-every 0 --compute constant:5ms)
ps 0 slow-ps0 --out "$work/slow"
for i in 0 1 2; do worker "$i" "slow-worker$i" "${bounded[@]}" --slow 2:1000; done
inspected() { "$build/syncopate" inspect "$hosts" >"$work/inspected.log" 2>&1 && said inspected "$1"; }
within 10 inspected "^worker/0 and 1 more wait for worker/2 \(on .*\), the slowest, in ssp:1$" ||
    fail "inspect does not say who waits for whom"
worker 3 slow-late "${bounded[@]}" --slow 2:1000 # Beyond the three that were declared: it waits as they do.
within 10 inspected "^worker/0 and 2 more wait for worker/2 " || fail "the late one does not wait"
says slow-worker0 "waiting [0-9]+ s, ps/0 says: waiting for worker/2 \(on .*\), the slowest, in ssp:1" 15
murder slow-worker2
for name in slow-worker0 slow-worker1 slow-late slow-ps0; do ends "$name" 0 30; done
if [ "$(member "$work/slow" workers_lost)" != 1 ]; then fail "nobody was lost"; fi
ok "who waits says for whom, and not for long for one that was killed"

# --- stopped, also before it began ------------------------------------------------------------------
start interrupted syncopate run --out "$work/interrupted" --ps 2 --workers 2 "${endless[@]}"
makes_progress interrupted
kill -INT "${pids[interrupted]}"
ends interrupted 130
nothing_runs
stopped_cleanly interrupted
run look 0 syncopate inspect "$work/interrupted/checkpoints"/step-*"$(member "$work/interrupted" step)"
ok "Ctrl-C leaves a checkpoint that can be looked at and scored, and no process"

# gathers NAME - a job of two workers whose second does not come is stopped; of a new run, or of the one that
# was interrupted; run.json says so, and where it stands.
gathers()
{
    local name=$1 step=$2
    hosts 1
    ps 0 "$name-ps0" --out "$work/$name"
    worker 0 "$name-worker0" --workers 2 "${small[@]}" --steps 100000000
    says "$name-ps0" "waiting .* for worker/1" 15
    kill -INT "${pids[$name-ps0]}"
    ends "$name-ps0" 130
    ends "$name-worker0" 130
    if [ "$(member "$work/$name" state) $(member "$work/$name" step)" != "stopped $step" ]; then
        fail "$name: run.json says $(member "$work/$name" state) at step $(member "$work/$name" step), not stopped at $step"
    fi
}
gathers unbegun 0
made=$(member "$work/interrupted" step) bits=$(member "$work/interrupted" parameters_sha256)
gathers interrupted "$made"
if [ "$(member "$work/interrupted" parameters_sha256)" != "$bits" ]; then fail "it has another model"; fi
ok "stopped while it waits for a worker, a run says so, and that it stands where it stood"

# --- a start that is waited for in vain -----------------------------------------------------------
hosts 1
ps 0 still-ps
says still-ps listening
kill -STOP "${pids[still-ps]}"
worker 0 still-worker --workers 1 "${small[@]}" --steps 3 --start-timeout 2
ends still-worker 4 15
says still-worker "127.0.0.1:${ports[0]} accepts connections, but does not answer"
murder still-ps
within 5 gone still-ps || fail "the server that was stopped does not die"
nothing_runs
ok "who waits for a server that is stopped gives up after --start-timeout"

endless=("${small[@]}" --steps 100000000 --checkpoint-every 0 --compute constant:5ms)
# job RUN OPTION... - a server and two workers, with what else they are to be told.
job()
{
    hosts 1
    ps 0 "$1-ps" --out "$work/$1" --worker-timeout 600 "${@:2}"
    for index in 0 1; do worker "$index" "$1-w$index" --workers 2 "${endless[@]}" "${@:2}"; done
    makes_progress "$1"
}
# stays RUN WORKER - it is there yet, and so is the server.
stays()
{
    running "$1-w$2" || fail "$1: worker/$2 has gone"
    running "$1-ps" || fail "$1: the server has gone"
}
# refused NAME CODE PATTERN ARGUMENT...
refused()
{
    run "$1" "$2" syncopate leave "${@:4}"
    says "$1" "$3"
    one_line "$1"
}

# --- asked of server 0 ----------------------------------------------------------------------------
job asked
run asked-leave 0 syncopate leave "tcp://$hosts/worker/1"
says asked-leave "^worker/1 has left$"
ends asked-w1 0
says asked-w1 "leaving, exit=0, as ps/0 was asked; the job goes on without this worker"
says asked-ps "worker/1 has to leave: it was asked of ps/0"
stays asked 0
refused left 3 "syncopate leave: worker/1 is not there: it has left$" "$hosts/worker/1"
refused never 3 "syncopate leave: worker/9 is not there: it never was$" "$hosts/worker/9"
worker 1 asked-w1 --workers 2 "${endless[@]}" # Its place may be taken, and who takes it stays.
within 20 grep -qs "assignment 3: 2 workers" "$work/asked-ps.log" || fail "nobody takes the place"
stays asked 1
if grep -q '"event": "lost"' "$work/asked/events.jsonl"; then fail "leaving is a loss"; fi
ok "syncopate leave HOST:PORT/worker/I: that worker goes with 0, and the job goes on; who is not there is said"

refused nothing 2 "needs a worker, as server 0's host:port/worker/I"
refused bare 2 "is not HOST:PORT/worker/I, such as alpha:7000/worker/3" "$hosts"
refused old 2 "unknown option --self: SIGTERM lets a worker leave that runs with --on-term leave; or name it as" --self
kill -TERM "${pids[asked-ps]}"
for name in ps w0 w1; do ends "asked-$name" 143; done
refused silent 5 "no server 0 answers: connection refused" "$hosts/worker/0"

# What waits longer than it may: a worker that is stopped cannot leave.
job stuck
kill -STOP "${pids[stuck-w1]}"
# In a second a server that is kept waiting may not have answered once.
refused late 195 "worker/1 has been asked to leave, and has not left within $patience s" "$hosts/worker/1" --stop-timeout "$patience"
kill -CONT "${pids[stuck-w1]}"
ends stuck-w1 0 # It was told, and goes when it can.
kill -TERM "${pids[stuck-ps]}"
for name in ps w0; do ends "stuck-$name" 143; done
ok "a deadline ends the waiting, not the request"

# --- a place that also serves ---------------------------------------------------------------------
hosts 2
for index in 0 1; do
    ps "$index" "place-ps$index" --out "$work/place"
    worker "$index" "place-w$index" --ps colocated "${endless[@]}" --on-term leave
done
makes_progress place
refused owner 3 "the place of worker/1 owns chunks of the model, and cannot leave" "${hosts%,*}/worker/1"
kill -TERM "${pids[place-w1]}"
for name in ps0 ps1 w0 w1; do ends "place-$name" 143; done
if [ "$(member "$work/place" state)" != stopped ]; then fail "a place that is taken away stops no job"; fi
ok "a place that also serves is not let go, and when it is evicted stops the job at a checkpoint"

# --- keys -----------------------------------------------------------------------------------------
keys=$work/keys
"$build/syncopate" keygen "$keys" --workers 2 --quiet
"$build/syncopate" keygen "$keys/spare" --quiet
job keyed --keys "$keys"
refused unkeyed 6 "it wants keys" "$hosts/worker/1"
for who in worker-0 observer; do
    refused "$who" 6 "is the certificate of (worker/0|any observer), and this is worker/1" "$hosts/worker/1" --keys "$keys" \
        --certificate "$keys/$who.key_secret"
done
stays keyed 1
run keyed-own 0 syncopate leave "$hosts/worker/1" --keys "$keys"
ends keyed-w1 0
run keyed-spare 0 syncopate leave "$hosts/worker/0" --keys "$keys" --certificate "$keys/spare.key_secret"
ends keyed-w0 0
kill -TERM "${pids[keyed-ps]}"
ends keyed-ps 143
ok "with keys a worker is sent away by its own key, or by one that may be anything, and by nobody else's"
nothing_runs
if [ "$mode" = tsan ]; then exit 0; fi # No other threads than those.

endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)
# start_as NAME COMMAND... - like start, but whatever command.
start_as()
{
    "${@:2}" >"$work/$1.log" 2>&1 </dev/null &
    pids["$1"]=$!
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
by_hand()
{
    hosts 1
    ps 0 "$1-ps" --out "$work/$1"
    worker 0 "$1-worker" --workers 1 "${endless[@]}"
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
    hosts 1
    ps 0 "$1-ps" --out "$work/$1" --worker-timeout 600
    for index in 0 1; do leaver "$1-w$index" "$index" --mode "$2" "${@:3}"; done
    makes_progress "$1"
}
# leaver NAME INDEX ARGUMENT...
leaver()
{
    worker "$2" "$1" --workers 2 --on-term leave "${slowed[@]}" "${@:3}"
}
# nobody_lost RUN
nobody_lost()
{
    if grep -q '"event": "lost"' "$work/$1/events.jsonl"; then fail "$1: leaving is a loss"; fi
}

run quiet 0 syncopate run "${small[@]}" --epochs 24 --out "$work/quiet"
leavers leave sync "${small[@]}" --epochs 24
kill -TERM "${pids[leave-w1]}"
ends leave-w1 143
says leave-w1 "leaving, exit=143; the job goes on without this worker"
running leave-ps || fail "the job has ended with one worker"
leaver leave-again 1 "${small[@]}" --epochs 24 "${quick[@]}"
says leave-ps "worker/1 joined"
kill -HUP "${pids[leave-w0]}"
for name in w0:143 again:0 ps:0; do ends "leave-${name%:*}" "${name#*:}" 30; done
nobody_lost leave
if [ "$(member "$work/leave" workers_lost)" != 0 ]; then fail "one counts as lost"; fi
if [ "$(model_hash "$work/leave")" != "$(model_hash "$work/quiet")" ]; then
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
launch()
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

launch lost lost
makes_progress lost
child ps 0
murder_both lost
within 10 no_survivors || fail "orphans wait for a lost server: $(survivors | tr '\n' ' ')"
starts=$(count_starts lost)
launch lost-soon lost --stop-timeout 2 --worker-timeout 60
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
worker 0 leash-worker --workers 1 "${endless[@]}" 9>&- # Whoever has it too keeps it open.
makes_progress leash-run
exec 9>&-
ends leash-ps 143
ends leash-worker 143
stopped_cleanly leash-run
ok "--parent-stdin: the end of standard input is a clean stop, and none at all a usage error"

# When a worker is lost with the launcher, orphans take a while: as long as the next launcher may take to look.
launch orphans again --worker-timeout $((2 * patience))
makes_progress again
starts=$(count_starts again)
child worker 1
murder_both orphans
launch again again
within 30 started_again again "$starts" || fail "the same command does not go on"
says again "process [0-9]+ \(syncopate-ps\) is about to leave .*; waiting for that, 35 s at most"
run refused 5 syncopate run "${endless[@]}" --out "$work/again"
says refused "syncopate run: another run is using .*/again"
one_line refused
starts=$(count_starts again)
kill -TERM "${pids[again]}"
stops() { grep -qs "stopping: " "$work/again/logs/ps-0.log"; }
within 20 stops || fail "SIGTERM stops nothing"
launch after again
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
ps 0 hand-next --out "$work/hand"
says hand-next "is about to leave .*/hand; waiting for that"
kill -CONT "${pids[hand-worker]}"
ends hand-ps 143
ends hand-worker 143
worker 0 hand-again --workers 1 "${endless[@]}"
within 20 said hand-next "resuming from the checkpoint" || fail "the next server 0 does not go on"
ps 0 hand-third --out "$work/hand"
ends hand-third 5
says hand-third "another run is using .*/hand"
kill -TERM "${pids[hand-next]}"
ends hand-next 143
ends hand-again 143
ok "a server 0 started by hand waits for the one before, when that is stopping"

for _ in 1 2 3 4 5; do
    rm -rf "$work/early"
    launch early early
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
