#!/usr/bin/env bash
# further.sh - a finished run is trained further: with more --epochs (or --steps) in the same --out
# it ends with the very bits of one run of that length, however it is cut and whoever is killed on the
# way; and what cannot be trained further is refused with what could be done.
# test: later
# promises: restore
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# 32 batches an epoch, of which the last has 16 of 32 examples: every epoch is ragged.
plain=(--data synthetic:1008 --global-batch 32 --seed 5 --chunk-bytes 512
    --model "conv 4x3 relu, pool 4, flatten, dense 10")
job=("${plain[@]}" --optimizer adam --warmup-steps 40 --schedule step --decay-steps 24)
epoch=32
out=$work/out

# train NAME ARGUMENT... - in $out, to its end.
train() { run "$1" 0 syncopate run "${job[@]}" --out "$out" "${@:2}"; }
reference() # reference EPOCHS - the hash of a run that was never cut.
{
    if [ ! -e "$work/straight-$1" ]; then
        run "straight-$1" 0 syncopate run "${job[@]}" --epochs "$1" --ps 1 --workers 1 \
            --out "$work/straight-$1"
    fi
    model_hash "$work/straight-$1"
}
# equals EPOCHS WHAT - the bits, and all that run.json says of the whole.
equals()
{
    local field
    if [ "$(model_hash "$out")" != "$(reference "$1")" ]; then fail "$2: other bits"; fi
    for field in state step steps epochs train_loss train_accuracy train_examples test_loss test_accuracy \
        parameters_sha256; do
        if [ "$(member "$out" "$field")" != "$(member "$work/straight-$1" "$field")" ]; then
            fail "$2: $field is $(member "$out" "$field")," \
                "not $(member "$work/straight-$1" "$field")"
        fi
    done
    rm -r "$out"
}
reference 2 >"$work/hash" && reference 4 >"$work/hash"
if [ "$(reference 2)" = "$(reference 4)" ]; then fail "two epochs are as good as four"; fi

# --- by any way -----------------------------------------------------------------------------------
# cut NAME SERVERS-AND-WORKERS... - one epoch more with each.
cut()
{
    local name=$1 epochs=0 pair
    shift
    for pair in "$@"; do
        epochs=$((epochs + 1))
        train "$name-$epochs" --epochs "$epochs" --ps "${pair%:*}" --workers "${pair#*:}"
        if [ "$epochs" -gt 1 ]; then says "$name-$epochs" "going on after batch $(((epochs - 1) * epoch))"; fi
        if [ "$(member "$out" state)" != "done" ]; then fail "$name: not done after $epochs epochs"; fi
    done
    run "$name-look" 0 syncopate inspect "$out"
    if [ "$(grep -c '^  evaluation' "$work/$name-look.log")" -ne "$epochs" ]; then
        fail "$name: not one evaluation an epoch"
    fi
    equals "$epochs" "$name"
}
if short_run; then
    cut servers 2:3 1:2 3:1 1:4
    cut alone 0:1 0:1
    cut mixed 2:2 0:1 2:1 0:1
    ok "a run cut into epochs ends with the bits of one, with any servers and workers or none"

    train ragged-1 --steps 45 --ps 2 --workers 2 # In the middle of an epoch.
    train ragged-2 --steps 50 --ps 0 --workers 1
    train ragged-3 --epochs 2 --ps 1 --workers 3
    equals 2 ragged # What the second epoch scored is of all three parts.
    ok "a run that ended in the middle of an epoch goes on there, and scores the epoch whole"
fi

# by_hand NAME EPOCHS - two servers and two workers that know each other by --ps-hosts.
by_hand()
{
    local hosts name
    hosts="127.0.0.1:$(free_port),127.0.0.1:$(free_port)"
    for name in 0 1; do
        start "$1-ps$name" syncopate-ps --task-index "$name" --ps-hosts "$hosts" --out "$out"
        start "$1-worker$name" syncopate-worker --task-index "$name" --ps-hosts "$hosts" --workers 2 \
            "${job[@]}" --epochs "$2"
    done
    for name in ps0 ps1 worker0 worker1; do ends "$1-$name" 0 60; done
}
if short_run; then
    by_hand first 2
    by_hand further 4
    says further-ps0 "resuming from the checkpoint at step $((2 * epoch))"
    equals 4 "by hand"
    ok "so does one whose processes are started by hand"
fi

# --- killed on the way ----------------------------------------------------------------------------
# The launcher, and with it all, at any moment of the second part; then the same command again.
reached() { [ "$(member "$out" state)" = running ] 2>/dev/null; }
killed()
{
    local name=$1
    train "$name-1" --epochs 2 --ps 2 --workers 2
    start "$name-2" syncopate run "${job[@]}" --epochs 4 --ps 2 --workers 2 --compute "constant:$leaf" --out "$out"
    within 20 reached || fail "$name: the second part does not begin"
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    murder "$name-2"
    within 10 gone "$name-2" || fail "$name: the launcher does not die"
    train "$name-3" --epochs 4 --ps 1 --workers 2
    equals 4 "$name"
}
leaf=100ms # 64 steps: much longer than it takes to be killed.
kills=2
if long_run; then kills=12; fi
for ((i = 1; i <= kills; i++)); do killed "killed$i"; done
nothing_runs
ok "killed $kills times in the middle of the second part, the same command goes on from there"

# --- async ----------------------------------------------------------------------------------------
# Whole numbers that tell of every batch whether it was applied once: see counting_worker.c.
counted() # counted NAME STEPS WORKERS SERVERS
{
    local hosts index name=$1
    hosts=$(for ((index = 0; index < $4; index++)); do echo "127.0.0.1:$(free_port)"; done | paste -sd,)
    for ((index = 0; index < $4; index++)); do
        start "$name-ps$index" syncopate-ps --task-index "$index" --ps-hosts "$hosts" --out "$out"
    done
    for ((index = 0; index < $3; index++)); do
        start "$name-worker$index" tests/processes/counting_worker --task-index "$index" --mode async \
            --ps-hosts "$hosts" --workers "$3" --optimizer sgd --learning-rate 1 --global-batch 16 \
            --micro-batch 4 --chunk-bytes 256 --steps "$2"
    done
    for ((index = 0; index < $3; index++)); do ends "$name-worker$index" 0 60; done
    for ((index = 0; index < $4; index++)); do ends "$name-ps$index" 0 60; done
    "$build/tests/processes/counting_check" "$out" "$2" >"$work/check.log" 2>&1 ||
        fail "$name: not every batch counts once: $(cat "$work/check.log")"
}
if short_run; then
    counted async1 700 3 2
    counted async2 1500 2 1
    counted async3 1600 4 3
    rm -r "$out"
    ok "in async mode every batch of every part counts exactly once"
fi

# --- what is refused ------------------------------------------------------------------------------
# refused CODE PATTERN ARGUMENT... - nothing is changed.
snapshot() { (cd "$out" && find . -type f -exec sha256sum {} + | sort); }
refused()
{
    local ps before
    before=$(snapshot)
    for ps in 0 1; do
        run refused "$1" syncopate run "${job[@]}" --ps "$ps" --workers 1 --out "$out" "${@:3}"
        said refused "^syncopate run: .*$2" || fail "${*:3} does not say: $2"
        one_line refused
    done
    if [ "$(snapshot)" != "$before" ]; then fail "${*:3} is refused, and changes something"; fi
}
if short_run; then
    train finished --epochs 2 --ps 1 --workers 1
    again="--epochs 3 or more trains it further"
    refused 5 "out holds a finished run of 2 epochs; $again, or choose another --out" --epochs 2
    refused 5 "out holds a finished run of 2 epochs, and this job has 1 epoch; $again" --epochs 1
    refused 5 "out holds a finished run of 2 epochs, and this job has 40 updates; $again" --steps 40
    refused 3 "seed: 6 in this job, 5 in the earlier one" --epochs 3 --seed 6
    refused 3 "decay steps: 25 in this job, 24 in the earlier one" --epochs 3 --decay-steps 25
    refused 3 "batch: 16 in this job, 32 in the earlier one" --epochs 3 --global-batch 16
    refused 3 "beta1: 0.8 in this job, 0.9 in the earlier one" --epochs 3 --beta1 0.8
    refused 5 "finished run and --restore never was given" --epochs 3 --restore never
    # The processes refuse by themselves too, when no launcher has looked first.
    address=127.0.0.1:$(free_port)
    start direct-ps syncopate-ps --ps-hosts "$address" --out "$out"
    start direct-worker syncopate-worker --ps-hosts "$address" --workers 1 "${job[@]}" --epochs 2
    for name in direct-ps direct-worker; do
        ends "$name" 5
        says "$name" "error: .*$again"
        one_line "$name"
    done
    run direct-alone 5 syncopate-worker --ps 0 "${job[@]}" --epochs 2 --out "$out"
    says direct-alone "error: .*$again"
    rm -r "$out/checkpoints"
    refused 5 "finished run without a checkpoint to train it further from" --epochs 3
    rm -r "$out"

    train ragged --steps 45 --ps 1 --workers 1
    refused 5 "out holds a finished run of 45 updates; --steps 46 or more trains it further" --steps 45
    rm -r "$out"
    ok "a finished run of no fewer epochs, or of another job, is refused with what could be done"

    # Where a cosine ends depends on the number of all updates, unless somebody says.
    job=("${plain[@]}" --schedule cosine --decay-factor 0.1)
    train cosine --epochs 2 --ps 1 --workers 1
    refused 3 "cosine ends after 64 updates.*96.*--decay-steps 64 goes on with it" --epochs 3
    train cosine --epochs 3 --decay-steps 64 --ps 2 --workers 2
    run cosine-straight 0 syncopate run "${job[@]}" --epochs 3 --decay-steps 64 --out "$work/cosine"
    if [ "$(model_hash "$out")" != "$(model_hash "$work/cosine")" ]; then fail "cosine: other bits"; fi
    ok "a cosine without --decay-steps is refused, and goes on with those that are named"
fi
nothing_runs
