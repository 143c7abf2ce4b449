#!/usr/bin/env bash
# record.sh - OUT/record of real runs: a file a session, as long as the newest manifest says; nothing of
# it with --record off; and what stands in its place and is no folder is answered before training.
# promises: record
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--mode async --data synthetic:2000 --model softmax --worker-batch 32 --seed 4 --workers 2 --ps 2)
out=$work/out

# newest FIELD - of the record that the newest manifest names.
newest()
{
    local manifest
    manifest=$(find "$out/checkpoints" -name manifest.json | sort | tail -1)
    sed -n '/^  "record": {/,/}/s/.*"'"$1"'": \([0-9]*\).*/\1/p' "$manifest"
}

run first 0 syncopate run "${job[@]}" --epochs 2 --out "$out"
if [ "$(newest session)" != 1 ] || [ "$(newest bytes)" != "$(stat -c %s "$out/record/0001.log")" ]; then
    fail "the newest manifest does not name what is in record/0001.log"
fi
if [ "$(newest computation)" -lt 127 ]; then fail "126 batches had fewer computations"; fi
ok "an async run has a record, as long as its newest manifest says"

printf 'left over' >>"$out/record/0001.log"
printf 'left over' >"$out/record/0002.log"
first=$(newest bytes)
run second 0 syncopate run "${job[@]}" --epochs 3 --out "$out"
if [ "$(stat -c %s "$out/record/0001.log")" != "$first" ]; then fail "0001.log was not cut off"; fi
if [ "$(newest session)" != 2 ] || [ "$(newest bytes)" != "$(stat -c %s "$out/record/0002.log")" ]; then
    fail "the second session is not in record/0002.log"
fi
if [ "$(member "$out" files)" != 2 ]; then fail "run.json does not say two files"; fi
ok "gone on with, it has a file more, and what no manifest names is gone"

run off 0 syncopate run "${job[@]}" --epochs 1 --record off --out "$work/off"
if [ -e "$work/off/record" ]; then fail "--record off leaves a record"; fi
mkdir "$work/linked" "$work/elsewhere"
run begun 0 syncopate run "${job[@]}" --epochs 1 --out "$work/linked/out"
rm -r "$work/linked/out/record"
ln -s "$work/elsewhere" "$work/linked/out/record"
run linked 5 syncopate run "${job[@]}" --epochs 2 --out "$work/linked/out"
if [ -n "$(ls "$work/elsewhere")" ]; then fail "something was written through a link"; fi
ok "with --record off there is none, and nothing is written through a link in its place"

# --- where no checkpoint can be written -------------------------------------------------------------
# It takes a quarter of a million batches. What has the place of the checkpoints goes when the record has ended.
record_of() { sed -n '/^  "record": {/,/}/s/.*"ends_at": \([0-9a-z]*\).*/\1/p' "$1/run.json"; }
if [ "$(record_of "$out")" != null ]; then fail "a whole record is said to end at $(record_of "$out")"; fi
if long_run && ! sanitized; then
    full=$work/full
    small=(--mode async --data synthetic:64 --model "flatten, dense 10" --worker-batch 1 --workers 2 --checkpoint-every 0)
    start full syncopate run "${small[@]}" --steps 400000 --out "$full" --quiet
    within 10 test -e "$full/record" || fail "it does not begin"
    rm -rf "$full/checkpoints"
    : >"$full/checkpoints"
    says full "warning: the record ends at batch 0: .*262144 .* training goes on" 240
    rm "$full/checkpoints"
    ends full 0 240
    if [ "$(record_of "$full")" != 0 ]; then fail "run.json says that the record ends at $(record_of "$full")"; fi
    run more 0 syncopate run "${small[@]}" --steps 400010 --out "$full"
    said more "the record of this run ends at batch 0: nothing more of it is recorded" || fail "not said again"
    said more "it ends at batch 0: this run cannot be made again" || fail "the summary does not say it"
    run replayed 3 syncopate replay "$full"
    one_line replayed
    ok "where no checkpoint can be written training goes on, and the record ends, with a line and in run.json"
fi
if short_run; then
    run half 0 syncopate run "${job[@]}" --epochs 1 --out "$work/half"
    run half 0 syncopate run "${job[@]}" --epochs 2 --record off --out "$work/half"
    if [ "$(record_of "$work/half")" != 63 ]; then fail "a session without a record: not in run.json"; fi
    run half 0 syncopate run "${job[@]}" --epochs 3 --out "$work/half"
    said half "warning: the record of this run ends at batch 63" || fail "a record that has ended is gone on with"
    if [ "$(record_of "$work/half")" != 63 ]; then fail "a session after one without a record: not in run.json"; fi
    run replayed 3 syncopate replay "$work/half"
    said replayed "its record ends at batch 63, and the run went on to 189 without one" || fail "replayed otherwise"
    ok "a session without a record ends it, and run.json, the summary and replay say so"
fi
