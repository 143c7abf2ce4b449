#!/usr/bin/env bash
# staleness.sh - what is done about gradients that others have overtaken, in real runs: one worker, whom
# nobody overtakes, ends with plain async's bits; every batch counts once; modes without staleness refuse.
# promises: accumulate replay staleness-rules
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

base=(--data synthetic:1000 --chunk-bytes 1K --worker-batch 20 --micro-batch 8 --steps 60
    --model "conv 4x3 relu, pool 4, flatten, dense 10" --verbose)

# all_applied NAME STEPS - as many verdicts as steps times chunks.
all_applied()
{
    local chunks applied
    chunks=$(sed -nE 's/.* plan chunks=[0-9]+ of=([0-9]+) .*/\1/p' "$work/$1.log" | head -n 1)
    applied=$(member "$work/$1" applied)
    if [ "$applied" != $(($2 * ${chunks:-0})) ] || [ "$applied" = 0 ]; then
        fail "$1: $applied applied of $2 steps x ${chunks:-no} chunks"
    fi
}

# trains NAME ARGUMENT...
trains()
{
    local name=$1
    shift
    run "$name" 0 syncopate run "${base[@]}" --out "$work/$name" "$@"
    if [ "$(member "$work/$name" state)" != "done" ]; then fail "$name is not done"; fi
}

bits() { member "$work/$1" parameters_sha256; }

# --- the rate --------------------------------------------------------------------------------------
if short_run; then
    trains alone --mode async --workers 1 --ps 2
    trains plain --mode async --workers 3 --ps 2
    all_applied plain 60
    for rule in inverse constant; do
        trains "$rule" --mode async --workers 3 --ps 2 --staleness-rate "$rule"
        all_applied "$rule" 60
        if [ "$(member "$work/$rule" staleness_rate)" != "$rule" ]; then fail "run.json says no rule"; fi
        trains "alone-$rule" --mode async --workers 1 --ps 2 --staleness-rate "$rule"
        if [ "$(bits "alone-$rule")" != "$(bits alone)" ]; then fail "one worker alone: other bits"; fi
        trains "serial-$rule" --mode async --ps 0 --staleness-rate "$rule"
        if [ "$(bits "serial-$rule")" != "$(bits alone)" ]; then fail "without servers: other bits"; fi
    done
    said inverse "divided by each gradient's staleness" || fail "the run does not say what it does"
    ok "rates by staleness: every batch once, and one worker has plain async's bits"

    run sync 2 syncopate run "${base[@]}" --mode sync --staleness-rate inverse --out "$work/sync"
    said sync "only used with --mode=async" || fail "sync takes a rate by staleness"
    run other 3 syncopate run "${base[@]}" --mode async --staleness-rate none --steps 90 \
        --out "$work/inverse"
    said other "staleness rate: none in this job, inverse in the earlier one" ||
        fail "another rule goes on"
    trains inverse --mode async --workers 2 --ps 3 --staleness-rate inverse --steps 90
    ok "sync refuses, another rule does not go on, the same one does"
fi

# --- delay compensation ----------------------------------------------------------------------------
if short_run; then
    for strength in 0.5 adaptive:1; do
        name=${strength%:*}
        trains "$name" --mode async --workers 4 --ps 2 --delay-compensation "$strength" \
            --optimizer sgd --learning-rate 0.1
        all_applied "$name" 60
        trains "alone-$name" --mode async --workers 1 --ps 2 --delay-compensation "$strength"
        trains "serial-$name" --mode async --ps 0 --delay-compensation "$strength"
        if [ "$(bits "alone-$name")" != "$(bits alone)" ] ||
            [ "$(bits "serial-$name")" != "$(bits alone)" ]; then
            fail "one worker alone has other bits with compensation $strength"
        fi
    done
    if said adaptive "nothing moves"; then fail "sgd is warned of"; fi
    said alone-adaptive "warning.*adam goes on with earlier" || fail "adam is not warned of"
    ok "gradients are compensated, every batch counts once, and one worker has plain async's bits"

    # The mean square goes on with other servers, and from a run in one process.
    run inspect 0 syncopate inspect "$work/adaptive/checkpoints/step-000000000060"
    said inspect "compensation .*slot" || fail "a checkpoint has no mean square"
    trains adaptive --mode async --workers 2 --ps 3 --delay-compensation adaptive:1 \
        --optimizer sgd --learning-rate 0.1 --steps 90
    trains serial-adaptive --mode async --workers 1 --ps 2 --delay-compensation adaptive:1 --steps 90
    trains serial --mode async --ps 0 --steps 90
    if [ "$(bits serial-adaptive)" != "$(bits serial)" ]; then fail "gone on, it has other bits"; fi
    run sync 2 syncopate run "${base[@]}" --mode sync --delay-compensation 1 --out "$work/sync"
    ok "the mean square is in checkpoints, whoever goes on from them"
fi

# seconds_add_up NAME WORKERS - every worker was there nearly all the time, and what has a name of its
# seconds is nearly all of them, and no more.
seconds_add_up()
{
    local wrong
    if [ "$(grep -c '"wall_seconds"' "$work/$1/run.json")" -ne "$2" ]; then fail "$1: not every worker has seconds"; fi
    wrong=$(awk -v training="$(member "$work/$1" seconds)" '
        /"wall_seconds"/ { wall = $2 + 0; if (wall < 0.8 * training - 0.02) print wall " of " training " s" }
        /"other_seconds"/ && ($2 + 0 < -1e-6 || $2 + 0 > 0.25 * wall + 0.05) { print $2 + 0 " s other of " wall }' \
        "$work/$1/run.json")
    if [ -n "$wrong" ]; then fail "$1: seconds of workers: $wrong"; fi
}

# replays NAME - run.json's loss is of the gradients that were applied, which replay compares with those of
# the record: it is as recorded, and with another loss it is not.
replays()
{
    run "$1-again" 0 syncopate replay "$work/$1" --json
    grep -q '"differing": \[\]' "$work/$1-again.log" || fail "$1: replay has another loss than run.json"
    cp -r "$work/$1" "$work/$1-other"
    sed -i 's/"train_loss": /&9/' "$work/$1-other/run.json"
    run "$1-other" 1 syncopate replay "$work/$1-other" --quiet
    said "$1-other" "^train_loss: differs from the run's$" || fail "$1: the loss is not compared"
}

# --- the most that is applied ----------------------------------------------------------------------
if short_run; then
    # While the slow one computes a batch the others make ten each.
    uneven=(--compute constant:4ms --slow 3:10)
    trains requeued --mode async --workers 4 --ps 2 --max-staleness 2 "${uneven[@]}"
    all_applied requeued 60
    trains lost --mode async --workers 4 --ps 2 --max-staleness 2:lost "${uneven[@]}"
    for name in requeued lost; do
        if [ "$(member "$work/$name" stale)" = 0 ]; then fail "$name: nothing was too stale"; fi
        seconds_add_up "$name" 4
        replays "$name"
    done
    chunks=$(sed -nE 's/.* plan chunks=[0-9]+ of=([0-9]+) .*/\1/p' "$work/lost.log" | head -n 1)
    if [ $(($(member "$work/lost" applied) + $(member "$work/lost" stale))) != $((60 * chunks)) ]; then
        fail "lost: what was applied and what was lost are not every batch once"
    fi
    if [ "$(member "$work/lost" max_staleness)" != 2 ] ||
        [ "$(member "$work/lost" staleness_loses)" != true ]; then
        fail "run.json does not say what was lost"
    fi
    # Server 0's first chunk is not the first of all here.
    trains locked --mode async --workers 4 --ps 2 --use-locking --max-staleness 2:lost "${uneven[@]}" \
        --model "conv 2x3 relu, flatten, dense 64, dense 10"
    replays locked
    trains alone-most --mode async --workers 1 --ps 2 --max-staleness 1:lost
    if [ "$(bits alone-most)" != "$(bits alone)" ]; then fail "one worker alone is too stale"; fi
    run sync 2 syncopate run "${base[@]}" --mode sync --max-staleness 2 --out "$work/sync"
    ok "what is too stale is computed again, or lost and counted, and replay has the loss"
fi

# updates_are NAME COUNT [RECORDED] - what run.json says of the versions made, and what the record does.
updates_are()
{
    local recorded
    run "$1-recorded" 0 syncopate replay --json "${3:-$work/$1}"
    recorded=$(sed -nE 's/.*"end_version": ([0-9]+).*/\1/p' "$work/$1-recorded.log" | tail -n 1)
    if [ "$(member "$work/$1" versions)" != "$2" ] || [ "$recorded" != "$2" ]; then
        fail "$1: $(member "$work/$1" versions) updates are said, $recorded recorded, $2 made"
    fi
}
# --- sums of gradients -----------------------------------------------------------------------------
if short_run; then
    trains sums --mode async --workers 4 --ps 2 --accumulate 4
    all_applied sums 60
    if [ "$(member "$work/sums" accumulate)" != 4 ]; then fail "run.json does not say how many"; fi
    said sums "4 gradients make one update" || fail "the run does not say what it does"
    said sums "batches  *60 of 60, 4 to an update" || fail "batches are said to be updates"
    if [ $(($(member "$work/sums" sum) + $(member "$work/sums" renewed))) != "$(member "$work/sums" expected)" ] ||
        [ "$(member "$work/sums" expected)" = 0 ]; then
        fail "staleness of sums does not add up to $(member "$work/sums" expected)"
    fi
    # Updates are the versions made: of the 50 batches of an epoch 13, of the 10 behind it 3.
    updates_are sums 16
    said sums "batches  *60 of 60, 4 to an update, 16 updates made" || fail "the summary counts other updates"
    if [ "$(member "$work/sums" updates)" != null ]; then fail "batches of a worker are said to be updates"; fi
    worker_batches=$(grep -oE '^      "batches": [0-9]+' "$work/sums/run.json" | awk '{ n += $2 } END { print n }')
    if [ "$worker_batches" != 60 ]; then fail "workers did $worker_batches batches of 60"; fi
    run sums-again 0 syncopate replay "$work/sums" --out "$work/sums-replayed"
    said sums-again "as recorded" || fail "the replay of sums has other bits"
    updates_are sums-replayed 16 "$work/sums"
    run sums-until 0 syncopate replay "$work/sums" --until 50 --json
    said sums-until '"end_version": 13' || fail "the replay of an epoch does not end with its 13 updates"
    # 60 batches of epochs of 50: groups of 7, 7 of them and one of 1, then 7 and 3.
    trains sums-serial --mode async --ps 0 --accumulate 7 --checkpoint-every 0
    updates_are sums-serial 10
    run sums-serial-again 0 syncopate replay "$work/sums-serial"
    trains alone-sums --mode async --workers 1 --ps 2 --accumulate 1
    if [ "$(bits alone-sums)" != "$(bits alone)" ]; then fail "sums of one have other bits"; fi
    if [ "$(bits sums-serial)" = "$(bits alone)" ]; then fail "sums of seven have the same bits"; fi
    # Gone on with other servers, in the middle of an epoch.
    trains sums --mode async --workers 2 --ps 3 --accumulate 4 --steps 75
    updates_are sums 20 # Then 15 more.
    run sums-longer 0 syncopate replay "$work/sums"
    for mode in sync ssp:2; do
        run sync 2 syncopate run "${base[@]}" --mode "$mode" --accumulate 4 --out "$work/sync"
        said sync "only used with --mode=async" || fail "$mode takes sums"
    done
    run none 2 syncopate run "${base[@]}" --mode async --accumulate 0 --out "$work/none"
    said none "needs a whole number from 1 to" || fail "sums of no gradients"
    run other 3 syncopate run "${base[@]}" --mode async --accumulate 5 --steps 90 --out "$work/sums"
    said other "accumulated gradients: 5 in this job, 4 in the earlier one" || fail "other sums go on"
    ok "sums of gradients are applied, and made again from the record"
fi

if long_run; then
    trains most-ssp --mode ssp:0 --workers 4 --ps 2 --transport tcp --max-staleness 1
    all_applied most-ssp 60
    trains adaptive-tcp --mode ssp:2 --workers 3 --ps 2 --transport tcp \
        --delay-compensation adaptive:1 --staleness-rate inverse
    trains compensated-shm --mode async --workers 3 --ps 2 --transport shm --delay-compensation 0.5
    all_applied adaptive-tcp 60
    all_applied compensated-shm 60
    trains tcp --mode ssp:2 --workers 3 --transport tcp --use-locking --staleness-rate inverse
    trains shm --mode ssp:0 --workers 3 --transport shm --staleness-rate constant
    all_applied tcp 60
    all_applied shm 60
    run compare 0 syncopate compare --modes sync,async --workers 2 --staleness-rate inverse \
        --data synthetic:400 --epochs 1 --out "$work/compare"
    ok "in ssp, over tcp and shm, and in a comparison with sync"
fi
nothing_runs
