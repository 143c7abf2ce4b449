#!/usr/bin/env bash
# rules.sh - what is done to a sum before it is applied (--loss-scale) has the same bits whoever applies:
# in sync those of --ps 0, in async with one worker too, and whatever others did, those of its replay.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

if [ "$mode" = tsan ]; then
    skip "rules under ThreadSanitizer: the same threads as everywhere"
    exit 0
fi

# Epochs of 32 batches, the last of 14 examples; a network of kernels and biases, in chunks across both.
job=(--data synthetic:2000 --model "flatten, dense 12 relu, dense 10" --epochs 2)
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
        if sanitized && [ "$how" != "3 2 4K" ]; then continue; fi
        read -r workers servers chunk <<<"$how"
        trained "$what-$workers" --global-batch $batch --ps "$servers" --workers "$workers" --chunk-bytes "$chunk" "$@"
        if [ "$bits" != "$expected" ]; then fail "$what: $workers workers, $servers servers: other bits than alone"; fi
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
as_recorded scaled --loss-scale global-batch
# 2,000 is 40 times 50: every batch is full.
batch=50
trained full --global-batch $batch --ps 0 --workers 1
full=$bits
trained full-scaled --global-batch $batch --ps 0 --workers 1 --loss-scale global-batch
if [ "$bits" != "$full" ]; then fail "where every batch is full the divisor is another"; fi
ok "--loss-scale global-batch: the same bits in sync as alone, in async as replayed, and without ragged batches as without"

# The loss that is told is the mean over examples all the same: it is that of the first epoch's batches.
batch=64
for how in examples global-batch; do
    trained "loss-$how" --global-batch 2000 --epochs 1 --ps 0 --workers 1 --loss-scale $how
done
if [ "$(member "$work/loss-examples" train_loss)" != "$(member "$work/loss-global-batch" train_loss)" ]; then
    fail "the loss that is told is divided, too"
fi
run joins 3 syncopate run "${job[@]}" --global-batch 64 --ps 0 --workers 1 --epochs 3 --out "$work/scaled-alone"
one_line joins
said joins 'loss scale: ' || fail "it does not say that the loss scale is another"
ok "the loss that is told stays the mean over examples; a run goes on with its own divisor only"
nothing_runs
