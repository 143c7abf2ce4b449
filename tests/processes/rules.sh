#!/usr/bin/env bash
# rules.sh - what is done to a sum before it is applied (--loss-scale, --l2) has the same bits whoever applies:
# in sync those of --ps 0, in async with one worker too, and whatever others did, those of its replay.
# promises: loss-scale
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# Epochs of 16 batches, the last of 40 examples; a network of kernels and biases, in chunks across both.
job=(--data synthetic:1000 --model "flatten, dense 12 relu, dense 10" --epochs 2)
batch=64
bits_of() { member "$1" parameters_sha256; }

# trained NAME ARGUMENT... - its bits, in $bits.
trained()
{
    local name=$1
    shift
    run "$name" 0 syncopate run "${job[@]}" "$@" --out "$work/$name"
    bits=$(bits_of "$work/$name")
}
# replayed NAME - its replay has its bits.
replayed()
{
    run "replay-$1" 0 syncopate replay "$work/$1"
    said "replay-$1" ': as recorded$' || fail "$1: its replay has other bits"
}

# as_alone WHAT ARGUMENT... - in sync, whoever applies and however chunks lie.
as_alone()
{
    local what=$1 how workers servers chunk expected
    shift
    trained "$what-alone" --global-batch $batch --ps 0 --workers 1 "$@"
    expected=$bits
    for how in "1 1 0" "2 3 256" "3 2 4K" "4 1 1K" "5 2 64" "7 3 0"; do
        if { sanitized || ! long_run; } && [ "$how" != "3 2 4K" ]; then continue; fi
        read -r workers servers chunk <<<"$how"
        trained "$what-$workers" --global-batch $batch --ps "$servers" --workers "$workers" --chunk-bytes "$chunk" "$@"
        if [ "$bits" != "$expected" ]; then fail "$what: $workers workers, $servers servers: other bits than alone"; fi
    done
}
# The same where every worker applies: the bits of $1-alone.
as_replicas()
{
    local what=$1 how workers servers chunk
    shift
    for how in "1 1 0" "3 2 256" "4 1 4K"; do
        read -r workers servers chunk <<<"$how"
        trained "$what-replicas-$workers" --mode allreduce --global-batch $batch --ps "$servers" --workers "$workers" \
            --chunk-bytes "$chunk" "$@"
        if [ "$bits" != "$(bits_of "$work/$what-alone")" ]; then fail "$what: $workers replicas: other bits than alone"; fi
    done
}
# as_recorded WHAT ARGUMENT... - async with one worker as serial; with several, and in the modes beside it,
# as replayed.
as_recorded()
{
    local what=$1 expected
    shift
    trained "$what-serial" --mode async --worker-batch $batch --ps 0 --workers 1 "$@"
    expected=$bits
    trained "$what-one" --mode async --worker-batch $batch --ps 2 --workers 1 "$@"
    if [ "$bits" != "$expected" ]; then fail "$what: one worker in async has other bits than no servers"; fi
    trained "$what-async" --mode async --worker-batch $batch --ps 2 --workers 3 "$@"
    replayed "$what-async"
    trained "$what-ssp" --mode ssp:1 --worker-batch $batch --ps 2 --workers 3 --use-locking "$@"
    replayed "$what-ssp"
    trained "$what-sums" --mode async --worker-batch $batch --ps 2 --workers 3 --accumulate 3 "$@"
    replayed "$what-sums"
    trained "$what-moved" --mode async --worker-batch $batch --ps 1 --workers 3 --optimizer sgd \
        --delay-compensation adaptive:1 --staleness-rate inverse "$@"
    replayed "$what-moved"
}

# --- the divisor ------------------------------------------------------------------------------------
trained plain --global-batch $batch --ps 0 --workers 1
plain=$bits
trained said --global-batch $batch --ps 0 --workers 1 --loss-scale examples
if [ "$bits" != "$plain" ]; then fail "--loss-scale examples is not the default"; fi
as_alone scaled --loss-scale global-batch
if [ "$(bits_of "$work/scaled-alone")" = "$plain" ]; then fail "a ragged batch is divided as without"; fi
both=(--l2 0.003 --loss-scale global-batch --optimizer adamw)
if ! short_run; then # What make check leaves out is among more workers and servers.
    as_alone regularised --l2 0.01
    as_alone both "${both[@]}"
    as_replicas both "${both[@]}"
    nothing_runs
    ok "--loss-scale and --l2: the same bits for one to seven workers, one to three servers, chunks of 64 bytes to all in one"
    exit
fi
as_replicas scaled --loss-scale global-batch
as_recorded scaled --loss-scale global-batch
# 1,000 is 20 times 50: every batch is full.
batch=50
trained full --global-batch $batch --ps 0 --workers 1
full=$bits
trained full-scaled --global-batch $batch --ps 0 --workers 1 --loss-scale global-batch
if [ "$bits" != "$full" ]; then fail "where every batch is full the divisor is another"; fi
ok "--loss-scale global-batch: the same bits in sync and all-reduce as alone, in async as replayed, and without ragged batches as without"

# The loss that is told is the mean over examples all the same: it is that of the first epoch's batches.
batch=64
for how in examples global-batch; do
    trained "loss-$how" --global-batch 1000 --epochs 1 --ps 0 --workers 1 --loss-scale $how
done
if [ "$(member "$work/loss-examples" train_loss)" != "$(member "$work/loss-global-batch" train_loss)" ]; then
    fail "the loss that is told is divided, too"
fi
run joins 3 syncopate run "${job[@]}" --global-batch 64 --ps 0 --workers 1 --epochs 3 --out "$work/scaled-alone"
one_line joins
said joins 'loss scale: ' || fail "it does not say that the loss scale is another"
ok "the loss that is told stays the mean over examples; a run goes on with its own divisor only"

# --- l2 ---------------------------------------------------------------------------------------------
as_alone regularised --l2 0.01
if [ "$(bits_of "$work/regularised-alone")" = "$plain" ]; then fail "--l2 changes no bit"; fi
as_replicas regularised --l2 0.01
as_recorded regularised --l2 0.01
as_alone both "${both[@]}"
if long_run; then as_replicas both "${both[@]}"; fi
trained none --global-batch $batch --ps 0 --workers 1 --l2 0
if [ "$bits" != "$plain" ]; then fail "--l2 0 is not the default"; fi
ok "--l2: the same bits in sync and all-reduce as alone, in async as replayed"

# A replay with it is the paired experiment; of a sync run that is the run that has it.
straight=plain_servers
trained "$straight" --global-batch $batch --ps 2 --workers 3
run paired 0 syncopate replay "$work/$straight" --l2 0.01 --out "$work/paired"
said paired ': l2: 0 in the run, 0.01 in the replay$' || fail "it does not say what is changed"
if [ "$(bits_of "$work/paired")" != "$(bits_of "$work/regularised-alone")" ]; then fail "a replay with --l2 has other bits"; fi
run paired-scale 0 syncopate replay "$work/$straight" --loss-scale global-batch --out "$work/paired-scale"
if [ "$(bits_of "$work/paired-scale")" != "$(bits_of "$work/scaled-alone")" ]; then
    fail "a replay with --loss-scale has other bits"
fi
ok "a replay of a sync run with --l2 or --loss-scale is the run with it"

# It is told beside the loss, with the same digits whoever tells it: of the model that is scored.
expected=$(member "$work/regularised-alone" regularisation_loss)
if [ -z "$expected" ] || [ "$expected" = null ]; then fail "run.json has no regularisation_loss"; fi
if [ "$(member "$work/regularised-3" regularisation_loss)" != "$expected" ]; then
    fail "with servers the regularisation loss is $(member "$work/regularised-3" regularisation_loss), not $expected"
fi
grep -q "\"event\": \"evaluation\".*\"regularisation_loss\": $expected," "$work/regularised-3/events.jsonl" ||
    fail "no event has it"
for run in regularised-alone regularised-3 regularised-async; do
    run evaluated 0 syncopate evaluate --json "$work/$run"
    if [ "$(sed -nE 's/^ *"regularisation_loss": ([^,]*),?$/\1/p' "$work/evaluated.log")" != "$(member "$work/$run" regularisation_loss)" ]; then
        fail "evaluate says another regularisation loss of $run"
    fi
done
said regularised-3 '^  test accuracy .*, regularisation loss [0-9.]+ \(of this model\)$' || fail "the summary does not say it"
if [ "$(member "$work/none" regularisation_loss)" != null ]; then fail "a run without --l2 has a regularisation loss"; fi
ok "the regularisation loss is told beside the loss, by run.json, events, the summary and evaluate alike"

# Killed on the way: a server, and everybody goes back; the slots and values that l2 is added to are of the cut.
start struck syncopate run "${job[@]}" --global-batch $batch --ps 2 --workers 3 --l2 0.01 --checkpoint-every 10 \
    --compute constant:60ms --out "$work/struck" # Seconds are left behind the first checkpoint.
within 30 grep -qs '"event": "checkpoint"' "$work/struck/events.jsonl" || fail "no checkpoint"
for pid in $(survivors); do
    words=" $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null || true)"
    if [[ $words == *" --job-name=ps "* && $words == *" --task-index=1 "* ]]; then kill -KILL "$pid"; fi
done
ends struck 0 60
if [ "$(member "$work/struck" servers_lost)" != 1 ]; then fail "no server was lost"; fi
if [ "$(bits_of "$work/struck")" != "$(bits_of "$work/regularised-alone")" ]; then fail "other bits after a kill"; fi
ok "a server killed: the same bits with --l2"
nothing_runs
