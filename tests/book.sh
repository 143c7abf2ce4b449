#!/usr/bin/env bash
# book.sh [BUILD] - the book: what async, sync, exchange and recovery need, volume by volume, in reading order.
#
# tests/book.txt names volumes and their files; NAME stands for NAME.h and NAME.c. Each line printed has a file's lines
# of code (tests/size.sh). With BUILD it says also which functions the book calls that are neither in it nor in the
# ground: rooms that a reader takes on trust. It fails where a volume, or the number of those functions, is above
# its limit in tests/book.txt, and where a file is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "VOLUME FILE", in order.
while read -r word rest; do
    case $word in
    '' | '#' | ground | calls) ;;
    volume) volume=${rest%% *} ;;
    *)
        found=$(git ls-files "$word" "$word.h" "$word.c")
        [ -n "$found" ] || { echo "tests/book.txt: there is no $word" >&2; exit 1; }
        sort -r <<<"$found" | sed "s/^/$volume /" ;; # The header first.
    esac
done <tests/book.txt >"$work/files"
cut -d' ' -f2 "$work/files" | tests/size.sh --files >"$work/sizes"

# calls: the functions of objects outside the book and the ground that objects of the book call.
: >"$work/outside"
if [ -n "$build" ]; then
    grounds=$(sed -n 's/^ground //p' tests/book.txt)
    find "$build" -path "$build/checked" -prune -o -name '*.o' -print | grep -vE "^$build/tests/" |
        xargs nm -A 2>/dev/null | sed "s|^$build/||" >"$work/symbols"
    awk -v grounds="$grounds" '
        FILENAME == ARGV[1] { sub(/\.[ch]$/, "", $2); book[$2] = 1; next }
        { split($1, at, ".o:"); name = $NF; kind = $(NF - 1) }
        kind ~ /^[TDRB]$/ { from[name] = at[1] }
        kind == "U" && at[1] in book { used[name] = at[1] }
        END {
            count = split(grounds, ground, " ")
            for (name in used) {
                if (!(name in from) || from[name] in book || from[name] ~ /^proto\//) continue
                trusted = 0
                for (i = 1; i <= count; i++) if (index(from[name], ground[i] "/") == 1) trusted = 1
                if (!trusted) print from[name], name, used[name]
            }
        }' "$work/files" "$work/symbols" | sort >"$work/outside"
fi

awk '
    FILENAME == ARGV[1] { code[$1] = $4; next }
    FILENAME == ARGV[2] { if ($1 == "volume") { limit[$2] = $3; aim[$2] = $4; title[$2] = $0
                              sub(/volume [^ ]+ [^ ]+ [^ ]+ /, "", title[$2]); all += $3; order[++n] = $2 }
                          if ($1 == "calls") calls = $2; next }
    FILENAME == ARGV[3] { in_volume[$1] = in_volume[$1] sprintf("    %-48s %6d\n", $2, code[$2]); sum[$1] += code[$2]; next }
    { print "called outside: " $2 " of " $1 ", by " $3; outside++ }
    END {
        for (i = 1; i <= n; i++) {
            v = order[i]
            printf "%s: %s\n%s    %-48s %6d  (limit %d, aim %d)\n\n", v, title[v], in_volume[v], "all of it", sum[v], limit[v], aim[v]
            total += sum[v]
            if (sum[v] > limit[v]) { print v " is above its limit"; bad = 1 }
        }
        printf "the book: %d lines of code; %d functions called outside it and its ground\n", total, outside
        if (outside > calls) { print "more than tests/book.txt allows: " calls; bad = 1 }
        exit bad
    }' "$work/sizes" tests/book.txt "$work/files" "$work/outside"
