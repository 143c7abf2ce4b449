#!/usr/bin/env bash
# promises.sh [--write] - tests/PROMISES.md and the tests agree: each promise has tests, and each tag a promise.
#
# A test file says in its first lines which promises it holds, "promises: bits scores"; the last column of the
# table lists the files. --write writes that column anew.
set -euo pipefail
cd "$(dirname "$0")/.."
page=tests/PROMISES.md

# ID TEST of every tag.
tags=$(grep -rE --include='*.c' --include='*.sh' --include='*.talk' -m 1 '^(# |/\* )promises: ' tests |
    sed -E 's#^[^:]*/([^/:]+)\.(c|sh|talk):(/\*|\#) promises: #\1 #; s# \*/$##' |
    awk '{ sub(/^test_/, "", $1); for (i = 2; i <= NF; i++) print $i, $1 }' | sort -u)
new=$(mktemp)
trap 'rm -f "$new"' EXIT
awk -F ' [|] ' -v tags="$tags" '
    BEGIN {
        n = split(tags, lines, "\n")
        for (i = 1; i <= n; i++) {
            split(lines[i], tag, " ")
            tests[tag[1]] = tests[tag[1]] (tests[tag[1]] == "" ? "" : " ") tag[2]
        }
    }
    /^\| [a-z]/ && $2 != "promise" {
        id = substr($1, 3); named[id] = 1
        if (!(id in tests)) { print "no test has the tag " id > "/dev/stderr"; bad = 1 }
        print "| " id " | " $2 " | " tests[id] " |"
        next
    }
    { print }
    END {
        for (id in tests) if (!(id in named)) { print tests[id] " has the tag " id ", which is no promise" > "/dev/stderr"; bad = 1 }
        exit bad
    }' "$page" >"$new" || { echo "not ok - promises"; exit 1; }
if [ "${1:-}" = --write ]; then
    cp "$new" "$page"
elif ! diff -u "$page" "$new"; then
    echo "not ok - promises: tests/promises.sh --write"
    exit 1
fi
echo "ok - $(grep -c '^| [a-z]' "$page") promises have tests"
