#!/usr/bin/env bash
# citations.sh - what comments and pages point at is there: files of the repository, pages, sections of
# CONTRACT.md and PROTOCOL.md, functions of pictures; and every source of the programs opens with what it does.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# But for the test of this, which names what is not there.
mapfile -t texts < <(find README.md Makefile proto common ps worker deploy tests -type f \
    -regex '.*\(\.[ch]\|\.inc\|\.md\|\.sh\|\.py\|\.proto\|Makefile\)' ! -path tests/processes/gate.sh)

# names PATTERN - "FILE:LINE NAME" of every word that the pattern fits, paths that begin elsewhere
# left out.
names()
{
    grep -noE "(^|[^[:alnum:]_/.\$}\"<*-])$1\\b" "${texts[@]}" |
        sed -E 's/^([^:]+:[0-9]+):[^[:alnum:].]?/\1 /' | sort -u
}
is_there() { [[ $1 == *_x.c ]] || compgen -G "$1" >/dev/null; } # x stands for any.

wrong=$(
    names '(proto|common|ps|worker|deploy|tests)/[[:alnum:]_/*.-]+\.(c|h|inc|md|sh|py|proto)' |
        while read -r where name; do
            is_there "$name" || echo "$where names $name, which is not there"
        done
    # By their name alone, wherever they lie; x stands for any.
    names '[a-z][a-z_0-9]+\.[ch]' | awk 'NR == FNR { there[$1]; next }
        !($2 in there) && $2 !~ /_x\.c$|^(zmq\.h|mine\.c)$/ { print $1 " names " $2 ", which is not there" }' \
        <(find proto common ps worker deploy tests -name '*.[ch]' | sed 's#.*/##') -
    # Pages also by their name alone, and from where they are named.
    pages=" $(find proto common ps worker deploy tests -name '*.md' -printf '%f ')"
    names '[[:alnum:]_.][[:alnum:]_/.-]*\.md' | while read -r where name; do
        is_there "$name" || is_there "$(dirname "${where%%:*}")/$name" || [[ $pages == *" $name "* ]] ||
            echo "$where names $name, which is not there"
    done
    for page in CONTRACT PROTOCOL; do
        names "[a-z./(\`]*${page}[.]md[\`)]*,?( \\*)? sections? [0-9]+" | while read -r where cited; do
            grep -q "^## ${cited##* } " "proto/$page".md || echo "$where cites $cited, which is not there"
        done
    done
    find common ps worker deploy -name '*.c' -exec awk \
        'FNR == 1 && !/^\/\*/ { print FILENAME " does not open with what it does" }' {} +
    # Functions of a picture, [so], are the file's own or called there.
    find ps worker/client worker/mode -name '*.c' -exec perl -0777 -ne '
        my ($picture, $code) = m{\A/\*(.*?)\*/(.*)}s or next;
        for my $name ($picture =~ /\[([a-z_]+)\]/g) {
            print "$ARGV opens with [$name], and has no such function\n" if $code !~ /\b$name\(/;
        }' {} +
)
if [ -n "$wrong" ]; then
    printf 'not ok - citations: %s\n' "$wrong"
    exit 1
fi
echo "ok - citations: ${#texts[@]} files point at what is there"
