#!/usr/bin/env bash
# virtual.sh - compare --virtual: runs in virtual time side by side, stopped and gone on with.
set -euo pipefail

syncopate=${TEST_BUILD:-build/release}/syncopate
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect "what should hold" command...
expect()
{
    local what=$1
    shift
    if "$@" >"$folder/said" 2>&1; then
        echo "ok - $what"
    else
        failures=$((failures + 1))
        echo "not ok - $what"
        sed 's/^/    /' "$folder/said"
    fi
}

# ends_with CODE command...: what it writes is in $folder/output.
ends_with()
{
    local wanted=$1 code=0
    shift
    "$@" >"$folder/output" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || { echo "exit code $code, not $wanted: $*"; cat "$folder/output"; return 1; }
}

# results DIR: of every run its name and what came out.
results() { grep -o '"parameters_sha256": "[0-9a-f]*"' "$1"/runs/*/run.json | sed 's,.*/runs/,,'; }

few=(--virtual --data synthetic:2000 --model softmax --epochs 2 --network "1Gbit,50us" --slow 1:3)
work=("${few[@]}" --modes "sync,async,ssp:1" --workers "2,5")
expect "twelve runs in virtual time" ends_with 0 "$syncopate" compare "${work[@]}" --seeds 2 --out "$folder/whole"
expect "the table says whose seconds they are" \
    grep -q '^seconds are of virtual time: every process on a host of its own, 1Gbit, 50us' "$folder/whole/table.txt"
expect "rows are in the plan's order" \
    test "$(grep -oE '^(sync|async|ssp:1) +[25] ' "$folder/whole/table.txt" | head -6 | tr -s ' \n' ' ')" = \
    "sync 2 sync 5 async 2 async 5 ssp:1 2 ssp:1 5 "
expect "sync has the same bits for two and five workers" \
    grep -q "^sync: the same bits for 2 and 5 workers, for each of 2 seeds" "$folder/output"
expect "so does compare.json" grep -q '"virtual": "every process on a host of its own, 1Gbit, 50us' "$folder/whole/compare.json"
expect "and every line of a run that is done" test "$(grep -c '^  done in .* of virtual time, loss' "$folder/output")" -eq 12
expect "the page says that time was modelled" grep -q 'Learning was computed, time was modelled: ' "$folder/whole/report.html"
expect "and not that runs waited for each other" bash -c "! grep -q 'one after another\|one run after another' '$folder/whole/report.html'"
expect "chance is not known of two runs" grep -q 'two seeds: what seeds do by chance is not known' "$folder/whole/compare.json"

# Killed with runs under way, which die with it, and gone on with.
long=(--virtual --data synthetic:1000 --model softmax --epochs 50 --workers 4 --seeds 2)
"$syncopate" compare "${long[@]}" --out "$folder/killed" --quiet >"$folder/killed.out" 2>&1 &
pid=$!
for ((i = 0; i < 400; i++)); do
    if [ -s "$folder/killed/runs/sync-w4-s1/run.json" ]; then break; fi
    sleep 0.05
done
kill -KILL "$pid"
wait "$pid" || true
gone()
{
    for ((i = 0; i < 200; i++)); do
        if ! pgrep -f "simulate .*$folder/killed" >/dev/null; then return 0; fi
        sleep 0.05
    done
    pgrep -fa "simulate .*$folder/killed"
    return 1
}
expect "no run outlives the one who started it" gone
expect "the same command goes on" ends_with 0 "$syncopate" compare "${long[@]}" --out "$folder/killed"
expect "and an undisturbed one" ends_with 0 "$syncopate" compare "${long[@]}" --out "$folder/calm"
# Async, too: a run that was cut off is made from its beginning.
expect "all has the same results" test "$(results "$folder/killed")" = "$(results "$folder/calm")"
expect "and says the same" diff <(grep -v '"command"' "$folder/killed/compare.json") <(grep -v '"command"' "$folder/calm/compare.json")
expect "other modes extend it" \
    ends_with 0 "$syncopate" compare "${work[@]}" --seeds 2 --modes "allreduce,sync+backup:1" \
    --out "$folder/whole"
expect "and keeps what was there" test "$(grep -c '^  is there already' "$folder/output")" -eq 12
expect "what backup workers leave out is not held to have the bits of sync" \
    bash -c "! grep WARNING '$folder/whole/table.txt'"
expect "all in virtual time again has the same bits" ends_with 0 "$syncopate" compare "${work[@]}" --seeds 2 --out "$folder/again"
expect "in every mode" test "$(results "$folder/whole" | grep -vE '^(allreduce|sync.backup)')" = "$(results "$folder/again")"

expect "workers without work are named" \
    ends_with 0 "$syncopate" compare "${few[@]}" --modes "sync,async" --workers 5 --micro-batch 32 --out "$folder/idle"
expect "in the table" \
    grep -q "^sync, 5 workers: a step has 2 leaves, and 3 workers have none" "$folder/idle/table.txt"
expect "of sync alone" test "$(grep -c 'workers have none' "$folder/idle/table.txt")" -eq 1
expect "and on the page" grep -q "<p>sync, 5 workers: a step has 2 leaves" "$folder/idle/report.html"
# interrupted FILE command... - by Ctrl-C, which all of its processes get, once the file is there.
interrupted()
{
    local file=$1 code=0
    shift
    rm -rf "$folder/stopped"
    cp -r "$folder/calm" "$folder/stopped"
    rm -rf "$folder/stopped/runs/async-w4-s1" "$folder/stopped/runs/sync-w4-s2"
    set -m # A group of its own, that hears of it.
    "$@" &
    set +m
    for ((i = 0; i < 400; i++)); do
        if [ -s "$file" ]; then break; fi
        sleep 0.05
    done
    kill -INT -- "-$!" 2>/dev/null || true
    wait "$!" || code=$?
    return "$code"
}
# interrupted_in_time FILE command... - on a busy machine it may have ended before; then once more.
interrupted_in_time()
{
    interrupted "$@" || return
    interrupted "$@" || return
    interrupted "$@"
}
expect "Ctrl-C stops all of it" ends_with 130 interrupted_in_time "$folder/stopped/runs/async-w4-s1/run.json" \
    "$syncopate" compare "${long[@]}" --out "$folder/stopped"
expect "and says how to go on" grep -q "the same command with --out $folder/stopped goes on" "$folder/output"
expect "the report has what was there, also what had not its turn yet" grep -qE '"runs_done": [23],' "$folder/stopped/compare.json"
expect "it goes on" ends_with 0 "$syncopate" compare "${long[@]}" --out "$folder/stopped"
expect "and comes to the same" test "$(results "$folder/stopped")" = "$(results "$folder/calm")"
expect "a cluster without --virtual is a usage error" \
    ends_with 2 "$syncopate" compare --network 1Gbit --out "$folder/usage"
expect "a cluster that cannot be is named, once for each run" \
    ends_with 2 "$syncopate" compare "${few[@]}" --network 1Gibt --modes sync --workers 2 --out "$folder/wrong"
expect "in its own words" grep -q "^syncopate compare: sync-w2-s1: --network=1Gibt: " "$folder/output"

[ "$failures" -eq 0 ]
