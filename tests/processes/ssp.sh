#!/usr/bin/env bash
# ssp.sh - real runs with a bound: the fast wait for the slow, say for whom, and for nobody who is gone;
# every batch counts once; a stopped run goes on under the bound that it began with.
# promises: server-lost ssp
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

base=(--data synthetic:2000 --chunk-bytes 1K --worker-batch 20 --micro-batch 8 --checkpoint-every 0
    --model "conv 4x3 relu, pool 4, flatten, dense 10" --verbose)
# Times that are the workers' own, long against an exchange: who waits for whom is not the processor's doing.
uneven=(--compute constant:5ms --slow 2:10)

# all_applied OUT STEPS NAME - as many verdicts as steps times chunks.
all_applied()
{
    local chunks applied
    chunks=$(sed -nE 's/.* plan chunks=[0-9]+ of=([0-9]+) .*/\1/p' "$work/$3.log" | head -n 1)
    applied=$(member "$1" applied)
    if [ "$applied" != $(($2 * ${chunks:-0})) ] || [ "$applied" = 0 ]; then
        fail "$3: $applied applied of $2 steps x ${chunks:-no} chunks"
    fi
}

# of_worker OUT FIELD INDEX - a number of worker_details.
of_worker()
{
    grep -oE "^      \"$2\": [0-9.e-]+" "$1/run.json" | sed -n "$(($3 + 1))s/.*: //p"
}
# waited OUT - milliseconds for which the bound held up worker 0 and 1: not what a busy machine does to them.
waited()
{
    sed -nE 's/^      "waits": .*"bound": ([0-9.e-]+),.*/\1/p' "$1/run.json" | head -n 2 |
        awk '{ sum += $1 } END { if (NR == 2) printf "%d\n", 1000 * sum }'
}

# trains NAME MODE ARGUMENT... - three workers, the last of them slow.
trains()
{
    local name=$1 mode=$2
    shift 2
    run "$name" 0 syncopate run "${base[@]}" --mode "$mode" --steps 60 --out "$work/$name" \
        --workers 3 --ps 2 "${uneven[@]}" "$@"
    if [ "$(member "$work/$name" step)" != 60 ]; then fail "$name did not make its steps"; fi
    if [ "$(member "$work/$name" mode)" != "$mode" ]; then fail "$name is not called $mode"; fi
    all_applied "$work/$name" 60 "$name"
}

# no_more_ahead NAME S - by what the run says of itself, and by what its record says of every computation.
# (Not by how many batches each has made: who asks late has not been waited for.)
no_more_ahead()
{
    local apart
    apart=$(member "$work/$1" batches_apart_max)
    if [ "$apart" -gt "$2" ]; then fail "$1: workers were $apart batches apart"; fi
    run "$1-replay" 0 syncopate replay "$work/$1"
    says "$1-replay" "^ssp:$2: 60 computations began from what was promised"
}

if short_run; then
    trains two ssp:2
    trains inf ssp:inf
    no_more_ahead two 2
    if [ "$(member "$work/two" batches_apart_max)" != 2 ]; then fail "the bound was never reached"; fi
    two=$(waited "$work/two") inf=$(waited "$work/inf")
    if [ "$two" -le $((3 * inf + 50)) ]; then
        fail "who is fast waited $two ms with ssp:2, and $inf ms with ssp:inf"
    fi
    if [ "$(of_worker "$work/two" updates 2)" -le "$(of_worker "$work/inf" updates 2)" ]; then
        fail "the slow one does no more with a bound"
    fi
    ok "with ssp:2 the fast wait $two ms for the slow, with ssp:inf $inf ms"
    grep -q '^ssp:2, 2 servers, 3 workers: done' "$work/two.log" || fail "the summary has no mode"
    run json 0 syncopate inspect --json "$work/two"
    said json '"mode": "ssp:2"' || fail "inspect --json says no bound"
    grep -qE 'update +20 examples of one worker' "$work/two.log" || fail "another worker batch"
    if [ "$(member "$work/two" batch)" != 20 ]; then fail "--worker-batch has not reached the job"; fi
    ok "run, summary, run.json and inspect say ssp:2, and --worker-batch holds"
fi

if long_run; then
    trains zero ssp:0 --use-locking --transport tcp
    no_more_ahead zero 0
    grep -q '"use_locking": true' "$work/zero/run.json" || fail "--use-locking has not reached the job"
    trains one ssp:1 --transport shm --checkpoint-every 7
    no_more_ahead one 1
    run alone 0 syncopate run "${base[@]}" --mode ssp:3 --steps 20 --ps 0 --out "$work/alone"
    if [ "$(member "$work/alone" mode)" != ssp:3 ]; then fail "alone it is not ssp:3"; fi
    ok "over tcp with locking, over shm with checkpoints, and without servers"
fi

# --- stopped, and on again -------------------------------------------------------------------------
if short_run; then
    trains_now() { grep -qs '"event": "progress"' "$work/stopped/events.jsonl"; } # Some are made.
    start first syncopate run "${base[@]}" --mode ssp:3 --steps 400 --out "$work/stopped" \
        --workers 3 --ps 2 "${uneven[@]}"
    within 30 trains_now || fail "the run makes no progress"
    sleep 0.3 # So that, most often, somebody waits.
    kill -INT "${pids[first]}"
    ends first 130
    reached=$(member "$work/stopped" step)
    if [ "$reached" -ge 400 ]; then fail "stopped at step $reached"; fi
    all_applied "$work/stopped" "$reached" first
    run other 3 syncopate run "${base[@]}" --mode ssp:2 --steps 400 --out "$work/stopped" --workers 3
    said other "staleness bound: 2 in this job, 3 in the earlier one" || fail "another bound goes on"
    run none 3 syncopate run "${base[@]}" --mode ssp:inf --steps 400 --out "$work/stopped" --workers 3
    said none "staleness bound: inf in this job, 3 in the earlier one" || fail "inf is not named"
    run second 0 syncopate run "${base[@]}" --mode ssp:3 --steps 400 --out "$work/stopped" \
        --workers 2 --ps 3
    all_applied "$work/stopped" $((400 - reached)) second
    ok "stopped at step $reached it goes on to 400 with the same bound, and with no other"
fi

# --- by hand ---------------------------------------------------------------------------------------
# worker INDEX ARGUMENT... - of a job of three; a batch of the third takes some seconds.
worker()
{
    local index=$1
    shift
    start "w$index" syncopate-worker --ps-hosts "$address" --workers 3 --task-index "$index" \
        --data synthetic:2000 --mode ssp:1 --model cnn --steps 150 --checkpoint-every 0 "$@"
}
inspected() { "$build/syncopate" inspect "$address" >"$work/inspected.log" 2>&1 && said inspected "$1"; }

if short_run && ! sanitized; then
    address=127.0.0.1:$(free_port)
    start ps0 syncopate-ps --ps-hosts "$address" --out "$work/hand" --checkpoint-every 0
    for i in 0 1; do worker "$i"; done
    worker 2 --slow 2:1000
    within 10 inspected "^worker/0 and 1 more wait for worker/2 \(on .*\), the slowest, in ssp:1$" ||
        fail "inspect does not say who waits for whom"
    said inspected "^mode: ssp:1$" || fail "inspect says no bound"
    worker 3 # Beyond the three that were declared: it starts at the slowest, and waits as they do.
    within 10 inspected "^worker/0 and 2 more wait for worker/2 " || fail "the late one does not wait"
    run stranger 3 syncopate-worker --ps-hosts "$address" --workers 3 --task-index 4 \
        --data synthetic:2000 --mode ssp:2 --model cnn --steps 150 --checkpoint-every 0
    said stranger "error: staleness bound: 1 in the running job, 2 in worker/4" ||
        fail "another bound joins"
    says w0 "waiting [0-9]+ s, ps/0 says: waiting for worker/2 \(on .*\), the slowest, in ssp:1" 15
    murder w2
    for i in 0 1 3; do ends "w$i" 0 30; done
    ends ps0 0
    if [ "$(member "$work/hand" step)" != 150 ]; then fail "the others did not do its work"; fi
    if [ "$(member "$work/hand" workers_lost)" != 1 ]; then fail "nobody was lost"; fi
    ok "who waits says for whom, and not for long for one that was killed"
fi

if long_run; then # A server that is killed takes all back to the newest checkpoint.
    hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
    for i in 0 1; do
        start "ps$i" syncopate-ps --ps-hosts "$hosts" --task-index "$i" --out "$work/back"
    done
    address=$hosts
    for i in 0 1; do worker "$i" --checkpoint-every 20; done
    worker 2 --checkpoint-every 20 --slow 2:30
    within 60 test -d "$work/back/checkpoints/step-000000000040" || fail "no checkpoint at step 40"
    murder ps1
    start again syncopate-ps --ps-hosts "$hosts" --task-index 1 --out "$work/back"
    for i in w0 w1 w2 ps0 again; do ends "$i" 0 60; done
    if [ "$(member "$work/back" step)" != 150 ]; then fail "it did not go on to the end"; fi
    if [ "$(member "$work/back" generation)" != 1 ]; then fail "nobody went back"; fi
    if [ "$(member "$work/back" batches_apart_max)" -gt 1 ]; then fail "the bound was passed"; fi
    ok "a server that is killed takes all back, clocks too"
fi
nothing_runs
