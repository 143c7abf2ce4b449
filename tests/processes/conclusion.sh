#!/usr/bin/env bash
# conclusion.sh - what compare says of its runs, worked out again from points.csv by a program that shares nothing
# with it (conclusion.py): means, intervals, ratios of pairs, runs that did not come to the target.
# promises: conclusion
# needs: python3
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$(cd "$(dirname "$0")" && pwd)/answer.py

out=$work/out
base=(--data synthetic:2000 --model softmax --epochs 2 --workers 2 --warm-up 0 --out "$out")

# asked NAME OPTION... - the comparison with these, whose numbers then are right.
asked()
{
    local name=$1
    shift
    run "$name" 0 syncopate compare "${base[@]}" "$@"
    python3 "$reader" "$out" >"$work/$name.check" 2>&1 || fail "$name: $(cat "$work/$name.check")"
    grep -qE '^[1-9][0-9]+ numbers compared, 0 differ$' "$work/$name.check" || fail "$name: nothing was compared"
}
# intervals PATTERN - whether any lower end matches, of what compare.json has.
intervals() { grep -qE "\"low\": $1" "$out/compare.json"; }

# tells NAME TEXT - in sentences, whose lines end anywhere.
tells() { tr '\n' ' ' <"$work/$1.log" | grep -qF -- "$2" || fail "$1 does not say: $2"; }

asked one --seeds 1
tells one "; one seed: what seeds do by chance is not known;"
if intervals '[0-9-]'; then fail "there is an interval of one seed"; fi
if grep -q '+-' "$work/one.log"; then fail "there is a +- of one seed"; fi
ok "of one seed the figures are told, no interval and no deviation"

asked two --seeds 2
tells two "; two seeds: what seeds do by chance is not known;"
if intervals '[0-9-]'; then fail "there is an interval of two seeds"; fi
ok "nor are they of two"

asked three --seeds 3
intervals '[0-9-]' || fail "there is no interval of three seeds"
if grep -q 'by chance is not known' "$work/three.log"; then fail "three seeds say nothing of chance"; fi
ok "of three seeds there are intervals, and an independent reader has the same"

# What judges published shapes (tests/validation) has its intervals from here.
pairs=$(cd "$(dirname "$0")/../validation" && pwd)/pairs.py
told=$(python3 -c 'import json, sys
points = json.load(open(sys.argv[1]))["groups"][1]["beside_reference"]["accuracy_points"]
print(points["value"], points["low"], points["high"])' "$out/compare.json")
read -r middle low high <<<"$told"
judged() { python3 "$pairs" "$out" test_accuracy async-w2 "$@" >"$work/judged"; }
judged sync-w2 || fail "pairs.py does not end well"
awk -v told="$told" '{ gsub(/[][,]/, ""); split(told, t, " ")
    for (i = 1; i <= 3; i++) if ((t[i] - $i) ^ 2 > 0.0001 * (1 + sqrt(t[i] ^ 2)) ^ 2) exit 1 }' "$work/judged" ||
    fail "compare says $told, pairs.py $(cat "$work/judged")"
judged sync-w2 above "$(awk "BEGIN { print $low - 0.1 }")" || fail "an interval above a limit is not"
judged sync-w2 below "$(awk "BEGIN { print $high + 0.1 }")" || fail "an interval below a limit is not"
if judged sync-w2 above "$middle"; then fail "an interval is above a limit that is in it"; fi
if judged sync-w2 below "$middle"; then fail "an interval is below a limit that is in it"; fi
if judged nobody 2>/dev/null; then fail "an arm that is not there is judged"; fi
ok "a shape is judged by whole intervals, which are those of compare.json"

# What is asked is no setting of the runs: these are all there.
between=$(python3 "$reader" "$out" --between)
asked between --seeds 3 --target-loss "$between"
[ "$(grep -c 'is there already' "$work/between.log")" -eq 6 ] || fail "another question made runs anew"
tr -d ' \n' <"$out/compare.json" | grep -oE '"runs":3,"reached":[0-3]' >"$work/reached"
[ "$(wc -l <"$work/reached")" -eq 2 ] || fail "it is not told of both arms how many came to the target"
[ "$(awk -F: '{ n += $NF } END { print n }' "$work/reached")" -eq 3 ] || fail "not half came to a loss between: $(cat "$work/reached")"
grep -q '"inf"' "$out/compare.json" || fail "who did not come to the target is not infinite"
ok "runs that do not come to the target take part as the slowest"

asked accuracy --seeds 3 --target-accuracy 0.5 --margin 3
grep -q '"target": {"kind": "accuracy", "value": 0.5, "asked_for": true, ' "$out/compare.json" ||
    fail "the target is not what was asked for"
grep -q '"margin": 3.0' "$out/compare.json" || fail "nor is the margin"
tells accuracy " reaches test accuracy 50 % "
ok "an accuracy may be the target, and another margin asked for"

asked five --seeds 5 --modes sync,async,ssp:1
if grep -q '"olympic": null' "$out/compare.json"; then fail "five seeds have no olympic mean"; fi
ok "of five seeds there is an olympic mean, too"

# The same of what is rare: arms that diverge, in part and whole, and others that are alike.
rare=(--virtual --svg-only --data synthetic:2000 --epochs 2 --workers 4 --out "$out")
rm -rf "$out"
run diverged 1 syncopate compare "${rare[@]}" --seeds 5 --arm "calm=--mode sync" \
    --model "flatten, dense 64 relu, dense 64 relu, dense 64 relu, dense 10" \
    --arm "wild=--mode sync --optimizer nesterov --learning-rate 8" --arm "gone=--mode async --optimizer nesterov --learning-rate 8"
python3 "$reader" "$out" >"$work/diverged.check" || fail "diverged: $(cat "$work/diverged.check")"
[ "$(grep -c '^gone,[1-5],run_fate,.*,1$' "$out/points.csv")" -eq 5 ] || fail "not all runs of gone have diverged"
tells diverged "gone 5 diverged"
grep -qE '^wild +0/5 ' "$out/table.txt" || fail "runs of wild that diverged are not counted"
grep -qE '^gone +0/5 ' "$out/table.txt" || fail "an arm whose runs all diverged has no row"
"$build/syncopate" inspect "$out" | grep -qF "gone 5 diverged" || fail "inspect does not know who diverged"
rm -rf "$out"
run ties 0 syncopate compare "${rare[@]}" --model softmax --compute lognormal:20ms,0.3 --seeds 3 --modes sync,allreduce,async,sync+backup:1
python3 "$reader" "$out" >"$work/ties.check" || fail "ties: $(cat "$work/ties.check")"
grep -q '"word": "alike"' "$out/compare.json" || fail "sync and allreduce are not alike"
tells ties "; equal batch"
tells ties "A worker's computation is of 16 examples in sync, of 64 in async."
rm -rf "$out"
ok "it has the same of runs that diverge, and of arms that are alike"

# The whole of it as one object, and nothing else.
"$build/syncopate" compare "${base[@]}" --seeds 5 --modes sync,async,ssp:1 --json 2>/dev/null >"$work/object"
diff <(grep -v '"command"' "$work/object") <(grep -v '"command"' "$out/compare.json") >"$work/diff" ||
    fail "--json is not compare.json: $(head -3 "$work/diff")"
ok "--json prints what is in compare.json, and nothing else"

# It is there for other programs.
grep -qE '^\| async \|' "$out/table.md" || fail "table.md has no row of async"
grep -q '^\\begin{tabular}' "$out/table.tex" || fail "table.tex has no table"
first=$(sed -n '1p' "$out/table.txt")
case $first in "Loss "*" is reached first by "* | "No arm is seen to reach loss "*) ;; *) fail "table.txt begins with: $first" ;; esac
grep -q '<section class="answer" id="answer">' "$out/report.html" || fail "the report has no answer"
[ "$(awk 'length > 80' "$work/five.log" | grep -vc '^report:')" -eq 0 ] || fail "what is printed is wider than 80 columns"
ok "the answer is in the terminal, the table, the report, Markdown and LaTeX"

tr '\n' ' ' <"$out/methods.txt" >"$work/methods.log"
for words in "with S$("$build/syncopate" --version | cut -c2-) (kernels: " "transport: auto" \
    "Arms: sync, 2 workers (seeds 1 to 5); async, 2 workers (seeds 1 to 5); ssp:1, 2 workers (seeds 1 to 5)." \
    "synthetic:2000, 2,000 examples (others for each seed), for 2 epochs (64 batches), 64 examples a batch" \
    "The target is loss " "with intervals of 95 % by Student's t"; do
    tells methods "$words"
done
ok "how it was measured can be quoted"

# And the reader would say so if it were not.
spoilt=$work/spoilt
mkdir "$spoilt"
for spoil in '/"time"/s/"low": [0-9.]/&5/' '/"seconds": {"mean".*median/s/"median": /&1/' '0,/"reached": [0-9]/s//"reached": 9/' \
    '0,/"accuracy_parity": "[a-z]*"/s//"accuracy_parity": "unheard of"/' \
    '/"exchanged_bytes": {"mean".*median/s/"median": /&1/'; do
    cp "$out/points.csv" "$spoilt/"
    sed "$spoil" "$out/compare.json" >"$spoilt/compare.json"
    if cmp -s "$out/compare.json" "$spoilt/compare.json"; then fail "$spoil changes nothing"; fi
    if python3 "$reader" "$spoilt" >/dev/null 2>&1; then fail "$spoil goes unseen"; fi
done
cp "$out/compare.json" "$spoilt/"
sed '0,/run_train_loss/s/\(run_train_loss.*\).$/\11/;0,/run_seconds/s/\(run_seconds,.*,\)/\11/' "$out/points.csv" >"$spoilt/points.csv"
if python3 "$reader" "$spoilt" >/dev/null 2>&1; then fail "points that are others go unseen"; fi
ok "another number in either file is seen"

run both 2 syncopate compare "${base[@]}" --target-loss 1 --target-accuracy 0.5
says both "one target at a time"
run guessed 2 syncopate compare "${base[@]}" --target-loss 2.5
says guessed "--target-loss=2.5: training starts with 2.303, the loss of guessing one of 10 classes; needs less"
run guess 2 syncopate compare "${base[@]}" --target-accuracy 0.1
says guess "--target-accuracy=0.1: guessing one of 10 classes has 0.1; needs more"
run percent 2 syncopate compare "${base[@]}" --target-accuracy 90
ok "two targets, one that guessing has, and an accuracy in percent, are refused"
