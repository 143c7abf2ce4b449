#!/usr/bin/env bash
# plans.sh - compare's arms by name and its plans in files, the shipped examples among them.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
examples=$(cd "$(dirname "$0")/../../deploy/compare/examples" && pwd)

small=(--virtual --data synthetic:600 --model softmax --steps 20)
out=$work/named
arms=(--arm "slow-start=--mode async --learning-rate 0.01 --warmup-steps 10" --arm plain=
    --arm "layers=--model 'flatten, dense 8 relu, dense 10'")

# digests DIR: of every run its name and what came out.
digests() { (cd "$1/runs" && grep -o '"parameters_sha256": "[0-9a-f]*"' -- */run.json); }
# compare.json in one line.
json() { tr -d ' \n' <"$1/compare.json"; }

run named 0 syncopate compare "${small[@]}" "${arms[@]}" --seeds 2 --out "$out"
[ "$(cd "$out/runs" && echo *)" = "layers-s1 layers-s2 plain-s1 plain-s2 slow-start-s1 slow-start-s2" ] ||
    fail "folders are not called as the arms: $(ls "$out/runs")"
for row in slow-start plain layers; do
    grep -qE "^$row +2 +2 " "$out/table.txt" || fail "the table has no row of $row"
    grep -q "^$row,1,loss," "$out/points.csv" || fail "points.csv has no $row"
    grep -q "$row" "$out/loss-seconds.svg" || fail "the figure does not call an arm $row"
done
tr '\n' ' ' <"$work/named.log" | grep -qE 'Only one arm reaches loss [0-9.]+: plain, in ' || fail "no sentence calls an arm by its name"
says named '^slow-start: --mode async --learning-rate 0.01 --warmup-steps 10$'
json "$out" | grep -qF '"arm":"slow-start","mode":"async","workers":2,"label":"slow-start"' || fail "compare.json has other names"
grep -q '<li>slow-start: <code>--mode async</code>' "$out/report.html" || fail "the page does not say what an arm has"
run inspect 0 syncopate inspect "$out"
head -n "$(wc -l <"$work/inspect.log")" "$out/table.txt" | cmp -s - "$work/inspect.log" || fail "inspect says otherwise"
ok "arms that are named are called so in folders, table, sentences, figures and files"

run crossed 0 syncopate compare "${small[@]}" --arm "half=--learning-rate 0.0005" --arm full= --modes sync,async \
    --workers 1,2 --out "$work/crossed"
[ -s "$work/crossed/runs/half-async-w2-s1/run.json" ] || fail "an arm is not called by its name and its axes"
[ "$(find "$work/crossed/runs" -name run.json | wc -l)" -eq 8 ] || fail "these are not eight runs"
says crossed '^sync: the same bits for 1 and 2 workers'
ok "every one of them meets what is varied"

# What is left in the folder is a plan.
run again 0 syncopate compare --plan "$out/plan.json" --out "$work/again"
diff <(digests "$out") <(digests "$work/again") >"$work/diff" || fail "OUT/plan.json makes other runs: $(head -3 "$work/diff")"
run over 0 syncopate compare --plan "$out/plan.json" --seeds 1 --steps 10 --arm "plain=--mode ssp:1" --out "$work/over"
[ "$(find "$work/over/runs" -name run.json | wc -l)" -eq 3 ] || fail "--seeds does not stand over the plan's"
[ "$(member "$work/over/runs/plain-s1" mode)" = ssp:1 ] || fail "--arm does not stand over the plan's"
[ "$(member "$work/over/runs/layers-s1" steps)" = 10 ] || fail "--steps does not stand over the plan's"
ok "a comparison's plan.json is a plan, and the command line stands over it"

kept() { cat "$out"/runs/{layers,plain,slow-start}-s[12]/run.json | sha256sum; }
before=$(kept)
run more 0 syncopate compare --plan "$out/plan.json" --arm "late=--mode async --staleness-rate inverse" --seeds 3 --out "$out"
[ "$(grep -c 'is there already' "$work/more.log")" -eq 6 ] || fail "what is there was not kept"
[ "$(kept)" = "$before" ] || fail "what is there was made anew"
grep -q '"late": {' "$out/plan.json" || fail "plan.json does not have the arm that was added"
run other 3 syncopate compare --plan "$out/plan.json" --arm "plain=--ps 2" --out "$out"
one_line other
says other 'begun without --ps in arm plain, and this one is with --ps 2'
ok "it goes on with more arms and seeds, and not with an arm that has become another"

cat >"$work/wrong.json" <<'END'
{"format": "syncopate-plan-2",
 "options": {"steps": 10},
 "arms": {"a": {"mode": "sync"},
          "b": {"learning-rate": "fast"}}}
END
run wrong 2 syncopate compare --plan "$work/wrong.json" --out "$work/never"
one_line wrong
says wrong "wrong.json: line 4: arms.b.learning-rate=fast: needs a number"
run gone 5 syncopate compare --plan "$work/there-is-none.json" --out "$work/never"
run none 2 syncopate compare "${small[@]}" --arm "a=--max-staleness 2 --mode sync" --out "$work/never"
one_line none
says none 'syncopate compare: --arm a: --max-staleness=2: only used with --mode=async\|ssp'
run model 2 syncopate compare "${small[@]}" --arm "a=--model 'dense 8'" --out "$work/never"
says model 'syncopate compare: --arm a: --model: '
[ ! -e "$work/never" ] || fail "a plan that cannot be leaves a folder"
ok "what cannot be is refused in a line, with the place in the file or the arm's name"

for plan in "$examples"/*.json; do
    name=$(basename "$plan" .json)
    run "$name" 0 syncopate compare --plan "$plan" --data synthetic:3000 --epochs 1 --seeds 1 --quiet --out "$work/$name"
    [ -s "$work/$name/report.html" ] || fail "$name leaves no report"
done
ok "the examples are plans that run"
