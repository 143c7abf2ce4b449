#!/usr/bin/env bash
# matrix.sh [--write] - the table of deploy/FAILURES.md is the one that faults.sh tests: compare them,
# or write the page's anew (make matrix).
# test: once
set -euo pipefail

cd "$(dirname "$0")/../.."
page=deploy/FAILURES.md
begins='<!-- failures: made by make matrix -->' ends='<!-- end of failures -->'

# Lines of faults.sh, joined where only phase or mode differ, as a Markdown table.
matrix()
{
    tests/processes/faults.sh --table | awk -F'|' '
        # "W + 2" with the defaults, as "W + 2 = 7 s".
        function seconds(text,    n, i, words, sum) {
            n = split(text, words, / [+] /)
            for (i = 1; i <= n; i++)
                sum += words[i] in value ? value[words[i]] : words[i]
            return text + 0 > 0 && n == 1 ? text " s" : text " = " sum " s"
        }
        BEGIN {
            value["W"] = 5; value["R"] = 60; value["P"] = 300; value["T"] = 60
            print "| who | what befalls it | when | mode | what happens | within | others exit |"
            print "|---|---|---|---|---|---|---|"
        }
        {
            # Cases of one line of faults.sh differ in the mode alone, which ends their id.
            line = $1
            sub("-" $4 "$", "", line)
            if (!(line in modes)) {
                lines[++line_count] = line
                what[line] = $2 "|" $5 "|" $6 "|" $7 "|" $8
                phase[line] = $3
            }
            modes[line] = modes[line] (modes[line] == "" ? "" : ", ") ($4 == "any" ? "any" : $4)
        }
        END {
            for (i = 1; i <= line_count; i++) {
                key = what[lines[i]] "|" modes[lines[i]]
                if (!(key in phases)) order[++count] = key
                if (index(phases[key] ",", " " phase[lines[i]] ",") == 0)
                    phases[key] = phases[key] (phases[key] == "" ? " " : ", ") phase[lines[i]]
            }
            for (i = 1; i <= count; i++) {
                split(order[i], f, "|")
                if (f[6] == "sync, async, allreduce, backup") f[6] = "all four"
                printf "| %s | %s |%s | %s | %s | %s | %s |\n", f[1], f[2], phases[order[i]], f[6], \
                    f[3], seconds(f[4]), f[5]
            }
        }'
}

if [ "${1:-}" = --write ]; then
    table=$(mktemp)
    matrix >"$table"
    sed -i -e "/^$begins$/,/^$ends$/{//!d}" -e "/^$begins$/r $table" "$page"
    rm -f "$table"
    exit 0
fi

if ! diff <(sed -n "/^$begins$/,/^$ends$/{//!p}" "$page") <(matrix); then
    echo "not ok - $page has another table than faults.sh tests: run make matrix"
    exit 1
fi
echo "ok - the table of $page is what faults.sh tests"
