#!/usr/bin/env bash
# merges.sh - compare --merge: several comparisons become one, or what is not alike is named.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

common=(--data synthetic:600 --model softmax --steps 20 --warm-up 0 --quiet)
small=(--virtual "${common[@]}")
a=$work/a b=$work/b c=$work/c

# sums DIR...: of every file in them what it holds and when it was changed.
sums() { find "$@" -type f -printf '%p %s %T@\n' -exec sha256sum {} + | sort; }
# refused NAME CODE PATTERN ARGUMENT... - merging so ends with this code and one line.
refused()
{
    local name=$1 code=$2 pattern=$3
    shift 3
    run "$name" "$code" syncopate compare "$@" --out "$work/never"
    one_line "$name"
    says "$name" "$pattern"
    [ ! -e "$work/never" ] || fail "$name leaves a folder"
}

run first 0 syncopate compare "${small[@]}" --modes sync,async --seeds 2 --out "$a"
run second 0 syncopate compare "${small[@]}" --modes ssp:3,async --workers 2,4 --seeds 3 --out "$b"
before=$(sums "$a" "$b")
run merged 0 syncopate compare --merge "$a" --merge "$b" --out "$c"
says merged '^14 runs of 2 comparisons; what several have is taken once$'
says merged "^1 are not done: syncopate compare --plan $c/plan.json --out $c makes them$"
[ "$(find "$c/runs" -name run.json | wc -l)" -eq 14 ] || fail "these are not fourteen runs"
for file in report.html table.txt points.csv compare.json; do
    [ -s "$c/$file" ] || fail "there is no $file"
done
grep -qE '^sync +2 +2 ' "$c/table.txt" || fail "an arm is not called as it was: $(cat "$c/table.txt")"
[ "$(sums "$a" "$b")" = "$before" ] || fail "merging changed what was merged"
run inspect 0 syncopate inspect "$c"
head -n "$(wc -l <"$work/inspect.log")" "$c/table.txt" | cmp -s - "$work/inspect.log" || fail "inspect says otherwise"
ok "two comparisons are one with all their arms and runs, and stay as they are"

# A run that diverged is an outcome: it is in the conclusion of both.
wild=(--virtual --svg-only --quiet --data synthetic:2000 --epochs 2 --workers 4 --seeds 2 --optimizer nesterov --learning-rate 8)
wild+=(--model "flatten, dense 64 relu, dense 64 relu, dense 64 relu, dense 10")
run wild 1 syncopate compare "${wild[@]}" --arm "calm=--learning-rate 0.01" --arm "wild=--mode async" --out "$work/wild"
run gone 1 syncopate compare "${wild[@]}" --arm "gone=--mode ssp:3" --out "$work/gone"
run both 0 syncopate compare --merge "$work/wild" --merge "$work/gone" --out "$work/both"
for arm in wild gone; do
    [ "$(grep -c "^$arm,[12],run_fate,0,0,,1$" "$work/both/points.csv")" -eq 2 ] || fail "runs of $arm that diverged are left out"
done
ok "runs that diverged are in what is merged, too"

run further 0 syncopate compare --plan "$c/plan.json" --out "$c"
[ "$(grep -c 'is there already' "$work/further.log")" -eq 14 ] || fail "what was merged is made anew"
[ "$(sums "$a" "$b")" = "$before" ] || fail "going on changed what was merged"
run whole 0 syncopate compare --plan "$c/plan.json" --quiet --out "$work/whole"
diff <(grep -v '"command"' "$work/whole/compare.json") <(grep -v '"command"' "$c/compare.json") >"$work/diff" ||
    fail "it is not as if it had been made at once: $(head -3 "$work/diff")"
ok "it goes on, and then is as if it had been made at once"

# Cut off in the middle: some runs are there, one half, others not.
rm -rf "$c/runs/ssp-3-w4-s2" "$c/runs/sync-w2-s1" "$c/compare.json" "$c/report.html"
mkdir "$c/runs/sync-w2-s1.part" && : >"$c/runs/sync-w2-s1.part/run.json"
run resumed 0 syncopate compare --merge "$a" --merge "$b" --out "$c" --quiet
[ ! -e "$c/runs/sync-w2-s1.part" ] || fail "what a crash left is still there"
cmp -s "$a/runs/sync-w2-s1/run.json" "$c/runs/sync-w2-s1/run.json" || fail "what was missing is not there"
[ -s "$c/compare.json" ] || fail "there is no compare.json"
sed -i 's/"parameters_sha256": "./"parameters_sha256": "f/' "$c/runs/async-w4-s1/run.json"
run changed 3 syncopate compare --merge "$a" --merge "$b" --out "$c" --quiet
says changed 'async-w4-s1 is in both and came out with other bits'
ok "a merge that was cut off goes on, and does not take another run for one of its own"

run other 0 syncopate compare "${small[@]}" --modes async --workers 4 --seeds 3 --optimizer sgd --micro-batch 8 \
    --network 1Gbit --out "$work/other"
refused differs 3 "do not go together: --optimizer adam and sgd; --micro-batch 16 and 8; --network \(none\) and 1Gbit" \
    --merge "$a" --merge "$work/other"
run real 0 syncopate compare "${common[@]}" --modes sync,async --out "$work/real"
refused clocks 3 "virtual seconds and real ones" --merge "$a" --merge "$work/real"
run data 0 syncopate compare --virtual --model softmax --steps 20 --data synthetic:700 --quiet --modes async --out "$work/data"
refused examples 3 "--data synthetic:600 and synthetic:700; 600 examples and 700 examples to train on" \
    --merge "$a" --merge "$work/data"
# A plan may have been written by hand: the runs say what they are.
sed -i 's/synthetic:700/synthetic:600/' "$work/data/plan.json"
refused runs 3 "do not go together: 600 examples and 700 examples to train on" --merge "$a" --merge "$work/data"
run slow 0 syncopate compare "${small[@]}" --arm "x=--mode async --ps 2" --out "$work/slow"
run fast 0 syncopate compare "${small[@]}" --arm "x=--mode async --ps 3" --out "$work/fast"
refused arms 3 "both have an arm x, which is not the same" --merge "$work/slow" --merge "$work/fast"
ok "each thing in which they differ is named"

# The same arm and seed twice: of sync the bits are the same, of async hardly.
run again 0 syncopate compare "${common[@]}" --modes sync --out "$work/again"
run once 0 syncopate compare --merge "$work/real" --merge "$work/again" --out "$work/once"
says once '^2 runs of 2 comparisons; what several have is taken once$'
sed -i 's/"parameters_sha256": "./"parameters_sha256": "x/' "$work/again/runs/sync-w2-s1/run.json"
refused bits 3 "sync-w2-s1 is in both and came out with other bits" --merge "$work/real" --merge "$work/again"
ok "a run that both have is taken once if it has the same bits, and else refused by name"

refused alone 2 "--merge: needs the folders of several comparisons" --merge "$a"
refused twice 2 "are one folder" --merge "$a" --merge "$a/../a"
refused options 2 "--seeds and --merge: comparisons that are merged have their own options" --merge "$a" --merge "$b" --seeds 4
run inside 2 syncopate compare --merge "$a" --merge "$b" --out "$b/runs/c"
says inside "which is not to be changed"
refused none 5 "there-is-none" --merge "$a" --merge "$work/there-is-none"
mv "$b/runs/ssp-3-w2-s1" "$work/moved"
ln -s "$work/moved" "$b/runs/ssp-3-w2-s1"
ln -s /etc "$work/moved/logs"
run link 5 syncopate compare --merge "$a" --merge "$b" --out "$work/linked"
says link "logs in it is a symbolic link"
rm "$work/moved/logs"
sed -i 's/"state": "done"/"state": "running"/' "$work/moved/run.json"
run partly 0 syncopate compare --merge "$a" --merge "$b" --out "$work/linked"
says partly '^13 runs of 2 comparisons'
says partly '^2 are not done'
ok "what cannot be merged is refused, and what is not done is left out"
