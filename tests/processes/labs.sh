#!/usr/bin/env bash
# labs.sh - each lab is red for a student who has done nothing, and green with its solution (deploy/labs/solutions).
# promises: labs
# test: once later
# needs: python3
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
solutions=$(cd "$(dirname "$0")/../.." && pwd)/deploy/labs/solutions

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
    run after 0 syncopate lab check "$number" --answers "$work/$number/answers.json"
    ok "lab $number: red before its solution, and green with it"
done

# Answers are of one student.
run other 1 syncopate lab check 2 --answers "$work/2/answers.json" --name ada
says other 'wrong +slow_max +it is not'
sed 's/once/Once/; s/"updates": 188/"updates": 187/; s/"predict_updates": 188/"predict_updates": 7/' "$work/0/answers.json" >"$work/wrong.json"
run wrong 1 syncopate lab check 0 --answers "$work/wrong.json"
says wrong 'guessed +predict_updates +7, and it is 188'
says wrong '^lab 0: 2 of 4$'
ok "wrong answers are named, a guess is none, and another student's do not count"

echo '{"0": {}}' >"$work/nameless.json"
run nameless 2 syncopate lab check 0 --answers "$work/nameless.json"
says nameless 'has no "name"'
run missing 5 syncopate lab check 0 --answers "$work/none.json"
run unknown 2 syncopate lab check 99
ok "answers without a name, missing ones and unknown labs are refused"

mkdir -p "$work"/hands/{ada,eve,teacher}
cp "$work/0/answers.json" "$work/hands/teacher"
cp "$work/wrong.json" "$work/hands/ada/answers.json"
echo '{"0": nonsense' >"$work/hands/eve/answers.json"
"$solutions/../grade.sh" "$work/hands" "$build/syncopate" >"$work/grade.log" || fail "grade ends with exit code $?"
says grade '^name,lab 0,lab 1,'
says grade '^ada,2/4,,'
says grade '^eve,,,'
says grade '^teacher,4/4,,'
ok "grade.sh has a line for each hand-in"
