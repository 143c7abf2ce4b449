#!/usr/bin/env bash
# async.sh - real asynchronous runs: every gradient of every batch is applied to every chunk exactly
# promises: run-json serial server-lost
# once, staleness is reported, and a stopped run goes on.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

base=(--mode async --data synthetic:2000 --chunk-bytes 1K --worker-batch 20 --micro-batch 8
    --model "conv 4x3 relu, pool 4, flatten, dense 10" --verbose)
steps=200 # Two epochs.

# all_applied OUT STEPS NAME - as many verdicts as steps times chunks, and all of one kind.
all_applied()
{
    local chunks applied others duplicate
    chunks=$(sed -nE 's/.* plan chunks=[0-9]+ of=([0-9]+) .*/\1/p' "$work/$3.log" | head -n 1)
    if [ -z "$chunks" ] || [ "$chunks" -lt 2 ]; then fail "$3: ${chunks:-no} chunks"; fi
    applied=$(member "$1" applied)
    duplicate=$(member "$1" duplicate)
    # Where all is slow an answer may be late, and what was not answered is said again.
    if sanitized && [ "$duplicate" -gt 0 ]; then duplicate=0; fi
    others="$(member "$1" stale) $duplicate $(member "$1" rejected)"
    if [ "$applied" != $(($2 * chunks)) ] || [ "$others" != "0 0 0" ]; then
        fail "$3: $applied applied and $others others of $2 steps x $chunks chunks"
    fi
}

# adds_up OUT COUNT NAME - the two sides of what staleness sums up to, and one for every (gradient, chunk).
adds_up()
{
    local sum renewed expected
    sum=$(member "$1" sum) renewed=$(member "$1" renewed) expected=$(member "$1" expected)
    if [ "$(member "$1" count)" != "$2" ]; then
        fail "$3: staleness of $(member "$1" count) gradients, and $2 were applied"
    fi
    if [ $((sum + renewed)) != "$expected" ]; then
        fail "$3: staleness sums up to $sum, and with $renewed renewed it has to be $expected"
    fi
    ok "$3: staleness sums up to what it has to: $sum + $renewed renewed = $expected"
}

# trains NAME WORKERS SERVERS ARGUMENT...
trains()
{
    local name=$1 workers=$2 servers=$3 mean max
    shift 3
    run "$name" 0 syncopate run "${base[@]}" --epochs 2 --out "$work/$name" --workers "$workers" \
        --ps "$servers" "$@"
    if [ "$(member "$work/$name" state)" != "done" ]; then fail "$name is not done"; fi
    if [ "$(member "$work/$name" step)" != "$steps" ]; then fail "$name did not make its steps"; fi
    all_applied "$work/$name" "$steps" "$name"
    mean=$(member "$work/$name" mean) max=$(member "$work/$name" max)
    case $mean in [0-9]*) ;; *) fail "$name: staleness is $mean" ;; esac
    if ! sanitized; then # Of a sanitizer's seconds too many are nobody's: see gate, of controlled time.
        seconds_add_up "$work/$name" "$name"
        adds_up "$work/$name" "$(member "$work/$name" applied)" "$name"
    fi
    ok "async $name: $workers workers, $servers servers: $(member "$work/$name" applied) applied," \
        "staleness mean $mean, max $max"
    if [ "$workers" -gt 1 ] && [ "$max" -lt 1 ]; then fail "$name: nothing was ever stale"; fi
}

# seconds_add_up OUT NAME - what has a name of every worker's seconds is nearly all of them.
seconds_add_up()
{
    local lost
    lost=$(awk '/"wall_seconds"/ { wall = $2 + 0 } /"other_seconds"/ && ($2 + 0 > 0.25 * wall + 0.05 || wall <= 0) {
        print $2 " of " wall }' "$1/run.json")
    if [ -n "$lost" ]; then fail "$2: seconds without a name: $lost"; fi
    if [ "$(grep -c '"wall_seconds"' "$1/run.json")" -lt 1 ]; then fail "$2: no worker has seconds"; fi
}

# part_spread OUT - how far apart the chunks of a variable on one server were in a gradient, at most.
part_spread() { sed -n '/"part_spread"/,/}/s/^ *"max": \([0-9]*\),$/\1/p' "$1/run.json"; }

trains plain 3 2
trains locking 3 2 --use-locking
trains checkpoints 4 1 --checkpoint-every 30
trains slow 2 3 --slow 1:5
if ! sanitized; then trains threads 4 2 --owner-threads 2; fi

# At a checkpoint the fast wait for the slow, and that is said: at the gate, and for whom.
run gate 0 syncopate run "${base[@]}" --steps 60 --checkpoint-every 10 --compute constant:20ms --slow 1:4 \
    --workers 2 --ps 1 \
    --out "$work/gate"
waits=$(sed -nE 's/.*"waits": .*"gate": ([0-9.e-]+),.*/\1/p' "$work/gate/run.json" | head -n 1)
awaited=$(sed -nE 's/.*"awaited_seconds": ([0-9.e-]+),.*/\1/p' "$work/gate/run.json" | tail -n 1)
if ! awk "BEGIN { exit !($waits > 0 && $awaited > 0 && $awaited >= 0.5 * $waits) }"; then
    fail "worker 0 waited $waits s at gates, and worker 1 was awaited for $awaited s"
fi
seconds_add_up "$work/gate" gate
ok "worker 0 waits at checkpoints for the slow worker 1, $waits s, and run.json says so"

# Where two threads own the pieces of one variable, a worker is given pieces of several versions; with
# locking it is one piece, on one server.
for locking in apart together; do
    flag=()
    if [ $locking = together ]; then flag=(--use-locking); fi
    for _ in 1 2 3 4 5; do # It is a matter of luck; of bad luck five times, hardly.
        rm -rf "${work:?}/$locking"
        run $locking 0 syncopate run --mode async --data synthetic:2000 --chunk-bytes 4K --worker-batch 20 \
            --micro-batch 10 --model "flatten, dense 256 relu, dense 10" --epochs 1 --workers 4 --ps 2 \
            --owner-threads 2 --out "$work/$locking" "${flag[@]}"
        if [ $locking = together ] || [ "$(part_spread "$work/apart")" -gt 0 ]; then break; fi
    done
done
if ! [ "$(part_spread "$work/apart")" -gt 0 ]; then
    fail "without locking no variable was given in pieces of several versions"
fi
if [ "$(part_spread "$work/together")" != 0 ]; then
    fail "with locking a variable was given in pieces $(part_spread "$work/together") updates apart"
fi
said apart "within a variable's part on a server mean" || fail "the summary has no spread"
said together "within a variable's part on a server 0 in all" || fail "the summary has no 0"
ok "what locking does shows: parts of variables up to $(part_spread "$work/apart") updates apart without it, 0 with it"

# One worker has nobody to be stale against.
run single 0 syncopate run "${base[@]}" --steps 50 --out "$work/single" --workers 1 --ps 2
all_applied "$work/single" 50 single
adds_up "$work/single" "$(member "$work/single" applied)" single
if [ "$(member "$work/single" max)" != 0 ]; then fail "one worker alone is stale"; fi
ok "one async worker has staleness 0"

# A stop leaves every batch that was given out applied, and the same command goes on from there.
started() { grep -q '"event": "progress"' "$work/stopped/events.jsonl" 2>/dev/null; }
# A batch takes 300 ms of each of three workers: all of them 20 s. It is stopped long before.
start first syncopate run "${base[@]}" --epochs 2 --out "$work/stopped" --workers 3 --ps 2 --compute constant:100ms
within 30 started || fail "the run makes no progress"
kill -TERM "${pids[first]}"
ends first 143
reached=$(member "$work/stopped" step)
if [ "$reached" -lt 1 ] || [ "$reached" -ge "$steps" ]; then fail "stopped at step $reached"; fi
all_applied "$work/stopped" "$reached" first
run second 0 syncopate run "${base[@]}" --epochs 2 --out "$work/stopped" --workers 2 --ps 3
all_applied "$work/stopped" $((steps - reached)) second
if [ "$(member "$work/stopped" step)" != "$steps" ]; then fail "the second session ended early"; fi
ok "an async run stopped at step $reached goes on to step $steps"

# A server that is killed takes the other one back too: of every batch each chunk has one update, and no
# figure counts what was undone. It is stopped when it has gone on.
leaf=20ms
if sanitized; then leaf=40ms; fi
hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
server() { start "$1" syncopate-ps --ps-hosts "$hosts" --task-index "$2" --out "$work/back"; }
told() { sed -nE 's/.*"'"$1"'".* "step": ([0-9]+),.*/\1/p' "$work/back/events.jsonl" 2>/dev/null | tail -n 1; }
beyond() { [ "$(told progress)" -ge "$1" ] 2>/dev/null; }
server ps0 0
server ps1 1
for i in 0 1 2; do
    start "w$i" syncopate-worker --ps-hosts "$hosts" --task-index "$i" --workers 3 "${base[@]}" \
        --steps 1000000 --checkpoint-every 60 --compute "constant:$leaf"
done
within 60 beyond 70 || fail "no update 70"
murder ps1
server again 1
says ps0 "generation 1: going back to step" 60
went=$(told progress)
within 60 beyond $((went + 10)) || fail "it does not go on behind update $went"
kill -TERM "${pids[ps0]}"
for i in w0 w1 w2 ps0 again; do ends "$i" 143 60; done
reached=$(member "$work/back" step)
again=$(member "$work/back" recomputed)
says ps0 "generation 1: going back to step $(told generation): $again batches made again"
if [ "$again" -lt 1 ]; then fail "nothing was undone"; fi
all_applied "$work/back" "$reached" ps0
updates=$(grep -oE '"updates": [0-9]+' "$work/back/run.json" | awk '{ n += $2 } END { print n }')
if [ "$updates" != "$reached" ]; then fail "workers made $updates updates of $reached"; fi
ok "a server that is killed takes the other one back to step $(told generation):" \
    "$again batches made again, and each is counted once"

# Workers with a gradient on its way find a server in the lost one's place that knows nobody yet: they say
# who they are and wait, and nobody is taken for a stranger who pours in more than there is room for.
start returned syncopate run --mode async --data synthetic:2000 --model "flatten, dense 100 relu, dense 10" \
    --steps 1000000 --workers 6 --ps 2 --checkpoint-every 500 --transport tcp --out "$work/returned"
generations() { [ "$(grep -cs '"event": "generation"' "$work/returned/events.jsonl" || true)" -ge "$1" ] 2>/dev/null; }
goes_on() { [ "$(grep -cs '"event": "progress"' "$work/returned/events.jsonl" || true)" -gt "$1" ] 2>/dev/null; }
within 30 goes_on 0 || fail "six workers do not train"
for round in 1 2 3 4; do
    kill -KILL "$(pgrep -P "${pids[returned]}" -f "^[^ ]*syncopate-ps .*--task-index=1 ")"
    within 60 generations "$round" || fail "server 1 does not come back for the ${round}th time"
    before=$(grep -c '"event": "progress"' "$work/returned/events.jsonl")
    within 60 goes_on $((before + 1)) || fail "nothing goes on after server 1 has come back"
done
kill -INT "${pids[returned]}"
ends returned 130 60
if grep -h "held back" "$work/returned/logs/"*; then fail "a server that came back took its workers for strangers"; fi
ok "a server that comes back again and again holds back none of its six workers"
nothing_runs
