#!/usr/bin/env bash
# size.sh [--check | --files] - how large the project is, a room a line: files, lines, lines of code, tokens.
#
# A line of code is neither blank nor comment; one of more than 100 columns counts as its length over 80,
# so that packing does not make anything smaller. Tokens (words, numbers, strings, signs) show packing, too.
# Counted are .c .h .inc .proto .py .js .css .html .sh .talk .words and the Makefile, as git has them, laid out by
# clang-format; pages (.md) are counted in bytes. A room is a folder below common, ps, worker or deploy.
#
# --files: the files named on standard input, a line each.
# --check: fails where a room has more lines of code than tests/size.limits gives it, or has no limit, and where the
# page has more than 1,500 lines. A limit is raised by a commit of its own, which says why.
set -euo pipefail
cd "$(dirname "$0")/.."

# Per file on standard input: "ROOM LINES CODE TOKENS".
count()
{
    # shellcheck disable=SC2016 # For awk.
    xargs -d '\n' awk '
        function room_of(name,   part, n) {
            if (ENVIRON["by_file"]) return name
            n = split(name, part, "/")
            if (part[1] == "tests" || part[1] == "proto" || n == 1) return n == 1 ? "Makefile" : part[1]
            return n == 2 ? part[1] : part[1] "/" part[2]
        }
        FNR == 1 {
            room = room_of(FILENAME); inside = 0
            files[room]++
            hash = FILENAME ~ /(\.sh|\.py|\.talk|\.words|Makefile)$/
        }
        {
            lines[room]++
            text = $0
            gsub(/"([^"\\]|\\.)*"/, "0", text)
            if (hash) {
                sub(/^[ \t]*#.*/, "", text); sub(/[ \t]#.*/, "", text)
            } else {
                kept = ""
                while (text != "") {
                    if (inside) {
                        if (!(at = index(text, "*/"))) break
                        text = substr(text, at + 2); inside = 0
                    } else if ((at = index(text, "/*"))) {
                        kept = kept substr(text, 1, at - 1); text = substr(text, at + 2); inside = 1
                    } else {
                        kept = kept text; break
                    }
                }
                text = kept
                sub(/\/\/.*/, "", text)
            }
            if (text !~ /[^ \t]/) next
            code[room] += length($0) > 100 ? int((length($0) + 79) / 80) : 1
            gsub(/[A-Za-z0-9_]+/, "a", text); gsub(/[ \t]/, "", text)
            tokens[room] += length(text)
        }
        END { for (room in files) print room, files[room], lines[room], code[room], tokens[room] }'
}

if [ "${1-}" = --files ]; then
    by_file=1 count
    exit
fi
table=$(git ls-files '*.c' '*.h' '*.inc' '*.proto' '*.py' '*.js' '*.css' '*.html' '*.sh' '*.talk' '*.words' Makefile | count | sort)

if [ "${1-}" = --check ]; then
    cat deploy/page/{page.html,page.css,source.js,draw.js,page.js} |
        awk 'END { if (NR > 1500) { print "the page has " NR " lines; 1,500 are its limit"; exit 1 } }'
    awk 'NR == FNR { if ($1 != "#") limit[$1] = $2; next }
        !($1 in limit) { print $1 " has no limit in tests/size.limits"; bad = 1; next }
        $4 > limit[$1] { print $1 " has " $4 " lines of code; tests/size.limits gives it " limit[$1]; bad = 1 }
        END { exit bad }' tests/size.limits - <<<"$table"
    exit
fi
printf '%-22s %6s %8s %8s %9s\n' room files lines code tokens
awk '
    function row(name) { printf "%-22s %6d %8d %8d %9d\n", name, f[name], l[name], c[name], t[name] }
    function add(name) { f[name] += $2; l[name] += $3; c[name] += $4; t[name] += $5 }
    { $0 = $0; add($1); row($1); add($1 == "tests" ? "all tests" : "all source") }
    END { row("all source"); row("all tests") }' <<<"$table"
git ls-files '*.md' | xargs -d '\n' wc -c | awk '$2 == "README.md" { readme = $1 } $2 == "total" { all = $1 }
    END { printf "README %d bytes; all pages %d bytes\n", readme, all }'
