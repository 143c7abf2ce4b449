#!/usr/bin/env bash
# replay.sh - a run that was recorded is made again in one process: with the bits and the scores of the
# run, whoever was killed, however its messages went, wherever it was stopped and went on; two entries
# swapped are other bits; what is damaged is named; with one thing changed the history is the same.
# promises: accumulate record replay replay-other run-json
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# 63 batches an epoch, many small chunks.
job=(--data synthetic:1008 --global-batch 16 --seed 5 --chunk-bytes 512 --epochs 2
    --model "conv 4x3 relu, pool 4, flatten, dense 10")

bits_of() { member "$1" parameters_sha256; }
# trains NAME ARGUMENT... - a run in $work/NAME, to its end.
trains() { run "$1" 0 syncopate run "${job[@]}" --out "$work/$1" "${@:2}"; }

# differs NAME - whether its replay has found a score that is another.
differs() { grep -v 'none of which differs' "$work/$1.log" | grep -q differs; }
# again NAME [WHAT] - the very bits and scores of the run $work/NAME. One that the run lacks it has dropped,
# because the epoch was shorter than its scoring, and has counted.
again()
{
    run "$1-again" 0 syncopate replay "$work/$1"
    said "$1-again" "^parameters_sha256 $(bits_of "$work/$1"): as recorded$" ||
        fail "${2:-$1}: not the bits of the run"
    if differs "$1-again"; then fail "${2:-$1}: other scores"; fi
    local lacking
    lacking=$(grep -c "no score there" "$work/$1-again.log" || true)
    if [ "$lacking" -gt "$(member "$work/$1" scores_dropped)" ]; then fail "${2:-$1}: $lacking scores are not there"; fi
}
trains two --mode async --workers 2 --ps 1 --transport tcp --compute constant:8ms --checkpoint-every 21
again two
ok "two workers over tcp: the bits of the run, and its scores"
trains four --mode async --workers 4 --ps 2 --optimizer momentum --learning-rate 0.01 --slow 3:2
again four
ok "four workers, one of them slow, two servers, shared memory: the bits of the run"
trains bound --mode ssp:1 --workers 3 --ps 2
again bound
said bound-again '^ssp:1: .* the promised values$' || fail "nothing is said of what ssp promises"
ok "ssp:1: the bits of the run, and every computation began from what was promised"
trains sync --mode sync --workers 2 --ps 2
again sync
said sync-again 'as one process makes them' || fail "sync is not made by one process"
ok "sync: the bits of the run, as one process makes them"

first=$(find "$work/two/checkpoints" -name 'step-*' -printf '%f\n' | sort | head -n 1)
first=$((10#${first#step-}))
if [ "$first" -ge 126 ]; then fail "the run has no checkpoint on the way"; fi
run until 0 syncopate replay "$work/two" --until "$first"
said until '^parameters_sha256 [0-9a-f]{64}: as the checkpoint of this batch$' ||
    fail "--until $first is not the checkpoint of this batch"
run beyond 2 syncopate replay "$work/two" --until 127
said beyond -- '--until=127: the record ends after 126 batches' || fail "--until beyond the end"
ok "--until stops when every chunk has had so many batches: there its checkpoint has these bits"

run paired 0 syncopate replay "$work/two" --learning-rate 0.01
said paired "^paired with $work/two: learning rate: 0.001 in the run, 0.01 in the replay$" ||
    fail "it does not say what is changed"
said paired '^loss [0-9.]+; the run has [0-9.]+ ' || fail "no losses side by side"
if said paired 'recorded|differs'; then fail "what is changed is held against the run"; fi
run nothing 2 syncopate replay "$work/sync" --staleness-rate inverse
said nothing 'the run is sync, in which nothing is stale' || fail "staleness in a sync run"
ok "with another learning rate the history is the same, and losses stand side by side"

# --- for programs ---------------------------------------------------------------------------------
# is NAME MEMBER VALUE - of the object that it printed, which is all that it printed.
is()
{
    local value
    value=$("$build/tests/processes/json_value" "$work/$1.log" "$2") ||
        fail "$1 does not print an object with $2: $(head -c 200 "$work/$1.log")"
    if [ "$value" != "$3" ]; then fail "$1: $2 is $value, not $3"; fi
}
# times NAME LINE - how often an object has a member so.
times() { grep -cE "^ *$2,?$" "$work/$1.log" || true; }

run told 0 syncopate replay "$work/four" --json
for pair in "path $work/four" "mode async" "changed null" "broken null" "step 126" "as_recorded true" \
    "expected_in run.json" "parameters_sha256 $(bits_of "$work/four")" "skipped_entries 0" \
    "expected_sha256 $(bits_of "$work/four")" "computations 126" "train_epoch 2" \
    "train_loss $(member "$work/four" train_loss)" \
    "record_bytes $(cat "$work/four"/record/*.log | wc -c)"; do
    is told "${pair%% *}" "${pair#* }"
done
chunks=$(sed -nE 's/.*"chunks": ([0-9]+),?/\1/p' "$work/told.log")
is told entries $((126 * chunks))
for line in '"session": 1' '"workers": 4' '"servers": 2' '"first_batch": 0' '"end_batch": 126' '"end_version": 126'; do
    if [ "$(times told "$line")" -ne 1 ]; then fail "not one segment with $line"; fi
done
# The run's own scores, each with its step, digit by digit.
grep -oE '"event": "evaluation".*' "$work/four/events.jsonl" | tr ',' '\n' |
    sed -nE 's/^ ("step": .*)/\1/p; s/^ "(test_[a-z]+": .*)/"run_\1/p' >"$work/scores"
if [ "$(wc -l <"$work/scores")" -lt 3 ]; then fail "the run has no scores"; fi
while read -r line; do
    if [ "$(times told "$line")" -lt 1 ]; then fail "not among the scores: $line"; fi
done <"$work/scores"
# Each, and the parameters.
if [ "$(times told '"as_recorded": true')" -ne $(($(grep -c run_test_loss "$work/scores") + 1)) ]; then
    fail "not every score is as recorded"
fi
if ! (cd "$work" && sync_told=$("$build/syncopate" replay sync --json) && grep -q '"chunks": 0' <<<"$sync_told"); then
    fail "a sync run's segment has chunks"
fi
run told-paired 0 syncopate replay "$work/four" --json --learning-rate 0.02
is told-paired changed "learning rate: 0.01 in the run, 0.02 in the replay"
is told-paired as_recorded null
is told-paired expected_sha256 null
if [ "$(times told-paired '"as_recorded": (true|false)')" -ne 0 ]; then fail "what is changed is held against the run"; fi
ok "--json: one object with the bits, what they had to be, segments, and the scores with their steps"

# --- what is damaged ------------------------------------------------------------------------------
# damaged NAME WORDS - the copy $work/NAME is refused with these words.
damaged()
{
    run "$1" 3 syncopate replay "$work/$1"
    said "$1" "$2" || fail "$1: does not say: $2"
    if [ "$(wc -l <"$work/$1.log")" -ne 1 ]; then fail "$1: more than a line"; fi
}
copy() { cp -r "$work/two" "$work/$1"; }
copy flipped
byte=$(od -An -tu1 -j700 -N1 "$work/flipped/record/0001.log") # Which every run has another of.
# shellcheck disable=SC2059 # The byte is the format.
printf "\\x$(printf %02x $((byte ^ 255)))" |
    dd of="$work/flipped/record/0001.log" bs=1 seek=700 conv=notrunc status=none
damaged flipped "flipped/record/0001.log: damaged at byte [0-9]+: the checksum of this block is wrong"
copy short
truncate -s -1 "$work/short/record/0001.log"
damaged short "short/record/0001.log: damaged: it has [0-9]+ bytes, and [0-9]+ when"
copy longer # As a kill between the record and its manifest leaves it.
echo "half a block" >>"$work/longer/record/0001.log"
run longer 0 syncopate replay "$work/longer" --quiet
copy missing
rm "$work/missing/record/0001.log"
damaged missing "cannot read .*missing/record/0001.log"
copy newer
printf '\11' | dd of="$work/newer/record/0001.log" bs=1 seek=16 conv=notrunc status=none
damaged newer "newer/record/0001.log: is a record of format 9, and this program reads 2"
copy other
cp "$work/four/record/0001.log" "$work/other/record/0001.log"
damaged other "other/record/0001.log: (is the record of a run of another declaration|damaged)"
trains off --mode async --workers 2 --ps 1 --record off
damaged off "off: has no record \(--record off\)"
run empty 5 syncopate replay "$work"
# changed NAME WORDS - the copy of that name with one number changed, every checksum as it has to be.
changed()
{
    copy "changed-$1"
    "$build/tests/processes/swap_entries" "$work/changed-$1/record/0001.log" "$1" || fail "no $1 to change"
    damaged "changed-$1" "changed-$1/record/0001.log: $2"
}
changed run "is the record of run [0-9a-f]{16}, and the newest checkpoint is of run $(member "$work/two" run_id)"
changed worker "damaged: computation [0-9]+ is of worker/[78], and the run has had 2 workers"
changed clock "damaged: computation [0-9]+ is at clock 1, and workers have no clocks in this mode"
ok "another run's id, a worker that the run has not had, a clock in async: refused with 3, and named"
ok "a flipped byte, a short file, none, a newer format, another run's: refused with 3, and named"

copy swapped
"$build/tests/processes/swap_entries" "$work/swapped/record/0001.log" >"$work/where" ||
    fail "there are no two entries to be swapped"
size=$(stat -c %s "$work/swapped/record/0001.log")
if [ "$size" != "$(stat -c %s "$work/two/record/0001.log")" ]; then fail "they take $size bytes"; fi
run swapped 1 syncopate replay "$work/swapped"
said swapped "differs from run.json: $(bits_of "$work/two")" || fail "swapped entries: the same bits"
run swapped-told 1 syncopate replay "$work/swapped" --json
is swapped-told as_recorded false
is swapped-told expected_sha256 "$(bits_of "$work/two")"
run newer-told 3 syncopate replay "$work/newer" --json
if grep -q '{' "$work/newer-told.log"; then fail "an object of what cannot be read"; fi
ok "two entries swapped, with every checksum right: other bits, exit code 1, also with --json"
# What run.json and the model's file say beside the bits is compared, too.
copy figures
sed -i -e 's/"train_loss": /&9/' -e 's/"applied": /&9/' "$work/figures/run.json"
cp "$work/four/model.safetensors" "$work/figures/model.safetensors"
run figures 1 syncopate replay "$work/figures" --quiet
for what in train_loss verdicts model.safetensors; do
    said figures "^$what: differs from the run's$" || fail "figures: $what is not compared"
done
said figures "^parameters_sha256 $(bits_of "$work/two"): as recorded$" || fail "figures: other bits"
run figures-told 1 syncopate replay "$work/figures" --json
if [ "$(times figures-told '"model.safetensors"')" -ne 1 ]; then fail "figures: --json does not name the model"; fi
ok "another loss, other counts, another model's file: named, exit code 1"

# --- records that end -----------------------------------------------------------------------------
record_ends() { sed -n '/^  "record": {/,/}/s/.*"ends_at": \([0-9a-z]*\).*/\1/p' "$work/$1/run.json"; }
half=(--mode async --workers 2 --ps 2)
trains half "${half[@]}" --epochs 1
printf 'left over' | tee -a "$work/half/record/0001.log" >"$work/half/record/0002.log" # No manifest names it.
trains half "${half[@]}"
again half
said half-again '^session 2: 2 workers, 2 servers' || fail "the second session is not told"
if [ "$(record_ends half)" != null ]; then fail "a whole record is said to end at $(record_ends half)"; fi
ok "a run gone on with has a file more, and what no manifest names is gone"
trains half "${half[@]}" --epochs 3 --record off
trains half "${half[@]}" --epochs 4
said half "warning: the record of this run ends at batch 126" || fail "a record that has ended is gone on with"
if [ "$(record_ends half)" != 126 ]; then fail "a session after one without a record: not in run.json"; fi
run replayed 3 syncopate replay "$work/half"
said replayed "its record ends at batch 126, and the run went on to 252 without one" || fail "replayed otherwise"
ok "a session without a record ends it, and run.json, the run and replay say so"
nothing_runs
