#!/usr/bin/env bash
# browser.sh - report.html as people see it: in a headless Chromium, on large and small screens, light and dark, printed
# and without scripts (browser.py has what must hold). TEST_PICTURES=FOLDER keeps the pictures.
# promises: trace
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

small=(--data synthetic:600 --model softmax --epochs 2 --workers 2)
run two 0 syncopate compare "${small[@]}" --out "$work/two"
run many 0 syncopate compare --virtual "${small[@]}" --modes sync,async,ssp:1,ssp:4,allreduce,sync+backup:1 --workers 2,4 \
    --seeds 2 --micro-batch 8 --slow 1:3 --out "$work/many"

# One run that fails, and Ctrl-C while others are to come.
run broken 0 syncopate compare --virtual "${small[@]}" --out "$work/broken"
: >"$work/broken/runs/async-w2-s2"
start broken-more syncopate compare --virtual "${small[@]}" --seeds 400 --out "$work/broken"
within 20 grep -qs 'class="failed"' "$work/broken/report.html" || fail "no run has failed"
kill -INT "${pids[broken-more]}"
ends broken-more 130
grep -q 'Ended early' "$work/broken/report.html" || fail "it was not ended early"

python3 "$looker" "$pictures" two="$work/two/report.html" many="$work/many/report.html" \
    broken="$work/broken/report.html" >"$work/look.log" 2>&1 || fail "the page is not as it should be"
grep -qx '3 pages looked at, 0 faults' "$work/look.log" || fail "nothing was looked at"
[ "$(find "$pictures" -name '*-1280-*.png' -size +50k -o -name '*-390-*.png' -size +50k | wc -l)" -ge 12 ] ||
    fail "pictures are missing"
ok "two arms, twelve, and one of which runs have failed and are to come: at 1280 and 390 px, light and dark, and on paper"
ok "the switch works with scripts and without, nothing is cut, small or faint, and nothing is asked for from outside"

if long_run; then
    python3 "$looker" --spoilt "$work/broken/report.html" >"$work/spoilt.log" 2>&1 || fail "what is wrong is not found"
    ok "pages that are spoilt are told apart"
fi
nothing_runs
