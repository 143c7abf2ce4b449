#!/usr/bin/env bash
# mine.sh [FILE] - lab 9 in an unpacked class: compiles the mode in FILE (mine.c), and links it into bin/syncopate-mine.
set -euo pipefail
class=$(cd "$(dirname "$0")/.." && pwd) object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -DCHECKED=1 -O2 -Wall -I"$class/include" -x c -c -o "$object" "${1:-mine.c}"
# shellcheck disable=SC2016 # The linker's own word.
"${CC:-cc}" -o "$class/bin/syncopate-mine" "$class/lib/syncopate.o" "$object" "$class"/lib/*.so* -lm -pthread \
    -Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib'
echo "$class/bin/syncopate-mine has --mode mine"
