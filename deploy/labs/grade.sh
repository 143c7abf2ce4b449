#!/usr/bin/env bash
# grade.sh FOLDER [SYNCOPATE] - of each hand-in, a folder in FOLDER that is called as its student and has
# answers.json: a line of CSV with the right answers of each lab, "4/4". Empty: no answers.
set -euo pipefail
folder=${1:?a folder with a folder for each student} program=${2:-syncopate}
mapfile -t labs < <("$program" lab | sed -n 's/^Lab \([0-9]*\): .*/\1/p')
(IFS=, && echo "name,${labs[*]/#/lab }")
for answers in "$folder"/*/answers.json; do
    name=$(basename "$(dirname "$answers")")
    line=$name
    for lab in "${labs[@]}"; do
        right=
        if grep -q "\"$lab\"" "$answers"; then
            right=$("$program" lab check "$lab" --name "$name" --answers "$answers" 2>/dev/null |
                sed -n 's#^lab [0-9]*: \([0-9]*\) of \([0-9]*\)$#\1/\2#p') || true
        fi
        line+=,$right
    done
    echo "$line"
done
