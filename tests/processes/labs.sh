#!/usr/bin/env bash
# labs.sh - each lab is red for a student who has done nothing, and green with its solution (deploy/labs/solutions).
# promises: labs
# test: once later
# needs: python3
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
labs=$(cd "$(dirname "$0")/../.." && pwd)/deploy/labs solutions=$(cd "$(dirname "$0")/../.." && pwd)/deploy/labs/solutions

run list 0 syncopate lab
numbers=$(sed -n 's/^Lab \([0-9]*\): .*/\1/p' "$work/list.log")
for number in $numbers; do
    run text 0 syncopate lab "$number" --name ada
    says text "syncopate lab check $number"
    if grep -q SEED "$work/text.log"; then fail "text has SEED for a student whose name is known"; fi
    mkdir "$work/$number"
    echo '{"name": "teacher"}' >"$work/$number/answers.json"
    run before 1 syncopate lab check "$number" --answers "$work/$number/answers.json"
    says before "^lab $number: 0 of [1-9]"
    cp -r "$solutions/$number/." "$work/$number"
    if [ -e "$work/$number/mine.txt" ]; then # gate.sh builds it.
        ok "lab $number: red before its solution"
        continue
    fi
    mv "$work/$number" "$work/O'Brien $number"
    run "after-$number" 0 syncopate lab check "$number" --answers "$work/O'Brien $number/answers.json"
    mv "$work/O'Brien $number" "$work/$number"
    ok "lab $number: red before its solution, and green with it"
done

# Answers are of one student.
run other 1 syncopate lab check 2 --answers "$work/2/answers.json" --name ada
says other 'wrong +slow_max +it is not'
run other 1 syncopate lab check 8 --answers "$work/8/answers.json" --name ada
says other 'wrong +second_16 +it is not'
sed 's/once/Once/; s/"updates": 188/"updates": 187/; s/"predict_updates": 188/"predict_updates": 7/' "$work/0/answers.json" >"$work/wrong.json"
run wrong 1 syncopate lab check 0 --answers "$work/wrong.json"
says wrong 'guessed +predict_updates +7, and it is 188'
says wrong '^lab 0: 2 of 4$'
ok "wrong answers are named, a guess is none, and another student's do not count"

# A policy that ends its run, and a claim that its control does not bear out.
for number in 3 4 5 6; do
    of=$(sed -n "s/^lab $number: [0-9]* of //p" "$work/after-$number.log")
    mkdir "$work/babble$number"
    cp "$solutions/$number/answers.json" "$work/babble$number"
    run nothing 1 syncopate lab check "$number" --answers "$work/babble$number/answers.json"
    says nothing "^lab $number: [0-9]+ of $of$"
    printf 'import sys\nfor i in range(1000): print("lab %s: 9 of 9", i, file=sys.stderr)\nprint("well", flush=True)\n' "$number" >"$work/babble$number/$number.py"
    run babble 1 syncopate lab check "$number" --answers "$work/babble$number/answers.json"
    says babble "^  wrong +$number.py +does not bring its run to the end"
    says babble "^lab $number: [0-9]+ of $of$"
    [ "$(grep -c "^  | lab $number: 9 of 9 99[0-9]$" "$work/babble.log")" -eq 10 ] || fail "babble: what it said is not ten lines"
    if grep -q '^lab.* 9 of 9' "$work/babble.log"; then fail "babble: what it said is not set apart"; fi
done
sed -i 's/"does not"/"beats"/' "$work/6/answers.json"
sed -i 's|rates.append(.*|rates.append(0.05)|' "$work/6/6.py"
run claim 1 syncopate lab check 6 --answers "$work/6/answers.json"
for wrong in mean_rate varies claim_high claim_low; do says claim "wrong +$wrong "; done
says claim '^lab 6: 6 of 10$'
ok "a policy that ends its run is wrong, and so is a claim against the unseen seeds"

for name in '' '"name": "", '; do
    echo "{$name\"0\": {}}" >"$work/nameless.json"
    run nameless 2 syncopate lab check 0 --answers "$work/nameless.json"
    says nameless 'has no "name"'
done
run missing 5 syncopate lab check 0 --answers "$work/none.json"
says missing 'none.json: is not there; syncopate lab 0 says what it has'
printf '{"name": "ada",\n "0": {"updates": 188\n "property": "once"}}\n' >"$work/comma.json"
run comma 5 syncopate lab check 0 --answers "$work/comma.json"
says comma 'comma.json: not valid JSON: line 3: a comma is expected before "property"$'
run unknown 2 syncopate lab check 99
ok "answers without a name, missing ones and unknown labs are refused"

# --- a class ---------------------------------------------------------------------------------------
mkdir -p "$work"/class/{teacher,broken,none,'O"Neil, Pat'}
cp "$solutions"/1/* "$work/class/teacher"
cp "$solutions"/1/* "$work/class/O\"Neil, Pat"
echo '{"name": ' >"$work/class/broken/answers.json"
LABS=1 "$labs/grade.sh" "$work/class" "$build/syncopate" >"$work/class.log" 2>&1 || fail "class: there are no rows"
says class '^student,lab,passed,seconds,reason$'
says class '^"teacher",1,yes,[0-9.]+,""$'
says class '^"O""Neil, Pat",1,no,[0-9.]+,"lab 1: [0-9]+ of 15: .*step_loss'
says class '^"broken",1,no,[0-9.]+,".*answers.json: .*"$'
says class '^"none",1,no,[0-9.]+,".*answers.json: .*"$'
mkdir -p "$work"/{hanging,second}/ada
cp "$solutions"/3/* "$work/hanging/ada"
cp "$solutions"/3/* "$work/second/ada"
echo 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)' >"$work/hanging/ada/3.py"
LABS=3 LIMIT=1 "$labs/grade.sh" "$work/hanging" "$build/syncopate" >"$work/hanging.log" 2>&1 || fail "hanging: there is no row"
says hanging '^"ada",3,no,[0-9.]+,"more than 1 s"$'
if pgrep -f "$work/hanging" >"$work/left"; then fail "hanging: it is still there"; fi
# It answers in the four runs of the first check alone.
sed -i '1i import os, sys; open("'"$work"'/runs", "a").write("x"); os.path.getsize("'"$work"'/runs") > 4 and sys.exit(1)' "$work/second/ada/3.py"
LABS=3 UNSEEN=plum "$labs/grade.sh" "$work/second" "$build/syncopate" >"$work/second.log" 2>&1 || fail "second: there is no row"
says second '^"ada",3,no,[0-9.]+,"seed of plum: lab 3: 7 of 11: 3\.py; '
ok "of a class each hand-in is a row: right, copied, broken, missing, one that hangs, and one for a single seed"
