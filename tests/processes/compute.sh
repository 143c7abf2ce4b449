#!/usr/bin/env bash
# compute.sh - controlled time: a leaf takes what is drawn for it and no less, a slow worker its multiple,
# in every mode and alone; no bit of sync training depends on it; where the processor was too slow for
# it, that is said.
# promises: compute trace-times
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

base=(--data synthetic:500 --model softmax --global-batch 32 --micro-batch 8 --checkpoint-every 0)

# of_worker OUT FIELD INDEX - a number of worker_details.
of_worker()
{
    grep -oE "^      \"$2\": [0-9.e-]+" "$1/run.json" | sed -n "$(($3 + 1))s/.*: //p"
}
# at_least WHAT NUMBER LEAST
at_least()
{
    if ! awk -v a="$2" -v b="$3" 'BEGIN { exit !(a >= b) }'; then fail "$1 is $2, less than $3"; fi
}

# --- sync: 10 steps of 4 leaves, 2 a worker -------------------------------------------------------
run plain 0 syncopate run "${base[@]}" --steps 10 --out "$work/plain" --workers 2
run timed 0 syncopate run "${base[@]}" --steps 10 --out "$work/timed" --workers 2 --compute constant:20ms
at_least "seconds of ten steps of two leaves of 20 ms" "$(member "$work/timed" seconds)" 0.4
for i in 0 1; do
    at_least "what worker $i computed" "$(of_worker "$work/timed" compute_seconds "$i")" 0.4
    leaves=$(of_worker "$work/timed" controlled_leaves "$i")
    if [ "$leaves" != 20 ]; then fail "worker $i had $leaves leaves of controlled time"; fi
done
run uneven 0 syncopate run "${base[@]}" --steps 10 --out "$work/uneven" --workers 3 --ps 2 \
    --compute lognormal:3ms,0.5 --straggle 0.2:pareto:4 --slow 2:3
run alone 0 syncopate-worker --ps 0 "${base[@]}" --steps 10 --out "$work/alone" --compute uniform:8ms,12ms
at_least "seconds of 40 leaves of 8 ms and more" "$(member "$work/alone" seconds)" 0.32
for name in timed uneven alone; do
    if [ "$(model_hash "$work/$name")" != "$(model_hash "$work/plain")" ]; then
        fail "$name has other bits than without --compute"
    fi
done
ok "a leaf takes its time in sync training and alone, and no bit depends on it"

# controlled NAME COMPUTE SLOW STRAGGLE - what run.json says was modelled, as JSON has it.
controlled()
{
    sed -n '/^  "controlled_time": {/,/^  }/p' "$work/$1/run.json" >"$work/$1.controlled"
    for member in "\"compute\": $2" "\"slow\": $3" "\"straggle\": $4"; do
        if ! grep -qxF "    $member," "$work/$1.controlled"; then
            fail "$1: controlled_time is not $member but $(tr -d '\n' <"$work/$1.controlled")"
        fi
    done
}
controlled plain null null null
controlled uneven '"lognormal:3ms,0.5"' '"2:3"' '"0.2:pareto:4"'
controlled alone '"uniform:8ms,12ms"' null null
says uneven "^  times +--compute lognormal:3ms,0.5 --slow 2:3 --straggle 0.2:pareto:4$"
run further 0 syncopate run "${base[@]}" --steps 12 --out "$work/uneven" --workers 3 --ps 2 --slow 1:2
controlled uneven null '"1:2"' null
ok "run.json has the options of controlled time as they were given, those of the last session"

# --- async: who takes three times as long makes a third of the batches ----------------------------
# Its 180 leaf times are long against what is not controlled: the exchanges, and one worker beginning later.
leaf_ms=10
if sanitized; then leaf_ms=50; fi
for _ in 1 2 3; do # Either may be kept waiting for a second of the two that it takes; three times, hardly.
    rm -rf "$work/slow"
    run slow 0 syncopate run "${base[@]}" --mode async --steps 60 --out "$work/slow" --workers 2 \
        --compute "constant:${leaf_ms}ms" --slow 1:3
    fast=$(of_worker "$work/slow" updates 0) slow=$(of_worker "$work/slow" updates 1)
    if [ "$fast" -ge $((2 * slow)) ] && [ $((5 * slow)) -ge "$fast" ]; then break; fi
done
at_least "what the fast one made, against $slow of the slow one" "$fast" $((2 * slow))
at_least "what the slow one made, against $fast of the fast one" $((5 * slow)) "$fast"
at_least "what the slow one computed" "$(of_worker "$work/slow" compute_seconds 1)" \
    "$(awk -v n="$slow" -v leaf_ms=$leaf_ms 'BEGIN { print n * 9 * leaf_ms / 1000 }')" # Of 12; some are ragged.
run many 0 syncopate run "${base[@]}" --mode async --steps 60 --out "$work/many" --workers 12 \
    --compute constant:30ms
run crowd 0 syncopate run "${base[@]}" --mode async --steps 60 --out "$work/crowd" --workers 12
if [ "$(nproc)" -lt 12 ] && ! sanitized; then
    says crowd "this is the scheduler's shape"
    if said many "processor-bound"; then skip "staleness' shape of 12 workers: the machine is loaded"
    elif said many "this is the scheduler's shape"; then
        fail "the scheduler is said to decide what --compute does"
    fi
fi
ok "in async a worker that takes three times as long made $slow batches, the other $fast"

# --- by hand, each worker with its own ------------------------------------------------------------
address=127.0.0.1:$(free_port)
start server syncopate-ps --ps-hosts "$address" --out "$work/hand"
start worker-0 syncopate-worker --ps-hosts "$address" --workers 2 --task-index 0 "${base[@]}" \
    --steps 10 --compute constant:10ms
start worker-1 syncopate-worker --ps-hosts "$address" --workers 2 --task-index 1 "${base[@]}" --steps 10
for name in worker-0 worker-1 server; do ends "$name" 0; done
at_least "what worker 0 computed" "$(of_worker "$work/hand" compute_seconds 0)" 0.2
if [ "$(of_worker "$work/hand" controlled_leaves 1)" != 0 ]; then fail "worker 1 has a controlled time"; fi
if [ "$(model_hash "$work/hand")" != "$(model_hash "$work/plain")" ]; then fail "other bits by hand"; fi
ok "a worker's time is its own"

# --- too little time for this processor -----------------------------------------------------------
run bound 0 syncopate run "${base[@]}" --steps 10 --out "$work/bound" --workers 2 --compute constant:1us
says bound "leaf times +100.0 % of leaves took longer to compute than they should: processor-bound"
if [ "$(member "$work/bound" processor_bound)" != true ]; then fail "run.json does not say so"; fi
run compared 0 syncopate compare "${base[@]}" --steps 5 --warm-up 0 --out "$work/compared" --compute constant:1us
for arm in sync async; do
    says compared "^$arm, 2 workers: processor-bound, 100.0 % of leaves took longer than they( should)?$"
done
ok "where the processor is too slow for a time it is said"

# --- ends -----------------------------------------------------------------------------------------
# A computation of an hour is nothing to wait for when the worker leaves, or trains alone and is to stop.
address=127.0.0.1:$(free_port)
start stayer syncopate-ps --ps-hosts "$address" --out "$work/left" --recovery-timeout 1
start leaver syncopate-worker --ps-hosts "$address" --workers 1 "${base[@]}" --steps 10 --on-term leave \
    --compute constant:3600s
says stayer "training starts" 20
sleep 0.5
kill -TERM "${pids[leaver]}"
ends leaver 143 15
ends stayer 195 15
start hermit syncopate-worker --ps 0 "${base[@]}" --steps 10 --out "$work/hermit" --compute constant:3600s
begun() { grep -qs '"event": "start"' "$work/hermit/events.jsonl"; }
within 20 begun || fail "the one alone does not begin"
sleep 0.2
kill -TERM "${pids[hermit]}"
ends hermit 143 15
ok "nobody waits for a time that nobody needs any more"
nothing_runs

# --- pauses: 40 leaves of 1 ms, each batch behind 50 ms ----------------------------------------------
pausing=(--data synthetic:500 --model softmax --mode async --worker-batch 8 --steps 20 --checkpoint-every 0 --workers 1)
run paused 0 syncopate run "${pausing[@]}" --out "$work/paused" --compute constant:1ms --pause 1:constant:50ms
run paused-plain 0 syncopate run "${pausing[@]}" --out "$work/paused-plain" --pause 1:constant:50ms
run paused-virtual 0 syncopate simulate "${pausing[@]}" --out "$work/paused-virtual" --compute constant:1ms --pause 1:constant:50ms
for name in paused paused-plain paused-virtual; do
    at_least "$name: what 20 batches took" "$(of_worker "$work/$name" compute_seconds 0)" 1
    grep -qxF '    "pause": "1:constant:50ms",' "$work/$name/run.json" || fail "$name: controlled_time has no pause"
done
at_least "1.1 s, and the virtual ones" 1.1 "$(of_worker "$work/paused-virtual" compute_seconds 0)"
says paused "^  times +--compute constant:1ms --pause 1:constant:50ms$"
ok "--pause: a worker stands still before a computation, in real and in virtual time"

# --- trace: what leaves took in a real run -------------------------------------------------------------
traced=(--data synthetic:500 --model softmax --mode async --worker-batch 8 --steps 120 --checkpoint-every 0)
# trace NAME MEMBER - of worker 1's times of leaves.
trace() { "$build/tests/processes/json_value" "$work/$1/run.json" worker_details | grep -o '"leaf_times":{[^}]*}' | sed -n 2p; }
run leaves 0 syncopate run "${traced[@]}" --workers 2 --out "$work/leaves"
if ! trace leaves | grep -qE '"count":[1-9][0-9]*,"least_ns":\[[0-9]'; then fail "no times of leaves: $(trace leaves)"; fi
run alone-leaves 0 syncopate-worker --ps 0 "${base[@]}" --steps 10 --out "$work/alone-leaves"
grep -qE '"count": 10,' <(sed -n '/"leaf_times"/,/}/p' "$work/alone-leaves/run.json") ||
    fail "alone: $(sed -n '/"leaf_times"/,/}/p' "$work/alone-leaves/run.json")"
# As if worker 0's had taken 30 to 32 ms and worker 1's 60 to 64 ms.
mkdir "$work/slower"
sed -E '/"least_ns"/c\        "least_ns": [TIMES],' "$work/leaves/run.json" |
    sed -E 's/^( *"counts": ).*/\1[5]/' |
    awk '/TIMES/ { sub(/TIMES/, ++seen == 1 ? "30408704" : "60817408") } { print }' >"$work/slower/run.json"
run drawn 0 syncopate run "${base[@]}" --steps 10 --workers 2 --out "$work/drawn" --compute "trace:$work/slower"
at_least "what worker 0 computed in 20 leaves of 30 ms" "$(of_worker "$work/drawn" compute_seconds 0)" 0.6
at_least "what worker 1 computed in 20 leaves of 60 ms" "$(of_worker "$work/drawn" compute_seconds 1)" 1.2
for name in virtual virtual-too; do
    run $name 0 syncopate simulate "${base[@]}" --steps 10 --workers 2 --out "$work/$name" --compute "trace:$work/slower"
done
for i in 0 1; do
    seconds=$(of_worker "$work/virtual" compute_seconds "$i")
    at_least "what virtual worker $i computed" "$seconds" "$(awk -v i="$i" 'BEGIN { print 0.6 * (i + 1) }')"
    at_least "$(awk -v i="$i" 'BEGIN { print 0.65 * (i + 1) }'), and worker $i's" "$(awk -v i="$i" 'BEGIN { print 0.65 * (i + 1) }')" "$seconds"
done
cmp -s <(sed -E 's/"run_id":"[^"]*"//' "$work/virtual/events.jsonl") <(sed -E 's/"run_id":"[^"]*"//' "$work/virtual-too/events.jsonl") ||
    fail "the same trace, other times"
run from-file 0 syncopate simulate "${base[@]}" --steps 10 --workers 2 --out "$work/from-file" --cluster-file "$work/virtual/cluster.json"
if [ "$(of_worker "$work/from-file" compute_seconds 1)" != "$(of_worker "$work/virtual" compute_seconds 1)" ]; then
    fail "the trace of a cluster file draws other times"
fi
# refused TEXT ARGUMENT...
refused()
{
    run refused 5 "${@:2}" "${base[@]}" --steps 10 --workers 2 --out "$work/refused"
    says refused "$1"
    one_line refused
}
for command in run simulate; do
    refused "--compute: .*/virtual is a run in virtual time" syncopate "$command" --compute "trace:$work/virtual"
    refused "--compute: cannot read .*/nothing/run.json: No such file" syncopate "$command" --compute "trace:$work/nothing"
done
ok "--compute trace:RUN: each worker's leaves take what a real run's took, in real and in virtual time; a run without is refused"
