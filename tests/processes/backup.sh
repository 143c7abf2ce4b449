#!/usr/bin/env bash
# backup.sh - steps that do not wait for their latest workers: what was dropped is counted, the bits are
# those of the recorded sets, whoever is killed, and nobody who is late starves or holds up the end.
# promises: backup
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

base=(--mode sync --data synthetic:2000 --micro-batch 8 --chunk-bytes 1K
    --model "conv 4x3 relu, pool 4, flatten, dense 10" --verbose)
late=(--compute "lognormal:5ms,0.5" --slow 3:6) # The last of four workers is mostly late.

# again NAME - one process makes the steps of the leaves that were recorded, with the bits of the run.
again()
{
    run "$1-again" 0 syncopate replay "$work/$1"
    says "$1-again" "^parameters_sha256 $(member "$work/$1" parameters_sha256): as recorded$"
}
# dropped NAME MOST - some examples were, and no more than so many.
dropped()
{
    local count
    count=$(member "$work/$1" examples_dropped)
    if [ "${count:-0}" -eq 0 ] || [ "$count" -gt "$2" ]; then fail "$1: ${count:-no} examples were dropped"; fi
}
# batches NAME WORKER - how many steps there is something of this worker in.
batches() { grep -oE '^      "updates": [0-9]+' "$work/$1/run.json" | sed -n "$(($2 + 1))s/.*: //p"; }
# kill_one RUN PROGRAM INDEX - one of the processes that the run in the background has started.
kill_one()
{
    local id
    id=$(pgrep -P "${pids[$1]}" -f "^[^ ]*$2 .*--task-index=$3 ")
    if [ -z "$id" ]; then fail "there is no $2 $3"; fi
    kill -KILL "$id"
}
# at_step NAME STEP - it has come so far.
has_come() { [ -f "$work/$1/events.jsonl" ] && [ "$(grep -c '"event": *"progress"' "$work/$1/events.jsonl")" -ge "$2" ]; }
at() { within 60 has_come "$1" "$2" || fail "$1 gets nowhere"; }

if short_run; then
    # No step of fewer leaves than workers, which would wait for the slow one, too. Its first step it may be in
    # by luck; in five it is only if it is there again after it was late.
    for wire in tcp shm; do
        run $wire 0 syncopate run "${base[@]/synthetic:2000/synthetic:2048}" --compute "lognormal:5ms,0.5" --slow 3:1.5 \
            --backup-workers 1 --workers 4 --ps $((1 + ${#wire} % 2)) --transport $wire --steps 80 --out "$work/$wire"
        if [ "$(member "$work/$wire" mode)" != sync+backup:1 ]; then fail "$wire is not called sync+backup:1"; fi
        dropped $wire $((80 * 16))
        if [ "$(batches $wire 3)" -lt 5 ]; then
            fail "$wire: the slow worker was in time for $(batches $wire 3) of 80 steps: it is not there again after it was late"
        fi
        again $wire
    done
    ok "over TCP and in shared memory: examples dropped, and the bits of the recorded sets"

    # Divided by all 64 examples of a step, whatever was dropped of them: other bits of the same sets.
    run whole 0 syncopate run "${base[@]}" "${late[@]}" --backup-workers 1 --workers 4 --ps 2 --steps 40 \
        --loss-scale global-batch --out "$work/whole"
    dropped whole $((40 * 16))
    again whole
    run other 0 syncopate replay "$work/whole" --loss-scale examples --out "$work/other"
    if [ "$(model_hash "$work/other")" = "$(model_hash "$work/whole")" ]; then
        fail "what was dropped does not count in what a sum is divided by, with --loss-scale global-batch"
    fi
    ok "--loss-scale global-batch divides by the whole batch, dropped examples too"

    run none 0 syncopate run "${base[@]}" --backup-workers 0 --workers 3 --ps 1 --steps 30 --out "$work/none"
    run alone 0 syncopate run "${base[@]}" --ps 0 --steps 30 --out "$work/alone"
    if [ "$(member "$work/none" mode)" != sync ] || [ "$(model_hash "$work/none")" != "$(model_hash "$work/alone")" ]; then
        fail "no backup workers are not sync"
    fi
    ok "with none it is sync, to the bit"

    run few 0 syncopate run "${base[@]}" --backup-workers 1 --workers 4 --ps 1 --steps 3 --micro-batch 32 --out "$work/few"
    says few "with fewer leaves than workers a step waits for all who have one"
    says few "a step has 2 leaves for 4 workers" # Server 0, whoever started it.
    grep -q '"event": *"sparing"' "$work/few/events.jsonl" || fail "no event says that nobody is spared"
    if [ "$(member "$work/few" examples_dropped)" != 0 ]; then fail "a step of two leaves of four workers spares one"; fi
    ok "where nobody can be spared it is said before it begins"

    wrong() { run wrong 2 syncopate run "${base[@]}" --workers 4 --ps 1 --out "$work/wrong" "${@:2}" && says wrong "$1"; }
    wrong "only used with --mode=sync" --mode async --backup-workers 1
    wrong ": 4 of 4 workers cannot be backup workers" --backup-workers 4
    wrong ": 1 of 1 worker cannot be backup workers" --backup-workers 1 --workers 1
    ok "what cannot be is refused before anything starts"

    # START comes with sets while workers compute from values in shared memory.
    for try in 1 2 3; do
        start stopped$try syncopate run "${base[@]}" "${late[@]}" --backup-workers 1 --workers 4 --ps 1 \
            --steps 100000 --out "$work/stopped$try"
        at stopped$try $((10 * try))
        kill -INT "${pids[stopped$try]}"
        ends stopped$try 130
        again stopped$try
    done
    ok "a clean stop ends, though a worker waits for a version that will not be, and is made again"
fi

if long_run; then
    start killed syncopate run "${base[@]}" "${late[@]}" --backup-workers 1 --workers 4 --ps 2 --steps 1200 \
        --checkpoint-every 300 --worker-timeout 1 --out "$work/killed"
    at killed 100
    kill_one killed syncopate-worker 3
    at killed 350
    kill_one killed syncopate-worker 0
    at killed 550
    kill_one killed syncopate-ps 1
    at killed 800
    kill_one killed syncopate-ps 0
    ends killed 0
    again killed
    ok "the late worker, a quick one, a server and server 0 are killed: the bits of the recorded sets"

    run unrecorded 0 syncopate run "${base[@]}" "${late[@]}" --backup-workers 1 --workers 4 --ps 1 --steps 60 \
        --record off --out "$work/unrecorded"
    grep -q "is not recorded" "$work/unrecorded/logs/"* || fail "nobody says that sets are not recorded"
    run unrecorded-again 3 syncopate replay "$work/unrecorded"
    ok "without a record the run says so, and cannot be made again"
fi
