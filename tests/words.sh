#!/usr/bin/env bash
# words.sh [--lower] - no word of tests/words.txt stands in more places than its number there says.
#
#     tests/words.sh            fails where there are more; prints how many places are left
#     tests/words.sh --lower    writes the numbers that have fallen
#
# deploy/verify is exempt.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
list=tests/words.txt
# files FOLDER... - all that is written there.
files()
{
    find "$@" -path deploy/verify -prune -o -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.proto' -o -name '*.sh' \
        -o -name '*.md' -o -name '*.py' -o -name '*.js' -o -name Makefile \) -exec cat {} +
}
lower_case() { tr '[:upper:]' '[:lower:]'; }
names() { grep -oE '(struct|enum|union) [A-Za-z]\w*|[A-Za-z]\w*_\w+' | lower_case; }
sources=(common ps worker deploy proto README.md Makefile)
{
    files "${sources[@]}" | lower_case | tr -cs '[:lower:]' '\n' | sed 's/$/ text/'
    # A name counts once for each of its parts, and of two parts. Names of tests are sentences.
    files "${sources[@]}" tests | names | awk '
        NR == FNR { public[$0] = 1; next }
        $0 in public { next }
        {
            count = split($NF, parts, "_")
            if (NF == 1 && count > 4) next
            for (i = 1; i <= count; i++) print parts[i] " name\n" parts[i] "_" parts[i + 1] " name"
        }' <(cat tests/names.golden proto/*.proto | names) -
} | awk -v lowered="$list.lowered" '
    NR == FNR { found[$0]++; next }
    /^#/ { print >lowered; next }
    {
        now = found[$1 " " $2] + 0
        left += now
        if (now > $3) printf "words.sh: %s stands in %d places, not in %d\n", $1, now, $3
        more = more || now > $3
        print $1, $2, (now < $3 ? now : $3) >lowered
    }
    END {
        if (!more) print left " places are left where the field has another word"
        exit more
    }' - "$list" || { rm "$list.lowered"; exit 1; }
if [ "${1:-}" = --lower ]; then mv "$list.lowered" "$list"; else rm "$list.lowered"; fi
