#!/usr/bin/env bash
# grade.sh SUBMISSIONS [SYNCOPATE] - checks each lab of each hand-in, and prints one CSV: student, lab, passed, seconds, reason.
#
# A hand-in is a folder with the student's name: answers.json, and policies (3.py) beside it. A policy that passes has to pass
# with the names in UNSEEN as well, whose seeds the student has not seen. A class links a mine.c of lab 9. LIMIT (seconds) ends a check; JOBS run at
# once; LABS names those to check.
# A student's program runs as you do: grade in a container, or as a user of its own.
set -u
submissions=${1:?takes the folder of the hand-ins} syncopate=${2:-$(dirname "$0")/../bin/syncopate}
[ -d "$submissions" ] || { echo "grade.sh: $submissions is no folder" >&2; exit 2; }
labs=${LABS:-$("$syncopate" lab | sed -n 's/^Lab \([0-9]*\): .*/\1/p')}
[ -n "$labs" ] || { echo "grade.sh: $syncopate has no labs" >&2; exit 2; }
export syncopate submissions UNSEEN="${UNSEEN:-apple bramble}" LIMIT="${LIMIT:-60}" work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -f 100000

# checked LAB STUDENT NAME - by the seed of NAME; otherwise the reason.
checked()
{
    local file=$work/$BASHPID log code=0 # A program that outlives its check would hold a pipe open.
    local program=$syncopate mode=$submissions/$2/mine.c link
    link=$(dirname "$syncopate")/../labs/mine.sh
    if [ "$1" = 9 ] && [ -e "$mode" ] && [ -e "$link" ]; then
        program=$file-mine
        "$link" "$mode" "$program" >"$file" 2>&1 </dev/null || { echo "mine.c: $(grep -m 1 error "$file")"; return 1; }
    fi
    setsid timeout -k 2 "$LIMIT" "$program" lab check "$1" --answers "$submissions/$2/answers.json" --name "$3" \
        >"$file" 2>&1 </dev/null &
    wait "$!" || code=$?
    pkill -KILL -s "$!" # It may ignore SIGTERM.
    log=$(tail -c 10000 "$file" | tr -cd '\n -~')
    [ "$code" -ne 0 ] || return 0
    [ "$3" = "$2" ] || printf 'seed of %s: ' "$3"
    case $code in
        1) awk '$1 == "wrong" { names = names " " $2 } /^lab / { of = $0 } /^syncopate / { said = "; " $0 }
            END { print of ":" names said }' <<<"$log" ;;
        124 | 137) echo "more than $LIMIT s" ;;
        *) tail -n 1 <<<"$log" ;;
    esac
    return 1
}

row()
{
    local start=$EPOCHREALTIME passed=yes reason='' name
    local -a names=("$2")
    # Their answers are the same for each seed: another name asks the policy alone.
    case $1 in 3 | 5) read -ra names < <(echo "$UNSEEN") && names=("$2" "${names[@]}") ;; esac
    for name in "${names[@]}"; do
        reason=$(checked "$1" "$2" "$name") || { passed=no; break; }
    done
    reason=${reason:0:200} name=${2//\"/\"\"}
    printf '"%s",%s,%s,%s,"%s"\n' "${name//$'\n'/ }" "$1" "$passed" \
        "$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")" "${reason//\"/\"\"}"
}
export -f checked row

echo student,lab,passed,seconds,reason
# shellcheck disable=SC2086,SC2016 # Numbers, a word each; the inner shell's own words.
find "$submissions" -mindepth 1 -maxdepth 1 -type d ! -name '.*' -printf '%f\0' |
    while IFS= read -rd '' student; do for lab in $labs; do printf '%s\0' "$lab" "$student"; done; done |
    xargs -0 -r -n 2 -P "${JOBS:-$(nproc)}" bash -c 'row "$1" "$2"' row | LC_ALL=C sort
