#!/usr/bin/env bash
# record.sh - OUT/record of real runs: a file a session, as long as the newest manifest says; nothing of
# it with --record off; and what stands in its place and is no folder is answered before training.
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
