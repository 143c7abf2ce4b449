#!/usr/bin/env bash
# compare.sh - syncopate compare with real processes: its table, its files, its exit codes.
# uses: rsvg-convert
# test: later
set -euo pipefail

syncopate=${TEST_BUILD:-build/release}/syncopate
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
export SYNCOPATE_SVG_ONLY=1 # It would take a second or two of every comparison.

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

work=(--data synthetic:2560 --model softmax --steps 40 --warm-up 0)
out=$folder/out

expect "two modes, two numbers of workers and two seeds are eight runs" \
    ends_with 0 "$syncopate" compare "${work[@]}" --workers 1,2 --seeds 2 --out "$out"
expect "every run is announced, and each round begins with another arm" \
    grep -qE "^run 5 of 8: sync, 2 workers, 1 server, seed 2 \(about .* left\)" "$folder/output"
expect "the last round, too, has every arm" grep -q "^run 8 of 8: sync, 1 worker, 1 server, seed 2" "$folder/output"
expect "the table has a row for each mode and number of workers" \
    test "$(grep -cE '^(sync|async) +[12] +2 +[0-9.]+ ' "$folder/output")" -eq 4
expect "and the work, which is the same for all, stands above it" \
    grep -qx "each run: batches 40, examples a batch 64" "$folder/output"
expect "sync has the same bits for one and two workers" \
    grep -q "^sync: the same bits for 1 and 2 workers, for each of 2 seeds" "$folder/output"
for file in report.html table.{txt,md,tex} methods.txt points.csv compare.json {loss,accuracy,test-loss}-{seconds,updates,examples,bytes}.svg \
    {staleness,spread,time,workers}.svg runs/sync-w1-s1/run.json runs/async-w2-s2/run.json; do
    expect "$file is there" test -s "$out/$file"
done
png() { (cd "$out" && find . -maxdepth 1 -name "*.$1" | sed "s/$1\$//" | sort); }
if command -v rsvg-convert >/dev/null; then
    expect "pictures are PNG, too, unless they are not wanted" \
        env -u SYNCOPATE_SVG_ONLY "$syncopate" compare "${work[@]}" --workers 1,2 --seeds 2 --out "$out"
    expect "every one of them" diff <(png svg) <(png png)
    expect "other numbers leave none of the ones before" \
        "$syncopate" compare "${work[@]}" --workers 1,2 --seeds 2 --out "$out"
    expect "which is so" test -z "$(png png)"
else
    echo "SKIPPED - pictures as PNG: no rsvg-convert"
fi
expect "without a converter figures are SVG alone" \
    ends_with 0 env -u SYNCOPATE_SVG_ONLY PATH=/nowhere "$syncopate" compare "${work[@]}" --workers 1,2 --seeds 2 --out "$out"
expect "which is said once" \
    test "$(grep -c "^figures are SVG alone: rsvg-convert is not installed (Debian's librsvg2-bin)$" "$folder/output")" -eq 1
expect "the report holds the command" grep -q -- "--workers 1,2 --seeds 2 --out" "$out/report.html"

for command in evaluate export; do
    expect "$command of a comparison says where its runs are" ends_with 5 "$syncopate" "$command" "$out"
    expect "and nothing else" grep -qx "syncopate $command: $out is a comparison; name one of its runs, which are folders in $out/runs" \
        "$folder/output"
done
expect "inspect of a comparison" ends_with 0 "$syncopate" inspect "$out"
expect "says what compare said" diff "$folder/output" <(head -n "$(wc -l <"$folder/output")" "$out/table.txt")
expect "which is something" grep -q "^sync: the same bits for 1 and 2 workers, for each of 2 seeds" "$folder/output"
expect "and as an object" ends_with 0 "$syncopate" inspect "$out" --json
expect "the same" diff <(grep -v '^  "kind"\|^  "path"' "$folder/output") "$out/compare.json"
mv "$out/runs/sync-w1-s2" "$folder/away"
expect "without one of its runs" ends_with 5 "$syncopate" inspect "$out"
expect "it says which is missing" grep -q "runs/sync-w1-s2" "$folder/output"
mv "$folder/away" "$out/runs/sync-w1-s2"
expect "with one seed" ends_with 0 "$syncopate" compare "${work[@]}" --out "$folder/one"
expect "the table has its place in 80 columns" \
    test "$(awk '/^ *examples|^mode|^sync|^async/ && length > 80' "$folder/output" | wc -l)" -eq 0
expect "bounds are modes of their own" ends_with 0 "$syncopate" compare "${work[@]}" \
    --modes sync,async,ssp:1,ssp:8,allreduce,sync+backup:1 --workers 2 --out "$folder/bounds"
expect "which the table names" test "$(grep -cE '^ssp:[18] +2 +[0-9.]+ +[0-9]+ ' "$folder/output")" -eq 2
expect "and compare.json" test "$(grep -c '"mode": "ssp:[18]"' "$folder/bounds/compare.json")" -ge 2
expect "and the report" grep -q '<th scope="row">ssp:8, 2 workers</th>' "$folder/bounds/report.html"
expect "their folders have no colon in their names" test -s "$folder/bounds/runs/ssp-8-w2-s1/run.json"
expect "so is all-reduce, with the scores of sync" \
    test "$(awk '/^(sync|allreduce) +2 +[0-9.]+ +[0-9]+ / { print $5, $6 }' "$folder/output" | uniq | wc -l)" -eq 1
expect "and so are backup workers, where something was dropped" \
    grep -qE 'over [0-9,]+ of [0-9,]+ examples' "$folder/output"
expect "each has a colour and a dash of its own" \
    test "$(grep -oE 'class="line [^"]*"' "$folder/bounds/loss-updates.svg" | sort -u | wc -l)" -eq 6
# One command line for all modes: each takes what it has a use for, and that is said.
expect "compensations are compared" ends_with 0 "$syncopate" compare --data synthetic --model softmax --steps 200 --warm-up 0 \
    --modes sync,async --workers 4 --staleness-rate inverse --max-staleness 1 --delay-compensation 0.04 \
    --compute constant:1ms --out "$folder/arms"
expect "the table says which async had" grep -qx \
    "async: --staleness-rate inverse --delay-compensation 0.04 --max-staleness 1" "$folder/output"
expect "and that sync had none" grep -q "^sync: none of these, which have no use in it" "$folder/output"
sent_back() # What is said is what run.json counts.
{
    local counts part
    counts=$("$syncopate" inspect "$folder/arms/runs/async-w4-s1" --json | tr -d ' \n' | grep -oP '"verdicts":\{[^}]*')
    part=$(tr ',' '\n' <<<"$counts" | awk -F: '{ n += $NF } /stale/ { stale = $NF }
        END { if (stale > 0) printf "%.2f", 100 * stale / n }')
    echo "of $counts: $part %"
    [ -n "$part" ] && grep -qF "async, 4 workers: $part % of the gradients sent back as too stale; learning" "$folder/output"
}
expect "and how much was sent back" sent_back
expect "in 80 columns" test "$(sed -n '/^async: /,$p' "$folder/output" | awk '{ n++ } length > 80 { wide++ }
    END { print (n > 6 && wide == 0) }')" -eq 1
expect "as in the report" grep -q '<li>async: <code>--staleness-rate inverse</code>' "$folder/arms/report.html"
expect "where the sums of staleness are equal" grep -qE '<th scope="row">async, 4 workers</th>.*<td>equal</td>' "$folder/arms/report.html"
expect "and pulls have a spread" grep -q 'async, 4 workers, all chunks: spread 0' "$folder/arms/spread.svg"
expect "and every second a name" grep -q 'async, 4 workers, worker 3: other: ' "$folder/arms/workers.svg"
expect "sync alone refuses them" ends_with 2 "$syncopate" compare "${work[@]}" --modes sync --max-staleness 1 \
    --out "$folder/usage"
# What the report draws over, and run.json's seconds, are of one clock; scores and checkpoints are in neither.
one_clock()
{
    local all last seconds apart
    all=$("$syncopate" inspect "$1" --json | tr -d ' \n')
    last=$(grep -oP '"latest":\{[^}]*"training_seconds":\K[0-9.e+-]+' <<<"$all")
    seconds=$(grep -oP '[{,]"seconds":\K[0-9.e+-]+' <<<"$all")
    apart=$(grep -oP '"evaluation_seconds":\K[0-9.e+-]+' <<<"$all")
    echo "$1: drawn to $last, trained $seconds, evaluated $apart"
    awk -v last="$last" -v seconds="$seconds" -v apart="$apart" \
        'BEGIN { exit !(seconds > 0 && apart > 0 && last - seconds < 2e-6 && seconds - last < 2e-6) }'
}
scored=(--data synthetic:2000 --model softmax --epochs 2 --checkpoint-every 20)
expect "with scores and checkpoints" ends_with 0 "$syncopate" compare "${scored[@]}" --warm-up 0 \
    --modes sync,async,ssp:1 --workers 2 --out "$folder/clock"
expect "and without servers" ends_with 0 "$syncopate" run "${scored[@]}" --ps 0 --out "$folder/clock/solo"
for run in runs/sync-w2-s1 runs/async-w2-s1 runs/ssp-1-w2-s1 solo; do
    expect "$run is drawn up to its seconds of training" one_clock "$folder/clock/$run"
done
expect "an earlier comparison of something else is not overwritten" \
    ends_with 3 "$syncopate" compare "${work[@]}" --learning-rate 0.5 --out "$out"
expect "and what differs is said" grep -q "begun without --learning-rate, and this one is with --learning-rate 0.5" "$folder/output"
expect "nor is a folder of something else" ends_with 5 "$syncopate" compare "${work[@]}" --out "$out/runs"
expect "and that is said" grep -q "$out/runs" "$folder/output"

# The same command again, and one of more seeds: what is there is kept as it is.
kept() { cat "$out"/runs/{sync,async}-w[12]-s[12]/run.json | sha256sum; }
before=$(kept)
expect "the same command goes on: all is there" \
    ends_with 0 "$syncopate" compare "${work[@]}" --workers 1,2 --seeds 2 --out "$out"
expect "as is said" test "$(grep -cx '  is there already' "$folder/output")" -eq 8
expect "more seeds and another mode are added" \
    ends_with 0 "$syncopate" compare "${work[@]}" --modes sync,async,ssp:1 --workers 1,2 --seeds=3 --out "$out"
expect "to those that are there" test "$(grep -cx '  is there already' "$folder/output")" -eq 8
expect "eighteen in all" grep -q '"runs_done": 18' "$out/compare.json"
expect "which nobody has touched" test "$(kept)" = "$before"

# Killed with its children in the middle, and gone on with: sync has the bits that it has without.
long=(--data synthetic:2000 --model softmax --epochs 6 --checkpoint-every 20 --modes "sync,async" --workers 2 --seeds 2 --warm-up 0)
expect "one that nobody disturbs" ends_with 0 "$syncopate" compare "${long[@]}" --out "$folder/whole"
setsid "$syncopate" compare "${long[@]}" --compute constant:8ms --out "$folder/cut" >"$folder/cut.out" 2>&1 &
pid=$!
for ((i = 0; i < 1200; i++)); do
    if [ -e "$folder/cut/runs/async-w2-s2/checkpoints" ] || ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.05
done
kill -KILL -- "-$pid"
{ wait "$pid" || true; } 2>/dev/null # The shell would say that it was killed.
expect "it was in the middle" test ! -e "$folder/cut/runs/sync-w2-s2"
expect "goes on" ends_with 0 "$syncopate" compare "${long[@]}" --compute constant:8ms --out "$folder/cut"
expect "with the two runs that were done" test "$(grep -cx '  is there already' "$folder/output")" -eq 2
expect "and is whole" grep -q '"runs_done": 4' "$folder/cut/compare.json"
digest() { grep -o '"parameters_sha256": "[0-9a-f]*"' "$1/run.json"; }
for seed in 1 2; do
    expect "sync has its bits, seed $seed" \
        test "$(digest "$folder/whole/runs/sync-w2-s$seed")" = "$(digest "$folder/cut/runs/sync-w2-s$seed")"
done
varied=$folder/varied
expect "any option can be varied, and a mode without use for it has one arm" \
    ends_with 0 "$syncopate" compare "${work[@]}" --workers 1 --vary learning-rate=0.001,0.01 --vary max-staleness=1,2 \
    --out "$varied"
expect "these are six runs" test "$(find "$varied/runs" -name run.json | wc -l)" -eq 6
expect "the table tells arms apart" grep -qE '^sync, learning-rate 0.01 +1 ' "$varied/table.txt"
expect "an arm has what it says" \
    grep -q '"learning_rate": 0.01' "$varied/runs/async-w1-learning-rate-0.01-max-staleness-2-s1/run.json"
expect "other rates are not held to have the same bits" bash -c "! grep -q WARNING '$varied/table.txt' '$varied/compare.json'"
expect "more values extend it" \
    ends_with 0 "$syncopate" compare "${work[@]}" --workers 1 --vary learning-rate=0.001,0.01,0.02 \
    --vary max-staleness=1,2 --out "$varied"
expect "and what was there is kept" test "$(grep -c '^  is there already' "$folder/output")" -eq 6
expect "an option that is none is a usage error" \
    ends_with 2 "$syncopate" compare "${work[@]}" --vary learning-rat=1,2 --out "$folder/usage"
expect "an unknown mode is a usage error" \
    ends_with 2 "$syncopate" compare "${work[@]}" --modes sync,fast --out "$folder/usage"
expect "as is no worker" ends_with 2 "$syncopate" compare "${work[@]}" --workers 0 --out "$folder/usage"
expect "which leaves nothing behind" test ! -e "$folder/usage"

# Before the runs that count each arm has a short one, of which no figure is anywhere.
warm=(--data synthetic:2000 --model softmax --epochs 1 --micro-batch 32 --modes "sync+backup:1,async" --dropped requeue --seeds 2)
expect "an arm is warmed up" ends_with 0 "$syncopate" compare "${warm[@]}" --warm-up 7 --out "$folder/warm"
expect "once, whatever the seeds, and as is said" test "$(grep -cx 'warm-up: 7 steps of each arm, which count nowhere' "$folder/output")" -eq 1
for arm in sync+backup-1-w2 async-w2; do
    expect "with as many steps as were asked for" grep -q '"step": 7,' "$folder/warm/warm-up/$arm/run.json"
done
expect "none of them is counted" grep -q '"runs_done": 4' "$folder/warm/compare.json"
expect "which is said where it was measured" grep -q 'each arm had one of 7 steps' <(tr '\n' ' ' <"$folder/warm/methods.txt")
touch -d @1 "$folder/warm/warm-up/async-w2/run.json"
expect "of what is there nothing is warmed up" ends_with 0 "$syncopate" compare "${warm[@]}" --warm-up 7 --out "$folder/warm"
expect "nor said to be" bash -c "! grep warm-up '$folder/output'"
rm -r "$folder/warm/runs/async-w2-s2"
expect "what is missing is" ends_with 0 "$syncopate" compare "${warm[@]}" --warm-up 7 --out "$folder/warm"
expect "by a run of that arm" test "$(find "$folder/warm/warm-up" -name run.json -newermt @2 -path '*async*' | wc -l)" -eq 1
expect "whoever fails in it is told by the run" ends_with 5 "$syncopate" compare "${warm[@]}" --data "$folder/no-data" --out "$folder/none"
expect "in one line" test "$(grep -c '^syncopate' "$folder/output")" -eq 1
expect "and in virtual time there is nothing to warm up" \
    ends_with 0 "$syncopate" compare "${warm[@]}" --virtual --out "$folder/cold"
expect "so that nothing is" test ! -e "$folder/cold/warm-up"

# While one run is under way a file takes the place of the next one's folder: that one fails, and no other. (Runs
# take some seconds: as long as this script may be kept waiting.)
some=$folder/some
slow=(--data synthetic:2560 --model softmax --steps 250 --compute constant:3ms --workers 1 --seeds 2 --warm-up 0)
"$syncopate" compare "${slow[@]}" --out "$some" \
    >"$folder/some.out" 2>"$folder/some.err" &
pid=$!
for ((i = 0; i < 600; i++)); do
    if [ -e "$some/runs/sync-w1-s1" ]; then break; fi
    sleep 0.05
done
: >"$some/runs/async-w1-s1"
expect "a second comparison in one folder is turned away while the first is under way" \
    ends_with 5 "$syncopate" compare "${slow[@]}" --out "$some"
expect "and says why" grep -q "some: another comparison is under way there" "$folder/output"
for ((i = 0; i < 1200; i++)); do
    if [ -s "$some/table.txt" ] || ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.05
done
expect "the table is there after the first run" grep -qE '^[123] of 4 runs so far' "$some/table.txt"
code=0
wait "$pid" || code=$?
expect "one run that fails gives the exit code" test "$code" -eq 5
expect "and is named at once, with its reason" grep -qE '^syncopate compare: async-w1-s1: .*async-w1-s1' "$folder/some.err"
expect "at the end it is said how many failed" grep -qx 'syncopate compare: 1 of 4 runs failed' "$folder/some.err"
expect "in two lines" test "$(wc -l <"$folder/some.err")" -eq 2
expect "the others are made" test "$(find "$some/runs" -name run.json | wc -l)" -eq 3
expect "the table names it" grep -q '^failed: async-w1-s1: ' "$some/table.txt"
expect "and compare.json" grep -q '"run": "async-w1-s1", "arm": "async-w1", "seed": 1, "exit_code": 5, ' "$some/compare.json"

# A run that is too long is stopped half way; what is finished by then is reported.
# interrupted FILE command... - by Ctrl-C, which all of its processes get, once the file is there.
interrupted()
{
    local file=$1 code=0
    shift
    set -m # A group of its own, that hears of it.
    "$@" &
    set +m
    for ((i = 0; i < 1200; i++)); do
        if [ -s "$file" ]; then break; fi
        sleep 0.05
    done
    kill -INT -- "-$!"
    wait "$!" || code=$?
    return "$code"
}
expect "Ctrl-C ends a comparison with its own exit code" \
    ends_with 130 interrupted "$folder/long/runs/async-w1-s1/events.jsonl" "$syncopate" compare "${slow[@]}" \
    --steps 100000 --modes async --out "$folder/long"
expect "and no report of nothing" test ! -e "$folder/long/report.html"
# Nothing is left of the first run to be stopped, and so that one is done; there is a second one.
expect "Ctrl-C at the end of a run ends a comparison too" \
    ends_with 130 interrupted "$folder/end/runs/async-w1-s1/model.safetensors" "$syncopate" compare "${slow[@]}" \
    --steps 20 --seeds 2 --modes async --out "$folder/end"
expect "that run is done" grep -q '"state": "done"' "$folder/end/runs/async-w1-s1/run.json"
expect "and the next is not" test ! -e "$folder/end/runs/async-w1-s2/model.safetensors"

[ "$failures" -eq 0 ]
