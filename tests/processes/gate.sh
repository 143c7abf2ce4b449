#!/usr/bin/env bash
# gate.sh - the gate itself: what the runner makes of programs that pass, fail, skip, hang, crash, say nothing or pass
# the second time; what .ci/run makes of stages; that include_direction.sh and citations.sh name each include and pointer
# that is planted in a copy of the sources; and that the mode that common/CHANGING.md adds, a file and a row, is built
# there and kept to what it promises; and lab 9 is green with its solution.
# test: once later
# promises: check
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)

# program NAME TEXT - a test program that is this shell script, in $work.
program()
{
    printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}
# tried CODE LAST-LINE NAME... - the runner ends so, given those programs. It waits for none as long as $limit.
limit=60
tried()
{
    local code=0 wanted=$1 last=$2
    shift 2
    TEST_TIMEOUT=$limit TEST_VERBOSE='' JOBS=2 "$tests/run_tests.sh" "${@/#/$work/}" >"$work/runner.log" 2>&1 || code=$?
    if [ "$code" -ne "$wanted" ]; then fail "the runner ended with exit code $code, not $wanted"; fi
    if [ "$(tail -n 1 "$work/runner.log")" != "$last" ]; then fail "the last line is not: $last"; fi
}

program good 'echo "ok - one"; echo "ok - two"'
program check 'echo "Running suite(s): x"; echo "66%: Checks: 3, Failures: 1, Errors: 0"; exit 1'
program checks 'echo "100%: Checks: 3, Failures: 0, Errors: 0"; echo "100%: Checks: 4, Failures: 0, Errors: 0"'
program skips 'echo "ok - one"; echo "SKIPPED - the other: there is no other"'
program skips_all 'echo "SKIPPED - all of it: no root"'
program check_skips 'echo "SKIPPED - one: no root"; echo "100%: Checks: 3, Failures: 0, Errors: 0"'
program silent 'exit 0'
program chats 'echo "all is well"'
program nothing 'echo "100%: Checks: 0, Failures: 0, Errors: 0"'
program hangs 'echo "ok - one"; exec sleep 60'
program crashes 'echo "ok - one"; kill -SEGV $$'
program fails 'echo "ok - one"; exit 3'
program lies 'echo "not ok - one"; exit 0'

tried 0 "2 passed, 0 failed, 0 skipped" good
tried 0 "9 passed, 0 failed, 0 skipped" good checks
tried 1 "2 passed, 1 failed, 0 skipped" check
says runner "check: exit code 1"
ok "lines of scripts and check's own are counted"

tried 0 "3 passed, 0 failed, 3 skipped" skips skips_all check_skips
says runner "skips: the other: there is no other"
says runner "check_skips: one: no root"
ok "what was skipped is counted and named, and is not passed as well"

# shellcheck disable=SC2016 # It is the program that says which.
program asked 'echo "ok - one, of ${TEST_LONG:-short}"'
TEST_LONG=only TEST_WHOLE="$work/asked $work/skips" TEST_VERBOSE=1 "$tests/run_tests.sh" "$work/asked" >"$work/whole.log"
says whole "one, of 1"
TEST_LONG=only TEST_WHOLE="$work/asked.sh" TEST_VERBOSE=1 "$tests/run_tests.sh" "$work/asked" >"$work/part.log"
says part "one, of only"
ok "programs that are to be run whole are, whatever part the others run"

for name in silent chats nothing; do
    tried 1 "2 passed, 1 failed, 0 skipped" "$name" good
    says runner "$name: does not say what it has tried"
done
ok "who says nothing of tests has failed"

limit=$patience # Enough for its one word.
tried 1 "1 passed, 1 failed, 0 skipped" hangs
limit=60
says runner "hangs: gave up after"
tried 1 "1 passed, 1 failed, 0 skipped" crashes
says runner "crashes: exit code 139"
tried 1 "1 passed, 1 failed, 0 skipped" fails
says runner "fails: exit code 3"
tried 1 "0 passed, 1 failed, 0 skipped" lies
tried 1 "0 passed, 1 failed, 0 skipped" is_not_there
ok "who hangs, crashes, fails or is not there has failed"

tried 0 "4 passed, 0 failed, 0 skipped" good good
if [ "$(grep -c 'one' "$work/runner.log")" -ne 0 ]; then fail "what passing programs print is shown"; fi

# Its second try finds the file of the first, and nobody beside it.
program late "trap 'rm $work/late.runs' EXIT; : >$work/late.runs
    if [ -e $work/late.was ]; then ls $work/*.runs; echo 'ok - one'; else : >$work/late.was; echo 'not ok - one'; exit 1; fi"
program late_too "$(sed -e 1d -e "s/late\./late_too./g" "$work/late")"
program beside ": >$work/beside.runs; until [ -e $work/late_too.was ]; do sleep 0.1; done; rm $work/beside.runs; echo 'ok - one'"
tried 0 "3 passed, 0 failed, 0 skipped" late beside late_too
if [ "$(tail -n 2 "$work/runner.log" | head -n 1)" != "passed the second time: $work/late, $work/late_too" ]; then
    fail "runner does not name what passed the second time above its last line"
fi
rm "$work"/*.was
TEST_VERBOSE=1 JOBS=3 "$tests/run_tests.sh" "$work"/{late,beside,late_too} >"$work/alone.log"
if [ "$(grep -c '\.runs$' "$work/alone.log")" -ne 2 ]; then fail "alone has company in its second try"; fi
tried 1 "2 passed, 1 failed, 0 skipped" good lies
ok "what fails among others runs once more, alone, and what passes then is counted and named"

# A script calls what it declares, and no other program of this machine.
mkdir "$work/extra"
program extra/odd 'echo odd'
program calls.sh 'odd && echo "ok - one"'
program declares.sh "# needs: odd
odd && echo 'ok - one'"
program asks.sh "# uses: odd is_not_there
! command -v is_not_there && odd && echo 'ok - one'"
program lacks.sh "# needs: odd is_not_there
exit 1"
whole=$PATH
PATH=$work/extra:$PATH
tried 0 "2 passed, 0 failed, 1 skipped" declares.sh asks.sh lacks.sh
says runner "lacks.sh: all of it: no is_not_there"
tried 1 "0 passed, 1 failed, 0 skipped" calls.sh
says runner "odd: not found"
PATH=$whole
ok "a script has the programs that it declares, and is skipped where one is not there"

# --- stages ---------------------------------------------------------------------------------------
# staged CODE LAST-LINE LINE... - a script with these stages ends so.
staged()
{
    local code=0 wanted=$1 last=$2
    shift 2
    {
        echo "set -euo pipefail; . '$tests/stages.sh'"
        printf '%s\n' "$@" closing
    } >"$work/stages"
    (cd "$work" && bash stages) >"$work/stages.log" 2>&1 || code=$?
    if [ "$code" -ne "$wanted" ]; then fail "the stages ended with exit code $code, not $wanted"; fi
    if [ "$(tail -n 1 "$work/stages.log")" != "$last" ]; then fail "the last line is not: $last"; fi
}
program tests_pass 'echo noise; echo "7 passed, 0 failed, 2 skipped"'
program tests_fail 'echo "7 passed, 2 failed, 0 skipped"; exit 1'
program tests_break 'echo "7 passed, 0 failed, 0 skipped"; exit 2'
cat >"$work/tests_late" <<'END'
#!/bin/sh
echo "[1/2] a/c.sh   0 passed 1 s, 1 FAILED, once more"; echo "    not ok - c is d"
echo "[2/2] a/c.sh   3 passed 1 s"; echo "passed the second time: a/c.sh"; echo "3 passed, 0 failed, 0 skipped"
END
chmod +x "$work/tests_late"
program line_too_early 'echo "7 passed, 0 failed, 0 skipped"; echo "make: *** Error 1"'

program tests_by_make 'echo "[1/2] a/b.sh   6 passed 1 s, 1 FAILED"; echo "    not ok - b is c"'
cat >>"$work/tests_by_make" <<'END'
echo "6 passed, 1 failed, 0 skipped"; echo "make[1]: *** [Makefile:7: check] Error 1"; exit 2
END

staged 0 "8 passed, 0 failed, 2 skipped" "stage tests ./tests_pass" "step other true"
says stages "^tests +7 +0 +2 +[0-9]+$"
says stages "^in all +[0-9]+$"
staged 1 "14 passed, 2 failed, 2 skipped" "stage bad ./tests_fail" "stage good ./tests_pass"
staged 1 "7 passed, 1 failed, 0 skipped" "stage broken ./tests_break"
staged 1 "0 passed, 1 failed, 0 skipped" "step other false"
staged 1 "19 passed, 2 failed, 2 skipped" "stage made ./tests_by_make" "stage tests ./tests_pass" \
    "stage again ./tests_by_make"
says stages "^made: .*a/b.sh +6 passed 1 s, 1 FAILED$"
says stages "^again: .*a/b.sh +6 passed 1 s, 1 FAILED$"
if [ "$(tail -n 3 "$work/stages.log" | grep -c 'b is c')" -ne 1 ]; then fail "it does not end with what failed"; fi
staged 0 "6 passed, 0 failed, 0 skipped" "stage one ./tests_late" "stage two ./tests_late"
says stages "^one: .*a/c.sh +0 passed 1 s, 1 FAILED, once more$"
if [ "$(tail -n 2 "$work/stages.log" | head -n 1)" != "passed the second time: one: a/c.sh, two: a/c.sh" ]; then
    fail "stages do not name what passed the second time above their last line"
fi
ok "stages are summed up, what failed is named at the end, and the last line is theirs"
staged 1 "0 passed, 1 failed, 0 skipped" "stage silent ./silent"
says stages "silent: the last line does not say what passed"
staged 1 "0 passed, 1 failed, 0 skipped" "stage early ./line_too_early"
staged 1 "7 passed, 1 failed, 2 skipped" "stage gone ./is_not_there" "stage tests ./tests_pass"
ok "a stage of tests that does not say what it has tried has failed"

# --- includes and pointers -------------------------------------------------------------------------
copy=$work/copy
mkdir "$copy"
(cd "$root" && cp -r common ps worker deploy proto tests "$copy")

# add FILE LINE - to its end.
declare -A touched=()
expected=()
add()
{
    echo "$2" >>"$copy/$1"
    touched[$1]=1
}
# seen SCRIPT - it says each of the lines of $expected; files that were added to are then as before.
seen()
{
    local line
    if "$root/tests/$1" "$copy" >"$work/check.log"; then fail "nothing is said"; fi
    sed -E 's/^not ok - [a-z ]+: //' "$work/check.log" >"$work/said"
    for line in "${expected[@]}"; do
        grep -qE "^$line" "$work/said" || fail "it does not say: $line"
    done
    if [ ${#touched[@]} -gt 0 ]; then (cd "$root" && cp --parents "${!touched[@]}" "$copy"); fi
    expected=() touched=()
}
# only COUNT - so many lines, and no more.
only() { if [ "$(wc -l <"$work/said")" -ne "$1" ]; then fail "more is said than was planted: $(cat "$work/said")"; fi; }

cp "$root/README.md" "$root/Makefile" "$copy"
for check in include_direction citations; do
    "$root/tests/$check.sh" "$copy" >"$work/check.log" || fail "$(cat "$work/check.log")"
done

# planted FILE INCLUDE WHAT - is said of that file with that include.
planted()
{
    add "$1" "#include $2"
    expected+=("$1 includes ${2//[<>\"]/}, $3\$")
}
planted common/base/clock.c '"common/wire/message.h"' "of a room that is not below"
planted common/keys/keys.c '"common/address/route.h"' "of a room that is not below" # Level with it.
planted ps/owner/owner.c '"ps/router/router.h"' "of a room that is not below"
planted ps/owner/owner.c '"ps/extension/scores.h"' "which only listens: owners know its table alone"
planted deploy/cluster/cluster.c '"deploy/report/table.h"' "of a room that is not below"
expected+=("deploy/cluster/cluster.c includes deploy/report/table.h, and deploy/cluster only what is common\$")
planted deploy/cluster/cluster.c '"ps/owner/owner.h"' "and deploy/cluster only what is common"
planted ps/cores.c '"worker/training.h"' "against the arrows"
planted ps/server.c '<zmq.h>' "which belongs in common/transport/zmq only"
planted common/wire/message.c '"proto/tensorboard.pb-c.h"' "which belongs in common/tensorboard/board_event.c only"
planted common/wire/message.c '"proto/other.pb-c.h"' "which has no door in this script"
seen include_direction.sh
only 11
ok "an include against the arrows is seen"

# asks FILE CODE - a way around a mode's facts, in a line of its own at the end of that file.
asks()
{
    add "$1" "$2"
    expected+=("$1:[0-9]+ asks which mode it is")
}
asks ps/owner/owner.c 'bool q(const struct job *job) { return job->mode != 0; }'        # Read.
asks ps/router/router.c 'bool is_async(const struct router *router);'                   # Asked by a function.
asks worker/training.c 'struct kept { bool sync; };'                                    # Copied to a flag.
asks deploy/report/table.c 'bool q(const char *t) { return strcmp(t, "async") == 0; }'  # By its name.
asks ps/server.c 'bool q(const struct job *job) { return job_mode(job)->number == 1; }' # By its number.
asks worker/solo.c 'int table[] = {[MODE_SYNC] = 1};'
seen include_direction.sh
only 6
ok "who asks for a mode and not for its facts is seen, six ways"

mkdir "$copy/common/attic"
echo '#include "common/base/clock.h"' >"$copy/common/attic/old.c"
expected=("common/attic is not among the rooms")
seen include_direction.sh
rm -r "$copy/common/attic"
for i in $(seq 30); do echo "int thing_$i;" >"$copy/ps/shard/thing_$i.c"; done
expected=("ps/shard has [0-9]+ files of C")
seen include_direction.sh
only 1
rm "$copy"/ps/shard/thing_*.c
ok "a room without a place among the others is seen, and a crowded one"

# points TEXT AT - a comment of ps/cores.c that points at what is not there.
points()
{
    add ps/cores.c "/* $1 */"
    expected+=("ps/cores.c:[0-9]+ $2.*, which is not there\$")
}
points "See design.md section 3." "names design.md"
points "As proto/CONTRACT.md section 99 has it." "cites .*CONTRACT.*99"
points "See PROTOCOL.md, section 98." "cites .*PROTOCOL.*98"
points "Read by ps/nothing.c alone." "names ps/nothing.c"
points "See nothing.h." "names nothing.h"
sed -i 1d "$copy/ps/shard/plan.c"
expected+=("ps/shard/plan.c does not open with what it does")
sed -i '1s#^/\* #&[no_function], #' "$copy/ps/shard/chunk.c"
expected+=("ps/shard/chunk.c opens with \[no_function\], and has no such function")
seen citations.sh
ok "a comment that points at what is not there is seen, and a source that does not say what it does"

# --- one more mode ----------------------------------------------------------------------------------
# Built anew is what has a list of all modes: elsewhere one more at its end changes nothing.
rm -rf "$copy"
mkdir -p "$copy/build/release"
cd "$copy"
cp -a "$root"/{common,ps,worker,deploy,proto,tests,Makefile,README.md} .
cp -a "$build"/{checked,common,ps,worker,deploy,proto,lib*.a} build/release
# listing N - the N-th block of code of the section.
listing()
{
    awk -v wanted="$1" '/^## /{ here = $0 == "## Adding a mode" } !here { next }
        /^```c$/ { at++; inside = 1; next } /^```$/ { inside = 0 } inside && at == wanted' common/CHANGING.md
}
name=fresh
listing 1 >"ps/mode/$name.c"
listing 2 >>common/job/mode_rows.inc
# And the solution of lab 9.
cp deploy/labs/solutions/9/mine.txt ps/mode/mine.c
cat deploy/labs/solutions/9/row.txt >>common/job/mode_rows.inc
mapfile -t lists < <(grep -rlE 'MODE_COUNT|mode_rows' --include='*.c' common ps worker deploy)
touch "${lists[@]}"
make -s -j2 -o common/job/mode_rows.inc build/release/syncopate CC="${CC:-cc}" COMMIT=new-mode >build.log 2>&1 ||
    fail "it does not build: $(grep -m 3 error build.log)"
ok "one more mode is $(wc -l < <(listing 1; listing 2)) lines in a file and a row"
build/release/syncopate verify --mode "$name" --histories 200 >verify.log || fail "$(grep -m 1 FAILED verify.log)"
ok "200 histories of it keep what it promises"
build/release/syncopate lab check 9 --answers deploy/labs/solutions/9/answers.json >lab.log || fail "lab 9: $(grep wrong lab.log)"
ok "lab 9 is green with its solution"
