#!/usr/bin/env bash
# browser.sh - the page as people see it: in a headless Chromium, on large and small screens, light, dark and printed
# (browser.py has what must hold). TEST_PICTURES=FOLDER keeps the pictures.
# promises: serve teach trace
# needs: python3 chromium chromedriver
# test: once rare
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
looker=$(cd "$(dirname "$0")" && pwd)/browser.py

if ! python3 -c 'import selenium' 2>/dev/null; then
    skip "the report in a browser, on large and small screens, dark, printed: no python3-selenium"
    exit 0
fi
# Whatever a browser keeps of who starts it goes away with the rest.
export HOME=$work/home TMPDIR=$work/home
mkdir "$HOME"
pictures=${TEST_PICTURES:-$work}
mkdir -p "$pictures"

small=(--data synthetic:600 --model softmax --epochs 2)
times=(--compute "lognormal:20ms,0.3" --straggle "0.05:pareto:10")
run two 0 syncopate compare "${small[@]}" --out "$work/two"
run many 0 syncopate compare --virtual "${small[@]}" "${times[@]}" --modes sync,async,ssp:2,allreduce,sync+backup:1 --workers 2,4 \
    --seeds 3 --micro-batch 8 --report-every 1 --out "$work/many"
run one 0 syncopate compare --virtual "${small[@]}" --workers 4 --compute constant:5ms --seeds 1 --out "$work/one"
run diverged 0 syncopate compare --virtual "${small[@]}" --vary learning-rate=0.1,1e6 --seeds 3 --out "$work/diverged"
# Runs: one that loses a worker and a server, one of the modes without staleness; and a trace alone.
run lost 0 syncopate simulate --data synthetic:6000 --model softmax --epochs 2 --workers 4 --ps 2 --mode async "${times[@]:0:2}" \
    --kill worker/1@1s+1s,ps/1@2s+1s --trace --out "$work/lost"
run sync 0 syncopate run "${small[@]}" --trace --out "$work/sync"
run alone 195 syncopate simulate "${small[@]}" --workers 1 --kill worker/0@1ms --out "$work/alone" # Nobody computes.
run trace 0 syncopate trace "$work/lost/trace.spans" --out "$work/trace.html"

# One figure, with notes.
run figure 0 syncopate figure "$work/many" --x workers --y step_p50,step_p99 --by mode --log xy --out "$work/figure.html" \
    --note "What: words enough to take two lines on a small screen, which the figure's page has below its picture."

# One run that fails, and Ctrl-C while others are to come.
run broken 0 syncopate compare --virtual "${small[@]}" --out "$work/broken"
: >"$work/broken/runs/async-w2-s2"
start broken-more syncopate compare --virtual "${small[@]}" --seeds 400 --out "$work/broken"
within 20 grep -qs '"failed":\[{"run"' "$work/broken/report.html" || fail "no run has failed"
kill -INT "${pids[broken-more]}"
ends broken-more 130
grep -q 'Ended early' "$work/broken/report.html" || fail "it was not ended early"

pages=(trace="$work/trace.html" figure="$work/figure.html")
for name in two many one diverged lost sync alone broken; do pages+=("$name=$work/$name/report.html"); done
python3 "$looker" "$pictures" "${pages[@]}" >"$work/look.log" 2>&1 || fail "a page is not as it should be: $(cat "$work/look.log")"
grep -qx '10 pages looked at, 0 faults' "$work/look.log" || fail "nothing was looked at"
[ "$(find "$pictures" -name '*-1280-*.png' -size +30k -o -name '*-390-*.png' -size +30k | wc -l)" -ge 27 ] ||
    fail "pictures are missing"
ok "comparisons of two arms, ten, one seed, arms that diverge and runs that fail, runs with and without losses, a trace, and a figure: at 1280, 768 and 390 px, light, dark, on paper"
ok "switches, keys and one figure alone work, labels do not overlap, nothing is cut, small or faint, and nothing is asked for from outside"

# --- live: a worker is stopped, and server 0 killed ----------------------------------------------------
start live syncopate run --data synthetic:6000 --model softmax --workers 3 --compute constant:10ms --steps 1000000 --trace \
    --serve 0 --teach --out "$work/live"
says live "page  *http://.*/#token=[0-9a-f]{32}$"
page=$(sed -nE 's/.*page +//p' "$work/live.log")
within 20 grep -qsF "\"page\": \"${page%#*}\"" "$work/live/run.json" || fail "run.json does not say where the page is"
process() { pgrep -P "${pids[live]}" -f "syncopate-$1 .*--task-index=$2( |\$)"; }
within 20 process worker 1 >/dev/null || fail "there is no worker 1"
python3 "$looker" --live "$pictures" "$page" \
    true "worker/0.*(computes|exchanges|waits)" "kill -STOP $(process worker 1)" "waits for worker/1(.|\\n)*silent, " \
    "kill -CONT $(process worker 1)" . "press worker/1" . "press kill" "worker/1 is killed\n(.|\n)*worker/1 is lost" \
    "press ps/0" . "press kill" "No answer|training begins(.|\n)*training begins" \
    true "training begins(.|\n)*training begins" reload "full speed" "press full speed" "runs at full speed again" >"$work/follow.log" 2>&1 || fail "the live page is not as it should be: $(cat "$work/follow.log")"
kill -TERM "${pids[live]}"
ends live 143
grep -q '"page"' "$work/live/run.json" && fail "run.json says where a page is that is no more"
ok "the page of a run under way says who is waited for, what happens, and goes on after a worker and server 0 were killed from it"

if long_run; then
    python3 "$looker" --spoilt "$work/two/report.html" >"$work/spoilt.log" 2>&1 || fail "what is wrong is not found: $(cat "$work/spoilt.log")"
    ok "pages that are spoilt are told apart"
fi
nothing_runs
