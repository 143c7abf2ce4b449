#!/usr/bin/env bash
# coverage.sh FOLDER - what the tests that were run out of a coverage build (`make coverage`) have come
# to of the programs' sources: a line a room, the total, and the files that lack most. FOLDER/files.txt
# has every file, FOLDER/missed.txt every line that was not run and every branch that was never taken.
#
#     lines       that have code, and those of them that were run
#     branches    both ways out of every condition, and those that were taken; without those of
#                 assert() and of the cores' invariants, whose other way out ends the process
#     asserting   the same with theirs
#
# What the compiler makes of `a && b` counts as it does for gcov: two conditions, four branches. The
# code that protoc-c writes is not ours, and not in it; nor are the programs' main files, which only
# the tests of real processes run. What a test starts as a process of its own and kills is not counted.
set -euo pipefail

folder=$1
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# One row a file: room, file, lines, run, branches, taken, the same of assert()'s.
find "$folder" -name '*.gcno' -not -path '*/proto/*' -not -path '*/tests/*' -not -name '*_main.gcno' -print0 |
    sort -z | xargs -0 gcov --branch-probabilities --branch-counts --stdout 2>/dev/null |
    awk -v missed="$folder/missed.txt" '
        function begin(name)
        {
            file = name; within = 0
            known = file ~ /^(common|ps|worker|deploy)\//
            if (known)
                files[file] = 1
        }
        # An assert goes on until its last parenthesis is closed.
        function follow_assert(text)
        {
            if (within <= 0 && text !~ /(^|[^_A-Za-z])(assert|RULE|INVARIANT)\(/) {
                asserting = 0
                return
            }
            if (within <= 0)
                text = substr(text, match(text, /(^|[^_A-Za-z])(assert|RULE|INVARIANT)\(/))
            asserting = 1
            within += gsub(/\(/, "(", text) - gsub(/\)/, ")", text)
        }
        /^ *[-#=0-9]+\*?: *[0-9]+:/ {
            split($0, part, ":")
            count = part[1]; line = part[2] + 0
            gsub(/[ *]/, "", count)
            text = substr($0, length(part[1]) + length(part[2]) + 3)
            if (line == 0) {
                if (text ~ /^Source:/)
                    begin(substr(text, 8))
                next
            }
            follow_assert(text)
            order = 0
            if (!known || count == "-")
                next
            key = file SUBSEP line
            has[key] = 1
            texts[key] = text
            if (count + 0 > 0)
                run[key] = 1
            next
        }
        # A function in a header has branches in every file that includes it: the same by their order.
        /^branch +[0-9]+ / && known {
            key = file SUBSEP line SUBSEP order++
            branch[key] = asserting ? "assert" : "own"
            texts[key] = text
            if ($3 == "taken" && $4 > 0)
                taken[key] = 1
        }
        END {
            for (key in has) {
                split(key, part, SUBSEP)
                lines[part[1]]++
                if (key in run)
                    lines_run[part[1]]++
                else
                    printf "%s:%d: not run:%s\n", part[1], part[2], texts[key] | "sort -t: -k1,1 -k2,2n >" missed
            }
            for (key in branch) {
                split(key, part, SUBSEP)
                own = branch[key] == "own"
                all[part[1]]++
                branches[part[1]] += own
                all_taken[part[1]] += key in taken
                branches_taken[part[1]] += own && key in taken
                if (own && !(key in taken))
                    printf "%s:%d: branch %d not taken:%s\n", part[1], part[2], part[3], texts[key] | "sort -t: -k1,1 -k2,2n >" missed
            }
            for (file in files) {
                room = file
                sub(/\/[^\/]*$/, "", room)
                print room, file, lines[file] + 0, lines_run[file] + 0, branches[file] + 0,
                    branches_taken[file] + 0, all[file] + 0, all_taken[file] + 0
            }
        }' | sort >"$rows"

# in_table COLUMN FIELD... - sums up by a column: name, lines, branches, with those of assert().
in_table()
{
    awk -v by="$1" '
        function share(some, of) { return of == 0 ? "      -" : sprintf("%6.1f%%", 100 * some / of) }
        {
            name = by == 0 ? "total" : $by
            names[name] = 1
            for (i = 3; i <= 8; i++)
                sum[name, i] += $i
        }
        END {
            for (name in names)
                printf "%-44s %s %5d of %5d  %s %5d of %5d  %s\n", name,
                    share(sum[name, 4], sum[name, 3]), sum[name, 4], sum[name, 3],
                    share(sum[name, 6], sum[name, 5]), sum[name, 6], sum[name, 5],
                    share(sum[name, 8], sum[name, 7])
        }' "$rows" | sort
}

if [ ! -s "$rows" ]; then
    echo "nothing was counted in $folder: it is no coverage build, or no test was run" >&2
    exit 1
fi
in_table 2 >"$folder/files.txt"
printf '%-44s %-23s  %-23s  %s\n' "" "  lines run" "  branches taken" "asserting"
in_table 1
in_table 0
echo "most lines not run:"
awk '$3 > $4 { printf "    %5d  %s\n", $3 - $4, $2 }' "$rows" | sort -rn | sed -n '1,12p'
