#!/usr/bin/env bash
# noise.sh - compare beside a program that has nothing to do with it: whose the processors' time was is told.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

if ! grep -q '^cpu0 ' /proc/stat 2>/dev/null; then
    skip "other processes beside a run: no /proc/stat of Linux"
    exit 0
fi
out=$work/out
quick=(--data synthetic:600 --model softmax --steps 150 --compute constant:5ms --workers 1 --modes sync --warm-up 0)

# number FILE MEMBER
number() { sed -nE "s/^ *\"$2\": ([-+.e0-9]+),?$/\1/p" "$1"; }
# ticks PID - of the processors' time that it has had.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
holds() { awk "BEGIN { exit !($1) }"; }

while :; do :; done &
busy=$!
began=$(ticks "$busy")
run beside 0 syncopate compare "${quick[@]}" --out "$out"
had=$(($(ticks "$busy") - began))
kill "$busy"
{ wait "$busy" || true; } 2>/dev/null

machine=$out/runs/sync-w1-s1/machine.json
others=$(number "$machine" others_cpu_seconds) own=$(number "$machine" own_cpu_seconds) seconds=$(number "$machine" seconds)
second=$(getconf CLK_TCK)
# What it had in all was in as many seconds as compare took; the run was most of these.
holds "$others > 0.3 * $had / $second" || fail "others had $others s, and the loop alone $had ticks: $(cat "$machine")"
holds "$seconds > 1 && $own > 0 && $others <= $(number "$machine" processors) * $seconds * 1.05" ||
    fail "that is not whose time it was: $(cat "$machine")"
ok "the time of a program beside a run is others', and no more than there was"

says beside '^noisy: in 1 of 1 run others had more than 5 %'
grep -q '^noisy: ' "$out/table.txt" || fail "the table does not say so"
grep -q '^- noisy: ' "$out/table.md" || fail "nor does it in Markdown"
grep -q '<p>noisy: ' "$out/report.html" || fail "nor does the page"
tr -d ' \n' <"$out/compare.json" | grep -qF '"noisy":["sync-w1-s1"]' || fail "compare.json does not name the run"
run inspect 0 syncopate inspect "$out"
says inspect '^noisy: '
ok "the run is called noisy wherever its figures are"

[ "$(number "$out/runs/sync-w1-s1/machine.json" others_share)" = "$(sed -nE 's/^sync-w1,1,run_others_share,.*,//p' "$out/points.csv")" ] ||
    fail "points.csv has another share"
run virtual 0 syncopate compare --virtual "${quick[@]:0:6}" --out "$work/virtual"
[ -z "$(find "$work/virtual" -name machine.json)" ] || fail "a virtual run has been disturbed"
ok "its share is in points.csv, and virtual time is nobody's"
