#!/usr/bin/env bash
# compare.sh - syncopate compare with processes: its files, runs that fail or are stopped, comparisons that go on, plans,
# and a program beside it. What the table and the report say of runs has unit tests.
# test: later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
examples=$(cd "$(dirname "$0")/../../deploy/compare/examples" && pwd)

small=(--data synthetic:600 --model softmax --steps 20 --warm-up 0 --quiet)
virtual=(--virtual "${small[@]}")
# results DIR: of every run its name and what came out.
results() { (cd "$1/runs" && grep -o '"parameters_sha256": "[0-9a-f]*"' -- */run.json); }
runs() { find "$1/runs" -name run.json | wc -l; }
# sums DIR...: of every file in them what it holds and when it was changed.
sums() { find "$@" -type f -printf '%p %s %T@\n' -exec sha256sum {} + | sort; }
compares() { run "$1" "$2" syncopate compare "${@:3}"; } # NAME CODE ARGUMENT...
# refused NAME CODE PATTERN ARGUMENT... - with one line, and no folder.
refused()
{
    compares "$1" "$2" "${@:4}" --out "$work/never"
    one_line "$1"
    says "$1" "$3"
    [ ! -e "$work/never" ] || fail "$1 leaves a folder"
}

# --- files ----------------------------------------------------------------------------------------
out=$work/out
run out 0 syncopate compare "${small[@]:0:6}" --warm-up 7 --workers 1,2 --seeds 2 --out "$out"
says out "^run 5 of 8: sync, 2 workers, 1 server, seed 2 \(about .* left\)"
says out "^sync: the same bits for 1 and 2 workers, for each of 2 seeds"
for file in report.html table.{txt,md,tex} methods.txt points.csv runs.csv compare.json steps.json runs/{sync,async}-w{1,2}-s{1,2}/run.json; do
    [ -s "$out/$file" ] || fail "there is no $file"
done
for arm in {sync,async}-w{1,2}; do
    grep -q "\"$arm\":{\"virtual\":false.*\"windows\":\[{" "$out/steps.json" || fail "steps.json has no step of $arm"
done
[ "$(grep -l '"step": 7,' "$out"/warm-up/*/run.json | wc -l)" -eq 4 ] || fail "not every arm was warmed up"
before=$(sums "$out/runs")
compares again 0 "${small[@]:0:6}" --warm-up 7 --workers 1,2 --seeds 3 --modes sync,async,ssp:1 --out "$out"
[ "$(grep -cx '  is there already' "$work/again.log")" -eq 8 ] || fail "what is there is made anew"
[ "$(sums "$out"/runs/{sync,async}-w[12]-s[12])" = "$before" ] || fail "what is there was touched"
[ "$(runs "$out")" -eq 18 ] || fail "these are not eighteen runs"
compares other 3 "${small[@]}" --learning-rate 0.5 --workers 1,2 --out "$out"
says other "begun without --learning-rate, and this one is with --learning-rate 0.5"
compares occupied 5 "${small[@]}" --out "$out/runs"
run inspect 0 syncopate inspect "$out"
head -n "$(wc -l <"$work/inspect.log")" "$out/table.txt" | cmp -s - "$work/inspect.log" || fail "inspect says otherwise"
run object 0 syncopate inspect "$out" --json
cmp -s <(grep -v '^  "kind"\|^  "path"' "$work/object.log") "$out/compare.json" || fail "inspect --json says otherwise"
run evaluate 5 syncopate evaluate "$out"
says evaluate "is a comparison; name one of its runs, which are folders in $out/runs$"
# A figure's CSV has the numbers of runs.csv.
run figure 0 syncopate figure "$out" --x workers --y train_loss --by mode --title Found --ideal 1:2,2:1 --out "$work/figure.html"
columns() { awk -F, -v names="$1" '{ sub(/"flatten[^"]*"/, "model") }
    NR == 1 { for (i in a) delete a[i]; for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, a, " "); next }
    { for (i = 1; i <= n; i++) printf "%s ", i < n ? $at[a[i]] : sprintf("%.12g", $at[a[i]]); print "" }' "$2" | sort; }
cmp -s <(columns "arm seed y" "$work/figure.csv") <(columns "arm seed train_loss" "$out/runs.csv") || fail "the figure has other numbers"
grep -q '"title":"Found".*"ideal":\["1:2,2:1"\].*"label":"ssp:1"' "$work/figure.html" || fail "the figure's page has no data"
for wrong in --x=nothing --by=nothing --y=nothing --ideal=1:2,3; do
    run wrong 2 syncopate figure "$out" "$wrong" --out "$work/never.html"
    one_line wrong
    says wrong "^syncopate figure: $wrong: no "
done
run wrong 5 syncopate figure "$out/runs" --out "$work/never.html"
says wrong "runs: is no comparison with a run that is done"
[ ! -e "$work/never.html" ] || fail "a figure of nothing is there"
ok "a figure has the numbers of its comparison's runs; names that nothing has are refused"
ok "a comparison has its files, and goes on with more seeds and modes; what is there stays, and is what inspect says"

# --- runs that fail, and comparisons that are cut off ----------------------------------------------
# While one run is under way a file takes the place of the next one's folder: that one fails, and no other.
some=$work/some slow=(--data synthetic:2560 --model softmax --compute constant:3ms --workers 1 --seeds 2 --warm-up 0)
start some syncopate compare "${slow[@]}" --steps 250 --out "$some"
within 30 test -e "$some/runs/sync-w1-s1" || fail "some: no run begins"
: >"$some/runs/async-w1-s1"
compares second 5 "${slow[@]}" --steps 250 --out "$some"
says second "some: another comparison is under way there"
ends some 5 60
says some '^syncopate compare: async-w1-s1: .*async-w1-s1'
says some '^syncopate compare: 1 of 4 runs failed$'
grep -q '^failed: async-w1-s1: ' "$some/table.txt" || fail "some: the table does not name it"
grep -q '"run": "async-w1-s1", "arm": "async-w1", "seed": 1, "exit_code": 5, ' "$some/compare.json" || fail "some: nor does compare.json"
[ "$(runs "$some")" -eq 3 ] || fail "some: the others are not made"
ok "one run that fails is named, gives the exit code, and the others are made; a second comparison in the folder is turned away"

# interrupted NAME FILE ARGUMENT... - by Ctrl-C, which all of its processes get, once the file is there.
interrupted()
{
    set -m # A group of its own, that hears of it.
    start "$1" syncopate compare "${@:3}"
    set +m
    within 60 test -s "$2" || fail "$1: no $2"
    kill -INT -- "-${pids[$1]}"
    ends "$1" 130 30
}
interrupted middle "$work/middle/runs/async-w1-s1/events.jsonl" "${slow[@]}" --steps 100000 --modes async --out "$work/middle"
interrupted end "$work/end/runs/async-w1-s1/model.safetensors" "${slow[@]}" --steps 20 --modes async --out "$work/end"
[ ! -e "$work/end/runs/async-w1-s2/model.safetensors" ] || fail "end: the next run is made all the same"
long=(--virtual --data synthetic:1000 --model softmax --epochs 300 --workers 4 --seeds 2)
interrupted virtual "$work/virtual/runs/sync-w4-s1/events.jsonl" "${long[@]}" --out "$work/virtual"
says virtual "the same command with --out $work/virtual goes on"
ok "Ctrl-C ends a comparison, of real and of virtual runs, in the middle of a run and at its end"

# Killed with its children in the middle, and gone on with: sync has the bits that it has without.
cut=(--data synthetic:2000 --model softmax --epochs 6 --checkpoint-every 20 --workers 2 --seeds 2 --warm-up 0 --quiet)
compares whole 0 "${cut[@]}" --out "$work/whole"
setsid "$build/syncopate" compare "${cut[@]}" --compute constant:8ms --out "$work/cut" >"$work/cut.log" 2>&1 </dev/null &
pids[cut]=$!
within 60 test -e "$work/cut/runs/async-w2-s2/checkpoints" || fail "cut: it does not come to its third run"
disown "${pids[cut]}"
kill -KILL -- "-${pids[cut]}"
within 10 gone cut || fail "cut: it does not die"
compares cut 0 "${cut[@]:0:14}" --compute constant:8ms --out "$work/cut"
[ "$(grep -cx '  is there already' "$work/cut.log")" -eq 2 ] || fail "cut: not two runs were done"
cmp -s <(results "$work/whole" | grep ^sync-) <(results "$work/cut" | grep ^sync-) || fail "cut: sync has other bits"
start killed syncopate compare "${long[@]}" --out "$work/virtual" --quiet
within 60 test -s "$work/virtual/runs/async-w4-s1/events.jsonl" || fail "killed: no run begins"
murder killed
nothing_runs
ok "killed, with its runs or alone, it goes on, and nothing outlives it; sync has its bits"

# --- for a paper ----------------------------------------------------------------------------------
compares paper 0 --virtual --data synthetic:2000 --model softmax --epochs 2 --compute "lognormal:20ms,0.3" --workers 4 \
    --modes "sync,async,ssp:2,sync+backup:1" --seeds 3 --quiet --out "$work/paper"
[ "$(grep -c '^arm ' "$work/paper.log")" -eq 1 ] || fail "paper: not one table"
[ "$(grep -c '^arm ' "$work/paper/table.txt")" -gt 3 ] || fail "paper: the file has no more"
for words in "seeds 1 to 3" "intervals of 95 %" "All runs do equal work" "arms differ in what is named here" "[(]commit [0-9a-f]"; do
    tr '\n' ' ' <"$work/paper/methods.txt" | grep -qE "$words" || fail "paper: methods.txt does not say: $words"
done
[ "$(grep -c '^.begin{table}' "$work/paper/table.tex")" -eq 3 ] || fail "paper: not three tables"
awk '/begin{tabular}.*p{/ { gsub(/.*}|@.*/, ""); if (length($0) > 6) exit 1 }' "$work/paper/table.tex" || fail "paper: more than seven columns"
if [ -z "$(kpsewhich booktabs.sty 2>/dev/null)" ]; then
    skip "table.tex set by pdflatex: no texlive-latex-recommended"
else
    cat >"$work/paper/paper.tex" <<'END'
\documentclass{article}
\usepackage{booktabs,array}
\begin{document}
\input{table}
\ref{tab:target}, \ref{tab:runs}, \ref{tab:cost}
\end{document}
END
    # The second knows the labels.
    (cd "$work/paper" && pdflatex -interaction=batchmode paper && pdflatex -interaction=batchmode paper) >/dev/null || fail "paper: it cannot be set"
    if grep -E 'Overfull|undefined|Missing character' "$work/paper/paper.log"; then fail "paper: the tables do not fit"; fi
    grep -q '^Output written on paper.pdf' "$work/paper/paper.log" || fail "paper: there is none"
    ok "table.tex is three tables that pdflatex sets without an overfull box"
fi
ok "a terminal has one table, table.txt all; methods.txt says seeds, intervals, work and commit"

# --- virtual time ---------------------------------------------------------------------------------
few=(--virtual --data synthetic:1000 --model softmax --epochs 2 --network "1Gbit,50us" --slow 1:3 --modes "sync,async,ssp:1" --workers "2,5")
compares few 0 "${few[@]}" --out "$work/few"
compares few-too 0 "${few[@]}" --out "$work/few-too"
cmp -s <(results "$work/few") <(results "$work/few-too") || fail "few: the same comparison, other bits"
grep -q '^seconds are of virtual time: every process on a host of its own, 1Gbit, 50us' "$work/few/table.txt" || fail "few: whose seconds are these"
[ -z "$(find "$work/few" -name machine.json -o -name warm-up)" ] || fail "few: it was warmed up or disturbed"
compares wrong 2 "${virtual[@]}" --network 1Gibt --modes sync --workers 2 --out "$work/wrong"
says wrong "^syncopate compare: sync-w2-s1: --network=1Gibt: "
ok "in virtual time the same comparison has the same bits in every mode"

# --- plans ----------------------------------------------------------------------------------------
arms=(--arm "slow-start=--mode async --learning-rate 0.01 --warmup-steps 10" --arm plain= --arm "layers=--model 'flatten, dense 8 relu, dense 10'")
compares named 0 "${virtual[@]:0:7}" "${arms[@]}" --seeds 2 --out "$work/named"
[ "$(cd "$work/named/runs" && echo *)" = "layers-s1 layers-s2 plain-s1 plain-s2 slow-start-s1 slow-start-s2" ] ||
    fail "folders are not called as the arms: $(ls "$work/named/runs")"
for file in table.txt points.csv runs.csv compare.json report.html; do
    grep -q slow-start "$work/named/$file" || fail "$file does not call an arm by its name"
done
compares plan 0 --plan "$work/named/plan.json" --out "$work/plan"
cmp -s <(results "$work/named") <(results "$work/plan") || fail "plan.json makes other runs"
compares over 0 --plan "$work/named/plan.json" --seeds 1 --steps 10 --arm "plain=--mode ssp:1" --out "$work/over"
[ "$(runs "$work/over")-$(member "$work/over/runs/plain-s1" mode)-$(member "$work/over/runs/layers-s1" steps)" = 3-ssp:1-10 ] ||
    fail "the command line does not stand over the plan's"
compares more 0 --plan "$work/named/plan.json" --arm "late=--mode async --staleness-rate inverse" --seeds 3 --out "$work/named"
[ "$(grep -c 'is there already' "$work/more.log")" -eq 6 ] || fail "what is there was not kept"
rm "$work/named/report.html"
mkdir "$work/named/report.html"
compares unwritten 5 --plan "$work/named/plan.json" --out "$work/named"
says unwritten "report.html: Is a directory"
if grep '^report: ' "$work/unwritten.log"; then fail "a report that is not written is said to be there"; fi
compares crossed 0 "${virtual[@]}" --arm "half=--learning-rate 0.0005" --arm full= --vary max-staleness=1,2 --modes sync,async --out "$work/crossed"
[ "$(runs "$work/crossed")" -eq 6 ] || fail "a mode without use for a bound has more arms than one"
for plan in "$examples"/*.json; do
    name=$(basename "$plan" .json)
    compares "$name" 0 --plan "$plan" --data synthetic:3000 --epochs 1 --seeds 1 --quiet --out "$work/$name"
    [ -s "$work/$name/report.html" ] || fail "$name leaves no report"
done
ok "arms that are named are called so; plan.json is a plan, as the examples are, and the command line stands over it"

# --- a program beside it --------------------------------------------------------------------------
if ! grep -q '^cpu0 ' /proc/stat 2>/dev/null; then
    skip "other processes beside a run: no /proc/stat of Linux"
    exit 0
fi
number() { sed -nE "s/^ *\"$2\": ([-+.e0-9]+),?$/\1/p" "$1"; } # FILE MEMBER
ticks() { awk '{ print $14 + $15 }' "/proc/$busy/stat"; }        # Of the processors' time.
while :; do :; done &
busy=$!
began=$(ticks)
compares beside 0 "${slow[@]}" --seeds 1 --steps 500 --modes sync --out "$work/beside"
had=$(($(ticks) - began))
kill "$busy"
{ wait "$busy" || true; } 2>/dev/null
machine=$work/beside/runs/sync-w1-s1/machine.json
# What it had in all was in as many seconds as compare took; the run was most of these.
awk -v others="$(number "$machine" others_cpu_seconds)" -v own="$(number "$machine" own_cpu_seconds)" -v second="$(getconf CLK_TCK)" \
    -v seconds="$(number "$machine" seconds)" -v processors="$(number "$machine" processors)" -v had="$had" \
    'BEGIN { exit !(others > 0.3 * had / second && seconds > 1 && own > 0 && others <= processors * seconds * 1.05) }' ||
    fail "that is not whose time it was: $(cat "$machine")"
says beside '^noisy: in 1 of 1 run others had more than 5 %'
ok "the time of a program beside a run is others', no more than there was, and the run is called noisy"
nothing_runs
