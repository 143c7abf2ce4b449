#!/usr/bin/env bash
# allreduce.sh - workers that make the updates themselves: the bits of one process whatever the workers,
# servers and transports, with ragged steps, every rule that has slots, whoever is killed, joins, leaves
# or goes on elsewhere; replicas are compared, and one that is another is named.
# promises: allreduce
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# 16 leaves a step, and 7 in the last of an epoch: with seven workers none is without one. Chunks go to all servers.
job=(--data synthetic:1050 --global-batch 64 --micro-batch 4 --seed 5 --chunk-bytes 4K
    --model "conv 4x3 relu, pool 4, flatten, dense 32 relu, dense 10")
bits_of() { member "$1" parameters_sha256; }
# equals NAME WHAT - the bits of $work/alone-WHAT.
equals()
{
    if [ "$(bits_of "$work/$1")" != "$(bits_of "$work/alone-$2")" ]; then fail "$1: other bits than without servers"; fi
}
# trains NAME ARGUMENT... - a run in $work/NAME to its end.
trains() { run "$1" 0 syncopate run "${job[@]}" --mode allreduce --out "$work/$1" "${@:2}"; }

if short_run; then
    rules=(sgd momentum nesterov adagrad rmsprop adam adamw)
    for rule in "${rules[@]}"; do
        trains "alone-$rule" --epochs 2 --optimizer "$rule" --ps 0
    done
    run sync 0 syncopate run "${job[@]}" --epochs 2 --mode sync --workers 2 --out "$work/sync"
    equals sync adam
    for workers in 1 2 3 4 5 6 7; do
        transport=$([ $((workers % 2)) = 0 ] && echo tcp || echo auto)
        rule=${rules[workers - 1]}
        trains "of-$workers" --epochs 2 --optimizer "$rule" --workers "$workers" --ps $((workers % 3 + 1)) \
            --transport "$transport" --verify-every 5
        equals "of-$workers" "$rule"
    done
    ok "one to seven workers, over TCP and shared memory, every rule: the bits of one process, and of sync"

    run keys 0 syncopate keygen "$work/keys" --workers 2
    trains keyed --epochs 2 --workers 2 --ps 2 --keys "$work/keys"
    equals keyed adam
    run again 0 syncopate replay "$work/keyed"
    says again "^parameters_sha256 $(bits_of "$work/keyed"): as recorded$"
    ok "with keys too; and its replay is training in one process"

    run wrong 2 syncopate run --mode sync --verify-every 5 --out "$work/wrong"
    says wrong "verify-every"
    one_line wrong
    run wrong-rate 2 syncopate run --mode allreduce --staleness-rate inverse --out "$work/wrong"
    one_line wrong-rate
    ok "what belongs to other modes is refused in a line"
fi

# --- killed, joined, left -------------------------------------------------------------------------
# By hand, so that everybody has an address and a name. Leaves of 2 ms: long against an exchange.
hand=(--mode allreduce "${job[@]}" --epochs 12 --compute constant:2ms --checkpoint-every 40)
worker()
{
    start "$1" syncopate-worker --ps-hosts "$hosts" --workers 3 --task-index "$2" "${hand[@]}" \
        --verify-every 3 --steps 1000000 "${@:3}"
}
# Who is killed is known by who comes in its place: nobody else is to count as lost because it was kept waiting.
server() { start "$1" syncopate-ps --ps-hosts "$hosts" --task-index "$2" --out "$work/hand" --worker-timeout 60; }
step_is() { [ "$(sed -nE 's/.*"event": ?"progress".*"step": ?([0-9]+).*/\1/p' "$work/hand/events.jsonl" 2>/dev/null | tail -n 1)0" -ge "${1}0" ]; }

if short_run; then
    hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
    server ps0 0
    server ps1 1
    for i in 0 1 2; do worker "w$i" "$i"; done
    within 30 step_is 15 || fail "it does not begin"
    worker w3 3 --on-term leave # Beyond those declared.
    murder w1
    worker w1-again 1
    within 30 step_is 45 || fail "it does not go on without a worker"
    murder ps1
    server ps1-again 1
    within 60 step_is 90 || fail "it does not go on without a server"
    kill "${pids[w3]}"
    ends w3 143 10
    kill "${pids[ps0]}" # All that befalls it takes as long as this script is kept waiting: no end is far enough.
    for i in w0 w1-again w2 ps0 ps1-again; do ends "$i" 143; done
    trains alone-hand --steps "$(member "$work/hand" step)" --ps 0
    equals hand hand
    if [ "$(member "$work/hand" generation)" != 1 ]; then fail "nobody went back"; fi
    if [ "$(member "$work/hand" workers_lost)" != 1 ]; then fail "not one worker was lost"; fi
    ok "a worker is killed and comes again, one joins, a server is killed: the same bits"

    start going syncopate run "${hand[@]}" --compute constant:50ms --workers 3 --ps 2 --out "$work/going"
    within 30 grep -qs '"event": *"progress"' "$work/going/events.jsonl" || fail "it makes no progress"
    kill -INT "${pids[going]}"
    ends going 130
    run went 0 syncopate run "${hand[@]}" --compute constant:100us --workers 5 --ps 1 --out "$work/going"
    trains alone-going --epochs 12 --ps 0
    equals going going
    ok "stopped, and gone on with other workers and servers: the same bits"
fi

# --- a replica that is another ----------------------------------------------------------------------
if short_run; then
    mkdir "$work/programs"
    ln -s "$build/syncopate-ps" "$work/programs/syncopate-ps"
    ln -s "$build/tests/processes/counting_worker" "$work/programs/syncopate-worker"
    counting=(--mode allreduce --workers 3 --ps 2 --steps 60 --global-batch 4 --micro-batch 1 --optimizer sgd
        --learning-rate 1 --chunk-bytes 4K --model "flatten, dense 10" --data synthetic:64)
    export SYNCOPATE_BIN_DIR=$work/programs
    run fine 0 syncopate run "${counting[@]}" --verify-every 10 --out "$work/fine"
    export COUNTING_ASTRAY=1:17
    run astray 1 syncopate run "${counting[@]}" --verify-every 10 --out "$work/astray"
    says astray "worker/1 has another model than the servers at step 20, in chunk [0-9]+: counting"
    run cut 1 syncopate run "${counting[@]}" --checkpoint-every 25 --out "$work/cut"
    says cut "worker/1 has another model than the servers at step 25, in chunk"
    run late 1 syncopate run "${counting[@]}" --checkpoint-every 0 --out "$work/late"
    says late "worker/1 has another model than the servers at step 59, in chunk"
    ok "a replica that differs is found by --verify-every, and worker, step and variables are named"
    ok "it is found at checkpoints and by the last step, too"
fi
